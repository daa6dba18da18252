//! Bands around a law that follow from how sure its coefficients are.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    law::Law,
    slopes::cholesky,
    windows::{Level, MOST_STATES, Scaled, windows},
};

/// Coefficients beyond which there are no bands.
const MOST_COEFFICIENTS: usize = 60;

/// Half the width of a band of 95 %, in deviations.
const BAND: f64 = 1.96;

/// For each run and row, and each state.
pub(super) type Bands = Vec<Vec<Option<Vec<f64>>>>;

impl Scaled<'_> {
    /// Half the width of the band of each state at each row of each run: how far the law moves where coefficients move along each axis of their covariance. The start goes along, as near to the measurements as before: it was found by them.
    pub fn bands(&self, law: &Law, level: &Level, covariance: &[f64]) -> Option<Bands> {
        let (n, p) = (self.noise.len(), law.coefficients.len());
        if covariance.len() != p * p || p > MOST_COEFFICIENTS {
            return None;
        }
        let axes = cholesky(covariance, p)?;
        let mut bands: Bands = Vec::new();
        for (run, all) in self.runs.iter().enumerate() {
            let pairs = windows(all.len(), level.rows).zip(&level.starts[run]);
            let pairs: Vec<(Range<usize>, &Vec<f64>)> = pairs.collect();
            // Side by side: as long as something is left to be spent, none of them knows of the others, and if nothing is, there are no bands.
            let parts = pairs.into_par_iter().map(|(window, start)| {
                let states = self.course(law, run, window.clone(), start);
                let slopes = match n <= MOST_STATES {
                    true => self.slopes(law, run, window.clone(), start, &states),
                    false => None,
                };
                let mut squares = vec![0.0; states.len()];
                let axes = (0..p).into_par_iter().map(|axis| {
                    self.moved(law, run, window.clone(), start, |k| axes[k * p + axis])
                });
                for moved in axes.collect::<Vec<_>>() {
                    // Where the law runs away, it is not known how far it may be off.
                    squares.truncate(moved.len());
                    let along = match &slopes {
                        Some(slopes) if moved.len() == states.len() => {
                            slopes.moved_by(&slopes.nearest(&moved))
                        }
                        _ => vec![0.0; moved.len()],
                    };
                    for ((square, moved), along) in squares.iter_mut().zip(&moved).zip(&along) {
                        *square += (moved - along).powi(2);
                    }
                }
                let halves = squares.chunks_exact(n);
                let halves = halves.map(|row| Some(row.iter().map(|s| BAND * s.sqrt()).collect()));
                let mut rows: Vec<Option<Vec<f64>>> = halves.collect();
                rows.resize(window.len(), None);
                rows
            });
            bands.push(parts.flatten_iter().collect());
        }
        law.may_go_on().then_some(bands)
    }

    /// How far the law's states in a window move if its coefficients do: a tenth of that both ways, where all is straight still, times ten.
    fn moved(
        &self,
        law: &Law,
        run: usize,
        window: Range<usize>,
        start: &[f64],
        by: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        const PART: f64 = 0.1;
        let [up, down] = [PART, -PART].map(|part| {
            let moved = law.coefficients.iter().enumerate();
            let moved: Vec<f64> = moved.map(|(k, c)| c + part * by(k)).collect();
            let mut states = Vec::with_capacity(start.len() * window.len());
            law.follow(&self.runs[run], window.clone(), start, &moved, |_, x| {
                states.extend_from_slice(x);
                true
            });
            states
        });
        let pairs = up.iter().zip(&down);
        pairs.map(|(up, down)| 0.5 / PART * (up - down)).collect()
    }
}
