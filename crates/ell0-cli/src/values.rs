//! Values of options that are more than a number or a word: what is allowed is said.

use std::{collections::BTreeMap, error::Error};

use ell0::{features::Library, wording::shown};
use ell0_run::InputNoise;

/// Names of columns in one option, with commas between them. A name with a comma in it stands in double quotes, as in a CSV file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<String>);

impl Columns {
    /// The names of an option that may be given several times.
    pub fn all(given: &[Columns]) -> Vec<String> {
        given.iter().flat_map(|c| c.0.clone()).collect()
    }
}

/// x,y or "a,b",c.
pub fn columns(text: &str) -> Result<Columns, String> {
    let names = pieces(text)?.into_iter().map(unquoted);
    let names = names.collect::<Result<Vec<_>, _>>()?;
    if names.iter().any(String::is_empty) {
        return Err(
            "a name is missing: expected names with commas between them, for example x,y".into(),
        );
    }
    Ok(Columns(names))
}

/// A library of candidate terms, and the equations that it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryOf {
    /// What they give; nothing stands for all that have none of their own.
    pub equations: Vec<String>,
    /// The terms.
    pub library: Library,
}

/// polynomial(3), or x: polynomial(2), or x,"a:b": polynomial(2). The text of a library has no colon but within brackets.
pub fn library(text: &str) -> Result<LibraryOf, Box<dyn Error + Send + Sync>> {
    let (mut depth, mut within) = (0usize, false);
    let colon = text.char_indices().find(|(_, c)| {
        match c {
            '"' => within = !within,
            '(' | '[' | '{' if !within => depth += 1,
            ')' | ']' | '}' if !within => depth = depth.saturating_sub(1),
            _ => {}
        }
        *c == ':' && depth == 0 && !within
    });
    let (equations, rest) = match colon {
        None => (vec![], text),
        Some((at, _)) => (columns(&text[..at])?.0, &text[at + 1..]),
    };
    let library = rest.trim().parse()?;
    Ok(LibraryOf { equations, library })
}

/// The name of a setting and its value: what JSON reads as a number, a truth value or a list is one, everything else a word.
pub fn setting(text: &str) -> Result<(String, serde_json::Value), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("expected a name and a value, for example hold=10".into());
    };
    let (name, value) = (name.trim(), value.trim());
    let word = |_| serde_json::Value::from(value);
    Ok((
        name.into(),
        serde_json::from_str(value).unwrap_or_else(word),
    ))
}

/// Names and their values in one option.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(Vec<(String, T)>);

impl<T: Clone> Named<T> {
    /// All of an option that may be given several times.
    pub fn all(given: &[Named<T>]) -> Vec<(String, T)> {
        given.iter().flat_map(|n| n.0.clone()).collect()
    }
}

/// Pieces of the form name=value.
fn named<T>(
    text: &str,
    expected: &str,
    value: impl Fn(&str) -> Result<T, String>,
) -> Result<Named<T>, String> {
    let one = |piece: &str| {
        // Behind the last sign: a name may have one.
        let (name, text) = piece
            .rsplit_once('=')
            .ok_or_else(|| format!("`{}`: expected {expected}", shown(piece)))?;
        let value = value(text.trim()).map_err(|e| format!("`{}`: {e}", shown(piece.trim())))?;
        Ok((unquoted(name)?, value))
    };
    let pieces = pieces(text)?.into_iter().map(one);
    pieces.collect::<Result<_, String>>().map(Named)
}

fn finite_number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|v| v.is_finite())
}

/// x=1,v=0.
pub fn assignments(text: &str) -> Result<Named<f64>, String> {
    named(text, "name=value, for example x=1", |value| {
        finite_number(value).ok_or_else(|| format!("`{}` is not a finite number", shown(value)))
    })
}

/// 0.1, or x=0.1,v=0.05.
pub fn input_noise(text: &str) -> Result<InputNoise, String> {
    if let Some(noise) = finite_number(text.trim()) {
        return Ok(InputNoise::All(noise));
    }
    let expected = "one standard deviation for all inputs, or name=value, for example x=0.1";
    let each = named(text, expected, |value| {
        finite_number(value).ok_or_else(|| format!("`{}` is not a finite number", shown(value)))
    })?;
    let mut all = BTreeMap::new();
    for (name, noise) in each.0 {
        if all.insert(name.clone(), noise).is_some() {
            return Err(format!("`{}` is named twice", shown(&name)));
        }
    }
    Ok(InputNoise::Each(all))
}

/// x=-1:1,v=-2:2.
pub fn bounds(text: &str) -> Result<Named<(f64, f64)>, String> {
    let expected = "name=low:high, for example x=-1:1";
    named(text, expected, |value| {
        let numbers = value
            .split_once(':')
            .and_then(|(low, high)| finite_number(low.trim()).zip(finite_number(high.trim())));
        match numbers {
            Some((low, high)) if low < high => Ok((low, high)),
            Some((low, high)) => Err(format!("low, {low}, must be below high, {high}")),
            None => Err(format!("expected {expected}, two finite numbers")),
        }
    })
}

/// A seed. It is kept in TOML, which has no larger numbers.
pub fn seed(text: &str) -> Result<u64, String> {
    whole::<0, { i64::MAX as u64 }>(text)
}

/// A whole number of a range.
pub fn whole<const LEAST: u64, const MOST: u64>(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(value) if (LEAST..=MOST).contains(&value) => Ok(value),
        _ => Err(format!("expected a whole number from {LEAST} to {MOST}")),
    }
}

/// A count that may be nothing.
pub fn count(text: &str) -> Result<usize, String> {
    let wrong = |_| "expected a whole number, at least 0".into();
    text.parse().map_err(wrong)
}

/// A count of which one is the least.
pub fn at_least_one(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(value) if value >= 1 => Ok(value),
        _ => Err("expected a whole number, at least 1".into()),
    }
}

/// What stands between the commas that are not within quotes.
fn pieces(text: &str) -> Result<Vec<&str>, String> {
    let (mut pieces, mut start, mut within) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => within = !within,
            ',' if !within => {
                pieces.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if within {
        return Err("a double quote is not closed; within quotes it is doubled".into());
    }
    pieces.push(&text[start..]);
    Ok(pieces)
}

/// A name without the quotes around it; within them a quote is doubled.
fn unquoted(piece: &str) -> Result<String, String> {
    let piece = piece.trim();
    let Some(rest) = piece.strip_prefix('"') else {
        return Ok(piece.into());
    };
    match rest.strip_suffix('"') {
        Some(inner) => Ok(inner.replace("\"\"", "\"")),
        None => Err(format!(
            "`{}`: a name in double quotes ends with one",
            shown(piece)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>, String> {
        columns(text).map(|c| c.0)
    }

    #[test]
    fn names_may_have_commas_and_quotes() {
        assert_eq!(names("x").expect("a name"), ["x"]);
        assert_eq!(names("x, v").expect("names"), ["x", "v"]);
        assert_eq!(names(r#""a,b",c"#).expect("names"), ["a,b", "c"]);
        assert_eq!(
            names(r#"c,"say ""hi"", x""#).expect("names"),
            ["c", r#"say "hi", x"#]
        );
        assert!(
            names("x,,y")
                .expect_err("empty")
                .contains("a name is missing")
        );
        assert!(names("x,").is_err() && names("").is_err());
        assert!(names(r#""a,b"#).expect_err("open").contains("not closed"));
        assert!(names(r#""a"b"#).is_err());
    }

    #[test]
    fn libraries_may_be_for_some_equations() {
        let read = |text: &str| library(text).map(|l| (l.equations, l.library.to_string()));
        let of = |text: &str| read(text).expect(text);
        assert_eq!(of("polynomial(2)"), (vec![], "polynomial(2)".into()));
        let named = (vec!["x".to_string()], "polynomial(2)".to_string());
        assert_eq!(of("x: polynomial(2)"), named);
        assert_eq!(of("x:polynomial(2)"), named);
        assert_eq!(of(r#"x, "a:b,c" : fourier(1)"#).0, ["x", "a:b,c"]);
        // Colons of names within a library are its own.
        let (nobody, inner) = of("polynomial(1)[a:b] + polynomial(2) only {c: d}");
        assert!(nobody.is_empty() && inner.contains("[a:b]"), "{inner}");
        for (text, words) in [
            (": polynomial(2)", "a name is missing"),
            ("x,: polynomial(2)", "a name is missing"),
            ("x:", "`polynomial(…)`"),
            ("x: y: polynomial(2)", "`polynomial(…)`"),
            ("\"x: polynomial(2)", "library"),
            ("polynomial(2[a:b]", "library"),
        ] {
            let said = read(text).expect_err(text).to_string();
            assert!(said.contains(words), "{text}: {said}");
        }
    }

    #[test]
    fn values_say_what_is_allowed() {
        let given = assignments(r#"x=1,"a,b"=-2.5"#).expect("values");
        assert_eq!(given.0, [("x".into(), 1.0), ("a,b".into(), -2.5)]);
        assert!(assignments("x=inf").is_err() && assignments("x").is_err());
        let given = bounds("x=-1:1,v=0:2").expect("bounds");
        assert_eq!(
            given.0,
            [("x".into(), (-1.0, 1.0)), ("v".into(), (0.0, 2.0))]
        );
        let error = bounds("x=1:-1").expect_err("turned round");
        assert_eq!(error, "`x=1:-1`: low, 1, must be below high, -1");
        assert!(bounds("x=1").is_err() && bounds("x=a:b").is_err());
        assert_eq!(seed("7"), Ok(7));
        let said = "expected a whole number from 0 to 9223372036854775807";
        assert_eq!(seed("-1"), Err(said.into()));
        assert!(at_least_one("0").is_err() && whole::<2, 5>("6").is_err());
    }
}
