//! A world of many states with a law in its loop.

use std::sync::Arc;

use ell0::equation::{Interval, Model, Node, Shared};

use crate::{
    environment::{Rows, SmoothStep},
    error::{Error, Result, require_size},
};

/// A law, ready for a world: actions and their derivatives by what is seen.
#[derive(Debug)]
struct Controller {
    /// For each action its value, then its derivatives by the inputs of the law.
    program: Shared,
    /// Place of each input among the observations.
    order: Vec<usize>,
    /// The laws, in the order of the actions.
    laws: Vec<Node>,
}

/// The loop of a world and a law: x⁺ = F(x, clamp(gain·π(o(x)))), with exact derivatives by the chain rule.
#[derive(Clone)]
pub struct FieldLoop<'a> {
    world: &'a dyn SmoothStep,
    controller: Arc<Controller>,
    ranges: Vec<[f64; 2]>,
    states: usize,
    gain: f64,
}

fn require_rows(what: &'static str, rows: &Rows, height: usize, width: usize) -> Result<()> {
    require_size(what, rows.len(), height)?;
    rows.iter()
        .try_for_each(|row| require_size(what, row.len(), width))
}

impl<'a> FieldLoop<'a> {
    /// A world with a law for each of its actions, in what it lets a policy see.
    pub fn new(world: &'a dyn SmoothStep, policy: &Model) -> Result<Self> {
        let seen = world.observations();
        let place = |name: &String| {
            seen.iter()
                .position(|o| o == name)
                .ok_or_else(|| Error::Mismatch {
                    what: "input",
                    name: name.clone(),
                    expected: seen.join(", "),
                })
        };
        let order = policy
            .inputs()
            .iter()
            .map(place)
            .collect::<Result<Vec<_>>>()?;
        let given: Vec<&str> = policy.targets().collect();
        let expressions: Vec<&Node> = policy.expressions().map(|e| e.root()).collect();
        let actions = world.actions();
        let laws = actions
            .iter()
            .map(|(name, _)| {
                let at = given.iter().position(|target| target == name);
                let at = at.ok_or_else(|| Error::Mismatch {
                    what: "action",
                    name: name.clone(),
                    expected: given.join(", "),
                })?;
                Ok(expressions[at].clone())
            })
            .collect::<Result<Vec<_>>>()?;
        let inputs: Vec<usize> = (0..order.len()).collect();
        let found = FieldLoop {
            world,
            controller: Arc::new(Controller {
                program: Shared::gradients(&laws, &inputs),
                order,
                laws,
            }),
            ranges: actions.into_iter().map(|(_, range)| range).collect(),
            states: world.states().len(),
            gain: 1.0,
        };
        found.check()?;
        Ok(found)
    }

    /// Whether the world gives vectors and matrices of the sizes that it names.
    fn check(&self) -> Result<()> {
        let (n, m, seen) = (
            self.states,
            self.ranges.len(),
            self.world.observations().len(),
        );
        let rest = vec![0.0; n];
        let held: Vec<f64> = self.ranges.iter().map(|r| clamp(0.0, *r)).collect();
        require_size("a next state", self.world.next(&rest, &held).len(), n)?;
        require_size("an observation", self.world.observe(&rest).len(), seen)?;
        let slopes = self.world.slopes(&rest, &held);
        require_rows("a derivative by the state", &slopes.state, n, n)?;
        require_rows("a derivative by the action", &slopes.action, n, m)?;
        let observed = self.world.observation_slopes(&rest);
        require_rows("a derivative of an observation", &observed, seen, n)?;
        let typical = self
            .world
            .typical_state(&mut ell0::rng::Stream::new(0).at(0));
        require_size("a typical state", typical.len(), n)
    }

    /// The same with actions times another gain, before they are brought into their range.
    #[must_use]
    pub fn with_gain(&self, gain: f64) -> Self {
        FieldLoop {
            gain,
            ..self.clone()
        }
    }

    /// The same law in another world of the same kind.
    pub fn in_world<'b>(&self, world: &'b dyn SmoothStep) -> Result<FieldLoop<'b>> {
        let other = FieldLoop {
            world,
            controller: self.controller.clone(),
            ranges: world
                .actions()
                .into_iter()
                .map(|(_, range)| range)
                .collect(),
            states: world.states().len(),
            gain: self.gain,
        };
        require_size("a state", other.states, self.states)?;
        require_size("an action", other.ranges.len(), self.ranges.len())?;
        // Derivatives are dear; a step and a look will do.
        let (rest, seen) = (vec![0.0; self.states], self.world.observations().len());
        require_size("an observation", world.observe(&rest).len(), seen)?;
        require_size("a next state", other.next(&rest).len(), self.states)?;
        Ok(other)
    }

    /// The world.
    #[must_use]
    pub fn world(&self) -> &'a dyn SmoothStep {
        self.world
    }

    /// Number of states.
    #[must_use]
    pub fn states(&self) -> usize {
        self.states
    }

    /// Number of actions.
    #[must_use]
    pub fn actions(&self) -> usize {
        self.ranges.len()
    }

    /// The least and the greatest value of each action.
    pub(super) fn ranges(&self) -> &[[f64; 2]] {
        &self.ranges
    }

    /// The factor of the actions.
    pub(super) fn gain(&self) -> f64 {
        self.gain
    }

    /// The laws, in the order of the actions; their variables are the observations at [`FieldLoop::order`].
    pub(super) fn laws(&self) -> &[Node] {
        &self.controller.laws
    }

    /// Place of each input of the laws among the observations.
    pub(super) fn order(&self) -> &[usize] {
        &self.controller.order
    }

    /// What the law sees, in its own order.
    fn inputs(&self, state: &[f64]) -> Vec<f64> {
        let seen = self.world.observe(state);
        self.controller.order.iter().map(|&k| seen[k]).collect()
    }

    /// The actions in a state, times the gain and brought into their range.
    #[must_use]
    pub fn action(&self, state: &[f64]) -> Vec<f64> {
        let inputs = self.inputs(state);
        self.controller
            .laws
            .iter()
            .zip(&self.ranges)
            .map(|(law, range)| clamp(self.gain * law.value(&inputs), *range))
            .collect()
    }

    /// The actions and their derivatives by the state, a row for each action.
    #[must_use]
    pub fn action_slopes(&self, state: &[f64]) -> (Vec<f64>, Rows) {
        let width = self.controller.order.len() + 1;
        let values = self.controller.program.values(&self.inputs(state));
        let observed = self.world.observation_slopes(state);
        let mut action = Vec::with_capacity(self.ranges.len());
        let mut slopes = Vec::with_capacity(self.ranges.len());
        for (values, range) in values.chunks_exact(width).zip(&self.ranges) {
            let raw = self.gain * values[0];
            let mut row = vec![0.0; self.states];
            // Beyond its range an action does not change.
            if (range[0]..=range[1]).contains(&raw) {
                for (slope, &seen) in values[1..].iter().zip(&self.controller.order) {
                    let slope = self.gain * slope;
                    if slope != 0.0 {
                        let pairs = row.iter_mut().zip(&observed[seen]);
                        pairs.for_each(|(sum, o)| *sum += slope * o);
                    }
                }
            }
            action.push(clamp(raw, *range));
            slopes.push(row);
        }
        (action, slopes)
    }

    /// Whether the law has derivatives at a state: no corner, no jump, no action on the edge of its range.
    #[must_use]
    pub fn is_smooth(&self, state: &[f64]) -> bool {
        let inputs = self.inputs(state);
        let points: Vec<Interval> = inputs.iter().map(|x| Interval::point(*x)).collect();
        self.controller
            .laws
            .iter()
            .zip(&self.ranges)
            .all(|(law, range)| {
                let action = self.gain * law.value(&inputs);
                Shared::gradients([law], &[]).is_smooth(&points) && !range.contains(&action)
            })
    }

    /// The next state.
    #[must_use]
    pub fn next(&self, state: &[f64]) -> Vec<f64> {
        self.world.next(state, &self.action(state))
    }

    /// The next state and its derivatives by the state: ∂F/∂x + ∂F/∂a·∂a/∂x.
    #[must_use]
    pub fn jacobian(&self, state: &[f64]) -> (Vec<f64>, Rows) {
        let (action, gains) = self.action_slopes(state);
        let slopes = self.world.slopes(state, &action);
        let mut rows = slopes.state;
        for (row, by_action) in rows.iter_mut().zip(&slopes.action) {
            for (slope, gain) in by_action.iter().zip(&gains) {
                if *slope != 0.0 {
                    let pairs = row.iter_mut().zip(gain);
                    pairs.for_each(|(sum, g)| *sum += slope * g);
                }
            }
        }
        (self.world.next(state, &action), rows)
    }
}

/// A value brought into a range; unlike `f64::clamp`, this does not panic on bounds that nobody has checked.
pub(super) fn clamp(value: f64, [low, high]: [f64; 2]) -> f64 {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}
