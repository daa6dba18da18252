//! From uniform noise to a gate: concrete, stretched, clamped; and the gate without noise.

use ell0_plot::{Axis, Chart, Figure, Series};
use serde_json::json;

use super::{Drawn, Setting, grid, signed};

const LOG_ALPHAS: [f64; 5] = [-4.0, -2.0, 0.0, 2.0, 4.0];

pub fn draw(setting: &Setting) -> crate::error::Result<Drawn> {
    let gate = setting.gate;
    let (gamma, zeta) = (gate.gamma(), gate.zeta());
    let against_noise = |title: &str, value: &dyn Fn(f64, f64) -> f64| {
        let chart = Chart::new(
            title,
            Axis::linear("uniform noise u").within(0.0, 1.0),
            Axis::linear("gate").within(gamma - 0.05, zeta + 0.05),
        );
        LOG_ALPHAS.iter().enumerate().fold(chart, |chart, (k, &a)| {
            // The first name says what the numbers in the legend are.
            let head = if k == 0 { "log α = " } else { "" };
            let curve = grid(1e-4, 1.0 - 1e-4, 300).map(|u| (u, value(a, u)));
            chart.with(Series::line(&format!("{head}{}", signed(a)), curve))
        })
    };
    let concrete = against_noise("Binary concrete: never 0, never 1", &|a, u| {
        gate.concrete(a).quantile(u)
    });
    let stretched = against_noise(
        &format!("Stretched to ({}, {})", signed(gamma), signed(zeta)),
        &|a, u| gate.stretched(a).quantile(u),
    );
    let hard = against_noise("Hard concrete: clamped to [0, 1]", &|a, u| {
        gate.rectified(a).quantile(u)
    });

    // Where σ(log α)(ζ − γ) + γ is 0 and 1.
    let closes = (-gamma / zeta).ln();
    let opens = ((1.0 - gamma) / (zeta - 1.0)).ln();
    let locations = grid(-6.0, 6.0, 241);
    let curve = |value: &dyn Fn(f64) -> f64| {
        let points: Vec<_> = locations.clone().map(|a| (a, value(a))).collect();
        points
    };
    let rounded = |a: f64| signed((a * 1e3).round() / 1e3);
    let at_test = Chart::new(
        format!(
            "At test time: closed below {}, open above {}",
            rounded(closes),
            rounded(opens)
        ),
        Axis::linear("log α").within(-6.0, 6.0),
        Axis::linear("gate, or probability").within(gamma - 0.05, zeta + 0.05),
    )
    .with(Series::line(
        "test-time gate",
        curve(&|a| gate.test_gate(a)),
    ))
    .with(Series::dots(
        "",
        [closes, opens].map(|a| (a, gate.test_gate(a))),
    ))
    .with(Series::line("E[z]", curve(&|a| gate.moments(a).mean)))
    .with(Series::line("P(z ≠ 0)", curve(&|a| gate.prob_active(a))))
    .with(Series::line("P(z = 1)", curve(&|a| gate.prob_one(a))));

    let says = format!(
        "At log α = 0 the clamped gate is exactly 0 for {:.1} % of the noise and exactly 1 for {:.1} %, the concrete gate never; at test time it is closed below log α = {closes:.3} and fully open above {opens:.3}.",
        100.0 * gate.prob_zero(0.0),
        100.0 * gate.prob_one(0.0),
    );
    let locations = LOG_ALPHAS.map(|a| {
        json!({
            "log_alpha": a,
            "prob_zero": gate.prob_zero(a),
            "prob_one": gate.prob_one(a),
            "prob_active": gate.prob_active(a),
            "mean": gate.moments(a).mean,
            "variance": gate.moments(a).variance,
            "test_gate": gate.test_gate(a),
            "concrete_median": gate.concrete(a).quantile(0.5),
            "stretched_median": gate.stretched(a).quantile(0.5),
            "median": gate.rectified(a).quantile(0.5),
        })
    });
    Ok(Drawn {
        figure: Figure::new(vec![concrete, stretched, hard, at_test])
            .with_columns(2)
            .with_size(460.0, 330.0),
        says,
        numbers: json!({ "gates": locations, "closed_below": closes, "open_above": opens }),
    })
}
