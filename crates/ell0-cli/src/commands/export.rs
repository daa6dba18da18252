//! `ell0 export`: a finished model in another language.

use crate::screen;
use ell0::wording::shown_path;
use std::{io::Write, path::PathBuf};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use ell0::export::Format;
use ell0_run::{ExportSettings, Exportable};

/// Write a model or policy in another language
///
/// c: C99 with a header, libm alone, no heap, a self-test. rust: with or without std. python: NumPy. matlab: also Octave. sympy, latex, json: equations. onnx: double precision, networks single.
/// Networks (the .safetensors files of `ell0 network`, `ell0 tutorial` and `ell0 train`) are written without their closed gates, as c, rust, python, matlab or onnx.
#[derive(Args)]
#[command(after_help = "Examples:
  ell0 export runs/pendulum/policies/seed0.json --to c --out firmware
  ell0 export model.json --to c --float --name plant
  ell0 export model.json --to sympy
  ell0 export runs/tutorial-dynamics/models/sparse-network.safetensors --to onnx")]
pub struct Export {
    /// model.json, the folder of a run, or a network's .safetensors
    model: PathBuf,
    /// The language
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    to: Format,
    /// Folder for the files
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Name of the function and its files [default: policy if all outputs are bounded by tanh, else model]
    #[arg(long)]
    name: Option<String>,
    /// Single precision (c, rust, onnx)
    #[arg(long)]
    float: bool,
    /// Overwrite files
    #[arg(long)]
    force: bool,
}

/// The formats there are.
fn formats() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(Format::ALL.map(|(_, name)| name));
    names.try_map(|name| name.parse::<Format>())
}

impl Export {
    pub fn run(&self) -> anyhow::Result<()> {
        let settings = ExportSettings {
            format: self.to,
            name: self.name.clone(),
            float: self.float,
            replace: self.force,
        };
        let what = Exportable::read(&self.model)?;
        settings.check(&what, &self.out, &[&self.model])?;
        let exported = settings.run(&what, &self.out)?;
        let mut screen = screen::out();
        for place in &exported.files {
            writeln!(screen, "{}", shown_path(place))?;
        }
        if self.to == Format::C {
            let name = &exported.name;
            let test = self.out.join(format!("{name}_test"));
            let program = if test.is_absolute() || test.starts_with("..") {
                test.clone()
            } else {
                PathBuf::from(".").join(test.strip_prefix(".").unwrap_or(&test))
            };
            writeln!(
                screen,
                "Self-test: cc -std=c99 -O2 -D{}_SELF_TEST {} -o {} -lm && {}",
                name.to_ascii_uppercase(),
                shown_path(&self.out.join(format!("{name}.c"))),
                shown_path(&test),
                shown_path(&program)
            )?;
        }
        Ok(())
    }
}
