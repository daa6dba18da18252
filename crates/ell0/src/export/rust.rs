//! Rust: one file, to be included as a module. Functions come from the standard library or, with the feature `libm`, from the crate of that name, for programs without it.

use std::fmt::Write;

use super::{
    File,
    identifier::rust_string,
    layout::{Body, Layout},
    network::{Heads, Network},
    power::{helper, products},
    print::{Dialect, print},
};
use crate::{
    features::Function,
    network::{Activation, Head},
};

struct Rust {
    float: bool,
}

impl Rust {
    fn real(&self) -> &'static str {
        if self.float { "f32" } else { "f64" }
    }

    fn signed(&self, value: f64) -> String {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}{}", self.number(value.abs()))
    }
}

impl Dialect for Rust {
    fn number(&self, value: f64) -> String {
        if self.float {
            format!("{:?}", value as f32)
        } else {
            format!("{value:?}")
        }
    }

    fn call(&self, function: Function, argument: &str) -> String {
        format!("math::{function}({argument})")
    }

    fn whole_power(&self, base: &str, exponent: i32) -> String {
        format!("{}({base})", helper(exponent))
    }

    fn power(&self, base: &str, exponent: f64) -> String {
        format!("math::pow({base}, {})", self.signed(exponent))
    }
}

pub(super) fn files(layout: &Layout) -> Vec<File> {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_file(&mut out, layout);
    vec![File::new(layout.name, ".rs", out)]
}

fn write_file(out: &mut String, layout: &Layout) -> std::fmt::Result {
    let dialect = Rust {
        float: layout.float,
    };
    let (real, n, m) = (dialect.real(), layout.inputs.len(), layout.outputs.len());
    for line in &layout.about {
        writeln!(out, "// {line}")?;
    }
    writeln!(out, "// Written by ell0 export.\n")?;
    for (constant, names) in [("INPUTS", &layout.inputs), ("OUTPUTS", &layout.outputs)] {
        let texts: Vec<String> = names.iter().map(|name| rust_string(&name.text)).collect();
        writeln!(
            out,
            "/// Names of the {}, in order.",
            constant.to_ascii_lowercase()
        )?;
        writeln!(
            out,
            "pub const {constant}: [&str; {}] = [{}];\n",
            names.len(),
            texts.join(", ")
        )?;
    }
    writeln!(
        out,
        "/// The outputs that belong to the inputs; not finite where the model is not."
    )?;
    writeln!(out, "#[allow(non_snake_case, clippy::all)]")?;
    let empty = matches!(layout.body, Body::Equations(_)) && layout.used_inputs().is_empty();
    let parameter = if empty { "_" } else { "input" };
    writeln!(
        out,
        "pub fn {}({parameter}: &[{real}; {n}]) -> [{real}; {m}] {{",
        layout.name
    )?;
    match layout.body {
        Body::Equations(_) => {
            for (index, name) in layout.used_inputs() {
                writeln!(out, "    let {} = input[{index}];", name.identifier)?;
            }
            let names = layout.identifiers();
            writeln!(out, "    [")?;
            for equation in layout.equations() {
                writeln!(out, "        {},", print(equation, &names, &dialect))?;
            }
            writeln!(out, "    ]\n}}\n")?;
            for exponent in layout.used_powers() {
                let (squares, value) = products(exponent);
                writeln!(out, "#[inline]\n#[allow(clippy::all)]")?;
                let parameter = if exponent == 0 { "_" } else { "x" };
                writeln!(
                    out,
                    "fn {}({parameter}: {real}) -> {real} {{",
                    helper(exponent)
                )?;
                for (name, root) in squares {
                    writeln!(out, "    let {name} = {root} * {root};")?;
                }
                writeln!(out, "    {value}\n}}\n")?;
            }
        }
        Body::Network(network) => write_network(out, network, &dialect)?,
    }
    write_math(out, layout, &dialect)?;
    write_tests(out, layout, &dialect)
}

fn write_network(out: &mut String, network: &Network, dialect: &Rust) -> std::fmt::Result {
    let real = dialect.real();
    let read: Vec<String> = network
        .read()
        .iter()
        .map(|i| format!("input[{i}]"))
        .collect();
    writeln!(out, "    let state = [{}];", read.join(", "))?;
    for (index, layer) in network.layers().iter().enumerate() {
        let f = match layer.activation {
            Activation::Elu => "math::elu",
            Activation::Relu => "math::relu",
            Activation::Tanh => "math::tanh",
            Activation::Identity => "|x| x",
        };
        writeln!(
            out,
            "    let state: [{real}; {}] = layer(&WEIGHTS_{index}, &BIASES_{index}, &state, {f});",
            layer.outputs
        )?;
    }
    if let Heads::Identity = network.heads_at_once() {
        writeln!(out, "    state\n}}\n")?;
    } else {
        let number = |value: f32| dialect.signed(f64::from(value));
        let value = |(place, head): (usize, &Head)| match *head {
            Head::Identity => format!("state[{place}]"),
            Head::Scaled(factor) => format!("{} * state[{place}]", number(factor)),
            Head::Tanh { centre, half } => {
                let sum = match centre {
                    0.0 => String::new(),
                    centre => format!("{} + ", number(centre)),
                };
                format!("{sum}{} * math::tanh(state[{place}])", number(half))
            }
        };
        let values: Vec<String> = network.heads().iter().enumerate().map(value).collect();
        writeln!(out, "    [{}]\n}}\n", values.join(", "))?;
    }
    // Parameters are written in single precision, which is what they were trained in, whatever the code computes in.
    writeln!(
        out,
        "#[allow(clippy::all)]\nfn layer<const N: usize, const M: usize>(weights: &[[f32; N]; M], biases: &[f32; M], input: &[{real}; N], f: fn({real}) -> {real}) -> [{real}; M] {{"
    )?;
    writeln!(
        out,
        "    let mut output = [0.0; M];\n    for k in 0..M {{\n        let mut sum = {real}::from(biases[k]);"
    )?;
    writeln!(
        out,
        "        for i in 0..N {{\n            sum += {real}::from(weights[k][i]) * input[i];\n        }}\n        output[k] = f(sum);\n    }}\n    output\n}}\n"
    )?;
    for (index, layer) in network.layers().iter().enumerate() {
        let (n, m) = (layer.inputs, layer.outputs);
        writeln!(out, "static WEIGHTS_{index}: [[f32; {n}]; {m}] = [")?;
        let weights: Vec<f32> = layer.transposed().collect();
        for row in weights.chunks(n.max(1)) {
            writeln!(out, "    {row:?},")?;
        }
        writeln!(
            out,
            "];\n\nstatic BIASES_{index}: [f32; {m}] = {:?};\n",
            layer.biases
        )?;
    }
    Ok(())
}

/// The functions that are used, each in two forms.
fn write_math(out: &mut String, layout: &Layout, dialect: &Rust) -> std::fmt::Result {
    let real = dialect.real();
    let end = if dialect.float { "f" } else { "" };
    // Name, parameters, by the standard library, by libm.
    let mut functions: Vec<(&str, &str, String, String)> = Vec::new();
    let simple = |name: &'static str, std: &str| {
        (
            name,
            "",
            format!("x.{std}()"),
            format!("libm::{name}{end}(x)"),
        )
    };
    for function in layout.used_functions() {
        functions.push(match function {
            Function::Log => simple("log", "ln"),
            Function::Abs => ("abs", "", "x.abs()".into(), format!("libm::fabs{end}(x)")),
            Function::Sign => {
                let text = "if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x }";
                ("sign", "", text.into(), text.into())
            }
            function => simple(function.name(), function.name()),
        });
    }
    if layout.uses_other_powers() {
        let (std, libm) = ("x.powf(y)".into(), format!("libm::pow{end}(x, y)"));
        functions.push(("pow", ", y: ", std, libm));
    }
    if let Body::Network(network) = layout.body {
        if network.uses(Activation::Elu) {
            let text = |f: &str| format!("if x < 0.0 {{ {f} }} else {{ x }}");
            let libm = text(&format!("libm::expm1{end}(x)"));
            functions.push(("elu", "", text("x.exp_m1()"), libm));
        }
        if network.uses(Activation::Relu) {
            let text = "if x < 0.0 { 0.0 } else { x }";
            functions.push(("relu", "", text.into(), text.into()));
        }
        if network.uses(Activation::Tanh) {
            functions.push(simple("tanh", "tanh"));
        }
    }
    if functions.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "/// Functions from the standard library or, with the feature `libm`, from the crate `libm`: then the code does without the standard library."
    )?;
    writeln!(out, "#[allow(unexpected_cfgs, clippy::all)]\nmod math {{")?;
    for (name, second, std, libm) in functions {
        let second = if second.is_empty() {
            String::new()
        } else {
            format!("{second}{real}")
        };
        if std == libm {
            writeln!(
                out,
                "    #[inline]\n    pub fn {name}(x: {real}{second}) -> {real} {{\n        {std}\n    }}"
            )?;
            continue;
        }
        for (condition, value) in [
            ("not(feature = \"libm\")", std),
            ("feature = \"libm\"", libm),
        ] {
            writeln!(
                out,
                "    #[cfg({condition})]\n    #[inline]\n    pub fn {name}(x: {real}{second}) -> {real} {{\n        {value}\n    }}"
            )?;
        }
    }
    writeln!(out, "}}\n")
}

fn write_tests(out: &mut String, layout: &Layout, dialect: &Rust) -> std::fmt::Result {
    let (real, name) = (dialect.real(), layout.name);
    let (n, m, pairs) = (
        layout.inputs.len(),
        layout.outputs.len(),
        layout.pairs.len(),
    );
    writeln!(out, "#[cfg(test)]\n#[allow(clippy::all)]\nmod tests {{")?;
    writeln!(out, "    #[test]\n    fn stored_pairs_agree() {{")?;
    writeln!(
        out,
        "        let pairs: [([{real}; {n}], [{real}; {m}]); {pairs}] = ["
    )?;
    let row = |values: &[f64]| {
        let values: Vec<String> = values.iter().map(|v| dialect.signed(*v)).collect();
        values.join(", ")
    };
    for (input, output) in &layout.pairs {
        writeln!(out, "            ([{}], [{}]),", row(input), row(output))?;
    }
    writeln!(out, "        ];\n        for (input, want) in &pairs {{")?;
    writeln!(
        out,
        "            for (got, want) in super::{name}(input).iter().zip(want) {{"
    )?;
    writeln!(
        out,
        "                assert!((got - want).abs() <= {} * (1.0 + want.abs()), \"{{}} is not {{}}\", got, want);",
        dialect.number(layout.tolerance)
    )?;
    writeln!(out, "            }}\n        }}\n    }}\n}}")
}
