//! `ell0 gates`: the quantities of a gate, and how well its gradient can be estimated.

use crate::screen;
use std::io::Write;

use clap::Args;
use ell0_run::{GateSettings, GateStudy};

use crate::table::{self, new_table};

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
    #[arg(long, default_value_t = 0, value_parser = crate::values::seed, allow_negative_numbers = true)]
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

impl Gates {
    pub fn run(&self) -> anyhow::Result<()> {
        let study = GateSettings {
            log_alpha: self.log_alpha,
            beta: self.beta,
            gamma: self.gamma,
            zeta: self.zeta,
            samples: self.samples,
            repeats: self.repeats,
            seed: self.seed,
        }
        .run()?;
        let mut out = screen::out();
        if self.json {
            return table::json(&mut out, &study);
        }
        print(&mut out, &study)
    }
}

fn print(out: &mut impl Write, study: &GateStudy) -> anyhow::Result<()> {
    let (p, g, gradient) = (&study.parameters, &study.gate, &study.gradient);
    writeln!(
        out,
        "A hard-concrete gate z with log α = {}, β = {}, γ = {}, ζ = {}\n",
        p.log_alpha,
        number(p.beta),
        p.gamma,
        p.zeta
    )?;
    let mut table = new_table(&["quantity", "value", "∂/∂log α"], 1);
    // By symmetry it can be zero but for round-off; do not print that.
    let negligible = g.variance_slope.abs() < 1e-14 * g.mean_slope;
    let variance_slope = if negligible { 0.0 } else { g.variance_slope };
    for (name, value, slope) in [
        ("P(z = 0): closed", g.prob_zero, -g.prob_active_slope),
        ("P(z = 1): fully open", g.prob_one, g.prob_one_slope),
        ("P(z ≠ 0): active", g.prob_active, g.prob_active_slope),
        ("mean of z", g.mean, g.mean_slope),
        ("variance of z", g.variance, variance_slope),
        ("gate at test time", g.test_gate, g.test_gate_slope),
    ] {
        table.add_row([name.to_string(), number(value), number(slope)]);
    }
    writeln!(out, "{table}\n")?;
    let quantiles: Vec<String> = g
        .quantiles
        .iter()
        .map(|q| format!("{:.0} %: {}", q.probability * 100.0, number(q.z)))
        .collect();
    writeln!(out, "Quantiles of z   {}\n", quantiles.join("   "))?;
    let list = |values: &[f64]| {
        let texts: Vec<String> = values.iter().map(|&g| number(g)).collect();
        texts.join(", ")
    };
    writeln!(
        out,
        "Estimating ∂E[f(z)]/∂log α for four gates, {} draws an estimate, {} estimates\n\
         log α of the gates: {}\nexact gradient for binary gates: {}\n",
        gradient.samples,
        gradient.repeats,
        list(&gradient.log_alpha),
        list(&gradient.exact)
    )?;
    let header = [
        "estimator",
        "bias",
        "its std. error",
        "std. deviation",
        "rms error",
        "gates at 0",
    ];
    let mut table = new_table(&header, 1);
    for m in &gradient.estimators {
        let (bias, variance) = (norm(&m.bias), m.variance.iter().sum::<f64>());
        table.add_row([
            m.name.clone(),
            number(bias),
            number(norm(&m.standard_error)),
            number(variance.sqrt()),
            number((bias * bias + variance).sqrt()),
            format!("{:.1} %", m.zeros * 100.0),
        ]);
    }
    writeln!(out, "{table}\n")?;
    if let Some(hard) = gradient.estimators.first() {
        let pairs = hard.mean.iter().zip(&gradient.hard_concrete_expectation);
        let own: Vec<f64> = pairs.map(|(m, s)| m - s).collect();
        writeln!(
            out,
            "Bias, deviation and error are lengths of vectors over the gates. The hard-concrete estimator's bias is the price\n\
             of smoothing: against the gradient of its own objective, known in closed form, it is {} ± {}.",
            number(norm(&own)),
            number(norm(&hard.standard_error))
        )?;
    }
    Ok(())
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
