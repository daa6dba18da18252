//! Norm penalties of one weight, and what each does to the weight.

use ell0_plot::{Axis, Chart, Figure, Series};
use serde_json::json;

use super::{Drawn, Setting, grid};

/// From back to front: L0 is what it is about.
const NORMS: [(&str, f64); 4] = [("L2", 2.0), ("L1", 1.0), ("L0.5", 0.5), ("L0", 0.0)];

/// Price of a unit of penalty in the second chart.
const LAMBDA: f64 = 0.5;

/// Where the effect on a weight is told in numbers.
const EXAMPLE: f64 = 2.0;

/// |ξ|ᵖ, and for p = 0 whether ξ is not zero.
fn penalty(xi: f64, p: f64) -> f64 {
    if p == 0.0 {
        f64::from(xi != 0.0)
    } else {
        xi.abs().powf(p)
    }
}

/// argmin over ξ of ½(ξ − y)² + λ|ξ|ᵖ: the weight that is left where the data alone say y.
fn shrunk(y: f64, p: f64, lambda: f64) -> f64 {
    let objective = |xi: f64| 0.5 * (xi - y.abs()).powi(2) + lambda * penalty(xi, p);
    const CELLS: usize = 400;
    let step = y.abs() / CELLS as f64;
    let best = (1..=CELLS)
        .map(|k| k as f64 * step)
        .min_by(|a, b| objective(*a).total_cmp(&objective(*b)))
        .unwrap_or(0.0);
    // Between its neighbours on the grid the objective has a single valley.
    let (mut low, mut high) = ((best - step).max(1e-9), best + step);
    for _ in 0..60 {
        let third = (high - low) / 3.0;
        if objective(low + third) <= objective(high - third) {
            high -= third;
        } else {
            low += third;
        }
    }
    let inside = 0.5 * (low + high);
    if objective(0.0) <= objective(inside) {
        0.0
    } else {
        inside.copysign(y)
    }
}

pub fn draw(_: &Setting) -> crate::error::Result<Drawn> {
    let mut cost = Chart::new(
        "Penalty of a weight ξ",
        Axis::linear("ξ"),
        Axis::linear("penalty").within(-0.05, 2.5),
    );
    let mut effect = Chart::new(
        format!("The weight that is left, at λ = {LAMBDA}"),
        Axis::linear("weight that the data alone ask for"),
        Axis::linear("argmin of ½(ξ − weight)² + λ · penalty"),
    );
    for (name, p) in NORMS {
        let xs = grid(-2.0, 2.0, 401);
        if p == 0.0 {
            // The jump at zero is a jump: two lines and a dot.
            let beside = |xi: f64| (if xi.abs() < 1e-9 { f64::NAN } else { xi }, penalty(xi, p));
            cost = cost
                .with(Series::line(name, xs.map(beside)))
                .with(Series::dots("", [(0.0, penalty(0.0, p))]));
        } else {
            cost = cost.with(Series::line(name, xs.map(|xi| (xi, penalty(xi, p)))));
        }
        let mut points: Vec<(f64, f64)> = Vec::new();
        for y in grid(-3.0, 3.0, 601) {
            let left = shrunk(y, p, LAMBDA);
            if points
                .last()
                .is_some_and(|before| (left - before.1).abs() > 0.2)
            {
                points.push((f64::NAN, 0.0));
            }
            points.push((y, left));
        }
        effect = effect.with(Series::line(name, points));
    }
    let left = NORMS.map(|(_, p)| shrunk(EXAMPLE, p, LAMBDA));
    let [l2, l1, half, l0] = left;
    let says = format!(
        "Of a weight that the data put at {EXAMPLE}, with λ = {LAMBDA}, L0 leaves {l0:.3}, L0.5 {half:.3}, L1 {l1:.3} and L2 {l2:.3}: only L0 does not shrink what it keeps, and it sets to zero all below √(2λ) = {:.3}.",
        (2.0 * LAMBDA).sqrt()
    );
    let numbers = json!({
        "lambda": LAMBDA,
        "weight": EXAMPLE,
        "norms": NORMS.iter().zip(left).map(|((name, p), left)| json!({
            "name": name,
            "exponent": p,
            "penalty": { "0": penalty(0.0, *p), "0.5": penalty(0.5, *p), "1": penalty(1.0, *p), "2": penalty(2.0, *p) },
            "weight_left": left,
        })).collect::<Vec<_>>(),
    });
    Ok(Drawn {
        figure: Figure::new(vec![cost, effect]).with_size(460.0, 360.0),
        says,
        numbers,
    })
}
