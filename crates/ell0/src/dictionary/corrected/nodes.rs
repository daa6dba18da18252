//! Where functions of an input with errors are looked at, so that a weighted sum has the mean of the function at the true input.

use crate::features::{Factor, Term};

/// Nodes stand so many standard deviations of the error apart.
const APART: f64 = 0.5;

/// Pairs of nodes for functions that are no polynomials: terms beyond σ⁶ are left out.
const OF_FUNCTIONS: usize = 3;

/// Pairs of nodes, at most: with more the weights lose all digits.
const MOST: usize = 10;

/// Where an input is looked at, with the weights of each.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    pub input: usize,
    /// By how much the input is moved.
    pub moved: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Nodes {
    /// Nodes with the moments of an imaginary normal variable, E(ie)²ᵏ = (−1)ᵏ(2k − 1)!!, up to the order 2·pairs + 1.
    pub fn new(input: usize, noise: f64, pairs: usize) -> Self {
        // Σ_q c_q s_q^{2k} by Lagrange: the weight of a node is its basis polynomial in s², applied to the moments.
        let squares: Vec<f64> = (0..=pairs).map(|q| (APART * q as f64).powi(2)).collect();
        let mut moments = vec![1.0];
        for k in 1..=pairs {
            moments.push(-moments[k - 1] * (2 * k - 1) as f64);
        }
        let weight = |q: usize| {
            let mut basis = vec![1.0];
            for (_, square) in squares.iter().enumerate().filter(|(other, _)| *other != q) {
                let by = squares[q] - square;
                // Times (s² − square) / by.
                let mut next = vec![0.0; basis.len() + 1];
                for (k, c) in basis.iter().enumerate() {
                    next[k + 1] += c / by;
                    next[k] -= c * square / by;
                }
                basis = next;
            }
            basis.iter().zip(&moments).map(|(c, m)| c * m).sum::<f64>()
        };
        let (mut moved, mut weights) = (vec![0.0], vec![weight(0)]);
        for q in 1..=pairs {
            let by = APART * q as f64 * noise;
            moved.extend([by, -by]);
            weights.extend([weight(q) / 2.0; 2]);
        }
        Nodes {
            input,
            moved,
            weights,
        }
    }
}

/// Pairs of nodes that an input needs, so that products of two terms are exact where they are polynomials.
pub(super) fn pairs(terms: &[Term], input: usize) -> usize {
    let own = |term: &Term| {
        let factors = term.factors().iter().filter(|f| f.input() == input);
        let (mut degree, mut other) = (0, false);
        for factor in factors {
            match factor {
                Factor::Power { exponent, .. } if *exponent > 0 => {
                    degree += *exponent as usize;
                }
                _ => other = true,
            }
        }
        (degree, other)
    };
    let degree = terms.iter().map(|t| own(t).0).max().unwrap_or(0);
    let functions = terms.iter().any(|t| own(t).1);
    (degree + OF_FUNCTIONS * usize::from(functions)).min(MOST)
}
