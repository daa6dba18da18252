//! Files as trajectories: stretches of rows that belong together, in order.

use std::{
    collections::{HashSet, VecDeque},
    path::PathBuf,
};

use crate::{
    error::{Error, Result},
    table::{Block, ReadOptions, Table, Want},
};

/// What the columns of the files are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roles {
    /// States and controls, or the inputs of a plain regression.
    pub inputs: Vec<String>,
    /// Targets of a plain regression.
    pub targets: Vec<String>,
    /// Column of time.
    pub time: Option<String>,
    /// Time between rows, where there is no column of time.
    pub dt: Option<f64>,
    /// Column whose value, a number or text, tells the experiments apart.
    pub trajectory: Option<String>,
    /// Whether rows on both sides of rows that were left out must not be joined, as the next row of a discrete law.
    pub split_at_gaps: bool,
}

/// Rows of one trajectory that follow each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Time, inputs and targets.
    pub columns: Vec<Vec<f64>>,
    /// Whether a new trajectory begins with the first row.
    pub begins: bool,
    /// Whether the trajectory goes on after a gap: its rows must not be joined with those before.
    pub gap: bool,
}

/// Rows read at a time.
const ROWS: usize = 8192;

/// Reads files one after the other; each is a trajectory of its own, or several.
#[derive(Debug)]
pub struct Runs {
    files: VecDeque<PathBuf>,
    roles: Roles,
    options: ReadOptions,
    table: Option<Table>,
    block: Block,
    /// First row of the block that was not handed on.
    at: usize,
    /// Label, time and number of the row before, in the present file.
    before: Option<(f64, f64, u64)>,
    dropped: u64,
    /// Labels of the present file that were seen.
    seen: HashSet<u64>,
    /// Runs that are in memory already.
    ready: VecDeque<Run>,
}

impl Runs {
    /// Trajectories that are in memory: time, inputs and targets of each, as columns.
    pub fn in_memory(trajectories: Vec<Vec<Vec<f64>>>) -> ell0::Result<Self> {
        let mut runs = Runs::new(&[], Roles::default(), ReadOptions::default());
        for columns in trajectories {
            let width = runs
                .ready
                .front()
                .map_or(columns.len(), |run| run.columns.len());
            let rows = columns.first().map_or(0, Vec::len);
            if columns.len() != width || columns.iter().any(|c| c.len() != rows) || rows == 0 {
                return Err(ell0::Error::Empty {
                    what: "trajectory with equally long columns, the same in all",
                });
            }
            if let Some(at) = columns[0].windows(2).position(|t| t[0] >= t[1]) {
                return Err(ell0::Error::Value {
                    column: "time".into(),
                    row: at as u64 + 1,
                    value: columns[0][at + 1],
                    expected: "time must increase".into(),
                });
            }
            runs.ready.push_back(Run {
                columns,
                begins: true,
                gap: false,
            });
        }
        Ok(runs)
    }

    /// A reader of the given files.
    pub fn new(files: &[PathBuf], roles: Roles, options: ReadOptions) -> Self {
        Runs {
            files: VecDeque::from(files.to_vec()),
            roles,
            options,
            table: None,
            block: Block::default(),
            at: 0,
            before: None,
            dropped: 0,
            seen: HashSet::new(),
            ready: VecDeque::new(),
        }
    }

    /// Rows left out so far because of empty or NaN cells.
    pub fn dropped(&self) -> u64 {
        self.dropped + self.table.as_ref().map_or(0, Table::dropped)
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
                let Some(path) = self.files.pop_front() else {
                    return Ok(false);
                };
                self.table = Some(Table::open(path, &self.wanted(), self.options)?);
                self.before = None;
                self.seen.clear();
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

    /// The next stretch of rows of one trajectory.
    pub fn next_run(&mut self) -> Result<Option<Run>> {
        if let Some(run) = self.ready.pop_front() {
            return Ok(Some(run));
        }
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
        let ends = |row: usize| {
            label(row) != here || skipped[row] > 0 && (self.roles.split_at_gaps || by_count)
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
                    "{}: an experiment of column `{column}` that was over comes back; rows of one must stand together: sort the file",
                    table.place(self.block.places[from])
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
        let gap = !begins && self.roles.split_at_gaps && skipped[from] > 0;
        self.at = to;
        self.before = Some((here, time[time.len() - 1], number + (to - from) as u64 - 1));
        let mut columns = vec![time];
        columns.extend(
            self.block.columns[..width]
                .iter()
                .map(|c| c[from..to].to_vec()),
        );
        Ok(Some(Run {
            columns,
            begins,
            gap,
        }))
    }
}
