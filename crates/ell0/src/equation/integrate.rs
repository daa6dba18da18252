//! Laws followed through time: methods that take one step, and the control of their length.
//!
//! A law is anything that writes the rates of change of a state at a time: `FnMut(&[f64], f64, &mut [f64])`. A [`Method`] takes a step of a given length; one that also knows how far
//! off it may be is [`Embedded`]. [`Adaptive`] chooses the steps of such a method, [`fixed`] takes equal ones. All of them make their room once and allocate nothing after that.
//!
//! ```
//! use ell0::equation::integrate::{Adaptive, DormandPrince, RungeKutta4, fixed};
//! let mut decay = |x: &[f64], _: f64, rate: &mut [f64]| rate[0] = -x[0];
//! let mut x = [1.0];
//! Adaptive::new(DormandPrince::new(1)).advance(&mut decay, &mut x, 0.0, 1.0)?;
//! assert!((x[0] - (-1f64).exp()).abs() < 1e-9);
//! let mut x = [1.0];
//! fixed(&mut RungeKutta4::new(1), &mut decay, &mut x, 0.0, 1.0, 100);
//! assert!((x[0] - (-1f64).exp()).abs() < 1e-9);
//! # Ok::<(), ell0::equation::integrate::Stopped>(())
//! ```

/// A way to take one step of a law.
pub trait Method {
    /// The state after a step of length `h` from the state `x` at time `t`, into `next`.
    fn step(
        &mut self,
        law: &mut impl FnMut(&[f64], f64, &mut [f64]),
        x: &[f64],
        t: f64,
        h: f64,
        next: &mut [f64],
    );
}

/// A method that estimates the error of its last step.
pub trait Embedded: Method {
    /// The order in which the error of a step falls with its length.
    const ORDER: f64;

    /// The estimated error of each state in the last step.
    fn error(&self) -> &[f64];
}

/// Dormand and Prince's fifth-order method, with an error of fourth order.
#[derive(Clone, Debug)]
pub struct DormandPrince {
    /// The rates of the seven stages, one after the other.
    stages: Vec<f64>,
    at: Vec<f64>,
    error: Vec<f64>,
}

const NODES: [f64; 7] = [0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];
const STAGES: [&[f64]; 7] = [
    &[],
    &[0.2],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[
        19372.0 / 6561.0,
        -25360.0 / 2187.0,
        64448.0 / 6561.0,
        -212.0 / 729.0,
    ],
    &[
        9017.0 / 3168.0,
        -355.0 / 33.0,
        46732.0 / 5247.0,
        49.0 / 176.0,
        -5103.0 / 18656.0,
    ],
    &[
        35.0 / 384.0,
        0.0,
        500.0 / 1113.0,
        125.0 / 192.0,
        -2187.0 / 6784.0,
        11.0 / 84.0,
    ],
];
/// Fifth-order minus fourth-order weights: the error of a step.
const ERROR: [f64; 7] = [
    71.0 / 57600.0,
    0.0,
    -71.0 / 16695.0,
    71.0 / 1920.0,
    -17253.0 / 339_200.0,
    22.0 / 525.0,
    -1.0 / 40.0,
];

impl DormandPrince {
    /// Room for so many states.
    #[must_use]
    pub fn new(states: usize) -> Self {
        DormandPrince {
            stages: vec![0.0; 7 * states],
            at: vec![0.0; states],
            error: vec![0.0; states],
        }
    }
}

/// Σ weight · rate of state `i` over the stages so far.
fn combined(weights: &[f64], stages: &[f64], states: usize, i: usize) -> f64 {
    let rates = stages.chunks_exact(states);
    weights.iter().zip(rates).map(|(w, k)| w * k[i]).sum()
}

impl Method for DormandPrince {
    fn step(
        &mut self,
        law: &mut impl FnMut(&[f64], f64, &mut [f64]),
        x: &[f64],
        t: f64,
        h: f64,
        next: &mut [f64],
    ) {
        let n = x.len();
        for (stage, (node, weights)) in NODES.iter().zip(STAGES).enumerate() {
            let (done, rest) = self.stages.split_at_mut(stage * n);
            for i in 0..n {
                self.at[i] = x[i] + h * combined(weights, done, n, i);
            }
            law(&self.at, t + node * h, &mut rest[..n]);
        }
        // The last stage stands at the end of the step.
        next.copy_from_slice(&self.at);
        for (i, error) in self.error.iter_mut().enumerate() {
            *error = h * combined(&ERROR, &self.stages, n, i);
        }
    }
}

impl Embedded for DormandPrince {
    const ORDER: f64 = 5.0;

    fn error(&self) -> &[f64] {
        &self.error
    }
}

/// Runge and Kutta's classical fourth-order method.
#[derive(Clone, Debug)]
pub struct RungeKutta4 {
    /// The rates of the four stages, one after the other.
    stages: Vec<f64>,
    at: Vec<f64>,
}

impl RungeKutta4 {
    /// Room for so many states.
    #[must_use]
    pub fn new(states: usize) -> Self {
        RungeKutta4 {
            stages: vec![0.0; 4 * states],
            at: vec![0.0; states],
        }
    }
}

impl Method for RungeKutta4 {
    fn step(
        &mut self,
        law: &mut impl FnMut(&[f64], f64, &mut [f64]),
        x: &[f64],
        t: f64,
        h: f64,
        next: &mut [f64],
    ) {
        let n = x.len();
        for (stage, share) in [0.0, 0.5, 0.5, 1.0].into_iter().enumerate() {
            let (done, rest) = self.stages.split_at_mut(stage * n);
            let ahead = share * h;
            match stage {
                0 => self.at.copy_from_slice(x),
                _ => {
                    let rates = &done[(stage - 1) * n..];
                    for ((at, x), k) in self.at.iter_mut().zip(x).zip(rates) {
                        *at = x + ahead * k;
                    }
                }
            }
            law(&self.at, t + ahead, &mut rest[..n]);
        }
        let k = |stage: usize, i: usize| self.stages[stage * n + i];
        for (i, next) in next.iter_mut().enumerate() {
            *next = x[i] + h / 6.0 * (k(0, i) + 2.0 * k(1, i) + 2.0 * k(2, i) + k(3, i));
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// x' = (v, −x − v/10 + cos t): nothing special.
    fn driven(x: &[f64], t: f64, rate: &mut [f64]) {
        rate[0] = x[1];
        rate[1] = -x[0] - 0.1 * x[1] + t.cos();
    }

    /// Halving the step divides the error of each method by two to its order.
    #[test]
    fn the_methods_have_their_order() {
        let errors = |method: &mut dyn FnMut(usize) -> [f64; 2]| {
            let exact = {
                let mut x = [1.0, 0.5];
                fixed(
                    &mut DormandPrince::new(2),
                    &mut driven,
                    &mut x,
                    0.0,
                    3.0,
                    4000,
                );
                x
            };
            [20, 40].map(|steps| {
                let x = method(steps);
                (x[0] - exact[0]).hypot(x[1] - exact[1])
            })
        };
        let run = |method: &mut dyn FnMut(&mut [f64; 2], usize), steps: usize| {
            let mut x = [1.0, 0.5];
            method(&mut x, steps);
            x
        };
        let [a, b] = errors(&mut |steps| {
            run(
                &mut |x, steps| fixed(&mut RungeKutta4::new(2), &mut driven, x, 0.0, 3.0, steps),
                steps,
            )
        });
        assert!((12.0..20.0).contains(&(a / b)), "{a:e} {b:e}");
        let [a, b] = errors(&mut |steps| {
            run(
                &mut |x, steps| fixed(&mut DormandPrince::new(2), &mut driven, x, 0.0, 3.0, steps),
                steps,
            )
        });
        assert!((24.0..42.0).contains(&(a / b)), "{a:e} {b:e}");
    }

    /// The estimate of the error is what it is called: the distance to the fourth-order solution, which falls with the fifth power of the step.
    #[test]
    fn the_estimated_error_is_of_fourth_order() {
        let mut method = DormandPrince::new(2);
        let mut next = [0.0; 2];
        let mut estimate = |h: f64| {
            method.step(&mut driven, &[1.0, 0.5], 0.3, h, &mut next);
            method.error()[0].hypot(method.error()[1])
        };
        let ratio = estimate(0.1) / estimate(0.05);
        assert!((24.0..42.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_cannot_be_followed_says_why() {
        let run = |law: fn(f64) -> f64, control: Control| {
            let mut law = |x: &[f64], _: f64, rate: &mut [f64]| rate[0] = law(x[0]);
            Adaptive::with_control(DormandPrince::new(1), control).advance(
                &mut law,
                &mut [1.0],
                0.0,
                2.0,
            )
        };
        let usual = Control::default();
        assert_eq!(
            run(|x| 20.0 * x, usual),
            Err(Stopped::Unbounded { bound: 1e9 })
        );
        assert_eq!(run(|x| (-x).sqrt(), usual), Err(Stopped::TooFast));
        let few = Control {
            most_steps: 3,
            ..usual
        };
        assert_eq!(run(|x| -x, few), Err(Stopped::TooSlow { steps: 3 }));
        assert_eq!(run(|x| -x, usual), Ok(()));
    }
}
