//! What can go wrong, with the value at fault and what would be right.

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong in this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A path that names no parameter of the module.
    #[error("the module has no floating-point parameter `{path}`: it has {known}")]
    NoParameter {
        /// The path that was given.
        path: String,
        /// The paths that exist.
        known: String,
    },
    /// Two rules for one parameter.
    #[error("`{path}` is named twice: a parameter has one set of gates")]
    Twice {
        /// The path of the parameter.
        path: String,
    },
    /// A parameter that already has gates or another reparameterisation.
    #[error(
        "`{path}` already has the reparameterisation `{by}`: Burn allows one for each parameter; fold it first (`module.materialize()`)"
    )]
    Occupied {
        /// The path of the parameter.
        path: String,
        /// The name of what is attached.
        by: String,
    },
    /// An axis that the parameter does not have.
    #[error("`{path}` has {rank} axes, so it has no axis {axis} (counted from 0) to gate along")]
    Axis {
        /// The path of the parameter.
        path: String,
        /// The axis that was given.
        axis: usize,
        /// How many there are.
        rank: usize,
    },
    /// A parameter without elements.
    #[error("`{path}` has no elements: there is nothing to gate")]
    Empty {
        /// The path of the parameter.
        path: String,
    },
    /// Gates that a rule speaks of and the module does not have.
    #[error("`{path}` has no gates: attach them first (`Gating::attach`)")]
    NoGates {
        /// The path of the parameter.
        path: String,
    },
    /// A number of gates that is not that of the rule.
    #[error(
        "`{path}` has {got} gates where this rule makes {expected}: the gates were attached by another rule"
    )]
    Gates {
        /// The path of the parameter.
        path: String,
        /// How many there are.
        got: usize,
        /// How many the rule makes.
        expected: usize,
    },
    /// A hyper-parameter outside its range.
    #[error("{name} = {value} is not allowed: {expected}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// The value that was given.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// A chain that cannot be followed.
    #[error("stage {stage} of the chain (counted from 0) is {what}: {expected}")]
    Stage {
        /// Which stage.
        stage: usize,
        /// What it is.
        what: String,
        /// What would be right.
        expected: String,
    },
    /// A tensor of the wrong rank at one end of a chain.
    #[error("{what} has {got} axes, and {expected} were asked for")]
    Rank {
        /// Which end.
        what: &'static str,
        /// What it has.
        got: usize,
        /// What was asked for.
        expected: usize,
    },
    /// A chain without a convolution or a linear layer.
    #[error("the chain has no convolution and no linear layer: there is nothing to compact")]
    NoLayer,
    /// A tensor that could not be read from its device.
    #[error("cannot read {what} from its device: {reason}")]
    Device {
        /// What was to be read.
        what: String,
        /// The device's answer.
        reason: String,
    },
    /// What the method itself refuses.
    #[error(transparent)]
    Method(#[from] ell0::Error),
}
