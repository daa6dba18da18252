//! All models of a task, trained side by side in a folder that goes on where it was interrupted.

use std::path::Path;

use ell0::training::EpochRecord;
use ell0_data::write::write_whole;
use serde::{Deserialize, Serialize};

use super::{
    ModelResult,
    data::Data,
    models::{Kind, Task},
    models_figure::figure,
    one_model::{Finished, Training},
};
use crate::{
    error::{Error, Result},
    files,
    folder::{
        growing::{self, Site, read_settings},
        only_names,
    },
    jobs::side_by_side,
    metrics::{Line, Metrics},
    observer::{Event, Observer},
    report,
};

/// Everything that the comparison of models depends on.
///
/// | setting | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `task` | dynamics | what is learned | |
/// | `epochs` | 500 | epochs of 781 batches | ≥ 1 |
/// | `seed` | 0 | of the data, the weights, the batches and the gates | |
/// | `lambda_factor` | 1 | factor of the prices of a weight | ≥ 0 |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct ModelsSettings {
    pub task: Task,
    pub epochs: u64,
    pub seed: u64,
    pub lambda_factor: f64,
}

/// Epochs of a quick run.
pub(super) const QUICK_EPOCHS: u64 = 25;

/// The folders inside the folder of a run.
const INSIDE: &[&str] = &["checkpoints", "models"];

/// The files of a run.
const FILES: &[&str] = &[
    "config.toml",
    "metrics.jsonl",
    "results.json",
    "figure.svg",
    "figure.png",
    report::FILE,
    report::COMMAND,
];

/// One epoch of one model, in `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelEpoch {
    /// What is learned.
    pub task: Task,
    /// The name of the model.
    pub model: String,
    /// The epoch.
    #[serde(flatten)]
    pub record: EpochRecord,
}

impl Line for ModelEpoch {
    fn job(&self) -> &str {
        &self.model
    }
}

/// A comparison of models in its folder, finished or under way.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelsRun {
    /// What it began with.
    pub settings: ModelsSettings,
    /// The rows, if it is finished, in the order of [`Kind::ALL`].
    pub results: Option<Vec<ModelResult>>,
    /// All epochs so far.
    pub metrics: Vec<ModelEpoch>,
}

/// What a comparison leaves in its folder.
pub(super) fn kind() -> growing::Kind {
    growing::Kind {
        name: "models",
        files: FILES.iter().map(ToString::to_string).collect(),
        inside: INSIDE,
        check: only_models,
    }
}

/// Whether the folders inside hold nothing but the models of a comparison.
fn only_models(folder: &Path) -> Result<()> {
    let _: ModelsSettings = read_settings(folder, "a tutorial's models")?;
    let names: Vec<String> = Kind::ALL.iter().map(|k| k.file()).collect();
    let files = |extensions: &[&str]| -> Vec<String> {
        let with = |name: &String| -> Vec<String> {
            extensions.iter().map(|e| format!("{name}.{e}")).collect()
        };
        names.iter().flat_map(with).collect()
    };
    for (inside, ours) in [
        ("models", files(&["json", "safetensors"])),
        ("checkpoints", files(&["safetensors", "seconds"])),
    ] {
        let inside = folder.join(inside);
        if inside.exists() {
            let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
            only_names(&inside, &ours)?;
        }
    }
    Ok(())
}

impl ModelsSettings {
    /// The settings of the paper for a task.
    #[must_use]
    pub fn new(task: Task) -> Self {
        ModelsSettings {
            task,
            epochs: 500,
            seed: 0,
            lambda_factor: 1.0,
        }
    }

    /// The same in under a minute.
    #[must_use]
    pub fn quick(self) -> Self {
        ModelsSettings {
            epochs: QUICK_EPOCHS,
            ..self
        }
    }

    /// Mistakes are found before anything is done.
    pub fn check(&self) -> Result<()> {
        if self.epochs == 0 {
            return Err(Error::setting("epochs", 0, "there must be at least one"));
        }
        if !(self.lambda_factor >= 0.0 && self.lambda_factor.is_finite()) {
            let expected = "it must be finite and not negative";
            return Err(Error::setting(
                "lambda-factor",
                self.lambda_factor,
                expected,
            ));
        }
        Ok(())
    }

    /// Trains all models in a new folder.
    pub fn run(&self, site: &Site, observer: &dyn Observer) -> Result<ModelsRun> {
        self.check()?;
        let command = format!("tutorial {}", self.task.name());
        let _lock = site.begin(&kind(), &command, self)?;
        self.train(&site.folder, observer)
    }

    /// Goes on with the run in a folder, which must be of this task and, where it is given, of this seed.
    pub fn resume(
        site: &Site,
        task: Task,
        seed: Option<u64>,
        observer: &dyn Observer,
    ) -> Result<ModelsRun> {
        let settings: ModelsSettings = site.read("a tutorial's models")?;
        settings.check()?;
        if settings.task != task || seed.is_some_and(|seed| seed != settings.seed) {
            return Err(Error::OtherRun {
                folder: site.folder.clone(),
                found: format!(
                    "a run of `ell0 tutorial {}` with seed {}",
                    settings.task.name(),
                    settings.seed
                ),
                asked: format!(
                    "one of `ell0 tutorial {}`{}",
                    task.name(),
                    seed.map_or(String::new(), |seed| format!(" with seed {seed}"))
                ),
            });
        }
        let _lock = site.go_on(INSIDE)?;
        settings.train(&site.folder, observer)
    }

    fn train(&self, folder: &Path, observer: &dyn Observer) -> Result<ModelsRun> {
        let data = Data::collect(self.task, self.seed)?;
        let training = Training {
            task: self.task,
            epochs: self.epochs,
            seed: self.seed,
            lambda_factor: self.lambda_factor,
            folder,
            data: &data,
            observer,
        };
        let metrics = Metrics::new(folder.join("metrics.jsonl"));
        // The slowest come first, so that no core idles at the end. Every model has its own random stream, so the order does not matter.
        let done = side_by_side(&Kind::ALL, observer, |&kind, observer| {
            let training = Training {
                observer,
                ..training
            };
            self.one(&training, kind, &metrics, observer)
        });
        let done = done.map_err(|error| match error {
            Error::Stopped { .. } => Error::Stopped {
                folder: Some(folder.into()),
            },
            error => error,
        })?;
        let (mut results, mut lines) = (Vec::new(), Vec::new());
        for Finished { row, history } in done {
            lines.extend(history.into_iter().map(|record| ModelEpoch {
                task: self.task,
                model: row.model.clone(),
                record,
            }));
            results.push(row);
        }
        metrics.finish(lines.iter().cloned())?;
        let figure = figure(self.task, &results);
        write_whole(folder.join("figure.svg"), figure.svg().as_bytes())?;
        write_whole(folder.join("figure.png"), &figure.png(2.0)?)?;
        let json = files::to_json(&results)?;
        write_whole(folder.join("results.json"), json.as_bytes())?;
        report::write(folder)?;
        Ok(ModelsRun {
            settings: self.clone(),
            results: Some(results),
            metrics: lines,
        })
    }

    /// One model, told to the observer as a task.
    fn one(
        &self,
        training: &Training,
        kind: Kind,
        metrics: &Metrics<ModelEpoch>,
        observer: &dyn Observer,
    ) -> Result<Finished> {
        let name = kind.name();
        let line = |record: &EpochRecord| ModelEpoch {
            task: self.task,
            model: name.clone(),
            record: record.clone(),
        };
        let steps = match kind {
            Kind::Exact(_) => 1,
            _ => self.epochs,
        };
        let began = Event::Began {
            task: &name,
            steps: Some(steps),
        };
        if observer.hear(began).is_break() {
            return Err(Error::Stopped { folder: None });
        }
        let finished = training.train(
            kind,
            |before| metrics.begin(&name, before.iter().map(line)),
            |record| {
                // Those who look at the file while it grows can do without a line.
                let _ = metrics.push(&line(record));
                let note = format!(
                    "test {:.2e}, {} active",
                    record.test_error.unwrap_or(f64::NAN),
                    record.active_weights
                );
                observer.hear(Event::Reached {
                    task: &name,
                    step: record.epoch,
                    note: &note,
                })
            },
        )?;
        let row = &finished.row;
        let note = format!(
            "test error {:.3e}, {} of {} parameters active, {:.1} s",
            row.test_mse, row.active, row.parameters, row.seconds
        );
        // It is finished: a break concerns the others, who hear it themselves.
        let _ = observer.hear(Event::Ended {
            task: &name,
            note: &note,
        });
        Ok(finished)
    }
}

impl ModelsRun {
    /// Reads the run in a folder, as far as it has come.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let (results, metrics) = (folder.join("results.json"), folder.join("metrics.jsonl"));
        Ok(ModelsRun {
            settings: read_settings(folder, "a tutorial's models")?,
            results: results
                .exists()
                .then(|| files::read_json(&results))
                .transpose()?,
            metrics: if metrics.exists() {
                files::read_lines(&metrics)?
            } else {
                Vec::new()
            },
        })
    }
}
