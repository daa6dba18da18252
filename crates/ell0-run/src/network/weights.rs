//! How much the rows of each class count.

use std::{fmt, str::FromStr};

use ell0::wording::{listed, shown};

use crate::error::{Error, Result};

/// How much the rows of each class count in training.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ClassWeights {
    /// Every row the same.
    #[default]
    Equal,
    /// Every class the same: the rows of rare ones count more.
    Balanced,
    /// As named; classes that are not named count 1.
    Named(Vec<(String, f64)>),
}

impl ClassWeights {
    /// The weight of a row of each class, with a mean of 1 over all rows; none if all are the same.
    pub(super) fn of(&self, classes: &[String], rows: &[usize]) -> Result<Option<Vec<f64>>> {
        let raw: Vec<f64> = match self {
            ClassWeights::Equal => return Ok(None),
            ClassWeights::Balanced => rows.iter().map(|n| 1.0 / (*n).max(1) as f64).collect(),
            ClassWeights::Named(named) => {
                let unknown = named.iter().find(|(name, _)| !classes.contains(name));
                if let Some((name, _)) = unknown {
                    return Err(Error::Unknown {
                        kind: "class",
                        name: name.clone(),
                        known: listed(classes),
                    });
                }
                let weight = |class: &String| {
                    let own = named.iter().find(|(name, _)| name == class);
                    own.map_or(1.0, |(_, weight)| *weight)
                };
                classes.iter().map(weight).collect()
            }
        };
        let all: f64 = raw.iter().zip(rows).map(|(w, n)| w * *n as f64).sum();
        let mean = all / rows.iter().sum::<usize>().max(1) as f64;
        if mean <= 0.0 {
            let expected = "some class of the rows must count";
            return Err(Error::setting("class-weights", self, expected));
        }
        Ok(Some(raw.iter().map(|w| w / mean).collect()))
    }
}

impl fmt::Display for ClassWeights {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ClassWeights::Equal => f.write_str("equal"),
            ClassWeights::Balanced => f.write_str("balanced"),
            ClassWeights::Named(named) => {
                let each: Vec<String> = named.iter().map(|(n, w)| format!("{n}={w}")).collect();
                f.write_str(&each.join(","))
            }
        }
    }
}

impl FromStr for ClassWeights {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |piece: &str| {
            let expected = || {
                format!(
                    "`{}`: expected equal, balanced, or weights such as spam=5,ham=1",
                    shown(piece)
                )
            };
            let (name, weight) = piece.rsplit_once('=').ok_or_else(expected)?;
            let weight: f64 = weight.trim().parse().map_err(|_| expected())?;
            if !(weight >= 0.0 && weight.is_finite()) {
                return Err(format!(
                    "`{}`: a weight is finite and not negative",
                    shown(piece)
                ));
            }
            Ok((name.trim().to_string(), weight))
        };
        match text.trim() {
            "equal" => Ok(ClassWeights::Equal),
            "balanced" => Ok(ClassWeights::Balanced),
            text => Ok(ClassWeights::Named(
                text.split(',').map(one).collect::<Result<_, _>>()?,
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_have_a_mean_of_one() {
        let classes = ["a".to_string(), "b".to_string()];
        let rows = [30, 10];
        let weights = |text: &str| {
            let weights: ClassWeights = text.parse().expect("weights");
            assert_eq!(weights.to_string(), text);
            weights.of(&classes, &rows)
        };
        assert_eq!(weights("equal").expect("none"), None);
        let balanced = weights("balanced").expect("weights").expect("some");
        assert!((balanced[1] / balanced[0] - 3.0).abs() < 1e-12);
        assert!((30.0 * balanced[0] + 10.0 * balanced[1] - 40.0).abs() < 1e-12);
        let named = weights("b=5").expect("weights").expect("some");
        assert!((named[1] / named[0] - 5.0).abs() < 1e-12);
        let said = weights("c=5").expect_err("unknown").to_string();
        assert!(said.contains("no class `c`"), "{said}");
        assert!(weights("a=0,b=0").is_err());
        assert!("a=-1".parse::<ClassWeights>().is_err());
        assert!("heavy".parse::<ClassWeights>().is_err());
    }
}
