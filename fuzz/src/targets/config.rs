//! `config.toml` of a fit, a training, a tutorial: read, checked, and the page of a folder that has nothing else.

use ell0_control::environment::make;
use ell0_run::{AgentSettings, FitSettings, ModelsSettings, Page, Task, TrainSettings};
use serde::{Serialize, de::DeserializeOwned};

use super::{Target, samples, text};
use crate::{
    desk::Desk,
    dice::Dice,
    mutate::json,
    verdict::{Fault, Outcome, Verdict, error},
};

pub struct Config(Desk);

impl Config {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Config(Desk::new()?))
    }
}

const WORDS: [&str; 43] = [
    "method",
    "exact",
    "sampled",
    "lambda",
    "terms",
    "prior",
    "seed",
    "data",
    "files",
    "states",
    "controls",
    "time",
    "dt",
    "library",
    "dynamics",
    "discrete",
    "derivative",
    "savgol",
    "savgol(7)",
    "weak(3)",
    "weak(0)",
    "rates",
    "libraries",
    "threshold",
    "stlsq",
    "criterion",
    "bic",
    "command",
    "train",
    "seeds",
    "agents",
    "training",
    "policy",
    "environment",
    "episodes",
    "replay",
    "pendulum(g=9.81)",
    "pendulum(limit=1)",
    "network(64, 64)",
    "polynomial(3)",
    "task",
    "tutorial",
    "quick",
];

/// The file's name.
const NAME: &str = "config.toml";

impl Target for Config {
    fn extension(&self) -> &'static str {
        "toml"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let mut data = samples::question();
        data.files = vec!["data.csv".into()];
        let fit = FitSettings {
            data,
            terms: vec![3],
            ..FitSettings::default()
        };
        let mut own = fit.clone();
        own.data.rates = vec!["v".into(), "a".into()];
        let library = ell0::features::Library::fourier(1);
        own.data.libraries = [("x".to_string(), library)].into();
        own.lambda = vec![0.1, 0.2];
        own.terms.clear();
        let agent = |name: &str, policy: &str| AgentSettings {
            name: name.into(),
            tuned: true,
            training: samples::training_settings(policy),
        };
        let train = TrainSettings {
            seeds: 2,
            agents: vec![
                agent("law", "polynomial(2)"),
                agent("net", "sparse-network(4)"),
            ],
            ..TrainSettings::default()
        };
        let texts = [
            toml::to_string(&fit)?,
            toml::to_string(&own)?,
            toml::to_string(&train)?,
            toml::to_string(&ModelsSettings::new(Task::Dynamics))?,
            "tutorial = \"whole\"\nseed = 0\nquick = true\n".into(),
        ];
        Ok(texts.map(String::into_bytes).into())
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        let (seed, other) = (dice.pick(seeds), dice.pick(seeds));
        json::mutate_toml(dice, seed, other, &WORDS)
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        let file = self.0.put(NAME, bytes);
        let mut last = match FitSettings::read(&file) {
            Ok(settings) => {
                again(&settings)?;
                settings.check().map_or_else(error, |()| Ok(Outcome::Valid))
            }
            Err(e) => error(e),
        };
        last.as_ref().map_err(Clone::clone)?;
        let text = String::from_utf8_lossy(bytes);
        if let Ok(settings) = toml::from_str::<TrainSettings>(&text) {
            again(&settings)?;
            let checked = make(settings.environment()).map_err(ell0_run::Error::from);
            last = match checked.and_then(|world| settings.check(world.as_ref())) {
                Ok(()) => Ok(Outcome::Valid),
                Err(e) => error(e),
            };
            last.as_ref().map_err(Clone::clone)?;
        }
        // What `ell0 report` and `ell0 watch` make of it.
        match Page::of(self.0.path()) {
            Ok(page) if page.html(None).is_empty() => {
                return Err(Fault::wrong("a page says something", ""));
            }
            Ok(_) => last = Ok(Outcome::Valid),
            Err(e) => {
                error(e)?;
            }
        }
        self.0.check(NAME, bytes, &[])?;
        last
    }
}

/// Whether settings that were read can be written and read again.
fn again<S: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    settings: &S,
) -> Result<(), Fault> {
    match toml::to_string(settings) {
        Ok(written) => {
            // NaN is not itself: what cannot be equal cannot be compared.
            if written.contains("nan") {
                return Ok(());
            }
            text::same_again(settings, &written, |t| toml::from_str(t))
        }
        Err(e) => {
            // Beyond what TOML can say; `check` refuses these.
            let _ = e;
            Ok(())
        }
    }
}
