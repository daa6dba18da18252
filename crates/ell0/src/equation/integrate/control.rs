//! How long steps are: equal, or as long as the error allows.

use super::{Embedded, Method};

/// Equal steps from `start` to `end`; the state `x` is replaced by the one at the end.
pub fn fixed(
    method: &mut impl Method,
    law: &mut impl FnMut(&[f64], f64, &mut [f64]),
    x: &mut [f64],
    start: f64,
    end: f64,
    steps: usize,
) {
    let mut next = x.to_vec();
    let h = (end - start) / steps as f64;
    for step in 0..steps {
        method.step(law, x, start + step as f64 * h, h, &mut next);
        x.copy_from_slice(&next);
    }
}

/// Why a law could not be followed to the end.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Stopped {
    /// A state grew beyond all bounds.
    #[error("the states grew beyond {bound:.0e}")]
    Unbounded {
        /// The bound.
        bound: f64,
    },
    /// No step was short enough.
    #[error("the law changes too fast to be followed (a singularity?)")]
    TooFast,
    /// The steps did not lead to the end.
    #[error("{steps} steps were not enough")]
    TooSlow {
        /// Steps that were taken, accepted or not.
        steps: usize,
    },
}

/// What a step may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// Relative and absolute tolerance of a step.
    pub tolerance: f64,
    /// States beyond this have blown up.
    pub largest: f64,
    /// Steps, accepted or not, of one call.
    pub most_steps: usize,
}

impl Default for Control {
    fn default() -> Self {
        Control {
            tolerance: 1e-9,
            largest: 1e9,
            most_steps: 100_000,
        }
    }
}

/// Steps as long as the error allows.
#[derive(Clone, Debug)]
pub struct Adaptive<M> {
    method: M,
    control: Control,
    /// The last good step, kept from call to call.
    step: f64,
    next: Vec<f64>,
}

impl<M: Embedded> Adaptive<M> {
    /// With the usual control.
    #[must_use]
    pub fn new(method: M) -> Self {
        Adaptive::with_control(method, Control::default())
    }

    /// With a control of one's own.
    #[must_use]
    pub fn with_control(method: M, control: Control) -> Self {
        Adaptive {
            next: vec![0.0; method.error().len()],
            method,
            control,
            step: f64::INFINITY,
        }
    }

    /// Follows a law from `start` to `end`; the state `x` is replaced by the one at the end, or by the last good one if it cannot be reached.
    pub fn advance(
        &mut self,
        law: &mut impl FnMut(&[f64], f64, &mut [f64]),
        x: &mut [f64],
        start: f64,
        end: f64,
    ) -> Result<(), Stopped> {
        let Control {
            tolerance,
            largest,
            most_steps,
        } = self.control;
        let mut t = start;
        let mut h = self.step.min(end - start);
        for _ in 0..most_steps {
            let last = t + h >= end;
            if last {
                h = end - t;
            }
            self.method.step(law, x, t, h, &mut self.next);
            let errors = self.method.error().iter().zip(&*x).zip(&self.next);
            let error = errors
                .map(|((error, x), next)| error / (tolerance * (1.0 + x.abs().max(next.abs()))))
                .fold(0.0, |worst: f64, e| {
                    if e.is_nan() {
                        f64::INFINITY
                    } else {
                        worst.max(e.abs())
                    }
                });
            let factor = (0.9 * error.max(1e-10).powf(-1.0 / M::ORDER)).clamp(0.2, 5.0);
            if error <= 1.0 {
                x.copy_from_slice(&self.next);
                if x.iter().any(|v| v.abs() > largest) {
                    return Err(Stopped::Unbounded { bound: largest });
                }
                if last {
                    // A step cut short by the row says nothing of the next; keep the longer one.
                    self.step = self.step.min(f64::MAX).max(h * factor).min(end - start);
                    return Ok(());
                }
                t += h;
            }
            h *= factor;
            if h <= 1e-14 * t.abs().max(end - start) {
                return Err(Stopped::TooFast);
            }
        }
        Err(Stopped::TooSlow { steps: most_steps })
    }
}
