//! One model of the comparison, from the data to its row of the results.

use std::{
    ops::ControlFlow,
    path::{Path as FilePath, PathBuf},
    sync::Arc,
};

use ell0::{
    dictionary::{Method, Path, PathConfig, Rule, Sampled, Statistics},
    equation::{DictionaryTarget, Dynamics, Model},
    features::{Features, Library},
    network::Mlp,
    rng::Stream,
    training::{Dataset, EpochRecord, Trainer},
};
use ell0_data::write::write_whole;

use super::{
    ModelResult,
    data::Data,
    models::{Kind, Task, Terms},
};
use crate::{
    error::{About, Error, Result},
    learning::Question,
    observer::{Observer, seconds_since},
};

/// What a finished model leaves.
pub(super) struct Finished {
    pub row: ModelResult,
    pub history: Vec<EpochRecord>,
}

/// Everything that training a model needs to know.
#[derive(Clone, Copy)]
pub(super) struct Training<'a> {
    pub task: Task,
    pub epochs: u64,
    pub seed: u64,
    /// Factor of the prices of a weight.
    pub lambda_factor: f64,
    pub folder: &'a FilePath,
    pub data: &'a Data,
    pub observer: &'a dyn Observer,
}

/// Parameters, those that are active, and operations for one row.
struct Size {
    parameters: usize,
    active: usize,
    flops: f64,
}

/// Of the path, the smallest law whose validation error is at most this share above the least. (The usual standard error is large here: rare rows where the speed limit binds carry
/// most of the error of the dynamics, of whatever law.)
const WITHIN: f64 = 0.03;

/// What cannot be: a path has at least the empty law.
const NO_LAW: Error = Error::Settings("there is no law");

impl Training<'_> {
    /// Trains a model, or goes on with one that was interrupted. `begun` hears what was done before, `progress` every epoch; a break stops the training after it is saved.
    pub fn train(
        &self,
        kind: Kind,
        begun: impl FnOnce(&[EpochRecord]) -> Result<()>,
        progress: impl FnMut(&EpochRecord) -> ControlFlow<()>,
    ) -> Result<Finished> {
        let model = kind.name();
        let result = match kind {
            Kind::Network | Kind::SparseNetwork => self.network(kind, begun, progress),
            Kind::Sampled(terms) => self.sampled(kind, terms, begun, progress),
            Kind::Exact(terms) => self.exact(kind, terms),
        };
        match result {
            Err(Error::Stopped { folder }) => Err(Error::Stopped { folder }),
            result => result.about(|| format!("the model `{model}`")),
        }
    }

    fn checkpoint(&self, kind: Kind) -> PathBuf {
        self.folder
            .join("checkpoints")
            .join(kind.file() + ".safetensors")
    }

    fn network(
        &self,
        kind: Kind,
        begun: impl FnOnce(&[EpochRecord]) -> Result<()>,
        progress: impl FnMut(&EpochRecord) -> ControlFlow<()>,
    ) -> Result<Finished> {
        let (train, test) = self.data.datasets()?;
        let config = kind
            .network(self.data.inputs.len(), self.data.targets.len())
            .ok_or(Error::Settings("this model is no network"))?;
        let stream = Stream::new(self.seed).split(&kind.file());
        let model = Mlp::new(&config, &stream)?;
        let (trainer, seconds) = self.run(kind, model, train, test, begun, progress)?;
        let best = trainer.best_model();
        best_to_file(self.folder, kind, &trainer)?;
        let size = best.complexity()?;
        self.done(
            kind,
            &trainer,
            seconds,
            Size {
                parameters: size.parameters,
                active: size.active,
                flops: size.compacted_flops,
            },
            None,
        )
    }

    fn sampled(
        &self,
        kind: Kind,
        terms: Terms,
        begun: impl FnOnce(&[EpochRecord]) -> Result<()>,
        progress: impl FnMut(&EpochRecord) -> ControlFlow<()>,
    ) -> Result<Finished> {
        let library = terms.library();
        let features = library.features(&self.data.inputs)?;
        let (mut statistics, parts) = self.data.train_statistics(&features)?;
        for part in &parts {
            statistics.merge(part)?;
        }
        let (train, test) = self.data.datasets()?;
        let train = train.for_dictionary(&features, &statistics)?;
        let stream = Stream::new(self.seed).split(&kind.file());
        let sampled = Sampled::new(&statistics)?;
        let model = sampled.network(Kind::dictionary_gates(), &stream)?;
        let test = test.lifted(features.clone(), sampled.scales())?;
        let (trainer, seconds) = self.run(kind, model, train, test, begun, progress)?;
        let coefficients = sampled.coefficients(&trainer.best_model())?;
        let (size, equations) =
            self.write_model(kind, &library, &features, &statistics, &coefficients)?;
        self.done(kind, &trainer, seconds, size, Some(equations))
    }

    /// Trains, with a checkpoint now and then; the seconds of earlier attempts count.
    fn run(
        &self,
        kind: Kind,
        model: Mlp,
        train: Dataset,
        test: Dataset,
        begun: impl FnOnce(&[EpochRecord]) -> Result<()>,
        progress: impl FnMut(&EpochRecord) -> ControlFlow<()>,
    ) -> Result<(Trainer, f64)> {
        let question = Question {
            model,
            config: kind.config(self.task, self.epochs, self.seed, self.lambda_factor)?,
            train: Arc::new(train),
            test: Some(Arc::new(test)),
        };
        let checkpoint = self.checkpoint(kind);
        let learned = question.answer(Some(&checkpoint), self.observer, begun, progress)?;
        Ok((learned.trainer, learned.seconds))
    }

    fn exact(&self, kind: Kind, terms: Terms) -> Result<Finished> {
        let began = self.observer.now();
        let library = terms.library();
        let features = library.features(&self.data.inputs)?;
        let (mut train, validation) = self.data.train_statistics(&features)?;
        let test = self.data.test_statistics(&features)?;
        let config = PathConfig::default();
        let supports = (0..self.data.targets.len())
            .map(|target| {
                let path = Path::new(&train, &[target], &validation, &config)?;
                Ok(path.choose(Rule::Within(WITHIN))?.support.clone())
            })
            .collect::<ell0::Result<Vec<_>>>()?;
        // The choice is made: its coefficients may learn from all rows.
        for part in &validation {
            train.merge(part)?;
        }
        let mut coefficients = Vec::new();
        for (target, support) in supports.into_iter().enumerate() {
            let path = Path::of_supports(&train, &[target], &[], &config, vec![support])?;
            let line = path.lines().last().ok_or(NO_LAW)?;
            coefficients.extend_from_slice(&line.coefficients);
        }
        let error = |statistics: &Statistics, coefficients: &[f64]| -> ell0::Result<f64> {
            let laws = coefficients.chunks_exact(features.len()).enumerate();
            let errors = laws.map(|(k, law)| statistics.mean_squared_error(k, law));
            let errors = errors.collect::<ell0::Result<Vec<_>>>()?;
            Ok(errors.iter().sum::<f64>() / errors.len() as f64)
        };
        let (train_mse, test_mse) = (error(&train, &coefficients)?, error(&test, &coefficients)?);
        let mut everything = Vec::new();
        let ols = PathConfig {
            method: Method::Ols,
            ..config
        };
        for target in 0..self.data.targets.len() {
            let path = Path::new(&train, &[target], &[], &ols)?;
            everything.extend_from_slice(&path.lines().last().ok_or(NO_LAW)?.coefficients);
        }
        let floor = error(&test, &everything)?;
        let (size, equations) =
            self.write_model(kind, &library, &features, &train, &coefficients)?;
        let row = ModelResult {
            task: self.task,
            model: kind.name(),
            train_mse,
            test_mse,
            best_train_mse: train_mse,
            best_test_mse: test_mse,
            parameters: size.parameters,
            active: size.active,
            flops: size.flops,
            seconds: seconds_since(self.observer, began),
            equations: Some(equations),
            all_terms_test_mse: Some(floor),
        };
        Ok(Finished {
            row,
            history: Vec::new(),
        })
    }

    /// Writes the model of a dictionary; its size and its equations.
    fn write_model(
        &self,
        kind: Kind,
        library: &Library,
        features: &Features,
        statistics: &Statistics,
        coefficients: &[f64],
    ) -> Result<(Size, String)> {
        let laws = coefficients.chunks_exact(features.len());
        let targets: Vec<DictionaryTarget> = self
            .data
            .targets
            .iter()
            .zip(laws)
            .map(|(target, law)| DictionaryTarget {
                target: target.clone(),
                coefficients: law.to_vec(),
                probabilities: None,
                errors: None,
            })
            .collect();
        let digits = coefficients.chunks_exact(features.len()).enumerate();
        let digits = digits.map(|(target, law)| statistics.digits(target, law));
        let digits = digits.collect::<ell0::Result<Vec<_>>>()?;
        let model = Model::dictionary(features, library, &targets, Dynamics::Regression)?
            .with_digits(digits);
        let file = self.folder.join("models").join(kind.file() + ".json");
        write_whole(file, (model.to_json() + "\n").as_bytes())?;
        let active = coefficients.iter().filter(|c| **c != 0.0).count();
        let p = features.len();
        let used: Vec<_> = (0..p)
            .filter(|j| coefficients.iter().skip(*j).step_by(p).any(|c| *c != 0.0))
            .map(|j| features.terms()[j].clone())
            .collect();
        let operations = if used.is_empty() {
            0
        } else {
            Features::from_terms(features.inputs().to_vec(), used)?.operations()
        };
        let size = Size {
            parameters: coefficients.len(),
            active,
            flops: (2 * active + operations) as f64,
        };
        Ok((size, model.text(5)))
    }

    fn done(
        &self,
        kind: Kind,
        trainer: &Trainer,
        seconds: f64,
        size: Size,
        equations: Option<String>,
    ) -> Result<Finished> {
        let history = trainer.history().to_vec();
        let last = history
            .last()
            .ok_or(Error::Settings("there must be at least one epoch"))?;
        let least = |value: &dyn Fn(&EpochRecord) -> f64| {
            history.iter().map(value).fold(f64::INFINITY, f64::min)
        };
        let test = |r: &EpochRecord| r.test_error.unwrap_or(f64::INFINITY);
        let row = ModelResult {
            task: self.task,
            model: kind.name(),
            train_mse: last.train_error,
            test_mse: test(last),
            best_train_mse: least(&|r| r.train_error),
            best_test_mse: least(&test),
            parameters: size.parameters,
            active: size.active,
            flops: size.flops,
            seconds,
            equations,
            all_terms_test_mse: None,
        };
        Ok(Finished { row, history })
    }
}

/// A network as a checkpoint, its best parameters included, beside the models of the dictionaries.
fn best_to_file(folder: &FilePath, kind: Kind, trainer: &Trainer) -> Result<()> {
    let file = folder.join("models").join(kind.file() + ".safetensors");
    Ok(write_whole(file, &trainer.to_bytes()?)?)
}
