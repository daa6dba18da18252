//! The problems: their worlds, what is trained in them, and laws by hand beside which it is seen.

use ell0_control::{
    agent::{AlgorithmConfig, PenaltyKind, TrainConfig},
    environment::{Environment, make},
};
use serde::{Deserialize, Serialize};

use super::PdeSettings;
use crate::{
    error::Result,
    train::{AgentSettings, TrainSettings},
};

/// A problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PdeProblem {
    /// The Kuramoto–Sivashinsky equation.
    Ks,
    /// Convection, diffusion and reaction.
    Cdr,
}

impl PdeProblem {
    /// Both.
    pub const ALL: [PdeProblem; 2] = [PdeProblem::Ks, PdeProblem::Cdr];

    /// What it is called.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            PdeProblem::Ks => "Kuramoto–Sivashinsky equation",
            PdeProblem::Cdr => "Convection, diffusion, reaction",
        }
    }

    /// What its files are named after.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PdeProblem::Ks => "ks",
            PdeProblem::Cdr => "cdr",
        }
    }

    /// The text of the world that policies are measured in, with its parameters seen or hidden.
    pub(super) fn world(self, settings: &PdeSettings, hidden: bool) -> String {
        self.text(settings, hidden, None)
    }

    /// The text of the world that policies are trained in. A field that grows a thousandfold before a policy has learned anything teaches it little: there it is out of hand early.
    fn trained(self, settings: &PdeSettings, hidden: bool) -> String {
        self.text(
            settings,
            hidden,
            (self == PdeProblem::Cdr).then_some("ceiling=1"),
        )
    }

    fn text(self, settings: &PdeSettings, hidden: bool, more: Option<&str>) -> String {
        let published = self == PdeProblem::Ks && settings.published;
        let parameters: Vec<&str> = more
            .into_iter()
            .chain(published.then_some("published=true"))
            .chain(hidden.then_some("hidden=true"))
            .chain(settings.trial.then_some("limit=20"))
            .collect();
        match parameters.is_empty() {
            true => self.name().into(),
            false => format!("{}({})", self.name(), parameters.join(", ")),
        }
    }

    /// The price of sizes under which L1 does best, of powers of ten (with seed 100).
    fn l1_price(self) -> f64 {
        match self {
            PdeProblem::Ks => 1e-4,
            PdeProblem::Cdr => 1e-3,
        }
    }

    /// Time between two actions.
    pub(super) fn step(self) -> f64 {
        0.2
    }

    /// Laws by hand: a name, and the law of an actuator in which # stands for its number and $ for the known force at its place.
    pub(super) fn by_hand(self) -> &'static [(&'static str, &'static str)] {
        match self {
            PdeProblem::Ks => &[
                ("no control", "0*m#"),
                ("tanh(−u)", "tanh(-m#)"),
                ("tanh(−5u)", "tanh(-5*m#)"),
                ("tanh(−5u − 0.6 f)", "tanh(-5*m# - 0.6*$)"),
                ("tanh(−8u − 0.7 f)", "tanh(-8*m# - 0.7*$)"),
            ],
            PdeProblem::Cdr => &[
                ("no control", "0*m#"),
                ("−0.1 × sensor", "-0.1*m#"),
                ("−0.4 × sensor", "-0.4*m#"),
            ],
        }
    }

    /// A law by hand as text that a world can read.
    pub(super) fn written(self, law: &str, world: &dyn Environment) -> String {
        let tied = world.tied();
        let force = |k: usize| -> Option<String> {
            let tied = tied.as_ref()?;
            let at = tied.names.iter().position(|n| n == "forcing")?;
            let (place, weight) = tied.inputs[k][at];
            let name = &world.observation_space().names()[place];
            Some(format!("({weight}*{name})"))
        };
        let actions = world.action_space().names().iter().enumerate();
        let laws: Vec<String> = actions
            .map(|(k, name)| {
                let law = law.replace('#', &(k + 1).to_string());
                let law = law.replace('$', &force(k).unwrap_or_else(|| "0".into()));
                format!("{name} = {law}")
            })
            .collect();
        laws.join("; ")
    }
}

/// A training: a problem, with or without its parameters seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub name: &'static str,
    pub problem: PdeProblem,
    hidden: bool,
}

impl Part {
    pub const ALL: [Part; 4] = {
        const fn part(name: &'static str, problem: PdeProblem, hidden: bool) -> Part {
            Part {
                name,
                problem,
                hidden,
            }
        }
        [
            part("ks", PdeProblem::Ks, false),
            part("ks-hidden", PdeProblem::Ks, true),
            part("cdr", PdeProblem::Cdr, false),
            part("cdr-hidden", PdeProblem::Cdr, true),
        ]
    };

    /// The text of the world that its policies are measured in.
    pub fn world(&self, settings: &PdeSettings) -> String {
        self.problem.world(settings, self.hidden)
    }

    /// The agents of the paper, and the law that all actuators share.
    pub fn training(&self, settings: &PdeSettings) -> Result<TrainSettings> {
        let world = self.problem.trained(settings, self.hidden);
        let mut base = TrainConfig::suited_to(make(&world)?.as_ref());
        if settings.quick {
            let (episodes, updates) = match self.problem {
                PdeProblem::Ks => (24, 700),
                PdeProblem::Cdr => (60, 200),
            };
            base = base.with_episodes(episodes);
            base.updates = updates;
        }
        if settings.trial {
            base = base.with_episodes(3);
            (base.updates, base.worlds) = (3, 2);
        }
        base.environment = world;
        base.seed = settings.seed;
        let network = "network(64, 64)".to_string();
        let agents: Vec<(&str, String, TrainConfig)> = if self.hidden {
            vec![("network-hidden", network, base)]
        } else {
            let terms = TrainConfig {
                terms: Some(3),
                ..base.clone()
            };
            let l1 = TrainConfig {
                penalty: PenaltyKind::L1,
                lambda: self.problem.l1_price(),
                ..base.clone()
            };
            vec![
                ("tied", "tied(polynomial(3))".into(), terms.clone()),
                ("l0", "polynomial(3)".into(), terms),
                ("l1", "polynomial(3)".into(), l1),
                ("network", network, base),
            ]
        };
        let agent = |(name, policy, training): (&str, String, TrainConfig)| {
            let mut training = TrainConfig { policy, ..training };
            let AlgorithmConfig::Td3(td3) = &mut training.agent;
            if name.starts_with("network") {
                // Many parameters want smaller steps.
                td3.actor_rate = 3e-4;
            }
            AgentSettings {
                name: name.into(),
                // Twenty-four coefficients of eight laws would take longer to tune than to learn.
                tuned: name == "tied",
                training,
            }
        };
        Ok(TrainSettings {
            command: PdeSettings::COMMAND.into(),
            seeds: settings.seeds,
            prune: !settings.trial,
            fine_tune: !self.hidden && !settings.trial,
            exchange: !self.hidden && !settings.quick && !settings.trial,
            generations: if settings.quick { 8 } else { 30 },
            agents: agents.into_iter().map(agent).collect(),
            ..TrainSettings::default()
        })
    }
}
