//! Worlds from text: a table of names, which callers can extend.

use std::{fmt, sync::Arc};

use ell0::wording::{meant, shown};

use super::{Environment, Values, cartpole, field::Pde, pendulum};
use crate::error::{Error, Result};

/// Steps of the longest episode that a text can ask for.
const MOST_STEPS: f64 = 1e6;

/// The world that a text such as `pendulum(g=9.81)` names, with its time limit: [`Registry::default`] has them all.
pub fn make(text: &str) -> Result<Box<dyn Environment>> {
    Registry::default().make(text)
}

/// What makes a world of a call.
type Make = dyn Fn(&Call) -> Result<Box<dyn Environment>> + Send + Sync;

/// An entry of a registry: the names of a world, what to say of it, and how it is made.
#[derive(Clone)]
pub struct Maker {
    names: Vec<String>,
    help: String,
    make: Arc<Make>,
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Maker").field(&self.help).finish()
    }
}

impl Maker {
    /// An entry; the first name is the one that is shown.
    pub fn new(
        names: &[&str],
        help: impl Into<String>,
        make: impl Fn(&Call) -> Result<Box<dyn Environment>> + Send + Sync + 'static,
    ) -> Self {
        Maker {
            names: names.iter().map(ToString::to_string).collect(),
            help: help.into(),
            make: Arc::new(make),
        }
    }

    /// Its names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A line about it: its text with all parameters, and what it is.
    pub fn help(&self) -> &str {
        &self.help
    }
}

/// Worlds by name.
///
/// ```
/// use ell0_control::environment::{Maker, Pendulum, PendulumConfig, Registry, TimeLimit};
/// let registry = Registry::default().with(Maker::new(&["moon"], "moon(mass=1, limit=100): a pendulum on the moon", |call| {
///     let mut config = PendulumConfig { g: 1.62, ..PendulumConfig::default() };
///     let limit = call.read_with_limit(&mut [("mass", &mut config.mass)], 100)?;
///     Ok(Box::new(TimeLimit::new(Pendulum::new(config)?, limit)))
/// }));
/// assert_eq!(registry.make("moon(mass=2)")?.time_limit(), Some(100));
/// assert!(registry.make("mars").is_err());
/// # Ok::<(), ell0_control::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Registry {
    makers: Vec<Maker>,
}

impl Default for Registry {
    /// All worlds of this crate.
    fn default() -> Self {
        let fields = Pde::ALL.map(Pde::maker);
        Registry {
            makers: [pendulum::maker(), cartpole::maker()]
                .into_iter()
                .chain(fields)
                .collect(),
        }
    }
}

impl Registry {
    /// The same with another world; it goes before those of the same name.
    #[must_use]
    pub fn with(mut self, maker: Maker) -> Self {
        self.makers.insert(0, maker);
        self
    }

    /// The entries.
    pub fn makers(&self) -> &[Maker] {
        &self.makers
    }

    /// The world that a text names.
    pub fn make(&self, text: &str) -> Result<Box<dyn Environment>> {
        let call = Call::parse(text)?;
        let known = |m: &&Maker| m.names.iter().any(|n| n == call.name);
        match self.makers.iter().find(known) {
            Some(maker) => (maker.make)(&call),
            None => {
                let names: Vec<String> = self
                    .makers
                    .iter()
                    .filter_map(|m| Some(format!("`{}`", m.names.first()?)))
                    .collect();
                let reason = format!(
                    "there is no environment `{}`; known are {}, for example pendulum(g=9.81)",
                    shown(call.name),
                    names.join(", ")
                );
                Err(call.wrong(0, reason))
            }
        }
    }
}

/// A text such as `name(a=1, b=2)`, taken apart.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    text: &'a str,
    name: &'a str,
    /// Where each stands, its name, where its value stands, the value.
    parameters: Vec<(usize, &'a str, usize, &'a str)>,
}

/// Where the value of a parameter goes.
#[derive(Debug)]
pub enum Slot<'a> {
    /// A number.
    Number(&'a mut f64),
    /// A whole number, not negative.
    Count(&'a mut usize),
    /// `true` or `false`.
    Flag(&'a mut bool),
    /// Values, of which one is drawn for each episode.
    Values(&'a mut Values),
}

impl Slot<'_> {
    /// Reads a value; what is wrong with it, if something is.
    fn read(&mut self, text: &str) -> Result<(), String> {
        let is_no = |what: &str| format!("`{}` is {what}", shown(text));
        match self {
            Slot::Number(slot) => **slot = text.parse().map_err(|_| is_no("not a number"))?,
            Slot::Count(slot) => {
                **slot = text.parse().map_err(|_| is_no("not a whole number"))?;
            }
            Slot::Flag(slot) => {
                **slot = text.parse().map_err(|_| is_no("neither true nor false"))?;
            }
            Slot::Values(slot) => {
                let values = text.parse::<Values>();
                **slot = values.map_err(|expected| format!("{}: {expected}", is_no("no value")))?;
            }
        }
        Ok(())
    }

    /// The value as text.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Slot::Number(slot) => slot.to_string(),
            Slot::Count(slot) => slot.to_string(),
            Slot::Flag(slot) => slot.to_string(),
            Slot::Values(slot) => slot.to_string(),
        }
    }
}

/// The parts of a text between commas, those in square brackets aside.
fn between_commas(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

impl<'a> Call<'a> {
    fn wrong(&self, at: usize, reason: String) -> Error {
        wrong(self.text, at, reason)
    }

    fn parse(text: &'a str) -> Result<Self> {
        let (name, inside) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => match rest.trim_end().strip_suffix(')') {
                Some(inside) => (name, Some(inside)),
                None => {
                    return Err(wrong(
                        text,
                        text.len(),
                        "a `)` is missing at the end".into(),
                    ));
                }
            },
        };
        let mut parameters = Vec::new();
        let mut at = name.len() + 1;
        for part in between_commas(inside.unwrap_or("")) {
            let place = at + (part.len() - part.trim_start().len());
            at += part.len() + 1;
            if part.trim().is_empty() && inside.is_none_or(|i| i.trim().is_empty()) {
                continue;
            }
            let Some((key, value)) = part.split_once('=') else {
                return Err(wrong(text, place, "expected name=value".into()));
            };
            let at = place + key.trim_start().len() + 1;
            parameters.push((place, key.trim(), at, value.trim()));
        }
        Ok(Call {
            text,
            name: name.trim(),
            parameters,
        })
    }

    /// The name before the brackets.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Sets the known parameters; each may be given once, and others not at all.
    pub fn read_slots(&self, known: &mut [(&str, Slot)]) -> Result<()> {
        let mut seen = Vec::new();
        for &(place, name, at, value) in &self.parameters {
            if seen.contains(&name) {
                return Err(self.wrong(place, format!("`{}` is given twice", shown(name))));
            }
            seen.push(name);
            match known.iter_mut().find(|(k, _)| *k == name) {
                Some((_, slot)) => slot.read(value).map_err(|reason| self.wrong(at, reason))?,
                None => {
                    let names: Vec<&str> = known.iter().map(|(k, _)| *k).collect();
                    let meant = meant(name, "parameters", &names);
                    let says = format!("there is no parameter `{}`{meant}", shown(name));
                    return Err(self.wrong(place, says));
                }
            }
        }
        Ok(())
    }

    /// The same where all of them are numbers.
    pub fn read(&self, known: &mut [(&str, &mut f64)]) -> Result<()> {
        self.read_slots(&mut slots(known))
    }

    /// Sets the known parameters and reads `limit`, the number of steps of an episode.
    pub fn read_with_limit(&self, known: &mut [(&str, &mut f64)], default: u32) -> Result<u32> {
        self.read_slots_with_limit(slots(known), default)
    }

    /// The same where not all of them are numbers.
    pub fn read_slots_with_limit(&self, known: Vec<(&str, Slot)>, default: u32) -> Result<u32> {
        let mut limit = f64::from(default);
        // A list of its own: the limit lives no longer than this.
        let slot = ("limit", Slot::Number(&mut limit));
        let mut all: Vec<(&str, Slot)> = known.into_iter().chain([slot]).collect();
        self.read_slots(&mut all)?;
        if !((1.0..=MOST_STEPS).contains(&limit) && limit.fract() == 0.0) {
            return Err(Error::Parameter {
                name: "limit".into(),
                value: limit,
                expected: "it must be a whole number of steps from 1 to a million",
            });
        }
        Ok(limit as u32)
    }
}

fn slots<'a, 'b>(known: &'a mut [(&'b str, &mut f64)]) -> Vec<(&'b str, Slot<'a>)> {
    let slot = |(name, value): &'a mut (&'b str, &mut f64)| (*name, Slot::Number(value));
    known.iter_mut().map(slot).collect()
}

fn wrong(text: &str, at: usize, reason: String) -> Error {
    Error::Text {
        text: text.into(),
        // Columns, not bytes.
        at: text.get(..at).map_or(0, |t| t.chars().count()),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::cases;

    #[test]
    fn text_makes_environments_and_environments_make_text() {
        for text in [
            "pendulum",
            "pendulum()",
            " pendulum( g = 9.81 , limit=50)",
            "cartpole-swingup",
            "cartpole-swingup(pole_mass=0.25, limit=50)",
        ] {
            let environment = make(text).expect("an environment");
            let again = make(&environment.text()).expect("an environment");
            assert_eq!(environment.text(), again.text());
        }
        assert_eq!(
            make("pendulum(g=9.81)").expect("an environment").text(),
            "pendulum(g=9.81, mass=1, length=1, limit=200)"
        );
    }

    #[test]
    fn mistakes_are_marked() {
        for (text, words, at) in [
            ("pendulm", "there is no environment `pendulm`", 0),
            ("pendulm", "known are `pendulum`, `cartpole-swingup`", 0),
            ("cartpole-swingup(trak=2)", "did you mean `track`?", 17),
            ("pendulum(g=9.81", "a `)` is missing", 15),
            ("pendulum(lenght=2)", "did you mean `length`?", 9),
            ("pendulum(g=9, mass=x)", "`x` is not a number", 19),
            ("pendulum(9.81)", "expected name=value", 9),
            ("pendulum(g=1,)", "expected name=value", 13),
            ("pendulum(g=1, g=2)", "`g` is given twice", 14),
        ] {
            let Err(error) = make(text) else {
                panic!("{text} is wrong");
            };
            let message = error.to_string();
            assert!(message.contains(words), "{message}");
            let mark = message.lines().last().expect("a mark");
            assert_eq!(mark.find('^'), Some(at + 2), "{message}");
        }
        for text in [
            "pendulum(mass=0)",
            "pendulum(length=-1)",
            "pendulum(g=inf)",
            "pendulum(limit=0.5)",
        ] {
            assert!(make(text).is_err(), "{text}");
        }
    }

    /// What is said of a world is the text that makes it as it is without parameters.
    #[test]
    fn every_world_is_made_as_its_line_says() {
        for maker in Registry::default().makers() {
            let (text, _) = maker.help().split_once(": ").expect("a text and words");
            assert_eq!(make(text).expect("a world").text(), text);
            for name in maker.names() {
                assert_eq!(make(name).expect("a world").text(), text);
            }
        }
    }

    proptest! {
        #![proptest_config(cases())]
        #[test]
        fn any_text_is_an_environment_or_an_error(text in "(pendulum|cartpole-swingup)?[(]?[a-z=,. 0-9)(é]*") {
            let _ = make(&text).map_err(|e| e.to_string());
        }
    }
}
