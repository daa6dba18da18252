//! From tables to trained, sparse, compacted networks: one, or one for each of several prices.

use std::path::Path;

use ell0_data::frame::Frame;
use serde::{Deserialize, Serialize};

use super::{
    MeasuredOn, NetworkData, NetworkEpoch, NetworkResult, NetworkRun, NetworkSettings, NetworkTask,
    Quality, SparseNetwork,
    apart::Material,
    data::Gathered,
    folder,
    prepare::{Prepared, none_held_out},
    results::choose,
};
use crate::{
    data::Source,
    error::{Error, Result},
    folder::growing::Site,
    jobs::side_by_side,
    metrics::Metrics,
    observer::{Event, Observer},
};

/// Everything that a run of networks depends on.
///
/// | setting | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `data` | | tables and the meaning of their columns: see [`NetworkData`] | |
/// | `network` | | how a network is trained: see [`NetworkSettings`]; what it gives and the number of classes come from the data | |
/// | `path` | none | factors of the price: a network is trained for each, and the smallest that is about as good as the best on held-out rows is chosen | > 0, with `validation` |
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct NetworkRunSettings {
    #[serde(default)]
    pub path: Vec<f64>,
    pub data: NetworkData,
    pub network: NetworkSettings,
}

/// The most prices of a path.
const MOST_PRICES: usize = 100;

/// A network to be trained.
struct Job {
    name: String,
    settings: NetworkSettings,
}

/// What a finished job leaves.
struct Finished {
    result: NetworkResult,
    network: SparseNetwork,
    validation: Option<Quality>,
    epochs: Vec<NetworkEpoch>,
}

impl NetworkRunSettings {
    /// Mistakes are found before anything is done.
    fn check(&self) -> Result<()> {
        let wrong = self.path.iter().find(|p| !(**p > 0.0 && p.is_finite()));
        if let Some(factor) = wrong {
            let expected = "factors of the price, finite and positive";
            return Err(Error::setting("path", factor, expected));
        }
        if self.path.len() > MOST_PRICES {
            let expected = format!("at most {MOST_PRICES} prices");
            return Err(Error::setting("path", self.path.len(), expected));
        }
        let names: Vec<String> = self.names();
        if let Some(k) = (0..names.len()).find(|&k| names[..k].contains(&names[k])) {
            return Err(Error::setting("path", self.path[k], "it is named twice"));
        }
        if self.path.len() > 1 && self.network.validation == 0.0 {
            let expected = "prices are compared on held-out rows: give a share of them";
            return Err(Error::setting("validation", 0, expected));
        }
        Ok(())
    }

    /// What the files of each network are named after.
    pub(super) fn names(&self) -> Vec<String> {
        match self.path.is_empty() {
            true => vec!["network".into()],
            false => self.path.iter().map(|p| format!("price-x{p}")).collect(),
        }
    }

    fn jobs(&self, material: &Material) -> Vec<Job> {
        let factors: &[f64] = match self.path.is_empty() {
            true => &[1.0],
            false => &self.path,
        };
        let classes = material.names.classes.len();
        let job = |(name, factor): (String, &f64)| Job {
            name,
            settings: NetworkSettings {
                lambda: self
                    .network
                    .lambda
                    .iter()
                    .map(|l| tidy(l * factor))
                    .collect(),
                task: match classes {
                    0 => NetworkTask::Regression,
                    _ => NetworkTask::Classification,
                },
                classes,
                ..self.network.clone()
            },
        };
        self.names().into_iter().zip(factors).map(job).collect()
    }

    /// Trains on the files of the settings, in a new folder or, without one, in memory.
    pub fn run(&self, site: Option<&Site>, observer: &dyn Observer) -> Result<NetworkRun> {
        self.begin(Source::Files(&self.data.files), site, observer)
    }

    /// Trains on tables in memory; such a run in a folder cannot be gone on with.
    pub fn run_on(
        &self,
        tables: &[Frame],
        site: Option<&Site>,
        observer: &dyn Observer,
    ) -> Result<NetworkRun> {
        self.begin(Source::Frames(tables), site, observer)
    }

    fn begin(
        &self,
        source: Source,
        site: Option<&Site>,
        observer: &dyn Observer,
    ) -> Result<NetworkRun> {
        self.check()?;
        if let Some(site) = site {
            site.keep(&self.data.paths())?;
        }
        let material = self.read(source, observer)?;
        let Some(site) = site else {
            return self.train(&material, None, observer);
        };
        let _lock = site.begin(&folder::kind(), "network", self)?;
        self.train(&material, Some(&site.folder), observer)
    }

    /// Goes on with the run in a folder.
    pub fn resume(site: &Site, observer: &dyn Observer) -> Result<NetworkRun> {
        let settings: NetworkRunSettings = site.read("`ell0 network`")?;
        settings.check()?;
        let material = settings.read(Source::Files(&settings.data.files), observer)?;
        let _lock = site.go_on(folder::INSIDE)?;
        settings.train(&material, Some(&site.folder), observer)
    }

    /// Reads the tables, and checks the settings that depend on them.
    fn read(&self, source: Source, observer: &dyn Observer) -> Result<Material> {
        let _ = observer.hear(Event::Note("reading …"));
        let material = self.data.read(source, self.network.seed)?;
        let classes = &material.names.classes;
        for job in self.jobs(&material) {
            job.settings.check()?;
            let each = vec![1; classes.len()];
            job.settings.class_weights.of(classes, &each)?;
        }
        let held_out = || self.network.hold_out(&material.same).aside;
        if self.path.len() > 1 && held_out().is_empty() {
            return Err(none_held_out(&self.network, material.train.rows));
        }
        Ok(material)
    }

    /// Trains, measures and writes everything.
    fn train(
        &self,
        material: &Material,
        folder: Option<&Path>,
        observer: &dyn Observer,
    ) -> Result<NetworkRun> {
        let metrics = folder.map(|f| Metrics::new(f.join("metrics.jsonl")));
        let jobs = self.jobs(material);
        let mut done = side_by_side(&jobs, observer, |job, observer| {
            job.run(material, folder, metrics.as_ref(), observer)
        })
        .map_err(|error| match error {
            Error::Stopped { .. } => Error::Stopped {
                folder: folder.map(Into::into),
            },
            error => error,
        })?;
        let qualities: Vec<Quality> = done.iter().filter_map(|d| d.validation.clone()).collect();
        let chosen = match qualities.len() == done.len() {
            true => {
                let sizes: Vec<usize> = done.iter().map(|d| d.result.parameters).collect();
                choose(&qualities, &sizes)?
            }
            false => 0,
        };
        for (k, done) in done.iter_mut().enumerate() {
            done.result.chosen = k == chosen;
        }
        let mut run = NetworkRun {
            settings: self.clone(),
            results: None,
            networks: Vec::new(),
            metrics: Vec::new(),
        };
        let mut results = Vec::new();
        for finished in done {
            results.push(finished.result);
            run.networks.push(finished.network);
            run.metrics.extend(finished.epochs);
        }
        run.results = Some(results);
        if let Some(folder) = folder {
            if let Some(metrics) = metrics {
                metrics.finish(run.metrics.iter().cloned())?;
            }
            run.write(folder)?;
        }
        Ok(run)
    }
}

impl Job {
    fn run(
        &self,
        material: &Material,
        folder: Option<&Path>,
        metrics: Option<&Metrics<NetworkEpoch>>,
        observer: &dyn Observer,
    ) -> Result<Finished> {
        let (settings, names) = (&self.settings, &material.names);
        let rows = material.train.rows(names);
        let prepared = Prepared::new(settings, rows, &material.same, &names.classes)?;
        let question = settings.question(&prepared, names)?;
        let checkpoint = folder.map(|f| {
            f.join("checkpoints")
                .join(format!("{}.safetensors", self.name))
        });
        let line = |record: &ell0::training::EpochRecord| NetworkEpoch {
            run: self.name.clone(),
            record: record.clone(),
        };
        let task = &self.name;
        let _ = observer.hear(Event::Began {
            task,
            steps: Some(settings.epochs),
        });
        let learned = question.answer(
            checkpoint.as_deref(),
            observer,
            |before| match metrics {
                Some(metrics) => metrics.begin(&self.name, before.iter().map(line)),
                None => Ok(()),
            },
            |record| {
                if let Some(metrics) = metrics {
                    // Those who look at the file while it grows can do without a line.
                    let _ = metrics.push(&line(record));
                }
                let mut note = format!("error {:.4}", record.train_error);
                if let Some(error) = record.test_error {
                    note += &format!(", held out {error:.4}");
                }
                let open: Vec<String> = record.open_inputs.iter().map(usize::to_string).collect();
                note += &format!(", units {}", open.join("-"));
                let step = record.epoch;
                observer.hear(Event::Reached {
                    task,
                    step,
                    note: &note,
                })
            },
        );
        let learned = match learned {
            Ok(learned) => learned,
            Err(error) => {
                let _ = observer.hear(Event::Ended { task, note: "" });
                return Err(error);
            }
        };
        let held = prepared.held_rows.clone();
        let network =
            SparseNetwork::new(settings.clone(), names.clone(), &learned.trainer, prepared)?;
        let validation = match held.is_empty() {
            true => None,
            false => {
                let (x, y) = rows.copied(&held);
                Some(network.quality(&x, &y)?)
            }
        };
        let result = self.measured(material, &network, validation.as_ref(), learned.seconds)?;
        let note = format!(
            "{}, {} left of {}",
            result.quality,
            NetworkResult::shape(&result.units),
            NetworkResult::shape(&result.units_before)
        );
        let _ = observer.hear(Event::Ended { task, note: &note });
        Ok(Finished {
            result,
            network,
            validation,
            epochs: learned.trainer.history().iter().map(line).collect(),
        })
    }

    /// The network, measured.
    fn measured(
        &self,
        material: &Material,
        network: &SparseNetwork,
        validation: Option<&Quality>,
        seconds: f64,
    ) -> Result<NetworkResult> {
        let (measured_on, rows) = match (&material.test, validation) {
            (Some(test), _) => (MeasuredOn::Test, test),
            (None, Some(_)) => (MeasuredOn::Validation, &material.train),
            (None, None) => (MeasuredOn::Training, &material.train),
        };
        let quality = match (measured_on, validation) {
            (MeasuredOn::Validation, Some(validation)) => validation.clone(),
            _ => network.quality(&rows.x, &rows.y)?,
        };
        let size = network.complexity()?;
        let names = &material.names;
        let mut units_before = vec![names.inputs.len()];
        units_before.extend(&self.settings.hidden);
        units_before.push(names.outputs().len());
        Ok(NetworkResult {
            name: self.name.clone(),
            lambda: self.settings.lambda.clone(),
            seed: self.settings.seed,
            baseline: baseline(material, rows),
            measured_on,
            copies: material.copies.rows,
            categories: material.copies.categories,
            left_out: material.copies.left_out,
            same_for_all: network.says_the_same_of(&[&material.train.x, &rows.x])?,
            validation_error: validation.map(Quality::error),
            units_before,
            units: network.widths(),
            inputs_read: network.inputs_read(),
            parameters_before: size.parameters,
            parameters: size.active,
            operations_before: size.flops,
            operations: size.compacted_flops,
            epochs: network.history.len() as u64,
            epoch: network.epoch,
            compaction_error: compaction_error(network, rows)?,
            seconds,
            chosen: false,
            quality,
        })
    }
}

/// Without what a product leaves behind the last digit: 0.01, not 0.010000000000000002.
fn tidy(price: f64) -> f64 {
    format!("{price:.12e}").parse().unwrap_or(price)
}

/// Rows on which the gated and the compacted network are compared.
const COMPARED: usize = 1000;

fn compaction_error(network: &SparseNetwork, rows: &Gathered) -> Result<f64> {
    let inputs = network.names.inputs.len();
    let x = &rows.x[..rows.rows.min(COMPARED) * inputs];
    let (gated, compacted) = (network.predict_gated(x)?, network.predict(x)?);
    let largest = gated.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let differences = gated.iter().zip(&compacted).map(|(a, b)| (a - b).abs());
    Ok(differences.fold(0.0, f64::max) / largest)
}

/// How good it is to say the same of every row, by what the rows to learn from tell.
fn baseline(material: &Material, rows: &Gathered) -> f64 {
    let (names, train) = (&material.names, &material.train);
    let targets = names.targets.len();
    if names.classes.is_empty() {
        let mean =
            |k: usize| train.y.iter().skip(k).step_by(targets).sum::<f64>() / train.rows as f64;
        let means: Vec<f64> = (0..targets).map(mean).collect();
        let squares = rows.y.iter().enumerate();
        let squares = squares.map(|(k, y)| (y - means[k % targets]).powi(2));
        return squares.sum::<f64>() / rows.y.len().max(1) as f64;
    }
    let mut counts = vec![0u64; names.classes.len()];
    for class in &train.y {
        counts[*class as usize] += 1;
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    let common = counts.iter().position(|c| *c == most).unwrap_or(0) as f64;
    let right = rows.y.iter().filter(|y| **y == common).count();
    right as f64 / rows.rows.max(1) as f64
}
