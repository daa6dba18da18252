//! States that a map does not change, and what happens near them.

use ell0::rng::Stream;
use serde::{Deserialize, Serialize};

use super::{
    linear,
    map::Map,
    plant::Plant,
    pulse::Pulse,
    value::{Complex, Matrix, Stability},
};

/// A state that stays as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Equilibrium {
    /// Where.
    pub state: Vec<f64>,
    /// Derivatives of the map there, row by row.
    pub jacobian: Matrix,
    /// Eigenvalues, the largest first.
    pub eigenvalues: Vec<Complex>,
    /// Whether all of them are inside the unit circle; undecided if one is on it, up to rounding, or the map has a jump or a corner here.
    pub stability: Stability,
}

impl Equilibrium {
    /// Whether it is stable for sure.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.stability == Stability::Stable
    }
}

/// Starts of Newton's method.
const STARTS: u64 = 2000;

/// As many as this are a continuum, or part of one.
pub const MOST_EQUILIBRIA: usize = 50;

/// Newton's method for F(x) = x from a start; none if it leads nowhere.
pub(super) fn newton(plant: &Plant, map: &Map, start: &[f64]) -> Option<Vec<f64>> {
    let mut x = start.to_vec();
    let scale: Vec<f64> = plant.states.iter().map(|s| s.bounds.width()).collect();
    for _ in 0..50 {
        let (next, mut slopes) = map.jacobian(&x);
        let residual = plant.difference(&next, &x);
        let size = residual
            .iter()
            .zip(&scale)
            .fold(0f64, |m, (r, s)| m.max((r / s).abs()));
        if !size.is_finite() {
            return None;
        }
        (0..x.len()).for_each(|k| slopes[k][k] -= 1.0);
        let step = linear::solve(&slopes, &residual)?;
        x.iter_mut().zip(&step).for_each(|(x, s)| *x -= s);
        let moved = step
            .iter()
            .zip(&scale)
            .fold(0f64, |m, (d, s)| m.max((d / s).abs()));
        if size < 1e-13 && moved < 1e-12 {
            return Some(x);
        }
    }
    None
}

/// The equilibrium at a state.
fn classify(map: &Map, state: Vec<f64>) -> Option<Equilibrium> {
    let (_, jacobian) = map.jacobian(&state);
    let eigenvalues = linear::eigenvalues(&jacobian)?;
    let stability = if !map.is_smooth(&state) {
        Stability::Undecided
    } else if linear::is_stable(&jacobian) {
        Stability::Stable
    } else if linear::spectral_radius(&jacobian) > 1.0 + 1e-9 {
        Stability::Unstable
    } else {
        Stability::Undecided
    };
    Some(Equilibrium {
        state,
        jacobian: Matrix::from_rows(jacobian),
        eigenvalues,
        stability,
    })
}

/// Equilibria within the plant's bounds, by Newton's method from many starts: the stable ones first. The pulse beats at every start.
#[must_use]
pub fn equilibria(plant: &Plant, map: &Map, pulse: Pulse) -> Vec<Equilibrium> {
    let stream = Stream::new(0).split("equilibria");
    let mut found: Vec<Equilibrium> = Vec::new();
    let middle = vec![0.0; plant.states.len()];
    for k in (0..STARTS).take_while(|_| pulse()) {
        let mut rng = stream.at(k);
        let start: Vec<f64> = match k {
            0 => middle.clone(),
            _ => plant
                .states
                .iter()
                .map(|s| s.bounds.at(rng.uniform()))
                .collect(),
        };
        let Some(x) = newton(plant, map, &start) else {
            continue;
        };
        // Into the first period; what is 0 up to rounding is 0.
        let mut x = plant.difference(&x, &middle);
        let tidy: Vec<f64> = x
            .iter()
            .map(|v| if v.abs() < 1e-11 { 0.0 } else { *v })
            .collect();
        let residual = plant.difference(&map.next(&tidy), &tidy);
        if residual.iter().all(|r| r.abs() < 1e-14) {
            x = tidy;
        }
        let inside = x.iter().zip(&plant.states).all(|(x, s)| {
            let bounds = s.bounds;
            (bounds.low - 1e-9..=bounds.high + 1e-9).contains(x)
        });
        let known = |e: &Equilibrium| plant.is_small(&plant.difference(&e.state, &x), 1e-6);
        let known = found.iter().any(known);
        if inside && !known && found.len() < MOST_EQUILIBRIA {
            found.extend(classify(map, x));
        }
    }
    found.sort_by(|a, b| {
        let distance = |e: &Equilibrium| e.state.iter().map(|v| v * v).sum::<f64>();
        b.is_stable()
            .cmp(&a.is_stable())
            .then(distance(a).total_cmp(&distance(b)))
    });
    found
}
