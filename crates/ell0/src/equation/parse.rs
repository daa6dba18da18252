//! An expression read from text: the plain form, and PySINDy's with factors side by side.

use std::{collections::HashMap, sync::Arc};

use super::{Expression, Node};
use crate::{
    error::{Error, Result, require},
    wording::shown,
};

impl Expression {
    /// Reads an expression of the given variables.
    ///
    /// Understood are numbers, variables, `+ - * / ^` (or `**`) with the usual precedence, brackets, the functions exp, log, sqrt, abs, tanh, sign, sin, cos, and
    /// factors side by side: `2.5 x0^2 sin(1 x1)`. Exponents are constants. A name that is not a plain word stands between backticks.
    pub fn parse<S: AsRef<str>>(text: &str, variables: &[S]) -> Result<Self> {
        let variables = variables.iter().map(|v| v.as_ref().to_string()).collect();
        Expression::parse_in(text, &variables, &places(&variables))
    }

    /// The same in variables that others have, too.
    pub(super) fn parse_in(
        text: &str,
        variables: &Arc<[String]>,
        places: &HashMap<&str, usize>,
    ) -> Result<Self> {
        let mut parser = Parser {
            text,
            place: 0,
            depth: 0,
            variables: places,
        };
        let root = parser.sum()?;
        parser.skip_space();
        if parser.place < text.len() {
            return Err(parser.error("an operator, a factor or the end"));
        }
        require(
            root.is_finite(),
            "expression",
            format!("`{}`", shown(text)),
            "its constants must be finite: it divides by zero, or leaves a function's domain",
        )?;
        Expression::new(variables.clone(), root)
    }
}

/// Where each name stands; the first of names that are there twice.
pub(super) fn places(variables: &[String]) -> HashMap<&str, usize> {
    let mut places = HashMap::with_capacity(variables.len());
    for (index, name) in variables.iter().enumerate() {
        places.entry(name.as_str()).or_insert(index);
    }
    places
}

/// Deeper nesting than this is a mistake, and would overflow the stack.
pub(super) const MAX_DEPTH: usize = 100;

struct Parser<'a> {
    text: &'a str,
    place: usize,
    depth: usize,
    variables: &'a HashMap<&'a str, usize>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.place..]
    }

    fn skip_space(&mut self) {
        self.place += self.rest().len() - self.rest().trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.rest().chars().next()
    }

    fn error(&self, expected: impl Into<String>) -> Error {
        Error::Syntax {
            what: "expression",
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

    /// Goes one level deeper, if that is allowed.
    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            Err(self.error("less nesting (at most 100 levels)"))
        } else {
            Ok(())
        }
    }

    fn sum(&mut self) -> Result<Node> {
        self.deeper()?;
        let mut parts = vec![self.product()?];
        loop {
            if self.eat("+") {
                parts.push(self.product()?);
            } else if self.eat("-") {
                parts.push(Node::product([Node::Number(-1.0), self.product()?]));
            } else {
                self.depth -= 1;
                return Ok(Node::sum(parts));
            }
        }
    }

    fn product(&mut self) -> Result<Node> {
        let mut parts = vec![self.signed()?];
        loop {
            if !self.rest().trim_start().starts_with("**") && self.eat("*") {
                parts.push(self.signed()?);
            } else if self.eat("/") {
                parts.push(Node::power(self.signed()?, -1.0));
            } else if self
                .peek()
                .is_some_and(|c| c.is_alphanumeric() || matches!(c, '(' | '`' | '_' | '.'))
            {
                // Side by side.
                parts.push(self.power()?);
            } else {
                return Ok(Node::product(parts));
            }
        }
    }

    fn signed(&mut self) -> Result<Node> {
        let mut negative = false;
        loop {
            if self.eat("-") {
                negative = !negative;
            } else if !self.eat("+") {
                break;
            }
        }
        let node = self.power()?;
        Ok(if negative {
            Node::product([Node::Number(-1.0), node])
        } else {
            node
        })
    }

    fn power(&mut self) -> Result<Node> {
        let base = self.atom()?;
        if !(self.eat("^") || self.eat("**")) {
            return Ok(base);
        }
        self.skip_space();
        let start = self.place;
        self.deeper()?;
        let exponent = self.signed()?;
        self.depth -= 1;
        match exponent {
            Node::Number(exponent) if exponent.is_finite() => Ok(Node::power(base, exponent)),
            _ => {
                self.place = start;
                Err(self.error("a constant exponent"))
            }
        }
    }

    fn atom(&mut self) -> Result<Node> {
        match self.peek() {
            Some('(') => {
                self.place += 1;
                let node = self.sum()?;
                if self.eat(")") {
                    Ok(node)
                } else {
                    Err(self.error("`)`"))
                }
            }
            Some('`') => {
                let start = self.place;
                let mut name = String::new();
                let mut characters = self.rest()[1..].char_indices().peekable();
                while let Some((at, c)) = characters.next() {
                    match c {
                        '`' if characters.peek().is_some_and(|(_, c)| *c == '`') => {
                            characters.next();
                            name.push('`');
                        }
                        '`' => {
                            self.place += at + 2;
                            return self.variable(&name, start);
                        }
                        c => name.push(c),
                    }
                }
                Err(self.error("a closing backtick"))
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.word(),
            _ => Err(self.error("a number, a variable, a function or `(`")),
        }
    }

    fn number(&mut self) -> Result<Node> {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| {
            from + bytes[from..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count()
        };
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let after = digits(end + 1 + sign);
            if after > end + 1 + sign {
                end = after;
            }
        }
        // `.5.5` is no product of two numbers that stand side by side.
        if end > 0 && matches!(bytes.get(end), Some(b'.' | b'0'..=b'9')) {
            return Err(self.error("a number with one decimal point"));
        }
        match self.rest()[..end].parse::<f64>() {
            Ok(value) if value.is_finite() => {
                self.place += end;
                Ok(Node::Number(value))
            }
            _ => Err(self.error("a finite number")),
        }
    }

    fn word(&mut self) -> Result<Node> {
        let start = self.place;
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
            .unwrap_or(rest.len());
        let word = &rest[..end];
        self.place += end;
        if let Ok(function) = word.parse()
            && self.eat("(")
        {
            let argument = self.sum()?;
            return if self.eat(")") {
                Ok(Node::call(function, argument))
            } else {
                Err(self.error("`)`"))
            };
        }
        self.variable(word, start)
    }

    fn variable(&mut self, name: &str, start: usize) -> Result<Node> {
        match self.variables.get(name).copied() {
            Some(index) => Ok(Node::Variable(index)),
            None => {
                self.place = start;
                let nearest = self
                    .variables
                    .iter()
                    .min_by_key(|(v, place)| (strsim::levenshtein(v, name), **place))
                    .map(|(v, _)| v);
                Err(self.error(match nearest {
                    Some(nearest) => format!("a known variable (the nearest is `{nearest}`)"),
                    None => "a number (there are no variables)".into(),
                }))
            }
        }
    }
}
