//! The settings of training.

use ell0::network::NoisePer;
use serde::{Deserialize, Serialize};

use super::{Actor, ActorKind, AlgorithmConfig, selection::Worth};
use crate::{
    environment::Environment,
    error::{Result, require_parameter},
};

/// What a policy pays for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PenaltyKind {
    /// For every open gate.
    #[default]
    L0,
    /// For the size of every coefficient, for comparison.
    L1,
}

/// The settings of training.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `environment` | pendulum(g=9.81) | name of the world where it acts |
/// | `policy` | polynomial(3) | what acts: see [`ActorKind`] |
/// | `episodes` | 250 | episodes in all |
/// | `random_episodes` | 25 | episodes of random actions at the beginning |
/// | `updates_after` | 50 | episodes without updates at the beginning |
/// | `updates` | 200 | updates after each episode |
/// | `exploration` | 0.1 | deviation of the noise on actions, relative to half their range |
/// | `hold` | 1 | steps for which random actions and noise stay the same: where a goal is reached only by pushing for a while, more |
/// | `lambda` | 1e-3 | price of an open gate, relative to the mean size of Q |
/// | `lambda_from`, `lambda_full` | 100, 150 | episodes between which the price rises to its full value |
/// | `ease_lambda` | yes | whether the penalty gives way while the evaluated policy is worse than the best, until it is not |
/// | `keep_best` | yes | whether the best evaluated policy is kept; no: the last |
/// | `relative_lambda` | yes | whether the price is relative to Q; no: as it stands |
/// | `scale_inputs` | yes | whether a dictionary sees observations scaled to their range |
/// | `gates` | row | whether the gates of a dictionary are drawn for each row, or for each batch |
/// | `penalty` | l0 | what is paid for: open gates, or (`l1`) the sizes of a dictionary's coefficients, which has no gates then |
/// | `terms` | none | number of terms of each action: its price is steered to let so many stay open, or up to twice as many |
/// | `worlds` | 1 | worlds that are stepped side by side: so many episodes count as one |
/// | `replay` | 1,000,000 | transitions that are remembered |
/// | `seed` | 0 | of everything random |
/// | `agent` | TD3, critics of width 64, rates 1e-3 (policy) and 5e-3 (gates) | the updates: see [`AlgorithmConfig`] |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct TrainConfig {
    pub environment: String,
    pub policy: String,
    pub episodes: u64,
    pub random_episodes: u64,
    pub updates_after: u64,
    pub updates: u64,
    pub exploration: f64,
    pub hold: u64,
    pub lambda: f64,
    pub lambda_from: u64,
    pub lambda_full: u64,
    pub ease_lambda: bool,
    pub keep_best: bool,
    pub relative_lambda: bool,
    pub scale_inputs: bool,
    pub gates: NoisePer,
    pub penalty: PenaltyKind,
    pub terms: Option<usize>,
    pub worlds: usize,
    pub replay: usize,
    pub seed: u64,
    pub agent: AlgorithmConfig,
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            environment: "pendulum(g=9.81)".into(),
            policy: "polynomial(3)".into(),
            episodes: 250,
            random_episodes: 25,
            updates_after: 50,
            updates: 200,
            exploration: 0.1,
            hold: 1,
            lambda: 1e-3,
            lambda_from: 100,
            lambda_full: 150,
            ease_lambda: true,
            keep_best: true,
            relative_lambda: true,
            scale_inputs: true,
            gates: NoisePer::Row,
            penalty: PenaltyKind::L0,
            terms: None,
            worlds: 1,
            replay: 1_000_000,
            seed: 0,
            agent: AlgorithmConfig::default(),
        }
    }
}

/// What a term beyond the wanted number is expected to cost when it goes, as a share of the return.
const EXCESS_TERM: f64 = 0.02;

/// More episodes, or more updates after each of them, are a slip of the finger.
const MOST: u64 = 10_000_000;

/// Worlds side by side.
const MOST_WORLDS: usize = 1000;

impl TrainConfig {
    /// Settings that suit a world: the default ones, or, for fields and other worlds in which all actions can share a law, those for many actions: several worlds side by side, four steps for an update, gates that are drawn
    /// for the batch.
    #[must_use]
    pub fn suited_to(world: &dyn Environment) -> Self {
        let usual = TrainConfig::default();
        if world.tied().is_none() {
            return usual;
        }
        let steps = world.time_limit().unwrap_or(1000).max(1) as usize;
        let worlds = (4000 / steps).clamp(4, 16);
        let updates = (worlds * steps / 4).clamp(100, 1000) as u64;
        TrainConfig {
            episodes: 120,
            random_episodes: 4,
            updates_after: 4,
            lambda_from: 48,
            lambda_full: 84,
            gates: NoisePer::Batch,
            worlds,
            updates,
            ..usual
        }
    }

    /// The same with another number of episodes: what happens after so many of them happens after the same share of them. What comes before learning takes no longer in a long training than in the usual one.
    #[must_use]
    pub fn with_episodes(self, episodes: u64) -> Self {
        let share = |count: u64| {
            let share = u128::from(count) * u128::from(episodes) / u128::from(self.episodes.max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let before = |count: u64| share(count).max(1).min(count);
        TrainConfig {
            random_episodes: before(self.random_episodes),
            updates_after: before(self.updates_after),
            lambda_from: share(self.lambda_from),
            lambda_full: share(self.lambda_full),
            episodes,
            ..self
        }
    }

    /// The policy that these settings ask for.
    pub fn kind(&self) -> Result<ActorKind> {
        let mut kind: ActorKind = self.policy.parse()?;
        if let ActorKind::Dictionary {
            noise,
            scaled,
            gated,
            ..
        } = &mut kind
        {
            *noise = self.gates;
            *scaled = self.scale_inputs;
            *gated = self.penalty == PenaltyKind::L0;
        }
        Ok(kind)
    }

    /// What a unit of size must be worth for a policy to be kept.
    pub(super) fn worth(&self) -> Worth {
        let counted = self
            .kind()
            .is_ok_and(|kind| matches!(kind, ActorKind::Dictionary { .. }));
        match (self.terms, self.relative_lambda) {
            _ if !counted => Worth::Absolute(0.0),
            (Some(_), _) => Worth::Relative(EXCESS_TERM),
            (None, true) => Worth::Relative(self.lambda),
            (None, false) => Worth::Absolute(self.lambda),
        }
    }

    /// How much of a policy is penalised: its terms, or those beyond the wanted number. Networks shrink as they are trained: the later, the smaller.
    pub(super) fn size(&self, actor: &Actor, episode: u64) -> u64 {
        let Some(terms) = actor.terms_of_laws() else {
            return MOST.saturating_sub(episode);
        };
        let wanted = self.terms.unwrap_or(0);
        terms.iter().map(|t| t.saturating_sub(wanted) as u64).sum()
    }

    pub(super) fn check(&self) -> Result<()> {
        for (name, value) in [("exploration", self.exploration), ("lambda", self.lambda)] {
            let ok = value >= 0.0 && value.is_finite();
            require_parameter(name, value, ok, "it must be finite and not negative")?;
        }
        for (name, value) in [
            ("episodes", self.episodes),
            ("random_episodes", self.random_episodes),
            ("updates_after", self.updates_after),
            ("lambda_from", self.lambda_from),
            ("lambda_full", self.lambda_full),
            ("updates", self.updates),
        ] {
            let ok = value <= MOST;
            require_parameter(name, value as f64, ok, "at most 10,000,000")?;
        }
        let hold = (1..=MOST).contains(&self.hold);
        require_parameter("hold", self.hold as f64, hold, "from 1 to 10,000,000")?;
        let worlds = (1..=MOST_WORLDS).contains(&self.worlds);
        require_parameter("worlds", self.worlds as f64, worlds, "from 1 to 1000")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short training explores, learns and pays in the same shares of it as the usual one; a long one does not explore for longer.
    #[test]
    fn another_number_of_episodes() {
        let usual = TrainConfig::default();
        assert_eq!(usual.clone().with_episodes(250), usual);
        let parts = |c: &TrainConfig| {
            (
                c.random_episodes,
                c.updates_after,
                c.lambda_from,
                c.lambda_full,
            )
        };
        assert_eq!(parts(&usual.clone().with_episodes(50)), (5, 10, 20, 30));
        assert_eq!(parts(&usual.clone().with_episodes(2)), (1, 1, 0, 1));
        assert_eq!(
            parts(&usual.clone().with_episodes(1000)),
            (25, 50, 400, 600)
        );
        let most = usual.with_episodes(u64::MAX);
        assert_eq!(parts(&most), (25, 50, u64::MAX / 5 * 2, u64::MAX / 5 * 3));
    }

    /// As they stand in a file that people read.
    #[test]
    fn settings_are_a_readable_file() {
        for (name, twin) in [("td3", true), ("ddpg", false)] {
            let config = TrainConfig {
                agent: AlgorithmConfig::named(name).expect("an algorithm"),
                ..TrainConfig::default()
            };
            let text = toml::to_string(&config).expect("TOML");
            assert!(text.contains("[agent]\nalgorithm = \"td3\"\n"), "{text}");
            assert!(text.contains(&format!("twin = {twin}\n")), "{text}");
            let again: TrainConfig = toml::from_str(&text).expect("settings");
            assert_eq!(again, config);
            let wrong = text.replace("twin", "twins");
            assert!(toml::from_str::<TrainConfig>(&wrong).is_err());
        }
        assert!(AlgorithmConfig::named("sac").is_err());
        let few: TrainConfig = toml::from_str("episodes = 3").expect("settings");
        assert_eq!(few.agent, AlgorithmConfig::default());
    }
}
