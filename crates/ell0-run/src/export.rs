//! A finished model or policy in another language.

use std::path::{Path, PathBuf};

use ell0::{
    checkpoint::format_of,
    equation::{Model, Node},
    export::{File, Format, Network, Options, export, export_network},
    features::Function,
    input,
    network::Mlp,
    wording::shown_path,
};
use ell0_control::agent::{Actor, POLICY_FORMAT, TRAINING_FORMAT};

use ell0_data::write::write_whole;

use crate::{
    error::{About, Error, Result},
    model::read_model,
    network::{self, SparseNetwork},
    out_file::OutFile,
};

/// What can be exported.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time")]
pub enum Exportable {
    /// Equations.
    Equations(Model),
    /// A network without its closed gates.
    Network(Network),
    /// A network that acts: its outputs are brought into the range of the actions.
    Policy(Network),
}

/// What is exported, and how.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `format` | C | the language |
/// | `name` | policy for what acts, else model | name of the function and its files |
/// | `float` | no | single precision (C, Rust, ONNX) |
/// | `replace` | no | whether files are overwritten |
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct ExportSettings {
    pub format: Format,
    pub name: Option<String>,
    pub float: bool,
    pub replace: bool,
}

impl Default for ExportSettings {
    fn default() -> Self {
        ExportSettings {
            format: Format::C,
            name: None,
            float: false,
            replace: false,
        }
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The name of the function.
    pub name: String,
    /// The files.
    pub files: Vec<PathBuf>,
}

impl Exportable {
    /// Reads a model file, a policy's file, a network's checkpoint, or the model of a run's folder.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let network = path.join(network::FILE);
        if network.exists() {
            return Exportable::read(network);
        }
        if path.extension().is_none_or(|e| e != "safetensors") {
            return Ok(Exportable::Equations(read_model(path)?));
        }
        let bytes = input::read(path, input::MOST_BINARY).map_err(Error::io("read", path))?;
        if format_of(&bytes, path).is_ok_and(|f| f == network::FORMAT) {
            let network = SparseNetwork::from_bytes(&bytes, path)?;
            return Ok(Exportable::Network(network.exportable()?));
        }
        let actor = match format_of(&bytes, path).as_deref() {
            Ok(POLICY_FORMAT) => Some(Actor::from_bytes(&bytes, path)),
            Ok(TRAINING_FORMAT) => Some(Actor::of_training(path)),
            _ => None,
        };
        if let Some(actor) = actor {
            let actor = actor.about(|| format!("{} holds no policy", shown_path(path)))?;
            return Exportable::of_actor(&actor);
        }
        let compact = Mlp::from_checkpoint(path)?.compact()?;
        // A network's checkpoint knows no names.
        let names = |letter: &str, n: usize| (0..n).map(|k| format!("{letter}{k}")).collect();
        let (inputs, outputs) = (
            names("x", compact.original_inputs()),
            names("y", compact.network().architecture().outputs()),
        );
        Ok(Exportable::Network(Network::new(compact, inputs, outputs)?))
    }

    /// A policy in closed form or as a network, whichever it is.
    pub fn of_actor(actor: &Actor) -> Result<Self> {
        match (actor.network()?, actor.model()?) {
            (Some(network), _) => Ok(Exportable::Policy(network)),
            (None, Some(model)) => Ok(Exportable::Equations(model)),
            (None, None) => Err(Error::Settings("there is no policy")),
        }
    }

    fn default_name(&self) -> &'static str {
        match self {
            Exportable::Equations(model) if is_policy(model) => "policy",
            Exportable::Policy(_) => "policy",
            Exportable::Equations(_) | Exportable::Network(_) => "model",
        }
    }

    fn files(&self, format: Format, options: &Options) -> ell0::Result<Vec<File>> {
        match self {
            Exportable::Equations(model) => export(model, format, options),
            Exportable::Network(network) | Exportable::Policy(network) => {
                export_network(network, format, options)
            }
        }
    }
}

/// Whether every output is max·tanh(…), as that of a policy.
fn is_policy(model: &Model) -> bool {
    let bounded = |node: &Node| matches!(node, Node::Call(Function::Tanh, _));
    let scaled = |node: &Node| match node {
        Node::Product(parts) => {
            matches!(&parts[..], [Node::Number(_), inner] if bounded(inner))
        }
        root => bounded(root),
    };
    model.expressions().all(|e| match e.root() {
        // Of a range that is not symmetric.
        Node::Sum(parts) => matches!(&parts[..], [Node::Number(_), inner] if scaled(inner)),
        root => scaled(root),
    })
}

impl ExportSettings {
    fn name_of<'a>(&'a self, what: &Exportable) -> &'a str {
        self.name.as_deref().unwrap_or(what.default_name())
    }

    /// The files, not written.
    pub(crate) fn files(&self, what: &Exportable) -> Result<Vec<File>> {
        let options = Options {
            name: self.name_of(what).into(),
            float: self.float,
        };
        Ok(what.files(self.format, &options)?)
    }

    /// Refuses to write over one of the files, or over a file of one of the folders, that are `read`.
    pub fn check<P: AsRef<Path>>(
        &self,
        what: &Exportable,
        folder: impl AsRef<Path>,
        read: &[P],
    ) -> Result<()> {
        let places = self
            .files(what)?
            .into_iter()
            .map(|file| folder.as_ref().join(file.name));
        for place in places {
            OutFile::new(place).replacing(self.replace).check(read)?;
        }
        Ok(())
    }

    /// Writes the files into a folder, each whole or not at all.
    pub fn run(&self, what: &Exportable, folder: impl AsRef<Path>) -> Result<Exported> {
        let folder = folder.as_ref();
        self.check::<&Path>(what, folder, &[])?;
        std::fs::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
        let mut places = Vec::new();
        for file in self.files(what)? {
            let place = folder.join(&file.name);
            write_whole(&place, &file.content)?;
            places.push(place);
        }
        Ok(Exported {
            name: self.name_of(what).into(),
            files: places,
        })
    }
}
