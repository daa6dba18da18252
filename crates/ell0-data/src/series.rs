//! From samples of trajectories to the rows of a linear problem: features of the inputs against rates of change, the next state, or given targets.

use ell0::equation::Dynamics;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    derivative::{Derivative, Piece, bump_weights},
    error::Result,
    runs::{Run, Runs},
};

/// What the rows of the problem are made from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// What the targets are.
    pub dynamics: Dynamics,
    /// How rates of change are found, if the targets are such.
    pub derivative: Derivative,
    /// Number of states and controls, or of the inputs of a plain regression.
    pub inputs: usize,
    /// Number of targets; those of a law of states are the first inputs.
    pub targets: usize,
}

/// Rows that are worked on at once.
const CHUNK: usize = 2048;

/// Some samples of one trajectory, with the neighbours that their rows need.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Time, inputs and, where they are columns of the data, targets: those of a plain regression, or rates of change.
    columns: Vec<Vec<f64>>,
    /// The samples whose own turn it is; the others are there as neighbours.
    from: usize,
    to: usize,
    /// Row of the trajectory that the first sample is.
    first: usize,
    /// Number of the trajectory.
    pub trajectory: usize,
}

impl Stretch {
    /// The rows of the trajectory whose turn it is.
    pub fn rows(&self) -> std::ops::Range<usize> {
        self.first + self.from..self.first + self.to
    }

    /// The same samples, with fewer rows whose turn it is.
    fn narrowed(&self, rows: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        rows.start - self.first..rows.end - self.first
    }
}

/// Cuts runs into stretches. Trajectories are never joined.
#[derive(Debug)]
struct Cutter {
    before: usize,
    after: usize,
    columns: Vec<Vec<f64>>,
    first: usize,
    used: usize,
    /// The trajectory that is being read, and how many have begun.
    trajectories: usize,
}

impl Cutter {
    /// A cutter with the neighbours that a recipe needs.
    fn new(recipe: &Recipe) -> Self {
        let (before, after) = recipe.halo();
        Cutter {
            before,
            after,
            columns: Vec::new(),
            first: 0,
            used: 0,
            trajectories: 0,
        }
    }

    /// Takes a run; hands on what is complete.
    fn push(&mut self, run: Run, mut out: impl FnMut(Stretch)) {
        if run.begins {
            self.finish(&mut out);
            self.trajectories += 1;
            self.columns = run.columns;
        } else if run.gap {
            let row = self.first + self.columns[0].len();
            self.finish(&mut out);
            self.first = row;
            self.columns = run.columns;
        } else {
            self.columns
                .iter_mut()
                .zip(run.columns)
                .for_each(|(column, more)| column.extend(more));
        }
        while self.columns[0].len() >= self.used.max(self.before) + CHUNK + self.after {
            let from = self.used.max(self.before);
            out(self.cut(from, from + CHUNK));
        }
    }

    /// The last trajectory is over: hands on the rest of it.
    fn finish(&mut self, mut out: impl FnMut(Stretch)) {
        let samples = self.columns.first().map_or(0, Vec::len);
        let (from, to) = (
            self.used.max(self.before),
            samples.saturating_sub(self.after),
        );
        if from < to {
            out(self.cut(from, to));
        }
        self.columns.clear();
        (self.first, self.used) = (0, 0);
    }

    /// Cuts off the rows `from..to`, with copies of their neighbours.
    fn cut(&mut self, from: usize, to: usize) -> Stretch {
        let (start, end) = (from - self.before, to + self.after);
        let stretch = Stretch {
            columns: self
                .columns
                .iter()
                .map(|c| c[start..end].to_vec())
                .collect(),
            from: self.before,
            to: self.before + to - from,
            first: self.first + start,
            trajectory: self.trajectories - 1,
        };
        let gone = to - self.before;
        self.columns
            .iter_mut()
            .for_each(|column| drop(column.drain(..gone)));
        self.first += gone;
        self.used = self.before;
        stretch
    }
}

/// Stretches that are worked on side by side.
const BATCH: usize = 16;

/// Calls `work` for every stretch, several at a time while the next are being read, and `collect` with the results in the order of the stretches: what comes out does
/// not depend on the number of cores. `progress` hears the number of rows read.
pub fn for_each_stretch<D: Send>(
    runs: &mut Runs,
    recipe: &Recipe,
    progress: impl Fn(u64) + Sync,
    work: impl Fn(&Stretch) -> Result<D> + Sync,
    mut collect: impl FnMut(D) -> Result<()>,
) -> Result<()> {
    let mut cutter = Cutter::new(recipe);
    let mut over = false;
    let mut read_batch = || -> Result<Vec<Stretch>> {
        let mut batch = Vec::new();
        while batch.len() < BATCH && !over {
            match runs.next_run()? {
                Some(run) => {
                    progress(run.columns[0].len() as u64);
                    cutter.push(run, |stretch| batch.push(stretch));
                }
                None => {
                    cutter.finish(|stretch| batch.push(stretch));
                    over = true;
                }
            }
        }
        Ok(batch)
    };
    let mut batch = read_batch()?;
    while !batch.is_empty() {
        let (next, done) = rayon::join(&mut read_batch, || {
            batch.par_iter().map(&work).collect::<Vec<Result<D>>>()
        });
        for result in done {
            collect(result?)?;
        }
        batch = next?;
    }
    Ok(())
}

/// Rows of the problem: columns of features and of targets, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Equations {
    /// Number of rows.
    pub rows: usize,
    /// Values of the features.
    pub phi: Vec<f64>,
    /// Values of the targets.
    pub y: Vec<f64>,
    /// Sums of the squared errors of the targets themselves, as far as they can be told.
    pub errors: Vec<f64>,
    /// Number of rows that the errors were told for.
    pub errors_of: u64,
}

impl Recipe {
    /// Samples needed before and after a row.
    fn halo(&self) -> (usize, usize) {
        match self.dynamics {
            Dynamics::Regression => (0, 0),
            Dynamics::Discrete => (0, 1),
            Dynamics::Continuous => (self.derivative.halo(), self.derivative.halo()),
        }
    }

    /// Whether the targets are columns of the data, behind the inputs: those of a plain regression, or rates of change that were given.
    fn targets_are_columns(&self) -> bool {
        let given = self.derivative == Derivative::Given;
        self.dynamics == Dynamics::Regression || self.dynamics == Dynamics::Continuous && given
    }

    /// Fewest rows a trajectory must have.
    pub fn rows_needed(&self) -> usize {
        let (before, after) = self.halo();
        before + after + 1
    }

    /// The rows `rows` of the trajectory, which must be some of the stretch's own. `features` turns columns of inputs into columns of features.
    pub fn equations(
        &self,
        stretch: &Stretch,
        rows: &std::ops::Range<usize>,
        noise: &[f64],
        features: impl Fn(&[f64], usize) -> ell0::Result<Vec<f64>>,
    ) -> ell0::Result<Equations> {
        let own = stretch.narrowed(rows);
        match (self.dynamics, self.derivative) {
            (Dynamics::Continuous, Derivative::Weak { half }) => {
                self.weak(stretch, own, half, noise, features)
            }
            _ => self.pointwise(stretch, own, noise, features),
        }
    }

    fn pointwise(
        &self,
        stretch: &Stretch,
        own: std::ops::Range<usize>,
        noise: &[f64],
        features: impl Fn(&[f64], usize) -> ell0::Result<Vec<f64>>,
    ) -> ell0::Result<Equations> {
        let rows = own.len();
        let columns = &stretch.columns;
        let mut x = Vec::with_capacity(rows * self.inputs);
        for column in &columns[1..=self.inputs] {
            x.extend_from_slice(&column[own.clone()]);
        }
        let mut equations = Equations {
            rows,
            errors: vec![0.0; self.targets],
            ..Equations::default()
        };
        let y = &mut equations.y;
        match self.dynamics {
            _ if self.targets_are_columns() => {
                for column in &columns[1 + self.inputs..] {
                    y.extend_from_slice(&column[own.clone()]);
                }
            }
            Dynamics::Discrete => {
                for column in &columns[1..=self.targets] {
                    y.extend_from_slice(&column[own.start + 1..own.end + 1]);
                }
            }
            Dynamics::Continuous | Dynamics::Regression => {
                y.resize(rows * self.targets, 0.0);
                let states: Vec<&[f64]> = columns[1..=self.targets]
                    .iter()
                    .map(Vec::as_slice)
                    .collect();
                let piece = Piece {
                    time: &columns[0],
                    states: &states,
                };
                for (row, at) in own.enumerate() {
                    self.derivative.at(piece, at, |k, value, rate| {
                        x[k * rows + row] = value;
                        y[k * rows + row] = rate;
                    });
                    // A few rows tell how wrong the rates are.
                    if (stretch.first + at).is_multiple_of(16) {
                        let errors = &mut equations.errors;
                        if self
                            .derivative
                            .errors(piece, at, noise, |k, e| errors[k] += e)
                        {
                            equations.errors_of += 1;
                        }
                    }
                }
            }
        }
        equations.phi = features(&x, rows)?;
        Ok(equations)
    }

    /// Integrals of features and states against bumps centred at every few rows.
    fn weak(
        &self,
        stretch: &Stretch,
        own: std::ops::Range<usize>,
        half: usize,
        noise: &[f64],
        features: impl Fn(&[f64], usize) -> ell0::Result<Vec<f64>>,
    ) -> ell0::Result<Equations> {
        // The samples in reach.
        let start = own.start - half;
        let samples = own.len() + 2 * half;
        let columns: Vec<&[f64]> = stretch
            .columns
            .iter()
            .map(|c| &c[start..start + samples])
            .collect();
        let phi = features(&columns[1..=self.inputs].concat(), samples)?;
        let stride = Derivative::stride(half);
        let centres: Vec<usize> = (half..half + own.len())
            .filter(|c| (stretch.first + start + c).is_multiple_of(stride))
            .collect();
        let bumps: Vec<_> = centres
            .iter()
            .map(|c| bump_weights(&columns[0][c - half..=c + half]))
            .collect();
        let sum = |weights: &[f64], column: &[f64], centre: usize| -> f64 {
            let window = &column[centre - half..=centre + half];
            weights.iter().zip(window).map(|(w, x)| w * x).sum()
        };
        let rows = centres.len();
        let mut equations = Equations {
            rows,
            errors: vec![0.0; self.targets],
            errors_of: rows as u64,
            ..Equations::default()
        };
        for column in phi.chunks_exact(samples) {
            equations.phi.extend(
                centres
                    .iter()
                    .zip(&bumps)
                    .map(|(&c, (value, _))| sum(value, column, c)),
            );
        }
        for column in &columns[1..=self.targets] {
            equations.y.extend(
                centres
                    .iter()
                    .zip(&bumps)
                    .map(|(&c, (_, slope))| sum(slope, column, c)),
            );
        }
        // Noise on the state, through the bump's slope, and about as much again through the features.
        for (_, slope) in &bumps {
            let through: f64 = 2.0 * slope.iter().map(|w| w * w).sum::<f64>();
            equations
                .errors
                .iter_mut()
                .zip(noise)
                .for_each(|(e, noise)| *e += noise * noise * through);
        }
        Ok(equations)
    }
}
