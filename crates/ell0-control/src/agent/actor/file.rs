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
    environment::{Space, Tied},
    error::{Error, Result},
};

/// The format of the file of a policy, as its header says it.
pub const POLICY_FORMAT: &str = "ell0-policy";
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    /// The text of the body; how its gates are drawn and whether it sees scaled observations.
    policy: String,
    gates: NoisePer,
    scale_inputs: bool,
    gated: bool,
    tied: Option<Tied>,
    observation: Space,
    action: Space,
}

impl Actor {
    /// The policy as a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (gates, scale_inputs, gated) = match &self.kind {
            ActorKind::Dictionary {
                noise,
                scaled,
                gated,
                ..
            } => (*noise, *scaled, *gated),
            _ => (NoisePer::Row, true, true),
        };
        let header = Header {
            policy: self.kind.to_string(),
            gates,
            scale_inputs,
            gated,
            tied: self.tied.clone(),
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
        if let ActorKind::Dictionary {
            noise,
            scaled,
            gated,
            ..
        } = &mut kind
        {
            (*noise, *scaled, *gated) = (header.gates, header.scale_inputs, header.gated);
        }
        let stream = Stream::new(0);
        let mut actor = Actor::build(
            &kind,
            &header.observation,
            &header.action,
            header.tied,
            &stream,
        )?;
        actor.parameters = tensors.take("parameters", &[actor.parameters.len()])?;
        let values = actor.parameters.iter().enumerate();
        if let Some((place, value)) = values.into_iter().find(|(_, value)| value.is_nan()) {
            let expected = format!(
                "number {} of {} must be one",
                place + 1,
                actor.parameters.len()
            );
            return Err(ell0::Error::Parameter {
                name: "parameter of a policy",
                value: value.to_string(),
                expected,
            }
            .into());
        }
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
