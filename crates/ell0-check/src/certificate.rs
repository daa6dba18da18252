//! Reading a certificate.

use ell0::equation::{Expression, Interval, Shared};

/// What is wrong with a certificate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Flaw {
    /// The file was changed or cut off.
    #[error("the sum at the end does not fit: the file was changed, or cut off")]
    Sum,
    /// A line that cannot be read.
    #[error("line {line}: {expected}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What would be right.
        expected: &'static str,
    },
    /// The parts do not fit together.
    #[error("{0}")]
    Head(&'static str),
    /// The loop is not symmetric.
    #[error(
        "only half of the box has cells, but F(−x) = −F(x) does not follow from the form of the map"
    )]
    NotOdd,
    /// The loop is not the same after a period.
    #[error(
        "that the map is the same after a period of `{state}` does not follow from the form of the map"
    )]
    NotRound {
        /// The state with the period.
        state: String,
    },
    /// The target is no such set.
    #[error("dᵀPd may not fall on the target: {0}")]
    Target(&'static str),
    /// The target is not within the limits.
    #[error("the target is not within the limits")]
    TargetForbidden,
    /// A cell from which a trajectory may go elsewhere.
    #[error(
        "cell {cell}, in the order of the file: an image may be outside of cells that claim few enough steps"
    )]
    Outside {
        /// Its number, from 0.
        cell: usize,
    },
    /// A cell that is not within the limits.
    #[error("cell {cell}, in the order of the file: a trajectory may leave the limits")]
    Forbidden {
        /// Its number, from 0.
        cell: usize,
    },
}

/// A state.
#[derive(Clone, Debug)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Where the box begins and ends.
    pub low: f64,
    pub high: f64,
    /// After how much it comes back to itself.
    pub period: Option<f64>,
}

/// Something that lies in a range: the same at all times, or another at every step.
#[derive(Clone, Debug)]
pub struct Uncertain {
    pub name: String,
    pub range: Interval,
    pub varies: bool,
}

/// A value, in what stands before it.
#[derive(Clone, Debug)]
pub struct Value {
    pub name: String,
    pub law: Expression,
    pub program: Shared,
    pub range: Option<(f64, f64)>,
}

/// A node of the tree of cells, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// Divided along an axis; the upper half stands at this place, the lower one next.
    Divided { axis: usize, upper: usize },
    /// Nothing is claimed.
    Open,
    /// Proved: after so many steps in what claims fewer, and within so many in the target.
    Proved { after: u32, steps: u32 },
}

/// What a file says.
#[derive(Clone, Debug, Default)]
pub struct Certificate {
    pub states: Vec<State>,
    pub uncertain: Vec<Uncertain>,
    pub values: Vec<Value>,
    /// Which of states, uncertain inputs and values are the next state.
    pub next: Vec<usize>,
    pub centre: Vec<f64>,
    pub p: Vec<Vec<f64>>,
    pub level: f64,
    /// Trajectories come into {dᵀPd ≤ inner} and stay there; 0 if they go to the centre.
    pub inner: f64,
    pub stay: Option<Vec<Interval>>,
    pub avoid: Vec<Vec<Interval>>,
    pub shear: Vec<Vec<f64>>,
    pub odd: bool,
    pub nodes: Vec<Node>,
}

/// Steps of one cell: more would take long, and enclose nothing.
const MOST_STEPS: u32 = 10_000;

/// Values and uncertain inputs, and bytes of a name: more are no loop that somebody could read.
const MOST_VALUES: usize = 1_000;
const MOST_UNCERTAIN: usize = 32;
const LONGEST_NAME: usize = 200;

/// Cells that were divided more often would be smaller than numbers can tell.
const DEEPEST: usize = 200;

/// FNV-1a, 64 bits.
fn sum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// All words as numbers, none of them no number.
fn numbers(text: &str) -> Option<Vec<f64>> {
    let number = |word: &str| word.parse::<f64>().ok().filter(|v| !v.is_nan());
    text.split_whitespace().map(number).collect()
}

/// Pairs of numbers as ranges, each the least before the greatest.
fn ranges(text: &str) -> Option<Vec<Interval>> {
    let numbers = numbers(text)?;
    let pairs = numbers.chunks(2);
    pairs
        .map(|pair| match pair {
            [low, high] if low <= high => Some(Interval::new(*low, *high)),
            _ => None,
        })
        .collect()
}

/// `` `name` rest ``.
fn named(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('`')?.split_once('`')
}

impl Certificate {
    /// Reads the text, and checks that it fits together.
    pub fn read(text: &str) -> Result<Self, Flaw> {
        let body = text.trim_end_matches('\n');
        let (body, last) = body.rsplit_once('\n').ok_or(Flaw::Sum)?;
        let claimed = last.strip_prefix("sum ").ok_or(Flaw::Sum)?;
        let right = sum(&text[..body.len() + 1]);
        if text.len() != body.len() + last.len() + 2 || format!("{right:016x}") != claimed {
            return Err(Flaw::Sum);
        }
        let mut certificate = Certificate::default();
        let mut lines = body.lines().enumerate();
        if lines.next().map(|l| l.1) != Some("ell0 certificate 1") {
            return Err(Flaw::Head("the first line is not that of a certificate"));
        }
        for (at, line) in lines.by_ref() {
            if line == "cells" {
                break;
            }
            let line_flaw = |expected| Flaw::Line {
                line: at + 1,
                expected,
            };
            certificate.line(line).map_err(line_flaw)?;
        }
        certificate.cells(lines.map(|l| l.1))?;
        certificate.fits().map_err(Flaw::Head)?;
        Ok(certificate)
    }

    /// Names of what a value may be made of.
    fn names(&self) -> Vec<String> {
        let states = self.states.iter().map(|s| s.name.clone());
        let uncertain = self.uncertain.iter().map(|u| u.name.clone());
        let values = self.values.iter().map(|v| v.name.clone());
        states.chain(uncertain).chain(values).collect()
    }

    fn line(&mut self, line: &str) -> Result<(), &'static str> {
        const NUMBERS: &str = "numbers are needed, the least before the greatest";
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let name = || named(rest).ok_or("a name in backquotes is needed");
        let new = |certificate: &Self, name: &str| {
            let known = certificate.names().iter().any(|n| n == name);
            if name.len() > LONGEST_NAME {
                Err("this name is too long")
            } else if known {
                Err("this name was given before")
            } else {
                Ok(())
            }
        };
        match kind {
            "state" if self.uncertain.is_empty() && self.values.is_empty() => {
                let (name, rest) = name()?;
                new(self, name)?;
                let (ends, period) = match rest.split_once(" period ") {
                    Some((ends, period)) => (ends, Some(period.parse().map_err(|_| NUMBERS)?)),
                    None => (rest, None),
                };
                let [range] = ranges(ends).ok_or(NUMBERS)?[..] else {
                    return Err(NUMBERS);
                };
                let Interval { low, high } = range;
                let name = name.into();
                self.states.push(State {
                    name,
                    low,
                    high,
                    period,
                });
            }
            "parameter" | "disturbance" if self.values.is_empty() => {
                if self.uncertain.len() == MOST_UNCERTAIN {
                    return Err("there are too many uncertain inputs");
                }
                let (name, rest) = name()?;
                new(self, name)?;
                let [range] = ranges(rest).ok_or(NUMBERS)?[..] else {
                    return Err(NUMBERS);
                };
                self.uncertain.push(Uncertain {
                    name: name.into(),
                    range,
                    varies: kind == "disturbance",
                });
            }
            "value" => {
                if self.values.len() == MOST_VALUES {
                    return Err("there are too many values");
                }
                let (name, rest) = name()?;
                new(self, name)?;
                let (range, law) = rest.split_once(" = ").ok_or("an expression is needed")?;
                let range = match ranges(range).ok_or(NUMBERS)?[..] {
                    [] => None,
                    [Interval { low, high }] => Some((low, high)),
                    _ => return Err(NUMBERS),
                };
                let law = Expression::parse(law, &self.names());
                let law = law.map_err(|_| "the expression cannot be read")?;
                self.values.push(Value {
                    name: name.into(),
                    program: Shared::gradients([law.root()], &[]),
                    law,
                    range,
                });
            }
            "next" => {
                let (name, rest) = name()?;
                let at = self.names().iter().position(|n| n == name);
                self.next.push(
                    at.filter(|_| rest.is_empty())
                        .ok_or("there is no such value")?,
                );
            }
            "centre" => self.centre = numbers(rest).ok_or(NUMBERS)?,
            "p" => self.p.push(numbers(rest).ok_or(NUMBERS)?),
            "inner" => self.inner = rest.parse().map_err(|_| NUMBERS)?,
            "level" => self.level = rest.parse().map_err(|_| NUMBERS)?,
            "stay" if self.stay.is_none() => self.stay = Some(ranges(rest).ok_or(NUMBERS)?),
            "avoid" => self.avoid.push(ranges(rest).ok_or(NUMBERS)?),
            "shear" => self.shear.push(numbers(rest).ok_or(NUMBERS)?),
            "odd" if rest.is_empty() => self.odd = true,
            _ => return Err("this line does not belong here"),
        }
        Ok(())
    }

    /// The cells: axes, `.` and `k/n`, the lower half of what is divided first.
    fn cells<'a>(&mut self, lines: impl Iterator<Item = &'a str>) -> Result<(), Flaw> {
        let wrong = Flaw::Head("the cells cannot be read");
        // Divided cells whose upper half is still to come, and how deep they are.
        let mut waiting: Vec<(usize, usize)> = Vec::new();
        let mut depth = 0;
        for word in lines.flat_map(str::split_whitespace) {
            match self.nodes.last() {
                None => {}
                Some(Node::Divided { .. }) => depth += 1,
                Some(_) => {
                    let (above, level) = waiting.pop().ok_or_else(|| wrong.clone())?;
                    let at = self.nodes.len();
                    if let Node::Divided { upper, .. } = &mut self.nodes[above] {
                        *upper = at;
                    }
                    depth = level + 1;
                }
            }
            if depth > DEEPEST {
                return Err(wrong);
            }
            let node = if word == "." {
                Node::Open
            } else if let Some((after, steps)) = word.split_once('/') {
                match (after.parse(), steps.parse()) {
                    (Ok(after), Ok(steps)) if after <= MOST_STEPS => Node::Proved { after, steps },
                    _ => return Err(wrong),
                }
            } else {
                let axis = word.parse().ok().filter(|a| *a < self.states.len());
                let axis = axis.ok_or_else(|| wrong.clone())?;
                waiting.push((self.nodes.len(), depth));
                Node::Divided { axis, upper: 0 }
            };
            self.nodes.push(node);
        }
        let ends = matches!(self.nodes.last(), Some(Node::Open | Node::Proved { .. }));
        if ends && waiting.is_empty() {
            Ok(())
        } else {
            Err(wrong)
        }
    }

    fn fits(&self) -> Result<(), &'static str> {
        let n = self.states.len();
        let square = |m: &Vec<Vec<f64>>| m.len() == n && m.iter().all(|row| row.len() == n);
        if self.next.len() != n
            || self.centre.len() != n
            || !square(&self.p)
            || !square(&self.shear)
        {
            return Err("map, target and coordinates must be of as many states as there are");
        }
        let finite = |v: &f64| v.is_finite();
        let all = self.centre.iter().chain(self.p.iter().flatten());
        if !all.chain(self.shear.iter().flatten()).all(finite) {
            return Err("target and coordinates must be finite numbers");
        }
        let boxes = self.stay.iter().chain(&self.avoid);
        if boxes.into_iter().any(|b| b.len() != n) {
            return Err("limits must be of as many states as there are");
        }
        for (i, state) in self.states.iter().enumerate() {
            let width = state.high - state.low;
            if !(state.low < state.high && width.is_finite()) {
                return Err("the box must be finite, and not empty");
            }
            // The period is a real number within a unit in the last place of this one.
            if let Some(period) = state.period
                && !(period > 0.0 && width > period * (1.0 + 4.0 * f64::EPSILON))
            {
                return Err("the box must be wider than the period of a state, which is positive");
            }
            if self.odd && state.low != -state.high {
                return Err("half of a box needs one that is symmetric");
            }
            // y = x + E·x is the same set of states as the box only if angles are moved, by what has no period.
            for (j, other) in self.states.iter().enumerate() {
                let may = state.period.is_some() && other.period.is_none();
                if self.shear[i][j] != 0.0 && !may {
                    return Err("only angles may be moved, by states that are none");
                }
            }
        }
        if self.odd && self.centre.iter().any(|c| *c != 0.0) {
            return Err("half of a box needs a target around 0");
        }
        let mut stay = self.stay.iter().flatten();
        if self.odd && !(self.avoid.is_empty() && stay.all(|s| s.low == -s.high)) {
            return Err("half of a box needs limits that are symmetric");
        }
        if self
            .uncertain
            .iter()
            .any(|u| !u.range.magnitude().is_finite())
        {
            return Err("what is uncertain must lie in finite ranges");
        }
        Ok(())
    }
}
