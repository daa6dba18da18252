//! `ell0 export`: a finished model in another language.

use std::{
    io::{Write, stdout},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use clap::Args;
use ell0::{
    equation::{Model, Node},
    export::{File, Format, Network, Options, export, export_network},
    features::Function,
    network::Mlp,
};
use ell0_control::agent::Actor;
use ell0_data::write::write_whole;

use super::model::load;

/// Write a model or policy in another language
///
/// c: C99 with a header, libm alone, no heap, a self-test. rust: with or without std. python: NumPy. matlab: also Octave. sympy, latex, json: equations. onnx: double precision, networks single.
/// Networks (the .safetensors files of `ell0 tutorial` and `ell0 train`) are written without their closed gates, as c, rust, python, matlab or onnx.
#[derive(Args)]
#[command(after_help = "Examples:
  ell0 export runs/pendulum/policies/seed0.json --to c --out firmware
  ell0 export model.json --to c --float --name plant
  ell0 export model.json --to sympy
  ell0 export runs/tutorial-dynamics/models/sparse-network.safetensors --to onnx")]
pub struct Export {
    /// model.json, the folder of a run, or a network's .safetensors
    model: PathBuf,
    /// c, rust, python, sympy, latex, matlab, onnx or json
    #[arg(long, value_name = "FORMAT")]
    to: Format,
    /// Folder for the files
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Name of the function and its files [default: policy if all outputs are bounded by tanh, else model]
    #[arg(long)]
    name: Option<String>,
    /// Single precision (c, rust, onnx)
    #[arg(long)]
    float: bool,
    /// Overwrite files
    #[arg(long)]
    force: bool,
}

/// What a file holds.
enum Subject {
    Equations(Model),
    Network(Network),
    Policy(Network),
}

impl Subject {
    fn read(path: &Path) -> anyhow::Result<Self> {
        if path.extension().is_none_or(|e| e != "safetensors") {
            return Ok(Subject::Equations(load(path)?));
        }
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        if header_format(&bytes).is_some_and(|format| format == "ell0-training") {
            let wrong = || format!("{} holds no policy", path.display());
            let actor = Actor::from_checkpoint(&bytes).with_context(wrong)?;
            return match (actor.network()?, actor.model()?) {
                (Some(network), _) => Ok(Subject::Policy(network)),
                (None, Some(model)) => Ok(Subject::Equations(model)),
                (None, None) => bail!(wrong()),
            };
        }
        let compact = Mlp::from_checkpoint(path)?.compact()?;
        // A network's checkpoint knows no names.
        let names = |letter: &str, n: usize| (0..n).map(|k| format!("{letter}{k}")).collect();
        let (inputs, outputs) = (
            names("x", compact.original_inputs()),
            names("y", compact.network().architecture().outputs()),
        );
        Ok(Subject::Network(Network::new(
            compact, inputs, outputs, None,
        )?))
    }

    fn default_name(&self) -> &'static str {
        match self {
            Subject::Equations(model) if is_policy(model) => "policy",
            Subject::Policy(_) => "policy",
            Subject::Equations(_) | Subject::Network(_) => "model",
        }
    }

    fn export(&self, format: Format, options: &Options) -> ell0::Result<Vec<File>> {
        match self {
            Subject::Equations(model) => export(model, format, options),
            Subject::Network(network) | Subject::Policy(network) => {
                export_network(network, format, options)
            }
        }
    }
}

/// Whether every output is max·tanh(…), as that of a policy.
fn is_policy(model: &Model) -> bool {
    let bounded = |node: &Node| matches!(node, Node::Call(Function::Tanh, _));
    model.expressions().iter().all(|e| match e.root() {
        Node::Product(parts) => {
            matches!(&parts[..], [Node::Number(_), inner] if bounded(inner))
        }
        root => bounded(root),
    })
}

/// The format that the header of a safetensors file names: its length in eight bytes, then JSON, in which our own header is a text.
fn header_format(bytes: &[u8]) -> Option<String> {
    let length = u64::from_le_bytes(*bytes.first_chunk()?);
    let end = usize::try_from(length).ok()?.checked_add(8)?;
    let header: serde_json::Value = serde_json::from_slice(bytes.get(8..end)?).ok()?;
    let ours = header.get("__metadata__")?.get("ell0")?.as_str()?;
    let ours: serde_json::Value = serde_json::from_str(ours).ok()?;
    Some(ours.get("format")?.as_str()?.to_string())
}

impl Export {
    pub fn run(&self) -> anyhow::Result<()> {
        let subject = Subject::read(&self.model)?;
        let name = self.name.as_deref().unwrap_or(subject.default_name());
        let options = Options {
            name: name.into(),
            float: self.float,
        };
        let files = subject.export(self.to, &options)?;
        std::fs::create_dir_all(&self.out)
            .with_context(|| format!("cannot make the folder {}", self.out.display()))?;
        let places: Vec<PathBuf> = files.iter().map(|f| self.out.join(&f.name)).collect();
        if let Some(place) = places.iter().find(|place| !self.force && place.exists()) {
            bail!(
                "{} exists already: choose another folder with --out or another --name, or overwrite it with --force",
                place.display()
            );
        }
        let mut screen = stdout().lock();
        for (file, place) in files.iter().zip(&places) {
            ensure!(
                !place.is_dir(),
                "{} is a folder: choose another --name",
                place.display()
            );
            write_whole(place, &file.content)?;
            writeln!(screen, "{}", place.display())?;
        }
        if self.to == Format::C {
            let test = self.out.join(format!("{name}_test"));
            let program = if test.is_absolute() || test.starts_with("..") {
                test.clone()
            } else {
                Path::new(".").join(test.strip_prefix(".").unwrap_or(&test))
            };
            writeln!(
                screen,
                "Self-test: cc -std=c99 -O2 -D{}_SELF_TEST {} -o {} -lm && {}",
                name.to_ascii_uppercase(),
                self.out.join(format!("{name}.c")).display(),
                test.display(),
                program.display()
            )?;
        }
        Ok(())
    }
}
