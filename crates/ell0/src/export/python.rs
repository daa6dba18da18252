//! Python: one function on NumPy arrays, rows of inputs to rows of outputs.

use std::fmt::Write;

use super::{
    File,
    identifier::python_string,
    layout::{Body, Layout, Name},
    network::{Heads, Network},
    power::{helper, products},
    print::{Dialect, print},
};
use crate::{
    features::Function,
    network::{Activation, Head},
};

struct Python;

impl Dialect for Python {
    fn number(&self, value: f64) -> String {
        format!("{value:?}")
    }

    fn call(&self, function: Function, argument: &str) -> String {
        format!("np.{function}({argument})")
    }

    fn whole_power(&self, base: &str, exponent: i32) -> String {
        format!("{}({base})", helper(exponent))
    }

    fn power(&self, base: &str, exponent: f64) -> String {
        format!("np.power({base}, {exponent:?})")
    }
}

pub(super) fn files(layout: &Layout) -> Vec<File> {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_file(&mut out, layout);
    vec![File::new(layout.name, ".py", out)]
}

/// A tuple of strings.
pub(super) fn tuple(names: &[Name]) -> String {
    let texts: Vec<String> = names
        .iter()
        .map(|name| python_string(&name.text) + ", ")
        .collect();
    format!("({})", texts.concat().trim_end())
}

fn write_file(out: &mut String, layout: &Layout) -> std::fmt::Result {
    for line in &layout.about {
        writeln!(out, "# {line}")?;
    }
    writeln!(out, "# Written by ell0 export.\nimport numpy as np\n")?;
    writeln!(out, "INPUTS = {}", tuple(&layout.inputs))?;
    writeln!(out, "OUTPUTS = {}\n", tuple(&layout.outputs))?;
    for exponent in layout.used_powers() {
        let (squares, value) = products(exponent);
        writeln!(out, "\ndef {}(x):", helper(exponent))?;
        for (name, root) in squares {
            writeln!(out, "    {name} = {root} * {root}")?;
        }
        writeln!(out, "    return {value}\n")?;
    }
    if let Body::Network(network) = layout.body {
        write_parameters(out, network)?;
    }
    let n = layout.inputs.len();
    writeln!(out, "\ndef {}(input):", layout.name)?;
    writeln!(
        out,
        "    \"\"\"Outputs for an array whose last axis holds the {n} inputs, in the order of INPUTS.\"\"\""
    )?;
    writeln!(out, "    input = np.asarray(input, dtype=float)")?;
    writeln!(out, "    if input.ndim == 0 or input.shape[-1] != {n}:")?;
    writeln!(
        out,
        "        raise ValueError(\"the last axis must hold the {n} inputs, but the shape is %s\" % (input.shape,))"
    )?;
    match layout.body {
        Body::Equations(_) => {
            for (index, name) in layout.used_inputs() {
                writeln!(out, "    {} = input[..., {index}]", name.identifier)?;
            }
            writeln!(
                out,
                "    output = np.empty(input.shape[:-1] + ({},))",
                layout.outputs.len()
            )?;
            let names = layout.identifiers();
            for (index, equation) in layout.equations().iter().enumerate() {
                writeln!(
                    out,
                    "    output[..., {index}] = {}",
                    print(equation, &names, &Python)
                )?;
            }
        }
        Body::Network(network) => {
            writeln!(out, "    output = input[..., {:?}]", network.read())?;
            for (index, layer) in network.layers().iter().enumerate() {
                let value = format!("output @ weights_{index} + biases_{index}");
                let value = match layer.activation {
                    Activation::Elu => format!("elu({value})"),
                    Activation::Relu => format!("np.maximum({value}, 0.0)"),
                    Activation::Tanh => format!("np.tanh({value})"),
                    Activation::Identity => value,
                };
                writeln!(out, "    output = {value}")?;
            }
            let value = match network.heads_at_once() {
                Heads::Identity => None,
                Heads::Tanh { halves, centres } => {
                    let sum = centres.map_or(String::new(), |c| format!("np.array({c:?}) + "));
                    Some(format!("{sum}np.array({halves:?}) * np.tanh(output)"))
                }
                Heads::Scaled(factors) => Some(format!("np.array({factors:?}) * output")),
                Heads::Mixed => {
                    let heads = network.heads().iter().enumerate();
                    let columns: Vec<String> = heads.map(|(k, head)| column(k, *head)).collect();
                    Some(format!("np.stack([{}], axis=-1)", columns.join(", ")))
                }
            };
            if let Some(value) = value {
                writeln!(out, "    output = {value}")?;
            }
        }
    }
    writeln!(out, "    return output")
}

/// One output behind its head.
fn column(index: usize, head: Head) -> String {
    let value = format!("output[..., {index}]");
    match head {
        Head::Identity => value,
        Head::Scaled(factor) => format!("{factor:?} * {value}"),
        Head::Tanh { centre, half } => format!("{centre:?} + {half:?} * np.tanh({value})"),
    }
}

fn write_parameters(out: &mut String, network: &Network) -> std::fmt::Result {
    for (index, layer) in network.layers().iter().enumerate() {
        writeln!(out, "weights_{index} = np.array([")?;
        for row in layer.weights.chunks(layer.outputs) {
            writeln!(out, "    {row:?},")?;
        }
        writeln!(out, "])\nbiases_{index} = np.array({:?})\n", layer.biases)?;
    }
    if network.uses(Activation::Elu) {
        writeln!(
            out,
            "\ndef elu(x):\n    return np.where(x < 0.0, np.expm1(np.minimum(x, 0.0)), x)\n"
        )?;
    }
    Ok(())
}
