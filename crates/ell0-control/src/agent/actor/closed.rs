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

/// A term of a policy, and the action that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermName {
    /// The action.
    pub action: String,
    /// The term.
    pub term: String,
}

impl Actor {
    /// Names of the terms of a dictionary, action after action: in the order of [`prob_active`](Self::prob_active). None for a network.
    pub fn term_names(&self) -> Option<Vec<TermName>> {
        let terms = self.features()?.names();
        let of = |action: &String| {
            let name = |term: &String| TermName {
                action: action.clone(),
                term: term.clone(),
            };
            terms.iter().map(name).collect::<Vec<_>>()
        };
        Some(self.action.names().iter().flat_map(of).collect())
    }

    /// The policy of a dictionary in closed form, in the units of the observations: centre + half·tanh(…), or scale·(…) for an action without two bounds, which the world brings into its range. None for a network.
    pub fn model(&self) -> Result<Option<Model>> {
        let (Some(features), Some(coefficients)) = (self.features(), self.scaled_coefficients())
        else {
            return Ok(None);
        };
        let scales = self.scales();
        // A factor of the scaled observation as one of the observation itself, and what stands before it.
        let unscaled = |factor: &Factor| {
            let (variable, scale) = (Node::Variable(factor.input()), scales[factor.input()]);
            match *factor {
                Factor::Power { exponent: 1, .. } => (variable, 1.0 / scale),
                Factor::Power { exponent, .. } => (
                    Node::power(variable, f64::from(exponent)),
                    scale.powi(-exponent),
                ),
                Factor::Call {
                    function,
                    frequency,
                    ..
                } => {
                    let inside = Node::Number(f64::from(frequency) / scale);
                    (Node::call(function, Node::product([inside, variable])), 1.0)
                }
            }
        };
        let mut equations = Vec::new();
        for (k, law) in coefficients.chunks_exact(features.len()).enumerate() {
            let mut terms = Vec::new();
            for (term, &coefficient) in features.terms().iter().zip(law) {
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
            let (inside, half) = (Node::sum(terms), Node::Number(self.action.half(k)));
            let law = if self.action.is_bounded(k) {
                let swing = Node::product([half, Node::call(Function::Tanh, inside)]);
                Node::sum([Node::Number(self.action.centre(k)), swing])
            } else {
                Node::product([half, inside])
            };
            let inputs = self.observation.names().to_vec();
            let name = self.action.names()[k].clone();
            equations.push((name, Expression::new(inputs, law)?));
        }
        let inputs = self.observation.names().to_vec();
        Ok(Some(Model::new(inputs, equations, Dynamics::Regression)?))
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
