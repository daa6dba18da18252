//! A bounded sample of the measurements, for the eye.

use ell0::equation::Dynamics;
use ell0_data::{noise::deviation, runs::Run};

use crate::{data::Prepared, error::Result};

/// Rows that are read, and of them those that are kept.
const MOST_READ: usize = 20_000;
const MOST_KEPT: usize = 2_000;

/// Runs that are kept: the longest.
const MOST_RUNS: usize = 3;

/// Rows that a state should have while it moves by its own deviation, so that lines through them are smooth.
const SMOOTH: usize = 6;

/// Measurements whose noise is below this share of their deviation have none that could be told from digits cut off.
const NO_NOISE: f64 = 1e-6;

/// Rows that follow each other without a gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rows {
    pub time: Vec<f64>,
    /// Column after column: states and controls, or the inputs of a regression.
    pub inputs: Vec<Vec<f64>>,
    /// What a law should give: the first inputs, or the targets of a regression.
    pub targets: Vec<Vec<f64>>,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Every so many-th of them, and at most so many.
    fn thinned(&self, every: usize, most: usize) -> Self {
        let thin = |column: &Vec<f64>| -> Vec<f64> {
            let rows = column.iter().step_by(every).take(most);
            rows.copied().collect()
        };
        Rows {
            time: thin(&self.time),
            inputs: self.inputs.iter().map(thin).collect(),
            targets: self.targets.iter().map(thin).collect(),
        }
    }
}

/// What is shown of the measurements.
#[derive(Clone, Debug)]
pub(in crate::fit) struct Seen {
    pub(super) runs: Vec<Rows>,
    /// Of the rows of a run, every so many-th is kept.
    pub(super) every: usize,
    pub(super) dynamics: Dynamics,
    /// Deviation of the noise on each target, where it is known.
    pub(super) noise: Vec<Option<f64>>,
    /// Rows, of those kept, in which the fastest state moves by its own deviation.
    pub(super) lag: usize,
}

impl Seen {
    /// Reads the beginning of the data and keeps the longest runs of it. Where states move slowly, rows are left out between those that are kept, so that more of a run is seen.
    pub fn new(prepared: &Prepared) -> Result<Self> {
        let question = &prepared.question;
        let (dynamics, inputs) = (question.dynamics, question.inputs.len());
        let regression = dynamics == Dynamics::Regression;
        let targets = question.targets.len();
        let mut all: Vec<Rows> = Vec::new();
        let (mut runs, mut read) = (prepared.runs()?, 0);
        while read < MOST_READ
            && let Some(Run {
                columns,
                begins,
                gap,
                ..
            }) = runs.next_run()?
        {
            // The rows of a regression have no order.
            if all.is_empty() || (begins || gap) && !regression {
                all.push(Rows {
                    time: Vec::new(),
                    inputs: vec![Vec::new(); inputs],
                    targets: vec![Vec::new(); targets],
                });
            }
            let Some(rows) = all.last_mut() else { break };
            let n = columns[0].len().min(MOST_READ - read);
            rows.time.extend_from_slice(&columns[0][..n]);
            let (from, first) = columns[1..].split_at(inputs);
            let to = if regression { first } else { from };
            for (kept, column) in rows.inputs.iter_mut().zip(from) {
                kept.extend_from_slice(&column[..n]);
            }
            for (kept, column) in rows.targets.iter_mut().zip(to) {
                kept.extend_from_slice(&column[..n]);
            }
            read += n;
        }
        // The longest ones, in their order.
        let mut longest: Vec<usize> = (0..all.len()).collect();
        longest.sort_by_key(|&k| std::cmp::Reverse(all[k].len()));
        longest.truncate(MOST_RUNS);
        longest.sort_unstable();
        let chosen: Vec<&Rows> = longest.iter().map(|&k| &all[k]).collect();
        let rows: usize = chosen.iter().map(|r| r.len()).sum();
        let (survey, wanted) = (&prepared.survey, rows.div_ceil(MOST_KEPT).max(1));
        let every = match dynamics {
            Dynamics::Regression => wanted,
            // Controls between rows are needed, too.
            Dynamics::Continuous if inputs == targets => wanted.min((survey.lag / SMOOTH).max(1)),
            Dynamics::Continuous | Dynamics::Discrete => 1,
        };
        let most = MOST_KEPT / chosen.len().max(1);
        let kept = chosen.iter().map(|rows| rows.thinned(every, most));
        let runs: Vec<Rows> = kept.filter(|rows| rows.len() >= 2).collect();
        let noise = |k: usize| {
            let noise = survey.noise.get(k).copied().filter(|_| !survey.coarse)?;
            let column: Vec<f64> = runs.iter().flat_map(|r| &r.targets[k]).copied().collect();
            (noise > NO_NOISE * deviation(&column)).then_some(noise)
        };
        let known = dynamics == Dynamics::Continuous && survey.rows > 100;
        Ok(Seen {
            noise: (0..targets).map(|k| noise(k).filter(|_| known)).collect(),
            runs,
            every,
            dynamics,
            lag: (survey.lag / every).max(1),
        })
    }
}
