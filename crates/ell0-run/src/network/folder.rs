//! The folder of a run of networks.

use std::path::{Path, PathBuf};

use ell0::export::Format;
use ell0_data::write::write_whole;

use super::{FILE, NetworkData, NetworkRun, NetworkRunSettings, SparseNetwork};
use crate::{
    error::Result,
    export::{ExportSettings, Exportable},
    files,
    folder::{
        growing::{Kind, read_settings},
        only_names,
    },
    report,
};

/// The folders inside the folder of a run.
pub(super) const INSIDE: &[&str] = &["checkpoints", "networks", "export"];

/// The files of a run.
const FILES: &[&str] = &[
    "config.toml",
    "metrics.jsonl",
    "results.json",
    FILE,
    "learning.svg",
    "learning.png",
    "gates.svg",
    "gates.png",
    "calibration.svg",
    "calibration.png",
    "inputs.svg",
    "inputs.png",
    "path.svg",
    "path.png",
    report::FILE,
    report::COMMAND,
];

/// Files of exported networks.
const EXPORTED: &[&str] = &["network.h", "network.c", "network.onnx"];

/// What a run of networks leaves in its folder.
pub(super) fn kind() -> Kind {
    Kind {
        name: "networks",
        files: FILES.iter().map(ToString::to_string).collect(),
        inside: INSIDE,
        check: only_networks,
    }
}

/// Whether the folders inside hold nothing but the networks of a run.
fn only_networks(folder: &Path) -> Result<()> {
    let settings: NetworkRunSettings = read_settings(folder, "a run of networks")?;
    let all = |endings: &[&str]| -> Vec<String> {
        let names = settings.names();
        let with = |name: &String| {
            endings
                .iter()
                .map(|e| format!("{name}{e}"))
                .collect::<Vec<_>>()
        };
        names.iter().flat_map(with).collect()
    };
    let own = [
        ("checkpoints", all(&[".safetensors", ".seconds"])),
        ("networks", all(&[".safetensors"])),
        ("export", EXPORTED.iter().map(|e| (*e).into()).collect()),
    ];
    for (inside, names) in own {
        let inside = folder.join(inside);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if inside.exists() {
            only_names(&inside, &names)?;
        }
    }
    Ok(())
}

impl NetworkData {
    /// All files that are read.
    pub(super) fn paths(&self) -> Vec<&Path> {
        let files = [&self.files, &self.labels, &self.test, &self.test_labels];
        files.into_iter().flatten().map(PathBuf::as_path).collect()
    }
}

impl NetworkRun {
    /// Writes a finished run: its networks, the chosen one also in other languages, its figures and its page.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let put = |name: &str, content: &[u8]| write_whole(folder.join(name), content);
        for (result, network) in self.rows().iter().zip(&self.networks) {
            let bytes = network.to_bytes()?;
            put(&format!("networks/{}.safetensors", result.name), &bytes)?;
        }
        if let Some((_, network)) = self.chosen() {
            put(FILE, &network.to_bytes()?)?;
            let what = Exportable::Network(network.exportable()?);
            for format in [Format::C, Format::Onnx] {
                let settings = ExportSettings {
                    format,
                    name: Some("network".into()),
                    float: true,
                    replace: true,
                };
                for file in settings.files(&what)? {
                    put(&format!("export/{}", file.name), &file.content)?;
                }
            }
        }
        for (name, figure) in self.figures() {
            put(&format!("{name}.svg"), figure.svg().as_bytes())?;
            put(&format!("{name}.png"), &figure.png(2.0)?)?;
        }
        // Last: a folder with results is finished.
        put("results.json", files::to_json(&self.rows())?.as_bytes())?;
        report::write(folder).map(drop)
    }

    /// Reads the run in a folder, as far as it has come.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let settings: NetworkRunSettings = read_settings(folder, "a run of networks")?;
        let (results, metrics) = (folder.join("results.json"), folder.join("metrics.jsonl"));
        let results = results
            .exists()
            .then(|| files::read_json(&results))
            .transpose()?;
        let mut networks = Vec::new();
        for name in settings.names() {
            let file = folder.join(format!("networks/{name}.safetensors"));
            if file.exists() {
                networks.push(SparseNetwork::read(&file)?);
            }
        }
        Ok(NetworkRun {
            settings,
            results,
            networks,
            metrics: match metrics.exists() {
                true => files::read_lines(&metrics)?,
                false => Vec::new(),
            },
        })
    }
}
