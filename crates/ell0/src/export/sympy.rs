//! SymPy: symbols and expressions, to be simplified, differentiated, solved or turned into functions.

use std::fmt::Write;

use super::{
    File,
    layout::Layout,
    print::{Dialect, print},
    python::tuple,
};
use crate::features::Function;

struct Sympy;

/// SymPy prints as many digits of a number as it was told it has: 17 bring back any double.
fn float(value: f64) -> String {
    format!("sp.Float(\"{value:?}\", 17)")
}

impl Dialect for Sympy {
    fn number(&self, value: f64) -> String {
        // Whole numbers are exact, and simplify better.
        if value.fract() == 0.0 && value < 1e15 {
            format!("sp.Integer({value})")
        } else {
            float(value)
        }
    }

    fn call(&self, function: Function, argument: &str) -> String {
        match function {
            Function::Abs => format!("sp.Abs({argument})"),
            function => format!("sp.{function}({argument})"),
        }
    }

    fn whole_power(&self, base: &str, exponent: i32) -> String {
        format!("sp.Pow({base}, {exponent})")
    }

    fn power(&self, base: &str, exponent: f64) -> String {
        format!("sp.Pow({base}, {})", float(exponent))
    }
}

pub(super) fn files(layout: &Layout) -> Vec<File> {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_file(&mut out, layout);
    vec![File::new(layout.name, "_sympy.py", out)]
}

fn write_file(out: &mut String, layout: &Layout) -> std::fmt::Result {
    for line in &layout.about {
        writeln!(out, "# {line}")?;
    }
    writeln!(
        out,
        "# Written by ell0 export. A function of NumPy arrays: sp.lambdify(inputs, expressions).\nimport sympy as sp\n"
    )?;
    writeln!(out, "INPUTS = {}", tuple(&layout.inputs))?;
    writeln!(out, "OUTPUTS = {}\n", tuple(&layout.outputs))?;
    for name in &layout.inputs {
        writeln!(out, "{0} = sp.Symbol(\"{0}\", real=True)", name.identifier)?;
    }
    let names = layout.identifiers();
    let symbols: Vec<String> = names.iter().map(|name| format!("{name}, ")).collect();
    writeln!(
        out,
        "inputs = ({})\nexpressions = (",
        symbols.concat().trim_end()
    )?;
    for (equation, output) in layout.equations().iter().zip(&layout.outputs) {
        writeln!(
            out,
            "    {},  # {}",
            print(equation, &names, &Sympy),
            output.comment
        )?;
    }
    writeln!(out, ")")
}
