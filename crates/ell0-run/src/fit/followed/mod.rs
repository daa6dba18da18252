//! A law followed through some of the measurements it was found in: what the pictures of a fit show.
//!
//! Each run is cut into windows, at the beginning of which the law is started anew: a chaotic law leaves the measurements after a while however right it is. Windows are doubled as long as the law stays near. The start of
//! each is the one whose trajectory comes nearest to the measurements.

mod bands;
mod file;
mod law;
mod seen;
mod slopes;
mod windows;

use ell0::{
    equation::{DictionaryTarget, Dynamics},
    features::Features,
};
use ell0_data::noise::deviation;
use serde::{Deserialize, Serialize};

use bands::Bands;
pub(super) use file::FILE;
use law::Law;
use seen::Rows;
pub(super) use seen::Seen;
use windows::{Level, NEGLIGIBLE, Scaled, windows};

/// A law beside some of the measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Followed {
    /// Rows after which the law is started anew; none for a regression, which has no trajectories.
    pub window: Option<usize>,
    /// Of the rows of a run, every so many-th is shown.
    pub every: usize,
    /// For each target.
    pub targets: Vec<FollowedTarget>,
    /// The runs that are shown: in their own file, for they are long.
    #[serde(skip)]
    pub runs: Vec<FollowedRun>,
}

/// How near a law is to the measurements of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FollowedTarget {
    /// The target.
    pub target: String,
    /// Share of its variance that the law explains; 0 where it explains none.
    pub explained: f64,
    /// Deviation of what is left.
    pub left: f64,
    /// Deviation of the noise, as the measurements have it by themselves; none where that cannot be told.
    pub noise: Option<f64>,
}

/// A run of measurements with the law through them.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowedRun {
    /// The time of each row; its number where rows have no time.
    pub time: Vec<f64>,
    /// Rows at which the law is started anew.
    pub starts: Vec<usize>,
    /// For each target.
    pub courses: Vec<Course>,
}

/// One target over the rows of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// What was measured.
    pub measured: Vec<f64>,
    /// What the law says; none where it was lost.
    pub law: Vec<Option<f64>>,
    /// The band of 95 % that follows from how sure the coefficients are: its lower and its upper edge; none where that is not known.
    pub band: Vec<Option<(f64, f64)>>,
}

/// A law and the measurements that it has not been followed through yet: that takes longer than finding it, and only who looks at pictures needs it.
#[derive(Clone, Debug)]
pub struct Unfollowed {
    pub(super) seen: Seen,
    pub(super) features: Features,
    pub(super) laws: Vec<DictionaryTarget>,
    pub(super) covariance: Option<Vec<f64>>,
}

impl Unfollowed {
    /// Follows it; none if there is nothing to be seen.
    #[must_use]
    pub fn follow(&self) -> Option<Followed> {
        let covariance = self.covariance.as_deref();
        Followed::new(&self.seen, &self.features, &self.laws, covariance)
    }
}

/// Rows of the first windows, at most and at least. A map has no rows between rows: it is lost sooner.
const FIRST: usize = 25;
const FEWEST: usize = 6;
const FEWEST_STEPS: usize = 4;

impl Followed {
    /// Follows a law through what was seen of the measurements; `covariance` is that of its coefficients, equation after equation. None if there is nothing to be seen.
    pub(super) fn new(
        seen: &Seen,
        features: &Features,
        laws: &[DictionaryTarget],
        covariance: Option<&[f64]>,
    ) -> Option<Self> {
        let n = laws.len();
        let column = |i: usize| -> Vec<f64> {
            let columns = seen.runs.iter().map(|rows| &rows.targets[i]);
            columns.flatten().copied().collect()
        };
        let columns: Vec<Vec<f64>> = (0..n).map(column).collect();
        if seen.runs.is_empty() || columns.iter().flatten().any(|v| !v.is_finite()) {
            return None;
        }
        let scale = |column: &Vec<f64>| match deviation(column) {
            d if d > 0.0 && d.is_finite() => d,
            // It does not vary here.
            _ => column[0].abs().max(1e-100),
        };
        let scales: Vec<f64> = columns.iter().map(scale).collect();
        let relative = |(noise, scale): (&Option<f64>, &f64)| noise.map(|v| (v / scale).powi(2));
        let noise: Vec<Option<f64>> = seen.noise.iter().zip(&scales).map(relative).collect();
        let finest = noise.iter().map(|v| v.unwrap_or(NEGLIGIBLE).sqrt());
        let tolerance = (0.02 * finest.fold(f64::INFINITY, f64::min)).clamp(1e-9, 1e-5);
        let law = Law::new(features, laws, seen.dynamics, scales.clone(), tolerance);
        let (window, mut runs) = match seen.dynamics {
            Dynamics::Regression => (None, predicted(&law, &seen.runs)),
            _ => {
                let row = |rows: &Rows, k: usize| -> Vec<f64> {
                    let values = rows.targets.iter().zip(&scales);
                    values.map(|(column, scale)| column[k] / scale).collect()
                };
                let rows = |rows: &Rows| (0..rows.len()).map(|k| row(rows, k)).collect();
                let scaled = Scaled {
                    runs: &seen.runs,
                    measured: seen.runs.iter().map(rows).collect(),
                    noise,
                };
                let first = match seen.dynamics {
                    Dynamics::Discrete => FEWEST_STEPS,
                    _ => (2 * seen.lag).clamp(FEWEST, FIRST),
                };
                let level = scaled.longest(&law, first)?;
                let bands = covariance.and_then(|c| scaled.bands(&law, &level, c));
                (Some(level.rows), level.runs(&seen.runs, &scales, bands))
            }
        };
        // What a file cannot hold is not there.
        for course in runs.iter_mut().flat_map(|run| &mut run.courses) {
            for band in &mut course.band {
                *band = band.filter(|(low, high)| low.is_finite() && high.is_finite());
            }
        }
        let targets = (0..n).map(|i| {
            let courses = || runs.iter().map(move |run| &run.courses[i]);
            let pairs = courses().flat_map(|c| c.measured.iter().zip(&c.law));
            let (mut squares, mut count) = (0.0, 0usize);
            for (measured, law) in pairs {
                if let Some(law) = law {
                    squares += ((measured - law) / scales[i]).powi(2);
                    count += 1;
                }
            }
            let rows = columns[i].len();
            // Each start has taken the part of a row.
            let starts: usize = runs.iter().map(|run| run.starts.len()).sum();
            let freedom = |rows: usize| rows.saturating_sub(starts).max(1) as f64;
            // Where the law was lost it explains nothing.
            let unexplained = (squares + (rows - count) as f64) / freedom(rows);
            FollowedTarget {
                target: laws[i].target.clone(),
                explained: (1.0 - unexplained).clamp(0.0, 1.0),
                left: (squares / freedom(count)).sqrt() * scales[i],
                noise: seen.noise[i],
            }
        });
        Some(Followed {
            window,
            every: seen.every,
            targets: targets.collect(),
            runs,
        })
    }
}

impl Level {
    /// The runs in the units of the measurements.
    fn runs(&self, runs: &[Rows], scales: &[f64], bands: Option<Bands>) -> Vec<FollowedRun> {
        let course = |run: usize, i: usize| {
            let law = self.states[run].iter().map(|x| Some(x.as_ref()?[i]));
            let law: Vec<Option<f64>> = law.collect();
            let band = |(k, x): (usize, &Option<f64>)| {
                let half = bands.as_ref()?[run][k].as_ref()?[i];
                Some((scales[i] * ((*x)? - half), scales[i] * ((*x)? + half)))
            };
            Course {
                measured: runs[run].targets[i].clone(),
                band: law.iter().enumerate().map(band).collect(),
                law: law.iter().map(|x| Some(scales[i] * (*x)?)).collect(),
            }
        };
        let run = |(k, rows): (usize, &Rows)| FollowedRun {
            time: rows.time.clone(),
            starts: windows(rows.len(), self.rows).map(|w| w.start).collect(),
            courses: (0..scales.len()).map(|i| course(k, i)).collect(),
        };
        runs.iter().enumerate().map(run).collect()
    }
}

/// What a regression says of each row.
fn predicted(law: &Law, runs: &[Rows]) -> Vec<FollowedRun> {
    let run = |rows: &Rows| FollowedRun {
        time: rows.time.clone(),
        starts: vec![],
        courses: law
            .predicted(rows)
            .into_iter()
            .zip(&rows.targets)
            .map(|(law, measured)| Course {
                measured: measured.clone(),
                band: vec![None; law.len()],
                law,
            })
            .collect(),
    };
    runs.iter().map(run).collect()
}
