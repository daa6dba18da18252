//! Small worlds whose answers are known.

use std::f64::consts::TAU;

use ell0::{equation::Model, rng::Generator};

use crate::{
    environment::{Parameter, Rows, Slopes, SmoothStep},
    error::{Error, Result},
    policy::policy_from_text,
};

fn names(letter: &str, count: usize) -> Vec<String> {
    (0..count).map(|k| format!("{letter}{k}")).collect()
}

fn times(rows: &Rows, x: &[f64]) -> Vec<f64> {
    let dot = |row: &Vec<f64>| row.iter().zip(x).map(|(r, x)| r * x).sum();
    rows.iter().map(dot).collect()
}

/// y⁺ = A·y + B·a. What is seen are the states and, last, a constant.
#[derive(Clone, Debug)]
pub struct Linear {
    pub a: Rows,
    pub b: Rows,
    pub limit: f64,
    pub size: f64,
    pub seen: f64,
    /// Typical states are so many waves on a ring and a mean, instead of noise.
    pub waves: Option<usize>,
    /// Whether it says that it is linear.
    pub says_so: bool,
}

impl Linear {
    pub fn new(a: Rows, b: Rows, limit: f64) -> Self {
        Linear {
            a,
            b,
            limit,
            size: 1.0,
            seen: 0.5,
            waves: None,
            says_so: true,
        }
    }

    pub fn law(&self, text: &str) -> Model {
        let actions: Vec<String> = self.actions().into_iter().map(|(name, _)| name).collect();
        policy_from_text(text, &self.observations(), &actions).expect("a law")
    }
}

impl SmoothStep for Linear {
    fn states(&self) -> Vec<String> {
        names("y", self.a.len())
    }

    fn actions(&self) -> Vec<(String, [f64; 2])> {
        let range = [-self.limit, self.limit];
        let all = names("a", self.b[0].len()).into_iter();
        all.map(|name| (name, range)).collect()
    }

    fn next(&self, state: &[f64], action: &[f64]) -> Vec<f64> {
        let more = times(&self.b, action);
        let next = times(&self.a, state);
        next.iter().zip(&more).map(|(x, m)| x + m).collect()
    }

    fn slopes(&self, _: &[f64], _: &[f64]) -> Slopes {
        Slopes {
            state: self.a.clone(),
            action: self.b.clone(),
        }
    }

    fn observations(&self) -> Vec<String> {
        let mut all = self.states();
        all.push("p".into());
        all
    }

    fn observe(&self, state: &[f64]) -> Vec<f64> {
        [state, &[self.seen]].concat()
    }

    fn observation_slopes(&self, state: &[f64]) -> Rows {
        let n = state.len();
        let unit = |k: usize| (0..n).map(|j| f64::from(u8::from(j == k))).collect();
        (0..=n).map(unit).collect()
    }

    fn quadratic_cost(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        Some((vec![1.0; self.a.len()], vec![0.1; self.b[0].len()]))
    }

    fn is_linear(&self) -> bool {
        self.says_so
    }

    fn typical_state(&self, rng: &mut Generator) -> Vec<f64> {
        let n = self.a.len();
        let Some(waves) = self.waves else {
            return (0..n).map(|_| self.size * rng.normal()).collect();
        };
        let mut state = vec![self.size * rng.normal(); n];
        for wave in 1..=waves {
            let (height, phase) = (self.size * rng.normal() / wave as f64, TAU * rng.uniform());
            let turn = TAU * wave as f64 / n as f64;
            for (i, y) in state.iter_mut().enumerate() {
                *y += height * (turn * i as f64 + phase).sin();
            }
        }
        state
    }
}

/// Maps with one parameter, whose bifurcations are in textbooks. The action is added to the first state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Textbook {
    /// x⁺ = r·x·(1 − x): stable at 1 − 1/r from r = 1 to r = 3, where it flips.
    Logistic,
    /// x⁺ = r·x·(1 − y), y⁺ = x: stable at 1 − 1/r up to r = 2, where a pair leaves the circle.
    DelayedLogistic,
    /// x⁺ = x + 0.1·(r − x²): stable at √r, which vanishes at r = 0.
    Fold,
}

#[derive(Clone, Debug)]
pub struct TextbookMap {
    pub map: Textbook,
    pub r: f64,
}

impl TextbookMap {
    pub fn law(&self, text: &str) -> Model {
        policy_from_text(text, &self.observations(), &["a".into()]).expect("a law")
    }
}

impl SmoothStep for TextbookMap {
    fn states(&self) -> Vec<String> {
        match self.map {
            Textbook::DelayedLogistic => vec!["x".into(), "y".into()],
            _ => vec!["x".into()],
        }
    }

    fn actions(&self) -> Vec<(String, [f64; 2])> {
        vec![("a".into(), [-1.0, 1.0])]
    }

    fn next(&self, state: &[f64], action: &[f64]) -> Vec<f64> {
        let (x, r) = (state[0], self.r);
        match self.map {
            Textbook::Logistic => vec![r * x * (1.0 - x) + action[0]],
            Textbook::DelayedLogistic => vec![r * x * (1.0 - state[1]) + action[0], x],
            Textbook::Fold => vec![x + 0.1 * (r - x * x) + action[0]],
        }
    }

    fn slopes(&self, state: &[f64], _: &[f64]) -> Slopes {
        let (x, r) = (state[0], self.r);
        match self.map {
            Textbook::Logistic => Slopes {
                state: vec![vec![r * (1.0 - 2.0 * x)]],
                action: vec![vec![1.0]],
            },
            Textbook::DelayedLogistic => Slopes {
                state: vec![vec![r * (1.0 - state[1]), -r * x], vec![1.0, 0.0]],
                action: vec![vec![1.0], vec![0.0]],
            },
            Textbook::Fold => Slopes {
                state: vec![vec![1.0 - 0.2 * x]],
                action: vec![vec![1.0]],
            },
        }
    }

    fn observations(&self) -> Vec<String> {
        self.states()
    }

    fn observe(&self, state: &[f64]) -> Vec<f64> {
        state.to_vec()
    }

    fn observation_slopes(&self, state: &[f64]) -> Rows {
        let n = state.len();
        let unit = |k: usize| (0..n).map(|j| f64::from(u8::from(j == k))).collect();
        (0..n).map(unit).collect()
    }

    fn typical_state(&self, rng: &mut Generator) -> Vec<f64> {
        let start = || 0.3 + 0.2 * rng.uniform();
        std::iter::repeat_with(start)
            .take(self.states().len())
            .collect()
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("r", self.r)]
    }

    fn with_parameter(&self, name: &str, value: f64) -> Result<Box<dyn SmoothStep>> {
        if name != "r" || value > 50.0 {
            return Err(Error::Parameter {
                name: name.into(),
                value,
                expected: "r up to 50",
            });
        }
        Ok(Box::new(TextbookMap {
            r: value,
            ..self.clone()
        }))
    }
}
