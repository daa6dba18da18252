//! From samples of trajectories to the statistics of a model, row by row, never the whole in memory.

use ell0::{
    dictionary::{Accumulator, Statistics},
    equation::Dynamics,
    features::{Features, Workspace},
};

use crate::derivative::{Derivative, Piece, bump_weights};

/// Which rows are held out to validate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldOut {
    /// Every fifth trajectory.
    Trajectories,
    /// Every fifth block of so many rows of a trajectory.
    Blocks(usize),
}

/// Parts of the validation data: the spread of the error over them is its uncertainty.
pub const PARTS: usize = 5;

/// Rows that are worked on at once.
const CHUNK: usize = 4096;

/// Collects the statistics of a model from samples, in order: rows of one trajectory, its end, rows of the next.
///
/// Trajectories are never differenced across their ends.
#[derive(Debug)]
pub struct Collector {
    dynamics: Dynamics,
    derivative: Derivative,
    hold_out: HoldOut,
    states: usize,
    inputs: usize,
    accumulators: Vec<Accumulator>,
    workspace: Workspace,
    /// Samples not yet worked off: time, states, controls, (for plain regression) targets.
    columns: Vec<Vec<f64>>,
    /// Row of the trajectory that the first sample of `columns` is.
    first: usize,
    /// Rows at the start of `columns` whose own turn is over; they are there as neighbours.
    used: usize,
    trajectory: usize,
    phi: Vec<f64>,
    /// Deviation of the noise on each state.
    noise: Vec<f64>,
    /// Sums and count of the squared errors of the targets themselves.
    errors: Vec<f64>,
    errors_of: u64,
}

impl Collector {
    /// A collector for inputs = states then controls; `noise` is the deviation of the noise on each state. For plain regression the states are the inputs, and the targets are named apart.
    pub fn new(
        features: &Features,
        states: usize,
        targets: &[String],
        dynamics: Dynamics,
        derivative: Derivative,
        noise: Vec<f64>,
        hold_out: HoldOut,
    ) -> ell0::Result<Self> {
        let inputs = features.inputs().len();
        let new = || Accumulator::new(features.clone(), targets.to_vec());
        let extra = if dynamics == Dynamics::Regression {
            targets.len()
        } else {
            0
        };
        Ok(Collector {
            dynamics,
            derivative,
            hold_out,
            states,
            inputs,
            accumulators: (0..=PARTS).map(|_| new()).collect::<ell0::Result<_>>()?,
            workspace: features.workspace(CHUNK),
            columns: vec![Vec::new(); 1 + inputs + extra],
            first: 0,
            used: 0,
            trajectory: 0,
            phi: Vec::new(),
            errors: vec![0.0; states],
            errors_of: 0,
            noise,
        })
    }

    /// Fewest rows a trajectory must have.
    pub fn rows_needed(&self) -> usize {
        match self.dynamics {
            Dynamics::Regression => 1,
            Dynamics::Discrete => 2,
            Dynamics::Continuous => self.derivative.rows_needed(),
        }
    }

    /// Samples needed before and after a row.
    fn halo(&self) -> (usize, usize) {
        match self.dynamics {
            Dynamics::Regression => (0, 0),
            Dynamics::Discrete => (0, 1),
            Dynamics::Continuous => (self.derivative.halo(), self.derivative.halo()),
        }
    }

    /// Adds a sample: time, then states and controls (and targets, for plain regression).
    pub fn push(&mut self, sample: impl IntoIterator<Item = f64>) -> ell0::Result<()> {
        self.columns
            .iter_mut()
            .zip(sample)
            .for_each(|(column, value)| column.push(value));
        let (before, after) = self.halo();
        if self.columns[0].len() >= CHUNK + before + after {
            self.work()?;
        }
        Ok(())
    }

    /// The trajectory is over.
    pub fn end_trajectory(&mut self) -> ell0::Result<()> {
        self.work()?;
        self.columns.iter_mut().for_each(Vec::clear);
        (self.first, self.used) = (0, 0);
        self.trajectory += 1;
        Ok(())
    }

    /// The accumulator that a row of the present trajectory belongs to: 0 is training, the others are parts of the validation data.
    fn place(&self, row: usize) -> usize {
        let unit = match self.hold_out {
            HoldOut::Trajectories => self.trajectory,
            HoldOut::Blocks(length) => row / length.max(1),
        };
        if unit % 5 == 4 {
            1 + unit / 5 % PARTS
        } else {
            0
        }
    }

    /// Works off every row whose neighbours are there.
    fn work(&mut self) -> ell0::Result<()> {
        let (before, after) = self.halo();
        let n = self.columns[0].len();
        let from = self.used.max(before);
        let to = n.saturating_sub(after);
        if from < to {
            if let (Dynamics::Continuous, Derivative::Weak { half }) =
                (self.dynamics, self.derivative)
            {
                self.work_weak(from, to, half)?;
            } else {
                self.work_rows(from, to)?;
            }
        }
        // What the next rows need as neighbours stays.
        let keep = (before + after).min(n);
        let gone = n - keep;
        self.columns
            .iter_mut()
            .for_each(|column| drop(column.drain(..gone)));
        self.first += gone;
        self.used = to.max(from.min(n)).saturating_sub(gone);
        Ok(())
    }

    /// Rows from..to, in runs that belong to one accumulator.
    fn work_rows(&mut self, from: usize, to: usize) -> ell0::Result<()> {
        let mut start = from;
        while start < to {
            let place = self.place(self.first + start);
            let end = (start..to)
                .take(CHUNK)
                .find(|&row| self.place(self.first + row) != place)
                .unwrap_or(to.min(start + CHUNK));
            let rows = end - start;
            let targets = self.accumulators[0].statistics().targets().len();
            let (mut x, mut y) = (vec![0.0; rows * self.inputs], vec![0.0; rows * targets]);
            for k in 0..self.inputs {
                x[k * rows..][..rows].copy_from_slice(&self.columns[1 + k][start..end]);
            }
            match self.dynamics {
                Dynamics::Regression => {
                    for k in 0..targets {
                        y[k * rows..][..rows]
                            .copy_from_slice(&self.columns[1 + self.inputs + k][start..end]);
                    }
                }
                Dynamics::Discrete => {
                    for k in 0..targets {
                        y[k * rows..][..rows]
                            .copy_from_slice(&self.columns[1 + k][start + 1..=end]);
                    }
                }
                Dynamics::Continuous => {
                    let states: Vec<&[f64]> = self.columns[1..=self.states]
                        .iter()
                        .map(Vec::as_slice)
                        .collect();
                    let piece = Piece {
                        time: &self.columns[0],
                        states: &states,
                    };
                    for row in 0..rows {
                        self.derivative.at(piece, start + row, |k, value, rate| {
                            x[k * rows + row] = value;
                            y[k * rows + row] = rate;
                        });
                        // A few rows tell how wrong the rates are.
                        if (self.first + start + row).is_multiple_of(16) {
                            let noise = &self.noise;
                            let errors = &mut self.errors;
                            if self
                                .derivative
                                .errors(piece, start + row, noise, |k, e| errors[k] += e)
                            {
                                self.errors_of += 1;
                            }
                        }
                    }
                }
            }
            self.accumulators[place].push(&x, &y, None, rows)?;
            start = end;
        }
        Ok(())
    }

    /// Integrals of features and states against bumps centred at every few rows.
    fn work_weak(&mut self, from: usize, to: usize, half: usize) -> ell0::Result<()> {
        let n = self.columns[0].len();
        let p = self.accumulators[0].features().len();
        // Features of all samples in reach, in pieces that the workspace holds.
        self.phi.resize(n * p, 0.0);
        for start in (0..n).step_by(CHUNK) {
            let rows = CHUNK.min(n - start);
            let x: Vec<f64> = (0..self.inputs)
                .flat_map(|k| self.columns[1 + k][start..start + rows].to_vec())
                .collect();
            let mut room = vec![0.0; rows * p];
            self.accumulators[0].features().evaluate_into(
                &x,
                rows,
                &mut room,
                &mut self.workspace,
            )?;
            for j in 0..p {
                self.phi[j * n + start..][..rows].copy_from_slice(&room[j * rows..][..rows]);
            }
        }
        let stride = (half / 4).max(1);
        let mut rows: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); PARTS + 1];
        let targets = self.states;
        for centre in (from..to).filter(|c| (self.first + c).is_multiple_of(stride)) {
            let window = centre - half..centre + half + 1;
            let (value, slope) = bump_weights(&self.columns[0][window.clone()]);
            let sum = |weights: &[f64], column: &[f64]| {
                weights.iter().zip(column).map(|(w, x)| w * x).sum::<f64>()
            };
            let place = self.place(self.first + centre);
            // Noise on the state, through the bump's slope, and about as much again through the features.
            let through: f64 = 2.0 * slope.iter().map(|w| w * w).sum::<f64>();
            self.errors
                .iter_mut()
                .zip(&self.noise)
                .for_each(|(e, noise)| *e += noise * noise * through);
            self.errors_of += 1;
            let (phi, y) = &mut rows[place];
            phi.extend((0..p).map(|j| sum(&value, &self.phi[j * n..][window.clone()])));
            y.extend((0..targets).map(|k| sum(&slope, &self.columns[1 + k][window.clone()])));
        }
        for (accumulator, (phi, y)) in self.accumulators.iter_mut().zip(rows) {
            let count = y.len() / targets.max(1);
            let by_column = |values: &[f64], width: usize| -> Vec<f64> {
                (0..width)
                    .flat_map(|c| (0..count).map(move |r| values[r * width + c]))
                    .collect()
            };
            accumulator.push_features(&by_column(&phi, p), &by_column(&y, targets), count)?;
        }
        Ok(())
    }

    /// The statistics of the training rows, of each part of the validation rows that has any, and an error below which a model is as good as the targets themselves.
    pub fn finish(self) -> (Statistics, Vec<Statistics>, Vec<f64>) {
        // Twice the size of the error: held-out parts may have more than their share of it, and it is an estimate.
        let mean = |e: &f64| 4.0 * e / self.errors_of.max(1) as f64;
        let floors = self.errors.iter().map(mean).collect();
        let mut all = self.accumulators.into_iter().map(Accumulator::finish);
        let train = all.next().expect("there is always the training part");
        (train, all.filter(|part| part.rows() > 0).collect(), floors)
    }
}
