//! `ell0 gates`: the quantities of a gate, and how well its gradient can be estimated.

use std::io::{Write, stdout};

use clap::Args;
use comfy_table::{CellAlignment, Table, presets::UTF8_BORDERS_ONLY};
use ell0::{
    gates::{
        HardConcrete,
        estimators::{Estimator, Measurement, Quadratic, exact_gradient},
    },
    rng::Stream,
};
use serde_json::{Value, json};

/// Show what a hard-concrete gate does, and compare the estimators of its gradient
///
/// The first table holds the quantities of a gate z with the given parameters. The second compares ways to estimate the gradient of E[f(z)], where f is the
/// squared error of a small linear model with four gates, with the exact gradient for binary gates.
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Gates {
    /// Location of the gates: large is open, small is shut
    #[arg(long, default_value_t = 0.0, value_parser = finite)]
    log_alpha: f64,
    /// Temperature, positive [default: 2/3]
    #[arg(long)]
    beta: Option<f64>,
    /// Lower stretch limit, negative [default: -0.1]
    #[arg(long)]
    gamma: Option<f64>,
    /// Upper stretch limit, above 1 [default: 1.1]
    #[arg(long)]
    zeta: Option<f64>,
    /// Draws of the gates in one estimate
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    samples: u32,
    /// Estimates over which bias and spread are measured
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    repeats: u32,
    /// Seed of the draws
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err("it must be a finite number".into()),
    }
}

/// Gates at different places: with all of them at one, symmetries would hide biases.
const OFFSETS: [f64; 4] = [-1.5, -0.5, 0.5, 1.5];

const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

impl Gates {
    pub fn run(&self) -> anyhow::Result<()> {
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
                let (samples, repeats) = (self.samples as usize, self.repeats as usize);
                let m = estimator.measure(&f, &log_alpha, &exact, samples, repeats, &mut rng)?;
                Ok((estimator.name(), m))
            })
            .collect::<ell0::Result<Vec<_>>>()?;
        let smoothed = f.expectation(&gate, &log_alpha)?.1;
        let mut out = stdout().lock();
        if self.json {
            let object = self.to_json(&gate, &exact, &smoothed, &measured);
            writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
        } else {
            self.print(&mut out, &gate, &exact, &smoothed, &measured)?;
        }
        Ok(())
    }

    fn to_json(
        &self,
        gate: &HardConcrete,
        exact: &[f64],
        smoothed: &[f64],
        measured: &[(&str, Measurement)],
    ) -> Value {
        let a = self.log_alpha;
        let (moments, law) = (gate.moments(a), gate.rectified(a));
        json!({
            "parameters": { "log_alpha": a, "beta": gate.beta(), "gamma": gate.gamma(), "zeta": gate.zeta() },
            "gate": {
                "prob_zero": gate.prob_zero(a),
                "prob_between": (gate.prob_active(a) - gate.prob_one(a)).max(0.0),
                "prob_one": gate.prob_one(a),
                "prob_one_slope": gate.prob_one_slope(a),
                "prob_active": gate.prob_active(a),
                "prob_active_slope": gate.prob_active_slope(a),
                "mean": moments.mean,
                "mean_slope": moments.mean_slope,
                "variance": moments.variance,
                "variance_slope": moments.variance_slope,
                "test_gate": gate.test_gate(a),
                "test_gate_slope": gate.test_gate_with_slope(a).1,
                "quantiles": QUANTILES.map(|q| json!({ "probability": q, "z": law.quantile(q) })),
            },
            "gradient": {
                "samples": self.samples,
                "repeats": self.repeats,
                "log_alpha": OFFSETS.map(|d| a + d),
                "seed": self.seed,
                "exact": exact,
                "hard_concrete_expectation": smoothed,
                "estimators": measured.iter().map(|(name, m)| json!({
                    "name": name,
                    "mean": m.mean,
                    "bias": m.bias,
                    "standard_error": m.standard_error,
                    "variance": m.variance,
                    "zeros": m.zeros,
                })).collect::<Vec<_>>(),
            },
        })
    }

    fn print(
        &self,
        out: &mut impl Write,
        gate: &HardConcrete,
        exact: &[f64],
        smoothed: &[f64],
        measured: &[(&str, Measurement)],
    ) -> std::io::Result<()> {
        let a = self.log_alpha;
        let (moments, law) = (gate.moments(a), gate.rectified(a));
        writeln!(
            out,
            "A hard-concrete gate z with log α = {a}, β = {}, γ = {}, ζ = {}\n",
            number(gate.beta()),
            gate.gamma(),
            gate.zeta()
        )?;
        let mut table = new_table(&["quantity", "value", "∂/∂log α"]);
        let (test, test_slope) = gate.test_gate_with_slope(a);
        // By symmetry it can be zero but for round-off; do not print that.
        let negligible = moments.variance_slope.abs() < 1e-14 * moments.mean_slope;
        let variance_slope = if negligible {
            0.0
        } else {
            moments.variance_slope
        };
        for (name, value, slope) in [
            (
                "P(z = 0): closed",
                gate.prob_zero(a),
                -gate.prob_active_slope(a),
            ),
            (
                "P(z = 1): fully open",
                gate.prob_one(a),
                gate.prob_one_slope(a),
            ),
            (
                "P(z ≠ 0): active",
                gate.prob_active(a),
                gate.prob_active_slope(a),
            ),
            ("mean of z", moments.mean, moments.mean_slope),
            ("variance of z", moments.variance, variance_slope),
            ("gate at test time", test, test_slope),
        ] {
            table.add_row([name.to_string(), number(value), number(slope)]);
        }
        writeln!(out, "{table}\n")?;
        let quantiles: Vec<String> = QUANTILES
            .iter()
            .map(|&q| format!("{:.0} %: {}", q * 100.0, number(law.quantile(q))))
            .collect();
        writeln!(out, "Quantiles of z   {}\n", quantiles.join("   "))?;

        writeln!(
            out,
            "Estimating ∂E[f(z)]/∂log α for four gates, {} draws an estimate, {} estimates\n\
             log α of the gates: {}\nexact gradient for binary gates: {}\n",
            self.samples,
            self.repeats,
            OFFSETS.map(|d| number(a + d)).join(", "),
            exact
                .iter()
                .map(|&g| number(g))
                .collect::<Vec<_>>()
                .join(", ")
        )?;
        let mut table = new_table(&[
            "estimator",
            "bias",
            "its std. error",
            "std. deviation",
            "rms error",
            "gates at 0",
        ]);
        for (name, m) in measured {
            let (bias, variance) = (norm(&m.bias), m.variance.iter().sum::<f64>());
            table.add_row([
                name.to_string(),
                number(bias),
                number(norm(&m.standard_error)),
                number(variance.sqrt()),
                number((bias * bias + variance).sqrt()),
                format!("{:.1} %", m.zeros * 100.0),
            ]);
        }
        writeln!(out, "{table}\n")?;
        let own: Vec<f64> = measured[0]
            .1
            .mean
            .iter()
            .zip(smoothed)
            .map(|(m, s)| m - s)
            .collect();
        writeln!(
            out,
            "Bias, deviation and error are lengths of vectors over the gates. The hard-concrete estimator's bias is the price\n\
             of smoothing: against the gradient of its own objective, known in closed form, it is {} ± {}.",
            number(norm(&own)),
            number(norm(&measured[0].1.standard_error))
        )
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Four significant digits.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    if (0..=8).contains(&digits) {
        format!("{value:.*}", digits as usize)
    } else {
        format!("{value:.3e}")
    }
}

/// A table with numbers to the right.
fn new_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
