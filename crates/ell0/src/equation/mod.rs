//! Closed-form expressions with named variables: the hinge between learning a model and using it.
//!
//! - [`Expression`]: built from a model or read from text, evaluated over many rows, differentiated, printed as text and LaTeX.
//! - [`Node`]: the tree inside.
//! - [`Shared`]: values and derivatives of nodes, of which equal parts are computed once.
//! - [`Model`]: equations for named targets, printed as PySINDy does or plainer, and saved as `model.json`; [`CompiledModel`]: for block after block of rows.
//! - [`integrate`]: methods that follow a law through time, and the control of their steps.
//!
//! ```
//! use ell0::equation::Expression;
//! let law: Expression = Expression::parse("2*tanh(-4.66*sin_theta - 0.5*theta_dot)", &["sin_theta", "theta_dot"])?;
//! assert!((law.evaluate_row(&[0.1, 0.0]) - 2.0 * (-0.466f64).tanh()).abs() < 1e-15);
//! let slope = law.derivative("theta_dot")?;
//! assert!((slope.evaluate_row(&[0.0, 0.0]) + 1.0).abs() < 1e-15);
//! # Ok::<(), ell0::Error>(())
//! ```

mod arithmetic;
mod compiled;
mod derivative;
mod evaluate;
mod expression;
mod file;
pub mod integrate;
mod interval;
mod latex;
mod lines;
mod mathml;
mod model;
mod parse;
mod shared;
mod simulate;
mod text;

pub use arithmetic::Arithmetic;
pub use compiled::CompiledModel;
pub use evaluate::Evaluator;
pub use expression::{Expression, Node};
pub use interval::Interval;
pub use model::{DictionaryTarget, Dynamics, Equation, Model, TermRecord};
pub use shared::Shared;
pub use simulate::{Simulation, Stop};

#[cfg(test)]
mod tests;
