//! Columns that cannot be told apart.

use serde::{Deserialize, Serialize};

use super::{Problem, Statistics, support::Fitted};
use crate::error::Result;

/// What is wrong with the columns of a dictionary on given data, by the names of the terms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// Terms that are zero in every row.
    pub zero: Vec<String>,
    /// Terms, other than the constant 1 itself, that are the same in every row.
    pub constant: Vec<String>,
    /// Terms that are a multiple of an earlier one, with that one.
    pub duplicate: Vec<(String, String)>,
    /// Terms that are a combination of earlier ones, with those.
    pub collinear: Vec<(String, Vec<String>)>,
    /// Number of independent columns.
    pub rank: usize,
}

impl Diagnostics {
    /// Looks at the columns of some statistics.
    pub fn new(statistics: &Statistics) -> Result<Self> {
        let problem = Problem::new(statistics, &[0])?;
        let names = statistics.features();
        let mut found = Diagnostics::default();
        let usable: Vec<usize> = (0..problem.p).filter(|&j| problem.scale[j] > 0.0).collect();
        found.zero = (0..problem.p)
            .filter(|&j| problem.scale[j] == 0.0)
            .map(|j| names[j].clone())
            .collect();
        found.constant = statistics
            .constant()
            .iter()
            .map(|&j| names[j].clone())
            .filter(|n| n != "1" && !found.zero.contains(n))
            .collect();
        // Only the span of earlier columns counts, so the order of the library decides which of two equals stays.
        let fitted = Fitted::new(&problem, &usable);
        found.rank = fitted.len();
        for &j in usable
            .iter()
            .filter(|j| fitted.support.binary_search(j).is_err())
        {
            // The terms of the support are in the library's order: those before this one come first.
            let earlier = fitted.support.partition_point(|&i| i < j);
            let combination = fitted.combination(earlier, j);
            let others: Vec<String> = combination
                .iter()
                .zip(&fitted.support)
                .filter(|(c, _)| c.abs() > 1e-7)
                .map(|(_, &i)| names[i].clone())
                .collect();
            match &others[..] {
                [one] => found.duplicate.push((names[j].clone(), one.clone())),
                _ => found.collinear.push((names[j].clone(), others)),
            }
        }
        Ok(found)
    }

    /// Whether every column can be told from all others.
    pub fn is_clean(&self) -> bool {
        self.zero.is_empty()
            && self.constant.is_empty()
            && self.duplicate.is_empty()
            && self.collinear.is_empty()
    }
}
