//! What chooses actions.
//!
//! A [`Policy`] begins to act for a number of worlds side by side; what comes of it, an [`Act`], has its workspace and is asked in every time step. Trained actors, laws in closed form, random actions and
//! the exploring policy of training are all of this kind, so one [loop](crate::rollout) serves them all.

use ell0::{
    equation::{Dynamics, Evaluator, Expression, Model},
    rng::Generator,
    wording::{listed, shown},
};

use crate::{
    environment::Space,
    error::{Error, Result, require_size},
};

/// Something that can act.
pub trait Policy: Sync {
    /// Begins to act in at most so many worlds side by side: whatever room that needs is made here, once.
    fn start(&self, rows: usize) -> Result<Box<dyn Act + '_>>;
}

/// A policy at work.
pub trait Act {
    /// The actions for observations of `rows` worlds, each with its randomness; observations and actions stand column after column.
    fn act(
        &mut self,
        observation: &[f32],
        rows: usize,
        rng: &mut [Generator],
        action: &mut [f64],
    ) -> Result<()>;
}

/// Random actions of a space (see [`Space::draw`]), in single precision as Gymnasium draws them.
#[derive(Clone, Debug)]
pub struct Random(pub Space);

impl Policy for Random {
    fn start(&self, _: usize) -> Result<Box<dyn Act + '_>> {
        Ok(Box::new(self))
    }
}

impl Act for &Random {
    fn act(
        &mut self,
        _: &[f32],
        rows: usize,
        rng: &mut [Generator],
        action: &mut [f64],
    ) -> Result<()> {
        for (row, rng) in rng.iter_mut().enumerate().take(rows) {
            for k in 0..self.0.len() {
                action[k * rows + row] = f64::from(self.0.draw(k, rng) as f32);
            }
        }
        Ok(())
    }
}

/// A law at work: a model whose inputs are among the observations and whose targets are the actions.
#[derive(Clone, Debug)]
pub struct LawPolicy {
    /// The law of each action, compiled.
    laws: Vec<Evaluator>,
    /// Place of each input among the observations.
    order: Vec<usize>,
    observations: usize,
}

impl LawPolicy {
    /// A model as a policy for given spaces.
    pub fn new(model: &Model, observation: &Space, action: &Space) -> Result<Self> {
        let missing = |what: &'static str, name: &str, there: &[String]| Error::Mismatch {
            what,
            name: name.into(),
            expected: there.join(", "),
        };
        let order = model
            .inputs()
            .iter()
            .map(|name| {
                let place = observation.names().iter().position(|n| n == name);
                place.ok_or_else(|| missing("input", name, observation.names()))
            })
            .collect::<Result<_>>()?;
        let given: Vec<String> = model.targets().map(String::from).collect();
        let expressions: Vec<&Expression> = model.expressions().collect();
        let laws = action
            .names()
            .iter()
            .map(|name| {
                let place = given.iter().position(|n| n == name);
                let place = place.ok_or_else(|| missing("action", name, &given))?;
                Ok(expressions[place].evaluator())
            })
            .collect::<Result<_>>()?;
        Ok(LawPolicy {
            laws,
            order,
            observations: observation.len(),
        })
    }
}

impl Policy for LawPolicy {
    fn start(&self, rows: usize) -> Result<Box<dyn Act + '_>> {
        Ok(Box::new(LawAct {
            laws: self.laws.clone(),
            law: self,
            inputs: vec![0.0; rows * self.order.len()],
        }))
    }
}

struct LawAct<'a> {
    law: &'a LawPolicy,
    laws: Vec<Evaluator>,
    inputs: Vec<f64>,
}

impl Act for LawAct<'_> {
    fn act(
        &mut self,
        observation: &[f32],
        rows: usize,
        _: &mut [Generator],
        action: &mut [f64],
    ) -> Result<()> {
        require_size(
            "the observations of a policy",
            observation.len(),
            rows * self.law.observations,
        )?;
        require_size(
            "the actions of a policy",
            action.len(),
            rows * self.laws.len(),
        )?;
        if rows == 0 {
            return Ok(());
        }
        self.inputs.resize(rows * self.law.order.len(), 0.0);
        for (room, k) in self.inputs.chunks_exact_mut(rows).zip(&self.law.order) {
            let column = &observation[k * rows..][..rows];
            room.iter_mut()
                .zip(column)
                .for_each(|(r, x)| *r = f64::from(*x));
        }
        for (law, column) in self.laws.iter_mut().zip(action.chunks_exact_mut(rows)) {
            law.evaluate_into(&self.inputs, rows, column)?;
        }
        Ok(())
    }
}

/// A policy from text: a law for each action, such as `torque = 2*tanh(-5*sin_theta); brake = 0.1`. Where there is one action, its name may be left out. Laws stand between semicolons or on lines of their own.
pub fn policy_from_text(text: &str, observations: &[String], actions: &[String]) -> Result<Model> {
    let wrong = |at: usize, reason: String| Error::Text {
        // One line, so that the mark stands below the mistake.
        text: text.replace('\n', ";"),
        at: text.get(..at).map_or(0, |t| t.chars().count()),
        reason,
    };
    let mut laws: Vec<Option<Expression>> = vec![None; actions.len()];
    let mut at = 0;
    for part in text.split([';', '\n']) {
        let (place, law) = (at, part);
        at += part.len() + 1;
        if law.trim().is_empty() {
            continue;
        }
        let (k, law) = match law.split_once('=') {
            Some((name, law)) => {
                let name = name.trim().trim_matches('`');
                let known = actions.iter().position(|a| a == name);
                let reason = || {
                    let there = listed(actions);
                    format!("there is no action `{}`; there are {there}", shown(name))
                };
                (known.ok_or_else(|| wrong(place, reason()))?, law)
            }
            None if actions.len() == 1 => (0, law),
            None => {
                let reason = format!(
                    "each law needs the name of its action, for example {} = …",
                    actions.first().map_or("u", String::as_str)
                );
                return Err(wrong(place, reason));
            }
        };
        if laws[k].is_some() {
            return Err(wrong(
                place,
                format!("`{}` has two laws", shown(&actions[k])),
            ));
        }
        laws[k] = Some(Expression::parse(law.trim(), observations)?);
    }
    let equations = actions
        .iter()
        .zip(laws)
        .map(|(name, law)| {
            let law = law.ok_or_else(|| {
                wrong(
                    text.len(),
                    format!("the law of `{}` is missing", shown(name)),
                )
            })?;
            Ok((name.clone(), law))
        })
        .collect::<Result<Vec<_>>>()?;
    let inputs = observations.to_vec();
    Ok(Model::new(inputs, equations, Dynamics::Regression)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn several_laws_are_read() {
        let (seen, chosen) = (names(&["x", "v"]), names(&["torque", "brake"]));
        let model = policy_from_text(" brake = x*v;\n torque=2*tanh(x - 1) ;", &seen, &chosen)
            .expect("a policy");
        assert_eq!(model.targets().collect::<Vec<_>>(), ["torque", "brake"]);
        assert_eq!(model.predict(&[1.0, 3.0], 1).expect("numbers"), [0.0, 3.0]);
        let single = policy_from_text("-x", &seen, &names(&["u"])).expect("a policy");
        assert_eq!(single.text(5), "u = -x");
    }

    #[test]
    fn what_is_missing_is_said() {
        let (seen, chosen) = (names(&["x"]), names(&["torque", "brake"]));
        for (text, words) in [
            ("torque = x", "the law of `brake` is missing"),
            ("x", "each law needs the name"),
            ("torque = x; torque = 1", "two laws"),
            (
                "torqe = x",
                "there is no action `torqe`; there are torque, brake",
            ),
            ("torque = y; brake = 0", "a known variable"),
        ] {
            let error = policy_from_text(text, &seen, &chosen).expect_err(text);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
