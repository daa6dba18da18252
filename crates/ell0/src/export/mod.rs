//! A finished model in another language.
//!
//! - [`export`]: the equations of a [`Model`] as C, Rust, Python, SymPy, LaTeX, MATLAB, ONNX or JSON.
//! - [`export_network`]: the same for a compacted [`Network`], where the language allows it.
//!
//! Sums and products are written in the order in which [`Model::predict`] works them out and numbers with all their digits, so that what is written computes the same to the last
//! few bits.
//!
//! ```
//! use ell0::{equation::{Dynamics, Expression, Model}, export::{Format, Options, export}};
//! let law = Expression::parse("2*tanh(-4.66*angle - 0.5*speed)", &["angle", "speed"])?;
//! let model = Model::new(vec!["angle".into(), "speed".into()], vec![("torque".into(), law)], Dynamics::Regression)?;
//! let files = export(&model, Format::C, &Options { name: "policy".into(), float: false })?;
//! assert_eq!(files[0].name, "policy.h");
//! assert!(String::from_utf8_lossy(&files[1].content).contains("output[0] = tanh(-angle * 4.66 - speed * 0.5) * 2.0;"));
//! # Ok::<(), ell0::Error>(())
//! ```

mod c;
mod identifier;
mod layout;
mod matlab;
mod network;
mod onnx;
mod power;
mod print;
mod python;
mod rust;
mod sample;
mod sympy;

use std::{fmt, str::FromStr};

pub use network::Network;

use crate::{
    equation::Model,
    error::{Error, Result},
};
use layout::Layout;

/// A language to write in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// C99: a source and a header.
    C,
    /// Rust, with or without its standard library.
    Rust,
    /// Python with NumPy.
    Python,
    /// SymPy expressions.
    Sympy,
    /// LaTeX.
    Latex,
    /// MATLAB or Octave.
    Matlab,
    /// ONNX.
    Onnx,
    /// `model.json`.
    Json,
}

impl Format {
    /// All formats and their names.
    pub const ALL: [(Format, &'static str); 8] = [
        (Format::C, "c"),
        (Format::Rust, "rust"),
        (Format::Python, "python"),
        (Format::Sympy, "sympy"),
        (Format::Latex, "latex"),
        (Format::Matlab, "matlab"),
        (Format::Onnx, "onnx"),
        (Format::Json, "json"),
    ];

    /// Whether the format can be written in single precision.
    fn has_float(self) -> bool {
        matches!(self, Format::C | Format::Rust | Format::Onnx)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let named = Format::ALL.iter().find(|(format, _)| format == self);
        f.write_str(named.map_or("", |(_, name)| name))
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let named = Format::ALL.iter().find(|(_, n)| *n == name);
        named.map(|(format, _)| *format).ok_or(Error::Unknown {
            kind: "format",
            name: name.into(),
            expected: "c, rust, python, sympy, latex, matlab, onnx, json",
        })
    }
}

/// How to write.
///
/// | parameter | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `name` | model | the function's name, and that of its files | a word of ASCII letters, digits and `_` that means nothing in the languages |
/// | `float` | false | single precision | only for C, Rust and ONNX |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The name of the function and of its files.
    pub name: String,
    /// Single instead of double precision.
    pub float: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            name: "model".into(),
            float: false,
        }
    }
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// What is in it.
    pub content: Vec<u8>,
}

impl File {
    fn new(name: &str, extension: &str, content: impl Into<Vec<u8>>) -> Self {
        File {
            name: format!("{name}{extension}"),
            content: content.into(),
        }
    }
}

/// The files of a model in a format.
pub fn export(model: &Model, format: Format, options: &Options) -> Result<Vec<File>> {
    check(format, options)?;
    let layout = Layout::of_model(model, options)?;
    Ok(match format {
        // All digits: LaTeX is for reading, but a number that was cut could not be used again.
        Format::Latex => vec![File::new(&options.name, ".tex", model.latex(17) + "\n")],
        Format::Json => vec![File::new(&options.name, ".json", model.to_json() + "\n")],
        Format::C => c::files(&layout),
        Format::Rust => rust::files(&layout),
        Format::Python => python::files(&layout),
        Format::Sympy => sympy::files(&layout),
        Format::Matlab => matlab::files(&layout),
        Format::Onnx => onnx::files(&layout),
    })
}

/// The files of a network in a format.
pub fn export_network(network: &Network, format: Format, options: &Options) -> Result<Vec<File>> {
    let files: fn(&Layout) -> Vec<File> = match format {
        Format::C => c::files,
        Format::Rust => rust::files,
        Format::Python => python::files,
        Format::Matlab => matlab::files,
        Format::Onnx => onnx::files,
        Format::Sympy | Format::Latex | Format::Json => {
            return Err(Error::parameter(
                "format",
                format,
                "it holds equations, and this model is a network: c, rust, python, matlab and onnx can hold it",
            ));
        }
    };
    check(format, options)?;
    Ok(files(&Layout::of_network(network, options)?))
}

fn check(format: Format, options: &Options) -> Result<()> {
    identifier::check_function(&options.name)?;
    if options.float && !format.has_float() {
        return Err(Error::parameter(
            "float",
            format!("true for {format}"),
            "single precision is for c, rust and onnx; leave it out",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
