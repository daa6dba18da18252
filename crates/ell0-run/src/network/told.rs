//! What is said of a network beside its figures: on which rows it was measured, and what is wrong with it.

use ell0::wording::shown;

use super::{MeasuredOn, Names, NetworkResult, Quality};
use crate::data::counted;

impl MeasuredOn {
    /// The rows, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            MeasuredOn::Test => "rows that nothing was learned from",
            MeasuredOn::Validation => "held-out rows, which also decided what is kept",
            MeasuredOn::Training => "the rows that it learned from: on others it may be worse",
        }
    }
}

impl NetworkResult {
    /// On which rows it was measured, and what became of rows with the same inputs: sentences.
    #[must_use]
    pub fn measured_told(&self) -> Vec<String> {
        let mut told = vec![format!("Measured on {}.", self.measured_on.words())];
        if self.left_out > 0 {
            told.push(format!(
                "Left out: {} to test on with the same inputs as a row to learn from.",
                counted(self.left_out, "row")
            ));
        }
        if self.copies > 0 {
            let apart = match self.measured_on {
                _ if self.categories => {
                    ": the inputs are categories, so that such rows stand on both sides"
                }
                MeasuredOn::Training => "",
                _ => ": such rows stand on one side, and each of them counts",
            };
            told.push(format!(
                "{} with the same inputs as an earlier one{apart}.",
                counted(self.copies, "row")
            ));
        }
        told
    }

    /// What is wrong with it: that it says the same of every row.
    #[must_use]
    pub fn warning(&self, names: &Names) -> Option<String> {
        if !self.same_for_all {
            return None;
        }
        let said = match &self.quality {
            Quality::Classification { confusion, .. } => {
                let is_said = |k: &usize| confusion.iter().any(|counts| counts[*k] > 0);
                let class = (0..confusion.len()).find(is_said)?;
                format!("the class `{}`", shown(names.classes.get(class)?))
            }
            Quality::Regression { .. } => "the same".into(),
        };
        let remedy = match self.inputs_read.is_empty() {
            true => "no input is read any more, and a lower price keeps some",
            false => "it does not tell them apart",
        };
        Some(format!(
            "the network gives {said} for every row that it learned from or was measured on: {remedy}"
        ))
    }
}
