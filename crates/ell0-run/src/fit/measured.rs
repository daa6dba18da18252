//! The measurements that a law is held against: windows, and how exact each value in them is.

use ell0::likelihood::{LikelyLaw, Noise, Window};
use ell0_data::{
    evidence::Evidence,
    noise::{PiecesNoise, deviation},
    windows::{Piece, bounded},
};

use super::judgement::Outlier;
use crate::error::Result;

/// No measurement is more exact than this share of its state's deviation: digits are cut off somewhere, and simulations have the errors of their solver.
pub(super) const FINEST: f64 = 1e-6;

/// A residual beyond so many deviations is none of the noise: the value is left out.
const OUTLIER: f64 = 6.0;

/// Beyond so many deviations a residual counts by its size, no longer by its square (Huber): tails that are heavier than a Gaussian's do not pull the law away.
const HEAVY: f64 = 3.0;

/// Outliers that are told one by one.
const TOLD: usize = 100;

/// Rows of the first windows: few, so that a law that is only near can be followed. Where the states move fast from row to row, fewer still.
const FIRST: usize = 25;
const FEWEST: usize = 6;

/// Rows that are enough for trying many laws.
const FEW: usize = 1200;

/// Pieces of the measurements.
pub(super) struct Measured {
    pub pieces: Vec<Piece>,
    pub states: usize,
    /// Names of the states.
    pub names: Vec<String>,
    /// Deviations of the noise on the states by the differences of neighbours, and whether they are more than bounds.
    pub noise: Vec<f64>,
    pub known: Vec<bool>,
    /// Deviations of the states.
    pub scales: Vec<f64>,
    /// Rows of the first windows.
    pub first: usize,
    /// Rows in which the slowest state moves by its own deviation.
    pub lag: usize,
}

/// A value that the law gives for one that was measured.
#[derive(Clone, Copy)]
pub(super) struct Residual {
    pub said: f64,
    pub left: f64,
    pub counts: bool,
}

/// How exact the measurements are, by what a law leaves.
pub(super) struct Measuring {
    pub noise: Vec<Noise>,
    /// Of every value of every piece, row after row; infinite for one that is left out.
    pub deviations: Vec<Vec<f64>>,
    pub outliers: Vec<Outlier>,
    /// How many there are.
    pub left_out: usize,
}

impl Measured {
    /// The samples that evidence carries; none if there are none.
    pub fn of(evidence: &[Evidence]) -> Option<Self> {
        let first = evidence.first()?;
        let states = first.targets.len();
        let pieces = evidence.iter().flat_map(|e| e.samples.iter().cloned());
        let pieces = bounded(pieces.collect());
        if pieces.is_empty() {
            return None;
        }
        let width = pieces[0].width();
        let scale = |k: usize| {
            let rows = pieces.iter().flat_map(|p| p.values.chunks_exact(width));
            deviation(&rows.map(|row| row[k]).collect::<Vec<f64>>())
        };
        let noise: Vec<PiecesNoise> = (0..states).map(|k| PiecesNoise::of(&pieces, k)).collect();
        let lag = evidence.iter().map(|e| e.survey.lag).min().unwrap_or(1);
        Some(Measured {
            scales: (0..states).map(scale).collect(),
            states,
            names: first.targets.clone(),
            noise: noise.iter().map(|n| n.deviation).collect(),
            known: noise.iter().map(|n| n.is_known).collect(),
            first: (2 * lag).clamp(FEWEST, FIRST),
            lag,
            pieces,
        })
    }

    /// Fewer of them, drawn evenly; none if they are few already.
    pub fn few(&self) -> Option<Self> {
        let rows: usize = self.pieces.iter().map(Piece::rows).sum();
        let every = rows.div_ceil(FEW);
        if every < 2 {
            return None;
        }
        // Parts that are a few windows long, and of these every so many-th.
        let parts = self.pieces.iter().flat_map(|p| p.parts(4 * self.first));
        Some(Measured {
            pieces: parts.step_by(every).collect(),
            states: self.states,
            names: self.names.clone(),
            noise: self.noise.clone(),
            known: self.known.clone(),
            scales: self.scales.clone(),
            first: self.first,
            lag: self.lag,
        })
    }

    /// Whether there is anything to be followed: every state moves.
    pub fn moves(&self) -> bool {
        self.scales.iter().all(|s| *s > 0.0 && s.is_finite())
    }

    /// Windows of at most so many rows, with these deviations of each piece. With their time as one more input from outside, if that is wanted.
    pub fn windows(
        &self,
        rows: usize,
        deviations: &[Vec<f64>],
        with_time: bool,
    ) -> Result<Vec<Window>> {
        let mut windows = Vec::new();
        for (piece, deviations) in self.pieces.iter().zip(deviations) {
            let (mut states, mut controls) = (Vec::new(), Vec::new());
            for (row, time) in piece.values.chunks_exact(piece.width()).zip(&piece.time) {
                states.extend_from_slice(&row[..self.states]);
                controls.extend_from_slice(&row[self.states..]);
                controls.extend(with_time.then_some(*time));
            }
            let whole = Window::new(piece.time.clone(), states, controls, deviations)?;
            windows.extend(whole.parts(rows));
        }
        Ok(windows)
    }

    /// What is known of the noise before there is a law.
    pub fn first_noise(&self) -> Vec<Noise> {
        let constant = |(noise, scale): (&f64, &f64)| Noise {
            constant: noise.max(FINEST * scale),
            proportional: 0.0,
        };
        self.noise.iter().zip(&self.scales).map(constant).collect()
    }

    /// The deviation of every measurement, by its own value; infinite for what was put in the place of one.
    pub fn deviations(&self, noise: &[Noise]) -> Vec<Vec<f64>> {
        let n = self.states;
        let of = |piece: &Piece| {
            let rows = piece.values.chunks_exact(piece.width());
            let each = rows.flat_map(|row| row.iter().zip(noise).map(|(x, noise)| noise.at(*x)));
            let mut deviations: Vec<f64> = each.collect();
            for place in &piece.replaced {
                let (row, column) = (place / piece.width(), place % piece.width());
                if column < n {
                    deviations[row * n + column] = f64::INFINITY;
                }
            }
            deviations
        };
        self.pieces.iter().map(of).collect()
    }

    /// Residuals of each state: what the law says, what is left of the measurement, and whether it counted.
    pub fn residuals(&self, law: &LikelyLaw, windows: &[Window]) -> Vec<Vec<Residual>> {
        let n = self.states;
        let mut all = vec![Vec::new(); n];
        for (window, states) in windows.iter().zip(&law.states) {
            for (k, row) in states.chunks_exact(n).enumerate() {
                let weights = window.weights(k);
                for (i, said) in row.iter().enumerate() {
                    all[i].push(Residual {
                        said: *said,
                        left: window.state(k)[i] - said,
                        counts: weights[i] > 0.0,
                    });
                }
            }
        }
        all
    }

    /// How exact the measurements are by what a law leaves.
    pub fn measured_by(
        &self,
        law: &LikelyLaw,
        windows: &[Window],
        before: &[Vec<f64>],
    ) -> Measuring {
        let n = self.states;
        let residuals = self.residuals(law, windows);
        // Starts and coefficients have taken their share.
        let parameters = n * windows.len() + law.covariance.len().isqrt();
        let noise: Vec<Noise> = residuals
            .iter()
            .zip(&self.scales)
            .map(|(residuals, scale)| {
                let mut sizes: Vec<f64> = residuals.iter().map(|r| r.left.abs()).collect();
                sizes.sort_by(f64::total_cmp);
                let typical = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0) / 0.6745;
                let rows = residuals.len() as f64;
                let share = (1.0 - parameters as f64 / (n as f64 * rows)).max(0.1);
                let pairs: Vec<(f64, f64)> = residuals
                    .iter()
                    .filter(|r| r.left.abs() <= 2.0 * OUTLIER * typical || typical == 0.0)
                    .map(|r| (r.said, r.left * r.left / share))
                    .collect();
                let noise = Noise::of(&pairs);
                Noise {
                    constant: noise.constant.max(FINEST * scale),
                    ..noise
                }
            })
            .collect();
        let mut deviations = before.to_vec();
        let (mut outliers, mut left_out) = (Vec::new(), 0);
        // Windows are the pieces cut up, in order.
        let rows = self.pieces.iter().zip(&mut deviations);
        let mut rows = rows.flat_map(|(piece, deviations)| {
            let rows = deviations.chunks_exact_mut(n).enumerate();
            rows.map(move |(row, out)| (piece, row, out))
        });
        for (window, states) in windows.iter().zip(&law.states) {
            for k in 0..window.rows() {
                let Some((piece, row, out)) = rows.next() else {
                    break;
                };
                let Some(said) = states.get(k * n..(k + 1) * n) else {
                    continue;
                };
                for (i, out) in out.iter_mut().enumerate() {
                    if piece.replaced.contains(&(row * piece.width() + i)) {
                        continue;
                    }
                    let deviation = noise[i].at(said[i]);
                    let off = (window.state(k)[i] - said[i]).abs() / deviation;
                    *out = if off > OUTLIER {
                        left_out += 1;
                        if outliers.len() < TOLD {
                            outliers.push(Outlier {
                                place: piece.place(row),
                                state: self.names[i].clone(),
                                value: window.state(k)[i],
                                expected: said[i],
                            });
                        }
                        f64::INFINITY
                    } else {
                        deviation * (off / HEAVY).max(1.0).sqrt()
                    };
                }
            }
        }
        Measuring {
            noise,
            deviations,
            outliers,
            left_out,
        }
    }

    /// How near is near enough, in deviations: nearer than the finest measurement there can be is no gain.
    pub fn floor(&self, noise: &[Noise], least: f64) -> f64 {
        let shares = noise.iter().zip(&self.scales);
        let finest = shares.map(|(noise, scale)| FINEST * scale / noise.at(*scale));
        finest.fold(least, f64::max)
    }
}
