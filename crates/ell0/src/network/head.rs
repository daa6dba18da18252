//! What stands behind the last layer of a network.

use serde::{Deserialize, Serialize};

use crate::error::{Result, require};

/// What an output of a network goes through behind the last layer, one for each output: a bound, or a unit.
///
/// ```
/// use ell0::network::Head;
/// let torque = Head::Tanh { centre: 0.0, half: 2.0 };
/// assert_eq!(torque.apply(100.0), 2.0);
/// assert_eq!(Head::Scaled(0.5).apply(3.0), 1.5);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Head {
    /// y.
    #[default]
    Identity,
    /// centre + half·tanh y: within (centre − half, centre + half).
    Tanh {
        /// The middle of the range.
        centre: f32,
        /// Half its width.
        half: f32,
    },
    /// y times this.
    Scaled(f32),
}

impl Head {
    /// Checks that its numbers are finite.
    pub fn check(&self) -> Result<()> {
        let numbers = match *self {
            Head::Identity => [0.0, 0.0],
            Head::Tanh { centre, half } => [centre, half],
            Head::Scaled(factor) => [factor, 0.0],
        };
        for value in numbers {
            require(
                value.is_finite(),
                "head of a network",
                value,
                "centre, half and factor must be finite",
            )?;
        }
        Ok(())
    }

    /// What becomes of an output.
    #[must_use]
    pub fn apply(self, y: f32) -> f32 {
        match self {
            Head::Identity => y,
            // Where there is nothing to add, nothing is added: −0 stays what it is.
            Head::Tanh { centre: 0.0, half } => half * y.tanh(),
            Head::Tanh { centre, half } => centre + half * y.tanh(),
            Head::Scaled(factor) => factor * y,
        }
    }

    /// The same in double precision.
    #[must_use]
    pub fn apply_double(self, y: f64) -> f64 {
        match self {
            Head::Identity => y,
            Head::Tanh { centre: 0.0, half } => f64::from(half) * y.tanh(),
            Head::Tanh { centre, half } => f64::from(centre) + f64::from(half) * y.tanh(),
            Head::Scaled(factor) => f64::from(factor) * y,
        }
    }

    /// The slope of [`Head::apply`] at an output.
    #[must_use]
    pub fn slope(self, y: f32) -> f32 {
        match self {
            Head::Identity => 1.0,
            Head::Tanh { half, .. } => {
                let t = y.tanh();
                half * (1.0 - t * t)
            }
            Head::Scaled(factor) => factor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADS: [Head; 4] = [
        Head::Identity,
        Head::Tanh {
            centre: 0.0,
            half: 2.5,
        },
        Head::Tanh {
            centre: -1.0,
            half: 0.5,
        },
        Head::Scaled(-3.0),
    ];

    #[test]
    fn single_and_double_precision_and_slopes_agree() {
        for head in HEADS {
            for y in [-2.0, -0.3, 0.0, 0.7, 4.0] {
                let exact = head.apply_double(f64::from(y));
                assert!((f64::from(head.apply(y)) - exact).abs() < 1e-6, "{head:?}");
                let h = 1e-6;
                let [a, b] = [-h, h].map(|h| head.apply_double(f64::from(y) + h));
                let slope = (b - a) / (2.0 * h);
                assert!((f64::from(head.slope(y)) - slope).abs() < 1e-5, "{head:?}");
            }
        }
        let [_, around_zero, ..] = HEADS;
        assert!(around_zero.apply(-0.0).is_sign_negative());
    }

    #[test]
    fn heads_are_saved_and_checked() {
        let json = serde_json::to_string(&HEADS).unwrap();
        assert_eq!(
            json,
            r#"["identity",{"tanh":{"centre":0.0,"half":2.5}},{"tanh":{"centre":-1.0,"half":0.5}},{"scaled":-3.0}]"#
        );
        assert_eq!(serde_json::from_str::<[Head; 4]>(&json).unwrap(), HEADS);
        assert!(HEADS.iter().all(|head| head.check().is_ok()));
        assert!(Head::Scaled(f32::NAN).check().is_err());
        let endless = Head::Tanh {
            centre: 0.0,
            half: f32::INFINITY,
        };
        assert!(endless.check().unwrap_err().to_string().contains("inf"));
    }
}
