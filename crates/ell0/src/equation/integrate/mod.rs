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

mod control;
mod methods;

pub use control::{Adaptive, Control, Stopped, fixed};
pub use methods::{DormandPrince, Embedded, Method, RungeKutta4};

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
