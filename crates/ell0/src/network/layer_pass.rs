//! Forward through one layer, without its closed units; the way back is in `layer_backward`.
//!
//! A gate drawn once for the batch can be moved from the activations to the weights: y = x (z ⊙ W). So a gated layer is a plain one with the
//! effective weights W̃ = z ⊙ W, packed to the open inputs and outputs; from the gradient by W̃ follow
//! ∂W = z ⊙ ∂W̃ and ∂z = Σ W ⊙ ∂W̃, far cheaper than through the activations. Gates drawn for each row multiply the activations.

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

use super::{Dense, GateSpec, Gating, Per};
use crate::simd;

/// What the gates of a layer do in the current pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
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
    pub(super) mode: Mode,
    /// Inputs with at least one gate that is not zero, in increasing order.
    pub(super) open: Vec<usize>,
    /// Gates and their derivatives by log α: one for each gate, or all rows of a gate together.
    pub(super) gates: Vec<f32>,
    pub(super) slopes: Vec<f32>,
    /// Effective weights from open inputs to open outputs, row by row, and the gradient by them.
    pub(super) packed: Vec<f32>,
    pub(super) d_packed: Vec<f32>,
    /// Inputs times gates, where gates are drawn for each row.
    pub(super) gated_input: Vec<f32>,
    /// Activations of the open outputs.
    pub(super) output: Vec<f32>,
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
    pub(super) fn is_direct(&self, layer: &Dense, open_outputs: &[usize]) -> bool {
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
}

pub(super) fn is_per_weight(layer: &Dense) -> bool {
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
pub(super) fn multiply(mut product: MatMut<f32>, a: MatRef<f32>, b: MatRef<f32>) {
    if a.ncols() == 0 {
        product.fill(0.0);
    } else {
        matmul(product, Accum::Replace, a, b, 1.0, Par::Seq);
    }
}
