//! The settings of TD3, and of DDPG.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The settings of an update.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `discount` | 0.99 | worth of the next step's return |
/// | `tau` | 0.005 | share of the networks that their targets take over at a time |
/// | `twin` | yes | two critics, of which the lower is believed; no: one, as in DDPG |
/// | `policy_delay` | 2 | updates of the critics for one of the policy; 1 in DDPG |
/// | `smoothing` | 0.2 | noise on the actions of the target policy, relative to their range; 0 in DDPG |
/// | `smoothing_clip` | 0.5 | its greatest size, relative to the range |
/// | `critic_rate` | 3e-4 | learning rate of the critics |
/// | `actor_rate` | 3e-4 | learning rate of the policy's weights |
/// | `gate_rate` | as `actor_rate` | learning rate of the policy's gates |
/// | `truncation_ends` | no | whether the bootstrap is cut where an episode was only cut off (the published code does) |
/// | `sampled_targets` | no | whether gates are drawn in the target policy, too (the published code does) |
/// | `batch` | 256 | rows of a batch |
/// | `critic_hidden` | 256, 256 | hidden widths of the critics |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct Td3Config {
    pub discount: f64,
    pub tau: f64,
    pub twin: bool,
    pub policy_delay: u64,
    pub smoothing: f64,
    pub smoothing_clip: f64,
    pub critic_rate: f64,
    pub actor_rate: f64,
    pub gate_rate: Option<f64>,
    pub truncation_ends: bool,
    pub sampled_targets: bool,
    pub batch: usize,
    pub critic_hidden: Vec<usize>,
}

impl Default for Td3Config {
    fn default() -> Self {
        Td3Config {
            discount: 0.99,
            tau: 0.005,
            twin: true,
            policy_delay: 2,
            smoothing: 0.2,
            smoothing_clip: 0.5,
            critic_rate: 3e-4,
            actor_rate: 3e-4,
            gate_rate: None,
            truncation_ends: false,
            sampled_targets: false,
            batch: 256,
            critic_hidden: vec![256, 256],
        }
    }
}

impl Td3Config {
    /// Deep deterministic policy gradients (Lillicrap et al. 2015): the same with one critic, no delay, no smoothing.
    pub fn ddpg() -> Self {
        Td3Config {
            twin: false,
            policy_delay: 1,
            smoothing: 0.0,
            ..Td3Config::default()
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let parameter = |name: &str, value: f64, ok: bool, expected: &'static str| {
            if ok {
                Ok(())
            } else {
                Err(Error::Parameter {
                    name: name.into(),
                    value,
                    expected,
                })
            }
        };
        let share = "it must lie in [0, 1]";
        parameter(
            "discount",
            self.discount,
            (0.0..=1.0).contains(&self.discount),
            share,
        )?;
        parameter("tau", self.tau, (0.0..=1.0).contains(&self.tau), share)?;
        let size = "it must be finite and not negative";
        for (name, value) in [
            ("smoothing", self.smoothing),
            ("smoothing_clip", self.smoothing_clip),
        ] {
            parameter(name, value, value >= 0.0 && value.is_finite(), size)?;
        }
        for (name, value) in [
            ("critic_rate", self.critic_rate),
            ("actor_rate", self.actor_rate),
            ("gate_rate", self.gate_rate.unwrap_or(self.actor_rate)),
        ] {
            let ok = value > 0.0 && value.is_finite();
            parameter(name, value, ok, "it must be positive and finite")?;
        }
        let one = "it must be at least 1";
        let delay = self.policy_delay;
        parameter("policy_delay", delay as f64, delay >= 1, one)?;
        parameter("batch", self.batch as f64, self.batch >= 1, one)
    }
}
