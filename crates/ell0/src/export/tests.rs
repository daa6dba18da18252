use super::{
    identifier::{check_function, comment, identifiers, python_string, rust_string},
    power::products,
    *,
};
use crate::equation::{Dynamics, Expression};
use crate::network::{Activation, Head, Mlp, MlpConfig};
use crate::rng::Stream;

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| n.to_string()).collect()
}

fn model(inputs: &[&str], equations: &[(&str, &str)]) -> Model {
    let read = |(target, text): &(&str, &str)| {
        (target.to_string(), Expression::parse(text, inputs).unwrap())
    };
    let equations = equations.iter().map(read).collect();
    Model::new(strings(inputs), equations, Dynamics::Regression).unwrap()
}

fn named(name: &str) -> Options {
    Options {
        name: name.into(),
        ..Options::default()
    }
}

#[test]
fn identifiers_are_plain_and_different() {
    let names = [
        "x 1", "x_1", "X_1", "θ", "theta", "int", "sin", "a\"b", "", "1st", "_hidden", "a__b",
        "*/", "power_3", "model", "Ω", "日本", "y0", "SELF",
    ];
    let want = [
        "x_1", "x_1_2", "X_1_3", "theta", "theta_2", "int_", "sin_", "a_b", "v", "v1st", "hidden",
        "a_b_2", "v_2", "power_3_", "model_2", "Omega", "v_3", "y0", "SELF_",
    ];
    assert_eq!(identifiers(&strings(&names), "model"), want);
    let long = strings(&[&"a".repeat(200), &format!("{}b", "a".repeat(199))]);
    let long = identifiers(&long, "model");
    assert!(long[0] != long[1] && long.iter().all(|name| name.len() <= 63));
}

#[test]
fn names_of_functions_are_checked() {
    for good in ["policy", "model", "lorenz_2", "F"] {
        assert!(check_function(good).is_ok(), "{good}");
    }
    for (bad, instead) in [
        ("my policy", "`my_policy`"),
        ("", "`v`"),
        ("../x", "`x`"),
        ("int", "`int_model`"),
        ("y0", "`y0_model`"),
        ("power_2", "`power_2_model`"),
        ("θ", "`theta`"),
    ] {
        let error = check_function(bad).unwrap_err().to_string();
        assert!(error.contains(instead), "{bad}: {error}");
    }
}

#[test]
fn comments_and_strings_end_where_they_should() {
    assert_eq!(comment("2*x/3 θ"), "2*x/3 θ");
    assert_eq!(
        comment("*/ /* ??/ \\ \" \n"),
        "*<U+002F> /<U+002A> <U+003F><U+003F>/ <U+005C> <U+0022> <U+000A>"
    );
    assert_eq!(comment("\u{202e}"), "<U+202E>");
    assert_eq!(
        python_string("a\"b\\\n\u{3b8}\u{1f600}"),
        r#""a\"b\\\u000a\u03b8\U0001f600""#
    );
    assert_eq!(rust_string("a\"b\u{3b8}"), r#""a\"b\u{3b8}""#);
}

#[test]
fn powers_are_few_products() {
    assert_eq!(products(1), (vec![], "x".into()));
    let square = ("x2".to_string(), "x".to_string());
    assert_eq!(products(3), (vec![square.clone()], "x * x2".into()));
    assert_eq!(products(-2), (vec![square.clone()], "1.0 / x2".into()));
    let fourth = ("x4".to_string(), "x2".to_string());
    assert_eq!(
        products(-5),
        (vec![square, fourth], "1.0 / (x * x4)".into())
    );
}

#[test]
fn constants_stand_last_and_signs_outside() {
    let model = model(
        &["x", "y"],
        &[("a", "-2*x*y + 3 - (x + 1)*(y - 2) - x*(-1) + 0.5*(-y)^3")],
    );
    let files = export(&model, Format::C, &named("f")).unwrap();
    let source = String::from_utf8(files[1].content.clone()).unwrap();
    let line = source.lines().find(|l| l.contains("output[0] =")).unwrap();
    assert_eq!(
        line.trim(),
        "output[0] = -x * y * 2.0 - (x + 1.0) * (y - 2.0) + x + power_3(-y) * 0.5 + 3.0;"
    );
}

#[test]
fn what_cannot_be_written_is_refused() {
    let model = model(&["x"], &[("y", "1e300*x")]);
    let float = Options {
        float: true,
        ..Options::default()
    };
    let error = |result: Result<Vec<File>>| result.unwrap_err().to_string();
    assert!(error(export(&model, Format::C, &float)).contains("double precision"));
    assert!(error(export(&model, Format::Python, &float)).contains("c, rust and onnx"));
    assert!(error(export(&model, Format::C, &named("a b"))).contains("`a_b`"));
    let mut mlp = Mlp::new(&MlpConfig::new([1, 2, 1], Activation::Elu), &Stream::new(1)).unwrap();
    let network =
        |mlp: &Mlp| Network::new(mlp.compact().unwrap(), strings(&["x"]), strings(&["y"]));
    let whole = network(&mlp).unwrap();
    for format in [Format::Sympy, Format::Latex, Format::Json] {
        let error = error(export_network(&whole, format, &named("f")));
        assert!(
            error.contains("c, rust, python, matlab and onnx"),
            "{error}"
        );
    }
    mlp.parameters_mut()[0] = f32::NAN;
    assert!(network(&mlp).unwrap_err().to_string().contains("finite"));
    assert!(
        "fortran"
            .parse::<Format>()
            .unwrap_err()
            .to_string()
            .contains("latex")
    );
}

#[test]
fn a_network_without_hidden_units_is_its_biases() {
    let mut mlp = Mlp::new(&MlpConfig::new([2, 3, 1], Activation::Elu), &Stream::new(1)).unwrap();
    mlp.parameters_mut().fill(0.0);
    let last = mlp.parameters().len() - 1;
    mlp.parameters_mut()[last] = 0.75;
    let compact = mlp.compact().unwrap();
    let network = Network::new(compact, strings(&["a", "b"]), strings(&["y"])).unwrap();
    assert_eq!(network.evaluate(&[1.0, 2.0]), [0.75]);
    assert_eq!(network.predict(&[1.0, 2.0]).unwrap(), [0.75]);
    for (format, _) in Format::ALL {
        let result = export_network(&network, format, &named("f"));
        let equations = matches!(format, Format::Sympy | Format::Latex | Format::Json);
        assert_eq!(result.is_err(), equations, "{format}");
    }
}

/// A network of two outputs with heads, and what is written of them in each language that holds networks.
fn written(heads: [Head; 2]) -> (Network, Vec<String>) {
    let config = MlpConfig::new([2, 3, 2], Activation::Elu);
    let mlp = Mlp::new(&config, &Stream::new(1)).unwrap();
    let names = [strings(&["a", "b"]), strings(&["y", "z"])];
    let [inputs, outputs] = names;
    let network = Network::new(mlp.compact().unwrap(), inputs, outputs).unwrap();
    let network = network.with_heads(heads.to_vec()).unwrap();
    let formats = [Format::C, Format::Rust, Format::Python, Format::Matlab];
    let text = |format| {
        let files = export_network(&network, format, &named("f")).unwrap();
        String::from_utf8(files.last().unwrap().content.clone()).unwrap()
    };
    let texts = formats.map(text).to_vec();
    (network, texts)
}

#[test]
fn heads_are_written_in_every_language() {
    let tanh = |centre, half| Head::Tanh { centre, half };
    let cases: [([Head; 2], [&str; 6]); 5] = [
        (
            [Head::Identity, Head::Identity],
            [
                "output[0] = state_2[0];\n    output[1] = state_2[1];\n}",
                "state, |x| x);\n    state\n}",
                "biases_1\n    return output",
                "biases_1);\nend",
                "Gather Gemm Elu Gemm Identity",
                "widths 2, 3, 2.",
            ],
        ),
        (
            [tanh(0.0, 2.0), tanh(0.0, 0.5)],
            [
                "output[0] = 2.0 * tanh(state_2[0]);\n    output[1] = 0.5 * tanh(state_2[1]);\n}",
                "    [2.0 * math::tanh(state[0]), 0.5 * math::tanh(state[1])]\n}",
                "    output = np.array([2.0, 0.5]) * np.tanh(output)\n    return output",
                "    output = bsxfun(@times, [2.0 0.5], tanh(output));\nend",
                "Gather Gemm Elu Gemm Tanh Mul",
                "widths 2, 3, 2, then max * tanh.",
            ],
        ),
        (
            [tanh(-1.5, 2.0), tanh(0.0, 0.5)],
            [
                "output[0] = -1.5 + 2.0 * tanh(state_2[0]);\n    output[1] = 0.5 * tanh(state_2[1]);\n}",
                "    [-1.5 + 2.0 * math::tanh(state[0]), 0.5 * math::tanh(state[1])]\n}",
                "    output = np.array([-1.5, 0.0]) + np.array([2.0, 0.5]) * np.tanh(output)\n    return output",
                "    output = bsxfun(@plus, [-1.5 0.0], bsxfun(@times, [2.0 0.5], tanh(output)));\nend",
                "Gather Gemm Elu Gemm Tanh Mul Add",
                "widths 2, 3, 2, then centre + half * tanh.",
            ],
        ),
        (
            [Head::Scaled(3.0), Head::Scaled(-0.25)],
            [
                "output[0] = 3.0 * state_2[0];\n    output[1] = -0.25 * state_2[1];\n}",
                "    [3.0 * state[0], -0.25 * state[1]]\n}",
                "    output = np.array([3.0, -0.25]) * output\n    return output",
                "    output = bsxfun(@times, [3.0 -0.25], output);\nend",
                "Gather Gemm Elu Gemm Mul",
                "widths 2, 3, 2, then a factor for each output.",
            ],
        ),
        (
            [Head::Identity, tanh(1.0, 2.0)],
            [
                "output[0] = state_2[0];\n    output[1] = 1.0 + 2.0 * tanh(state_2[1]);\n}",
                "    [state[0], 1.0 + 2.0 * math::tanh(state[1])]\n}",
                "    output = np.stack([output[..., 0], 1.0 + 2.0 * np.tanh(output[..., 1])], axis=-1)\n    return output",
                "    output = [output(:, 1), (1.0 + 2.0 * tanh(output(:, 2)))];\nend",
                "Gather Gemm Elu Gemm Gather Gather Tanh Mul Add Concat",
                "widths 2, 3, 2, then a bound or a factor for some outputs.",
            ],
        ),
    ];
    for (heads, [c, rust, python, matlab, onnx, about]) in cases {
        let (network, texts) = written(heads);
        for (text, part) in texts.iter().zip([c, rust, python, matlab]) {
            assert!(text.contains(part), "{heads:?}: {part}\nis not in\n{text}");
            assert!(text.contains(about), "{heads:?}: {about}");
        }
        let files = export_network(&network, Format::Onnx, &named("f")).unwrap();
        assert_eq!(operations(&files[0].content), onnx);
        // In single and in double precision, as the heads say.
        let plain = network
            .clone()
            .with_heads(vec![Head::Identity; 2])
            .unwrap()
            .predict(&[0.5, -0.5])
            .unwrap();
        let want: Vec<f32> = plain.iter().zip(heads).map(|(y, h)| h.apply(*y)).collect();
        assert_eq!(network.predict(&[0.5, -0.5]).unwrap(), want);
        let double = network.evaluate(&[0.5, -0.5]);
        assert!(
            want.iter()
                .zip(double)
                .all(|(a, b)| (f64::from(*a) - b).abs() < 1e-6)
        );
    }
    let (network, _) = written([Head::Identity; 2]);
    let error = |heads: Vec<Head>| network.clone().with_heads(heads).unwrap_err().to_string();
    assert!(error(vec![Head::Identity]).contains("got 1, expected 2"));
    assert!(error(vec![Head::Scaled(f32::NAN); 2]).contains("finite"));
}

/// The operations of an ONNX graph, in order.
fn operations(bytes: &[u8]) -> String {
    let known = [
        "Gather", "Gemm", "Elu", "Tanh", "Mul", "Add", "Concat", "Identity",
    ];
    let mut found = Vec::new();
    for place in 0..bytes.len() {
        // Field 4 of a node, as bytes with their length.
        let name = known.iter().find(|name| {
            let head = [0x22, name.len() as u8];
            bytes[place..].starts_with(&head) && bytes[place + 2..].starts_with(name.as_bytes())
        });
        found.extend(name.copied());
    }
    found.join(" ")
}
