//! What is fuzzed: a file for each parser.

mod certificate;
mod checkpoint;
mod config;
mod csv;
mod environment;
mod expression;
mod gz;
mod http;
mod idx;
mod journal;
mod library;
mod model;
mod npz;
mod parquet;
mod policy;
mod samples;
mod statistics;
mod table;
mod text;

use std::path::{Path, PathBuf};

use crate::{dice::Dice, verdict::Verdict};

/// A parser, with valid inputs and ways to spoil them.
pub trait Target {
    /// What the files of its cases end with.
    fn extension(&self) -> &'static str;
    /// Small valid inputs, made by the library itself.
    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>>;
    /// One of the seeds, changed; a function of the dice alone.
    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8>;
    /// Reads the bytes, and checks what is promised of the result.
    fn run(&mut self, bytes: &[u8]) -> Verdict;
}

/// Makes a target; only `http` needs the program.
type Make = fn(&Path) -> anyhow::Result<Box<dyn Target>>;

/// All targets by their names.
const ALL: [(&str, Make); 16] = [
    ("csv", |_| Ok(Box::new(csv::Csv::new()?))),
    ("gz", |_| Ok(Box::new(gz::Gz::new()?))),
    ("parquet", |_| Ok(Box::new(parquet::Parquet::new()?))),
    ("npz", |_| Ok(Box::new(npz::Npz::new()?))),
    ("idx", |_| Ok(Box::new(idx::Idx::new()?))),
    ("model", |_| Ok(Box::new(model::ModelFile))),
    ("statistics", |_| {
        Ok(Box::new(statistics::Statistics::new()?))
    }),
    ("config", |_| Ok(Box::new(config::Config::new()?))),
    ("checkpoint", |_| {
        Ok(Box::new(checkpoint::Checkpoint::new()?))
    }),
    ("journal", |_| Ok(Box::new(journal::JournalFile::new()?))),
    ("library", |_| Ok(Box::new(library::TARGET))),
    ("expression", |_| Ok(Box::new(expression::TARGET))),
    ("environment", |_| Ok(Box::new(environment::TARGET))),
    ("policy", |_| Ok(Box::new(policy::TARGET))),
    ("certificate", |_| Ok(Box::new(certificate::TARGET))),
    ("http", |binary| Ok(Box::new(http::Http::new(binary)?))),
];

/// The names of all targets.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// Whether a target needs the program itself, built and at hand.
#[must_use]
pub fn needs_program(name: &str) -> bool {
    name == "http"
}

/// The target of a name; `binary` is the program.
pub fn make(name: &str, binary: &Path) -> anyhow::Result<Box<dyn Target>> {
    let known = ALL.iter().find(|(n, _)| *n == name);
    let (_, make) = known.ok_or_else(|| {
        let all = names().collect::<Vec<_>>().join(", ");
        anyhow::anyhow!("there is no parser `{name}`; there are {all}")
    })?;
    make(binary)
}

/// Makes the cases of a target by their numbers.
pub struct Cases {
    name: String,
    seeds: Vec<Vec<u8>>,
    seed: u64,
}

impl Cases {
    /// The cases of a seed.
    pub fn new(name: &str, target: &dyn Target, seed: u64) -> anyhow::Result<Self> {
        Ok(Cases {
            name: name.into(),
            seeds: target.seeds()?,
            seed,
        })
    }

    /// The bytes of a case. One in 64 is a seed as it is: a parser that refuses everything would pass all the others.
    #[must_use]
    pub fn bytes(&self, target: &dyn Target, case: u64) -> Vec<u8> {
        let mut dice = Dice::of(self.seed, &self.name, case);
        if dice.one_in(64) {
            return dice.pick(&self.seeds).clone();
        }
        target.mutate(&mut dice, &self.seeds)
    }
}

/// The program beside this one, as `cargo build --release` leaves them.
pub fn program_beside() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let name = format!("ell0{}", std::env::consts::EXE_SUFFIX);
    // Tests lie one folder deeper.
    let places = own.ancestors().skip(1).take(2).map(|p| p.join(&name));
    let found = places.into_iter().find(|p| p.is_file());
    found.ok_or_else(|| {
        anyhow::anyhow!(
            "there is no {name} beside {}: `cargo build --release -p ell0-cli` makes it, --binary names another",
            own.display()
        )
    })
}
