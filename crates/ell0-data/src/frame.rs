//! Measurements that are in memory: named columns, read as those of a file are.

use std::{
    fmt,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    error::{Error, Result},
    table::{Block, Found, Labels, ReadOptions, Source, sift},
};

/// Named columns in memory. A copy is cheap: it shares the columns.
///
/// ```
/// use ell0_data::{frame::Frame, runs::{Roles, Runs}, table::ReadOptions};
/// let frame = Frame::new(vec![("t", vec![0.0, 0.1, 0.2]), ("x", vec![1.0, 0.9, 0.81])]);
/// let roles = Roles { inputs: vec!["x".into()], time: Some("t".into()), ..Roles::default() };
/// let mut runs = Runs::of_frames(&[frame], roles, ReadOptions::default())?;
/// let run = runs.next_run()?.expect("a trajectory");
/// assert_eq!(run.columns, [[0.0, 0.1, 0.2], [1.0, 0.9, 0.81]]);
/// # Ok::<(), ell0_data::Error>(())
/// ```
#[derive(Clone)]
pub struct Frame {
    name: Option<String>,
    names: Arc<[String]>,
    columns: Arc<[Arc<dyn Column>]>,
}

/// Numbers in memory, one for each row: a vector, or a view of memory that somebody else owns, so that nothing has to be copied as a whole.
pub trait Column: Send + Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends those of some rows.
    fn append(&self, rows: Range<usize>, to: &mut Vec<f64>);
}

impl Column for Vec<f64> {
    fn len(&self) -> usize {
        self.len()
    }

    fn append(&self, rows: Range<usize>, to: &mut Vec<f64>) {
        to.extend_from_slice(&self[rows]);
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let rows = self.columns.first().map_or(0, |c| c.len());
        let mut debug = f.debug_struct("Frame");
        debug.field("name", &self.name).field("names", &self.names);
        debug.field("rows", &rows).finish_non_exhaustive()
    }
}

impl Frame {
    /// Columns with their names.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = (S, Vec<f64>)>) -> Self {
        let shared = |(name, column): (S, Vec<f64>)| (name, Arc::new(column) as Arc<dyn Column>);
        Frame::of(columns.into_iter().map(shared))
    }

    /// The same of columns that are kept elsewhere.
    pub fn of<S: Into<String>>(columns: impl IntoIterator<Item = (S, Arc<dyn Column>)>) -> Self {
        let named = columns
            .into_iter()
            .map(|(name, column)| (name.into(), column));
        let (names, columns): (Vec<String>, Vec<Arc<dyn Column>>) = named.unzip();
        Frame {
            name: None,
            names: names.into(),
            columns: columns.into(),
        }
    }

    /// The same columns under a name of their own, which errors tell; else they tell the number of the frame.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Names of the columns.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns, copied.
    #[must_use]
    pub fn columns(&self) -> Vec<Vec<f64>> {
        let copied = |column: &Arc<dyn Column>| {
            let mut values = Vec::with_capacity(column.len());
            column.append(0..column.len(), &mut values);
            values
        };
        self.columns.iter().map(copied).collect()
    }

    /// What stands in errors where a file's path would: its name, or its number, counted from 1.
    pub(crate) fn path(&self, number: usize) -> PathBuf {
        let name = self.name.clone();
        name.unwrap_or_else(|| format!("frame {number}")).into()
    }
}

/// A frame as a table's source.
pub(crate) struct FrameSource {
    path: PathBuf,
    frame: Frame,
    options: ReadOptions,
    wanted: Vec<Found>,
    rows: usize,
    read: usize,
    labels: Labels,
    dropped: u64,
    /// Rows left out since the last one that was kept.
    pending: u64,
}

impl FrameSource {
    pub fn new(path: &Path, frame: Frame, options: ReadOptions) -> Self {
        FrameSource {
            path: path.into(),
            frame,
            options,
            wanted: Vec::new(),
            rows: 0,
            read: 0,
            labels: Labels::default(),
            dropped: 0,
            pending: 0,
        }
    }
}

impl Source for FrameSource {
    fn names(&self) -> &[String] {
        &self.frame.names
    }

    fn select(&mut self, wanted: Vec<Found>) -> Result<()> {
        let length = |found: &Found| self.frame.columns[found.index].len();
        self.rows = wanted.first().map_or(0, length);
        if let Some(other) = wanted.iter().find(|found| length(found) != self.rows) {
            return Err(Error::Length {
                path: self.path.clone(),
                column: self.frame.names[other.index].clone(),
                rows: length(other),
                first: self.frame.names[wanted[0].index].clone(),
                expected: self.rows,
            });
        }
        self.wanted = wanted;
        Ok(())
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }

    fn labels(&self) -> &Labels {
        &self.labels
    }

    fn read(&mut self, rows: usize, block: &mut Block) -> Result<()> {
        loop {
            block.clear(self.wanted.len());
            let range = self.read..self.rows.min(self.read + rows);
            if range.is_empty() {
                return Ok(());
            }
            for (out, found) in block.columns.iter_mut().zip(&self.wanted) {
                let from = out.len();
                self.frame.columns[found.index].append(range.clone(), out);
                if found.label {
                    let labels = &mut self.labels;
                    let number = |v: &mut f64| *v = labels.number(&v.to_string());
                    out[from..].iter_mut().for_each(number);
                }
            }
            block.places.extend(range.clone().map(|row| row as u64 + 1));
            self.read = range.end;
            let name = |k: usize| self.frame.names[self.wanted[k].index].clone();
            let drop_missing = self.options.drop_missing;
            self.dropped += sift(&self.path, block, name, drop_missing, &mut self.pending)?;
            if block.rows() > 0 {
                return Ok(());
            }
        }
    }
}
