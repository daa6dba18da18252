//! Coordinates of the cells: states with a period, plus multiples of states without.
//!
//! What separates trajectories that arrive from this side and from that is rarely along an axis; cells that lie along it are fewer by an order of magnitude. With y = x + E·x, where E has entries only in rows of states that have a period and columns of states that have none, a
//! box of y that is as wide as the periods is the same set of states as that box of x, E·E = 0, x = y − E·y, and volumes stay what they are.

use ell0::equation::{Arithmetic, Interval};

use crate::{
    enclosure::Enclosure,
    rounding::{ROUNDING, upwards},
    tree::Cell,
};

/// y = x + E·x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shear<const N: usize> {
    e: [[f64; N]; N],
}

impl<const N: usize> Shear<N> {
    /// y = x.
    #[must_use]
    pub fn none() -> Self {
        Shear { e: [[0.0; N]; N] }
    }

    /// E.
    #[must_use]
    pub fn entries(&self) -> &[[f64; N]; N] {
        &self.e
    }

    /// E with the entries of a matrix where it may have some; others, and what is no number, are left out.
    #[must_use]
    pub fn new(e: [[f64; N]; N], periods: &[Option<f64>; N]) -> Self {
        let may = |i: usize, j: usize| {
            periods[i].is_some() && periods[j].is_none() && e[i][j].is_finite()
        };
        let entry = |i, j| if may(i, j) { e[i][j] } else { 0.0 };
        Shear {
            e: std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))),
        }
    }

    /// The coordinates in which an ellipsoid dᵀ·P·d ≤ c has an axis along each state without a period, if one state has a period: P in them has no entries between the two.
    #[must_use]
    pub fn along(p: &[[f64; N]; N], periods: &[Option<f64>; N]) -> Self {
        let e = std::array::from_fn(|i| std::array::from_fn(|j| p[i][j] / p[i][i]));
        Shear::new(e, periods)
    }

    /// E·x for intervals.
    fn product(&self, x: &[Interval; N], i: usize) -> Interval {
        let parts = (0..N).filter(|&j| self.e[i][j] != 0.0);
        parts.fold(Interval::point(0.0), |sum, j| {
            sum.add(Interval::point(self.e[i][j]).multiply(x[j]))
        })
    }

    /// x of y.
    #[must_use]
    pub fn states(&self, y: &[Interval; N]) -> [Interval; N] {
        std::array::from_fn(|i| y[i].subtract(self.product(y, i)))
    }

    /// y of x, in plain numbers.
    #[must_use]
    pub fn of_point(&self, x: &[f64; N]) -> [f64; N] {
        std::array::from_fn(|i| x[i] + (0..N).map(|j| self.e[i][j] * x[j]).sum::<f64>())
    }

    /// x of y, in plain numbers.
    #[must_use]
    pub fn to_point(&self, y: &[f64; N]) -> [f64; N] {
        std::array::from_fn(|i| y[i] - (0..N).map(|j| self.e[i][j] * y[j]).sum::<f64>())
    }

    /// (I ± E)·g, and what rounding leaves of it.
    fn turn(&self, sign: f64, g: &[f64; N], error: &mut [f64; N]) -> [f64; N] {
        std::array::from_fn(|i| {
            let (mut sum, mut size) = (g[i], g[i].abs());
            let mut exact = true;
            for j in 0..N {
                if self.e[i][j] != 0.0 && g[j] != 0.0 {
                    let part = self.e[i][j] * g[j];
                    sum += sign * part;
                    size += part.abs();
                    exact = false;
                }
            }
            if !exact {
                error[i] += upwards(ROUNDING * size);
            }
            sum
        })
    }

    /// The states of a cell, as a set with the generators after the first N left as they are.
    pub fn set_of(&self, cell: &Cell<N>, set: &mut Enclosure<N>) {
        let middle: [f64; N] = std::array::from_fn(|k| cell.middle(k));
        let mut error = [0.0; N];
        set.centre = self.turn(-1.0, &middle, &mut error);
        for k in 0..N {
            let mut side = [0.0; N];
            side[k] = upwards((cell.high[k] - middle[k]).max(middle[k] - cell.low[k]));
            set.generators[k] = self.turn(-1.0, &side, &mut error);
        }
        set.radius = error.map(|e| if e > 0.0 { upwards(e) } else { 0.0 });
        set.hull = self.states(&cell.sides());
    }

    /// A set of states in the coordinates of the cells.
    pub fn cells_of(&self, set: &Enclosure<N>, out: &mut Enclosure<N>) {
        let mut error = [0.0; N];
        out.centre = self.turn(1.0, &set.centre, &mut error);
        out.generators.clear();
        for g in &set.generators {
            out.generators.push(self.turn(1.0, g, &mut error));
        }
        for i in 0..N {
            let box_part: f64 = (0..N).map(|j| self.e[i][j].abs() * set.radius[j]).sum();
            out.radius[i] = upwards(set.radius[i] + box_part + error[i]);
        }
        let half = out.half_widths();
        for i in 0..N {
            let natural = set.hull[i].add(self.product(&set.hull, i));
            let (c, h) = (out.centre[i], half[i]);
            out.hull[i] = if self.e[i].iter().all(|e| *e == 0.0) {
                set.hull[i]
            } else {
                Interval {
                    low: (c - h).next_down().max(natural.low),
                    high: (c + h).next_up().min(natural.high),
                }
            };
        }
    }
}
