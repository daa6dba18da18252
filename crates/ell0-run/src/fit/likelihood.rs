//! The law that the measurements themselves ask for, from those of the path.

use ell0::{
    dictionary::{Line, Path},
    features::Features,
    likelihood::{LikelihoodConfig, LikelyLaw, Noise, Window, likely_law},
};
use ell0_data::{
    noise::deviation,
    windows::{Piece, Sample, sample},
};

use super::judgement::{Judged, Judgement, Verdict};
use crate::{
    data::Prepared,
    error::Result,
    observer::{Observer, Task},
};

/// Rows of the first windows: few, so that a law that is only near can be followed. Where the states move fast from row to row, fewer still.
const FIRST: usize = 25;
const FEWEST: usize = 6;

/// Windows grow by this factor, up to so many rows: longer ones say more about weak terms.
const GROWTH: usize = 4;
const LONGEST: usize = 400;

/// Rows of all windows together.
const MOST: usize = 4000;

/// A law that is right leaves as much in long windows as in short ones, up to this factor; one that is wrong, or chaotic, leaves more.
const NO_WORSE: f64 = 1.15;

/// Times that the noise is measured anew by what a law leaves.
const ROUNDS: usize = 6;

/// No measurement is more exact than this share of its state's deviation: digits are cut off somewhere, and simulations have the errors of their solver.
const FINEST: f64 = 1e-6;

/// A residual beyond so many deviations is none of the noise.
const OUTLIER: f64 = 6.0;

/// What is left is the noise up to this factor between deviations: both are estimates.
const ALIKE: f64 = 1.25;

/// Where the noise itself is not known, a law that leaves less than this share of a state's deviation explains all there is.
const ALL: f64 = 1e-3;

/// Pieces of the measurements.
pub(super) struct Measured {
    pieces: Vec<Piece>,
    states: usize,
    /// Deviations of the noise on the states, as the survey has it, and whether they are more than bounds.
    noise: Vec<f64>,
    known: bool,
    scales: Vec<f64>,
    first: usize,
}

/// A law with its judgement.
pub(super) struct Found {
    pub law: LikelyLaw,
    pub judgement: Judgement,
}

type Terms = Vec<Vec<(usize, f64)>>;

impl Measured {
    pub fn new(prepared: &Prepared, observer: &dyn Observer) -> Result<Self> {
        let reading = Task::begin(
            observer,
            "drawing windows, rows:",
            Some(prepared.survey.rows),
        );
        let wanted = Sample {
            rows: LONGEST,
            most: MOST,
        };
        let inputs = prepared.question.inputs.len();
        let pieces = sample(
            prepared.runs()?,
            prepared.survey.rows,
            inputs,
            wanted,
            |rows| reading.advance(rows),
        )?;
        reading.end()?;
        let states = prepared.question.targets.len();
        let scale = |k: usize| {
            let rows = pieces.iter().flat_map(|p| p.inputs.chunks_exact(inputs));
            deviation(&rows.map(|row| row[k]).collect::<Vec<f64>>())
        };
        Ok(Measured {
            scales: (0..states).map(scale).collect(),
            states,
            noise: prepared.survey.noise.clone(),
            known: !prepared.survey.coarse && prepared.survey.rows > 100,
            first: (2 * prepared.survey.lag).clamp(FEWEST, FIRST),
            pieces,
        })
    }

    /// Windows of at most so many rows, with these deviations of each piece.
    fn windows(&self, rows: usize, deviations: &[Vec<f64>]) -> Result<Vec<Window>> {
        let mut windows = Vec::new();
        for (piece, deviations) in self.pieces.iter().zip(deviations) {
            let width = piece.inputs.len() / piece.rows();
            let (mut states, mut controls) = (Vec::new(), Vec::new());
            for row in piece.inputs.chunks_exact(width) {
                states.extend_from_slice(&row[..self.states]);
                controls.extend_from_slice(&row[self.states..]);
            }
            let whole = Window::new(piece.time.clone(), states, controls, deviations)?;
            windows.extend(whole.parts(rows));
        }
        Ok(windows)
    }

    /// The deviation of every measurement, by its own value.
    fn deviations(&self, noise: &[Noise]) -> Vec<Vec<f64>> {
        let of = |piece: &Piece| {
            let width = piece.inputs.len() / piece.rows();
            let rows = piece.inputs.chunks_exact(width);
            rows.flat_map(|row| row.iter().zip(noise).map(|(x, noise)| noise.at(*x)))
                .collect()
        };
        self.pieces.iter().map(of).collect()
    }

    /// Residuals of each state: what was measured, what the law says, and whether it counted.
    fn residuals(&self, law: &LikelyLaw, windows: &[Window]) -> Vec<Vec<Residual>> {
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

    /// How exact the measurements are by what a law leaves: deviations of each, infinite for outliers.
    fn measured_by(&self, law: &LikelyLaw, windows: &[Window], before: &[Vec<f64>]) -> Measuring {
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
        let mut outliers = 0;
        let mut rows = deviations.iter_mut().flat_map(|d| d.chunks_exact_mut(n));
        for (window, states) in windows.iter().zip(&law.states) {
            for k in 0..window.rows() {
                let Some(row) = rows.next() else { break };
                let Some(said) = states.get(k * n..(k + 1) * n) else {
                    continue;
                };
                for (i, out) in row.iter_mut().enumerate() {
                    let deviation = noise[i].at(said[i]);
                    let outlier = (window.state(k)[i] - said[i]).abs() > OUTLIER * deviation;
                    outliers += usize::from(outlier);
                    *out = if outlier { f64::INFINITY } else { deviation };
                }
            }
        }
        Measuring {
            noise,
            deviations,
            outliers,
        }
    }

    /// How near is near enough, in deviations: nearer than the finest measurement there can be is no gain.
    fn floor(&self, noise: &[Noise]) -> f64 {
        let shares = noise.iter().zip(&self.scales);
        let finest = shares.map(|(noise, scale)| FINEST * scale / noise.at(*scale));
        finest.fold(LikelihoodConfig::default().floor, f64::max)
    }

    /// The most likely law, from the laws of the paths that were chosen and from the best by other measures; none if no law can be followed.
    pub fn law(
        &self,
        features: &Features,
        paths: &[Path],
        chosen: &[Line],
    ) -> Result<Option<Found>> {
        if self.pieces.is_empty() || self.scales.iter().any(|s| *s <= 0.0 || !s.is_finite()) {
            return Ok(None);
        }
        let near = |line: &Line| -> Vec<(usize, f64)> {
            let coefficients = line.support.iter().map(|&j| (j, line.coefficients[j]));
            coefficients.collect()
        };
        let least = |measure: fn(&Line) -> f64| -> Terms {
            let best = |path: &Path| {
                let lines = path.lines().iter();
                let least = lines.min_by(|a, b| measure(a).total_cmp(&measure(b)));
                least.map(near).unwrap_or_default()
            };
            paths.iter().map(best).collect()
        };
        let mut starts: Vec<Terms> = vec![chosen.iter().map(near).collect()];
        for start in [least(|l| l.bic)] {
            if !starts.contains(&start) {
                starts.push(start);
            }
        }
        let constant = |(noise, scale): (&f64, &f64)| Noise {
            constant: noise.max(FINEST * scale),
            proportional: 0.0,
        };
        let noise: Vec<Noise> = self.noise.iter().zip(&self.scales).map(constant).collect();
        let mut config = LikelihoodConfig {
            floor: self.floor(&noise),
            ..LikelihoodConfig::default()
        };
        let mut deviations = self.deviations(&noise);
        let mut windows = self.windows(self.first, &deviations)?;
        let mut best: Option<LikelyLaw> = None;
        for start in &starts {
            let law = likely_law(features, &windows, start, &config)?;
            if best.as_ref().is_none_or(|b| law.score < b.score) {
                best = Some(law);
            }
        }
        let Some(mut law) = best else { return Ok(None) };
        let mut measuring = self.measured_by(&law, &windows, &deviations);
        for _ in 0..ROUNDS {
            config.floor = self.floor(&measuring.noise);
            deviations = measuring.deviations;
            windows = self.windows(self.first, &deviations)?;
            law = likely_law(features, &windows, &terms(&law), &config)?;
            let before = measuring.noise;
            measuring = self.measured_by(&law, &windows, &deviations);
            let pairs = before.iter().zip(&measuring.noise).zip(&self.scales);
            let same = pairs.into_iter().all(|((a, b), scale)| {
                (0.9..1.1).contains(&(b.at(*scale) / a.at(*scale)))
                    && (0.8..1.25).contains(&(b.at(0.1 * scale) / a.at(0.1 * scale)))
            });
            if same {
                break;
            }
        }
        let (mut rows, mut grown) = (self.first, true);
        while rows < LONGEST && self.pieces.iter().any(|p| p.rows() > rows) {
            let longer_windows = self.windows(rows * GROWTH, &measuring.deviations)?;
            let longer = likely_law(features, &longer_windows, &terms(&law), &config)?;
            if longer.lost > 0 || longer.misfit > NO_WORSE * law.misfit.max(1.0) {
                grown = rows >= 4 * FIRST;
                break;
            }
            (law, windows) = (longer, longer_windows);
            rows *= GROWTH;
        }
        if law.lost > 0 {
            return Ok(None);
        }
        let judgement = self.judge(&law, &windows, &measuring, grown);
        Ok(Some(Found { law, judgement }))
    }

    fn judge(
        &self,
        law: &LikelyLaw,
        windows: &[Window],
        measuring: &Measuring,
        grown: bool,
    ) -> Judgement {
        let n = self.states;
        let residuals = self.residuals(law, windows);
        let freedom = law.freedom / (n as f64 * residuals[0].len().max(1) as f64);
        let equations = residuals.iter().zip(&self.noise).zip(&self.scales);
        let equations = equations
            .map(|((residuals, noise), scale)| {
                let counted = residuals.iter().filter(|r| r.counts);
                let (mut squares, mut count) = (0.0, 0usize);
                for residual in counted {
                    squares += residual.left.powi(2);
                    count += 1;
                }
                let left = (squares / count.max(1) as f64 / freedom.max(0.1)).sqrt();
                let alike = if self.known && *noise > FINEST * scale {
                    left <= ALIKE * noise
                } else {
                    left <= ALL * scale || left <= ALIKE * noise
                };
                Judged {
                    noise_left: left / scale,
                    noise_measured: self.known.then_some(noise / scale),
                    explained: 1.0 - (left / scale).powi(2),
                    verdict: match alike && grown {
                        true => Verdict::Explained,
                        false => Verdict::Partly,
                    },
                }
            })
            .collect();
        Judgement {
            windows: windows.len(),
            rows: windows.iter().map(Window::rows).max().unwrap_or(0),
            outliers: measuring.outliers,
            equations,
        }
    }
}

#[derive(Clone, Copy)]
struct Residual {
    said: f64,
    left: f64,
    counts: bool,
}

struct Measuring {
    noise: Vec<Noise>,
    deviations: Vec<Vec<f64>>,
    outliers: usize,
}

/// A law as a place to start from.
fn terms(law: &LikelyLaw) -> Terms {
    let equations = law.equations.iter();
    equations
        .map(|e| {
            let terms = e.support.iter().copied();
            terms.zip(e.coefficients.iter().copied()).collect()
        })
        .collect()
}
