//! Pairs of inputs and outputs that are written with the code, so that it can test itself where it runs.

use super::layout::Body;
use crate::{equation::Node, error::Result, features::Function, rng::Stream};

/// Inputs, and the outputs that belong to them.
pub(super) type Pair = (Vec<f64>, Vec<f64>);

/// How many pairs are kept, of how many that are tried.
const KEPT: usize = 8;
const TRIED: u64 = 256;

/// Fixed points where all outputs are finite, and how far from the stored outputs, relative to 1 + |output|, a right program may be.
///
/// How much rounding matters depends on the model. The outputs in single precision tell: from there to double precision, errors shrink by 2⁻²⁹.
pub(super) fn pairs(body: &Body, inputs: usize, float: bool) -> Result<(Vec<Pair>, f64)> {
    let (mut pairs, mut error) = (Vec::new(), 0.0f64);
    for trial in 0..TRIED {
        if pairs.len() == KEPT {
            break;
        }
        let mut rng = Stream::new(0).split("export").at(trial);
        // Every other point has positive inputs only: a model may have logarithms. Half of them are near 0: a policy may saturate. Multiples of 1/64 are exact in single precision, too.
        let scale = if trial % 4 < 2 { 64.0 } else { 8.0 };
        let mut input = || {
            let value = (rng.normal() * scale).round() / 64.0;
            if trial % 2 == 1 { value.abs() } else { value }
        };
        let row: Vec<f64> = (0..inputs).map(|_| input()).collect();
        let single: Vec<f32> = row.iter().map(|x| *x as f32).collect();
        let (outputs, rough): (Vec<f64>, Vec<f32>) = match body {
            Body::Equations(model) => (
                model.predict(&row, 1)?,
                model
                    .expressions()
                    .map(|e| evaluate_single(e.root(), &single))
                    .collect(),
            ),
            Body::Network(network) => (network.evaluate(&row), network.predict(&single)?),
        };
        let finite = outputs.iter().all(|v| v.is_finite());
        let rough_finite = rough.iter().all(|v| v.is_finite());
        if finite && rough_finite {
            for (a, b) in outputs.iter().zip(&rough) {
                error = error.max((a - f64::from(*b)).abs() / (1.0 + a.abs()));
            }
        }
        if finite && (rough_finite || !float) {
            pairs.push((row, outputs));
        }
    }
    let tolerance = if float {
        (10.0 * error).max(1e-5)
    } else {
        (10.0 * error * 0.5f64.powi(29)).max(1e-12)
    };
    Ok((pairs, tolerance))
}

/// The value of an expression in single precision throughout.
fn evaluate_single(node: &Node, row: &[f32]) -> f32 {
    match node {
        Node::Number(value) => *value as f32,
        Node::Variable(index) => row[*index],
        Node::Sum(parts) => parts.iter().map(|p| evaluate_single(p, row)).sum(),
        Node::Product(parts) => parts.iter().map(|p| evaluate_single(p, row)).product(),
        Node::Power(inner, exponent) => evaluate_single(inner, row).powf(*exponent as f32),
        Node::Call(function, inner) => {
            let x = evaluate_single(inner, row);
            match function {
                Function::Exp => x.exp(),
                Function::Log => x.ln(),
                Function::Sqrt => x.sqrt(),
                Function::Abs => x.abs(),
                Function::Tanh => x.tanh(),
                Function::Sign if x == 0.0 => 0.0,
                Function::Sign => x.signum(),
                Function::Sin => x.sin(),
                Function::Cos => x.cos(),
            }
        }
    }
}
