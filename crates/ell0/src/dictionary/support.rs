//! A set of terms with its least-squares fit, and what adding, dropping or swapping a term would do.

use super::{
    Problem,
    qr::{Reflection, dot, subtract},
};
use crate::simd;

/// Columns closer than this to the span of others count as lying in it.
pub(super) const COLLINEAR: f64 = 1e-10;

/// The problem's matrix, turned until the columns of a support are a triangle: [T U y₁; 0 V y₂], where T and U have as many rows as the support has terms.
///
/// Everything below follows from it without squaring the condition number: the error is ‖y₂‖², the coefficients solve T b = y₁, adding column c gains
/// (V_cᵀy₂)²/‖V_c‖². A term that comes in is one reflection of V, a term that goes a few rotations of the rows of T and U. Both are orthogonal: after many moves everything
/// is as exact as after a fresh factorisation.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    rows: usize,
    p: usize,
    q: usize,
    /// Terms with a coefficient, in the order of T's columns.
    pub support: Vec<usize>,
    /// All other terms, in increasing order.
    pub others: Vec<usize>,
    /// rows × (p + q): each term's column at its own place, then the targets.
    a: Vec<f64>,
    rest: f64,
    /// ‖V_c‖² and V_cᵀy₂ (p × q) of the other terms.
    squares: Vec<f64>,
    products: Vec<f64>,
    /// Room for a reflection and for rotations.
    v: Vec<f64>,
    rotations: Vec<Rotation>,
}

/// A change of a support and the error after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Move {
    pub drop: Option<usize>,
    pub add: Option<usize>,
    pub error: f64,
}

/// A rotation of two rows.
#[derive(Clone, Copy, Debug)]
struct Rotation {
    cos: f64,
    sin: f64,
}

impl Rotation {
    /// The rotation that turns (a, b) into (√(a² + b²), 0).
    fn clearing(a: f64, b: f64) -> Self {
        let r = a.hypot(b);
        if r > 0.0 {
            let (cos, sin) = (a / r, b / r);
            Rotation { cos, sin }
        } else {
            Rotation { cos: 1.0, sin: 0.0 }
        }
    }
}

/// Applies rotations to neighbouring rows of a column, the first to its first two.
#[inline(always)]
fn rotate(column: &mut [f64], rotations: &[Rotation]) {
    let Some((first, rest)) = column.split_first_mut() else {
        return;
    };
    let mut upper = first;
    for (Rotation { cos, sin }, lower) in rotations.iter().zip(rest) {
        let (a, b) = (*upper, *lower);
        *upper = cos * a + sin * b;
        *lower = cos * b - sin * a;
        upper = lower;
    }
}

impl Fitted {
    /// The least-squares fit of the given terms; those that lie in the span of terms before them are left out.
    pub fn new(problem: &Problem, wanted: &[usize]) -> Self {
        let mut a = Vec::with_capacity(problem.p * (problem.p + problem.q));
        a.extend_from_slice(&problem.r);
        let mut fitted = Fitted::of_columns(problem, problem.p, a);
        for &term in wanted {
            fitted.take_in(term, false);
        }
        fitted.measure();
        fitted
    }

    /// No terms yet, of so many columns; nothing is measured.
    fn of_columns(problem: &Problem, columns: usize, mut a: Vec<f64>) -> Self {
        a.extend_from_slice(&problem.y);
        Fitted {
            rows: problem.p,
            p: columns,
            q: problem.q,
            support: Vec::new(),
            others: (0..columns).collect(),
            a,
            rest: problem.rest,
            squares: vec![0.0; columns],
            products: vec![0.0; columns * problem.q],
            v: vec![0.0; problem.p],
            rotations: Vec::new(),
        }
    }

    /// What is left of the other columns and of the targets beside them.
    fn measure(&mut self) {
        let (rows, p, q, k) = (self.rows, self.p, self.q, self.len());
        let (columns, targets) = self.a.split_at(p * rows);
        let (others, squares, products) = (&self.others, &mut self.squares, &mut self.products);
        simd::vectorised(
            #[inline(always)]
            || {
                for &j in others {
                    let left = &columns[j * rows + k..(j + 1) * rows];
                    squares[j] = dot(left, left);
                    for t in 0..q {
                        products[t * p + j] = dot(left, &targets[t * rows + k..(t + 1) * rows]);
                    }
                }
            },
        );
    }

    /// Takes another term in, unless it lies in the span of the support. Whether it did.
    pub fn add(&mut self, term: usize) -> bool {
        self.take_in(term, true)
    }

    /// The work of taking a term in, or leaving one out: about so many operations.
    pub fn of_a_move(&self) -> usize {
        8 * self.rows * (self.others.len() + self.q)
    }

    /// The work of finding the best swap.
    pub fn of_swaps(&self) -> usize {
        let k = self.len();
        k * k * (k + self.others.len()) + 4 * self.q * k * self.others.len()
    }

    /// [`add`](Fitted::add), measuring what is left of the others or not.
    fn take_in(&mut self, term: usize, measured: bool) -> bool {
        let (rows, p, q, k) = (self.rows, self.p, self.q, self.len());
        let Ok(place) = self.others.binary_search(&term) else {
            return false;
        };
        let own = &mut self.a[term * rows + k..(term + 1) * rows];
        let v = &mut self.v[..rows - k];
        v.copy_from_slice(own);
        let Some(reflection) = Reflection::of(v, COLLINEAR) else {
            return false;
        };
        own.fill(0.0);
        own[0] = reflection.diagonal;
        self.others.remove(place);
        self.support.push(term);
        let (columns, targets) = self.a.split_at_mut(p * rows);
        let (others, squares, products) = (&self.others, &mut self.squares, &mut self.products);
        simd::vectorised(
            #[inline(always)]
            || {
                for target in targets.chunks_exact_mut(rows) {
                    reflection.apply(v, &mut target[k..]);
                }
                for &j in others {
                    let column = &mut columns[j * rows + k..(j + 1) * rows];
                    reflection.apply(v, column);
                    if !measured {
                        continue;
                    }
                    // Measured anew while it is at hand: differences would lose digits.
                    let left = &column[1..];
                    squares[j] = dot(left, left);
                    for t in 0..q {
                        let target = &targets[t * rows + k + 1..(t + 1) * rows];
                        products[t * p + j] = dot(left, target);
                    }
                }
            },
        );
        true
    }

    /// Leaves a term of the support out.
    pub fn drop(&mut self, term: usize) {
        let (rows, p, q) = (self.rows, self.p, self.q);
        let Some(place) = self.support.iter().position(|&j| j == term) else {
            return;
        };
        self.support.remove(place);
        // The columns behind it now reach one row below the diagonal: a rotation each.
        self.rotations.clear();
        for (at, &j) in self.support.iter().enumerate().skip(place) {
            let column = &mut self.a[j * rows..(j + 1) * rows];
            rotate(&mut column[place..], &self.rotations);
            let last = Rotation::clearing(column[at], column[at + 1]);
            rotate(&mut column[at..], &[last]);
            column[at + 1] = 0.0;
            self.rotations.push(last);
        }
        let before = self.others.partition_point(|&j| j < term);
        self.others.insert(before, term);
        for column in self.others.iter().copied().chain(p..p + q) {
            let column = &mut self.a[column * rows + place..(column + 1) * rows];
            rotate(column, &self.rotations);
        }
        // What was the last row of U is now the first of V.
        let row = self.support.len();
        self.squares[term] = 0.0;
        (0..q).for_each(|t| self.products[t * p + term] = 0.0);
        for &j in &self.others {
            let entry = self.a[j * rows + row];
            self.squares[j] += entry * entry;
            for t in 0..q {
                self.products[t * p + j] += entry * self.a[(p + t) * rows + row];
            }
        }
    }

    /// Makes a move. False if the new term lies in the span of the rest: then it is left out.
    pub fn make(&mut self, change: Move) -> bool {
        if let Some(term) = change.drop {
            self.drop(term);
        }
        change.add.is_none_or(|term| self.add(term))
    }

    /// Takes back a move that was made.
    pub fn take_back(&mut self, change: Move) {
        if let Some(term) = change.add {
            self.drop(term);
        }
        if let Some(term) = change.drop {
            self.add(term);
        }
    }

    /// Goes to another support, term by term.
    pub fn go_to(&mut self, wanted: &[usize]) {
        for place in (0..self.len()).rev() {
            let term = self.support[place];
            if !wanted.contains(&term) {
                self.drop(term);
            }
        }
        for &term in wanted {
            self.add(term);
        }
    }

    pub fn len(&self) -> usize {
        self.support.len()
    }

    fn target(&self, t: usize) -> &[f64] {
        self.column(self.p + t)
    }

    fn column(&self, place: usize) -> &[f64] {
        &self.a[place * self.rows..][..self.rows]
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

    /// T⁻¹ b for the upper part of a column, or for the beginning of it, in place.
    fn solve(&self, b: &mut [f64]) {
        for i in (0..b.len()).rev() {
            let column = self.column(self.support[i]);
            b[i] /= column[i];
            let value = b[i];
            b[..i]
                .iter_mut()
                .zip(column)
                .for_each(|(b, c)| *b -= value * c);
        }
    }

    /// The coefficients with which the first so many terms of the support come nearest to another term.
    pub fn combination(&self, terms: usize, other: usize) -> Vec<f64> {
        let mut b = self.column(other)[..terms].to_vec();
        self.solve(&mut b);
        b
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

    /// T⁻¹, column after column.
    fn inverse(&self) -> Vec<f64> {
        let k = self.len();
        let mut inverse = vec![0.0; k * k];
        simd::vectorised(
            #[inline(always)]
            || {
                for c in 0..k {
                    let column = &mut inverse[c * k..(c + 1) * k];
                    column[c] = 1.0;
                    // Only the first c + 1 entries are not zero.
                    for i in (0..=c).rev() {
                        let t = self.column(self.support[i]);
                        column[i] /= t[i];
                        let value = column[i];
                        subtract(&mut column[..i], value, t);
                    }
                }
            },
        );
        inverse
    }

    /// For each term of the support, how much the error would grow without it, and its squared distance from the span of the rest.
    pub fn removals(&self) -> Vec<(f64, f64)> {
        removals(&self.inverse(), &self.solution(), self.len())
    }

    /// For each term of the support, how much the error would grow without it.
    pub fn drop_costs(&self) -> Vec<f64> {
        self.removals().iter().map(|r| r.0).collect()
    }

    /// How much the error would fall with another term, and its squared distance from the span of the support.
    pub fn addition(&self, other: usize) -> (f64, f64) {
        let square = self.squares[other];
        if square.sqrt() <= COLLINEAR {
            return (0.0, 0.0);
        }
        let products = self.products.iter().skip(other).step_by(self.p);
        (products.map(|p| p.powi(2)).sum::<f64>() / square, square)
    }

    pub fn best_add(&self) -> Option<Move> {
        let gains = self.others.iter().map(|&j| (j, self.addition(j).0));
        let (term, gain) = gains.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (gain > 0.0).then(|| Move {
            drop: None,
            add: Some(term),
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
        let mut best: Option<Move> = None;
        self.swaps(
            #[inline(always)]
            |swap| {
                if best.is_none_or(|best| swap.error < best.error) {
                    best = Some(swap);
                }
            },
        );
        best
    }

    /// All moves: terms dropped, added, swapped for others.
    pub fn moves(&self) -> Vec<Move> {
        let error = self.error();
        let drops = self.support.iter().zip(self.drop_costs());
        let drops = drops.map(|(term, cost)| Move {
            drop: Some(*term),
            add: None,
            error: error + cost,
        });
        let mut moves: Vec<Move> = drops.collect();
        let smallest = COLLINEAR * COLLINEAR;
        for &term in &self.others {
            let (gain, square) = self.addition(term);
            if square > smallest {
                moves.push(Move {
                    drop: None,
                    add: Some(term),
                    error: error - gain,
                });
            }
        }
        self.swaps(|swap| moves.push(swap));
        moves
    }

    /// Calls `each` with every swap of one term for another that is not in the span of the rest.
    #[inline(always)]
    fn swaps(&self, mut each: impl FnMut(Move)) {
        let (p, q, k) = (self.p, self.q, self.len());
        if k == 0 || self.others.is_empty() {
            return;
        }
        let (inverse, solution, error) = (self.inverse(), self.solution(), self.error());
        let (costs, distances): (Vec<f64>, Vec<f64>) =
            removals(&inverse, &solution, k).into_iter().unzip();
        let (mut u, mut after) = (vec![0.0; k], vec![0.0; k]);
        let smallest = COLLINEAR * COLLINEAR;
        simd::vectorised(
            #[inline(always)]
            || {
                for &other in &self.others {
                    // u = T⁻¹ U_c.
                    u.fill(0.0);
                    for (l, &value) in self.column(other)[..k].iter().enumerate() {
                        subtract(&mut u[..=l], -value, &inverse[l * k..]);
                    }
                    let square = self.squares[other];
                    after.fill(0.0);
                    for t in 0..q {
                        let product = self.products[t * p + other];
                        let solution = &solution[t * k..][..k];
                        for i in 0..k {
                            // Without term i, what is left of column c is u_i e_i + V_c, with e_i of squared norm 1/h_i.
                            let along = product + u[i] * solution[i] * distances[i];
                            after[i] += along * along;
                        }
                    }
                    for i in 0..k {
                        let size = square + u[i] * u[i] * distances[i];
                        let gain = after[i] / size;
                        after[i] = if size <= smallest {
                            f64::INFINITY
                        } else {
                            error + costs[i] - gain
                        };
                    }
                    for (i, &after) in after.iter().enumerate() {
                        if after < f64::INFINITY {
                            each(Move {
                                drop: Some(self.support[i]),
                                add: Some(other),
                                error: after,
                            });
                        }
                    }
                }
            },
        );
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

/// From T⁻¹ and the solution: for each term, how much the error would grow without it, and 1/h, its squared distance from the span of the rest.
fn removals(inverse: &[f64], solution: &[f64], k: usize) -> Vec<(f64, f64)> {
    (0..k)
        .map(|i| {
            let h: f64 = (i..k).map(|c| inverse[c * k + i].powi(2)).sum();
            let squares = solution.iter().skip(i).step_by(k).map(|s| s.powi(2));
            (squares.sum::<f64>() / h, 1.0 / h)
        })
        .collect()
}

/// Terms with their least-squares fit alone.
#[derive(Clone, Debug)]
pub(super) struct Refit {
    /// The terms that are in no other's span, in the order given.
    pub support: Vec<usize>,
    /// Mean squared error, summed over the targets.
    pub error: f64,
    /// Scaled coefficients of all features (p × q).
    pub coefficients: Vec<f64>,
}

/// The least-squares fit of the given terms, from the triangle anew and without a look at any other: what a law's coefficients are taken from.
pub(super) fn refit(problem: &Problem, wanted: &[usize]) -> Refit {
    let columns = wanted.iter().flat_map(|&j| problem.column(j));
    let mut fitted = Fitted::of_columns(problem, wanted.len(), columns.copied().collect());
    for place in 0..wanted.len() {
        fitted.take_in(place, false);
    }
    let (k, p) = (fitted.len(), problem.p);
    let (error, solution) = (fitted.error(), fitted.solution());
    let support: Vec<usize> = fitted.support.iter().map(|&place| wanted[place]).collect();
    let mut coefficients = vec![0.0; p * problem.q];
    for t in 0..problem.q {
        for (place, &j) in support.iter().enumerate() {
            coefficients[t * p + j] = solution[t * k + place];
        }
    }
    Refit {
        support,
        error,
        coefficients,
    }
}
