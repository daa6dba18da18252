//! A policy in the loop of a world of many states.

use ell0::equation::Model;
use ell0_control::{
    analysis::{
        Behaviour, FieldDelay, FieldEquilibrium, FieldLoop, GainReach, ParameterReach, ProvedSet,
        Pulse, Reaching, Robustness, Stability, equilibrium, field_delay, field_gain_margin,
        parameter_reach, prove_saturated, reaching, settle,
    },
    environment::{Environment, SmoothStep},
    evaluation::{Return, evaluate},
    policy::LawPolicy,
};
use ell0_plot::{Axis, Chart, Figure, Series};
use serde::{Deserialize, Serialize};

use super::{Analysis, Analyzed, Findings, ReturnReport, TermReport};
use crate::{
    error::{Error, Result},
    observer::{Observer, Task, seconds_since},
};

/// Random starts that are followed.
const STARTS: usize = 100;

/// Initial states that terms are measured on: steps of such worlds are dear, and there are many terms.
const TERM_STARTS: usize = 20;

/// Points of the drawn circle.
const CIRCLE: usize = 180;

/// What was found of a policy in the loop of a world of many states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldAnalysis {
    /// The policy, with all digits.
    pub policy: String,
    /// The world.
    pub environment: String,
    /// Names of the states.
    pub states: Vec<String>,
    /// Names of the actions.
    pub actions: Vec<String>,
    /// What the loop does from a typical state.
    pub behaviour: Behaviour,
    /// The equilibrium that it comes to, or, if it comes to none, one that Newton's method found.
    pub equilibrium: Option<FieldEquilibriumReport>,
    /// Factors of the action that keep it stable.
    pub gain_margin: Option<GainReach>,
    /// How late actions may come.
    pub delay: Option<FieldDelay>,
    /// How far each parameter may go while it stays stable.
    pub parameters: Option<Vec<ParameterReach>>,
    /// How many random starts end there.
    pub starts: Option<Reaching>,
    /// Where stability is proved.
    pub proved_set: Option<ProvedSet>,
    /// Why it is not, if it is not.
    pub not_proved: Option<String>,
    /// Mean return.
    #[serde(rename = "return")]
    pub worth: Option<ReturnReport>,
    /// Why there is no return.
    pub return_error: Option<String>,
    /// What each term does.
    pub terms: Option<Vec<TermReport>>,
    /// Initial states that terms were measured on.
    pub term_starts: Option<usize>,
    /// How long it took, by the observer's clock.
    pub seconds: f64,
}

/// A state that a loop of many states does not leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldEquilibriumReport {
    /// Where.
    pub state: Vec<f64>,
    /// The length of F(x) − x there.
    pub residual: f64,
    /// Eigenvalues of the linearisation, real and imaginary parts, the largest first.
    pub eigenvalues: Vec<[f64; 2]>,
    /// What they tell.
    pub stability: Stability,
    /// Quantities that the world keeps whatever is done: their eigenvalue 1 is left out.
    pub conserved: usize,
}

impl From<&FieldEquilibrium> for FieldEquilibriumReport {
    fn from(e: &FieldEquilibrium) -> Self {
        FieldEquilibriumReport {
            state: e.state.clone(),
            residual: e.residual,
            eigenvalues: e.eigenvalues.iter().map(|z| [z.re, z.im]).collect(),
            stability: e.stability,
            conserved: e.conserved,
        }
    }
}

impl FieldEquilibriumReport {
    /// The largest absolute value of its components.
    #[must_use]
    pub fn amplitude(&self) -> f64 {
        self.state.iter().fold(0.0, |m, v| v.abs().max(m))
    }

    /// The eigenvalues and the unit circle.
    pub(super) fn figure(&self) -> Figure {
        let far = self
            .eigenvalues
            .iter()
            .flatten()
            .fold(1.0, |m: f64, v| m.max(v.abs()));
        let axis = |name: &str| Axis::linear(name).within(-1.08 * far, 1.08 * far);
        let circle = (0..=CIRCLE).map(|k| {
            let angle = std::f64::consts::TAU * k as f64 / CIRCLE as f64;
            (angle.cos(), angle.sin())
        });
        let values = self.eigenvalues.iter().map(|z| (z[0], z[1]));
        let chart = Chart::new("Eigenvalues", axis("real part"), axis("imaginary part"))
            .with(Series::line("unit circle", circle))
            .with(Series::dots("eigenvalues", values));
        Figure::new(vec![chart]).with_size(500.0, 500.0)
    }

    /// The state over the number of its component; none if it is 0.
    pub(super) fn profile(&self) -> Option<Figure> {
        let points = self.state.iter().enumerate().map(|(k, v)| (k as f64, *v));
        let chart = Chart::new(
            "Equilibrium",
            Axis::linear("component"),
            Axis::linear("state"),
        )
        .with(Series::line("", points));
        let figure = || Figure::new(vec![chart]).with_size(640.0, 260.0);
        (self.amplitude() > 0.0).then(figure)
    }
}

/// What the return tells.
struct Worth {
    all: Return,
    starts: usize,
    terms: Vec<TermReport>,
}

fn worth(policy: &Model, world: &dyn Environment, pulse: Pulse) -> Result<Worth> {
    let (observation, action) = (world.observation_space(), world.action_space());
    let law = LawPolicy::new(policy, observation, action)?;
    let all = evaluate(world, &law, &world.evaluation_starts())?;
    let robustness = Robustness::spread(world, TERM_STARTS);
    let terms = robustness.terms(policy, pulse)?;
    Ok(Worth {
        all,
        starts: robustness.starts(),
        terms: terms.into_iter().map(TermReport::from).collect(),
    })
}

/// Analyses a policy in the loop with a world of many states, whose step is known with its derivatives.
pub fn analyze_field(
    policy: &Model,
    smooth: &dyn SmoothStep,
    world: &dyn Environment,
    observer: &dyn Observer,
) -> Result<Analyzed> {
    let began = observer.now();
    let found = FieldLoop::new(smooth, policy)?;
    /// A part of the analysis; that it was stopped is told by its task.
    fn part<T>(
        observer: &dyn Observer,
        name: &str,
        steps: Option<u64>,
        work: impl FnOnce(Pulse) -> ell0_control::Result<T>,
    ) -> Result<T> {
        let task = Task::begin(observer, name, steps);
        let done = work(&|| task.beat());
        task.end()?;
        Ok(done?)
    }
    let run = part(observer, "settling: actions", None, |p| settle(&found, p))?;
    let rest = part(observer, "equilibrium", None, |_| {
        Ok(equilibrium(&found, &run))
    })?;
    // What the loop is for.
    let main = rest.as_ref().filter(|e| e.is_stable());
    let (mut gain_margin, mut delay, mut parameters, mut starts) = (None, None, None, None);
    if let Some(main) = main {
        gain_margin = part(observer, "gain margin: gains", None, |p| {
            field_gain_margin(&found, main, p)
        })?;
        delay = part(observer, "delay: steps", None, |p| {
            field_delay(&found, main, p)
        })?;
        parameters = Some(part(observer, "parameters: values", None, |p| {
            parameter_reach(&found, main, p)
        })?);
        let count = Some(STARTS as u64);
        starts = Some(part(observer, "random starts", count, |p| {
            reaching(&found, &main.state, STARTS, p)
        })?);
    }
    let proof = part(observer, "proving: matrices", None, |p| {
        prove_saturated(&found, p)
    })?;
    let (proved_set, not_proved) = match proof {
        Ok(set) => (Some(set), None),
        Err(reason) => (None, Some(reason.to_string())),
    };
    let measuring = Task::begin(observer, "robustness: policies", None);
    // A policy that fails somewhere still has an equilibrium.
    let worth = worth(policy, world, &|| measuring.beat());
    measuring.end()?;
    let (worth, return_error) = match worth {
        Ok(worth) => (Some(worth), None),
        Err(error @ Error::Stopped { .. }) => return Err(error),
        Err(error) => (
            None,
            Some(format!("the policy fails in the environment: {error}")),
        ),
    };
    let findings = FieldAnalysis {
        policy: policy.text(17),
        environment: world.text(),
        states: smooth.states(),
        actions: smooth.actions().into_iter().map(|(name, _)| name).collect(),
        behaviour: run.behaviour,
        equilibrium: rest.as_ref().map(FieldEquilibriumReport::from),
        gain_margin,
        delay,
        parameters,
        starts,
        proved_set,
        not_proved,
        worth: worth.as_ref().map(|w| w.all.into()),
        return_error,
        term_starts: worth.as_ref().map(|w| w.starts),
        terms: worth.map(|w| w.terms),
        seconds: seconds_since(observer, began),
    };
    Ok(Analyzed {
        analysis: Analysis {
            model: policy.clone(),
            findings: Findings::Field(findings),
        },
        portrait: None,
        certificate: None,
    })
}
