//! Reference values computed in double precision with PyTorch and SciPy: `tests/golden/` at the root of the workspace.

use std::{fs, path::Path};

use ell0::{
    features::Library,
    gates::{Gate, HardConcrete, Penalty},
    network::{Activation, Architecture, Dense, Draw, GateSpec, Gating, Loss, Mlp, Noise, Pass},
    training::{Adam, AdamConfig, Group},
};
use serde_json::Value;

fn golden(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/golden")
        .join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("not a number: {value}"))
}

/// All numbers of nested lists, in order.
fn flatten(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(flatten).collect(),
        other => vec![number(other)],
    }
}

/// A matrix given as a list of rows, column after column.
fn columns(value: &Value) -> Vec<f32> {
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(flatten).collect();
    (0..rows[0].len())
        .flat_map(|c| rows.iter().map(move |row| row[c] as f32))
        .collect()
}

#[test]
fn golden_gates() {
    let file = golden("gates.json");
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() >= 63);
    for case in cases {
        let field = |name: &str| number(&case[name]);
        let gate = HardConcrete::new(field("beta"), field("gamma"), field("zeta")).unwrap();
        let (a, u) = (field("log_alpha"), field("u"));
        let Gate { value: z, slope } = gate.sample_with_slope(a, u);
        let moments = gate.moments(a);
        for (name, got) in [
            ("z", z),
            ("dz_dlog_alpha", slope),
            ("prob_active", gate.prob_active(a)),
            ("dprob_dlog_alpha", gate.prob_active_slope(a)),
            ("prob_one", gate.prob_one(a)),
            ("mode_gate", gate.test_gate(a)),
            ("cdf_stretched_at_0_3", gate.stretched(a).cdf(0.3)),
            ("mean", moments.mean),
            ("variance", moments.variance),
        ] {
            assert!(
                (got - field(name)).abs() <= 1e-12,
                "{name}: got {got} in {case}"
            );
        }
    }
}

/// 1e-5 relative to the size of the tensor: single precision against double.
fn assert_tensor(what: &str, got: &[f32], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(1e-12f64, |m, w| m.max(w.abs()));
    for (got, want) in got.iter().zip(want) {
        let distance = (f64::from(*got) - want).abs() / scale;
        assert!(distance <= 1e-5, "{what}: got {got}, want {want}");
    }
}

#[test]
fn golden_networks() {
    let file = golden("networks.json");
    let cases: Vec<(&String, &Value)> = file
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| *name != "note")
        .collect();
    assert!(cases.len() >= 3);
    for (name, case) in cases {
        let field = |name: &str| number(&case[name]);
        let dims: Vec<usize> = flatten(&case["dims"]).iter().map(|&d| d as usize).collect();
        let distribution = HardConcrete::new(field("beta"), field("gamma"), field("zeta")).unwrap();
        let gated = !case["init"]["log_alphas"].as_array().unwrap().is_empty();
        let spec = GateSpec {
            distribution,
            ..GateSpec::default()
        };
        let last = dims.len() - 2;
        let layers = dims.windows(2).enumerate().map(|(index, pair)| Dense {
            inputs: pair[0],
            outputs: pair[1],
            activation: if index == last {
                Activation::Identity
            } else {
                Activation::Elu
            },
            gating: if gated {
                Gating::Gated(spec)
            } else {
                Gating::Plain
            },
            bias: true,
        });
        let architecture = Architecture::new(layers.collect()).unwrap();

        // Every tensor of a group ("init", "grad", "after") next to its place in the parameter vector.
        let tensors = |weights: &Value, biases: &Value, log_alphas: &Value| {
            let mut places = Vec::new();
            for layer in 0..=last {
                places.push((architecture.weights(layer), flatten(&weights[layer])));
                places.push((architecture.biases(layer), flatten(&biases[layer])));
                if gated {
                    places.push((architecture.log_alphas(layer), flatten(&log_alphas[layer])));
                }
            }
            places
        };
        let init = &case["init"];
        let mut parameters = vec![0f32; architecture.parameter_len()];
        for (range, values) in tensors(&init["weights"], &init["biases"], &init["log_alphas"]) {
            for (place, value) in parameters[range].iter_mut().zip(values) {
                *place = value as f32;
            }
        }

        let (x, y) = (columns(&case["x"]), columns(&case["y"]));
        let rows = case["x"].as_array().unwrap().len();
        let penalty = Penalty::expected_l0(field("lam"))
            .unwrap()
            .with_weight_decay(field("weight_decay"))
            .unwrap();
        let betas = flatten(&case["adam"]["betas"]);
        let config = AdamConfig {
            beta1: betas[0],
            beta2: betas[1],
            eps: number(&case["adam"]["eps"]),
        };
        let mut adam = Adam::new(config, parameters.len()).unwrap();
        let mut pass = Pass::new(&architecture, rows);
        let mut gradient = vec![f32::NAN; parameters.len()];
        let everything = 0..parameters.len();

        let steps = case["steps"].as_array().unwrap();
        assert_eq!(steps.len(), 3);
        for (number_of_step, step) in steps.iter().enumerate() {
            let what = |tensor: &str| format!("{name}, step {number_of_step}, {tensor}");
            let noise: Vec<f32> = flatten(&step["noise"]).iter().map(|&u| u as f32).collect();
            let draw = Draw::Sampled(Noise {
                shared: &noise,
                rows: &[],
            });
            let prediction = pass.forward(&parameters, &x, draw).unwrap();
            let want: Vec<f64> = columns(&step["prediction"])
                .iter()
                .map(|&p| f64::from(p))
                .collect();
            assert_tensor(&what("prediction"), prediction, &want);
            let mse = pass.loss(Loss::MeanSquaredError, &y, rows).unwrap();
            pass.backward(&parameters, &mut gradient, None).unwrap();
            let penalty = architecture
                .penalise(&parameters, &penalty, &mut gradient)
                .unwrap();
            assert_tensor(&what("mse"), &[mse as f32], &[number(&step["mse"])]);
            assert_tensor(
                &what("penalty"),
                &[penalty as f32],
                &[number(&step["penalty"])],
            );
            let want = tensors(
                &step["grad_weights"],
                &step["grad_biases"],
                &step["grad_log_alphas"],
            );
            for (range, want) in want {
                assert_tensor(&what("gradient"), &gradient[range], &want);
            }
            adam.step(
                &mut parameters,
                &gradient,
                1.0,
                &[Group {
                    range: everything.clone(),
                    learning_rate: field("lr"),
                }],
            )
            .unwrap();
            let want = tensors(
                &step["after_weights"],
                &step["after_biases"],
                &step["after_log_alphas"],
            );
            for (range, want) in want {
                assert_tensor(&what("parameters"), &parameters[range], &want);
            }
        }

        let model = Mlp::from_parameters(architecture, parameters).unwrap();
        let rows: Vec<f32> = flatten(&case["x"]).iter().map(|&x| x as f32).collect();
        let want = flatten(&case["test_time_prediction"]);
        assert_tensor(
            "test-time prediction",
            &model.predict(&rows).unwrap(),
            &want,
        );
        let compacted = model.compact().unwrap().predict(&rows).unwrap();
        assert_tensor("prediction of the compacted network", &compacted, &want);
    }
}

#[test]
fn golden_features() {
    let file = golden("features.json");
    let cases = file.as_array().unwrap();
    assert!(cases.len() >= 52);
    for case in cases {
        let whole = |name: &str| case[name].as_u64().unwrap() as u32;
        let polynomial = || Library::Polynomial {
            degree: whole("degree"),
            bias: case["include_bias"].as_bool().unwrap_or(true),
            interactions: case["include_interaction"].as_bool().unwrap_or(true),
            interactions_only: false,
        };
        let library = match case["kind"].as_str().unwrap() {
            "polynomial" => polynomial(),
            "fourier" => Library::fourier(whole("n_frequencies")),
            "polynomial+fourier" => {
                Library::Sum(vec![polynomial(), Library::fourier(whole("n_frequencies"))])
            }
            other => panic!("unknown kind {other}"),
        };
        let rows: Vec<Vec<f64>> = case["x"].as_array().unwrap().iter().map(flatten).collect();
        let inputs: Vec<String> = (0..rows[0].len()).map(|i| format!("x{i}")).collect();
        let features = library.features(&inputs).unwrap();
        let names: Vec<&str> = case["names"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_str().unwrap())
            .collect();
        assert_eq!(features.names(), names);
        let by_column: Vec<f64> = (0..inputs.len())
            .flat_map(|c| rows.iter().map(move |row| row[c]))
            .collect();
        let values = features.evaluate(&by_column).unwrap();
        for (row, want) in case["values"].as_array().unwrap().iter().enumerate() {
            for (column, want) in flatten(want).iter().enumerate() {
                let got = values[column * rows.len() + row];
                assert!(
                    (got - want).abs() <= 1e-14 * (1.0 + want.abs()),
                    "{}: {got}, {want}",
                    names[column]
                );
            }
        }
    }
}
