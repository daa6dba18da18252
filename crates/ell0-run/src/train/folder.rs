//! The folder of a training.

use std::path::Path;

use ell0_control::agent::{Actor, Saver};
use ell0_data::write::write_whole;

use super::{
    TrainSettings, events,
    job::Job,
    results::{TrainedPolicy, TrainingRun},
};
use crate::{
    error::Result,
    files,
    folder::{
        growing::{Kind, read_settings},
        only_names,
    },
    report,
};

/// The folders inside the folder of a run.
pub(super) const INSIDE: &[&str] = &["checkpoints", "policies", "events"];

/// The files of a run.
const FILES: &[&str] = &[
    "config.toml",
    "metrics.jsonl",
    "results.json",
    "returns.svg",
    "returns.png",
    "frontier.svg",
    "frontier.png",
    report::FILE,
    report::COMMAND,
];

/// Endings of the files of a job: in `checkpoints`, in `policies`, and its folder in `events`.
const ENDINGS: [&[&str]; 3] = [
    &[
        ".safetensors",
        ".seconds",
        ".replay",
        ".replay2",
        ".jsonl",
        ".policy",
    ],
    &[".json", ".safetensors"],
    &[""],
];

/// What a training leaves in its folder.
pub(crate) fn kind() -> Kind {
    Kind {
        name: "training",
        files: FILES.iter().map(ToString::to_string).collect(),
        inside: INSIDE,
        check: only_jobs,
    }
}

/// Whether the folders inside hold nothing but files of the jobs of a training.
fn only_jobs(folder: &Path) -> Result<()> {
    let settings: TrainSettings = read_settings(folder, "a training")?;
    let jobs = settings.jobs();
    for (inside, endings) in INSIDE.iter().zip(ENDINGS) {
        let inside = folder.join(inside);
        if !inside.exists() {
            continue;
        }
        let named = |j: &Job| {
            endings
                .iter()
                .map(|e| j.name.clone() + e)
                .collect::<Vec<_>>()
        };
        let names: Vec<String> = jobs.iter().flat_map(named).collect();
        let ours: Vec<&str> = names.iter().map(String::as_str).collect();
        only_names(&inside, &ours)?;
        if endings == [""] {
            for name in names.iter().map(|n| inside.join(n)).filter(|p| p.exists()) {
                only_names(&name, &[events::FILE])?;
            }
        }
    }
    Ok(())
}

impl TrainingRun {
    /// Writes the results of a finished run, its figures and its page.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let put = |name: &str, content: &[u8]| write_whole(folder.join(name), content);
        for policy in &self.policies {
            if let Some(law) = &policy.law {
                let name = format!("policies/{}.json", policy.name);
                put(&name, (law.to_json() + "\n").as_bytes())?;
            }
        }
        let mut figures = vec![("returns", self.returns_figure())];
        if self.settings.agents.len() > 1 {
            figures.push(("frontier", self.frontier_figure()));
        }
        for (name, figure) in figures {
            put(&format!("{name}.svg"), figure.svg().as_bytes())?;
            put(&format!("{name}.png"), &figure.png(2.0)?)?;
        }
        put("results.json", files::to_json(&self.rows())?.as_bytes())?;
        report::write(folder).map(drop)
    }

    /// Reads the run in a folder, as far as it has come.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let settings: TrainSettings = read_settings(folder, "a training")?;
        let (results, metrics) = (folder.join("results.json"), folder.join("metrics.jsonl"));
        let results = results
            .exists()
            .then(|| files::read_json(&results))
            .transpose()?;
        let mut policies = Vec::new();
        for job in settings.jobs() {
            let place = |ending: &str| folder.join(format!("policies/{}{ending}", job.name));
            // The finished policy, or as far as it has come.
            let files = [place(".safetensors"), Saver::policy_file(job.stem(folder))];
            let Some(file) = files.iter().find(|file| file.exists()) else {
                continue;
            };
            let actor = Actor::load(file)?;
            policies.push(TrainedPolicy {
                law: actor.model()?,
                actor,
                name: job.name,
            });
        }
        Ok(TrainingRun {
            results,
            policies,
            metrics: if metrics.exists() {
                files::read_lines(&metrics)?
            } else {
                Vec::new()
            },
            settings,
        })
    }
}
