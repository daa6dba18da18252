//! MATLAB and Octave: one function, rows of inputs to rows of outputs.

use std::fmt::Write;

use super::{
    File,
    layout::{Body, Layout},
    network::Heads,
    print::{Dialect, print},
};
use crate::{
    features::Function,
    network::{Activation, Head},
};

struct Matlab;

impl Dialect for Matlab {
    fn times(&self) -> &'static str {
        " .* "
    }

    fn number(&self, value: f64) -> String {
        format!("{value:?}")
    }

    fn call(&self, function: Function, argument: &str) -> String {
        match function {
            // Complex numbers where the others give NaN would be a trap.
            Function::Log | Function::Sqrt => format!("real_{function}({argument})"),
            function => format!("{function}({argument})"),
        }
    }

    fn whole_power(&self, base: &str, exponent: i32) -> String {
        format!("({base}).^({exponent})")
    }

    fn power(&self, base: &str, exponent: f64) -> String {
        format!("real_power({base}, {exponent:?})")
    }
}

pub(super) fn files(layout: &Layout) -> Vec<File> {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_file(&mut out, layout);
    vec![File::new(layout.name, ".m", out)]
}

fn write_file(out: &mut String, layout: &Layout) -> std::fmt::Result {
    let (n, m) = (layout.inputs.len(), layout.outputs.len());
    writeln!(out, "function output = {}(input)", layout.name)?;
    for line in &layout.about {
        writeln!(out, "% {line}")?;
    }
    for (what, names) in [("input", &layout.inputs), ("output", &layout.outputs)] {
        for (index, name) in names.iter().enumerate() {
            writeln!(out, "% {what}(:, {}): {}", index + 1, name.comment)?;
        }
    }
    writeln!(out, "% Written by ell0 export.")?;
    writeln!(out, "    if size(input, 2) ~= {n}")?;
    writeln!(
        out,
        "        error('expected a matrix with {n} columns');\n    end"
    )?;
    match layout.body {
        Body::Equations(_) => {
            for (index, name) in layout.used_inputs() {
                writeln!(out, "    {} = input(:, {});", name.identifier, index + 1)?;
            }
            writeln!(out, "    output = zeros(size(input, 1), {m});")?;
            let names = layout.identifiers();
            for (index, equation) in layout.equations().iter().enumerate() {
                writeln!(
                    out,
                    "    output(:, {}) = {};",
                    index + 1,
                    print(equation, &names, &Matlab)
                )?;
            }
        }
        Body::Network(network) => {
            let columns: Vec<String> = network.read().iter().map(|i| (i + 1).to_string()).collect();
            writeln!(out, "    output = input(:, [{}]);", columns.join(" "))?;
            for (index, layer) in network.layers().iter().enumerate() {
                writeln!(out, "    weights_{index} = [")?;
                for row in layer.weights.chunks(layer.outputs) {
                    writeln!(out, "        {};", spaced(row))?;
                }
                writeln!(
                    out,
                    "    ];\n    biases_{index} = [{}];",
                    spaced(&layer.biases)
                )?;
                // The layout of bsxfun is that of every version.
                let value = format!("bsxfun(@plus, output * weights_{index}, biases_{index})");
                let value = match layer.activation {
                    Activation::Elu => format!("elu({value})"),
                    Activation::Relu => format!("max({value}, 0.0)"),
                    Activation::Tanh => format!("tanh({value})"),
                    Activation::Identity => value,
                };
                writeln!(out, "    output = {value};")?;
            }
            let times = |factors: &[f32], values: &str| {
                format!("bsxfun(@times, [{}], {values})", spaced(factors))
            };
            let value = match network.heads_at_once() {
                Heads::Identity => None,
                Heads::Tanh { halves, centres } => {
                    let bounded = times(&halves, "tanh(output)");
                    Some(centres.map_or(bounded.clone(), |centres| {
                        format!("bsxfun(@plus, [{}], {bounded})", spaced(&centres))
                    }))
                }
                Heads::Scaled(factors) => Some(times(&factors, "output")),
                Heads::Mixed => {
                    let heads = network.heads().iter().enumerate();
                    let columns: Vec<String> = heads.map(|(k, head)| column(k, *head)).collect();
                    Some(format!("[{}]", columns.join(", ")))
                }
            };
            if let Some(value) = value {
                writeln!(out, "    output = {value};")?;
            }
        }
    }
    writeln!(out, "end")?;
    helpers(out, layout)
}

/// One output behind its head, in brackets of its own: in a list, a sign after a space would begin another column.
fn column(index: usize, head: Head) -> String {
    let value = format!("output(:, {})", index + 1);
    match head {
        Head::Identity => value,
        Head::Scaled(factor) => format!("({factor:?} * {value})"),
        Head::Tanh { centre, half } => format!("({centre:?} + {half:?} * tanh({value}))"),
    }
}

fn spaced(values: &[f32]) -> String {
    let values: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
    values.join(" ")
}

/// NaN instead of a complex number, and the activation that MATLAB has not.
fn helpers(out: &mut String, layout: &Layout) -> std::fmt::Result {
    for function in layout.used_functions() {
        if matches!(function, Function::Log | Function::Sqrt) {
            writeln!(
                out,
                "\nfunction y = real_{function}(x)\n    x(x < 0) = NaN;\n    y = {function}(x);\nend"
            )?;
        }
    }
    if layout.uses_other_powers() {
        writeln!(
            out,
            "\nfunction y = real_power(x, k)\n    if k ~= floor(k)\n        x(x < 0) = NaN;\n    end\n    y = x.^k;\nend"
        )?;
    }
    if matches!(layout.body, Body::Network(network) if network.uses(Activation::Elu)) {
        writeln!(
            out,
            "\nfunction y = elu(x)\n    y = max(x, 0.0) + expm1(min(x, 0.0));\nend"
        )?;
    }
    Ok(())
}
