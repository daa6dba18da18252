use proptest::prelude::*;

use super::*;
use crate::{
    features::{Function, Library},
    testing::proptest_config,
};

const NAMES: [&str; 3] = ["x", "theta_dot", "odd name"];

fn parse(text: &str) -> Expression {
    Expression::parse(text, &NAMES).unwrap()
}

#[test]
fn text_is_read_with_the_usual_precedence() {
    let row = [2.0, 3.0, 5.0];
    for (text, want) in [
        ("1 + 2*x", 5.0),
        ("-x^2", -4.0),
        ("(-x)^2", 4.0),
        ("2 x theta_dot", 12.0),
        ("2.5 x^2 sin(1 theta_dot)", 10.0 * 3f64.sin()),
        ("x/theta_dot/2", 1.0 / 3.0),
        ("1 - 2 - 3", -4.0),
        ("2 - -x", 4.0),
        ("x**-1", 0.5),
        ("x^-0.5", 0.5f64.sqrt()),
        ("`odd name` + 1e-3", 5.001),
        ("2*tanh(-x + 1)", 2.0 * (-1f64).tanh()),
        (
            "sqrt(abs(-x)) * sign(x) + log(exp(x)) + cos(0)",
            2f64.sqrt() + 3.0,
        ),
        (".5x", 1.0),
        ("2(x + 1)(x - 1)", 6.0),
    ] {
        let got = parse(text).evaluate_row(&row);
        assert!((got - want).abs() < 1e-14, "{text}: {got}, want {want}");
    }
}

#[test]
fn text_that_cannot_be_read_is_marked() {
    for (text, words) in [
        ("1 + ", "a number, a variable"),
        ("(x + 1", "`)`"),
        ("x + theta_dott", "the nearest is `theta_dot`"),
        ("x^theta_dot", "a constant exponent"),
        ("sin x", "a known variable"),
        ("x $ 2", "an operator"),
        ("1e999", "a finite number"),
        ("", "a number, a variable"),
        ("`x", "closing backtick"),
        ("1/0", "constants must be finite"),
        ("log(-1)*x", "constants must be finite"),
    ] {
        let error = Expression::parse(text, &NAMES).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
    assert!(Expression::parse(&"(".repeat(100_000), &NAMES).is_err());
    assert!(Expression::parse(&"2^".repeat(100_000), &NAMES).is_err());
    assert!(Expression::parse(&"sin(".repeat(100_000), &NAMES).is_err());
}

#[test]
fn text_and_latex_look_as_they_should() {
    let law = parse("-4.66123*x - 0.5*theta_dot + 2*x^2*tanh(theta_dot) - x");
    assert_eq!(
        format!("{law:.3}"),
        "-4.66*x - 0.5*theta_dot + 2*x^2*tanh(theta_dot) - x"
    );
    assert_eq!(
        law.latex(3),
        "-4.66 \\, x - 0.5 \\, \\dot{\\theta} + 2 \\, x^{2} \\, \\tanh\\left(\\dot{\\theta}\\right) - \\, x"
    );
    assert_eq!(
        parse("(x + 1)^2 * (x - 2)").to_string(),
        "(1 + x)^2*(-2 + x)"
    );
    assert_eq!(parse("1.5e-7*`odd name`").to_string(), "1.5e-7*`odd name`");
    assert_eq!(parse("1.5e-7*x").latex(4), "1.5 \\cdot 10^{-7} \\, x");
    assert!(law.latex(70_000).len() < 1000 && format!("{law:.40}").len() < 1000);
    let named = Expression::parse("x0*sin_theta", &["x0", "sin_theta"]).unwrap();
    assert_eq!(named.latex(3), "x_{0} \\, \\sin \\theta");
}

#[test]
fn a_linear_combination_of_terms_is_an_expression() {
    let features = "polynomial(2) + fourier(2)"
        .parse::<Library>()
        .unwrap()
        .features(&["a", "b"])
        .unwrap();
    let pick = |name: &str| {
        features
            .terms()
            .iter()
            .zip(features.names())
            .find(|(_, n)| *n == name)
            .unwrap()
            .0
    };
    let terms = [
        (2.0, pick("1")),
        (-0.5, pick("a b")),
        (3.0, pick("sin(2 b)")),
    ];
    let law = Expression::linear(features.inputs().to_vec(), terms).unwrap();
    assert_eq!(law.to_string(), "2 - 0.5*a*b + 3*sin(2*b)");
    assert_eq!(
        Expression::linear(vec!["a".into()], [])
            .unwrap()
            .to_string(),
        "0"
    );
}

#[test]
fn derivatives_are_right() {
    for text in [
        "x^3*theta_dot",
        "sin(2*x)*cos(x)",
        "exp(-x^2)",
        "log(1 + x^2)",
        "sqrt(2 + x)",
        "tanh(3*x)*x",
        "abs(x)*x",
        "1/(1 + x^2)",
        "x^-0.5",
        "sign(x)*x",
    ] {
        let law = parse(text);
        let slope = law.derivative("x").unwrap();
        for x in [0.3, 1.7] {
            let at = |x: f64| law.evaluate_row(&[x, 0.7, 0.0]);
            let want = (at(x + 1e-6) - at(x - 1e-6)) / 2e-6;
            let got = slope.evaluate_row(&[x, 0.7, 0.0]);
            assert!(
                (got - want).abs() < 1e-8 * (1.0 + want.abs()),
                "{text} at {x}: {got}, {want}"
            );
        }
    }
    assert!(
        parse("x")
            .derivative("y")
            .unwrap_err()
            .to_string()
            .contains("the variables are x, theta_dot")
    );
}

/// What is short to write but would be endless written out: differentiated in shared steps, or refused.
#[test]
fn derivatives_of_long_products_and_deep_nesting_stay_small() {
    let nested = (0..60).fold("x".to_string(), |inner, _| format!("sin({inner})"));
    let distinct: Vec<String> = (0..1000).map(|k| format!("(x + {k})")).collect();
    for (text, most) in [
        (vec!["x"; 10_000].join("*"), 10),
        (distinct.join("*"), 10_000),
        (nested, 300),
    ] {
        let law = parse(&text);
        let shared = Shared::gradients([law.root()], &[0]);
        assert!(shared.steps() < most, "{} steps", shared.steps());
    }
    let law = parse(&vec!["x"; 10_000].join("*"));
    let slope = Shared::gradients([law.root()], &[0]).values(&[1.0001]);
    assert!((slope[1] / (10_000.0 * 1.0001f64.powi(9_999)) - 1.0).abs() < 1e-9);
    let error = law.derivative("x").unwrap_err().to_string();
    assert!(error.contains("at most 1,000,000 parts"), "{error}");
    let long = vec!["x"; 1_000_001].join("+");
    let error = Expression::parse(&long, &["x"]).unwrap_err().to_string();
    assert!(error.contains("at most 1,000,000 parts"), "{error}");
}

#[test]
fn a_box_is_continuous_or_smooth_where_it_should_be() {
    for (text, continuous, smooth) in [
        ("x^2 + sin(x)", true, true),
        ("abs(x)", true, false),
        ("sqrt(x^2)", true, false),
        ("sqrt(x)", false, false),
        ("1/x", false, false),
        ("1/(2 + x)", true, true),
        ("log(2 + x) + sign(2 + x)", true, true),
        ("sign(x)", false, false),
        ("(x + 2)^1.5", true, true),
    ] {
        let law = parse(text);
        let shared = Shared::gradients([law.root()], &[]);
        let row = [Interval::new(-1.0, 1.0); 3];
        assert_eq!(shared.is_continuous(&row), continuous, "{text}");
        assert_eq!(shared.is_smooth(&row), smooth, "{text}");
    }
}

#[test]
fn too_many_names_are_refused_at_once() {
    let inputs: Vec<String> = (0..10_001).map(|k| format!("x{k}")).collect();
    let text = serde_json::json!({"format": "ell0-model", "version": 1, "inputs": inputs, "dynamics": "regression",
        "equations": [{"target": "y", "expression": "x0"}]});
    let error = Model::from_json(&text.to_string()).unwrap_err().to_string();
    assert!(
        error.contains("inputs = 10001") && error.contains("at most 10,000"),
        "{error}"
    );
}

#[test]
fn models_print_save_and_predict() {
    let library: Library = "polynomial(2)".parse().unwrap();
    let features = library.features(&["x", "y"]).unwrap();
    // 1, x, y, x^2, x y, y^2
    let target =
        |target: &str, coefficients: [f64; 6], probabilities: Option<[f64; 6]>| DictionaryTarget {
            target: target.into(),
            coefficients: coefficients.to_vec(),
            probabilities: probabilities.map(|p| p.to_vec()),
            errors: None,
        };
    let targets = [
        target("x", [0.0, -10.0, 10.0, 0.0, 0.0, 0.0], None),
        target(
            "y",
            [0.5, 0.0, 0.0, 0.0, -1.25, 0.0],
            Some([0.9, 0.1, 0.1, 0.1, 1.0, 0.0]),
        ),
    ];
    let model = Model::dictionary(&features, &library, &targets, Dynamics::Continuous).unwrap();
    assert_eq!(
        model.pysindy(3),
        "(x)' = -10.000 x + 10.000 y\n(y)' = 0.500 1 + -1.250 x y"
    );
    assert_eq!(model.text(4), "x' = -10*x + 10*y\ny' = 0.5 - 1.25*x*y");
    assert!(
        model
            .latex(3)
            .contains("\\frac{\\mathrm{d}}{\\mathrm{d}t} y &= 0.5 - 1.25 \\, x \\, y"),
        "{}",
        model.latex(3)
    );
    assert_eq!(
        model.predict(&[1.0, 2.0, 3.0, 4.0], 2).unwrap(),
        [20.0, 20.0, 0.5 - 3.75, 0.5 - 10.0]
    );
    assert_eq!(Model::from_json(&model.to_json()).unwrap(), model);
    assert_eq!(model.equations()[1].terms[0].probability, Some(0.9));
    // PySINDy's own text is read back to the same expression.
    let right = model
        .pysindy(3)
        .lines()
        .nth(1)
        .unwrap()
        .split_once(" = ")
        .unwrap()
        .1
        .to_string();
    assert_eq!(
        Expression::parse(&right, &["x", "y"]).unwrap(),
        model.equations()[1].expression
    );

    let refuse = |from: &str, to: &str| {
        let text = model.to_json();
        assert!(text.contains(from), "{text}");
        Model::from_json(&text.replace(from, to))
            .unwrap_err()
            .to_string()
    };
    assert!(refuse("\"version\": 1", "\"version\": 2").contains("version = 2"));
    assert!(refuse("ell0-model", "other").contains("expected `ell0-model`"));
    assert!(refuse("0.5 - 1.25*x*y", "0.5 - 1.25*x*w").contains("nearest"));
    assert!(refuse("\"target\": \"y\"", "\"target\": \"x\"").contains("one equation"));
    assert!(refuse("polynomial(2)", "polynomial(").contains("cannot read library"));
    assert!(Model::from_json("{}").is_err() && Model::from_json("").is_err());

    // As a value among others.
    let within = serde_json::to_string(&(1, &model)).unwrap();
    assert_eq!(
        serde_json::from_str::<(u32, Model)>(&within).unwrap(),
        (1, model.clone())
    );
    assert_eq!(model.library(), Some(&library));
    let text = serde_json::to_string(&library).unwrap();
    assert_eq!(text, "\"polynomial(2)\"");
    assert_eq!(serde_json::from_str::<Library>(&text).unwrap(), library);
    assert!(serde_json::from_str::<Library>("\"polynomial(\"").is_err());
}

/// A model is only made of what its file can hold.
#[test]
fn models_that_cannot_be_written_are_refused() {
    let model = |node: Node| {
        let law = Expression::new(vec!["x".into()], node).unwrap();
        Model::new(
            vec!["x".into()],
            vec![("y".into(), law)],
            Dynamics::Regression,
        )
    };
    let nested = |levels: usize| {
        (0..levels).fold(Node::Variable(0), |node, _| {
            Node::call(Function::Tanh, node)
        })
    };
    let deepest = model(nested(99)).unwrap();
    assert_eq!(Model::from_json(&deepest.to_json()).unwrap(), deepest);
    let error = model(nested(100)).unwrap_err().to_string();
    assert!(error.contains("101 nested brackets"), "{error}");
    assert!(
        Expression::parse(
            &Expression::new(vec!["x".into()], nested(100))
                .unwrap()
                .to_string(),
            &["x"]
        )
        .is_err()
    );
    let endless = Node::Product(vec![Node::Number(f64::INFINITY), Node::Variable(0)]);
    let error = model(endless).unwrap_err().to_string();
    assert!(error.contains("constants must be finite"), "{error}");
}

/// Block after block, as all at once.
#[test]
fn a_compiled_model_predicts_in_blocks() {
    let names = NAMES.map(String::from).to_vec();
    let laws = ["x*theta_dot + 2", "tanh(`odd name`)^2"];
    let laws = laws
        .iter()
        .enumerate()
        .map(|(k, law)| (format!("y{k}"), parse(law)));
    let model = Model::new(names, laws.collect(), Dynamics::Regression).unwrap();
    let mut rng = crate::rng::Stream::new(0).at(0);
    let rows = 1000;
    let columns: Vec<f64> = (0..3 * rows).map(|_| rng.normal()).collect();
    let whole = model.predict(&columns, rows).unwrap();
    let mut program = model.compiled();
    assert_eq!(program.targets(), 2);
    for (start, end) in [(0, 300), (300, 301), (301, 1000), (1000, 1000)] {
        let n = end - start;
        let block: Vec<f64> = columns
            .chunks(rows)
            .flat_map(|c| c[start..end].to_vec())
            .collect();
        let mut out = vec![0.0; 2 * n];
        program.predict_into(&block, n, &mut out).unwrap();
        for (column, whole) in whole.chunks(rows).enumerate() {
            assert_eq!(out[column * n..][..n], whole[start..end]);
        }
    }
    assert!(program.predict_into(&columns, rows, &mut [0.0]).is_err());
    assert!(
        program
            .predict_into(&columns[1..], rows, &mut vec![0.0; 2 * rows])
            .is_err()
    );
}

/// A tree whose constants did not fold to infinity or NaN, which text does not hold; a variable in place of one whose constants did.
fn finite(node: Node) -> Node {
    let law = Expression::new(NAMES.map(String::from).to_vec(), node.clone()).unwrap();
    if law.root().is_finite() {
        node
    } else {
        Node::Variable(0)
    }
}

fn leaves() -> impl Strategy<Value = Node> {
    let number = prop_oneof![
        -5.0..5.0f64,
        Just(1.0),
        Just(-1.0),
        Just(0.0),
        Just(-0.0),
        Just(1e-300),
        Just(-3e20)
    ];
    prop_oneof![
        number.prop_map(Node::Number),
        (0..3usize).prop_map(Node::Variable)
    ]
}

fn functions() -> impl Strategy<Value = Function> {
    prop::sample::select(Function::ALL.map(|(f, _)| f).to_vec())
}

fn exponents() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![2.0, 3.0, -1.0, 0.5, -2.0, 1.0, 0.0])
}

/// Trees as the constructors build them.
fn nodes() -> impl Strategy<Value = Node> {
    leaves().prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Node::sum),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Node::product),
            (inner.clone(), exponents()).prop_map(|(n, e)| Node::power(n, e)),
            (functions(), inner).prop_map(|(f, n)| Node::call(f, n)),
        ]
        .prop_map(finite)
    })
}

/// Trees as nobody should build them: nested, with constants anywhere.
fn odd_nodes() -> impl Strategy<Value = Node> {
    leaves().prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Node::Sum),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Node::Product),
            (inner.clone(), exponents()).prop_map(|(n, e)| Node::Power(Box::new(n), e)),
            (functions(), inner).prop_map(|(f, n)| Node::Call(f, Box::new(n))),
        ]
        .prop_map(finite)
    })
}

proptest! {
    #![proptest_config(proptest_config(400))]

    /// What is printed with all digits is read back as the same tree, and so has the same bits.
    #[test]
    fn text_is_read_as_it_is_written(root in prop_oneof![nodes(), odd_nodes()], row in prop::array::uniform3(-2.0..2.0f64)) {
        let law = Expression::new(NAMES.map(String::from).to_vec(), root).unwrap();
        let text = law.to_string();
        let read = Expression::parse(&text, &NAMES).unwrap();
        prop_assert_eq!(&read, &law, "{}", text);
        let (a, b) = (law.evaluate_row(&row), read.evaluate_row(&row));
        prop_assert!(a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(), "{}: {} and {}", text, a, b);
        let json = serde_json::to_string(&law).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Expression>(&json).unwrap(), &law);
        let model = Model::new(NAMES.map(String::from).to_vec(), vec![("y".into(), law)], Dynamics::Regression).unwrap();
        prop_assert_eq!(Model::from_json(&model.to_json()).unwrap(), model);
    }

    /// A tree that a constructor has built is as it should be: nothing is left to be folded.
    #[test]
    fn what_is_built_by_constructors_stays(root in nodes()) {
        let law = Expression::new(NAMES.map(String::from).to_vec(), root.clone()).unwrap();
        prop_assert_eq!(law.root(), &root);
    }

    /// Many rows at once and one row at a time give the same bits.
    #[test]
    fn columns_agree_with_rows(root in nodes(), rows in 1..600usize, seed: u64) {
        let law = Expression::new(NAMES.map(String::from).to_vec(), root).unwrap();
        let mut rng = crate::rng::Stream::new(seed).at(0);
        let columns: Vec<f64> = (0..3 * rows).map(|_| rng.normal()).collect();
        let values = law.evaluate(&columns, rows).unwrap();
        for row in [0, rows / 2, rows - 1] {
            let want = law.evaluate_row(&[columns[row], columns[rows + row], columns[2 * rows + row]]);
            prop_assert!(values[row] == want || values[row].is_nan() && want.is_nan(), "{}: {} and {}", law, values[row], want);
        }
    }

    /// Shared steps give what the trees give, values and derivatives alike.
    #[test]
    fn shared_steps_agree_with_trees(root in nodes(), row in prop::array::uniform3(-2.0..2.0f64)) {
        let shared = Shared::gradients([&root], &[0, 1, 2]);
        let values = shared.values(&row);
        let trees = [root.clone(), root.derivative(0), root.derivative(1), root.derivative(2)];
        for (value, tree) in values.into_iter().zip(&trees) {
            let want: f64 = tree.value(&row);
            // Beyond a pole or far out, sums in another order may differ by anything.
            if want.abs() < 1e6 {
                prop_assert!((value - want).abs() <= 1e-6 * (1.0 + want.abs()) || !value.is_finite(), "{value} and {want}");
            }
        }
    }

    #[test]
    fn any_model_file_is_read_or_refused(text in "\\PC{0,80}", at: prop::sample::Index, byte in 0u8..128) {
        let _ = Model::from_json(&text);
        let law = Expression::parse("2*x + tanh(theta_dot)", &NAMES).unwrap();
        let model = Model::new(NAMES.map(String::from).to_vec(), vec![("y".into(), law)], Dynamics::Discrete).unwrap();
        let mut bytes = model.to_json().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(model) = Model::from_json(&String::from_utf8_lossy(&bytes)) {
            let n = model.inputs().len();
            let _ = model.predict(&vec![1.0; n], 1);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = Expression::parse(&text, &NAMES);
        let _ = Expression::parse(&String::from_utf8_lossy(&bytes), &NAMES);
        let _ = Model::from_json(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn nearly_right_text_is_read_or_refused(text in "(x|theta_dot|sin|tanh|[()+*/^. 0-9e`-]){0,16}") {
        if let Ok(law) = Expression::parse(&text, &NAMES) {
            let _ = (law.to_string(), law.latex(3), law.derivative("x").unwrap().evaluate_row(&[1.0, 2.0, 3.0]));
        }
    }
}
