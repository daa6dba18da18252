//! The fast passes against a plain one: masked, in double precision, with a loop for every index.

use proptest::prelude::*;

use super::*;
use crate::{
    gates::{HardConcrete, Penalty},
    rng::Stream,
};

/// Gates of one layer for one batch, z\[row\]\[input\]\[output\], and their derivatives by log α.
type Gates = Vec<(f64, f64)>;

struct Reference<'a> {
    architecture: &'a Architecture,
    rows: usize,
    gates: Vec<Gates>,
}

fn activation(kind: Activation, x: f64) -> (f64, f64) {
    match kind {
        Activation::Elu => (if x > 0.0 { x } else { x.exp_m1() }, x.min(0.0).exp()),
        Activation::Relu => (x.max(0.0), f64::from(x > 0.0)),
        Activation::Tanh => (x.tanh(), 1.0 - x.tanh().powi(2)),
        Activation::Identity => (x, 1.0),
    }
}

impl<'a> Reference<'a> {
    fn new(
        architecture: &'a Architecture,
        parameters: &[f64],
        draw: Draw,
        rows: usize,
        gate: impl Fn(&HardConcrete, f64, f32) -> (f64, f64),
    ) -> Self {
        let (mut shared, mut per_row) = (0, 0);
        let gates = architecture
            .layers()
            .iter()
            .enumerate()
            .map(|(index, layer)| {
                let log_alphas = &parameters[architecture.log_alphas(index)];
                let (shared_start, row_start) = (shared, per_row);
                if let (Draw::Sampled(_), Gating::Gated(spec)) = (draw, layer.gating) {
                    match spec.noise {
                        NoisePer::Batch => shared += layer.gates(),
                        NoisePer::Row => per_row += layer.gates() * rows,
                    }
                }
                let at = |row: usize, i: usize, o: usize| {
                    let Gating::Gated(spec) = layer.gating else {
                        return (1.0, 0.0);
                    };
                    let which = if spec.per == Per::Unit {
                        i
                    } else {
                        i * layer.outputs + o
                    };
                    match draw {
                        // In single precision, as the pass computes it: a gate that is barely open has few digits.
                        Draw::TestTime => {
                            let (mut z, mut slope) = ([0.0], [0.0]);
                            let location = [log_alphas[which] as f32];
                            spec.distribution.test_slices(&location, &mut z, &mut slope);
                            (f64::from(z[0]), f64::from(slope[0]))
                        }
                        Draw::Sampled(noise) if spec.noise == NoisePer::Batch => gate(
                            &spec.distribution,
                            log_alphas[which],
                            noise.shared[shared_start + which],
                        ),
                        Draw::Sampled(noise) => gate(
                            &spec.distribution,
                            log_alphas[which],
                            noise.rows[row_start + which * rows + row],
                        ),
                    }
                };
                (0..rows * layer.inputs * layer.outputs)
                    .map(|k| {
                        at(
                            k / layer.outputs / layer.inputs,
                            k / layer.outputs % layer.inputs,
                            k % layer.outputs,
                        )
                    })
                    .collect()
            });
        Reference {
            architecture,
            rows,
            gates: gates.collect(),
        }
    }

    /// Activations (value, derivative) of every layer; x and activations stand column after column.
    fn forward(&self, parameters: &[f64], x: &[f64]) -> Vec<Vec<(f64, f64)>> {
        let mut activations: Vec<Vec<(f64, f64)>> = vec![x.iter().map(|&x| (x, 1.0)).collect()];
        for (index, layer) in self.architecture.layers().iter().enumerate() {
            let (w, b) = (
                &parameters[self.architecture.weights(index)],
                &parameters[self.architecture.biases(index)],
            );
            let input = &activations[index];
            let output = (0..layer.outputs * self.rows).map(|k| {
                let (o, row) = (k / self.rows, k % self.rows);
                let sum: f64 = (0..layer.inputs)
                    .map(|i| {
                        input[i * self.rows + row].0
                            * w[i * layer.outputs + o]
                            * self.gates[index][(row * layer.inputs + i) * layer.outputs + o].0
                    })
                    .sum();
                activation(layer.activation, sum + b.get(o).copied().unwrap_or(0.0))
            });
            let output = output.collect();
            activations.push(output);
        }
        activations
    }

    /// Gradient by all parameters and by the inputs for a given gradient by the outputs.
    fn backward(
        &self,
        parameters: &[f64],
        activations: &[Vec<(f64, f64)>],
        d_output: &[f64],
    ) -> (Vec<f64>, Vec<f64>) {
        let mut gradient = vec![0.0; parameters.len()];
        let mut d = d_output.to_vec();
        for (index, layer) in self.architecture.layers().iter().enumerate().rev() {
            let (input, output) = (&activations[index], &activations[index + 1]);
            let (w, b, a) = (
                self.architecture.weights(index),
                self.architecture.biases(index),
                self.architecture.log_alphas(index),
            );
            let mut d_input = vec![0.0; layer.inputs * self.rows];
            for o in 0..layer.outputs {
                for row in 0..self.rows {
                    let d = d[o * self.rows + row] * output[o * self.rows + row].1;
                    if layer.bias {
                        gradient[b.start + o] += d;
                    }
                    for i in 0..layer.inputs {
                        let k = i * layer.outputs + o;
                        let (z, slope) = self.gates[index][row * layer.inputs * layer.outputs + k];
                        let x = input[i * self.rows + row].0;
                        gradient[w.start + k] += d * x * z;
                        d_input[i * self.rows + row] += d * z * parameters[w.start + k];
                        if let Gating::Gated(spec) = layer.gating {
                            let which = if spec.per == Per::Unit { i } else { k };
                            gradient[a.start + which] += d * x * parameters[w.start + k] * slope;
                        }
                    }
                }
            }
            d = d_input;
        }
        (gradient, d)
    }
}

fn penalty_value(architecture: &Architecture, parameters: &[f64], penalty: &Penalty) -> f64 {
    let mut total = 0.0;
    for (index, layer) in architecture.layers().iter().enumerate() {
        let (w, b, a) = (
            &parameters[architecture.weights(index)],
            &parameters[architecture.biases(index)],
            &parameters[architecture.log_alphas(index)],
        );
        for (k, w) in w.iter().enumerate() {
            let active = match layer.gating {
                Gating::Plain => 1.0,
                Gating::Gated(spec) => spec.distribution.prob_active(
                    a[if spec.per == Per::Unit {
                        k / layer.outputs
                    } else {
                        k
                    }],
                ),
            };
            total += active * (penalty.lambda() + 0.5 * penalty.weight_decay() * w * w)
                + penalty.l1() * w.abs()
                + 0.5 * penalty.l2() * w * w;
        }
        total += b
            .iter()
            .map(|b| 0.5 * penalty.weight_decay() * b * b)
            .sum::<f64>();
        if let (Gating::Gated(spec), Some(prior)) = (layer.gating, penalty.prior()) {
            for &a in a {
                let (p, q) = (
                    spec.distribution.prob_active(a),
                    spec.distribution.prob_zero(a),
                );
                total +=
                    prior.scale * (p * (p / prior.prob).ln() + q * (q / (1.0 - prior.prob)).ln());
            }
        }
    }
    total
}

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
            Loss::CrossEntropy => (0..rows)
                .map(|_| rng.index(architecture.outputs()) as f32)
                .collect(),
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

fn relative_distance(got: &[f32], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(1e-6f64, |m, w| m.max(w.abs()));
    got.iter()
        .zip(want)
        .map(|(&g, w)| (f64::from(g) - w).abs() / scale)
        .fold(0.0, f64::max)
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
        Loss::CrossEntropy => {
            let classes = predictions.len() / rows;
            (0..rows)
                .map(|row| {
                    (0..classes)
                        .map(|c| predictions[c * rows + row].exp())
                        .sum::<f64>()
                        .ln()
                        - predictions[targets[row] as usize * rows + row]
                })
                .sum::<f64>()
                / rows as f64
        }
    }
}

/// Every layer kind × activation × loss, with all penalties at once: the whole training loss differentiated numerically in double precision
/// (central differences, gates re-drawn from the same noise) against the gradient of the fast pass.
#[test]
fn gradients_agree_with_finite_differences() {
    let penalty = Penalty::expected_l0(0.02)
        .unwrap()
        .with_prior(0.1, 0.3)
        .unwrap()
        .with_weight_decay(0.05)
        .unwrap()
        .with_l1(0.01)
        .unwrap()
        .with_l2(0.03)
        .unwrap();
    let mut seed = 0;
    for gating in gatings() {
        for activation in ACTIVATIONS {
            for loss in [Loss::MeanSquaredError, Loss::CrossEntropy] {
                seed += 1;
                let layer = |inputs, outputs, activation| Dense {
                    inputs,
                    outputs,
                    activation,
                    gating,
                    bias: true,
                };
                let case = Case::new(
                    vec![
                        layer(3, 5, activation),
                        layer(5, 4, activation),
                        layer(4, 3, Activation::Identity),
                    ],
                    6,
                    loss,
                    seed,
                );
                let architecture = case.model.architecture();
                let parameters = wide(case.model.parameters());
                let objective = |parameters: &[f64]| {
                    let reference = Reference::new(
                        architecture,
                        parameters,
                        case.draw(false),
                        case.rows,
                        |g, a, u| g.sample_with_slope(a, f64::from(u)),
                    );
                    let activations = reference.forward(parameters, &wide(&case.x));
                    let predictions: Vec<f64> =
                        activations.last().unwrap().iter().map(|a| a.0).collect();
                    loss_value(loss, &predictions, &case.y, case.rows)
                        + penalty_value(architecture, parameters, &penalty)
                };

                let mut pass = Pass::new(architecture, case.rows);
                pass.forward(case.model.parameters(), &case.x, case.draw(false))
                    .unwrap();
                let mut value = pass.loss(loss, &case.y, case.rows).unwrap();
                let mut gradient = vec![f32::NAN; parameters.len()];
                pass.backward(case.model.parameters(), &mut gradient, None)
                    .unwrap();
                value += architecture
                    .penalise(case.model.parameters(), &penalty, &mut gradient)
                    .unwrap();
                assert!((value / objective(&parameters) - 1.0).abs() < 1e-5);

                let numeric: Vec<f64> = (0..parameters.len())
                    .map(|k| {
                        let at = |h: f64| {
                            let mut p = parameters.clone();
                            p[k] += h;
                            objective(&p)
                        };
                        (at(1e-5) - at(-1e-5)) / 2e-5
                    })
                    .collect();
                let distance = relative_distance(&gradient, &numeric);
                assert!(
                    distance < 1e-5,
                    "{gating:?} {activation} {loss:?}: {distance}"
                );
            }
        }
    }
}

/// Each penalty alone, so that an error in one cannot hide behind another.
#[test]
fn penalties_agree_with_finite_differences() {
    let none = Penalty::none();
    let penalties = [
        Penalty::expected_l0(0.7).unwrap(),
        none.with_prior(0.2, 1.5).unwrap(),
        none.with_weight_decay(0.4).unwrap(),
        none.with_l1(0.3).unwrap(),
        none.with_l2(0.6).unwrap(),
        Penalty::expected_l0(2.0)
            .unwrap()
            .with_prior(0.2, 1.0)
            .unwrap()
            .warmed(0.25),
    ];
    for gating in gatings() {
        let model = random_network(
            vec![
                Dense {
                    inputs: 4,
                    outputs: 3,
                    activation: Activation::Elu,
                    gating,
                    bias: true,
                },
                Dense {
                    inputs: 3,
                    outputs: 1,
                    activation: Activation::Identity,
                    gating,
                    bias: true,
                },
            ],
            3,
        );
        let architecture = model.architecture();
        let parameters = wide(model.parameters());
        for penalty in &penalties {
            let mut gradient = vec![0.0; parameters.len()];
            let value = architecture
                .penalise(model.parameters(), penalty, &mut gradient)
                .unwrap();
            assert!(
                (value - penalty_value(architecture, &parameters, penalty)).abs()
                    < 1e-5 * (1.0 + value)
            );
            let numeric: Vec<f64> = (0..parameters.len())
                .map(|k| {
                    let at = |h: f64| {
                        let mut p = parameters.clone();
                        p[k] += h;
                        penalty_value(architecture, &p, penalty)
                    };
                    (at(1e-5) - at(-1e-5)) / 2e-5
                })
                .collect();
            let distance = relative_distance(&gradient, &numeric);
            assert!(distance < 1e-5, "{gating:?} {penalty:?}: {distance}");
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Skipping units with zero gates gives the numbers of the masked computation, forward and backward, for any mix of layers.
    #[test]
    fn skipping_agrees_with_masking(layers in layers(), rows in 1..40usize, seed: u64, test_time: bool) {
        let case = Case::new(layers, rows, Loss::MeanSquaredError, seed);
        let architecture = case.model.architecture();
        let parameters = wide(case.model.parameters());
        // The gates of the fast sampler, so that both computations have the very same mask.
        let fast = |g: &HardConcrete, a: f64, u: f32| {
            let (mut z, mut slope) = ([0.0], [0.0]);
            g.sample_slices(&[a as f32], &[u], &mut z, &mut slope);
            (f64::from(z[0]), f64::from(slope[0]))
        };
        let reference = Reference::new(architecture, &parameters, case.draw(test_time), rows, fast);
        let activations = reference.forward(&parameters, &wide(&case.x));
        // Within round-off of ReLU's kink either derivative is right.
        let kink = architecture.layers().iter().zip(&activations[1..]).any(|(l, a)| l.activation == Activation::Relu && a.iter().any(|a| a.0 != 0.0 && a.0.abs() < 1e-5));
        prop_assume!(!kink);
        let predictions: Vec<f64> = activations.last().unwrap().iter().map(|a| a.0).collect();
        let d_output: Vec<f64> = predictions.iter().zip(&case.y).map(|(p, &t)| 2.0 * (p - f64::from(t)) / predictions.len() as f64).collect();
        let (want, want_input) = reference.backward(&parameters, &activations, &d_output);

        // A workspace larger than the batch, used before: nothing of an earlier pass may shine through.
        let mut pass = Pass::new(architecture, rows + 3);
        let larger = Case::new(architecture.layers().to_vec(), rows + 3, Loss::MeanSquaredError, seed ^ 1);
        pass.forward(larger.model.parameters(), &larger.x, larger.draw(false)).unwrap();
        let got = pass.forward(case.model.parameters(), &case.x, case.draw(test_time)).unwrap();
        prop_assert!(relative_distance(got, &predictions) < 1e-5);
        pass.loss(Loss::MeanSquaredError, &case.y, rows).unwrap();
        let mut gradient = vec![f32::NAN; parameters.len()];
        let mut d_input = vec![f32::NAN; case.x.len()];
        pass.backward(case.model.parameters(), &mut gradient, Some(&mut d_input)).unwrap();
        prop_assert!(relative_distance(&gradient, &want) < 1e-5);
        prop_assert!(relative_distance(&d_input, &want_input) < 1e-5);
    }

    /// The compacted network gives the outputs of the gated one at test time, with no more work.
    #[test]
    fn compaction_keeps_the_outputs(layers in layers(), rows in 1..20usize, seed: u64) {
        let case = Case::new(layers, rows, Loss::MeanSquaredError, seed);
        let compact = case.model.compact().unwrap();
        let by_row = |model: &dyn Fn(&[f32]) -> crate::Result<Vec<f32>>| model(&case.x).unwrap();
        let (full, small) = (by_row(&|x| case.model.predict(x)), by_row(&|x| compact.predict(x)));
        prop_assert!(relative_distance(&small, &wide(&full)) < 1e-5);
        let size = case.model.complexity().unwrap();
        prop_assert!(size.compacted_flops <= size.flops && size.expected_flops <= size.flops * (1.0 + 1e-12));
        prop_assert!(size.active <= size.parameters && size.open_gates <= size.gates);
        prop_assert!(size.expected_l0 <= case.model.architecture().layers().iter().map(|l| (l.inputs * l.outputs) as f64).sum::<f64>() * (1.0 + 1e-12));
        prop_assert!(compact.network().architecture().layers().iter().all(|l| l.gating == Gating::Plain));
    }
}

#[test]
fn a_network_whose_gates_are_all_shut_is_a_constant() {
    let config = MlpConfig::new([3, 6, 2], Activation::Elu).gated(GateSpec::default());
    let mut model = Mlp::new(&config, &Stream::new(0)).unwrap();
    let range = model.architecture().all_log_alphas();
    model.parameters_mut()[range].fill(-20.0);
    let biases = model.architecture().biases(1);
    model.parameters_mut()[biases].copy_from_slice(&[0.25, -4.0]);
    assert_eq!(model.predict(&[1.0, 2.0, 3.0]).unwrap(), [0.25, -4.0]);
    let compact = model.compact().unwrap();
    assert_eq!(compact.predict(&[1.0, 2.0, 3.0]).unwrap(), [0.25, -4.0]);
    let size = model.complexity().unwrap();
    assert_eq!(
        (size.open_gates, size.active_weights, size.active),
        (0, 0, 2)
    );
    // Even with nothing open, forward and backward run, and only the last biases learn.
    let mut pass = Pass::new(model.architecture(), 1);
    let u = vec![0.5; model.architecture().shared_noise_len()];
    pass.forward(
        model.parameters(),
        &[1.0, 2.0, 3.0],
        Draw::Sampled(Noise {
            shared: &u,
            rows: &[],
        }),
    )
    .unwrap();
    pass.loss(Loss::MeanSquaredError, &[0.0, 0.0], 1).unwrap();
    let mut gradient = vec![f32::NAN; model.parameters().len()];
    pass.backward(model.parameters(), &mut gradient, None)
        .unwrap();
    assert_eq!(gradient.iter().filter(|&&g| g != 0.0).count(), 2);
}

#[test]
fn expected_flops_are_the_mean_over_sampled_gates() {
    let config = MlpConfig::new([5, 9, 2], Activation::Elu).gated(GateSpec::default());
    let model = random_network(config.architecture().unwrap().layers().to_vec(), 4);
    let architecture = model.architecture();
    let mut pass = Pass::new(architecture, 1);
    let (mut rng, n) = (Stream::new(1).at(0), 20_000);
    let mut u = vec![0.0; architecture.shared_noise_len()];
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..n {
        rng.fill_uniform(&mut u);
        pass.forward(
            model.parameters(),
            &[0.0; 5],
            Draw::Sampled(Noise {
                shared: &u,
                rows: &[],
            }),
        )
        .unwrap();
        let open: Vec<f64> = pass.open_units().map(|k| k as f64).chain([2.0]).collect();
        let flops: f64 = open.windows(2).map(|p| (2.0 * p[0] + 1.0) * p[1]).sum();
        sum += flops;
        squares += flops * flops;
    }
    let mean = sum / f64::from(n);
    let standard_error = ((squares / f64::from(n) - mean * mean) / f64::from(n)).sqrt();
    assert!((mean - model.complexity().unwrap().expected_flops).abs() < 5.0 * standard_error);
}

#[test]
fn bad_shapes_are_errors() {
    let config = MlpConfig::new([2, 3, 1], Activation::Elu);
    let model = Mlp::new(&config, &Stream::new(0)).unwrap();
    let message = |e: crate::Error| e.to_string();
    assert!(
        message(
            MlpConfig::new([2, 0, 1], Activation::Elu)
                .architecture()
                .unwrap_err()
        )
        .contains("[2, 0, 1]")
    );
    assert!(MlpConfig::new([2], Activation::Elu).architecture().is_err());
    assert!(
        MlpConfig::new([usize::MAX, 2], Activation::Elu)
            .architecture()
            .is_err()
    );
    let closed = GateSpec {
        drop_rate: 1.0,
        ..GateSpec::default()
    };
    assert!(
        message(config.clone().gated(closed).architecture().unwrap_err()).contains("drop_rate = 1")
    );
    let layer = |inputs, outputs| Dense {
        inputs,
        outputs,
        activation: Activation::Elu,
        gating: Gating::Plain,
        bias: true,
    };
    assert!(
        message(Architecture::new(vec![layer(2, 3), layer(4, 1)]).unwrap_err())
            .contains("inputs of layer 1: got 4, expected 3")
    );
    assert!(
        message(Mlp::from_parameters(model.architecture().clone(), vec![0.0; 2]).unwrap_err())
            .contains("got 2, expected 13")
    );
    assert!(model.predict(&[1.0, 2.0, 3.0]).is_err());
    let mut pass = Pass::new(model.architecture(), 2);
    let forward = |pass: &mut Pass, x: &[f32]| {
        pass.forward(model.parameters(), x, Draw::TestTime)
            .map(<[f32]>::len)
    };
    assert!(forward(&mut pass, &[1.0; 6]).is_err());
    assert!(forward(&mut pass, &[]).is_err());
    // Before a forward pass, or after one that failed, there is nothing to go back through.
    assert!(
        pass.backward(model.parameters(), &mut [0.0; 13], None)
            .is_err()
    );
    assert!(pass.output().is_empty() && pass.loss(Loss::MeanSquaredError, &[], 1).is_err());
    assert_eq!(forward(&mut pass, &[1.0; 4]).unwrap(), 2);
    assert!(pass.loss(Loss::MeanSquaredError, &[0.0], 2).is_err());
    assert!(pass.loss(Loss::MeanSquaredError, &[0.0; 2], 1).is_err());
    assert!(
        pass.backward(model.parameters(), &mut [0.0; 12], None)
            .is_err()
    );
    let wide = Dense {
        inputs: 1 << 60,
        outputs: 0,
        activation: Activation::Elu,
        gating: Gating::Plain,
        bias: true,
    };
    assert!(
        Architecture::new(vec![
            wide,
            Dense {
                inputs: 0,
                outputs: 1,
                ..wide
            }
        ])
        .is_err()
    );
    assert!(
        model
            .architecture()
            .penalise(&[0.0; 3], &Penalty::none(), &mut [0.0; 13])
            .is_err()
    );
    assert!(
        message(
            Loss::CrossEntropy
                .check_targets(&[0.0, 3.0], 2, 3)
                .unwrap_err()
        )
        .contains("whole number below 3")
    );
    assert!("gelu".parse::<Activation>().is_err());
}
