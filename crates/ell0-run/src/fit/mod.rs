//! From measurements to the few-term law behind them.
//!
//! ```
//! use ell0_data::frame::Frame;
//! use ell0_run::{DataSettings, FitSettings, Silent};
//!
//! // x' = −2x + 1, sampled at 400 moments.
//! let t: Vec<f64> = (0..400).map(|k| 0.01 * f64::from(k)).collect();
//! let x = t.iter().map(|t| 0.5 + 2.5 * (-2.0 * t).exp()).collect();
//! let table = Frame::new([("t", t), ("x", x)]);
//! let settings = FitSettings {
//!     data: DataSettings { states: vec!["x".into()], ..DataSettings::default() },
//!     ..FitSettings::default()
//! };
//! let found = settings.run_on(&[table], &Silent)?;
//! assert_eq!(found.model.text(3), "x' = 1 - 2*x");
//! # Ok::<(), ell0_run::Error>(())
//! ```

mod caution;
mod choose;
mod corrected;
mod discovery;
mod folder;
mod followed;
mod judgement;
mod laws;
mod left_out;
mod likelihood;
mod material;
mod measured;
mod outside;
mod page;
mod pictures;
mod plain;
mod related;
mod rows;
mod rule;
mod shared;
mod targets;
mod verdict;

use std::{io::Read, path::Path};

use ell0::{
    dictionary::{Method, Rule},
    input,
    wording::{listed, shown_path},
};
use ell0_data::evidence::{Evidence, training_rows};
use serde::{Deserialize, Serialize};

pub use caution::InputCaution;
pub use discovery::{
    DataSummary, DiscoveredEquation, DiscoveredTerm, Discovery, LeftOut, PathLine, Selected,
};
use followed::Seen;
pub use followed::{Course, Followed, FollowedRun, FollowedTarget, Unfollowed};
pub use judgement::{Alternative, Judged, Judgement, Outlier, Pattern, Verdict};
pub use rule::Doubt;

use material::Material;

use crate::{
    data::{DataSettings, Prepared, Source, counted, refuse_twice},
    error::{Error, Result},
    files,
    input_noise::ROWS_ARE_CORRECTED,
    observer::Observer,
};

/// How terms are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// By a method that needs only statistics.
    ByStatistics(Method),
    /// By minibatches and sampled gates, as published.
    Sampled,
}

impl std::str::FromStr for Choice {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match (name, name.parse()) {
            ("sampled", _) => Ok(Choice::Sampled),
            (_, Ok(method)) => Ok(Choice::ByStatistics(method)),
            _ => Err(Error::Unknown {
                kind: "method",
                name: name.into(),
                known: "exact, sampled, stlsq, lasso or ols".into(),
            }),
        }
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Choice::ByStatistics(method) => method.fmt(f),
            Choice::Sampled => f.write_str("sampled"),
        }
    }
}

/// What a law is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Criterion {
    /// The likelihood of the measurements: for laws of rates of change that of the states themselves, which its trajectories go through; for others that of the rows.
    Likelihood,
    /// Its error on held-out rows of the linear problem.
    Validation,
    /// The Bayesian information criterion, on the path of all rows: none are held out.
    Bic,
}

impl std::str::FromStr for Criterion {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "validation" => Ok(Criterion::Validation),
            "likelihood" => Ok(Criterion::Likelihood),
            "bic" => Ok(Criterion::Bic),
            _ => Err(Error::Unknown {
                kind: "criterion",
                name: name.into(),
                known: "likelihood, validation or bic".into(),
            }),
        }
    }
}

impl std::fmt::Display for Criterion {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Criterion::Validation => "validation",
            Criterion::Likelihood => "likelihood",
            Criterion::Bic => "bic",
        })
    }
}

/// Everything that a fit depends on; as TOML, the `config.toml` of its folder.
///
/// | setting | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `method` | exact | how terms are chosen: exact, sampled, stlsq, lasso or ols | |
/// | `lambda` | none | price of a term, instead of a choice by the criterion: one for all equations, or one for each | ≥ 0 |
/// | `terms` | none | number of terms, instead of a choice by the criterion: one for all equations, or one for each | |
/// | `threshold` | none | of the method stlsq: coefficients below it, in the units of the data, are cut; the one law that is left is taken | ≥ 0 |
/// | `prior` | 0.1 | probability that a term belongs, before the data are seen | (0, 1) |
/// | `seed` | 0 | of the inclusion probabilities, and of sampled gates | |
/// | `criterion` | likelihood; validation where another method, a threshold or statistics without samples of rows leave no other | what a law is judged by: likelihood, validation or bic. With `terms` or `lambda` the terms are chosen by these | |
/// | `data` | | the measurements and the meaning of their columns | see [`DataSettings`] |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct FitSettings {
    #[serde(with = "crate::text")]
    pub method: Choice,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lambda: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<usize>,
    pub threshold: Option<f64>,
    pub prior: f64,
    pub seed: u64,
    pub criterion: Option<Criterion>,
    pub data: DataSettings,
}

impl Default for FitSettings {
    fn default() -> Self {
        FitSettings {
            method: Choice::ByStatistics(Method::Exact),
            lambda: Vec::new(),
            terms: Vec::new(),
            threshold: None,
            prior: 0.1,
            seed: 0,
            criterion: None,
            data: DataSettings::default(),
        }
    }
}

/// Rows that sampled gates are trained on, at most.
const MOST_SAMPLED: u64 = 100_000;

impl FitSettings {
    /// Reads the settings of a fit from their file.
    pub fn read(file: impl AsRef<Path>) -> Result<Self> {
        let file = file.as_ref();
        let text = files::read(file)?;
        toml::from_str(&text)
            .map_err(|e| Error::damaged(file, format!("it is not the config.toml of a fit: {e}")))
    }

    /// Mistakes are found before anything is done.
    pub fn check(&self) -> Result<()> {
        if !self.terms.is_empty() && !self.lambda.is_empty() {
            return Err(Error::Settings(
                "both a number of terms and a price of a term were given; one of them is enough",
            ));
        }
        self.check_threshold()?;
        // Statistics have names of their own.
        let targets = self.data.equations();
        if !targets.is_empty() {
            self.rules(targets)?;
        }
        if !(self.prior > 0.0 && self.prior < 1.0) {
            let expected = "a probability strictly between 0 and 1";
            return Err(Error::setting("prior", self.prior, expected));
        }
        let sizes = !self.terms.is_empty() || !self.lambda.is_empty();
        if self.criterion == Some(Criterion::Bic) && sizes {
            return Err(Error::Settings(
                "a law is chosen by BIC, or by a number or a price of terms: not by both",
            ));
        }
        files::to_toml(self).map(drop)
    }

    /// A threshold is for one method, and leaves nothing to choose.
    fn check_threshold(&self) -> Result<()> {
        let Some(threshold) = self.threshold else {
            return Ok(());
        };
        if self.method != Choice::ByStatistics(Method::Stlsq) {
            let expected = format!(
                "a threshold is for the method stlsq, and the method is {}",
                self.method
            );
            return Err(Error::setting("threshold", threshold, expected));
        }
        if !(threshold >= 0.0 && threshold.is_finite()) {
            let expected = "it must be finite and not negative";
            return Err(Error::setting("threshold", threshold, expected));
        }
        let chosen = !self.terms.is_empty() || !self.lambda.is_empty();
        if chosen || !matches!(self.criterion, None | Some(Criterion::Validation)) {
            return Err(Error::Settings(
                "a threshold leaves one law, so that there is nothing to choose: leave the number and the price of terms, and the criterion, out",
            ));
        }
        Ok(())
    }

    /// The criterion, where it was not said: the likelihood, unless another method than ours has its own idea of a law.
    fn criterion(&self) -> Criterion {
        let ours = self.method == Choice::ByStatistics(Method::Exact) && self.threshold.is_none();
        self.criterion.unwrap_or(match ours {
            true => Criterion::Likelihood,
            false => Criterion::Validation,
        })
    }

    /// Whether neither a number nor a price of terms decides on the terms.
    fn is_free(&self) -> bool {
        self.terms.is_empty() && self.lambda.is_empty()
    }

    /// How one law of the path of each target is chosen.
    pub fn rules(&self, targets: &[String]) -> Result<Vec<Rule>> {
        let usual = match (self.threshold, self.criterion) {
            (Some(_), _) => Rule::Only,
            (None, Some(Criterion::Bic)) => Rule::Bic,
            (None, _) => Rule::OneStandardError,
        };
        let terms = self.terms.iter().copied().map(Rule::Terms);
        let prices = self.lambda.iter().copied().map(Rule::Lambda);
        let rules: Vec<Rule> = terms.chain(prices).collect();
        match rules.len() {
            0 => Ok(vec![usual; targets.len()]),
            1 => Ok(vec![rules[0]; targets.len()]),
            n if n == targets.len() => Ok(rules),
            n => Err(Error::Unsuitable(format!(
                "{} for {} ({}): give one for each, or one for all",
                match self.terms.is_empty() {
                    true => counted(n, "price") + " of a term",
                    false => counted(n, "number") + " of terms",
                },
                counted(targets.len(), "equation"),
                listed(targets)
            ))),
        }
    }

    /// The law behind the files of the settings: measurements, or statistics that [`StatsSettings`](crate::StatsSettings) made.
    pub fn run(&self, observer: &dyn Observer) -> Result<Discovery> {
        self.check()?;
        refuse_twice(&self.data.files)?;
        let given = self.given_evidence()?;
        if given.is_empty() {
            return self.fit_source(Source::Files(&self.data.files), observer);
        }
        if self.method == Choice::Sampled {
            return Err(SAMPLED_NEEDS_ROWS);
        }
        Ok(choose::discover(self, given, None, None, None, observer)?.0)
    }

    /// The law behind tables in memory; the `files` of the settings are left aside.
    pub fn run_on(
        &self,
        tables: &[ell0_data::frame::Frame],
        observer: &dyn Observer,
    ) -> Result<Discovery> {
        self.check()?;
        self.fit_source(Source::Frames(tables), observer)
    }

    /// The same without what only pictures need, which can be had later: [`Discovery::followed`] is its [`follow`](Unfollowed::follow).
    pub fn find_in(
        &self,
        tables: &[ell0_data::frame::Frame],
        observer: &dyn Observer,
    ) -> Result<(Discovery, Unfollowed)> {
        self.check()?;
        self.find(Source::Frames(tables), observer)
    }

    /// The law behind statistics in memory, gathered apart, on other machines perhaps; the data of the settings are left aside.
    pub fn run_on_statistics(
        &self,
        parts: Vec<Evidence>,
        observer: &dyn Observer,
    ) -> Result<Discovery> {
        self.check()?;
        let Some(first) = parts.first() else {
            return Err(Error::NoData);
        };
        for (k, part) in parts.iter().enumerate().skip(1) {
            refuse_unlike((&format!("part {}", k + 1), part), ("part 1", first))?;
        }
        if self.method == Choice::Sampled {
            return Err(SAMPLED_NEEDS_ROWS);
        }
        if !self.data.input_noise.is_unsaid() {
            return Err(Error::Settings(ROWS_ARE_CORRECTED));
        }
        Ok(choose::discover(self, parts, None, None, None, observer)?.0)
    }

    fn fit_source(&self, source: Source, observer: &dyn Observer) -> Result<Discovery> {
        let (mut found, unfollowed) = self.find(source, observer)?;
        found.followed = unfollowed.follow();
        Ok(found)
    }

    fn find(&self, source: Source, observer: &dyn Observer) -> Result<(Discovery, Unfollowed)> {
        let mut prepared = self.data.prepare(source, observer)?;
        let evidence = DataSettings::gather(&mut prepared, observer)?;
        let rows = match self.method {
            Choice::Sampled => Some(sampled_rows(&prepared)?),
            Choice::ByStatistics(_) => None,
        };
        let seen = Seen::new(&prepared)?;
        let (found, unfollowed) = choose::discover(
            self,
            vec![evidence],
            rows,
            Some(&prepared),
            Some(seen),
            observer,
        )?;
        Ok((found, unfollowed.ok_or(Error::NoData)?))
    }

    /// The statistics that the files hold, if they do.
    fn given_evidence(&self) -> Result<Vec<Evidence>> {
        let mut given = Vec::new();
        let mut other = None;
        for file in &self.data.files {
            match read_evidence(file)? {
                Some(evidence) => given.push((file, evidence)),
                None => other = Some(file),
            }
        }
        let Some(((first_file, first), rest)) = given.split_first() else {
            return Ok(vec![]);
        };
        if let Some(other) = other {
            return Err(Error::Unsuitable(format!(
                "{} holds statistics and {} rows; fit them apart, or make statistics of both",
                shown_path(first_file),
                shown_path(other)
            )));
        }
        if !self.data.input_noise.is_unsaid() {
            return Err(Error::Settings(ROWS_ARE_CORRECTED));
        }
        let said = DataSettings {
            files: vec![],
            ..self.data.clone()
        };
        if said != DataSettings::default() {
            return Err(Error::AlreadyKnown);
        }
        for (file, evidence) in rest {
            let names = [shown_path(file), shown_path(first_file)];
            refuse_unlike((&names[0], evidence), (&names[1], first))?;
        }
        Ok(given.into_iter().map(|(_, evidence)| evidence).collect())
    }
}

const SAMPLED_NEEDS_ROWS: Error = Error::Settings(
    "sampled gates need the rows themselves; statistics do not have them: use exact",
);

/// Parts that are fitted together were asked the same question.
fn refuse_unlike(other: (&str, &Evidence), first: (&str, &Evidence)) -> Result<()> {
    let ((name, evidence), (first_name, first)) = (other, first);
    let same = evidence.library == first.library
        && evidence.libraries == first.libraries
        && evidence.inputs == first.inputs
        && evidence.targets == first.targets
        && evidence.dynamics == first.dynamics;
    if same {
        return Ok(());
    }
    Err(Error::Unsuitable(format!(
        "{name} was made of {} for {} with library `{}`, but {first_name} of {} for {} with `{}`: make them alike",
        listed(&evidence.inputs),
        listed(&evidence.targets),
        evidence.library,
        listed(&first.inputs),
        listed(&first.targets),
        first.library
    )))
}

fn sampled_rows(prepared: &Prepared) -> Result<ell0_data::evidence::TrainingRows> {
    Ok(training_rows(
        prepared.runs()?,
        &prepared.question,
        &prepared.survey,
        MOST_SAMPLED,
    )?)
}

/// A file's content, if it is one of statistics.
fn read_evidence(file: &Path) -> Result<Option<Evidence>> {
    let cannot = |e| Error::io("read", file)(e);
    let mut head = [0; 32];
    let mut reader = input::open(file).map_err(cannot)?;
    let mut filled = 0;
    while filled < head.len() {
        match reader.read(&mut head[filled..]).map_err(cannot)? {
            0 => break,
            n => filled += n,
        }
    }
    let named = file.extension().is_some_and(|e| e == "stats");
    if !named && !Evidence::looks_like(&head[..filled]) {
        return Ok(None);
    }
    let text = files::read(file)?;
    let evidence = Evidence::from_json(&text).map_err(|reason| {
        Error::damaged(
            file,
            format!("it does not hold statistics: {reason}; make it again"),
        )
    })?;
    Ok(Some(evidence))
}
