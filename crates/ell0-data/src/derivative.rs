//! Rates of change from samples of a trajectory.

use std::{fmt, str::FromStr};

use ell0::wording::shown;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    survey::{NO_NOISE, Survey},
};

/// How rates of change are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Derivative {
    /// Central differences over three points.
    Fd2,
    /// Central differences over five points.
    Fd4,
    /// A cubic fitted to so many points on either side (Savitzky and Golay); the states are smoothed by it, too.
    SavGol {
        /// Points on either side.
        half: usize,
    },
    /// The weak form: no derivative is taken; both sides of ẋ = f(x) are integrated against bumps of so many points on either side.
    Weak {
        /// Points on either side of a bump's centre.
        half: usize,
    },
    /// Not at all: the rates are columns of the data.
    Given,
}

impl fmt::Display for Derivative {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Derivative::Fd2 => f.write_str("fd2"),
            Derivative::Fd4 => f.write_str("fd4"),
            Derivative::SavGol { half } => write!(f, "savgol({half})"),
            Derivative::Weak { half } => write!(f, "weak({half})"),
            Derivative::Given => f.write_str("given"),
        }
    }
}

/// What was asked for, before the data were seen. Its text form is that of [`Derivative`], with `auto`, and with `savgol` and `weak` without a width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Wanted {
    /// By the noise: `fd4` where there is none to speak of, else `weak`.
    #[default]
    Auto,
    /// Central differences over three points.
    Fd2,
    /// Central differences over five points.
    Fd4,
    /// Local cubics, over so many points on either side; by the data, if nothing is said.
    SavGol(Option<usize>),
    /// The weak form, with bumps of so many points on either side; by the data, if nothing is said.
    Weak(Option<usize>),
}

/// Points on either side that local cubics and bumps may have: a cubic through fewer smooths nothing, and more are hardly a neighbourhood.
const WIDTHS: std::ops::RangeInclusive<usize> = 2..=10_000;

/// Bumps are no narrower than this, but where gaps leave no room for them: they would smooth hardly anything.
const USUAL: usize = 4;

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Wanted::Auto => f.write_str("auto"),
            Wanted::Fd2 => Derivative::Fd2.fmt(f),
            Wanted::Fd4 => Derivative::Fd4.fmt(f),
            Wanted::SavGol(None) => f.write_str("savgol"),
            Wanted::SavGol(Some(half)) => Derivative::SavGol { half }.fmt(f),
            Wanted::Weak(None) => f.write_str("weak"),
            Wanted::Weak(Some(half)) => Derivative::Weak { half }.fmt(f),
        }
    }
}

impl From<Wanted> for String {
    fn from(wanted: Wanted) -> String {
        wanted.to_string()
    }
}

impl TryFrom<String> for Wanted {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "unknown derivative `{}`: expected auto, fd2, fd4, savgol or weak, the last two perhaps with the points on either side, as in weak(10)",
                shown(text)
            )
        };
        let (name, half) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => {
                let half = rest.strip_suffix(')').ok_or_else(unknown)?;
                let half = half.trim().parse::<usize>().map_err(|_| {
                    format!(
                        "`{}` is no number of points on either side: expected a whole number from {} to {}, as in {}(10)",
                        shown(half),
                        WIDTHS.start(),
                        WIDTHS.end(),
                        shown(name)
                    )
                });
                (name, Some(half))
            }
        };
        let wanted = match (name, half) {
            ("auto", None) => Wanted::Auto,
            ("fd2", None) => Wanted::Fd2,
            ("fd4", None) => Wanted::Fd4,
            ("savgol", half) => Wanted::SavGol(half.transpose()?),
            ("weak", half) => Wanted::Weak(half.transpose()?),
            _ => return Err(unknown()),
        };
        wanted.check().map_err(|e| e.to_string())?;
        Ok(wanted)
    }
}

impl Wanted {
    /// Refuses a width that nobody can use.
    fn check(self) -> Result<()> {
        match self {
            Wanted::SavGol(Some(half)) | Wanted::Weak(Some(half)) if !WIDTHS.contains(&half) => {
                Err(Error::Width {
                    derivative: self.to_string(),
                    least: *WIDTHS.start(),
                    most: *WIDTHS.end(),
                })
            }
            _ => Ok(()),
        }
    }

    /// [`decide`](Wanted::decide), for trajectories with gaps between stretches of these lengths: bumps are narrow enough for the stretches.
    pub fn decide_between_gaps(
        self,
        survey: &Survey,
        lengths: Vec<usize>,
        terms: usize,
    ) -> Result<Derivative> {
        let between = Survey {
            lengths,
            ..survey.clone()
        };
        let decided = self.decide(&between, terms)?;
        let noisy = survey.relative_noise >= NO_NOISE && !survey.coarse;
        let too_wide = match (self, decided) {
            (Wanted::Auto, Derivative::Fd4) => noisy,
            (Wanted::Weak(None), Derivative::Weak { half }) => !between.has_room(half, terms),
            _ => false,
        };
        let narrower = (*WIDTHS.start()..USUAL).rev();
        let fits = narrower
            .into_iter()
            .find(|half| between.has_room(*half, terms));
        Ok(match fits {
            Some(half) if too_wide => Derivative::Weak { half },
            _ => decided,
        })
    }

    /// The method for data that were looked at, and so many candidate terms. Bumps are as wide as it takes the fastest state to move by its own deviation, but leave a row and a half for each term where they can.
    pub fn decide(self, survey: &Survey, terms: usize) -> Result<Derivative> {
        self.check()?;
        let enough = |half: &usize| survey.has_room(*half, terms);
        let fits = survey.shortest.saturating_sub(1) / 2;
        let widest = survey
            .lag
            .min(survey.usual_length() / 8)
            .min(fits)
            .clamp(USUAL, 500);
        let usual = (USUAL..=widest).rev().find(enough).unwrap_or(USUAL);
        Ok(match self {
            // Below this, finite differences of fourth order are more accurate than anything that smooths. Where samples are few for how fast the states move, nothing can be smoothed.
            Wanted::Auto if survey.relative_noise < NO_NOISE || survey.coarse => Derivative::Fd4,
            Wanted::Auto if !enough(&usual) => Derivative::Fd4,
            Wanted::Auto => Derivative::Weak { half: usual },
            Wanted::Weak(half) => Derivative::Weak {
                half: half.unwrap_or(usual),
            },
            Wanted::Fd2 => Derivative::Fd2,
            Wanted::Fd4 => Derivative::Fd4,
            Wanted::SavGol(half) => Derivative::SavGol {
                half: half.unwrap_or_else(|| (usual / 2).clamp(3, 100)),
            },
        })
    }
}

/// Samples of one trajectory: time and columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    /// Time of each sample.
    pub time: &'a [f64],
    /// States, one slice each.
    pub states: &'a [&'a [f64]],
}

impl Derivative {
    /// Samples that are needed on either side of one.
    pub fn halo(&self) -> usize {
        match *self {
            Derivative::Fd2 => 1,
            Derivative::Fd4 => 2,
            Derivative::SavGol { half } | Derivative::Weak { half } => half,
            Derivative::Given => 0,
        }
    }

    /// Rows from one bump to the next.
    pub(crate) fn stride(half: usize) -> usize {
        (half / 4).max(1)
    }

    /// Fewest rows a trajectory must have.
    pub fn rows_needed(&self) -> usize {
        2 * self.halo() + 1
    }

    /// Value (smoothed, for local cubics) and rate of change of each state at sample `at`, which must have a halo on both sides.
    pub(crate) fn at(&self, piece: Piece, at: usize, mut out: impl FnMut(usize, f64, f64)) {
        let halo = self.halo();
        let time = &piece.time[at - halo..=at + halo];
        match self {
            Derivative::Fd2 | Derivative::Fd4 => {
                let weights = difference_weights(time, piece.time[at]);
                for (k, state) in piece.states.iter().enumerate() {
                    let window = &state[at - halo..=at + halo];
                    let rate = weights.iter().zip(window).map(|(w, x)| w * x).sum();
                    out(k, state[at], rate);
                }
            }
            Derivative::SavGol { .. } | Derivative::Weak { .. } => {
                let (value, rate) = cubic_weights(time, piece.time[at]);
                for (k, state) in piece.states.iter().enumerate() {
                    let window = &state[at - halo..=at + halo];
                    let sum =
                        |weights: &[f64]| weights.iter().zip(window).map(|(w, x)| w * x).sum();
                    out(k, sum(&value), sum(&rate));
                }
            }
            // Nothing is to be found.
            Derivative::Given => {}
        }
    }
}

impl Derivative {
    /// Estimates of the squared error of each rate of change at a sample: against differences of the next order, plus what noise of the given deviations adds. False if
    /// there are not enough neighbours to tell.
    pub(crate) fn errors(
        &self,
        piece: Piece,
        at: usize,
        noise: &[f64],
        mut out: impl FnMut(usize, f64),
    ) -> bool {
        let halo = self.halo();
        // Nobody knows how exact rates are that were given.
        if *self == Derivative::Given {
            return false;
        }
        if at < halo + 1 || at + halo + 1 >= piece.time.len() {
            return false;
        }
        let (inner, outer) = (at - halo..at + halo + 1, at - halo - 1..at + halo + 2);
        let now = piece.time[at];
        let rate = match self {
            Derivative::Fd2 | Derivative::Fd4 => {
                difference_weights(&piece.time[inner.clone()], now)
            }
            _ => cubic_weights(&piece.time[inner.clone()], now).1,
        };
        let through: f64 = rate.iter().map(|w| w * w).sum();
        let finer = match self {
            Derivative::Fd2 | Derivative::Fd4 => {
                Some(difference_weights(&piece.time[outer.clone()], now))
            }
            _ => None,
        };
        for (k, state) in piece.states.iter().enumerate() {
            let sum = |weights: &[f64], values: &[f64]| {
                weights.iter().zip(values).map(|(w, x)| w * x).sum::<f64>()
            };
            let truncation = finer.as_ref().map_or(0.0, |finer| {
                sum(finer, &state[outer.clone()]) - sum(&rate, &state[inner.clone()])
            });
            out(k, truncation.powi(2) + noise[k].powi(2) * through);
        }
        true
    }
}

/// Weights of the first derivative at `x` from values at any distinct nodes, exact for polynomials of degree nodes − 1.
pub(crate) fn difference_weights(nodes: &[f64], x: f64) -> Vec<f64> {
    let n = nodes.len();
    (0..n)
        .map(|k| {
            // Derivative of the Lagrange polynomial of node k.
            let denominator: f64 = (0..n)
                .filter(|&j| j != k)
                .map(|j| nodes[k] - nodes[j])
                .product();
            let numerator: f64 = (0..n)
                .filter(|&j| j != k)
                .map(|j| {
                    (0..n)
                        .filter(|&i| i != k && i != j)
                        .map(|i| x - nodes[i])
                        .product::<f64>()
                })
                .sum();
            numerator / denominator
        })
        .collect()
}

/// Weights of the value and the first derivative at `x` of the cubic that fits values at the nodes best.
pub(crate) fn cubic_weights(nodes: &[f64], x: f64) -> (Vec<f64>, Vec<f64>) {
    let n = nodes.len();
    let width = nodes
        .iter()
        .map(|t| (t - x).abs())
        .fold(f64::MIN_POSITIVE, f64::max);
    let s: Vec<f64> = nodes.iter().map(|t| (t - x) / width).collect();
    // Polynomials orthogonal on the nodes, by Gram–Schmidt (twice is enough).
    let mut basis: Vec<(Vec<f64>, f64, f64)> = Vec::new();
    for degree in 0..4.min(n) {
        let mut values: Vec<f64> = s.iter().map(|s| s.powi(degree as i32)).collect();
        let (mut at_x, mut slope) = (f64::from(degree == 0), f64::from(degree == 1));
        for _ in 0..2 {
            for (other, other_at, other_slope) in &basis {
                let along: f64 = values.iter().zip(other).map(|(a, b)| a * b).sum();
                values
                    .iter_mut()
                    .zip(other)
                    .for_each(|(a, b)| *a -= along * b);
                at_x -= along * other_at;
                slope -= along * other_slope;
            }
        }
        let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt();
        if norm > 1e-12 {
            values.iter_mut().for_each(|v| *v /= norm);
            basis.push((values, at_x / norm, slope / norm));
        }
    }
    let value = (0..n)
        .map(|i| basis.iter().map(|(values, at_x, _)| at_x * values[i]).sum())
        .collect();
    let slope = |i: usize| {
        basis
            .iter()
            .map(|(values, _, slope)| slope * values[i])
            .sum::<f64>()
    };
    let rate = (0..n).map(|i| slope(i) / width).collect();
    (value, rate)
}

/// A bump (1 − s²)^p over a window of samples: weights of ∫φ·g dt and of −∫φ̇·x dt, both by the trapezoidal rule, which is very accurate for functions that
/// vanish smoothly at both ends. Scaled so that ∫φ dt is about 1.
pub(crate) fn bump_weights(time: &[f64]) -> (Vec<f64>, Vec<f64>) {
    const POWER: i32 = 4;
    let n = time.len();
    let (first, last) = (time[0], time[n - 1]);
    let (centre, half) = ((first + last) / 2.0, (last - first) / 2.0);
    let step = |i: usize| (time[(i + 1).min(n - 1)] - time[i.saturating_sub(1)]) / 2.0;
    let s = |i: usize| (time[i] - centre) / half;
    let phi: Vec<f64> = (0..n)
        .map(|i| (1.0 - s(i).powi(2)).max(0.0).powi(POWER) * step(i))
        .collect();
    let slope: Vec<f64> = (0..n)
        .map(|i| {
            let base = (1.0 - s(i).powi(2)).max(0.0);
            2.0 * f64::from(POWER) * s(i) / half * base.powi(POWER - 1) * step(i)
        })
        .collect();
    let total: f64 = phi.iter().sum();
    (
        phi.iter().map(|w| w / total).collect(),
        slope.iter().map(|w| w / total).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_exact_for_polynomials_on_uneven_nodes() {
        let nodes = [0.0, 0.3, 0.7, 1.1, 1.2];
        let weights = difference_weights(&nodes, 0.7);
        for degree in 0..5 {
            let got: f64 = weights
                .iter()
                .zip(&nodes)
                .map(|(w, t)| w * t.powi(degree))
                .sum();
            let want = if degree == 0 {
                0.0
            } else {
                f64::from(degree) * 0.7f64.powi(degree - 1)
            };
            assert!((got - want).abs() < 1e-11, "{degree}: {got} {want}");
        }
        let weights = difference_weights(&[-0.1, 0.0, 0.1], 0.0);
        assert!(
            (weights[0] + 5.0).abs() < 1e-12
                && weights[1].abs() < 1e-12
                && (weights[2] - 5.0).abs() < 1e-12
        );
    }

    #[test]
    fn what_is_printed_can_be_asked_for() {
        let texts = [
            "auto",
            "fd2",
            "fd4",
            "savgol",
            "weak",
            "savgol(7)",
            "weak(10)",
        ];
        for text in texts {
            let wanted: Wanted = text.parse().expect(text);
            assert_eq!(wanted.to_string(), text);
            let json = serde_json::to_string(&wanted).expect("a text");
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Wanted>(&json).expect("read"), wanted);
        }
        assert_eq!("weak( 10 )".parse(), Ok(Wanted::Weak(Some(10))));
        for (text, words) in [
            ("weak(0)", "weak(0): from 2 to 10000 points on either side"),
            ("savgol(1)", "savgol(1): from 2 to 10000 points"),
            ("weak(10001)", "weak(10001): from 2 to 10000 points"),
            ("weak(-1)", "`-1` is no number of points"),
            ("weak(ten)", "`ten` is no number of points"),
            ("savgol()", "`` is no number of points"),
            ("weak(99999999999999999999)", "is no number of points"),
            ("weak(3", "unknown derivative `weak(3`"),
            ("fd4(2)", "unknown derivative `fd4(2)`"),
            ("auto(4)", "unknown derivative"),
            ("Weak", "expected auto, fd2, fd4, savgol or weak"),
            ("", "unknown derivative ``"),
        ] {
            let said = text.parse::<Wanted>().expect_err(text);
            assert!(said.contains(words), "{text}: {said}");
        }
    }

    #[test]
    fn local_cubics_are_exact_for_cubics() {
        let nodes: Vec<f64> = (0..11)
            .map(|i| f64::from(i) * 0.1 + 0.02 * f64::from(i % 3))
            .collect();
        let (value, rate) = cubic_weights(&nodes, nodes[5]);
        let f = |t: f64| 1.0 - 2.0 * t + 0.5 * t * t - t.powi(3);
        let slope = |t: f64| -2.0 + t - 3.0 * t * t;
        let sum = |w: &[f64]| w.iter().zip(&nodes).map(|(w, &t)| w * f(t)).sum::<f64>();
        assert!((sum(&value) - f(nodes[5])).abs() < 1e-11);
        assert!((sum(&rate) - slope(nodes[5])).abs() < 1e-10);
    }

    #[test]
    fn bumps_integrate_by_parts() {
        // ∫φ ẋ = −∫φ̇ x for any x.
        let time: Vec<f64> = (0..61).map(|i| 1.0 + f64::from(i) * 0.01).collect();
        let (phi, slope) = bump_weights(&time);
        let left: f64 = phi
            .iter()
            .zip(&time)
            .map(|(w, t)| w * (3.0 * (3.0 * t).cos()))
            .sum();
        let right: f64 = slope
            .iter()
            .zip(&time)
            .map(|(w, t)| w * (3.0 * t).sin())
            .sum();
        assert!((left - right).abs() < 1e-5, "{left} {right}");
        assert!((phi.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
