//! C99: a header and a source that needs nothing but libm, takes no memory but the stack's, and can test itself.

mod self_test;

use std::fmt::Write;

use super::{
    File,
    layout::{Body, Layout, Name},
    network::Network,
    power::{helper, products},
    print::{Dialect, print},
};
use crate::{
    features::Function,
    network::{Activation, Head},
};

struct C {
    float: bool,
}

impl C {
    fn real(&self) -> &'static str {
        if self.float { "float" } else { "double" }
    }

    /// The end of the names of libm's functions.
    fn suffix(&self) -> &'static str {
        if self.float { "f" } else { "" }
    }

    fn signed(&self, value: f64) -> String {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}{}", self.number(value.abs()))
    }
}

impl Dialect for C {
    fn number(&self, value: f64) -> String {
        if self.float {
            format!("{:?}f", value as f32)
        } else {
            format!("{value:?}")
        }
    }

    fn call(&self, function: Function, argument: &str) -> String {
        match function {
            Function::Sign => format!("sign({argument})"),
            Function::Abs => format!("fabs{}({argument})", self.suffix()),
            function => format!("{function}{}({argument})", self.suffix()),
        }
    }

    fn whole_power(&self, base: &str, exponent: i32) -> String {
        format!("{}({base})", helper(exponent))
    }

    fn power(&self, base: &str, exponent: f64) -> String {
        format!("pow{}({base}, {})", self.suffix(), self.signed(exponent))
    }
}

pub(super) fn files(layout: &Layout) -> Vec<File> {
    let (mut header, mut source) = (String::new(), String::new());
    // Writing to a string cannot fail.
    let _ = write_header(&mut header, layout).and(write_source(&mut source, layout));
    vec![
        File::new(layout.name, ".h", header),
        File::new(layout.name, ".c", source),
    ]
}

fn signature(layout: &Layout, real: &str) -> String {
    let (n, m) = (layout.inputs.len(), layout.outputs.len());
    // C has no arrays without elements.
    let input = match n {
        0 => format!("const {real} *input"),
        n => format!("const {real} input[{n}]"),
    };
    format!("int {}({input}, {real} output[{m}])", layout.name)
}

fn about(out: &mut String, layout: &Layout) -> std::fmt::Result {
    writeln!(out, "/*")?;
    for line in &layout.about {
        writeln!(out, " * {line}")?;
    }
    writeln!(out, " * Written by ell0 export.\n */")
}

fn write_header(out: &mut String, layout: &Layout) -> std::fmt::Result {
    let upper = layout.name.to_ascii_uppercase();
    let dialect = C {
        float: layout.float,
    };
    about(out, layout)?;
    writeln!(out, "#ifndef {upper}_H\n#define {upper}_H\n")?;
    for (what, names) in [("IN", &layout.inputs), ("OUT", &layout.outputs)] {
        for (
            index,
            Name {
                identifier,
                comment,
                ..
            },
        ) in names.iter().enumerate()
        {
            let identifier = identifier.to_ascii_uppercase();
            writeln!(
                out,
                "#define {upper}_{what}_{identifier} {index} /* {comment} */"
            )?;
        }
    }
    writeln!(out, "#define {upper}_INPUTS {}", layout.inputs.len())?;
    writeln!(out, "#define {upper}_OUTPUTS {}\n", layout.outputs.len())?;
    writeln!(out, "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n")?;
    writeln!(
        out,
        "/* 0 if all is well; 1 if an input is not finite, 2 if an output would not be: then all outputs are 0. */"
    )?;
    writeln!(out, "{};\n", signature(layout, dialect.real()))?;
    writeln!(out, "#ifdef __cplusplus\n}}\n#endif\n\n#endif")
}

fn write_source(out: &mut String, layout: &Layout) -> std::fmt::Result {
    let dialect = C {
        float: layout.float,
    };
    let real = dialect.real();
    let (n, m) = (layout.inputs.len(), layout.outputs.len());
    about(out, layout)?;
    writeln!(out, "#include \"{}.h\"\n\n#include <math.h>\n", layout.name)?;
    helpers(out, layout, &dialect)?;
    if let Body::Network(network) = layout.body {
        write_layers(out, network, &dialect)?;
    }
    writeln!(
        out,
        "static void evaluate(const {real} *input, {real} *output)\n{{"
    )?;
    match layout.body {
        Body::Equations(_) => {
            let used = layout.used_inputs();
            for (index, name) in &used {
                writeln!(
                    out,
                    "    const {real} {} = input[{index}];",
                    name.identifier
                )?;
            }
            if used.is_empty() {
                writeln!(out, "    (void)input;")?;
            }
            let names = layout.identifiers();
            for (index, equation) in layout.equations().iter().enumerate() {
                writeln!(
                    out,
                    "    output[{index}] = {};",
                    print(equation, &names, &dialect)
                )?;
            }
        }
        Body::Network(network) => write_network(out, network, &dialect)?,
    }
    writeln!(
        out,
        "}}\n\n{}\n{{\n    int status = 0;",
        signature(layout, real)
    )?;
    writeln!(
        out,
        "    for (int k = 0; k < {n}; ++k)\n        if (!isfinite(input[k]))\n            status = 1;"
    )?;
    writeln!(
        out,
        "    if (status == 0) {{\n        evaluate(input, output);"
    )?;
    writeln!(
        out,
        "        for (int k = 0; k < {m}; ++k)\n            if (!isfinite(output[k]))\n                status = 2;\n    }}"
    )?;
    writeln!(
        out,
        "    if (status != 0)\n        for (int k = 0; k < {m}; ++k)\n            output[k] = {};",
        dialect.number(0.0)
    )?;
    writeln!(out, "    return status;\n}}\n")?;
    self_test::write(out, layout, &dialect)
}

/// What libm has not: whole powers, the sign, activations.
fn helpers(out: &mut String, layout: &Layout, dialect: &C) -> std::fmt::Result {
    let (real, end) = (dialect.real(), dialect.suffix());
    let (zero, one) = (dialect.number(0.0), dialect.number(1.0));
    if layout.used_functions().contains(&Function::Sign) {
        writeln!(
            out,
            "static {real} sign({real} x)\n{{\n    return x > {zero} ? {one} : x < {zero} ? -{one} : x;\n}}\n"
        )?;
    }
    for exponent in layout.used_powers() {
        let (squares, value) = products(exponent);
        writeln!(out, "static {real} {}({real} x)\n{{", helper(exponent))?;
        for (name, root) in squares {
            writeln!(out, "    const {real} {name} = {root} * {root};")?;
        }
        writeln!(out, "    return {};\n}}\n", value.replace("1.0", &one))?;
    }
    if let Body::Network(network) = layout.body {
        for (activation, name, value) in [
            (
                Activation::Elu,
                "elu",
                format!("x < {zero} ? expm1{end}(x) : x"),
            ),
            (Activation::Relu, "relu", format!("x < {zero} ? {zero} : x")),
        ] {
            if network.uses(activation) {
                writeln!(
                    out,
                    "static {real} {name}({real} x)\n{{\n    return {value};\n}}\n"
                )?;
            }
        }
    }
    Ok(())
}

/// Parameters are written in single precision, which is what they were trained in, whatever the code computes in.
fn write_layers(out: &mut String, network: &Network, dialect: &C) -> std::fmt::Result {
    let real = dialect.real();
    let array = |out: &mut String, name: String, values: Vec<f32>| {
        writeln!(out, "static const float {name}[{}] = {{", values.len())?;
        for line in values.chunks(8) {
            let line: Vec<String> = line.iter().map(|v| format!("{v:?}f")).collect();
            writeln!(out, "    {},", line.join(", "))?;
        }
        writeln!(out, "}};\n")
    };
    for (index, layer) in network.layers().iter().enumerate() {
        let (n, m) = (layer.inputs, layer.outputs);
        array(
            out,
            format!("weights_{index}"),
            layer.transposed().collect(),
        )?;
        array(out, format!("biases_{index}"), layer.biases.clone())?;
        let value = match layer.activation {
            Activation::Elu => "elu(sum)".to_string(),
            Activation::Relu => "relu(sum)".to_string(),
            Activation::Tanh => format!("tanh{}(sum)", dialect.suffix()),
            Activation::Identity => "sum".to_string(),
        };
        writeln!(
            out,
            "static void layer_{index}(const {real} *input, {real} *output)\n{{"
        )?;
        writeln!(
            out,
            "    for (int k = 0; k < {m}; ++k) {{\n        {real} sum = biases_{index}[k];"
        )?;
        writeln!(
            out,
            "        for (int i = 0; i < {n}; ++i)\n            sum += weights_{index}[k * {n} + i] * input[i];"
        )?;
        writeln!(out, "        output[k] = {value};\n    }}\n}}\n")?;
    }
    Ok(())
}

fn write_network(out: &mut String, network: &Network, dialect: &C) -> std::fmt::Result {
    let real = dialect.real();
    writeln!(out, "    {real} state_0[{}];", network.read().len())?;
    for (index, layer) in network.layers().iter().enumerate() {
        writeln!(out, "    {real} state_{}[{}];", index + 1, layer.outputs)?;
    }
    for (place, input) in network.read().iter().enumerate() {
        writeln!(out, "    state_0[{place}] = input[{input}];")?;
    }
    for index in 0..network.layers().len() {
        writeln!(
            out,
            "    layer_{index}(state_{index}, state_{});",
            index + 1
        )?;
    }
    let last = network.layers().len();
    for (place, head) in network.heads().iter().enumerate() {
        let value = format!("state_{last}[{place}]");
        let number = |value: f32| dialect.signed(f64::from(value));
        let value = match *head {
            Head::Identity => value,
            Head::Scaled(factor) => format!("{} * {value}", number(factor)),
            Head::Tanh { centre, half } => {
                let sum = match centre {
                    0.0 => String::new(),
                    centre => format!("{} + ", number(centre)),
                };
                let end = dialect.suffix();
                format!("{sum}{} * tanh{end}({value})", number(half))
            }
        };
        writeln!(out, "    output[{place}] = {value};")?;
    }
    Ok(())
}
