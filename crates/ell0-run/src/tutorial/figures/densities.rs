//! Densities of the concrete, stretched and hard-concrete gate, beside samples.

use ell0::rng::Stream;
use ell0_plot::{Axis, Chart, Figure, Series};
use serde_json::{Value, json};

use super::{Drawn, Setting, grid, histogram::Histogram, mass, signed};

const LOG_ALPHAS: [f64; 2] = [0.0, 1.5];
const BINS: usize = 48;
const BAR: f64 = 0.03;

/// The charts of the three distributions at one location, and their numbers.
fn row(setting: &Setting, a: f64, stream: &Stream, index: u64) -> ([Chart; 3], Value) {
    let gate = setting.gate;
    let (concrete, stretched, hard) = (gate.concrete(a), gate.stretched(a), gate.rectified(a));
    let (gamma, zeta) = (gate.gamma(), gate.zeta());
    let mut counts = [
        Histogram::new(0.0, 1.0, BINS),
        Histogram::new(gamma, zeta, BINS),
        Histogram::new(0.0, 1.0, BINS),
    ];
    let samples = setting.many(400_000, 40_000);
    let (mut zeros, mut ones) = (0, 0);
    let mut rng = stream.at(index);
    for _ in 0..samples {
        let u = rng.uniform();
        counts[0].add(concrete.quantile(u));
        counts[1].add(stretched.quantile(u));
        let z = gate.sample(a, u);
        if z == 0.0 {
            zeros += 1;
            counts[2].skip();
        } else if z == 1.0 {
            ones += 1;
            counts[2].skip();
        } else {
            counts[2].add(z);
        }
    }
    let chart = |name: &str, x: &str, y: &str, density: &dyn Fn(f64) -> f64, k: usize| {
        // Open ends: there the density is infinite, or not the gate's.
        let (low, high) = if k == 1 { (gamma, zeta) } else { (0.0, 1.0) };
        let inside = grid(low + 1e-5, high - 1e-5, 500);
        Chart::new(
            format!("{name}, log α = {}", signed(a)),
            Axis::linear(x).within(gamma - 0.05, zeta + 0.05),
            Axis::linear(y).within(0.0, if k == 2 { 2.0 } else { 3.0 }),
        )
        .with(Series::line("density", inside.map(|t| (t, density(t)))))
        .with(counts[k].steps("samples"))
    };
    let (low, high) = (hard.mass_at_zero(), hard.mass_at_one());
    let n = samples as f64;
    let (share_low, share_high) = (zeros as f64 / n, ones as f64 / n);
    let error = |p: f64| (p * (1.0 - p) / n).sqrt();
    let charts = [
        chart(
            "Binary concrete",
            "s",
            "density",
            &|t| concrete.density(t),
            0,
        ),
        chart(
            "Stretched",
            "stretched s",
            "density",
            &|t| stretched.density(t),
            1,
        ),
        chart(
            "Hard concrete",
            "z",
            "density; bars: probability",
            &|t| hard.density(t),
            2,
        )
        .with(Series::line(&format!("P(z = 0) = {low:.3}"), []))
        .with(mass(0.0, BAR, low))
        .with(Series::line(&format!("P(z = 1) = {high:.3}"), []))
        .with(mass(1.0, BAR, high)),
    ];
    let numbers = json!({
        "log_alpha": a,
        "samples": samples,
        "mass_at_zero": low,
        "mass_at_one": high,
        "sampled_mass_at_zero": share_low,
        "sampled_mass_at_one": share_high,
        "standard_error_at_zero": error(low),
        "standard_error_at_one": error(high),
        "histogram_deviation": {
            "concrete": counts[0].deviation(|t| concrete.cdf(t), &[]),
            "stretched": counts[1].deviation(|t| stretched.cdf(t), &[]),
            // Between the point masses the two have the same distribution function.
            "hard_concrete": counts[2].deviation(|t| stretched.cdf(t), &[(zeros, low), (ones, high)]),
        },
    });
    (charts, numbers)
}

pub fn draw(setting: &Setting) -> crate::error::Result<Drawn> {
    let stream = setting.stream("densities");
    let rows: Vec<_> = (0..)
        .zip(LOG_ALPHAS)
        .map(|(k, a)| row(setting, a, &stream, k))
        .collect();
    let gate = setting.gate;
    let masses: Vec<String> = LOG_ALPHAS
        .iter()
        .map(|&a| {
            let (low, high) = (gate.prob_zero(a), gate.prob_one(a));
            format!("{low:.3} at 0 and {high:.3} at 1 for log α = {a}")
        })
        .collect();
    let worst = rows
        .iter()
        .filter_map(|(_, numbers)| numbers["histogram_deviation"].as_object())
        .flat_map(|kinds| kinds.values().filter_map(Value::as_f64))
        .fold(0.0, |worst: f64, d| worst.max(d.abs()));
    let says = format!(
        "Clamping turns what was stretched beyond [0, 1] into point masses, {}; the histograms of {} samples agree, χ² no further than {worst:.1} of its standard deviations from what is expected.",
        masses.join(", "),
        setting.many(400_000, 40_000),
    );
    let numbers: Vec<&Value> = rows.iter().map(|(_, numbers)| numbers).collect();
    let numbers = json!({ "gates": numbers });
    Ok(Drawn {
        figure: Figure::new(rows.into_iter().flat_map(|(charts, _)| charts).collect())
            .with_columns(3)
            .with_size(460.0, 320.0),
        says,
        numbers,
    })
}
