//! Environments from text.

use super::{Environment, Pendulum, PendulumConfig, TimeLimit};
use crate::error::{Error, Result};

/// Steps of the longest episode.
const MOST_STEPS: f64 = 1e6;

/// Steps of an episode of Pendulum-v1.
const PENDULUM_LIMIT: u32 = 200;

/// The environment that a text such as `pendulum(g=9.81)` names, with its time limit.
///
/// | environment | parameters and defaults |
/// | --- | --- |
/// | `pendulum` | `g=10`, `mass=1`, `length=1`, `limit=200` |
pub fn make(text: &str) -> Result<Box<dyn Environment>> {
    let (pendulum, limit) = pendulum(text)?;
    Ok(Box::new(TimeLimit::new(pendulum, limit)))
}

/// The pendulum that a text names, and its time limit.
pub fn pendulum(text: &str) -> Result<(Pendulum, u32)> {
    let call = Call::parse(text)?;
    if !matches!(call.name, "pendulum" | "Pendulum-v1") {
        let name = call.name;
        let reason = format!(
            "there is no environment `{name}`; there is `pendulum`, for example pendulum(g=9.81)"
        );
        return Err(call.wrong(0, reason));
    }
    let mut config = PendulumConfig::default();
    let mut limit = f64::from(PENDULUM_LIMIT);
    call.read(&mut [
        ("g", &mut config.g),
        ("mass", &mut config.mass),
        ("length", &mut config.length),
        ("limit", &mut limit),
    ])?;
    if !((1.0..=MOST_STEPS).contains(&limit) && limit.fract() == 0.0) {
        return Err(Error::Parameter {
            name: "limit".into(),
            value: limit,
            expected: "it must be a whole number of steps from 1 to a million",
        });
    }
    Ok((Pendulum::new(config)?, limit as u32))
}

/// A name and its parameters, with their places in the text.
struct Call<'a> {
    text: &'a str,
    name: &'a str,
    parameters: Vec<(usize, &'a str, f64)>,
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
        for part in inside.unwrap_or("").split(',') {
            let place = at + (part.len() - part.trim_start().len());
            at += part.len() + 1;
            if part.trim().is_empty() && inside.is_none_or(|i| i.trim().is_empty()) {
                continue;
            }
            let Some((key, value)) = part.split_once('=') else {
                return Err(wrong(text, place, "expected name=value".into()));
            };
            let Ok(value) = value.trim().parse::<f64>() else {
                let place = place + key.trim_start().len() + 1;
                return Err(wrong(
                    text,
                    place,
                    format!("`{}` is not a number", value.trim()),
                ));
            };
            parameters.push((place, key.trim(), value));
        }
        Ok(Call {
            text,
            name: name.trim(),
            parameters,
        })
    }

    /// Sets the known parameters; each may be given once.
    fn read(&self, known: &mut [(&str, &mut f64)]) -> Result<()> {
        let mut seen = Vec::new();
        for &(place, name, value) in &self.parameters {
            if seen.contains(&name) {
                return Err(self.wrong(place, format!("`{name}` is given twice")));
            }
            seen.push(name);
            match known.iter_mut().find(|(k, _)| *k == name) {
                Some((_, slot)) => **slot = value,
                None => {
                    let nearest = known
                        .iter()
                        .map(|(k, _)| *k)
                        .min_by_key(|k| strsim::levenshtein(k, name))
                        .unwrap_or_default();
                    return Err(self.wrong(
                        place,
                        format!("there is no parameter `{name}`; did you mean `{nearest}`?"),
                    ));
                }
            }
        }
        Ok(())
    }
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

    #[test]
    fn text_makes_environments_and_environments_make_text() {
        for text in ["pendulum", "pendulum()", " pendulum( g = 9.81 , limit=50)"] {
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

    proptest! {
        #[test]
        fn any_text_is_an_environment_or_an_error(text in "(pendulum)?[(]?[a-z=,. 0-9)(é]*") {
            let _ = make(&text).map_err(|e| e.to_string());
        }
    }
}
