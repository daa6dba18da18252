//! The spike and slab distribution of a weight, and what a hard-concrete gate makes of it.

use std::f64::consts::PI;

use ell0_plot::{Axis, Chart, Figure, Series};
use serde_json::{Value, json};

use super::{Drawn, Setting, grid, histogram::Histogram, mass};

/// π: how often the weight is not zero.
const ACTIVE: f64 = 0.5;

/// Cells of the noise that the density of gate × weight is summed over.
const CELLS: usize = 4000;

const RANGE: f64 = 3.5;
const BINS: usize = 71;
const BAR: f64 = 0.12;

fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// A chart of a spike and a slab beside samples of them.
fn chart(
    title: String,
    spike: f64,
    slab: impl Fn(f64) -> f64,
    samples: impl Iterator<Item = f64>,
) -> (Chart, Value) {
    let mut histogram = Histogram::new(-RANGE, RANGE, BINS);
    let (mut zeros, mut total) = (0, 0);
    for xi in samples {
        total += 1;
        if xi == 0.0 {
            zeros += 1;
            histogram.skip();
        } else {
            histogram.add(xi);
        }
    }
    // An even number of points: zero itself, where a slab may be infinite, is not among them.
    let points = grid(-RANGE, RANGE, 350);
    let chart = Chart::new(
        title,
        Axis::linear("ξ").within(-RANGE, RANGE),
        Axis::linear("density; bar: probability").within(0.0, 0.72),
    )
    .with(Series::line("slab", points.map(|x| (x, slab(x)))))
    .with(histogram.steps("samples"))
    .with(Series::line("spike", []))
    .with(mass(0.0, BAR, spike))
    .with_mark(0.0, spike, format!("P(ξ = 0) = {spike:.3}"));
    let total = f64::from(total);
    let numbers = json!({
        "spike": spike,
        "sampled_spike": f64::from(zeros) / total,
        "standard_error": (spike * (1.0 - spike) / total).sqrt(),
        "samples": total,
    });
    (chart, numbers)
}

pub fn draw(setting: &Setting) -> crate::error::Result<Drawn> {
    let samples = setting.many(200_000, 20_000);
    let stream = setting.stream("spike and slab");
    let mut rng = stream.at(0);
    let draws = (0..samples).map(|_| {
        let active = rng.uniform() < ACTIVE;
        let xi = rng.normal();
        if active { xi } else { 0.0 }
    });
    let slab = |x| ACTIVE * normal_density(x);
    let (bernoulli, bernoulli_numbers) = chart(
        format!("Spike and slab: ξ = 0, or N(0, 1) with π = {ACTIVE}"),
        1.0 - ACTIVE,
        slab,
        draws,
    );

    let log_alpha = setting.gate.log_alpha_of_prob_active(ACTIVE);
    let law = setting.gate.rectified(log_alpha);
    // ∫ over the noise of the density of N(0, z²), where z is the gate for this noise.
    let gates: Vec<f64> = (0..CELLS)
        .map(|k| law.quantile((k as f64 + 0.5) / CELLS as f64))
        .filter(|&z| z > 0.0)
        .collect();
    let smeared = |x: f64| {
        let densities = gates.iter().map(|&z| normal_density(x / z) / z);
        densities.sum::<f64>() / CELLS as f64
    };
    let mut rng = stream.at(1);
    let draws = (0..samples).map(|_| {
        let z = setting.gate.sample(log_alpha, rng.uniform());
        z * rng.normal()
    });
    let (gated, gated_numbers) = chart(
        format!("Hard-concrete gate × N(0, 1), P(active) = {ACTIVE}"),
        law.mass_at_zero(),
        smeared,
        draws,
    );
    let says = format!(
        "Half of the probability stands on ξ = 0 itself ({:.4} of {samples} samples, ± {:.4}); a hard-concrete gate at log α = {log_alpha:.3} has the same spike, P(z = 0) = {:.4} ({:.4} of the samples), and a slab that is drawn towards it.",
        bernoulli_numbers["sampled_spike"]
            .as_f64()
            .unwrap_or(f64::NAN),
        bernoulli_numbers["standard_error"]
            .as_f64()
            .unwrap_or(f64::NAN),
        law.mass_at_zero(),
        gated_numbers["sampled_spike"].as_f64().unwrap_or(f64::NAN),
    );
    Ok(Drawn {
        figure: Figure::new(vec![bernoulli, gated]).with_size(460.0, 360.0),
        says,
        numbers: json!({
            "prob_active": ACTIVE,
            "log_alpha": log_alpha,
            "bernoulli": bernoulli_numbers,
            "hard_concrete": gated_numbers,
        }),
    })
}
