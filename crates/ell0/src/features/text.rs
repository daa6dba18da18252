//! The text form of a library, read and written.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Function, Library, Pairs};
use crate::error::{Error, Result};

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let options =
            |f: &mut fmt::Formatter, name: &str, head: String, options: &[(bool, &str)]| {
                let mut arguments = vec![head];
                arguments.extend(
                    options
                        .iter()
                        .filter(|(set, _)| *set)
                        .map(|(_, name)| name.to_string()),
                );
                write!(f, "{name}({})", arguments.join(", "))
            };
        match self {
            Library::Polynomial {
                degree,
                bias,
                interactions,
                interactions_only,
            } => options(
                f,
                "polynomial",
                degree.to_string(),
                &[
                    (!bias, "no-bias"),
                    (!interactions, "no-interactions"),
                    (*interactions_only, "interactions-only"),
                ],
            ),
            Library::Fourier {
                frequencies,
                sin,
                cos,
                pairs,
            } => options(
                f,
                "fourier",
                frequencies.to_string(),
                &[
                    (!sin, "no-sin"),
                    (!cos, "no-cos"),
                    (*pairs == Pairs::Every, "interactions"),
                    (*pairs == Pairs::Published, "published-interactions"),
                ],
            ),
            Library::Functions { functions } => {
                let names: Vec<&str> = functions
                    .iter()
                    .map(|f| f.map_or("reciprocal", Function::name))
                    .collect();
                write!(f, "functions({})", names.join(", "))
            }
            Library::Sum(parts) => join(f, parts, " + ", |part| matches!(part, Library::Sum(_))),
            Library::Product(parts) => join(f, parts, " * ", |part| {
                matches!(part, Library::Sum(_) | Library::Product(_))
            }),
            Library::On(library, names) => {
                inner(f, library)?;
                write!(f, "[{}]", quoted(names))
            }
            Library::Only(library, names) => {
                inner(f, library)?;
                write!(f, " only {{{}}}", quoted(names))
            }
            Library::Without(library, names) => {
                inner(f, library)?;
                write!(f, " without {{{}}}", quoted(names))
            }
        }
    }
}

fn join(
    f: &mut fmt::Formatter,
    parts: &[Library],
    with: &str,
    bracket: fn(&Library) -> bool,
) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(with)?;
        }
        if bracket(part) {
            write!(f, "({part})")?
        } else {
            write!(f, "{part}")?
        }
    }
    Ok(())
}

fn inner(f: &mut fmt::Formatter, library: &Library) -> fmt::Result {
    match library {
        Library::Sum(_) | Library::Product(_) => write!(f, "({library})"),
        _ => write!(f, "{library}"),
    }
}

fn quoted(names: &[String]) -> String {
    let quote = |name: &String| {
        let plain = !name.is_empty()
            && name.trim() == name
            && !name.contains([',', '{', '}', '[', ']', '"', '\\']);
        if plain {
            name.clone()
        } else {
            format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
        }
    };
    names.iter().map(quote).collect::<Vec<_>>().join(", ")
}

impl FromStr for Library {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser {
            text,
            place: 0,
            depth: 0,
        };
        let library = parser.sum()?;
        parser.skip_space();
        if parser.place < text.len() {
            return Err(parser.error("`+`, `*`, `[`, `only`, `without` or the end"));
        }
        Ok(library)
    }
}

impl Serialize for Library {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Library {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

struct Parser<'a> {
    text: &'a str,
    place: usize,
    depth: usize,
}

/// Deeper nesting than this is a mistake, and would overflow the stack.
const MAX_DEPTH: usize = 64;

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.place..]
    }

    fn skip_space(&mut self) {
        self.place += self.rest().len() - self.rest().trim_start().len();
    }

    fn error(&self, expected: &str) -> Error {
        Error::Syntax {
            what: "library",
            text: self.text.into(),
            place: self.place,
            expected: expected.into(),
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.place += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(self.error(&format!("`{token}`")))
        }
    }

    fn word(&mut self) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
            .unwrap_or(rest.len());
        self.place += end;
        &rest[..end]
    }

    fn sum(&mut self) -> Result<Library> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("fewer nested brackets (at most 64)"));
        }
        let mut parts = vec![self.product()?];
        while self.eat("+") {
            parts.push(self.product()?);
        }
        self.depth -= 1;
        Ok(if parts.len() == 1 {
            parts.remove(0)
        } else {
            Library::Sum(parts)
        })
    }

    fn product(&mut self) -> Result<Library> {
        let mut parts = vec![self.restricted()?];
        while self.eat("*") {
            parts.push(self.restricted()?);
        }
        Ok(if parts.len() == 1 {
            parts.remove(0)
        } else {
            Library::Product(parts)
        })
    }

    fn restricted(&mut self) -> Result<Library> {
        let mut library = self.atom()?;
        let mut restrictions = 0;
        loop {
            let before = self.place;
            library = if self.eat("[") {
                Library::On(Box::new(library), self.names(']')?)
            } else {
                match self.word() {
                    "only" => {
                        self.expect("{")?;
                        Library::Only(Box::new(library), self.names('}')?)
                    }
                    "without" => {
                        self.expect("{")?;
                        Library::Without(Box::new(library), self.names('}')?)
                    }
                    _ => {
                        self.place = before;
                        return Ok(library);
                    }
                }
            };
            restrictions += 1;
            if restrictions > MAX_DEPTH {
                return Err(self.error("fewer restrictions (at most 64)"));
            }
        }
    }

    fn atom(&mut self) -> Result<Library> {
        if self.eat("(") {
            let library = self.sum()?;
            self.expect(")")?;
            return Ok(library);
        }
        self.skip_space();
        let start = self.place;
        match self.word() {
            "polynomial" => {
                let (degree, options) = self.arguments(
                    "polynomial",
                    "a degree",
                    &["no-bias", "no-interactions", "interactions-only"],
                )?;
                Ok(Library::Polynomial {
                    degree,
                    bias: !options[0],
                    interactions: !options[1],
                    interactions_only: options[2],
                })
            }
            "fourier" => {
                let (frequencies, options) = self.arguments(
                    "fourier",
                    "a number of frequencies",
                    &["no-sin", "no-cos", "interactions", "published-interactions"],
                )?;
                if options[2] && options[3] {
                    self.place = start;
                    return Err(
                        self.error("only one of `interactions` and `published-interactions`")
                    );
                }
                Ok(Library::Fourier {
                    frequencies,
                    sin: !options[0],
                    cos: !options[1],
                    pairs: match (options[3], options[2]) {
                        (true, _) => Pairs::Published,
                        (false, true) => Pairs::Every,
                        (false, false) => Pairs::None,
                    },
                })
            }
            "functions" => {
                self.expect("(")?;
                let mut functions = Vec::new();
                loop {
                    self.skip_space();
                    let start = self.place;
                    functions.push(match self.word() {
                        "reciprocal" => None,
                        name => Some(name.parse().map_err(|_| {
                            self.place = start;
                            self.error("a function: exp, log, sqrt, abs, tanh, sign, sin, cos or reciprocal")
                        })?),
                    });
                    if !self.eat(",") {
                        break;
                    }
                }
                self.expect(")")?;
                Ok(Library::Functions { functions })
            }
            _ => {
                self.place = start;
                Err(self.error("`polynomial(…)`, `fourier(…)`, `functions(…)` or `(`"))
            }
        }
    }

    /// `(number, option, …)`.
    fn arguments<const N: usize>(
        &mut self,
        name: &str,
        number: &str,
        known: &[&str; N],
    ) -> Result<(u32, [bool; N])> {
        self.expect("(")?;
        self.skip_space();
        let start = self.place;
        let Ok(value) = self.word().parse::<u32>() else {
            self.place = start;
            return Err(self.error(&format!("{number}, as in `{name}(3)`")));
        };
        let mut options = [false; N];
        while self.eat(",") {
            self.skip_space();
            let start = self.place;
            let word = self.word();
            let Some(index) = known.iter().position(|k| *k == word) else {
                self.place = start;
                return Err(self.error(&format!("one of {}", known.join(", "))));
            };
            options[index] = true;
        }
        self.expect(")")?;
        Ok((value, options))
    }

    /// Names between commas up to the closing bracket, which is eaten.
    fn names(&mut self, close: char) -> Result<Vec<String>> {
        let mut names = Vec::new();
        loop {
            self.skip_space();
            if self.eat("\"") {
                let mut name = String::new();
                let mut characters = self.rest().char_indices();
                loop {
                    match characters.next() {
                        None => return Err(self.error("a closing `\"`")),
                        Some((at, '"')) => {
                            self.place += at + 1;
                            break;
                        }
                        Some((_, '\\')) => match characters.next() {
                            Some((_, c)) => name.push(c),
                            None => return Err(self.error("a closing `\"`")),
                        },
                        Some((_, c)) => name.push(c),
                    }
                }
                names.push(name);
            } else {
                let end = self
                    .rest()
                    .find([',', close])
                    .ok_or_else(|| self.error(&format!("`{close}`")))?;
                let name = self.rest()[..end].trim();
                if name.is_empty() {
                    return Err(self.error("a name"));
                }
                names.push(name.to_string());
                self.place += end;
            }
            if self.eat(",") {
                continue;
            }
            self.expect(&close.to_string())?;
            return Ok(names);
        }
    }
}
