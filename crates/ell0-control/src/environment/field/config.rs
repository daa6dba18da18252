//! The settings of a field, and their text.

use serde::{Deserialize, Serialize};

use super::equation::Equation;
use crate::{
    environment::{Call, Slot, Values},
    error::{Error, Result},
};

/// The settings of a field on a ring and of what acts on it. Defaults depend on the equation.
///
/// | parameter | `ks` | `cdr` | `burgers` | `heat` | meaning |
/// | --- | --- | --- | --- | --- | --- |
/// | `length` | 22 | 1 | 2π | 1 | length of the ring |
/// | `points` | 64 | 200 | 64 | 64 | points on it, an even number |
/// | `actuators`, `sensors` | 8, 8 | 8, 8 | 8, 8 | 8, 8 | how many, spread evenly |
/// | `width` | 0.8 | 2.5 | 2 | 2 | deviation of an actuator's Gaussian, in points |
/// | `bound` | 1 | 0.25 | 1 | 1 | greatest action |
/// | `price` | 0.1 | 0.1 | 0.1 | 0.1 | of mean(a²), beside mean(u²) |
/// | `frame` | 0.1 | 0.1 | 0.1 | 0.05 | time of a frame |
/// | `substeps` | 15 | – | 10 | – | steps of the method in a frame |
/// | `hold` | 2 | 2 | 2 | 2 | frames that an action lasts |
/// | `warmup` | 1001 | 50 | 20 | 0 | frames without control before an episode |
/// | `noise` | 0 | 0 | 0 | 0 | deviation of the noise on sensors |
/// | `test_noise` | 0.25 | 0.05 | 0.1 | 0.1 | the same where policies are compared with noise |
/// | `limit` | 999 | 50 | 200 | 100 | actions of an episode |
/// | `ceiling` | 20 | 1000 | 20 | 100 | mean(u²) beyond which a field is out of hand: it stays as it is, and every action costs the ceiling |
/// | `hidden` | no | no | no | no | whether the parameters are not seen |
/// | `published` | no | – | – | – | `ks` as its published code has it |
/// | `sensors_between` | yes | no | yes | yes | whether sensors stand where actuators are, half a distance from 0; not part of the text |
/// | `sensor_size` | 3 | 1 | 1 | 1 | typical size of what sensors show; not part of the text |
/// | `values` | | | | | values of the parameters, of which one is drawn for each episode |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct FieldConfig {
    pub length: f64,
    pub points: usize,
    pub actuators: usize,
    pub sensors: usize,
    pub width: f64,
    pub bound: f64,
    pub price: f64,
    pub frame: f64,
    pub substeps: usize,
    pub hold: usize,
    pub warmup: usize,
    pub noise: f64,
    pub test_noise: f64,
    pub limit: u32,
    pub ceiling: f64,
    pub hidden: bool,
    pub published: bool,
    pub sensors_between: bool,
    pub sensor_size: f64,
    pub values: Vec<Values>,
}

/// Bounds against slips of the finger: a field of so many points, so many substeps or frames before an episode.
const MOST_POINTS: usize = 4096;
const MOST_SUBSTEPS: usize = 10_000;
const MOST_FRAMES: usize = 1_000_000;
const MOST_STEPS: u32 = 1_000_000;

/// Frames times substeps times points.
const MOST_WORK_OF_AN_ACTION: f64 = 1e8;
const MOST_WORK_OF_A_START: f64 = 2e9;

impl FieldConfig {
    /// What most equations have in common.
    pub(super) fn common() -> Self {
        FieldConfig {
            length: 1.0,
            points: 64,
            actuators: 8,
            sensors: 8,
            width: 1.0,
            bound: 1.0,
            price: 0.1,
            frame: 0.1,
            substeps: 1,
            hold: 2,
            warmup: 0,
            noise: 0.0,
            test_noise: 0.1,
            limit: 100,
            ceiling: 20.0,
            hidden: false,
            published: false,
            sensors_between: false,
            sensor_size: 1.0,
            values: Vec::new(),
        }
    }

    /// Every parameter of the text with its place.
    fn slots<'a>(&'a mut self, equation: &dyn Equation) -> Vec<(&'static str, Slot<'a>)> {
        let names = equation.parameters().iter().map(|p| p.name);
        let values = self.values.iter_mut().map(Slot::Values);
        let mut slots: Vec<(&'static str, Slot)> = names.zip(values).collect();
        slots.extend([
            ("length", Slot::Number(&mut self.length)),
            ("points", Slot::Count(&mut self.points)),
            ("actuators", Slot::Count(&mut self.actuators)),
            ("sensors", Slot::Count(&mut self.sensors)),
            ("width", Slot::Number(&mut self.width)),
            ("bound", Slot::Number(&mut self.bound)),
            ("price", Slot::Number(&mut self.price)),
            ("frame", Slot::Number(&mut self.frame)),
            ("hold", Slot::Count(&mut self.hold)),
            ("warmup", Slot::Count(&mut self.warmup)),
            ("noise", Slot::Number(&mut self.noise)),
            ("test_noise", Slot::Number(&mut self.test_noise)),
            ("ceiling", Slot::Number(&mut self.ceiling)),
            ("hidden", Slot::Flag(&mut self.hidden)),
        ]);
        if equation.steepens() {
            slots.push(("substeps", Slot::Count(&mut self.substeps)));
        }
        if equation.has_mistakes() {
            slots.push(("published", Slot::Flag(&mut self.published)));
        }
        slots
    }

    /// Reads the settings of a call.
    pub(super) fn read(call: &Call, equation: &dyn Equation) -> Result<Self> {
        let mut config = equation.defaults();
        let limit = config.limit;
        config.limit = call.read_slots_with_limit(config.slots(equation), limit)?;
        Ok(config)
    }

    /// The text of a world with these settings: its parameters and its noise, and what is not as it is by default. The limit is added by who cuts episodes off.
    pub(super) fn text(&self, equation: &dyn Equation) -> String {
        let (mut mine, mut usual) = (self.clone(), equation.defaults());
        let parameters = equation.parameters().len();
        let texts: Vec<String> = mine
            .slots(equation)
            .iter()
            .zip(usual.slots(equation))
            .enumerate()
            .filter(|(k, (mine, usual))| {
                *k < parameters || mine.0 == "noise" || mine.1.text() != usual.1.text()
            })
            .map(|(_, (mine, _))| format!("{}={}", mine.0, mine.1.text()))
            .collect();
        format!("{}({})", equation.name(), texts.join(", "))
    }

    /// Mistakes, before anything is made of them.
    pub(super) fn check(&self, equation: &dyn Equation) -> Result<()> {
        let wrong = |name: &str, value: f64, expected: &'static str| {
            Err(Error::Parameter {
                name: name.into(),
                value,
                expected,
            })
        };
        for (name, value) in [
            ("length", self.length),
            ("width", self.width),
            ("bound", self.bound),
            ("frame", self.frame),
            ("ceiling", self.ceiling),
            ("sensor_size", self.sensor_size),
        ] {
            if !(value > 0.0 && value.is_finite() && value < 1e9) {
                return wrong(name, value, "it must be positive, and below 1e9");
            }
        }
        for (name, value) in [
            ("price", self.price),
            ("noise", self.noise),
            ("test_noise", self.test_noise),
        ] {
            if !(0.0..1e9).contains(&value) {
                return wrong(name, value, "it must not be negative, and be below 1e9");
            }
        }
        if !((8..=MOST_POINTS).contains(&self.points) && self.points.is_multiple_of(2)) {
            let expected = "an even number from 8 to 4096";
            return wrong("points", self.points as f64, expected);
        }
        for (name, value) in [("actuators", self.actuators), ("sensors", self.sensors)] {
            if !(1..=self.points / 2).contains(&value) {
                let expected = "at least 1, and at most one for two points";
                return wrong(name, value as f64, expected);
            }
        }
        if !(1..=MOST_SUBSTEPS).contains(&self.substeps) {
            return wrong("substeps", self.substeps as f64, "from 1 to 10,000");
        }
        if !(1..=MOST_SUBSTEPS).contains(&self.hold) {
            return wrong("hold", self.hold as f64, "from 1 to 10,000");
        }
        let work = |frames: usize| frames as f64 * self.substeps as f64 * self.points as f64;
        if work(self.hold) > MOST_WORK_OF_AN_ACTION {
            let expected =
                "times substeps and points it must be at most 10^8: an action would take seconds";
            return wrong("hold", self.hold as f64, expected);
        }
        if work(self.warmup) > MOST_WORK_OF_A_START {
            let expected = "times substeps and points it must be at most 2·10^9: an episode would take minutes to begin";
            return wrong("warmup", self.warmup as f64, expected);
        }
        if self.warmup > MOST_FRAMES {
            return wrong("warmup", self.warmup as f64, "at most a million frames");
        }
        if !(1..=MOST_STEPS).contains(&self.limit) {
            let expected = "it must be a whole number of steps from 1 to a million";
            return wrong("limit", f64::from(self.limit), expected);
        }
        if self.values.len() != equation.parameters().len() {
            return wrong(
                "values",
                self.values.len() as f64,
                "one for each parameter of the equation",
            );
        }
        for (parameter, values) in equation.parameters().iter().zip(&self.values) {
            if !values.is_sound() {
                let expected = "one or more finite numbers, at most 1000, or a range";
                return wrong(parameter.name, f64::NAN, expected);
            }
            for value in values.all() {
                if !(value >= parameter.least && value.abs() < 1e6) {
                    let expected = if parameter.least == 0.0 {
                        "it must not be negative, and be below a million"
                    } else {
                        "it must be below a million"
                    };
                    return wrong(parameter.name, value, expected);
                }
            }
        }
        Ok(())
    }
}
