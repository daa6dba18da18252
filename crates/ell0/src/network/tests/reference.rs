//! A plain pass in double precision, with a loop for every index, which keeps account of what single precision may have lost.

use super::*;

/// A number that single precision may have missed by `error`: a running error bound, which grows with every operation by what it rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Running {
    pub value: f64,
    pub error: f64,
}

/// Twice the unit round-off: what a sum loses in any order, with fused multiplications or without, stays well below.
const EPSILON: f64 = f32::EPSILON as f64;

impl Running {
    pub fn exact(value: f64) -> Self {
        Running { value, error: 0.0 }
    }

    pub fn times(self, other: Running) -> Running {
        let value = self.value * other.value;
        let error = self.value.abs() * other.error
            + other.value.abs() * self.error
            + self.error * other.error
            + EPSILON * value.abs();
        Running { value, error }
    }

    pub fn minus(self, other: f64) -> Running {
        let value = self.value - other;
        let error = self.error + EPSILON * (value.abs() + self.error);
        Running { value, error }
    }

    /// Whether a number in single precision is within the bound.
    pub fn allows(self, got: f32) -> bool {
        // Next to zero, digits are lost whatever was summed.
        (f64::from(got) - self.value).abs() <= self.error + f64::from(f32::MIN_POSITIVE)
    }
}

/// A sum in any order: it loses at most a round-off for each summand of the sum of their sizes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    value: f64,
    error: f64,
    size: f64,
    count: f64,
}

impl Sum {
    pub fn add(&mut self, summand: Running) {
        self.value += summand.value;
        self.error += summand.error;
        self.size += summand.value.abs() + summand.error;
        self.count += 1.0;
    }

    pub fn total(self) -> Running {
        Running {
            value: self.value,
            error: self.error + self.count * EPSILON * self.size,
        }
    }
}

/// Gates of one layer for one batch, z\[row\]\[input\]\[output\], and their derivatives by log α.
type Gates = Vec<(f64, f64)>;

pub(super) struct Reference<'a> {
    architecture: &'a Architecture,
    rows: usize,
    gates: Vec<Gates>,
}

/// Value and slope of an activation. All have slopes, and slopes of slopes, of at most 1; what is left is the round-off of the functions themselves.
fn activation(kind: Activation, x: Running) -> (Running, Running) {
    let Running { value: x, error } = x;
    let (value, slope) = match kind {
        Activation::Elu => (if x > 0.0 { x } else { x.exp_m1() }, x.min(0.0).exp()),
        Activation::Relu => (x.max(0.0), f64::from(x > 0.0)),
        Activation::Tanh => (x.tanh(), 1.0 - x.tanh().powi(2)),
        Activation::Identity => (x, 1.0),
    };
    let own = match kind {
        Activation::Elu | Activation::Tanh => 4.0 * EPSILON,
        Activation::Relu | Activation::Identity => 0.0,
    };
    let slope_error = match kind {
        Activation::Elu | Activation::Tanh => error + own,
        // On this side of the kink or on that.
        Activation::Relu => f64::from(x.abs() < error),
        Activation::Identity => 0.0,
    };
    (
        Running {
            value,
            error: error + own * x.abs().min(1.0),
        },
        Running {
            value: slope,
            error: slope_error,
        },
    )
}

/// Value and slope of each unit in each row, column after column.
pub(super) type Activations = Vec<Vec<(Running, Running)>>;

impl<'a> Reference<'a> {
    pub fn new(
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

    /// Activations of every layer; x and activations stand column after column.
    pub fn forward(&self, parameters: &[f64], x: &[f64]) -> Activations {
        let one = Running::exact(1.0);
        let mut activations: Activations =
            vec![x.iter().map(|&x| (Running::exact(x), one)).collect()];
        for (index, layer) in self.architecture.layers().iter().enumerate() {
            let (w, b) = (
                &parameters[self.architecture.weights(index)],
                &parameters[self.architecture.biases(index)],
            );
            let input = &activations[index];
            let output = (0..layer.outputs * self.rows).map(|k| {
                let (o, row) = (k / self.rows, k % self.rows);
                let mut sum = Sum::default();
                for i in 0..layer.inputs {
                    let k = i * layer.outputs + o;
                    let (z, _) = self.gates[index][row * layer.inputs * layer.outputs + k];
                    let weight = Running::exact(w[k]).times(Running::exact(z));
                    sum.add(input[i * self.rows + row].0.times(weight));
                }
                sum.add(Running::exact(b.get(o).copied().unwrap_or(0.0)));
                activation(layer.activation, sum.total())
            });
            let output = output.collect();
            activations.push(output);
        }
        activations
    }

    /// Gradient by all parameters and by the inputs for a given gradient by the outputs.
    pub fn backward(
        &self,
        parameters: &[f64],
        activations: &Activations,
        d_output: Vec<Running>,
    ) -> (Vec<Running>, Vec<Running>) {
        let mut gradient = vec![Sum::default(); parameters.len()];
        let mut d = d_output;
        for (index, layer) in self.architecture.layers().iter().enumerate().rev() {
            let (input, output) = (&activations[index], &activations[index + 1]);
            let (w, b, a) = (
                self.architecture.weights(index),
                self.architecture.biases(index),
                self.architecture.log_alphas(index),
            );
            let mut d_input = vec![Sum::default(); layer.inputs * self.rows];
            for o in 0..layer.outputs {
                for row in 0..self.rows {
                    let d = d[o * self.rows + row].times(output[o * self.rows + row].1);
                    if layer.bias {
                        gradient[b.start + o].add(d);
                    }
                    for i in 0..layer.inputs {
                        let k = i * layer.outputs + o;
                        let (z, slope) = self.gates[index][row * layer.inputs * layer.outputs + k];
                        let [z, slope] = [z, slope].map(Running::exact);
                        let weight = Running::exact(parameters[w.start + k]);
                        let dx = d.times(input[i * self.rows + row].0);
                        gradient[w.start + k].add(dx.times(z));
                        d_input[i * self.rows + row].add(d.times(z).times(weight));
                        if let Gating::Gated(spec) = layer.gating {
                            let which = if spec.per == Per::Unit { i } else { k };
                            gradient[a.start + which].add(dx.times(weight).times(slope));
                        }
                    }
                }
            }
            d = d_input.into_iter().map(Sum::total).collect();
        }
        (gradient.into_iter().map(Sum::total).collect(), d)
    }
}
