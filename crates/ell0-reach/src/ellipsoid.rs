//! The set that trajectories are to arrive in: {dᵀ·P·d ≤ c}.

use ell0::equation::{Arithmetic, Interval};
use ell0_control::analysis::Claim;

use crate::shear::Shear;

/// The share of the level that is left to checkers whose rounding differs.
const SLACK: f64 = 1e-9;

/// {d = x − x* : dᵀ·P·d ≤ c} with P positive definite.
#[derive(Clone, Debug)]
pub struct Ellipsoid<const N: usize> {
    centre: [f64; N],
    p: [[f64; N]; N],
    level: f64,
}

impl<const N: usize> Ellipsoid<N> {
    /// The set of a claim of N states.
    ///
    /// # Panics
    ///
    /// If the claim is of fewer.
    #[must_use]
    pub fn new(claim: &Claim) -> Self {
        let rows = claim.p.rows();
        Ellipsoid {
            centre: std::array::from_fn(|k| claim.centre[k]),
            p: std::array::from_fn(|i| std::array::from_fn(|j| rows[i][j])),
            level: claim.level * (1.0 - SLACK),
        }
    }

    /// Whether a point is probably inside.
    #[must_use]
    pub fn has(&self, x: &[f64; N]) -> bool {
        let d: [f64; N] = std::array::from_fn(|k| x[k] - self.centre[k]);
        let mut v = 0.0;
        for i in 0..N {
            for j in 0..N {
                v += d[i] * self.p[i][j] * d[j];
            }
        }
        v <= self.level
    }

    /// A box that holds it: |dᵢ| ≤ √(c·(P⁻¹)ᵢᵢ), a little more for rounding. None if P has no inverse worth the name.
    #[must_use]
    pub fn hull(&self) -> Option<[Interval; N]> {
        let mut hull = [Interval::point(0.0); N];
        for i in 0..N {
            let diagonal = self.inverse_diagonal(i);
            let reach = (self.level * diagonal).sqrt() * (1.0 + 1e-6);
            if !(diagonal > 0.0 && reach.is_finite()) {
                return None;
            }
            hull[i] = Interval::new(self.centre[i] - reach, self.centre[i] + reach);
        }
        Some(hull)
    }

    /// (P⁻¹)ᵢᵢ: one over what elimination leaves of Pᵢᵢ when all the others have gone before it.
    fn inverse_diagonal(&self, last: usize) -> f64 {
        let mut a = self.p;
        let others: Vec<usize> = (0..N).filter(|&k| k != last).collect();
        for (step, &k) in others.iter().enumerate() {
            let after: Vec<usize> = others[step + 1..].iter().copied().chain([last]).collect();
            for &i in &after {
                let factor = a[i][k] / a[k][k];
                for &j in &after {
                    a[i][j] -= factor * a[k][j];
                }
            }
        }
        1.0 / a[last][last]
    }

    /// P.
    #[must_use]
    pub fn p(&self) -> &[[f64; N]; N] {
        &self.p
    }

    /// Whether a whole box of the cells' coordinates is certainly inside. V is convex, so its corners decide.
    #[must_use]
    pub fn holds(&self, sides: &[Interval; N], shear: &Shear<N>) -> bool {
        (0..1usize << N).all(|corner| {
            let y: [Interval; N] = std::array::from_fn(|k| {
                let side = sides[k];
                Interval::point(if corner >> k & 1 == 1 {
                    side.high
                } else {
                    side.low
                })
            });
            let x = shear.states(&y);
            let d: [Interval; N] =
                std::array::from_fn(|k| x[k].subtract(Interval::point(self.centre[k])));
            let mut v = Interval::point(0.0);
            for i in 0..N {
                for j in 0..N {
                    let part = d[i].multiply(Interval::point(self.p[i][j])).multiply(d[j]);
                    v = v.add(part);
                }
            }
            v.high <= self.level
        })
    }
}
