//! From where a loop is proved to arrive in the ellipse, and what it keeps to on the way.

use ell0::equation::Model;
use ell0_control::{
    analysis::{Claim, Disturbance, Map, Plant, Range, Uncertain},
    environment::Environment,
};
use ell0_reach::{Basin, Budget, Invariance, NoBasin, Question, prove_invariant};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    observer::{Observer, Task, seconds_since},
};

/// What is to be proved of a loop, and how long that may take.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `seconds` | 20 | for the proof of arrival, by the observer's clock; 0 leaves it out. An observer without a clock gets 10,000 attempts for each |
/// | `uncertain` | none | parameters of the world that are only known to lie in a range |
/// | `disturbances` | none | what is added to observations, or to actions after they were brought into their range, another at every step |
/// | `rounding` | no | observations are rounded to single precision, as worlds do |
/// | `stay` | none | a box that trajectories must never leave |
/// | `avoid` | none | boxes that they must never enter |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct ProofSettings {
    pub seconds: f64,
    pub uncertain: Vec<(String, Range)>,
    pub disturbances: Vec<(String, Range)>,
    pub rounding: bool,
    pub stay: Vec<(String, Range)>,
    pub avoid: Vec<Vec<(String, Range)>>,
}

impl Default for ProofSettings {
    fn default() -> Self {
        ProofSettings {
            seconds: 20.0,
            uncertain: Vec::new(),
            disturbances: Vec::new(),
            rounding: false,
            stay: Vec::new(),
            avoid: Vec::new(),
        }
    }
}

/// More would not be waited for, and would not fit into memory.
const MOST_SECONDS: f64 = 86_400.0;

/// Attempts for a second of an observer whose clock stands still.
const ATTEMPTS: f64 = 10_000.0;

/// The shares of the state space that are noted with the time they took.
const CURVE: usize = 40;

/// Rounds of checking, after each of which what was rejected is left out.
const MOST_CHECKS: usize = 20;

/// From where a loop is proved to arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasinReport {
    /// The share of the state space from which every trajectory reaches the ellipse.
    pub share: f64,
    /// Within how many steps, at most.
    pub steps: u32,
    /// How long the proof took.
    pub seconds: f64,
    /// How long it took to check it anew.
    pub check_seconds: f64,
    /// Cells that the state space was divided into.
    pub cells: usize,
    /// The level of the ellipse; with limits it may be smaller than that of the proved region.
    pub level: f64,
    /// Whether half of the cells were enough, because the loop treats x and −x alike.
    pub symmetric: bool,
    /// How far it had come: seconds, and the share.
    pub curve: Vec<[f64; 2]>,
}

/// Something that the proofs hold for all values of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UncertainReport {
    /// Its name.
    pub name: String,
    /// The least that it may be.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// Whether it may be another at every step.
    pub varies: bool,
}

impl From<&Uncertain> for UncertainReport {
    fn from(u: &Uncertain) -> Self {
        UncertainReport {
            name: u.name.clone(),
            low: u.range.low,
            high: u.range.high,
            varies: u.varies,
        }
    }
}

/// What trajectories keep to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsReport {
    /// The box that they must not leave: states and their ranges.
    pub stay: Vec<(String, Range)>,
    /// Boxes that they must not enter.
    pub avoid: Vec<Vec<(String, Range)>>,
    /// Whether no trajectory that begins in the box leaves it; not known if it is none of both.
    pub invariant: Option<bool>,
    /// A state in the box from which the next one is outside.
    pub leaves_from: Option<Vec<f64>>,
}

/// What came of a proof of arrival.
pub(super) struct Arrival {
    pub basin: Basin,
    pub report: BasinReport,
    pub certificate: String,
}

impl ProofSettings {
    /// Whether a setting is out of its range.
    pub fn check(&self) -> Result<()> {
        if (0.0..=MOST_SECONDS).contains(&self.seconds) {
            return Ok(());
        }
        Err(Error::Setting {
            name: "seconds",
            value: self.seconds.to_string(),
            expected: format!("0 to {MOST_SECONDS} seconds for a proof"),
        })
    }

    /// Whether something is asked for that only a closed form can answer.
    pub(super) fn asks(&self) -> bool {
        let ProofSettings {
            seconds: _,
            uncertain,
            disturbances,
            rounding,
            stay,
            avoid,
        } = self;
        let named = !(uncertain.is_empty() && disturbances.is_empty() && stay.is_empty());
        named || *rounding || !avoid.is_empty()
    }

    /// The plant with all that is uncertain of it.
    pub(super) fn plant(&self, plant: &Plant, world: Option<&dyn Environment>) -> Result<Plant> {
        let form = world.and_then(|w| w.closed_form());
        let plant = match (self.uncertain.is_empty(), form) {
            (true, _) => plant.clone(),
            (false, Some(form)) => form.plant_within(&self.uncertain)?,
            (false, None) => {
                return Err(Error::Settings(
                    "a learned model has no parameters with names: disturbances of actions and observations can be bounded instead",
                ));
            }
        };
        let added = self
            .disturbances
            .iter()
            .map(|(to, range)| Disturbance::Added {
                to: to.clone(),
                range: *range,
            });
        let rounding = self.rounding.then_some(Disturbance::Rounding);
        let all: Vec<Disturbance> = added.chain(rounding).collect();
        Ok(plant.disturbed(&all)?)
    }

    /// Whether the box that is not to be left is left.
    pub(super) fn limits(
        &self,
        plant: &Plant,
        map: &Map,
        observer: &dyn Observer,
    ) -> Result<Option<LimitsReport>> {
        if self.stay.is_empty() && self.avoid.is_empty() {
            return Ok(None);
        }
        let mut report = LimitsReport {
            stay: self.stay.clone(),
            avoid: self.avoid.clone(),
            invariant: None,
            leaves_from: None,
        };
        if !self.stay.is_empty() {
            let task = Task::begin(observer, "proving: the box", None);
            let found = prove_invariant(plant.states(), map, &self.stay, &|| task.beat());
            task.end()?;
            match found.map_err(limits_error)? {
                Invariance::Proved { .. } => report.invariant = Some(true),
                Invariance::Refuted(state) => {
                    report.invariant = Some(false);
                    report.leaves_from = Some(state);
                }
                Invariance::Open => {}
            }
        }
        Ok(Some(report))
    }

    /// Proves as much as there is time for, and has it checked; or says why not.
    pub(super) fn arrival(
        &self,
        plant: &Plant,
        map: &Map,
        target: &Claim,
        observer: &dyn Observer,
    ) -> Result<std::result::Result<Arrival, String>> {
        let question = Question {
            stay: &self.stay,
            avoid: &self.avoid,
            ..Question::new(plant, map, target)
        };
        let began = observer.now();
        let clock = || seconds_since(observer, began);
        // A bar that is full when the time is over.
        let ticks = |seconds: f64| (1000.0 * (seconds / self.seconds).min(1.0)) as u64;
        let task = Task::begin(observer, "proving: arrival", Some(1000));
        let pulse = || task.goes_on() && clock() < self.seconds;
        let budget = Budget {
            most_attempts: match observer.now().is_zero() {
                true => (ATTEMPTS * self.seconds) as u64,
                false => u64::MAX,
            },
            ..Budget::default()
        };
        let (mut curve, mut told) = (Vec::new(), 0.0);
        let found = question.prove(budget, &pulse, |progress| {
            let seconds = clock();
            let share = progress.share;
            if curve.is_empty() || seconds >= told + self.seconds / CURVE as f64 {
                curve.push([seconds, share]);
                told = seconds;
            }
            let note = format!("{:.1} % of the states", 100.0 * share);
            task.reach(ticks(seconds), &note);
        });
        task.end()?;
        let mut basin = match found {
            Ok(basin) => basin,
            Err(
                error @ (NoBasin::NoState { .. } | NoBasin::Empty { .. } | NoBasin::Twice { .. }),
            ) => {
                return Err(limits_error(error));
            }
            Err(error) => return Ok(Err(error.to_string())),
        };
        let seconds = clock();
        curve.push([seconds, basin.share]);
        let task = Task::begin(observer, "checking: cells", None);
        let mut checks = 0;
        let certificate = loop {
            task.still();
            task.go_on()?;
            let certificate = basin.certificate(plant.states(), map)?;
            match ell0_check::rejected(&certificate) {
                Ok(cells) if cells.is_empty() => break certificate,
                // Enclosures of two programs differ by rounding; what only one of them accepts is not claimed.
                Ok(cells) if checks < MOST_CHECKS => basin.forget(&cells),
                Ok(_) => return Ok(Err("the checker rejects cells again and again".into())),
                Err(flaw) => return Ok(Err(format!("the checker rejects the proof: {flaw}"))),
            }
            checks += 1;
        };
        task.end()?;
        let report = BasinReport {
            share: basin.share,
            steps: basin.steps,
            seconds,
            check_seconds: clock() - seconds,
            cells: basin.progress.cells,
            level: basin.claim.level,
            symmetric: basin.odd,
            curve,
        };
        Ok(Ok(Arrival {
            basin,
            report,
            certificate,
        }))
    }
}

/// A wrong limit is a wrong setting.
fn limits_error(error: NoBasin) -> Error {
    Error::Setting {
        name: "limits",
        value: match &error {
            NoBasin::NoState { name, .. } | NoBasin::Empty { name } | NoBasin::Twice { name } => {
                name.clone()
            }
            _ => "a box".into(),
        },
        expected: error.to_string(),
    }
}

/// The loop as the proofs see it.
pub(super) fn uncertain_loop(
    policy: &Model,
    plant: &Plant,
    world: Option<&dyn Environment>,
    proof: &ProofSettings,
) -> Result<(Plant, Map)> {
    let plant = proof.plant(plant, world)?;
    let map = plant.closed(policy, 1.0)?;
    Ok((plant, map))
}
