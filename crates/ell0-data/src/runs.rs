//! Files and frames as trajectories: stretches of rows that belong together, in order.

use std::{
    collections::{HashSet, VecDeque},
    path::PathBuf,
    sync::Arc,
};

use ell0::wording::shown;

use crate::{
    blemishes::Blemishes,
    error::{Error, Result},
    frame::Frame,
    mending::Mending,
    table::{Block, ReadOptions, Table, Want},
};

/// What the columns of files or frames are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roles {
    /// States and controls, or the inputs of a plain regression.
    pub inputs: Vec<String>,
    /// Targets that are columns: those of a plain regression, or rates of change.
    pub targets: Vec<String>,
    /// Column of time.
    pub time: Option<String>,
    /// Time between rows, where there is no column of time.
    pub dt: Option<f64>,
    /// Column whose value, a number or text, tells the experiments apart.
    pub trajectory: Option<String>,
    /// Whether rows on both sides of rows that were left out must not be joined, as the next row of a discrete law.
    pub split_at_gaps: bool,
    /// A longer time between two rows is a gap: what is on its two sides must not be joined.
    pub longest_step: Option<f64>,
    /// Trajectories of fewer rows are left out, and counted.
    pub fewest_rows: usize,
}

/// Rows of one trajectory that follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Time, inputs and targets.
    pub columns: Vec<Vec<f64>>,
    /// Number of the first row among all rows of all files.
    pub row: u64,
    /// Where it stands, and the place of each row.
    pub spot: Spot,
    /// Lines or rows of the file.
    pub places: Vec<u64>,
    /// Whether a new trajectory begins with the first row.
    pub begins: bool,
    /// Whether the trajectory goes on after a gap: its rows must not be joined with those before.
    pub gap: bool,
}

/// Rows read at a time.
const ROWS: usize = 8192;

/// Something with named columns.
#[derive(Clone, Debug)]
enum Origin {
    File(PathBuf),
    /// With its number, counted from 1.
    Frame(Frame, usize),
}

/// Reads files, or frames, one after the other; each is a trajectory of its own, or several.
#[derive(Debug)]
pub struct Runs {
    origins: VecDeque<Origin>,
    roles: Roles,
    options: ReadOptions,
    table: Option<Table>,
    block: Block,
    /// First row of the block that was not handed on.
    at: usize,
    /// Label, time and number of the row before, in the present file.
    before: Option<(f64, f64, u64)>,
    dropped: u64,
    gaps: u64,
    /// Labels of the present file that were seen.
    seen: HashSet<u64>,
    /// Trajectories of the present file that have begun.
    begun: usize,
    /// Trajectories that were left out, and the beginning of one that is still too short.
    short: u64,
    held: VecDeque<Run>,
    held_rows: usize,
    /// What can be handed on.
    ready: VecDeque<Run>,
    /// Rows that were read.
    rows: u64,
    mending: Mending,
}

/// Where a stretch of rows stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The file, or what a frame is called.
    pub path: PathBuf,
    /// Number of its trajectory in the file, counted from 1.
    pub number: usize,
    /// What a place is called: line or row.
    pub word: &'static str,
    /// Place of the first row.
    pub first: u64,
    /// Of the last.
    pub last: u64,
}

impl Spot {
    /// The name of the file.
    /// A line or row of the file, in words.
    #[must_use]
    pub fn place(&self, number: u64) -> String {
        format!("{} {number} of {}", self.word, shown(&self.file_name()))
    }

    pub(crate) fn file_name(&self) -> String {
        let name = self.path.file_name();
        name.map_or(String::new(), |n| n.to_string_lossy().into_owned())
    }
}

impl Origin {
    fn open(&self, wanted: &[Want], options: ReadOptions) -> Result<Table> {
        match self {
            Origin::File(path) => Table::open(path, wanted, options),
            Origin::Frame(frame, number) => Table::of_frame(frame, *number, wanted, options),
        }
    }
}

impl Runs {
    /// A reader of the given files.
    pub fn new(files: &[PathBuf], roles: Roles, options: ReadOptions) -> Self {
        let files = files.iter().cloned().map(Origin::File);
        Runs::of_origins(files.collect(), roles, options)
    }

    /// A reader of columns in memory, which are treated as those of files are: the same numbers give the same bits.
    pub fn of_frames(frames: &[Frame], roles: Roles, options: ReadOptions) -> Result<Self> {
        let origin = |(index, frame): (usize, &Frame)| Origin::Frame(frame.clone(), index + 1);
        let origins = frames.iter().enumerate().map(origin).collect();
        let runs = Runs::of_origins(origins, roles, options);
        // Files are opened when it is their turn; with frames, a column that is not there is told at once.
        let wanted = runs.wanted();
        for origin in &runs.origins {
            origin.open(&wanted, options)?;
        }
        Ok(runs)
    }

    fn of_origins(origins: VecDeque<Origin>, roles: Roles, options: ReadOptions) -> Self {
        Runs {
            origins,
            roles,
            options,
            table: None,
            block: Block::default(),
            at: 0,
            before: None,
            dropped: 0,
            gaps: 0,
            seen: HashSet::new(),
            begun: 0,
            short: 0,
            held: VecDeque::new(),
            held_rows: 0,
            ready: VecDeque::new(),
            rows: 0,
            mending: Mending::default(),
        }
    }

    /// The same, with what its neighbours say in the place of a value far off, and without rows in which a state stands still.
    #[must_use]
    pub fn mended(mut self, blemishes: Arc<Blemishes>) -> Self {
        self.mending = Mending::new(blemishes);
        self
    }

    /// Values of a run of this reader that were put in the place of others: places in row after row.
    pub(crate) fn replaced(&self, run: &Run) -> Vec<usize> {
        self.mending.replaced(run)
    }

    /// Rows left out so far because of empty or NaN cells.
    pub fn dropped(&self) -> u64 {
        self.dropped + self.table.as_ref().map_or(0, Table::dropped)
    }

    /// Gaps within trajectories so far.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Trajectories left out so far because they are too short.
    pub fn short(&self) -> u64 {
        self.short
    }

    /// What the columns are.
    pub(crate) fn roles(&self) -> &Roles {
        &self.roles
    }

    fn wanted(&self) -> Vec<Want> {
        let roles = &self.roles;
        let numbers = roles.inputs.iter().chain(&roles.targets).chain(&roles.time);
        numbers
            .map(|name| Want::Number(name.clone()))
            .chain(roles.trajectory.clone().map(Want::Label))
            .collect()
    }

    /// Fills the block with rows that were not handed on yet; false at the end of the last file.
    fn fill(&mut self) -> Result<bool> {
        while self.at >= self.block.rows() {
            self.at = 0;
            if self.table.is_none() {
                let Some(origin) = self.origins.pop_front() else {
                    return Ok(false);
                };
                self.table = Some(origin.open(&self.wanted(), self.options)?);
                self.before = None;
                self.seen.clear();
                self.begun = 0;
            }
            if let Some(table) = &mut self.table
                && !table.read(ROWS, &mut self.block)?
            {
                self.dropped += table.dropped();
                if self.before.is_none() {
                    let reason = match table.dropped() {
                        0 => "there is no row of data".to_string(),
                        n => format!("there is no row of data left; {n} had missing cells"),
                    };
                    return Err(Error::Format {
                        path: table.path().into(),
                        reason,
                    });
                }
                self.table = None;
            }
        }
        Ok(true)
    }

    /// The next stretch of rows of one trajectory that is long enough.
    pub fn next_run(&mut self) -> Result<Option<Run>> {
        loop {
            if let Some(run) = self.ready.pop_front() {
                self.gaps += u64::from(run.gap);
                return Ok(Some(run));
            }
            let next = self.next_stretch()?;
            // What is still held when its trajectory is over is too short.
            if next.as_ref().is_none_or(|run| run.begins) {
                self.short += u64::from(!self.held.is_empty());
                self.held.clear();
                self.held_rows = 0;
            }
            let Some(run) = next else { return Ok(None) };
            for run in self.mending.mend(run) {
                self.held_rows += run.columns[0].len();
                self.held.push_back(run);
            }
            if self.held_rows >= self.roles.fewest_rows {
                self.ready.append(&mut self.held);
            }
        }
    }

    /// The next stretch of rows of one trajectory, however short, and where it stands.
    pub(crate) fn next_stretch(&mut self) -> Result<Option<Run>> {
        if !self.fill()? {
            return Ok(None);
        }
        let width = self.roles.inputs.len() + self.roles.targets.len();
        let labels = self
            .roles
            .trajectory
            .is_some()
            .then(|| &self.block.columns[width + usize::from(self.roles.time.is_some())]);
        let label = |row: usize| labels.map_or(0.0, |l| l[row]);
        let (from, here) = (self.at, label(self.at));
        let skipped = &self.block.skipped;
        // Where rows have no time of their own, those that were left out count.
        let by_count = self.roles.time.is_none();
        let longest = self.roles.longest_step.unwrap_or(f64::INFINITY);
        let times = self.roles.time.is_some();
        let times = times.then(|| &self.block.columns[width]);
        let long_step = |row: usize| times.is_some_and(|t| t[row] - t[row - 1] > longest);
        let ends = |row: usize| {
            label(row) != here
                || skipped[row] > 0 && (self.roles.split_at_gaps || by_count)
                || long_step(row)
        };
        let to = (from + 1..self.block.rows())
            .find(|&row| ends(row))
            .unwrap_or(self.block.rows());
        let before = self.before.filter(|(label, ..)| *label == here);
        let begins = before.is_none();
        if begins
            && !self.seen.insert(here.to_bits())
            && let (Some(table), Some(column)) = (&self.table, &self.roles.trajectory)
        {
            return Err(Error::Format {
                path: table.path().into(),
                reason: format!(
                    "{}: an experiment of column `{}` that was over comes back; rows of one must stand together: sort the file",
                    table.place(self.block.places[from]),
                    shown(column)
                ),
            });
        }
        let number = before.map_or(0, |(_, _, number)| number + 1 + skipped[from]);
        let time: Vec<f64> = if self.roles.time.is_some() {
            self.block.columns[width][from..to].to_vec()
        } else {
            let dt = self.roles.dt.unwrap_or(1.0);
            (0..(to - from) as u64)
                .map(|k| (number + k) as f64 * dt)
                .collect()
        };
        let mut earlier = before.map(|(_, time, _)| time);
        for (k, &now) in time.iter().enumerate() {
            if let Some(then) = earlier
                && now <= then
                && let Some(table) = &self.table
            {
                return Err(Error::Time {
                    path: table.path().into(),
                    place: table.place(self.block.places[from + k]),
                    before: then,
                    after: now,
                });
            }
            earlier = Some(now);
        }
        let waited = before.is_some_and(|(_, then, _)| time[0] - then > longest);
        let gap = !begins && (self.roles.split_at_gaps && skipped[from] > 0 || waited);
        self.begun += usize::from(begins);
        let spot = Spot {
            path: self
                .table
                .as_ref()
                .map_or(PathBuf::new(), |t| t.path().into()),
            number: self.begun,
            word: self.table.as_ref().map_or("row", Table::place_word),
            first: self.block.places[from],
            last: self.block.places[to - 1],
        };
        self.at = to;
        self.before = Some((here, time[time.len() - 1], number + (to - from) as u64 - 1));
        let mut columns = vec![time];
        columns.extend(
            self.block.columns[..width]
                .iter()
                .map(|c| c[from..to].to_vec()),
        );
        let row = self.rows;
        self.rows += (to - from) as u64;
        Ok(Some(Run {
            columns,
            row,
            spot,
            places: self.block.places[from..to].to_vec(),
            begins,
            gap,
        }))
    }
}
