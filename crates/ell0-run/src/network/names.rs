//! What goes into a network and what comes out of it is called.

use serde::{Deserialize, Serialize};

/// Names of what goes into a network and what comes out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// The inputs.
    pub inputs: Vec<String>,
    /// The targets of a regression, or what the classes are classes of.
    pub targets: Vec<String>,
    /// The classes; none of a regression.
    pub classes: Vec<String>,
}

impl Names {
    /// x0, x1, … and y0, y1, …, or classes 0, 1, …: of what has no names.
    pub(super) fn plain(inputs: usize, targets: usize, classes: usize) -> Self {
        let all = |letter: &str, n: usize| (0..n).map(|k| format!("{letter}{k}")).collect();
        Names {
            inputs: all("x", inputs),
            targets: match classes {
                0 => all("y", targets),
                _ => vec!["class".into()],
            },
            classes: all("", classes),
        }
    }

    /// One name for each number that the network gives.
    #[must_use]
    pub fn outputs(&self) -> Vec<String> {
        match self.classes.is_empty() {
            true => self.targets.clone(),
            false => self.classes.clone(),
        }
    }
}
