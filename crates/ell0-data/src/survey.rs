//! A first look at the data: how much there is, how noisy it is, how fast it moves.

use serde::{Deserialize, Serialize};

use crate::{
    blemishes::{Blemishes, Scale, Scanner},
    derivative::Derivative,
    error::Result,
    noise::{Differences, decorrelation_lag, deviation, is_coarse, noise_deviation},
    repeats::{Repeats, Watch},
    runs::Runs,
    windows::{Piece, Sampler},
};

/// What a first look at the files found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// Rows.
    pub rows: u64,
    /// Trajectories.
    pub trajectories: usize,
    /// Rows of the first few trajectories.
    pub lengths: Vec<usize>,
    /// Rows of the shortest trajectory.
    pub shortest: usize,
    /// Rows left out because of empty or NaN cells.
    pub dropped: u64,
    /// Deviation of the noise on each state.
    pub noise: Vec<f64>,
    /// The largest noise, relative to its state's own deviation.
    pub relative_noise: f64,
    /// Whether that is no noise but coarse sampling, for all that can be told: the noise is at most so large.
    #[serde(default)]
    pub coarse: bool,
    /// Samples in which the fastest state moves by its own deviation.
    pub lag: usize,
    /// The time between two rows.
    #[serde(default)]
    pub steps: Steps,
    /// The value of each column (inputs, then targets that are columns) that is the same in all rows.
    pub constant: Vec<Option<f64>>,
    /// What is no measurement: how much, and the first places.
    #[serde(default, skip_serializing_if = "Blemishes::is_empty")]
    pub blemishes: Blemishes,
    /// States that repeat values although they are noisy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Repeats>,
}

/// What a first look at the files found, and what it kept of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// How much there is, how noisy it is, how fast it moves.
    pub survey: Survey,
    /// A bounded number of rows, evenly drawn.
    pub pieces: Vec<Piece>,
    /// All that is no measurement.
    pub blemishes: Blemishes,
}

/// The time between two rows, in the longest trajectory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    /// The median.
    pub usual: f64,
    /// All but one in twenty are at most this.
    pub most: f64,
}

impl Steps {
    fn of(time: &[f64]) -> Self {
        let mut steps: Vec<f64> = time.windows(2).map(|t| t[1] - t[0]).collect();
        steps.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (steps.len() as f64 * share) as usize;
            steps.get(place.min(steps.len().saturating_sub(1))).copied()
        };
        Steps {
            usual: at(0.5).unwrap_or(0.0),
            most: at(0.95).unwrap_or(0.0),
        }
    }
}

/// What differences leave below this share of a state's deviation is no noise to speak of, and no movement either.
pub(crate) const NO_NOISE: f64 = 1e-5;

/// Rows of one trajectory that are enough to tell how noisy and how fast it is.
const SAMPLE: usize = 20_000;

/// Trajectories whose lengths are kept.
const LENGTHS: usize = 25;

impl Survey {
    /// Rows of the trajectory in the middle.
    pub(crate) fn usual_length(&self) -> usize {
        let mut lengths = self.lengths.clone();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 2).copied().unwrap_or(0)
    }

    /// About how many bumps of so many points on either side there is room for.
    #[must_use]
    pub(crate) fn bumps(&self, half: usize) -> usize {
        let stride = Derivative::stride(half);
        let centres = |length: &usize| length.saturating_sub(2 * half) / stride;
        let known: usize = self.lengths.iter().sum();
        let share = self.rows as f64 / known.max(1) as f64;
        (self.lengths.iter().map(centres).sum::<usize>() as f64 * share) as usize
    }

    /// Whether bumps of so many points on either side leave a row and a half for each of so many terms.
    pub(crate) fn has_room(&self, half: usize, terms: usize) -> bool {
        self.bumps(half) >= 3 * (terms + 1) / 2 + 5
    }

    /// Reads all runs once; the first `states` inputs are looked at closely. `progress` hears the number of rows read.
    pub fn new(runs: Runs, states: usize, progress: impl Fn(u64)) -> Result<Self> {
        Ok(Look::new(runs, states, false, progress)?.survey)
    }
}

impl Look {
    /// Reads all runs once; the first `states` inputs are looked at closely. Where they are `smooth`, as samples of something that moves are, values far off their neighbours are found. `progress` hears the number of rows read.
    pub fn new(
        mut runs: Runs,
        states: usize,
        smooth: bool,
        progress: impl Fn(u64),
    ) -> Result<Self> {
        let mut scanner = smooth.then(|| Scanner::new(states));
        let (mut sampler, mut watch) = (Sampler::new(), Watch::new(states));
        // The longest beginning of a trajectory so far, and that of the present one.
        let (mut longest, mut series) =
            (vec![Vec::new(); 1 + states], vec![Vec::new(); 1 + states]);
        let (mut rows, mut lengths, mut shortest, mut trajectories) =
            (0, Vec::new(), usize::MAX, 0);
        let mut length = 0;
        let mut constant: Vec<Option<f64>> = Vec::new();
        loop {
            let run = runs.next_run()?;
            if run.as_ref().is_none_or(|r| r.begins) && trajectories > 0 {
                shortest = shortest.min(length);
                if lengths.len() < LENGTHS {
                    lengths.push(length);
                }
                if states > 0 && series[0].len() > longest[0].len() {
                    std::mem::swap(&mut series, &mut longest);
                }
                series.iter_mut().for_each(Vec::clear);
                length = 0;
            }
            let Some(run) = run else { break };
            if let Some(scanner) = &mut scanner {
                scanner.push(&run);
            }
            watch.push(&run);
            sampler.push(&run, &runs.replaced(&run));
            trajectories += usize::from(run.begins);
            let n = run.columns[0].len();
            if rows == 0 {
                constant = run.columns[1..].iter().map(|c| Some(c[0])).collect();
            }
            for (value, column) in constant.iter_mut().zip(&run.columns[1..]) {
                *value = value.filter(|v| column.iter().all(|x| x == v));
            }
            let room = SAMPLE.saturating_sub(length).min(n);
            // Nothing beats a full sample.
            if states > 0 && longest[0].len() < SAMPLE {
                series
                    .iter_mut()
                    .zip(&run.columns)
                    .for_each(|(s, c)| s.extend_from_slice(&c[..room]));
            }
            rows += n as u64;
            length += n;
            progress(n as u64);
        }
        let (time, longest) = longest.split_at(1);
        let blemishes = scanner.map_or(Blemishes::default(), |scanner| {
            let scales = longest.iter().map(|s| Scale::of(&time[0], s));
            scanner.finish(&scales.collect::<Vec<Scale>>())
        });
        let noise: Vec<f64> = longest
            .iter()
            .map(|s| noise_deviation(&time[0], s))
            .collect();
        let relative = longest
            .iter()
            .zip(&noise)
            .map(|(s, n)| if *n > 0.0 { n / deviation(s) } else { 0.0 });
        // Where some states are sampled finely enough, these tell the noise.
        let relative: Vec<f64> = relative.collect();
        let moving: Vec<bool> = longest.iter().map(|s| is_coarse(&time[0], s)).collect();
        let most = |coarse: bool| {
            let own = relative.iter().zip(&moving).filter(|(_, m)| **m == coarse);
            own.map(|(r, _)| *r).fold(0.0, f64::max)
        };
        let coarse = most(true) > NO_NOISE && moving.iter().all(|m| *m);
        let relative_noise = most(coarse);
        let lags = longest
            .iter()
            .zip(&noise)
            .map(|(s, n)| decorrelation_lag(s, *n));
        let survey = Survey {
            coarse,
            rows,
            trajectories,
            shortest,
            lengths,
            dropped: runs.dropped(),
            relative_noise,
            lag: lags.min().unwrap_or(1),
            steps: Steps::of(&time[0]),
            constant,
            noise,
            blemishes: blemishes.told(),
            repeats: watch.finish(&time[0], longest),
        };
        Ok(Look {
            survey,
            pieces: sampler.finish(),
            blemishes,
        })
    }
}

impl Scale {
    /// By medians, which a few values far off do not move.
    fn of(time: &[f64], series: &[f64]) -> Self {
        let median = |mut values: Vec<f64>| {
            let at = values.len() / 2;
            if values.is_empty() {
                return 0.0;
            }
            *values.select_nth_unstable_by(at, f64::total_cmp).1
        };
        let middle = median(series.to_vec());
        Scale {
            noise: Differences::new(time, series, 8).typical(),
            spread: median(series.iter().map(|x| (x - middle).abs()).collect()) / 0.6745,
            step: median(series.windows(2).map(|x| (x[1] - x[0]).abs()).collect()),
            middle,
        }
    }
}
