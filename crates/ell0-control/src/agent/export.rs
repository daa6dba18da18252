//! A policy out of a checkpoint, ready to be written in another language.

use ell0::{export::Network, network::Mlp};

use super::{Actor, Training};
use crate::error::Result;

impl Actor {
    /// The policy of a checkpoint of training, as far as it had come.
    pub fn from_checkpoint(bytes: &[u8]) -> Result<Actor> {
        Ok(Training::from_bytes(bytes)?.actor())
    }

    /// The compacted network of a policy, max·tanh included. None for a dictionary, which has a [`model`](Actor::model).
    pub fn network(&self) -> Result<Option<Network>> {
        if self.features().is_some() {
            return Ok(None);
        }
        let parameters = self.parameters().to_vec();
        let mlp = Mlp::from_parameters(self.architecture().clone(), parameters)?;
        Ok(Some(Network::new(
            mlp.compact()?,
            self.observation_names.clone(),
            self.action_names.clone(),
            Some(self.max_action().to_vec()),
        )?))
    }
}
