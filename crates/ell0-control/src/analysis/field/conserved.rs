//! Quantities that a world keeps whatever is done: the mean of a field, for example. In their directions an eigenvalue is exactly 1, and says nothing of stability.

use faer::Mat;

use super::{
    closed::{FieldLoop, clamp},
    matrix::{difference, largest, length, of_rows},
};
use ell0::rng::Stream;

/// Unit vectors w with wᵀF(x, a) = wᵀx for all states and actions, orthogonal to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conserved(Vec<Vec<f64>>);

/// Singular values below this are 0.
const ZERO: f64 = 1e-10;

impl Conserved {
    /// Those of a world: the left null space of (∂F/∂x − 1, ∂F/∂a) at a state, as far as steps from typical states with random actions bear it out.
    pub fn of(found: &FieldLoop, state: &[f64]) -> Self {
        let (n, m, world) = (found.states(), found.actions(), found.world());
        let slopes = world.slopes(state, &found.action(state));
        let (by_state, by_action) = (of_rows(&slopes.state, n), of_rows(&slopes.action, m));
        let change = Mat::from_fn(n, n + m, |i, j| match j.checked_sub(n) {
            None => by_state[(i, j)] - f64::from(u8::from(i == j)),
            Some(k) => by_action[(i, k)],
        });
        if !super::matrix::is_finite(&change) {
            return Conserved::default();
        }
        let Ok(parts) = change.svd() else {
            return Conserved::default();
        };
        let (left, sizes) = (parts.U(), parts.S().column_vector());
        let greatest = (0..n).fold(1.0, |m: f64, k| m.max(sizes[k]));
        let mut kept: Vec<Vec<f64>> = (0..n)
            .filter(|&k| sizes[k] <= ZERO * greatest)
            .map(|k| (0..n).map(|i| left[(i, k)]).collect())
            .collect();
        let stream = Stream::new(0).split("conserved");
        for k in 0..3 {
            if kept.is_empty() {
                break;
            }
            let mut rng = stream.at(k);
            let x = world.typical_state(&mut rng);
            let ranges = found.ranges().iter();
            let action: Vec<f64> = ranges.map(|r| clamp(rng.normal(), *r)).collect();
            let moved = difference(&world.next(&x, &action), &x);
            let size = length(&moved).max(length(&x)).max(1e-300);
            kept.retain(|w| dot(w, &moved).abs() <= 1e-8 * size);
        }
        Conserved(kept)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// J − Σ w·wᵀ: the eigenvalue 1 of each becomes 0, the others stay as they are. A direction that is not conserved here is left alone.
    pub fn without(&self, jacobian: &mut [Vec<f64>]) {
        let n = jacobian.len();
        for w in &self.0 {
            let kept: Vec<f64> = (0..w.len())
                .map(|j| {
                    w.iter()
                        .zip(jacobian.iter())
                        .map(|(w, row)| w * row[j])
                        .sum()
                })
                .collect();
            if largest(&difference(&kept, w)) > 1e-7 {
                continue;
            }
            for i in 0..n.min(w.len()) {
                for j in 0..w.len() {
                    jacobian[i][j] -= w[i] * w[j];
                }
            }
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
