//! How the learning rate and the penalty change over the steps of a run.

use serde::{Deserialize, Serialize};

use crate::error::{Result, require};

/// The factor of the learning rate as a function of the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Schedule {
    /// Always 1.
    #[default]
    Constant,
    /// From 1 down to `last` in a straight line over `steps`, then `last`.
    Linear {
        /// Length of the line.
        steps: u64,
        /// Factor at its end.
        last: f64,
    },
    /// From 1 down to `last` along half a cosine over `steps`, then `last`.
    Cosine {
        /// Length of the curve.
        steps: u64,
        /// Factor at its end.
        last: f64,
    },
    /// Multiplied by `factor` after every `every` steps.
    Step {
        /// Steps between two changes.
        every: u64,
        /// The factor.
        factor: f64,
    },
}

impl Schedule {
    pub(crate) fn check(&self) -> Result<()> {
        let unit = "a factor must lie in [0, 1]";
        match *self {
            Schedule::Constant => Ok(()),
            Schedule::Linear { steps, last } | Schedule::Cosine { steps, last } => {
                require(steps > 0, "schedule steps", steps, "at least one step")?;
                require((0.0..=1.0).contains(&last), "schedule last", last, unit)
            }
            Schedule::Step { every, factor } => {
                require(every > 0, "schedule every", every, "at least one step")?;
                require(
                    (0.0..=1.0).contains(&factor),
                    "schedule factor",
                    factor,
                    unit,
                )
            }
        }
    }

    /// The factor at a step, counted from 0.
    pub fn factor(&self, step: u64) -> f64 {
        let progress = |steps: u64| (step as f64 / steps as f64).min(1.0);
        match *self {
            Schedule::Constant => 1.0,
            Schedule::Linear { steps, last } => 1.0 + (last - 1.0) * progress(steps),
            Schedule::Cosine { steps, last } => {
                let wave = 0.5 * (1.0 + (std::f64::consts::PI * progress(steps)).cos());
                last + (1.0 - last) * wave
            }
            Schedule::Step { every, factor } => factor.powf((step / every.max(1)) as f64),
        }
    }
}

/// The factor of λ (and of the prior): 0 for `delay` steps, then up to 1 in a straight line over `ramp` steps.
///
/// Gates that close before the weights have found their values cannot tell which of them are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Warmup {
    /// Steps without penalty.
    pub delay: u64,
    /// Steps from no penalty to the full one.
    pub ramp: u64,
}

impl Warmup {
    /// The factor at a step, counted from 0.
    pub fn factor(&self, step: u64) -> f64 {
        match step.saturating_sub(self.delay) {
            _ if step < self.delay => 0.0,
            since if since < self.ramp => (since as f64 + 1.0) / (self.ramp as f64 + 1.0),
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_start_at_one_and_end_where_they_should() {
        for (schedule, at_end) in [
            (Schedule::Constant, 1.0),
            (
                Schedule::Linear {
                    steps: 10,
                    last: 0.1,
                },
                0.1,
            ),
            (
                Schedule::Cosine {
                    steps: 10,
                    last: 0.1,
                },
                0.1,
            ),
            (
                Schedule::Step {
                    every: 5,
                    factor: 0.5,
                },
                0.25,
            ),
        ] {
            assert_eq!(schedule.factor(0), 1.0);
            assert!((schedule.factor(10) - at_end).abs() < 1e-15);
            assert!((0..20).all(|t| schedule.factor(t + 1) <= schedule.factor(t)));
        }
        assert!(
            (Schedule::Cosine {
                steps: 10,
                last: 0.0
            }
            .factor(5)
                - 0.5)
                .abs()
                < 1e-15
        );
        assert!(
            Schedule::Step {
                every: 0,
                factor: 0.5
            }
            .check()
            .is_err()
        );
        assert!(
            Schedule::Linear {
                steps: 1,
                last: 2.0
            }
            .check()
            .is_err()
        );
    }

    #[test]
    fn warm_up_is_zero_then_a_line_then_one() {
        let warmup = Warmup { delay: 2, ramp: 3 };
        let factors: Vec<f64> = (0..7).map(|t| warmup.factor(t)).collect();
        assert_eq!(factors, [0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0]);
        assert_eq!(Warmup::default().factor(0), 1.0);
    }
}
