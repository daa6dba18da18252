//! What every format needs to know, worked out once: names, what the code uses, pairs for its self-test.

use super::{
    Network, Options,
    identifier::{comment, identifiers},
    network::{Heads, Layer},
    power::whole,
    sample::{Pair, pairs},
};
use crate::{
    equation::{Dynamics, Model, Node},
    error::{Error, Result},
    features::Function,
};

/// What is computed.
pub(super) enum Body<'a> {
    Equations(&'a Model),
    Network(&'a Network),
}

/// A name as the user gave it, and as code can hold it.
pub(super) struct Name {
    pub text: String,
    pub identifier: String,
    /// What it is, for a comment.
    pub comment: String,
}

pub(super) struct Layout<'a> {
    pub name: &'a str,
    pub float: bool,
    pub inputs: Vec<Name>,
    pub outputs: Vec<Name>,
    pub body: Body<'a>,
    pub pairs: Vec<Pair>,
    pub tolerance: f64,
    /// Lines that say what the code computes, safe in any comment.
    pub about: Vec<String>,
}

impl<'a> Layout<'a> {
    pub fn of_model(model: &'a Model, options: &'a Options) -> Result<Self> {
        for expression in model.expressions() {
            check_constants(expression.root(), options.float)?;
        }
        let mut about: Vec<String> = model.text(6).lines().map(comment).collect();
        // A law with very many terms is its own best description.
        if about.iter().map(String::len).sum::<usize>() > 4000 {
            about.clear();
        }
        let targets: Vec<String> = model.targets().map(String::from).collect();
        let kind = match model.dynamics() {
            Dynamics::Regression => "",
            Dynamics::Continuous => "rate of change of ",
            Dynamics::Discrete => "one step later: ",
        };
        let body = Body::Equations(model);
        Layout::new(options, model.inputs(), &targets, kind, body, about)
    }

    pub fn of_network(network: &'a Network, options: &'a Options) -> Result<Self> {
        let mut widths = vec![network.read().len().to_string()];
        widths.extend(network.layers().iter().map(|l| l.outputs.to_string()));
        let last = match network.heads_at_once() {
            Heads::Identity => "",
            Heads::Tanh { centres: None, .. } => ", then max * tanh",
            Heads::Tanh { .. } => ", then centre + half * tanh",
            Heads::Scaled(_) => ", then a factor for each output",
            Heads::Mixed => ", then a bound or a factor for some outputs",
        };
        let numbers = |l: &Layer| l.weights.len() + l.biases.len();
        let numbers: usize = network.layers().iter().map(numbers).sum();
        let bytes = numbers * if options.float { 4 } else { 8 };
        let about = vec![
            format!("A network of widths {}{last}.", widths.join(", ")),
            format!("Its {numbers} weights and biases take {bytes} bytes."),
        ];
        let (inputs, outputs) = (network.inputs(), network.outputs());
        Layout::new(options, inputs, outputs, "", Body::Network(network), about)
    }

    fn new(
        options: &'a Options,
        inputs: &[String],
        outputs: &[String],
        kind: &str,
        body: Body<'a>,
        about: Vec<String>,
    ) -> Result<Self> {
        let (pairs, tolerance) = pairs(&body, inputs.len(), options.float)?;
        let names = |texts: &[String], kind: &str| -> Vec<Name> {
            let all = texts.iter().zip(identifiers(texts, &options.name));
            all.map(|(text, identifier)| Name {
                text: text.clone(),
                identifier,
                comment: format!("{kind}{}", comment(text)),
            })
            .collect()
        };
        Ok(Layout {
            name: &options.name,
            float: options.float,
            inputs: names(inputs, ""),
            outputs: names(outputs, kind),
            body,
            pairs,
            tolerance,
            about,
        })
    }

    /// Identifiers of the inputs.
    pub fn identifiers(&self) -> Vec<String> {
        self.inputs.iter().map(|n| n.identifier.clone()).collect()
    }

    /// The equations; none for a network.
    pub fn equations(&self) -> Vec<&Node> {
        match self.body {
            Body::Equations(model) => model.expressions().map(|e| e.root()).collect(),
            Body::Network(_) => Vec::new(),
        }
    }

    /// The inputs that equations read: code must not name others, or compilers complain.
    pub fn used_inputs(&self) -> Vec<(usize, &Name)> {
        let mut used = vec![false; self.inputs.len()];
        self.visit(|node| {
            if let Node::Variable(index) = node {
                used[*index] = true;
            }
        });
        let all = self.inputs.iter().enumerate();
        all.filter(|(index, _)| used[*index]).collect()
    }

    /// The functions that equations call, in a fixed order.
    pub fn used_functions(&self) -> Vec<Function> {
        let mut used = Vec::new();
        self.visit(|node| {
            if let Node::Call(function, _) = node {
                used.push(*function);
            }
        });
        used.sort_unstable();
        used.dedup();
        used
    }

    /// The small whole exponents of equations, in order.
    pub fn used_powers(&self) -> Vec<i32> {
        let mut used = Vec::new();
        self.visit(|node| {
            if let Node::Power(_, exponent) = node {
                used.extend(whole(*exponent));
            }
        });
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Whether a power has another exponent.
    pub fn uses_other_powers(&self) -> bool {
        let mut other = false;
        self.visit(|node| {
            other |= matches!(node, Node::Power(_, exponent) if whole(*exponent).is_none());
        });
        other
    }

    fn visit(&self, mut visit: impl FnMut(&Node)) {
        self.equations().iter().for_each(|e| e.visit(&mut visit));
    }
}

/// Numbers that a language cannot write are refused.
fn check_constants(root: &Node, float: bool) -> Result<()> {
    let mut wrong = None;
    root.visit(&mut |node| {
        if let Node::Number(value) | Node::Power(_, value) = node {
            let fits = if float {
                (*value as f32).is_finite()
            } else {
                value.is_finite()
            };
            if !fits {
                wrong = Some(*value);
            }
        }
    });
    match wrong {
        None => Ok(()),
        Some(value) if value.is_finite() => Err(Error::parameter(
            "constant",
            value,
            "it is too large for single precision: export in double precision",
        )),
        Some(value) => Err(Error::parameter(
            "constant",
            value,
            "only finite constants can be written",
        )),
    }
}
