//! The small file of a policy: all that is needed to act, and nothing of how it was trained.

use std::path::Path;

use ell0::{
    checkpoint::{Tensor, from_bytes, to_bytes, write_whole},
    input,
    network::NoisePer,
    rng::Stream,
};
use serde::{Deserialize, Serialize};

use super::{Actor, ActorKind};
use crate::{
    environment::Space,
    error::{Error, Result},
};

/// The format of the file of a policy, as its header says it.
pub const POLICY_FORMAT: &str = "ell0-policy";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    /// The text of the body; how its gates are drawn and whether it sees scaled observations.
    policy: String,
    gates: NoisePer,
    scale_inputs: bool,
    observation: Space,
    action: Space,
}

impl Actor {
    /// The policy as a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (gates, scale_inputs) = match &self.kind {
            ActorKind::Dictionary { noise, scaled, .. } => (*noise, *scaled),
            _ => (NoisePer::Row, true),
        };
        let header = Header {
            policy: self.kind.to_string(),
            gates,
            scale_inputs,
            observation: self.observation.clone(),
            action: self.action.clone(),
        };
        let parameters = Tensor::flat(&self.parameters[..]);
        let tensors = [("parameters".to_string(), parameters)];
        Ok(to_bytes(POLICY_FORMAT, VERSION, &header, &tensors)?)
    }

    /// The policy in a file; `path` is for messages.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Actor> {
        let (header, tensors) = from_bytes::<Header>(POLICY_FORMAT, VERSION, bytes, path)?;
        let mut kind: ActorKind = header.policy.parse()?;
        if let ActorKind::Dictionary { noise, scaled, .. } = &mut kind {
            (*noise, *scaled) = (header.gates, header.scale_inputs);
        }
        let stream = Stream::new(0);
        let mut actor = Actor::new(&kind, &header.observation, &header.action, &stream)?;
        actor.parameters = tensors.take("parameters", &[actor.parameters.len()])?;
        Ok(actor)
    }

    /// Writes the file of the policy, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(write_whole(path, &self.to_bytes()?)?)
    }

    /// Reads the file of a policy.
    pub fn load(path: impl AsRef<Path>) -> Result<Actor> {
        let path = path.as_ref();
        let bytes = input::read(path, input::MOST_BINARY).map_err(|source| Error::Io {
            action: "read",
            path: path.into(),
            source,
        })?;
        Actor::from_bytes(&bytes, path)
    }
}
