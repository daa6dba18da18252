//! The quantities of a gate, and how well its gradient can be estimated.

use ell0::{
    gates::{
        HardConcrete,
        estimators::{Estimator, Quadratic, Trial, exact_gradient},
    },
    rng::Stream,
};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// What is asked of a gate.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `log_alpha` | 0 | location of the gates: large is open, small is shut |
/// | `beta`, `gamma`, `zeta` | 2/3, −0.1, 1.1 | temperature and stretch limits |
/// | `samples` | 4 | draws of the gates in one estimate |
/// | `repeats` | 20,000 | estimates over which bias and spread are measured |
/// | `seed` | 0 | of the draws |
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct GateSettings {
    pub log_alpha: f64,
    pub beta: Option<f64>,
    pub gamma: Option<f64>,
    pub zeta: Option<f64>,
    pub samples: u32,
    pub repeats: u32,
    pub seed: u64,
}

impl Default for GateSettings {
    fn default() -> Self {
        GateSettings {
            log_alpha: 0.0,
            beta: None,
            gamma: None,
            zeta: None,
            samples: 4,
            repeats: 20_000,
            seed: 0,
        }
    }
}

/// Gates at different places: with all of them at one, symmetries would hide biases.
const OFFSETS: [f64; 4] = [-1.5, -0.5, 0.5, 1.5];

const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// What a gate does, and how well the gradient of an expectation over gates can be estimated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateStudy {
    /// The parameters.
    pub parameters: GateParameters,
    /// The quantities of one gate.
    pub gate: GateQuantities,
    /// The estimators of the gradient.
    pub gradient: GradientStudy,
}

/// The parameters of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named as in the distribution")]
pub struct GateParameters {
    pub log_alpha: f64,
    pub beta: f64,
    pub gamma: f64,
    pub zeta: f64,
}

/// The quantities of a gate, and their slopes by log α.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named as in the distribution")]
pub struct GateQuantities {
    pub prob_zero: f64,
    pub prob_between: f64,
    pub prob_one: f64,
    pub prob_one_slope: f64,
    pub prob_active: f64,
    pub prob_active_slope: f64,
    pub mean: f64,
    pub mean_slope: f64,
    pub variance: f64,
    pub variance_slope: f64,
    pub test_gate: f64,
    pub test_gate_slope: f64,
    pub quantiles: Vec<Quantile>,
}

/// A quantile of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// The probability.
    pub probability: f64,
    /// The value that the gate does not exceed with it.
    pub z: f64,
}

/// Estimators of the gradient of E[f(z)], where f is the squared error of a small linear model with four gates, beside the exact gradient for binary gates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradientStudy {
    /// Draws of the gates in one estimate.
    pub samples: u32,
    /// Estimates.
    pub repeats: u32,
    /// Locations of the gates.
    pub log_alpha: Vec<f64>,
    /// Seed of the draws.
    pub seed: u64,
    /// The gradient for binary gates.
    pub exact: Vec<f64>,
    /// The gradient of the hard-concrete objective, in closed form.
    pub hard_concrete_expectation: Vec<f64>,
    /// What was measured.
    pub estimators: Vec<MeasuredEstimator>,
}

/// What was measured of an estimator, for each gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredEstimator {
    /// Its name.
    pub name: String,
    /// Mean of the estimates.
    pub mean: Vec<f64>,
    /// Mean less the exact gradient.
    pub bias: Vec<f64>,
    /// Standard error of the mean.
    pub standard_error: Vec<f64>,
    /// Variance of one estimate.
    pub variance: Vec<f64>,
    /// Share of gates that were exactly zero.
    pub zeros: f64,
}

impl GateSettings {
    /// Works out the quantities and measures the estimators.
    pub fn run(&self) -> Result<GateStudy> {
        let usual = HardConcrete::default();
        let gate = HardConcrete::new(
            self.beta.unwrap_or(usual.beta()),
            self.gamma.unwrap_or(usual.gamma()),
            self.zeta.unwrap_or(usual.zeta()),
        )?;
        let f = Quadratic::demonstration();
        let log_alpha: Vec<f64> = OFFSETS.iter().map(|d| self.log_alpha + d).collect();
        let exact = exact_gradient(&f, &log_alpha)?;
        let estimators = [
            Estimator::HardConcrete(gate),
            Estimator::Concrete { beta: gate.beta() },
            Estimator::StraightThrough,
            Estimator::Reinforce { baseline: false },
            Estimator::Reinforce { baseline: true },
        ];
        let measured = estimators
            .iter()
            .enumerate()
            .map(|(index, estimator)| {
                let mut rng = Stream::new(self.seed).split("estimators").at(index as u64);
                let trial = Trial {
                    samples: self.samples as usize,
                    repeats: self.repeats as usize,
                };
                let m = estimator.measure(&f, &log_alpha, &exact, trial, &mut rng)?;
                Ok(MeasuredEstimator {
                    name: estimator.name().into(),
                    mean: m.mean,
                    bias: m.bias,
                    standard_error: m.standard_error,
                    variance: m.variance,
                    zeros: m.zeros,
                })
            })
            .collect::<ell0::Result<Vec<_>>>()?;
        let smoothed = f.expectation(&gate, &log_alpha)?.gradient;
        let a = self.log_alpha;
        let (moments, law) = (gate.moments(a), gate.rectified(a));
        let quantile = |probability: f64| Quantile {
            probability,
            z: law.quantile(probability),
        };
        let test = gate.test_gate_with_slope(a);
        Ok(GateStudy {
            parameters: GateParameters {
                log_alpha: a,
                beta: gate.beta(),
                gamma: gate.gamma(),
                zeta: gate.zeta(),
            },
            gate: GateQuantities {
                prob_zero: gate.prob_zero(a),
                prob_between: (gate.prob_active(a) - gate.prob_one(a)).max(0.0),
                prob_one: gate.prob_one(a),
                prob_one_slope: gate.prob_one_slope(a),
                prob_active: gate.prob_active(a),
                prob_active_slope: gate.prob_active_slope(a),
                mean: moments.mean,
                mean_slope: moments.mean_slope,
                variance: moments.variance,
                variance_slope: moments.variance_slope,
                test_gate: test.value,
                test_gate_slope: test.slope,
                quantiles: QUANTILES.map(quantile).to_vec(),
            },
            gradient: GradientStudy {
                samples: self.samples,
                repeats: self.repeats,
                log_alpha,
                seed: self.seed,
                exact,
                hard_concrete_expectation: smoothed,
                estimators: measured,
            },
        })
    }
}
