//! Linear plants with bounded linear laws, recognised.

use ell0::{equation::Node, features::Function, rng::Stream};
use faer::Mat;

use super::{
    closed::FieldLoop,
    matrix::{difference, length, of_rows},
    no_proof::NoProof,
    sector::Sector,
};

/// y⁺ = A·y + B·a, where each action is a bounded function of a row of K·y.
#[derive(Clone, Debug)]
pub struct Saturated {
    /// The plant.
    pub a: Mat<f64>,
    /// Its inputs.
    pub b: Mat<f64>,
    /// The law near 0.
    pub k: Mat<f64>,
    /// How each action bends.
    pub sectors: Vec<Sector>,
}

/// Coefficients of the variables and a constant.
struct Affine {
    by: Vec<f64>,
    constant: f64,
}

/// What is linear in the variables.
fn affine(node: &Node, width: usize) -> Option<Affine> {
    let constant = |value: f64| Affine {
        by: vec![0.0; width],
        constant: value,
    };
    match node {
        Node::Number(value) => Some(constant(*value)),
        Node::Variable(k) => {
            let mut sum = constant(0.0);
            *sum.by.get_mut(*k)? = 1.0;
            Some(sum)
        }
        Node::Sum(parts) => parts.iter().try_fold(constant(0.0), |mut sum, part| {
            let part = affine(part, width)?;
            sum.by.iter_mut().zip(&part.by).for_each(|(s, p)| *s += p);
            sum.constant += part.constant;
            Some(sum)
        }),
        Node::Product(parts) => {
            let (mut factor, mut varying) = (1.0, None);
            for part in parts {
                match part {
                    Node::Number(value) => factor *= value,
                    other if varying.is_none() => varying = Some(affine(other, width)?),
                    _ => return None,
                }
            }
            let mut product = varying.unwrap_or_else(|| constant(1.0));
            product.by.iter_mut().for_each(|c| *c *= factor);
            product.constant *= factor;
            Some(product)
        }
        Node::Power(..) | Node::Call(..) => None,
    }
}

/// A law as a factor and what tanh is taken of, or as what is linear.
fn bent(node: &Node) -> Option<(f64, &Node)> {
    match node {
        Node::Call(Function::Tanh, inner) => Some((1.0, inner)),
        Node::Product(parts) => match parts.as_slice() {
            [Node::Number(factor), Node::Call(Function::Tanh, inner)] => Some((*factor, inner)),
            _ => None,
        },
        _ => None,
    }
}

impl Saturated {
    /// A loop as such, if it is one.
    pub fn of(found: &FieldLoop) -> Result<Self, NoProof> {
        let (n, m, world) = (found.states(), found.actions(), found.world());
        if !world.is_linear() {
            return Err(NoProof::NotLinear { states: n });
        }
        let names: Vec<String> = world.actions().into_iter().map(|(name, _)| name).collect();
        for (name, [low, high]) in names.iter().zip(found.ranges()) {
            if !(*low < 0.0 && *high > 0.0) {
                return Err(NoProof::OneSided {
                    action: name.clone(),
                });
            }
        }
        let (rest, held) = (vec![0.0; n], vec![0.0; m]);
        if world.next(&rest, &held).iter().any(|v| *v != 0.0) {
            return Err(NoProof::NotAtRest);
        }
        let slopes = world.slopes(&rest, &held);
        let plant = (of_rows(&slopes.state, n), of_rows(&slopes.action, m));
        let (seen, by) = (world.observe(&rest), world.observation_slopes(&rest));
        // The world's word is tried, if only at a few states.
        let stream = Stream::new(0).split("linear");
        for trial in 0..3 {
            let mut rng = stream.at(trial);
            let y = world.typical_state(&mut rng);
            let action: Vec<f64> = found
                .ranges()
                .iter()
                .map(|r| super::closed::clamp(rng.normal(), *r))
                .collect();
            let times = |rows: &[Vec<f64>], x: &[f64]| -> Vec<f64> {
                let dot = |row: &Vec<f64>| row.iter().zip(x).map(|(r, x)| r * x).sum();
                rows.iter().map(dot).collect()
            };
            let mut next = times(&slopes.state, &y);
            let more = times(&slopes.action, &action);
            next.iter_mut().zip(&more).for_each(|(n, m)| *n += m);
            let size = 1e-9 * (1.0 + length(&y) + length(&next));
            if length(&difference(&world.next(&y, &action), &next)) > size {
                return Err(NoProof::BrokenPromise);
            }
            let mut observed = times(&by, &y);
            observed.iter_mut().zip(&seen).for_each(|(o, s)| *o += s);
            if length(&difference(&world.observe(&y), &observed)) > size {
                return Err(NoProof::Observations);
            }
        }
        let constant = |k: usize| by[k].iter().all(|v| *v == 0.0);
        let width = found.order().len();
        let (mut k, mut sectors) = (Mat::zeros(m, n), Vec::with_capacity(m));
        for (i, (law, [low, high])) in found.laws().iter().zip(found.ranges()).enumerate() {
            let action = || names[i].clone();
            // What does not change with the state is a number.
            let law = law.substitute(&|v| {
                let place = found.order()[v];
                match constant(place) {
                    true => Node::Number(seen[place]),
                    false => Node::Variable(v),
                }
            });
            let (factor, inner, bends) = match bent(&law) {
                Some((factor, inner)) => (factor, inner, true),
                None => (1.0, &law, false),
            };
            let inner = affine(inner, width).ok_or_else(|| NoProof::Law { action: action() })?;
            let at_rest: f64 = inner.constant
                + (0..width)
                    .map(|v| inner.by[v] * seen[found.order()[v]])
                    .sum::<f64>();
            if at_rest != 0.0 {
                return Err(NoProof::Constant { action: action() });
            }
            let factor = factor * found.gain();
            for (v, &place) in found.order().iter().enumerate() {
                if inner.by[v] != 0.0 {
                    (0..n).for_each(|j| k[(i, j)] += factor * inner.by[v] * by[place][j]);
                }
            }
            sectors.push(Sector {
                amplitude: (bends && factor != 0.0).then_some(factor.abs()),
                limit: high.min(-low),
            });
        }
        let (a, b) = plant;
        Ok(Saturated { a, b, k, sectors })
    }
}
