//! The fast passes against a plain one: masked, in double precision, with a loop for every index.

mod gradients;
mod passes;
mod reference;
mod shapes;

use proptest::prelude::*;

use super::*;
use crate::{
    gates::{HardConcrete, Penalty},
    rng::Stream,
    testing::proptest_config,
};
use reference::{Reference, Running};

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| f64::from(v)).collect()
}

/// Every kind of layer: plain, and the four kinds of gates.
fn gatings() -> [Gating; 5] {
    let spec = GateSpec::default();
    [
        Gating::Plain,
        Gating::Gated(spec),
        Gating::Gated(GateSpec {
            per: Per::Weight,
            ..spec
        }),
        Gating::Gated(GateSpec {
            noise: NoisePer::Row,
            ..spec
        }),
        Gating::Gated(GateSpec {
            per: Per::Weight,
            noise: NoisePer::Row,
            ..spec
        }),
    ]
}

const ACTIVATIONS: [Activation; 4] = [
    Activation::Elu,
    Activation::Relu,
    Activation::Tanh,
    Activation::Identity,
];

/// A random network whose gates are spread widely, so that many are shut.
fn random_network(layers: Vec<Dense>, seed: u64) -> Mlp {
    let mut model = Mlp::random(
        Architecture::new(layers).unwrap(),
        Init::He,
        &Stream::new(seed),
    )
    .unwrap();
    let range = model.architecture().all_log_alphas();
    let mut rng = Stream::new(seed).split("spread").at(0);
    for index in 0..model.architecture().layers().len() {
        for place in model.architecture().biases(index) {
            model.parameters_mut()[place] = 0.1 * rng.normal() as f32;
        }
    }
    for place in range {
        model.parameters_mut()[place] = (-1.0 + 5.0 * rng.normal()) as f32;
    }
    model
}

struct Case {
    model: Mlp,
    rows: usize,
    x: Vec<f32>,
    y: Vec<f32>,
    shared: Vec<f32>,
    per_row: Vec<f32>,
}

impl Case {
    fn new(layers: Vec<Dense>, rows: usize, loss: Loss, seed: u64) -> Self {
        let model = random_network(layers, seed);
        let architecture = model.architecture();
        let mut rng = Stream::new(seed).split("data").at(0);
        let x = (0..rows * architecture.inputs())
            .map(|_| rng.normal() as f32)
            .collect();
        let y = match loss {
            Loss::MeanSquaredError => (0..rows * architecture.outputs())
                .map(|_| rng.normal() as f32)
                .collect(),
            Loss::CrossEntropy | Loss::WeightedCrossEntropy => {
                let classes = (0..rows).map(|_| rng.index(architecture.outputs()) as f32);
                let mut y: Vec<f32> = classes.collect();
                if loss == Loss::WeightedCrossEntropy {
                    y.extend((0..rows).map(|_| rng.normal().abs() as f32));
                }
                y
            }
        };
        let (mut shared, mut per_row) = (
            vec![0.0; architecture.shared_noise_len()],
            vec![0.0; architecture.row_noise_len(rows)],
        );
        rng.fill_uniform(&mut shared);
        rng.fill_uniform(&mut per_row);
        Case {
            model,
            rows,
            x,
            y,
            shared,
            per_row,
        }
    }

    fn draw(&self, test_time: bool) -> Draw<'_> {
        if test_time {
            Draw::TestTime
        } else {
            Draw::Sampled(Noise {
                shared: &self.shared,
                rows: &self.per_row,
            })
        }
    }
}

fn loss_value(loss: Loss, predictions: &[f64], targets: &[f32], rows: usize) -> f64 {
    match loss {
        Loss::MeanSquaredError => {
            predictions
                .iter()
                .zip(targets)
                .map(|(p, &t)| (p - f64::from(t)).powi(2))
                .sum::<f64>()
                / predictions.len() as f64
        }
        Loss::CrossEntropy | Loss::WeightedCrossEntropy => {
            let classes = predictions.len() / rows;
            (0..rows)
                .map(|row| {
                    let all = (0..classes).map(|c| predictions[c * rows + row].exp());
                    let weight = match loss {
                        Loss::WeightedCrossEntropy => f64::from(targets[rows + row]),
                        _ => 1.0,
                    };
                    let own = predictions[targets[row] as usize * rows + row];
                    weight * (all.sum::<f64>().ln() - own)
                })
                .sum::<f64>()
                / rows as f64
        }
    }
}

fn layers() -> impl Strategy<Value = Vec<Dense>> {
    let layer = (1..24usize, 0..5usize, 0..4usize);
    (1..12usize, prop::collection::vec(layer, 1..4)).prop_map(|(inputs, layers)| {
        let mut width = inputs;
        layers
            .into_iter()
            .map(|(outputs, gating, activation)| {
                let layer = Dense {
                    inputs: width,
                    outputs,
                    activation: ACTIVATIONS[activation],
                    gating: gatings()[gating],
                    bias: (outputs + gating) % 3 > 0,
                };
                width = outputs;
                layer
            })
            .collect()
    })
}
