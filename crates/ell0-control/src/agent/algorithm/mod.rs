//! How policies learn. An algorithm is a file here: its settings, its update, what it remembers; and a variant of [`AlgorithmConfig`].

mod learner;
mod td3;

pub use td3::{Noise, Td3, Td3Config};

use std::collections::BTreeMap;

use ell0::{
    gates::Penalty,
    rng::{Generator, Stream},
};
use serde::{Deserialize, Serialize};

use super::Actor;
use crate::{
    error::{Error, Result, require_size},
    replay::Batch,
};

/// What an update did.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct UpdateRecord {
    /// Sum of the critics' mean squared errors.
    pub critic_loss: f64,
    /// −mean Q of the policy's actions plus what it pays for its gates, if the policy was updated.
    pub actor_loss: Option<f64>,
    /// Mean size of the targets of the critics: the scale of Q.
    pub q_scale: f64,
}

/// What a policy pays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Price {
    /// For its gates, or for its coefficients.
    pub penalty: Penalty,
    /// How much more or less each of its laws pays; empty: all alike.
    pub factors: Vec<f64>,
}

impl From<Penalty> for Price {
    fn from(penalty: Penalty) -> Self {
        Price {
            penalty,
            factors: Vec::new(),
        }
    }
}

/// What learns a policy from batches of experience.
pub trait Algorithm: Send {
    /// Rows of a batch.
    fn batch(&self) -> usize;

    /// Draws the randomness of the next update.
    fn draw(&mut self, rng: &mut Generator);

    /// One update with the randomness that was drawn, at a price for what the policy is made of.
    fn update(&mut self, batch: &Batch, price: &Price) -> Result<UpdateRecord>;

    /// Updates so far.
    fn updates(&self) -> u64;

    /// The policy as it is now.
    fn actor(&self) -> Actor;

    /// The parameters of the policy as they are now.
    fn policy_parameters(&self) -> &[f32];

    /// Everything that a checkpoint must hold to go on to the same bits; the parameters of the policy are the tensor `policy.parameters`.
    fn memory(&self) -> Memory;

    /// Takes over what a checkpoint held.
    fn restore(&mut self, memory: Memory) -> Result<()>;
}

/// What an algorithm remembers: named numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Parameters, optimizers and the like.
    pub tensors: BTreeMap<String, Vec<f32>>,
    /// Counts.
    pub counters: BTreeMap<String, u64>,
}

impl Memory {
    /// Takes out numbers that must be there, and so many.
    pub fn take(&mut self, name: &str, len: usize) -> Result<Vec<f32>> {
        let values = self.tensors.remove(name).ok_or_else(|| missing(name))?;
        require_size("a tensor of the checkpoint", values.len(), len)?;
        Ok(values)
    }

    /// A count that must be there.
    pub fn count(&self, name: &str) -> Result<u64> {
        self.counters
            .get(name)
            .copied()
            .ok_or_else(|| missing(name))
    }
}

fn missing(name: &str) -> Error {
    Error::Missing { name: name.into() }
}

/// The settings of an algorithm, and with them which one it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "algorithm", rename_all = "lowercase")]
pub enum AlgorithmConfig {
    /// Twin delayed deep deterministic policy gradients; DDPG by its switches.
    Td3(Td3Config),
}

impl Default for AlgorithmConfig {
    /// TD3 as a policy of few parameters likes it: critics of width 64, rates of 1e-3 for the policy and 5e-3 for its gates.
    fn default() -> Self {
        AlgorithmConfig::Td3(Td3Config::small(Td3Config::default()))
    }
}

impl AlgorithmConfig {
    /// Names of all algorithms, and a line about each.
    pub const NAMES: [(&str, &str); 2] = [
        ("td3", "Twin critics, delayed policy, smoothed targets"),
        ("ddpg", "One critic, no delay, no smoothing"),
    ];

    /// The algorithm of this name with its default settings.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "td3" => Ok(AlgorithmConfig::default()),
            "ddpg" => Ok(AlgorithmConfig::Td3(Td3Config::small(Td3Config::ddpg()))),
            _ => Err(Error::Text {
                text: name.into(),
                at: 0,
                reason: format!(
                    "there is no algorithm of this name; there are {}",
                    Self::NAMES.map(|n| n.0).join(", ")
                ),
            }),
        }
    }

    /// What learns with these settings, beginning with this policy.
    pub fn build(&self, actor: Actor, stream: &Stream) -> Result<Box<dyn Algorithm>> {
        match self {
            AlgorithmConfig::Td3(config) => Ok(Box::new(Td3::new(config.clone(), actor, stream)?)),
        }
    }
}
