//! The small files of a policy: all that is needed to act, and nothing of how it was trained.

use std::path::Path;

use ell0::{
    checkpoint::{Tensor, from_bytes, to_bytes, write_whole},
    equation::Model,
    input,
    network::NoisePer,
    rng::Stream,
};
use serde::{Deserialize, Serialize};

use super::{Actor, ActorKind};
use crate::{
    environment::{Space, Tied},
    error::{Error, Result, require_size},
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trained_in: Option<TrainedIn>,
}

/// Where a policy was trained, and how its arrays are shaped there: for those who hand them over as such.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainedIn {
    /// The text of the environment, if it is one that has a text.
    pub environment: Option<String>,
    /// Shape of an observation.
    pub observation_shape: Vec<usize>,
    /// Shape of an action.
    pub action_shape: Vec<usize>,
    /// The type of the numbers of an action, as NumPy calls it.
    pub action_type: String,
}

/// A policy, and what its file tells beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyFile {
    /// The policy.
    pub actor: Actor,
    /// Where it was trained, if that is told.
    pub trained_in: Option<TrainedIn>,
}

/// What a policy needs to act, beside its equations in a `model.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    about: Header,
    parameters: Vec<f32>,
}

/// A `model.json` with what it takes to act by the same bits.
#[derive(Serialize)]
struct WithModel {
    #[serde(flatten)]
    model: Model,
    policy: Body,
}

/// The same to be read; the model is read by itself.
#[derive(Deserialize)]
struct OfModel {
    policy: Option<Body>,
}

impl PolicyFile {
    fn header(&self) -> Header {
        let actor = &self.actor;
        let (gates, scale_inputs, gated) = match &actor.kind {
            ActorKind::Dictionary {
                noise,
                scaled,
                gated,
                ..
            } => (*noise, *scaled, *gated),
            _ => (NoisePer::Row, true, true),
        };
        Header {
            policy: actor.kind.to_string(),
            gates,
            scale_inputs,
            gated,
            tied: actor.tied.clone(),
            observation: actor.observation.clone(),
            action: actor.action.clone(),
            trained_in: self.trained_in.clone(),
        }
    }

    /// Of a header, with parameters that are still random.
    fn of_header(header: Header) -> Result<Self> {
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
        let (seen, chosen) = (&header.observation, &header.action);
        let actor = Actor::build(&kind, seen, chosen, header.tied, &Stream::new(0))?;
        if let Some(trained_in) = &header.trained_in {
            let shapes = [
                (
                    "the shape of an observation",
                    &trained_in.observation_shape,
                    seen,
                ),
                ("the shape of an action", &trained_in.action_shape, chosen),
            ];
            for (what, shape, space) in shapes {
                let size = shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
                require_size(what, size.unwrap_or(usize::MAX), space.len())?;
            }
        }
        Ok(PolicyFile {
            actor,
            trained_in: header.trained_in,
        })
    }

    /// Takes the parameters of a file, of which each must be a number.
    fn take(&mut self, parameters: Vec<f32>) -> Result<()> {
        let of = parameters.len();
        if let Some(place) = parameters.iter().position(|value| value.is_nan()) {
            let wrong = ell0::Error::Parameter {
                name: "parameter of a policy",
                value: "NaN".into(),
                expected: format!("number {} of {of} must be one", place + 1),
            };
            return Err(wrong.into());
        }
        self.actor.parameters = parameters;
        Ok(())
    }

    /// The policy as a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let parameters = Tensor::flat(&self.actor.parameters[..]);
        let tensors = [("parameters".to_string(), parameters)];
        Ok(to_bytes(POLICY_FORMAT, VERSION, &self.header(), &tensors)?)
    }

    /// The policy in a file; `path` is for messages.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Self> {
        let (header, tensors) = from_bytes::<Header>(POLICY_FORMAT, VERSION, bytes, path)?;
        let mut file = PolicyFile::of_header(header)?;
        file.take(tensors.take("parameters", &[file.actor.parameters.len()])?)?;
        Ok(file)
    }

    /// The policy as the `model.json` of its law, with what it takes to act by the same bits. None for a network.
    pub fn to_json(&self) -> Result<Option<String>> {
        let Some(model) = self.actor.model()? else {
            return Ok(None);
        };
        let file = WithModel {
            model,
            policy: Body {
                about: self.header(),
                parameters: self.actor.parameters.clone(),
            },
        };
        // Strings, numbers and lists of them: nothing that could fail.
        let text = serde_json::to_string_pretty(&file).unwrap_or_default();
        Ok(Some(text + "\n"))
    }

    /// The policy in such a text; `path` is for messages.
    pub fn from_json(text: &str, path: impl AsRef<Path>) -> Result<Self> {
        let unread = |reason: String| Error::PolicyFile {
            path: path.as_ref().into(),
            reason,
        };
        let model = Model::from_json(text)?;
        let read: OfModel = serde_json::from_str(text).map_err(|e| unread(e.to_string()))?;
        let Some(body) = read.policy else {
            return Err(unread(
                "it holds equations without the part `policy` that a policy acts by: as a law they can be evaluated, too".into(),
            ));
        };
        let mut file = PolicyFile::of_header(body.about)?;
        let (given, expected) = (body.parameters.len(), file.actor.parameters.len());
        require_size("the parameters of a policy", given, expected)?;
        file.take(body.parameters)?;
        match file.actor.model()? {
            Some(own) if own.to_json() == model.to_json() => Ok(file),
            _ => Err(unread(
                "its equations are not those that its part `policy` acts by: one of them was changed".into(),
            )),
        }
    }

    /// Writes the file of the policy, whole or not at all: by its ending as a `model.json`, which only laws can be.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let content = match is_json(path) {
            false => self.to_bytes()?,
            true => {
                let none = || Error::NoLaw {
                    kind: self.actor.kind.to_string(),
                };
                self.to_json()?.ok_or_else(none)?.into_bytes()
            }
        };
        Ok(write_whole(path, &content)?)
    }

    /// Reads what was saved.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let most = match is_json(path) {
            true => input::MOST_TEXT,
            false => input::MOST_BINARY,
        };
        let bytes = input::read(path, most).map_err(|source| Error::Io {
            action: "read",
            path: path.into(),
            source,
        })?;
        if !is_json(path) {
            return PolicyFile::from_bytes(&bytes, path);
        }
        let text = String::from_utf8(bytes).map_err(|_| Error::PolicyFile {
            path: path.into(),
            reason: "it is no text in UTF-8".into(),
        })?;
        PolicyFile::from_json(&text, path)
    }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json")
}

impl Actor {
    /// The policy as a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.file().to_bytes()
    }

    /// The policy in a file; `path` is for messages.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Actor> {
        Ok(PolicyFile::from_bytes(bytes, path)?.actor)
    }

    fn file(&self) -> PolicyFile {
        PolicyFile {
            actor: self.clone(),
            trained_in: None,
        }
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
