//! Simulation of a model: steps of a map, or an adaptive integrator.

use super::{Dynamics, Model};
use crate::error::{Error, Result, require, require_len};

/// A simulated trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// Time of each row: seconds, or steps of a map.
    pub time: Vec<f64>,
    /// States of each row.
    pub states: Vec<Vec<f64>>,
    /// Why it ended before its time, if it did.
    pub stopped: Option<String>,
}

/// States beyond this have blown up.
const LARGEST: f64 = 1e9;
/// Steps of the integrator, accepted or not, between two rows.
const MOST_STEPS: usize = 100_000;
/// Relative and absolute tolerance of a step.
const TOLERANCE: f64 = 1e-9;

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

    /// The trajectory from an initial state (in the order of the targets) at the given times, or, for a discrete model, at the steps 0, 1, …. `controls` gives the controls
    /// at a time. A trajectory that blows up ends there and says so.
    pub fn simulate(
        &self,
        initial: &[f64],
        times: &[f64],
        controls: impl Fn(f64) -> Vec<f64>,
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
        require_len("controls", controls(times[0]).len(), outside.len())?;
        let mut row = vec![0.0; self.inputs().len()];
        let mut law = |x: &[f64], t: f64| -> Vec<f64> {
            states.iter().zip(x).for_each(|(&k, x)| row[k] = *x);
            outside
                .iter()
                .zip(controls(t))
                .for_each(|(&k, u)| row[k] = u);
            self.expressions()
                .iter()
                .map(|e| e.evaluate_row(&row))
                .collect()
        };
        let mut simulation = Simulation {
            time: vec![times[0]],
            states: vec![initial.to_vec()],
            stopped: None,
        };
        let mut x = initial.to_vec();
        let mut step = f64::INFINITY;
        for pair in times.windows(2) {
            let next = match self.dynamics() {
                Dynamics::Discrete => Ok(law(&x, pair[0])),
                _ => integrate(&mut law, &x, pair[0], pair[1], &mut step),
            };
            let next = next.and_then(|next| match next.iter().all(|v| v.abs() <= LARGEST) {
                true => Ok(next),
                false => Err(format!("the states grew beyond {LARGEST:.0e}")),
            });
            match next {
                Ok(next) => x = next,
                Err(why) => {
                    simulation.stopped = Some(format!("{why} after t = {}", pair[0]));
                    break;
                }
            }
            simulation.time.push(pair[1]);
            simulation.states.push(x.clone());
        }
        Ok(simulation)
    }
}

/// Dormand and Prince's fifth-order method from `start` to `end`; `step` is the last good step, kept from row to row.
fn integrate(
    law: &mut impl FnMut(&[f64], f64) -> Vec<f64>,
    x: &[f64],
    start: f64,
    end: f64,
    step: &mut f64,
) -> std::result::Result<Vec<f64>, String> {
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
    for _ in 0..MOST_STEPS {
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
                error / (TOLERANCE * (1.0 + x[i].abs().max(next[i].abs())))
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
            if x.iter().any(|v| v.abs() > LARGEST) {
                return Err(format!("the states grew beyond {LARGEST:.0e}"));
            }
            if last {
                // A step cut short by the row says nothing of the next; keep the longer one.
                *step = step.min(f64::MAX).max(h * factor).min(end - start);
                return Ok(x);
            }
            t += h;
        }
        h *= factor;
        if h <= 1e-14 * t.abs().max(end - start) {
            return Err("the law changes too fast to be followed (a singularity?)".into());
        }
    }
    Err(format!("{MOST_STEPS} steps were not enough"))
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
                .simulate(&[1.0, 0.0], &grid(end, n), |_| vec![])
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
            .simulate(&[0.0], &grid(1.0, 10), |_| vec![1.0])
            .unwrap();
        assert!((simulation.states[10][0] - (1.0 - (-1f64).exp())).abs() < 1e-8);
        let henon = model(
            &[("x", "1 - 1.4*x^2 + y"), ("y", "0.3*x")],
            &["x", "y"],
            Dynamics::Discrete,
        );
        let simulation = henon
            .simulate(&[0.0, 0.0], &[0.0, 1.0, 2.0], |_| vec![])
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
            .simulate(&[1.0], &grid(2.0, 20), |_| vec![])
            .unwrap();
        assert!(simulation.stopped.is_some() && *simulation.time.last().unwrap() < 1.0);
        let map = model(&[("x", "2*x")], &["x"], Dynamics::Discrete);
        assert!(
            map.simulate(&[1.0], &grid(100.0, 100), |_| vec![])
                .unwrap()
                .stopped
                .unwrap()
                .contains("grew beyond 1e9")
        );
        let undefined = model(&[("x", "log(x) - 2")], &["x"], Dynamics::Continuous);
        assert!(
            undefined
                .simulate(&[1.0], &grid(10.0, 5), |_| vec![])
                .unwrap()
                .stopped
                .is_some()
        );
        let stiff = model(&[("x", "-1e6*x")], &["x"], Dynamics::Continuous);
        let _ = stiff.simulate(&[1.0], &grid(100.0, 2), |_| vec![]).unwrap();
        assert!(explosive.simulate(&[f64::NAN], &[0.0], |_| vec![]).is_err());
        assert!(explosive.simulate(&[1.0, 2.0], &[0.0], |_| vec![]).is_err());
        assert!(explosive.simulate(&[1.0], &[1.0, 0.5], |_| vec![]).is_err());
    }
}
