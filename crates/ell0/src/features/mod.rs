//! Feature libraries: the candidate terms of an equation.
//!
//! - [`Library`]: what terms there are, independent of the data; written and read as text, `polynomial(3) + fourier(1, interactions)`.
//! - [`Term`]: a product of factors such as `x0^2 sin(1 x1)`. Names and order are those of PySINDy, with the user's column names.
//! - [`Features`]: the terms of a library for given columns, evaluated over many rows at once.
//! - [`Lift`]: features as what a network sees, with the inputs or the features themselves brought to scale.
//!
//! ```
//! use ell0::features::Library;
//! let library: Library = "polynomial(2, no-bias) + fourier(1)".parse()?;
//! let features = library.features(&["x", "u"])?;
//! assert_eq!(features.names(), ["x", "u", "x^2", "x u", "u^2", "sin(1 x)", "cos(1 x)", "sin(1 u)", "cos(1 u)"]);
//! // Two rows; columns stand one after the other.
//! let values = features.evaluate(&[1.0, 2.0, 3.0, 4.0])?;
//! assert_eq!(values[2 * 3..2 * 4], [3.0, 8.0]);
//! # Ok::<(), ell0::Error>(())
//! ```

mod library;
mod lift;
mod program;
pub mod published;
mod term;
mod text;

pub use library::{Library, Pairs};
pub use lift::{Lift, LiftSpace};
pub use program::{Features, Workspace};
pub use term::{Factor, Function, Term};

#[cfg(test)]
mod tests;
