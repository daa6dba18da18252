//! A set of terms with its least-squares fit, and what adding, dropping or swapping a term would do.

use super::{Problem, qr};

/// Columns closer than this to the span of others count as lying in it.
pub(super) const COLLINEAR: f64 = 1e-10;

/// The problem's matrix with the columns of a support first, triangularised: [T U y₁; 0 V y₂].
///
/// Everything below follows from it without squaring the condition number: the error is ‖y₂‖², the coefficients solve T b = y₁, adding column c gains
/// (V_cᵀy₂)²/‖V_c‖².
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    p: usize,
    q: usize,
    /// Terms with a coefficient, in the order of T's columns.
    pub support: Vec<usize>,
    /// All other terms.
    pub others: Vec<usize>,
    /// p × (p + q), columns of the support, the others, the targets.
    a: Vec<f64>,
    rest: f64,
}

/// A change of a support and the error after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Move {
    pub drop: Option<usize>,
    pub add: Option<usize>,
    pub error: f64,
}

impl Fitted {
    /// The least-squares fit of the given terms; those that lie in the span of terms before them are left out.
    pub fn new(problem: &Problem, wanted: &[usize]) -> Self {
        let (p, q) = (problem.p, problem.q);
        let mut inside = vec![false; p];
        wanted.iter().for_each(|&j| inside[j] = true);
        let mut order: Vec<usize> = wanted.to_vec();
        order.extend((0..p).filter(|&j| !inside[j]));
        let mut a = Vec::with_capacity(p * (p + q));
        order
            .iter()
            .for_each(|&j| a.extend_from_slice(problem.column(j)));
        a.extend_from_slice(&problem.y);
        let (mut support, mut late) = (Vec::new(), Vec::new());
        for &j in wanted {
            let k = support.len();
            let norm = qr::reflect(&mut a, p, k, k, COLLINEAR);
            if norm > COLLINEAR {
                support.push(j);
            } else {
                // To the end of the others; the columns in between move up.
                late.push(j);
                a[k * p..p * p].rotate_left(p);
            }
        }
        let mut others: Vec<usize> = order[wanted.len()..].to_vec();
        others.extend(late);
        Fitted {
            p,
            q,
            support,
            others,
            a,
            rest: problem.rest,
        }
    }

    pub fn len(&self) -> usize {
        self.support.len()
    }

    fn target(&self, t: usize) -> &[f64] {
        &self.a[(self.p + t) * self.p..][..self.p]
    }

    fn column(&self, place: usize) -> &[f64] {
        &self.a[place * self.p..][..self.p]
    }

    /// Mean squared error, summed over the targets.
    pub fn error(&self) -> f64 {
        let k = self.len();
        (0..self.q)
            .flat_map(|t| &self.target(t)[k..])
            .map(|y| y * y)
            .sum::<f64>()
            + self.rest
    }

    /// T⁻¹ b for a column's upper part, in place.
    fn solve(&self, b: &mut [f64]) {
        for i in (0..self.len()).rev() {
            let column = self.column(i);
            b[i] /= column[i];
            let value = b[i];
            b[..i]
                .iter_mut()
                .zip(column)
                .for_each(|(b, c)| *b -= value * c);
        }
    }

    /// Coefficients of the support, in its order, target after target.
    pub fn solution(&self) -> Vec<f64> {
        let k = self.len();
        let solve = |t: usize| {
            let mut b = self.target(t)[..k].to_vec();
            self.solve(&mut b);
            b
        };
        (0..self.q).flat_map(solve).collect()
    }

    /// Scaled coefficients of all features (p × q), zero outside the support.
    pub fn coefficients(&self) -> Vec<f64> {
        let (k, solution) = (self.len(), self.solution());
        let mut all = vec![0.0; self.p * self.q];
        for t in 0..self.q {
            for (place, &j) in self.support.iter().enumerate() {
                all[t * self.p + j] = solution[t * k + place];
            }
        }
        all
    }

    /// 1/h_i: the squared distance of each support column from the span of the rest, and the row norms' source T⁻¹.
    fn inverse(&self) -> Vec<f64> {
        let k = self.len();
        let mut inverse = vec![0.0; k * k];
        for c in 0..k {
            let column = &mut inverse[c * k..(c + 1) * k];
            column[c] = 1.0;
            // Only the first c + 1 entries are not zero.
            for i in (0..=c).rev() {
                let t = &self.a[i * self.p..];
                column[i] /= t[i];
                let value = column[i];
                column[..i]
                    .iter_mut()
                    .zip(t)
                    .for_each(|(b, t)| *b -= value * t);
            }
        }
        inverse
    }

    /// For each term of the support, how much the error would grow without it, and its squared distance from the span of the rest.
    pub fn removals(&self) -> Vec<(f64, f64)> {
        let (k, inverse, solution) = (self.len(), self.inverse(), self.solution());
        (0..k)
            .map(|i| {
                let h: f64 = (i..k).map(|c| inverse[c * k + i].powi(2)).sum();
                (
                    (0..self.q)
                        .map(|t| solution[t * k + i].powi(2))
                        .sum::<f64>()
                        / h,
                    1.0 / h,
                )
            })
            .collect()
    }

    /// For each term of the support, how much the error would grow without it.
    pub fn drop_costs(&self) -> Vec<f64> {
        self.removals().iter().map(|r| r.0).collect()
    }

    /// For each other term, how much the error would fall with it, and its squared distance from the span of the support.
    pub fn additions(&self) -> Vec<(f64, f64)> {
        let k = self.len();
        let addition = |place: usize| {
            let v = &self.column(place)[k..];
            let square: f64 = v.iter().map(|v| v * v).sum();
            if square.sqrt() <= COLLINEAR {
                return (0.0, 0.0);
            }
            let product = |t: usize| {
                v.iter()
                    .zip(&self.target(t)[k..])
                    .map(|(v, y)| v * y)
                    .sum::<f64>()
            };
            (
                (0..self.q).map(|t| product(t).powi(2)).sum::<f64>() / square,
                square,
            )
        };
        (k..self.p).map(addition).collect()
    }

    /// For each other term, how much the error would fall with it.
    pub fn add_gains(&self) -> Vec<f64> {
        self.additions().iter().map(|a| a.0).collect()
    }

    pub fn best_add(&self) -> Option<Move> {
        let gains = self.add_gains();
        let (place, gain) = gains.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
        (*gain > 0.0).then(|| Move {
            drop: None,
            add: Some(self.others[place]),
            error: self.error() - gain,
        })
    }

    pub fn best_drop(&self) -> Option<Move> {
        let costs = self.drop_costs();
        let (place, cost) = costs.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1))?;
        Some(Move {
            drop: Some(self.support[place]),
            add: None,
            error: self.error() + cost,
        })
    }

    /// The swap of one term for another that leaves the smallest error.
    pub fn best_swap(&self) -> Option<Move> {
        let (k, q) = (self.len(), self.q);
        if k == 0 || self.others.is_empty() {
            return None;
        }
        let (inverse, solution, error) = (self.inverse(), self.solution(), self.error());
        let h: Vec<f64> = (0..k)
            .map(|i| (i..k).map(|c| inverse[c * k + i].powi(2)).sum())
            .collect();
        let cost: Vec<f64> = (0..k)
            .map(|i| (0..q).map(|t| solution[t * k + i].powi(2)).sum::<f64>() / h[i])
            .collect();
        let mut best: Option<Move> = None;
        let mut u = vec![0.0; k];
        let mut products = vec![0.0; q];
        for (offset, &other) in self.others.iter().enumerate() {
            let column = self.column(k + offset);
            let (upper, v) = column.split_at(k);
            u.copy_from_slice(upper);
            self.solve(&mut u);
            let square: f64 = v.iter().map(|v| v * v).sum();
            for (t, product) in products.iter_mut().enumerate() {
                *product = v.iter().zip(&self.target(t)[k..]).map(|(v, y)| v * y).sum();
            }
            for i in 0..k {
                // Without term i, what is left of column c is A_ic e_i + r_c, with e_i of squared norm 1/h_i.
                let size = square + u[i] * u[i] / h[i];
                if size.sqrt() <= COLLINEAR {
                    continue;
                }
                let along = |t: usize| products[t] + u[i] * solution[t * k + i] / h[i];
                let gain = (0..q).map(|t| along(t).powi(2)).sum::<f64>() / size;
                let after = error + cost[i] - gain;
                if best.is_none_or(|best| after < best.error) {
                    best = Some(Move {
                        drop: Some(self.support[i]),
                        add: Some(other),
                        error: after,
                    });
                }
            }
        }
        best
    }

    /// The support after a move.
    pub fn moved(&self, change: Move) -> Vec<usize> {
        let kept = self
            .support
            .iter()
            .copied()
            .filter(|&j| Some(j) != change.drop);
        kept.chain(change.add).collect()
    }
}
