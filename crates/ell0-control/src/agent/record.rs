//! What is noted of an episode.

use serde::{Deserialize, Serialize};

/// One episode of training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpisodeRecord {
    /// Number of the episode, counted from 1.
    pub episode: u64,
    /// Steps of the environment to learn from, so far.
    pub env_steps: u64,
    /// Return of the episode, exploration included.
    pub training_return: f64,
    /// Mean loss of the critics over the updates after the episode.
    pub critic_loss: Option<f64>,
    /// Open terms of a dictionary.
    pub terms: Option<usize>,
    /// Mean size of Q.
    pub q_scale: f64,
    /// Price of an open gate, in the units of Q.
    pub price: f64,
    /// Mean return from the evaluation starts, where it was measured.
    pub evaluation_return: Option<f64>,
    /// Probability of each term's gate to be open, of a dictionary, action after action.
    pub prob_active: Option<Vec<f32>>,
}
