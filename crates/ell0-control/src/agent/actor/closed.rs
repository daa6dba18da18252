//! A policy as something that can be written down: a closed form, or a compacted network.

use ell0::{
    equation::{Dynamics, Expression, Model, Node},
    export::Network,
    features::{Factor, Function},
    network::Mlp,
};
use serde::{Deserialize, Serialize};

use super::Actor;
use crate::error::{Error, Result};

/// What an action is called in a law that all of them share.
const SHARED: &str = "a";

/// A term of a policy, and the action that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermName {
    /// The action.
    pub action: String,
    /// The term.
    pub term: String,
}

impl Actor {
    /// Names of the terms of a dictionary, law after law: in the order of [`prob_active`](Self::prob_active). None for a network.
    pub fn term_names(&self) -> Option<Vec<TermName>> {
        let terms = self.features()?.names();
        let of = |action: &String| {
            let name = |term: &String| TermName {
                action: action.clone(),
                term: term.clone(),
            };
            terms.iter().map(name).collect::<Vec<_>>()
        };
        Some(match self.tied {
            None => self.action.names().iter().flat_map(of).collect(),
            Some(_) => of(&SHARED.into()),
        })
    }

    /// The law that all actions share in closed form, in the inputs counted from the place of an action. None if they share none.
    pub fn shared_law(&self) -> Result<Option<Model>> {
        let Some(tied) = &self.tied else {
            return Ok(None);
        };
        let names = tied.names.clone();
        let here: Vec<(usize, f64)> = (0..names.len()).map(|k| (k, 1.0)).collect();
        let Some(law) = self.law(0, 0, &here)? else {
            return Ok(None);
        };
        let equation = (SHARED.to_string(), Expression::new(names.clone(), law)?);
        Ok(Some(Model::new(
            names,
            vec![equation],
            Dynamics::Regression,
        )?))
    }

    /// The policy of a dictionary in closed form, in the units of the observations: centre + half·tanh(…), or scale·(…) for an action without two bounds, which the world brings into its range. None for a network.
    pub fn model(&self) -> Result<Option<Model>> {
        let inputs = self.observation.names().to_vec();
        let each: Vec<(usize, f64)> = (0..inputs.len()).map(|k| (k, 1.0)).collect();
        let mut equations = Vec::new();
        for (k, name) in self.action.names().iter().enumerate() {
            let law = match &self.tied {
                None => self.law(k, k, &each)?,
                Some(tied) => self.law(0, k, &tied.inputs[k])?,
            };
            let Some(law) = law else {
                return Ok(None);
            };
            equations.push((name.clone(), Expression::new(inputs.clone(), law)?));
        }
        Ok(Some(Model::new(inputs, equations, Dynamics::Regression)?))
    }

    /// A law as that of an action, its inputs being variables times factors. None for a network.
    fn law(&self, law: usize, action: usize, inputs: &[(usize, f64)]) -> Result<Option<Node>> {
        let (Some(features), Some(coefficients)) = (self.features(), self.scaled_coefficients())
        else {
            return Ok(None);
        };
        let scales = self.scales();
        // A factor of the scaled input as one of the variable itself, and what stands before it.
        let unscaled = |factor: &Factor| {
            let (variable, weight) = inputs[factor.input()];
            let (variable, weight) = (Node::Variable(variable), weight / scales[factor.input()]);
            match *factor {
                Factor::Power { exponent: 1, .. } => (variable, weight),
                Factor::Power { exponent, .. } => (
                    Node::power(variable, f64::from(exponent)),
                    weight.powi(exponent),
                ),
                Factor::Call {
                    function,
                    frequency,
                    ..
                } => {
                    let inside = Node::Number(f64::from(frequency) * weight);
                    (Node::call(function, Node::product([inside, variable])), 1.0)
                }
            }
        };
        let mut terms = Vec::new();
        let p = features.len();
        for (term, &coefficient) in features.terms().iter().zip(&coefficients[law * p..][..p]) {
            if coefficient == 0.0 {
                continue;
            }
            let factors: Vec<(Node, f64)> = term.factors().iter().map(unscaled).collect();
            let value = factors.iter().fold(coefficient, |c, (_, scale)| c * scale);
            if !value.is_finite() {
                return Err(Error::NotFinite {
                    what: "a coefficient of the policy",
                    value,
                });
            }
            let factors = factors.into_iter().map(|f| f.0);
            terms.push(Node::product(
                [Node::Number(value)].into_iter().chain(factors),
            ));
        }
        let (inside, half) = (Node::sum(terms), Node::Number(self.action.half(action)));
        Ok(Some(if self.action.is_bounded(action) {
            let swing = Node::product([half, Node::call(Function::Tanh, inside)]);
            Node::sum([Node::Number(self.action.centre(action)), swing])
        } else {
            Node::product([half, inside])
        }))
    }

    /// The compacted network of a policy, its heads included; what has no two bounds is for the world to bring into its range. None for a dictionary, which has a [`model`](Actor::model).
    pub fn network(&self) -> Result<Option<Network>> {
        if self.lift.is_some() {
            return Ok(None);
        }
        let mlp = Mlp::from_parameters(self.architecture.clone(), self.parameters.clone())?;
        let (inputs, outputs) = (self.observation.names(), self.action.names());
        let network = Network::new(mlp.compact()?, inputs.to_vec(), outputs.to_vec())?;
        Ok(Some(network.with_heads(self.heads())?))
    }
}
