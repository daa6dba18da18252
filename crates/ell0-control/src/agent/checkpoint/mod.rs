//! Training on the disk, in files beside each other:
//!
//! | file | contents | how it is written |
//! | --- | --- | --- |
//! | `STEM.safetensors` | what learns, and counters | whole or not at all, last |
//! | `STEM.replay`, or `STEM.replay2` | experience | appended; when it has grown to twice the ring, the ring goes to the other of the two |
//! | `STEM.jsonl` | an [`EpisodeRecord`] a line; a later line of the same episode replaces an earlier one | appended |
//! | `STEM.policy` | the policy alone: see [`Actor::load`](super::Actor::load) | whole or not at all |
//!
//! The first says how much of the others counts; what follows is cut off when training goes on. So a process that is killed leaves the state of its last save. Random streams are functions of the
//! seed and of counters: a resumed run goes on to the same bits.

mod episodes;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use ell0::{
    checkpoint::{Journal, Tensor, from_bytes, to_bytes, write_whole},
    input,
    rng::Stream,
};
use serde::{Deserialize, Serialize};

use self::episodes::{Episodes, Lines};
use super::{
    Actor, EnvironmentSteps, EpisodeRecord, Memory, TrainConfig, Training, selection::Selection,
};
use crate::{
    environment::{Environment, Space, Tied},
    error::{Error, Result},
    replay::Replay,
};

/// The format of the state of a training, as its header says it. The policy alone is beside it: see [`Saver::policy_file`].
pub const TRAINING_FORMAT: &str = "ell0-training";
const VERSION: u32 = 4;

/// Endings of the files of a stem: the state, experience (one of two), episodes, the policy.
const STATE: &str = ".safetensors";
const REPLAY: [&str; 2] = [".replay", ".replay2"];
const EPISODES: &str = ".jsonl";
const POLICY: &str = ".policy";

/// Under this name every algorithm remembers the parameters of its policy.
const POLICY_PARAMETERS: &str = "policy.parameters";

/// Numbers that are appended to a journal at a time.
const BLOCK: usize = 1 << 18;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    config: TrainConfig,
    world: String,
    observation: Space,
    action: Space,
    tied: Option<Tied>,
    episode: u64,
    steps: EnvironmentSteps,
    q_scale: f64,
    steering: Vec<f64>,
    selection: Selection,
    counters: BTreeMap<String, u64>,
    replay: Experience,
    episodes: Lines,
}

/// How much of which journal counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Experience {
    file: usize,
    /// Which of all transitions the first row is.
    first: u64,
    rows: u64,
}

/// The name of the parameters of a policy that was evaluated.
fn candidate_name(k: usize) -> String {
    format!("candidate{k}.parameters")
}

fn beside(stem: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(stem);
    name.push(ending);
    name.into()
}

fn wrong(path: &Path, reason: impl ToString) -> Error {
    Error::Checkpoint {
        path: path.into(),
        reason: reason.to_string(),
    }
}

fn failed(action: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::Io {
        action,
        path: path.into(),
        source,
    }
}

/// Saves a training again and again, each time only what is new.
#[derive(Debug)]
pub struct Saver {
    stem: PathBuf,
    journal: Journal,
    experience: Experience,
    /// The journal that the state on the disk speaks of: never to be overwritten.
    named: usize,
    episodes: Episodes,
}

impl Saver {
    /// Whether there is a state to go on with.
    #[must_use]
    pub fn exists(stem: impl AsRef<Path>) -> bool {
        beside(stem.as_ref(), STATE).exists()
    }

    /// All files that a stem may have.
    #[must_use]
    pub fn files(stem: impl AsRef<Path>) -> Vec<PathBuf> {
        let endings = [STATE, REPLAY[0], REPLAY[1], EPISODES, POLICY];
        let stem = stem.as_ref();
        endings.iter().map(|e| beside(stem, e)).collect()
    }

    /// Where the policy alone is.
    #[must_use]
    pub fn policy_file(stem: impl AsRef<Path>) -> PathBuf {
        beside(stem.as_ref(), POLICY)
    }

    /// Where the episodes are, a line each.
    #[must_use]
    pub fn episodes_file(stem: impl AsRef<Path>) -> PathBuf {
        beside(stem.as_ref(), EPISODES)
    }

    /// Begins to save a training under a stem, in place of whatever is there.
    pub fn create(stem: impl AsRef<Path>, training: &Training) -> Result<Self> {
        let stem = stem.as_ref();
        // Without its state, the rest of an older training means nothing.
        for path in Saver::files(stem) {
            match std::fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed("delete", &path, e));
                }
                _ => {}
            }
        }
        let replay = beside(stem, REPLAY[0]);
        let journal = Journal::create(&replay, training.replay.width())?;
        let forgotten = training.replay.added() - training.replay.len() as u64;
        Ok(Saver {
            stem: stem.into(),
            journal,
            experience: Experience {
                first: forgotten,
                ..Experience::default()
            },
            named: 1,
            episodes: Episodes::create(beside(stem, EPISODES))?,
        })
    }

    /// The episodes under a stem, of a training that may be under way.
    pub fn read_episodes(stem: impl AsRef<Path>) -> Result<Vec<EpisodeRecord>> {
        episodes::read(&beside(stem.as_ref(), EPISODES))
    }

    /// Saves what is new. After an error, the state before it is still there. A training that failed in the midst of its updates is not saved: nothing can go on from there.
    pub fn save(&mut self, training: &Training) -> Result<()> {
        if training.history.len() as u64 != training.episode {
            let reason = "the updates after its last episode failed; the state before them stays";
            return Err(wrong(&beside(&self.stem, STATE), reason));
        }
        self.push_experience(&training.replay)?;
        self.episodes.push(&training.history)?;
        let Memory {
            mut tensors,
            counters,
        } = training.agent.memory();
        for (k, candidate) in training.selection.candidates.iter().enumerate() {
            tensors.insert(candidate_name(k), candidate.parameters.clone());
        }
        let header = Header {
            config: training.config.clone(),
            world: training.world().text(),
            observation: training.world().observation_space().clone(),
            action: training.world().action_space().clone(),
            tied: training.actor().tied().cloned(),
            episode: training.episode,
            steps: training.steps,
            q_scale: training.q_scale,
            steering: training.steering.clone(),
            selection: training.selection.clone(),
            counters,
            replay: self.experience,
            episodes: self.episodes.lines(),
        };
        let tensors: Vec<(String, Tensor)> = tensors
            .into_iter()
            .map(|(name, values)| (name, Tensor::flat(values)))
            .collect();
        let bytes = to_bytes(TRAINING_FORMAT, VERSION, &header, &tensors)?;
        write_whole(beside(&self.stem, STATE), &bytes)?;
        self.named = self.experience.file;
        // Nothing points to the other one any more; should it stay, it is deleted when training goes on.
        let _ = std::fs::remove_file(beside(&self.stem, REPLAY[1 - self.named]));
        training.policy().save(beside(&self.stem, POLICY))
    }

    /// Appends transitions that are not on the disk yet, or moves to a new journal.
    fn push_experience(&mut self, replay: &Replay) -> Result<()> {
        let end = self.experience.first + self.journal.rows();
        let capacity = replay.capacity() as u64;
        let rows = replay.added() - self.experience.first;
        let fresh = match replay.since(end) {
            Some(pieces) if rows <= 2 * capacity => pieces,
            // The journal is long enough, or transitions were forgotten before they were saved: the ring alone.
            _ => {
                let file = 1 - self.named;
                let path = beside(&self.stem, REPLAY[file]);
                self.journal = Journal::create(&path, replay.width())?;
                let first = replay.added() - replay.len() as u64;
                self.experience = Experience {
                    file,
                    first,
                    rows: 0,
                };
                replay.since(first).unwrap_or_default()
            }
        };
        let block = (BLOCK / replay.width()).max(1) * replay.width();
        for rows in fresh.iter().flat_map(|piece| piece.chunks(block)) {
            self.journal.append(rows)?;
        }
        self.journal.sync()?;
        self.experience.rows = self.journal.rows();
        Ok(())
    }
}

impl Actor {
    /// The policy that the state of a training has to show for itself: see [`Training::policy`].
    pub fn of_training(state: impl AsRef<Path>) -> Result<Actor> {
        let state = state.as_ref();
        let bytes = input::read(state, input::MOST_BINARY).map_err(|e| failed("read", state, e))?;
        let (header, tensors) = from_bytes::<Header>(TRAINING_FORMAT, VERSION, &bytes, state)?;
        let stream = Stream::new(0);
        let kind = header.config.kind()?;
        let mut actor = Actor::build(
            &kind,
            &header.observation,
            &header.action,
            header.tied,
            &stream,
        )?;
        let mut selection = header.selection;
        let size = actor.parameters().len();
        for (k, candidate) in selection.candidates.iter_mut().enumerate() {
            candidate.parameters = tensors.take(&candidate_name(k), &[size])?;
        }
        let parameters = match selection.chosen(header.config.worth()) {
            Some(chosen) => chosen.parameters.clone(),
            None => tensors.take(POLICY_PARAMETERS, &[size])?,
        };
        actor.parameters_mut().copy_from_slice(&parameters);
        Ok(actor)
    }
}

impl Training {
    /// Goes on with the training under a stem. The settings and the world must be those that it began with; only the number of episodes may be another.
    pub fn resume(
        stem: impl AsRef<Path>,
        config: TrainConfig,
        world: Box<dyn Environment>,
    ) -> Result<(Training, Saver)> {
        let stem = stem.as_ref();
        let state = beside(stem, STATE);
        let bytes =
            input::read(&state, input::MOST_BINARY).map_err(|e| failed("read", &state, e))?;
        let (header, tensors) = from_bytes::<Header>(TRAINING_FORMAT, VERSION, &bytes, &state)?;
        let begun_with = TrainConfig {
            episodes: config.episodes,
            ..header.config
        };
        if begun_with != config {
            return Err(wrong(&state, "it was begun with other settings"));
        }
        let mut training = Training::new(config, world)?;
        let world = training.world();
        if header.world != world.text()
            || header.observation != *world.observation_space()
            || header.action != *world.action_space()
        {
            let reason = format!(
                "it was begun in another world: {}, not {}, or with other observations or actions",
                header.world,
                world.text()
            );
            return Err(wrong(&state, reason));
        }
        let mut memory = Memory {
            counters: header.counters,
            ..Memory::default()
        };
        for name in tensors.names() {
            memory.tensors.insert(name.into(), tensors.take_flat(name)?);
        }
        training.selection = header.selection;
        let size = training.agent.policy_parameters().len();
        for (k, candidate) in training.selection.candidates.iter_mut().enumerate() {
            let taken = memory.take(&candidate_name(k), size);
            candidate.parameters = taken.map_err(|e| wrong(&state, e))?;
        }
        training
            .agent
            .restore(memory)
            .map_err(|e| wrong(&state, e))?;

        let Experience { file, first, rows } = header.replay;
        let name = REPLAY.get(file);
        let name = name.ok_or_else(|| wrong(&state, "it names no file of experience"))?;
        let path = beside(stem, name);
        let (values, journal) = Journal::read(&path, training.replay.width(), rows)?;
        let _ = std::fs::remove_file(beside(stem, REPLAY[1 - file]));
        let restored = training.replay.restored(values, first);
        training.replay = restored.ok_or_else(|| wrong(&path, "its experience does not fit"))?;

        let path = beside(stem, EPISODES);
        let (history, episodes) = Episodes::resume(path.clone(), &header.episodes)?;
        if history.len() as u64 != header.episode {
            return Err(wrong(
                &path,
                "it does not hold as many episodes as were trained",
            ));
        }
        training.history = history;
        training.episode = header.episode;
        training.steps = header.steps;
        training.q_scale = header.q_scale;
        if header.steering.len() != training.steering.len() {
            return Err(wrong(&state, "it has another number of laws"));
        }
        training.steering = header.steering;
        let saver = Saver {
            stem: stem.into(),
            journal,
            experience: header.replay,
            named: file,
            episodes,
        };
        Ok((training, saver))
    }
}
