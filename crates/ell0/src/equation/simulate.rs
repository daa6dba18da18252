//! Simulation of a model: steps of a map, or an adaptive integrator.

use std::fmt;

use super::{
    Dynamics, Model,
    integrate::{Adaptive, Control, DormandPrince, Stopped},
};
use crate::error::{Error, Result, require, require_len};

/// A simulated trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// Time of each row: seconds, or steps of a map.
    pub time: Vec<f64>,
    /// States of each row.
    pub states: Vec<Vec<f64>>,
    /// Why it ended before its time, if it did.
    pub stopped: Option<Stop>,
}

/// Why and where a trajectory ended before its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Why.
    pub reason: Stopped,
    /// The last time that was reached.
    pub after: f64,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} after t = {}", self.reason, self.after)
    }
}

impl Model {
    /// Where each state stands among the inputs; all other inputs are controls.
    fn state_places(&self) -> Result<(Vec<usize>, Vec<usize>)> {
        let place = |target: &str| {
            let found = self.inputs().iter().position(|input| input == target);
            found.ok_or_else(|| {
                Error::parameter(
                    "target",
                    target,
                    "to simulate, every target must be one of the inputs",
                )
            })
        };
        let states = self.targets().map(place).collect::<Result<Vec<_>>>()?;
        let controls = (0..self.inputs().len())
            .filter(|k| !states.contains(k))
            .collect();
        Ok((states, controls))
    }

    /// Names of the inputs that are no states: what a simulation needs from outside.
    pub fn controls(&self) -> Result<Vec<String>> {
        Ok(self
            .state_places()?
            .1
            .iter()
            .map(|&k| self.inputs()[k].clone())
            .collect())
    }

    /// The trajectory from an initial state (in the order of the targets) at the given times, or, for a discrete model, at the steps 0, 1, …. `controls` writes the controls
    /// at a time, in the order of [`Model::controls`]. A trajectory that blows up ends there and says so.
    pub fn simulate(
        &self,
        initial: &[f64],
        times: &[f64],
        mut controls: impl FnMut(f64, &mut [f64]),
    ) -> Result<Simulation> {
        let (states, outside) = self.state_places()?;
        require_len("initial states", initial.len(), states.len())?;
        require(
            initial.iter().all(|x| x.is_finite()),
            "initial state",
            format!("{initial:?}"),
            "all states must be finite",
        )?;
        require(!times.is_empty(), "times", "none", "at least one row")?;
        for pair in times.windows(2) {
            require(pair[0] < pair[1], "time", pair[1], "times must increase")?;
        }
        require(
            self.dynamics() != Dynamics::Regression,
            "dynamics",
            "regression",
            "only a law of states can be simulated",
        )?;
        let mut row = vec![0.0; self.inputs().len()];
        let mut forces = vec![0.0; outside.len()];
        let mut law = |x: &[f64], t: f64, out: &mut [f64]| {
            states.iter().zip(x).for_each(|(&k, x)| row[k] = *x);
            controls(t, &mut forces);
            outside.iter().zip(&forces).for_each(|(&k, u)| row[k] = *u);
            for (out, expression) in out.iter_mut().zip(self.expressions()) {
                *out = expression.evaluate_row(&row);
            }
        };
        let mut simulation = Simulation {
            time: vec![times[0]],
            states: vec![initial.to_vec()],
            stopped: None,
        };
        let bound = Control::default().largest;
        let mut integrator = Adaptive::new(DormandPrince::new(initial.len()));
        let (mut x, mut next) = (initial.to_vec(), initial.to_vec());
        for pair in times.windows(2) {
            let done = match self.dynamics() {
                Dynamics::Discrete => {
                    law(&x, pair[0], &mut next);
                    Ok(())
                }
                _ => integrator.advance(&mut law, &mut next, pair[0], pair[1]),
            };
            // Also what is no number has left every bound.
            let done = done.and_then(|()| match next.iter().all(|v| v.abs() <= bound) {
                true => Ok(()),
                false => Err(Stopped::Unbounded { bound }),
            });
            if let Err(reason) = done {
                let after = pair[0];
                simulation.stopped = Some(Stop { reason, after });
                break;
            }
            x.copy_from_slice(&next);
            simulation.time.push(pair[1]);
            simulation.states.push(x.clone());
        }
        Ok(simulation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equation::Expression;

    fn model(laws: &[(&str, &str)], inputs: &[&str], dynamics: Dynamics) -> Model {
        let inputs: Vec<String> = inputs.iter().map(|s| s.to_string()).collect();
        let equations = laws
            .iter()
            .map(|(t, e)| (t.to_string(), Expression::parse(e, &inputs).unwrap()))
            .collect();
        Model::new(inputs, equations, dynamics).unwrap()
    }

    fn grid(end: f64, n: usize) -> Vec<f64> {
        (0..=n).map(|i| end * i as f64 / n as f64).collect()
    }

    #[test]
    fn an_oscillator_comes_back() {
        let model = model(
            &[("x", "v"), ("v", "-x")],
            &["x", "v"],
            Dynamics::Continuous,
        );
        for n in [1, 7, 1000] {
            let end = 20.0 * std::f64::consts::PI;
            let simulation = model
                .simulate(&[1.0, 0.0], &grid(end, n), |_, _| {})
                .unwrap();
            let last = simulation.states.last().unwrap();
            assert!(
                simulation.stopped.is_none()
                    && (last[0] - 1.0).abs() < 1e-6
                    && last[1].abs() < 1e-6,
                "{last:?}"
            );
        }
    }

    #[test]
    fn controls_act_and_maps_step() {
        let forced = model(&[("x", "u - x")], &["x", "u"], Dynamics::Continuous);
        assert_eq!(forced.controls().unwrap(), ["u"]);
        let simulation = forced
            .simulate(&[0.0], &grid(1.0, 10), |_, u| u[0] = 1.0)
            .unwrap();
        assert!((simulation.states[10][0] - (1.0 - (-1f64).exp())).abs() < 1e-8);
        let henon = model(
            &[("x", "1 - 1.4*x^2 + y"), ("y", "0.3*x")],
            &["x", "y"],
            Dynamics::Discrete,
        );
        let simulation = henon
            .simulate(&[0.0, 0.0], &[0.0, 1.0, 2.0], |_, _| {})
            .unwrap();
        assert_eq!(
            simulation.states,
            [vec![0.0, 0.0], vec![1.0, 0.0], vec![1.0 - 1.4, 0.3]]
        );
    }

    #[test]
    fn what_blows_up_says_so_and_never_hangs() {
        let explosive = model(&[("x", "x^2")], &["x"], Dynamics::Continuous);
        let simulation = explosive
            .simulate(&[1.0], &grid(2.0, 20), |_, _| {})
            .unwrap();
        assert!(simulation.stopped.is_some() && *simulation.time.last().unwrap() < 1.0);
        let map = model(&[("x", "2*x")], &["x"], Dynamics::Discrete);
        assert!(
            map.simulate(&[1.0], &grid(100.0, 100), |_, _| {})
                .unwrap()
                .stopped
                .unwrap()
                .to_string()
                .contains("grew beyond 1e9")
        );
        let undefined = model(&[("x", "log(x) - 2")], &["x"], Dynamics::Continuous);
        assert!(
            undefined
                .simulate(&[1.0], &grid(10.0, 5), |_, _| {})
                .unwrap()
                .stopped
                .is_some()
        );
        let stiff = model(&[("x", "-1e6*x")], &["x"], Dynamics::Continuous);
        let _ = stiff.simulate(&[1.0], &grid(100.0, 2), |_, _| {}).unwrap();
        assert!(explosive.simulate(&[f64::NAN], &[0.0], |_, _| {}).is_err());
        assert!(explosive.simulate(&[1.0, 2.0], &[0.0], |_, _| {}).is_err());
        assert!(explosive.simulate(&[1.0], &[1.0, 0.5], |_, _| {}).is_err());
    }

    /// The room that is made once changes no bit.
    #[test]
    fn trajectories_are_those_of_the_plain_method() {
        let lorenz = model(
            &[
                ("x", "10*(y - x)"),
                ("y", "x*(28 - z) - y + u"),
                ("z", "x*y - 8/3*z"),
            ],
            &["x", "u", "y", "z"],
            Dynamics::Continuous,
        );
        let times = grid(3.0, 40);
        let force = |t: f64| (3.0 * t).sin();
        let simulation = lorenz
            .simulate(&[1.0, 2.0, 20.0], &times, |t, u| u[0] = force(t))
            .unwrap();
        let mut law = |x: &[f64], t: f64| -> Vec<f64> {
            let row = [x[0], force(t), x[1], x[2]];
            lorenz.expressions().map(|e| e.evaluate_row(&row)).collect()
        };
        let (mut x, mut step) = (vec![1.0, 2.0, 20.0], f64::INFINITY);
        for (k, pair) in times.windows(2).enumerate() {
            x = plainly(&mut law, &x, pair[0], pair[1], &mut step).unwrap();
            let bits = |x: &[f64]| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&x), bits(&simulation.states[k + 1]), "row {k}");
        }
    }

    /// The integrator as one would write it down, with a new list for everything.
    fn plainly(
        law: &mut impl FnMut(&[f64], f64) -> Vec<f64>,
        x: &[f64],
        start: f64,
        end: f64,
        step: &mut f64,
    ) -> Option<Vec<f64>> {
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
        let mut x = x.to_vec();
        let mut t = start;
        let mut h = step.min(end - start);
        for _ in 0..100_000 {
            let last = t + h >= end;
            if last {
                h = end - t;
            }
            let mut k: Vec<Vec<f64>> = Vec::with_capacity(7);
            for (node, weights) in NODES.iter().zip(STAGES) {
                let at: Vec<f64> = (0..x.len())
                    .map(|i| x[i] + h * weights.iter().zip(&k).map(|(w, k)| w * k[i]).sum::<f64>())
                    .collect();
                k.push(law(&at, t + node * h));
            }
            let next: Vec<f64> = (0..x.len())
                .map(|i| x[i] + h * STAGES[6].iter().zip(&k).map(|(w, k)| w * k[i]).sum::<f64>())
                .collect();
            let error = (0..x.len())
                .map(|i| {
                    let error = h * ERROR.iter().zip(&k).map(|(e, k)| e * k[i]).sum::<f64>();
                    error / (1e-9 * (1.0 + x[i].abs().max(next[i].abs())))
                })
                .fold(0.0, |worst: f64, e| {
                    if e.is_nan() {
                        f64::INFINITY
                    } else {
                        worst.max(e.abs())
                    }
                });
            let factor = (0.9 * error.max(1e-10).powf(-0.2)).clamp(0.2, 5.0);
            if error <= 1.0 {
                x = next;
                if x.iter().any(|v| v.abs() > 1e9) {
                    return None;
                }
                if last {
                    // A step cut short by the row says nothing of the next; keep the longer one.
                    *step = step.min(f64::MAX).max(h * factor).min(end - start);
                    return Some(x);
                }
                t += h;
            }
            h *= factor;
            if h <= 1e-14 * t.abs().max(end - start) {
                return None;
            }
        }
        None
    }
}
