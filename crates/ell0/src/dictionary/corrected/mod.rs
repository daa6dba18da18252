//! Coefficients of a law whose inputs were measured with errors of known size: the corrected score (Stefanski 1989, Nakamura 1990).
//!
//! Least squares needs the sums Σ φᵢ(x)φⱼ(x) and Σ φᵢ(x)y of the true inputs x; measured are w = x + σe with a standard normal e, and the sums of w are too large: coefficients come out too small, or wrong. But h*(w) = exp(−σ²/2 · d²/dw²) h(w) has
//! the mean h(x), so the sums of h* are right. Input by input, h* is a weighted sum of h at nodes around w, exact for polynomials of the degree that is there; of other functions the terms of higher order in σ are left out. Products of terms are products of functions of single
//! inputs, and the errors of inputs are independent of each other and of the target's.
//!
//! Sums are kept in blocks of rows that follow each other: how far they differ says how sure the coefficients are, whatever the errors are like, also where those of neighbouring rows go together.

mod nodes;
#[cfg(test)]
mod tests;

use self::nodes::{Nodes, pairs};
use super::price_of_choice;
use crate::{
    error::{Error, Result, require},
    features::Term,
};

/// Blocks of rows, at most.
const BLOCKS: u64 = 600;

/// If less than this share of what tells a term from the others is more than errors, nothing can be corrected.
const LEAST: f64 = 0.05;

/// Every so many-th block is held out for R².
const EVERY: usize = 5;

/// Sums over a block of rows.
#[derive(Clone, Debug)]
struct Sums {
    rows: u64,
    /// Of products of terms, p × p, and of terms with the target: corrected, and as they were measured.
    products: Vec<f64>,
    targets: Vec<f64>,
    measured_products: Vec<f64>,
    measured_targets: Vec<f64>,
    square: f64,
}

impl Sums {
    fn new(terms: usize) -> Self {
        Sums {
            rows: 0,
            products: vec![0.0; terms * terms],
            targets: vec![0.0; terms],
            measured_products: vec![0.0; terms * terms],
            measured_targets: vec![0.0; terms],
            square: 0.0,
        }
    }

    fn add(&mut self, other: &Sums) {
        let pairs = [
            (&mut self.products, &other.products),
            (&mut self.targets, &other.targets),
            (&mut self.measured_products, &other.measured_products),
            (&mut self.measured_targets, &other.measured_targets),
        ];
        for (own, others) in pairs {
            own.iter_mut().zip(others).for_each(|(a, b)| *a += b);
        }
        self.rows += other.rows;
        self.square += other.square;
    }

    /// The squared error of some terms, by sums that are corrected or not.
    fn error(&self, of: &[usize], coefficients: &[f64], corrected: bool) -> f64 {
        let p = self.targets.len();
        let (products, targets) = match corrected {
            true => (&self.products, &self.targets),
            false => (&self.measured_products, &self.measured_targets),
        };
        let mut error = self.square;
        for (i, a) in of.iter().zip(coefficients) {
            error -= 2.0 * a * targets[*i];
            for (j, b) in of.iter().zip(coefficients) {
                error += a * b * products[i * p + j];
            }
        }
        error
    }
}

/// Sums of the terms of a law over rows, corrected for errors of the inputs.
#[derive(Clone, Debug)]
pub struct CorrectedSums {
    terms: Vec<Term>,
    nodes: Vec<Nodes>,
    /// The errors of the inputs, for messages.
    noise: Vec<f64>,
    /// Rows of a block.
    block: u64,
    blocks: Vec<Sums>,
    /// For each term: its value at the row, and at each node of each input with errors the factors of that input.
    exact: Vec<f64>,
    values: Vec<Vec<f64>>,
}

/// Coefficients that were corrected.
#[derive(Clone, Debug, PartialEq)]
pub struct CorrectedLaw {
    /// The terms that are left, by their place among those that were summed.
    pub support: Vec<usize>,
    /// Their coefficients, with standard errors.
    pub coefficients: Vec<f64>,
    /// Standard errors.
    pub errors: Vec<f64>,
    /// Mean squared error of the law on the inputs as they were measured.
    pub measured_error: f64,
    /// What is left of it without the errors of the inputs; may be a little below 0.
    pub error: f64,
    /// Standard error of that, by how the blocks differ.
    pub error_deviation: f64,
    /// Mean squared error on blocks that are held out, the coefficients being those of the others; none with few blocks.
    pub held_out_error: Option<f64>,
    /// By how many units of evidence each term is worth its price: the score would grow by this without it.
    pub worth: Vec<f64>,
}

impl CorrectedSums {
    /// Sums of some terms for so many rows, of inputs with errors of these standard deviations. Rows that follow each other in time say less apart: they are kept in blocks of `together` at least.
    pub fn new(terms: Vec<Term>, noise: &[f64], rows: u64, together: u64) -> Result<Self> {
        require(!terms.is_empty(), "terms", "none", "at least one term")?;
        for sigma in noise {
            let ok = sigma.is_finite() && *sigma >= 0.0;
            require(ok, "noise", sigma, "it must be finite and not negative")?;
        }
        let noisy = noise.iter().enumerate().filter(|(_, sigma)| **sigma > 0.0);
        let nodes = noisy.map(|(input, sigma)| Nodes::new(input, *sigma, pairs(&terms, input)));
        let nodes: Vec<Nodes> = nodes.collect();
        let room = nodes.iter().map(|n| vec![0.0; n.moved.len() * terms.len()]);
        Ok(CorrectedSums {
            exact: vec![0.0; terms.len()],
            values: room.collect(),
            block: rows.div_ceil(BLOCKS).max(together).max(1),
            blocks: Vec::new(),
            noise: noise.to_vec(),
            terms,
            nodes,
        })
    }

    /// Adds a row of inputs and its target. An error, if a term has no value so near to a row.
    pub fn push(&mut self, row: &mut [f64], target: f64) -> Result<()> {
        let p = self.terms.len();
        let noisy = |input: usize| self.nodes.iter().any(|n| n.input == input);
        // Factors of inputs without errors, as they are.
        for (exact, term) in self.exact.iter_mut().zip(&self.terms) {
            let factors = term.factors().iter().filter(|f| !noisy(f.input()));
            *exact = factors.map(|f| f.apply(row[f.input()])).product();
        }
        for (nodes, values) in self.nodes.iter().zip(&mut self.values) {
            let own = values.chunks_exact_mut(nodes.moved.len());
            for (term, values) in self.terms.iter().zip(own) {
                for (by, value) in nodes.moved.iter().zip(values) {
                    let x = row[nodes.input] + by;
                    let factors = term.factors().iter().filter(|f| f.input() == nodes.input);
                    *value = factors.map(|f| f.apply(x)).product();
                    if !value.is_finite() {
                        return Err(Error::parameter(
                            "noise of an input",
                            by.abs(),
                            format!(
                                "with errors of this size a term has no value near {}",
                                row[nodes.input]
                            ),
                        ));
                    }
                }
            }
        }
        let full = self.blocks.last().is_none_or(|b| b.rows >= self.block);
        if full {
            self.blocks.push(Sums::new(p));
        }
        let Some(sums) = self.blocks.last_mut() else {
            return Ok(());
        };
        sums.rows += 1;
        sums.square += target * target;
        for i in 0..p {
            let (mut single, mut at) = (self.exact[i], self.exact[i]);
            for (nodes, values) in self.nodes.iter().zip(&self.values) {
                let own = &values[i * nodes.moved.len()..][..nodes.moved.len()];
                single *= own
                    .iter()
                    .zip(&nodes.weights)
                    .map(|(v, c)| v * c)
                    .sum::<f64>();
                at *= own[0];
            }
            sums.targets[i] += single * target;
            sums.measured_targets[i] += at * target;
            for j in 0..=i {
                let (mut product, mut measured) =
                    (self.exact[i] * self.exact[j], self.exact[i] * self.exact[j]);
                for (nodes, values) in self.nodes.iter().zip(&self.values) {
                    let m = nodes.moved.len();
                    let (a, b) = (&values[i * m..][..m], &values[j * m..][..m]);
                    let each = a.iter().zip(b).zip(&nodes.weights);
                    product *= each.map(|((a, b), c)| a * b * c).sum::<f64>();
                    measured *= a[0] * b[0];
                }
                sums.products[i * p + j] += product;
                sums.measured_products[i * p + j] += measured;
                if i != j {
                    sums.products[j * p + i] += product;
                    sums.measured_products[j * p + i] += measured;
                }
            }
        }
        Ok(())
    }

    /// All blocks, or all but those that are held out, or these.
    fn sum(&self, which: impl Fn(usize) -> bool) -> Sums {
        let mut all = Sums::new(self.terms.len());
        let blocks = self.blocks.iter().enumerate();
        blocks
            .filter(|(k, _)| which(*k))
            .for_each(|(_, b)| all.add(b));
        all
    }

    /// The coefficients of some of the terms, picked out of so many; without those that are not worth their price, if that is wanted.
    pub fn law(&self, support: &[usize], choices: usize, dropping: bool) -> Result<CorrectedLaw> {
        let mut support = support.to_vec();
        let all = self.sum(|_| true);
        require(all.rows > 0, "rows", 0, "at least one")?;
        let rows = all.rows as f64;
        loop {
            let k = support.len();
            let solved = Solved::new(&all, &support).ok_or_else(|| self.too_noisy())?;
            let variances = self.variances(&solved, &support);
            let price = rows.ln() + price_of_choice(choices, k)
                - price_of_choice(choices, k.saturating_sub(1));
            let strengths = solved.coefficients.iter().zip(&variances);
            let worth: Vec<f64> = strengths.map(|(c, v)| c * c / v - price).collect();
            let weakest = (0..k).min_by(|a, b| worth[*a].total_cmp(&worth[*b]));
            if let Some(weakest) = weakest.filter(|w| dropping && worth[*w] < 0.0) {
                support.remove(weakest);
                continue;
            }
            let of = |corrected| all.error(&support, &solved.coefficients, corrected) / rows;
            return Ok(CorrectedLaw {
                measured_error: of(false),
                error: of(true),
                error_deviation: self.deviation(&support, &solved.coefficients),
                held_out_error: self.held_out(&support),
                errors: variances.iter().map(|v| v.sqrt()).collect(),
                coefficients: solved.coefficients,
                worth,
                support,
            });
        }
    }

    fn too_noisy(&self) -> Error {
        let all = self.noise.iter().map(ToString::to_string);
        Error::parameter(
            "noise of the inputs",
            all.collect::<Vec<_>>().join(", "),
            "errors of this size are nearly all that tells some terms of the law from the others; take smaller ones, fewer terms, or better data",
        )
    }

    /// Variances of coefficients by how the blocks differ.
    fn variances(&self, solved: &Solved, support: &[usize]) -> Vec<f64> {
        let (p, k) = (self.terms.len(), support.len());
        let mut variances = vec![0.0; k];
        for block in &self.blocks {
            let score = support.iter().map(|i| {
                let said = support.iter().zip(&solved.coefficients);
                let said: f64 = said.map(|(j, c)| block.products[i * p + j] * c).sum();
                block.targets[*i] - said
            });
            let score: Vec<f64> = score.collect();
            for (variance, row) in variances
                .iter_mut()
                .zip(solved.inverse.chunks_exact(k.max(1)))
            {
                let moved: f64 = row.iter().zip(&score).map(|(a, b)| a * b).sum();
                *variance += moved * moved;
            }
        }
        let blocks = self.blocks.len() as f64;
        let share = blocks / (blocks - k as f64);
        let few = blocks <= k as f64;
        let scaled = variances
            .iter()
            .map(|v| if few { f64::INFINITY } else { v * share });
        scaled.collect()
    }

    /// The standard error of the corrected squared error.
    fn deviation(&self, support: &[usize], coefficients: &[f64]) -> f64 {
        let each = |b: &Sums| b.error(support, coefficients, true) / b.rows as f64;
        let errors: Vec<f64> = self.blocks.iter().map(each).collect();
        let n = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / n;
        let squares: f64 = errors.iter().map(|e| (e - mean).powi(2)).sum();
        (squares / (n - 1.0).max(1.0) / n).sqrt()
    }

    fn held_out(&self, support: &[usize]) -> Option<f64> {
        let held = |k: usize| k % EVERY == EVERY / 2;
        let (own, others) = (self.sum(held), self.sum(|k| !held(k)));
        let solved = Solved::new(&others, support)?;
        let error = own.error(support, &solved.coefficients, false);
        (own.rows > 0).then(|| error / own.rows as f64)
    }
}

/// The solution of corrected normal equations.
struct Solved {
    coefficients: Vec<f64>,
    /// Row after row.
    inverse: Vec<f64>,
}

impl Solved {
    /// None if errors are nearly all that tells some terms from the others.
    fn new(sums: &Sums, support: &[usize]) -> Option<Self> {
        let (p, k) = (sums.targets.len(), support.len());
        let of = |all: &[f64]| -> Vec<f64> {
            let rows = support
                .iter()
                .flat_map(|i| support.iter().map(move |j| i * p + j));
            rows.map(|at| all[at]).collect()
        };
        let (own, measured) = (of(&sums.products), of(&sums.measured_products));
        let lower = cholesky(&own, &measured, k)?;
        let solve = |mut b: Vec<f64>| {
            for i in 0..k {
                let done: f64 = (0..i).map(|j| lower[i * k + j] * b[j]).sum();
                b[i] = (b[i] - done) / lower[i * k + i];
            }
            for i in (0..k).rev() {
                let done: f64 = (i + 1..k).map(|j| lower[j * k + i] * b[j]).sum();
                b[i] = (b[i] - done) / lower[i * k + i];
            }
            b
        };
        let inverse = (0..k).flat_map(|i| {
            let mut unit = vec![0.0; k];
            unit[i] = 1.0;
            solve(unit)
        });
        Some(Solved {
            inverse: inverse.collect(),
            coefficients: solve(support.iter().map(|i| sums.targets[*i]).collect()),
        })
    }
}

/// The lower factor of a symmetric matrix, row after row; none if too little of what was measured is left in one of its pivots.
fn cholesky(own: &[f64], measured: &[f64], k: usize) -> Option<Vec<f64>> {
    let factor = |a: &[f64], of: &dyn Fn(usize, f64) -> bool| -> Option<Vec<f64>> {
        let mut lower = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..=i {
                let done: f64 = (0..j).map(|l| lower[i * k + l] * lower[j * k + l]).sum();
                let rest = a[i * k + j] - done;
                lower[i * k + j] = if i == j {
                    // Rounding leaves no more than this.
                    if !of(i, rest) || rest <= 1e-12 * a[i * k + i].abs() {
                        return None;
                    }
                    rest.sqrt()
                } else {
                    rest / lower[j * k + j]
                };
            }
        }
        Some(lower)
    };
    let before = factor(measured, &|_, _| true)?;
    factor(own, &|i, rest| rest > LEAST * before[i * k + i].powi(2))
}
