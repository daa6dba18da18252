//! The sample of rows that evidence carries, for laws of rows that stand by themselves.

use ell0::{equation::Dynamics, features::Features};
use ell0_data::evidence::Evidence;

/// Inputs and targets of rows, column after column.
pub(super) struct SampledRows {
    pub inputs: Vec<Vec<f64>>,
    pub targets: Vec<Vec<f64>>,
    /// Rows that follow each other, by the first one and the one after the last.
    pub runs: Vec<(usize, usize)>,
}

impl SampledRows {
    pub fn of(evidence: &[Evidence]) -> Self {
        let first = &evidence[0];
        let (n, targets) = (first.inputs.len(), first.targets.len());
        let next = first.dynamics == Dynamics::Discrete;
        let (mut x, mut y) = (vec![Vec::new(); n], vec![Vec::new(); targets]);
        let mut runs = Vec::new();
        let pieces = evidence.iter().flat_map(|e| &e.samples);
        for piece in pieces {
            let from = x.first().map_or(0, Vec::len);
            let width = piece.width();
            let rows = piece.rows().saturating_sub(usize::from(next));
            for row in 0..rows {
                let values = &piece.values[row * width..][..width];
                let after = match next {
                    true => &piece.values[(row + 1) * width..][..targets],
                    false => &values[n..],
                };
                x.iter_mut().zip(values).for_each(|(x, v)| x.push(*v));
                y.iter_mut().zip(after).for_each(|(y, v)| y.push(*v));
            }
            runs.push((from, from + rows));
        }
        SampledRows {
            inputs: x,
            targets: y,
            runs,
        }
    }

    pub fn len(&self) -> usize {
        self.inputs.first().map_or(0, Vec::len)
    }

    /// The inputs of a row.
    pub fn row(&self, row: usize) -> Vec<f64> {
        self.inputs.iter().map(|column| column[row]).collect()
    }

    /// What a law leaves of a target in each row.
    pub fn residuals(&self, features: &Features, coefficients: &[f64], target: usize) -> Vec<f64> {
        let terms = features.terms().iter().zip(coefficients);
        let terms: Vec<_> = terms.filter(|(_, c)| **c != 0.0).collect();
        let said = |row: usize| -> f64 {
            let inputs = self.row(row);
            terms.iter().map(|(term, c)| *c * term.apply(&inputs)).sum()
        };
        let measured = self.targets[target].iter().enumerate();
        measured.map(|(row, y)| y - said(row)).collect()
    }
}
