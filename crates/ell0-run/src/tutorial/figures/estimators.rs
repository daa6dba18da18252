//! Bias and variance of the estimators of ∂E[f(z)]/∂log α, against the exact gradient.

use ell0::gates::estimators::{Estimator, Measurement, Quadratic, Trial, exact_gradient};
use ell0_plot::{Axis, Chart, Figure, Series};
use serde_json::{Value, json};

use super::{Drawn, Setting, signed};

/// Gates at different places: with all of them at one, symmetries would hide biases.
const LOG_ALPHAS: [f64; 4] = [-1.5, -0.5, 0.5, 1.5];

/// Draws of the gates in one estimate.
const DRAWS: usize = 4;

/// The estimates are made in so many groups, whose scatter gives the error of the variance.
const GROUPS: usize = 20;

/// Draws at which the whole error is shown.
const MORE_DRAWS: [usize; 5] = [2, 8, 32, 128, 512];

const ESTIMATORS: usize = 5;

/// Steps of progress.
pub const STEPS: u64 = (ESTIMATORS * (GROUPS + MORE_DRAWS.len())) as u64;

/// What was measured of one estimator, for each gate.
struct Measured {
    name: &'static str,
    mean: Vec<f64>,
    /// Of the mean.
    standard_error: Vec<f64>,
    variance: Vec<f64>,
    variance_error: Vec<f64>,
    zeros: f64,
}

impl Measured {
    fn new(estimator: &Estimator, groups: &[Measurement], repeats: usize) -> Self {
        let (n, k) = (LOG_ALPHAS.len(), groups.len() as f64);
        let average =
            |value: &dyn Fn(&Measurement) -> f64| groups.iter().map(value).sum::<f64>() / k;
        let each = |value: &dyn Fn(usize) -> f64| (0..n).map(value).collect::<Vec<f64>>();
        let variance = each(&|j| average(&|m| m.variance[j]));
        Measured {
            name: estimator.name(),
            mean: each(&|j| average(&|m| m.mean[j])),
            standard_error: each(&|j| (variance[j] / repeats as f64).sqrt()),
            variance_error: each(&|j| {
                let scatter = average(&|m| (m.variance[j] - variance[j]).powi(2));
                (scatter / (k - 1.0)).sqrt()
            }),
            zeros: average(&|m| m.zeros),
            variance,
        }
    }

    fn bias(&self, reference: &[f64]) -> Vec<f64> {
        self.mean
            .iter()
            .zip(reference)
            .map(|(m, r)| m - r)
            .collect()
    }

    /// The largest of |bias|/standard error over the gates.
    fn significance(&self, reference: &[f64]) -> f64 {
        let ratio = |(b, e): (&f64, &f64)| (b / e).abs();
        let bias = self.bias(reference);
        bias.iter()
            .zip(&self.standard_error)
            .map(ratio)
            .fold(0.0, f64::max)
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

pub fn draw(setting: &Setting) -> crate::error::Result<Drawn> {
    let f = Quadratic::demonstration();
    let exact = exact_gradient(&f, &LOG_ALPHAS)?;
    // What the hard-concrete estimator is the gradient of, in closed form from the moments of the gates.
    let smoothed = f.expectation(&setting.gate, &LOG_ALPHAS)?.gradient;
    let estimators: [Estimator; ESTIMATORS] = [
        Estimator::HardConcrete(setting.gate),
        Estimator::Concrete {
            beta: setting.gate.beta(),
        },
        Estimator::StraightThrough,
        Estimator::Reinforce { baseline: false },
        Estimator::Reinforce { baseline: true },
    ];
    let repeats = setting.many(20_000, 4_000);
    let fewer = setting.many(1_000, 200);
    let mut measured = Vec::new();
    let mut errors: Vec<Vec<(f64, f64)>> = Vec::new();
    for estimator in &estimators {
        let stream = setting.stream("estimators").split(estimator.name());
        let measure = |draws: usize, repeats: usize, index: usize| {
            let mut rng = stream.at(index as u64);
            let trial = Trial {
                samples: draws,
                repeats,
            };
            let m = estimator.measure(&f, &LOG_ALPHAS, &exact, trial, &mut rng);
            setting.drawing.advance(1);
            m
        };
        let groups = (0..GROUPS)
            .map(|group| measure(DRAWS, repeats / GROUPS, group))
            .collect::<ell0::Result<Vec<_>>>()?;
        measured.push(Measured::new(estimator, &groups, repeats));
        let error = |(k, &draws): (usize, &usize)| {
            let m = measure(draws, fewer, GROUPS + k)?;
            // Mean square of the whole error, less what the error of the mean adds to the squared bias.
            let square: f64 = (0..m.bias.len())
                .map(|j| m.bias[j].powi(2) + m.variance[j] - m.standard_error[j].powi(2))
                .sum();
            Ok((draws as f64, square.sqrt()))
        };
        errors.push(
            MORE_DRAWS
                .iter()
                .enumerate()
                .map(error)
                .collect::<ell0::Result<_>>()?,
        );
    }
    let figure = figure(&measured, &errors, &exact, &smoothed, repeats);
    let [hard, _, through, reinforce, baseline] = &measured[..] else {
        return Err(crate::error::Error::Settings(
            "not all estimators were measured",
        ));
    };
    let spread = |m: &Measured| m.variance.iter().sum::<f64>().sqrt();
    let says = format!(
        "Over {repeats} estimates of {DRAWS} draws each, REINFORCE has no bias ({:.1} standard errors at most, {:.1} with a baseline) but deviates by {:.2} ({:.2}); hard-concrete gates deviate by {:.2} with a bias of {:.2}, the price of smoothing ({:.1} standard errors against their own objective); straight-through has a bias of {:.2}.",
        reinforce.significance(&exact),
        baseline.significance(&exact),
        spread(reinforce),
        spread(baseline),
        spread(hard),
        norm(&hard.bias(&exact)),
        hard.significance(&smoothed),
        norm(&through.bias(&exact)),
    );
    let numbers = json!({
        "log_alpha": LOG_ALPHAS,
        "draws": DRAWS,
        "repeats": repeats,
        "exact": exact,
        "hard_concrete_expectation": smoothed,
        "estimators": measured.iter().zip(&errors).map(|(m, errors)| json!({
            "name": m.name,
            "mean": m.mean,
            "bias": m.bias(&exact),
            "standard_error": m.standard_error,
            "variance": m.variance,
            "variance_standard_error": m.variance_error,
            "zeros": m.zeros,
            "rms_error": errors.iter().map(|(draws, e)| json!({ "draws": draws, "error": e })).collect::<Vec<Value>>(),
        })).collect::<Vec<Value>>(),
        "hard_concrete_against_its_own_objective": {
            "bias": hard.bias(&smoothed),
            "standard_error": hard.standard_error,
        },
        "rms_error_repeats": fewer,
    });
    Ok(Drawn {
        figure,
        says,
        numbers,
    })
}

fn figure(
    measured: &[Measured],
    errors: &[Vec<(f64, f64)>],
    exact: &[f64],
    smoothed: &[f64],
    repeats: usize,
) -> Figure {
    let gates = || {
        let name = |(j, a): (usize, &f64)| format!("gate {}, log α = {}", j + 1, signed(*a));
        Axis::categories(LOG_ALPHAS.iter().enumerate().map(name))
    };
    // Side by side within each gate.
    let beside = |k: usize, values: &[f64]| -> Vec<(f64, f64)> {
        let place = |j: usize| j as f64 + 0.13 * (k as f64 - 2.5);
        values
            .iter()
            .enumerate()
            .map(|(j, v)| (place(j), *v))
            .collect()
    };
    let two = |errors: &[f64]| errors.iter().map(|e| 2.0 * e).collect::<Vec<f64>>();
    let mut bias = Chart::new(
        format!("Bias: mean of {repeats} estimates of {DRAWS} draws, ± 2 standard errors"),
        gates(),
        Axis::linear("bias (0: none)"),
    );
    let mut variance = Chart::new(
        format!("Variance of one estimate of {DRAWS} draws, ± 2 standard errors"),
        gates(),
        Axis::log("variance"),
    );
    let mut whole = Chart::new(
        "Error of the whole gradient: more draws help until the bias is left",
        Axis::log("draws in one estimate"),
        Axis::log("root mean square"),
    );
    for (k, (m, errors)) in measured.iter().zip(errors).enumerate() {
        bias = bias.with(
            Series::dots(m.name, beside(k, &m.bias(exact))).with_errors(two(&m.standard_error)),
        );
        variance = variance
            .with(Series::dots(m.name, beside(k, &m.variance)).with_errors(two(&m.variance_error)));
        whole = whole.with(Series::dotted(m.name, errors.iter().copied()));
    }
    if let Some(hard) = measured.first() {
        let own = beside(measured.len(), &hard.bias(smoothed));
        let series = Series::dots("hard-concrete, own objective", own);
        bias = bias.with(series.with_errors(two(&hard.standard_error)));
    }
    Figure::new(vec![bias, variance, whole])
        .with_columns(1)
        .with_size(880.0, 310.0)
}
