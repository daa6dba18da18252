//! Models, policies and networks to be exported, with random rows and what the models make of them.

use std::{fs, path::Path};

use crate::LAW;
use ell0::{
    equation::{Dynamics, Expression, Model},
    gates::Penalty,
    network::{Activation, GateSpec, Mlp, MlpConfig},
    rng::Stream,
    training::{Dataset, FitConfig, Silent, Trainer},
};
use ell0_control::agent::{TrainConfig, Training};

pub struct Subject {
    /// The file's whole path.
    pub file: String,
    pub network: bool,
    pub rows: Vec<Vec<f64>>,
    pub want: Vec<Vec<f64>>,
    /// Relative to 1 + |output|.
    pub tolerance: f64,
}

const ROWS: usize = 256;

/// Writes a model file.
pub fn write(folder: &Path, name: &str, inputs: &[&str], equations: &[(&str, &str)]) -> Model {
    let read = |(target, text): &(&str, &str)| {
        (
            target.to_string(),
            Expression::parse(text, inputs).expect("an expression"),
        )
    };
    let equations = equations.iter().map(read).collect();
    let inputs = inputs.iter().map(|n| n.to_string()).collect();
    let model = Model::new(inputs, equations, Dynamics::Continuous).expect("a model");
    fs::write(folder.join(name), model.to_json()).expect("written");
    model
}

/// Rows of normal numbers, or of positive ones, exact in single precision: then the same rows go to all.
fn random(columns: usize, positive: bool, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = Stream::new(seed).at(0);
    let mut number = || {
        let value = f64::from(rng.normal() as f32);
        if positive { value.abs() + 0.125 } else { value }
    };
    let row = |_| (0..columns).map(|_| f64::from(number() as f32)).collect();
    (0..ROWS).map(row).collect()
}

pub fn subjects(folder: &Path) -> Vec<Subject> {
    let model = |name: &str, inputs: &[&str], equations: &[(&str, &str)], positive: bool| {
        let model = write(folder, name, inputs, equations);
        let rows = random(inputs.len(), positive, 7);
        let want = rows
            .iter()
            .map(|row| model.predict(row, 1).expect("predicts"));
        Subject {
            file: folder.join(name).display().to_string(),
            network: false,
            want: want.collect(),
            rows,
            tolerance: 1e-12,
        }
    };
    let mut all = vec![
        model(
            "policy.json",
            &["cos_theta", "sin_theta", "theta_dot"],
            &[("torque", LAW)],
            false,
        ),
        model(
            "lorenz.json",
            &["x", "y", "z"],
            &[
                ("x", "-9.999812345678901*x + 10.000123*y"),
                ("y", "28.00001*x - y - x*z"),
                ("z", "x*y - 2.6666666666666665*z"),
            ],
            false,
        ),
        model(
            "functions.json",
            &["a", "b", "unused"],
            &[
                (
                    "all",
                    "exp(-a)*log(b) + sqrt(a*b) - abs(a - b)*sign(b - 1) + cos(3*a)*sin(b)",
                ),
                (
                    "powers",
                    "a^7 - 0.5*b^-3 + 1.25*(a + b)^2.5 - (a*b)^-0.75 + a^2*b^3 + 1e-3*(1 + a)^-1",
                ),
                ("nested", "-(-(a - 2*(b - 3*(a*b - 1))))*(a + b) - 1.5"),
                ("constant", "-2.5"),
                ("zero", "0"),
            ],
            true,
        ),
        model(
            "names.json",
            &[
                "x 1", "θ", "int", "sin", "a\"b", "x_1", "*/", "power_2", "np", "input", "law",
                "y\\\n1",
            ],
            &[
                (
                    "out put",
                    "`x 1` + 2*θ^2 - sin(int)*`sin` + 0.5*`a\"b`*x_1 - `*/` + power_2 - np*input + law*`y\\\n1`",
                ),
                ("int", "cos(`sin`)"),
                ("\"", "θ"),
            ],
            false,
        ),
    ];
    all.push(network(folder));
    all.push(actor(folder, "network(16, 16)", "actor.safetensors"));
    all.push(actor(folder, "polynomial(3)", "dictionary.safetensors"));
    all
}

/// A gated network after a few steps of training, as `ell0 tutorial` saves it.
fn network(folder: &Path) -> Subject {
    let rows = random(5, false, 3);
    let x: Vec<f32> = rows.iter().flatten().map(|v| *v as f32).collect();
    let y: Vec<f32> = x
        .chunks(5)
        .flat_map(|r| [r[0] * r[1], r[1].sin()])
        .collect();
    let data = Dataset::new(&x, 5, &y, 2).expect("data");
    let config = MlpConfig::new([5, 24, 16, 2], Activation::Elu).gated(GateSpec::default());
    let config_of_fit = FitConfig {
        epochs: 40,
        batch_size: 64,
        learning_rate: 0.01,
        gate_learning_rate: Some(0.1),
        penalty: Penalty::expected_l0(3e-3).expect("a price"),
        ..FitConfig::default()
    };
    let mlp = Mlp::new(&config, &Stream::new(5)).expect("a network");
    let mut trainer = Trainer::new(mlp, config_of_fit, &data, None).expect("a trainer");
    trainer.fit(&mut Silent).expect("trained");
    let file = folder.join("network.safetensors");
    trainer.save(&file).expect("saved");
    let mlp = Mlp::from_checkpoint(&file).expect("read");
    let compact = mlp.compact().expect("compacted");
    assert!(compact.network().parameters().len() < 400, "no gate closed");
    let want = compact.predict(&x).expect("predicts");
    Subject {
        file: file.display().to_string(),
        network: true,
        want: want
            .chunks(2)
            .map(|r| r.iter().map(|v| f64::from(*v)).collect())
            .collect(),
        rows,
        tolerance: 1e-5,
    }
}

/// A policy as `ell0 train` saves it.
fn actor(folder: &Path, policy: &str, name: &str) -> Subject {
    let config = TrainConfig {
        environment: "pendulum(g=9.81)".into(),
        policy: policy.into(),
        ..TrainConfig::default()
    };
    let training = Training::new(config).expect("training");
    let file = folder.join(name);
    fs::write(&file, training.to_bytes().expect("bytes")).expect("written");
    let rows = random(3, false, 11);
    let (network, model) = (
        training.actor().network().expect("read"),
        training.actor().model().expect("read"),
    );
    let predict = |row: &Vec<f64>| match (&network, &model) {
        (Some(network), _) => {
            let row: Vec<f32> = row.iter().map(|v| *v as f32).collect();
            network
                .predict(&row)
                .expect("predicts")
                .iter()
                .map(|v| f64::from(*v))
                .collect()
        }
        (None, Some(model)) => model.predict(row, 1).expect("predicts"),
        (None, None) => panic!("neither"),
    };
    Subject {
        file: file.display().to_string(),
        network: network.is_some(),
        want: rows.iter().map(predict).collect(),
        rows,
        tolerance: if network.is_some() { 1e-5 } else { 1e-12 },
    }
}
