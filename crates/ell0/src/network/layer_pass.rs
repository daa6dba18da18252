//! Forward and backward through one layer, without its closed units.
//!
//! A gate drawn once for the batch can be moved from the activations to the weights: y = x (z ⊙ W). So a gated layer is a plain one with the
//! effective weights W̃ = z ⊙ W, packed to the open inputs and outputs; from the gradient by W̃ follow
//! ∂W = z ⊙ ∂W̃ and ∂z = Σ W ⊙ ∂W̃, far cheaper than through the activations. Gates drawn for each row multiply the activations.

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

use super::{Dense, GateSpec, Gating, Per};
use crate::simd;

/// What the gates of a layer do in the current pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// No gates, or gates that are the same for all rows: they act on the weights.
    Weights,
    /// A gate for each unit and row.
    UnitRows,
    /// A gate for each weight and row.
    WeightRows,
}

/// Workspace of one layer.
#[derive(Clone, Debug)]
pub(super) struct LayerPass {
    mode: Mode,
    /// Inputs with at least one gate that is not zero, in increasing order.
    open: Vec<usize>,
    /// Gates and their derivatives by log α: one for each gate, or all rows of a gate together.
    gates: Vec<f32>,
    slopes: Vec<f32>,
    /// Effective weights from open inputs to open outputs, row by row, and the gradient by them.
    packed: Vec<f32>,
    d_packed: Vec<f32>,
    /// Inputs times gates, where gates are drawn for each row.
    gated_input: Vec<f32>,
    /// Activations of the open outputs.
    output: Vec<f32>,
}

/// What the backward pass of a layer reads and writes.
pub(super) struct Backward<'a> {
    pub layer: &'a Dense,
    pub weights: &'a [f32],
    pub input: &'a [f32],
    pub open_outputs: &'a [usize],
    pub rows: usize,
    /// Gradient by the outputs; becomes that by the pre-activations.
    pub d: &'a mut [f32],
    /// Gradient by the open inputs.
    pub d_input: &'a mut [f32],
    pub needs_d_input: bool,
    pub weight_gradient: &'a mut [f32],
    pub bias_gradient: &'a mut [f32],
    pub log_alpha_gradient: &'a mut [f32],
}

impl LayerPass {
    pub fn new(layer: &Dense, capacity: usize) -> Self {
        let weights = layer.inputs * layer.outputs;
        let per_row =
            matches!(layer.gating, Gating::Gated(spec) if spec.noise == super::NoisePer::Row);
        let gate_values = layer.gates() * if per_row { capacity } else { 1 };
        LayerPass {
            mode: Mode::Weights,
            open: (0..layer.inputs).collect(),
            gates: vec![1.0; gate_values],
            slopes: vec![0.0; gate_values],
            packed: vec![0.0; weights],
            d_packed: vec![0.0; weights],
            gated_input: vec![0.0; if per_row { layer.inputs * capacity } else { 0 }],
            output: vec![0.0; layer.outputs * capacity],
        }
    }

    pub fn open(&self) -> &[usize] {
        &self.open
    }

    pub fn output(&self) -> &[f32] {
        &self.output
    }

    pub fn set_test_time(&mut self, layer: &Dense, spec: GateSpec, log_alphas: &[f32]) {
        let n = log_alphas.len();
        spec.distribution
            .test_slices(log_alphas, &mut self.gates[..n], &mut self.slopes[..n]);
        self.mode = Mode::Weights;
        self.find_open(layer, spec, 1);
    }

    pub fn sample_shared(&mut self, layer: &Dense, spec: GateSpec, log_alphas: &[f32], u: &[f32]) {
        let n = log_alphas.len();
        spec.distribution
            .sample_slices(log_alphas, u, &mut self.gates[..n], &mut self.slopes[..n]);
        self.mode = Mode::Weights;
        self.find_open(layer, spec, 1);
    }

    pub fn sample_rows(
        &mut self,
        layer: &Dense,
        spec: GateSpec,
        log_alphas: &[f32],
        u: &[f32],
        rows: usize,
    ) {
        for (gate, &log_alpha) in log_alphas.iter().enumerate() {
            let range = gate * rows..(gate + 1) * rows;
            spec.distribution.sample_rows(
                log_alpha,
                &u[range.clone()],
                &mut self.gates[range.clone()],
                &mut self.slopes[range],
            );
        }
        self.mode = match spec.per {
            Per::Unit => Mode::UnitRows,
            Per::Weight => Mode::WeightRows,
        };
        self.find_open(layer, spec, rows);
    }

    /// An input is open if any of its gates, in any row, is not zero.
    fn find_open(&mut self, layer: &Dense, spec: GateSpec, rows: usize) {
        let per_input = match spec.per {
            Per::Unit => rows,
            Per::Weight => rows * layer.outputs,
        };
        self.open.clear();
        let gates = &self.gates;
        self.open.extend((0..layer.inputs).filter(|i| {
            gates[i * per_input..][..per_input]
                .iter()
                .any(|&z| z != 0.0)
        }));
    }

    /// A plain layer between layers of which every unit is open needs no copy of its weights.
    fn is_direct(&self, layer: &Dense, open_outputs: &[usize]) -> bool {
        layer.gating == Gating::Plain && open_outputs.len() == layer.outputs
    }

    pub fn forward(
        &mut self,
        layer: &Dense,
        weights: &[f32],
        biases: &[f32],
        input: &[f32],
        open_outputs: &[usize],
        rows: usize,
    ) {
        let (k_in, k_out) = (self.open.len(), open_outputs.len());
        if self.mode == Mode::WeightRows {
            self.forward_weight_rows(layer, weights, input, open_outputs, rows);
        } else {
            let input = if self.mode == Mode::UnitRows {
                self.scale_input(input, rows);
                &self.gated_input
            } else {
                input
            };
            let effective = if self.is_direct(layer, open_outputs) {
                weights
            } else {
                pack(
                    &mut self.packed,
                    &self.gates,
                    self.mode,
                    &self.open,
                    layer,
                    weights,
                    open_outputs,
                );
                &self.packed
            };
            multiply(
                MatMut::from_column_major_slice_mut(&mut self.output[..rows * k_out], rows, k_out),
                MatRef::from_column_major_slice(&input[..rows * k_in], rows, k_in),
                MatRef::from_row_major_slice(&effective[..k_in * k_out], k_in, k_out),
            );
        }
        layer.activation.forward(
            &mut self.output[..rows * k_out],
            rows,
            open_outputs
                .iter()
                .map(|&o| biases.get(o).copied().unwrap_or(0.0)),
        );
    }

    /// gated_input ← input ⊙ gates, for the open inputs.
    fn scale_input(&mut self, input: &[f32], rows: usize) {
        simd::vectorised(
            #[inline(always)]
            || {
                for (column, &unit) in self.open.iter().enumerate() {
                    let range = column * rows..(column + 1) * rows;
                    let gates = &self.gates[unit * rows..][..rows];
                    for ((scaled, &x), &z) in self.gated_input[range.clone()]
                        .iter_mut()
                        .zip(&input[range])
                        .zip(gates)
                    {
                        *scaled = x * z;
                    }
                }
            },
        );
    }

    /// Every row has its own effective weights, so there is no matrix product to use: y_o = Σ_i w_io x_i ⊙ z_io.
    fn forward_weight_rows(
        &mut self,
        layer: &Dense,
        weights: &[f32],
        input: &[f32],
        open_outputs: &[usize],
        rows: usize,
    ) {
        simd::vectorised(
            #[inline(always)]
            || {
                for (column, &o) in open_outputs.iter().enumerate() {
                    let output = &mut self.output[column * rows..][..rows];
                    output.fill(0.0);
                    for (x, &i) in input.chunks_exact(rows).zip(&self.open) {
                        let index = i * layer.outputs + o;
                        let (w, gates) = (weights[index], &self.gates[index * rows..][..rows]);
                        for ((y, &x), &z) in output.iter_mut().zip(x).zip(gates) {
                            *y = (w * x).mul_add(z, *y);
                        }
                    }
                }
            },
        );
    }

    pub fn backward(&mut self, step: Backward) {
        let Backward {
            layer,
            open_outputs,
            rows,
            ..
        } = step;
        let (k_in, k_out) = (self.open.len(), open_outputs.len());
        if k_out < layer.outputs {
            step.bias_gradient.fill(0.0);
        }
        let bias_gradient = step.bias_gradient;
        layer.activation.backward(
            &self.output[..rows * k_out],
            &mut step.d[..rows * k_out],
            rows,
            |column, sum| {
                if let Some(gradient) = bias_gradient.get_mut(open_outputs[column]) {
                    *gradient = sum;
                }
            },
        );
        if self.mode == Mode::WeightRows {
            return self.backward_weight_rows(Backward {
                bias_gradient,
                ..step
            });
        }

        let input = if self.mode == Mode::UnitRows {
            &self.gated_input
        } else {
            step.input
        };
        let direct = self.is_direct(layer, open_outputs);
        let d = MatRef::from_column_major_slice(&step.d[..rows * k_out], rows, k_out);
        let d_effective: &mut [f32] = if direct {
            step.weight_gradient
        } else {
            &mut self.d_packed
        };
        // Without room for it, the gradient by the weights is not wanted.
        if !(direct && d_effective.is_empty()) {
            multiply(
                MatMut::from_row_major_slice_mut(&mut d_effective[..k_in * k_out], k_in, k_out),
                MatRef::from_column_major_slice(&input[..rows * k_in], rows, k_in).transpose(),
                d,
            );
        }
        if step.needs_d_input || self.mode == Mode::UnitRows {
            let effective = if direct { step.weights } else { &self.packed };
            multiply(
                MatMut::from_column_major_slice_mut(&mut step.d_input[..rows * k_in], rows, k_in),
                d,
                MatRef::from_row_major_slice(&effective[..k_in * k_out], k_in, k_out).transpose(),
            );
        }
        if direct {
            return;
        }
        step.weight_gradient.fill(0.0);
        step.log_alpha_gradient.fill(0.0);
        if self.mode == Mode::UnitRows {
            self.gate_gradient_rows(step.input, step.d_input, rows, step.log_alpha_gradient);
        }
        self.unpack_gradient(
            layer,
            step.weights,
            open_outputs,
            step.weight_gradient,
            step.log_alpha_gradient,
        );
    }

    /// Scatters the gradient by the effective weights to that by the weights and by log α.
    fn unpack_gradient(
        &self,
        layer: &Dense,
        weights: &[f32],
        open_outputs: &[usize],
        weight_gradient: &mut [f32],
        log_alpha_gradient: &mut [f32],
    ) {
        let (outputs, k_out) = (layer.outputs, open_outputs.len());
        let per_weight = is_per_weight(layer);
        let gated = self.mode == Mode::Weights && layer.gating != Gating::Plain;
        simd::vectorised(
            #[inline(always)]
            || {
                for (row, &i) in self.open.iter().enumerate() {
                    let d = &self.d_packed[row * k_out..][..k_out];
                    let target = &mut weight_gradient[i * outputs..][..outputs];
                    if gated && per_weight {
                        let at = i * outputs;
                        for (&d, &o) in d.iter().zip(open_outputs) {
                            target[o] = self.gates[at + o] * d;
                            log_alpha_gradient[at + o] = weights[at + o] * d * self.slopes[at + o];
                        }
                        continue;
                    }
                    let gate = if gated { self.gates[i] } else { 1.0 };
                    if k_out == outputs {
                        for (target, &d) in target.iter_mut().zip(d) {
                            *target = gate * d;
                        }
                    } else {
                        for (&d, &o) in d.iter().zip(open_outputs) {
                            target[o] = gate * d;
                        }
                    }
                    // ∂z = Σ W ∂W̃ = Σ W̃ ∂W̃ / z; the packed rows are contiguous.
                    if gated && self.slopes[i] != 0.0 {
                        let packed = &self.packed[row * k_out..][..k_out];
                        log_alpha_gradient[i] = simd::dot(packed, d) / gate * self.slopes[i];
                    }
                }
            },
        );
    }

    /// ∂log α_i = Σ_rows ∂(x z)_i x_i ∂z_i; then the gradient by x z becomes that by x.
    fn gate_gradient_rows(
        &self,
        input: &[f32],
        d_input: &mut [f32],
        rows: usize,
        log_alpha_gradient: &mut [f32],
    ) {
        simd::vectorised(
            #[inline(always)]
            || {
                for (column, &unit) in self.open.iter().enumerate() {
                    let range = column * rows..(column + 1) * rows;
                    let (d, x) = (&mut d_input[range.clone()], &input[range]);
                    let gates = &self.gates[unit * rows..][..rows];
                    let slopes = &self.slopes[unit * rows..][..rows];
                    log_alpha_gradient[unit] = simd::dot3(d, x, slopes);
                    for (d, &z) in d.iter_mut().zip(gates) {
                        *d *= z;
                    }
                }
            },
        );
    }

    fn backward_weight_rows(&mut self, step: Backward) {
        let Backward {
            layer,
            open_outputs,
            rows,
            ..
        } = step;
        step.weight_gradient.fill(0.0);
        step.log_alpha_gradient.fill(0.0);
        simd::vectorised(
            #[inline(always)]
            || {
                for (column, &i) in self.open.iter().enumerate() {
                    let range = column * rows..(column + 1) * rows;
                    let (x, d_input) = (&step.input[range.clone()], &mut step.d_input[range]);
                    d_input.fill(0.0);
                    for (d, &o) in step.d.chunks_exact(rows).zip(open_outputs) {
                        let index = i * layer.outputs + o;
                        let w = step.weights[index];
                        let gates = &self.gates[index * rows..][..rows];
                        let slopes = &self.slopes[index * rows..][..rows];
                        step.weight_gradient[index] = simd::dot3(d, x, gates);
                        step.log_alpha_gradient[index] = w * simd::dot3(d, x, slopes);
                        for ((d_input, &d), &z) in d_input.iter_mut().zip(d).zip(gates) {
                            *d_input = (w * d).mul_add(z, *d_input);
                        }
                    }
                }
            },
        );
    }
}

fn is_per_weight(layer: &Dense) -> bool {
    matches!(layer.gating, Gating::Gated(spec) if spec.per == Per::Weight)
}

/// Packs the effective weights of the open inputs and outputs.
fn pack(
    packed: &mut [f32],
    gates: &[f32],
    mode: Mode,
    open: &[usize],
    layer: &Dense,
    weights: &[f32],
    open_outputs: &[usize],
) {
    let (outputs, k_out) = (layer.outputs, open_outputs.len());
    let per_weight = is_per_weight(layer);
    let gated = mode == Mode::Weights && layer.gating != Gating::Plain;
    simd::vectorised(
        #[inline(always)]
        || {
            for (row, &i) in open.iter().enumerate() {
                let target = &mut packed[row * k_out..][..k_out];
                let source = &weights[i * outputs..][..outputs];
                if gated && per_weight {
                    let gates = &gates[i * outputs..][..outputs];
                    for (target, &o) in target.iter_mut().zip(open_outputs) {
                        *target = gates[o] * source[o];
                    }
                    continue;
                }
                let gate = if gated { gates[i] } else { 1.0 };
                if k_out == outputs {
                    for (target, &source) in target.iter_mut().zip(source) {
                        *target = gate * source;
                    }
                } else {
                    for (target, &o) in target.iter_mut().zip(open_outputs) {
                        *target = gate * source[o];
                    }
                }
            }
        },
    );
}

/// product ← a·b on this thread; parallel work is split above this level, so that the bits do not depend on the number of threads.
fn multiply(mut product: MatMut<f32>, a: MatRef<f32>, b: MatRef<f32>) {
    if a.ncols() == 0 {
        product.fill(0.0);
    } else {
        matmul(product, Accum::Replace, a, b, 1.0, Par::Seq);
    }
}
