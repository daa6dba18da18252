//! MATLAB and Octave: one function, rows of inputs to rows of outputs.

use std::fmt::Write;

use super::{
    File,
    plan::{Body, Plan},
    print::{Dialect, print},
};
use crate::{features::Function, network::Activation};

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

pub(super) fn files(plan: &Plan) -> Vec<File> {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_file(&mut out, plan);
    vec![File::new(plan.name, ".m", out)]
}

fn write_file(out: &mut String, plan: &Plan) -> std::fmt::Result {
    let (n, m) = (plan.inputs.len(), plan.outputs.len());
    writeln!(out, "function output = {}(input)", plan.name)?;
    for line in &plan.about {
        writeln!(out, "% {line}")?;
    }
    for (what, names) in [("input", &plan.inputs), ("output", &plan.outputs)] {
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
    match plan.body {
        Body::Equations(_) => {
            for (index, name) in plan.used_inputs() {
                writeln!(out, "    {} = input(:, {});", name.identifier, index + 1)?;
            }
            writeln!(out, "    output = zeros(size(input, 1), {m});")?;
            let names = plan.identifiers();
            for (index, equation) in plan.equations().iter().enumerate() {
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
            if let Some(max) = network.saturation() {
                writeln!(
                    out,
                    "    output = bsxfun(@times, [{}], tanh(output));",
                    spaced(max)
                )?;
            }
        }
    }
    writeln!(out, "end")?;
    helpers(out, plan)
}

fn spaced(values: &[f32]) -> String {
    let values: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
    values.join(" ")
}

/// NaN instead of a complex number, and the activation that MATLAB has not.
fn helpers(out: &mut String, plan: &Plan) -> std::fmt::Result {
    for function in plan.used_functions() {
        if matches!(function, Function::Log | Function::Sqrt) {
            writeln!(
                out,
                "\nfunction y = real_{function}(x)\n    x(x < 0) = NaN;\n    y = {function}(x);\nend"
            )?;
        }
    }
    if plan.uses_other_powers() {
        writeln!(
            out,
            "\nfunction y = real_power(x, k)\n    if k ~= floor(k)\n        x(x < 0) = NaN;\n    end\n    y = x.^k;\nend"
        )?;
    }
    if matches!(plan.body, Body::Network(network) if network.uses(Activation::Elu)) {
        writeln!(
            out,
            "\nfunction y = elu(x)\n    y = max(x, 0.0) + expm1(min(x, 0.0));\nend"
        )?;
    }
    Ok(())
}
