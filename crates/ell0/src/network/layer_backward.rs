//! Backward through one layer, without its closed units.

use faer::{MatMut, MatRef};

use super::{
    Dense, Gating,
    layer_pass::{LayerPass, Mode, is_per_weight, multiply},
};
use crate::simd;

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

    /// Scatters the gradient by the effective weights to that by the weights, which is 0 elsewhere, and by log α.
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
                let mut done = 0;
                for (row, &i) in self.open.iter().enumerate() {
                    let d = &self.d_packed[row * k_out..][..k_out];
                    // Closed inputs before this one, and what the loops below leave out.
                    let until = if k_out == outputs { i } else { i + 1 };
                    weight_gradient[done * outputs..until * outputs].fill(0.0);
                    done = i + 1;
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
                weight_gradient[done * outputs..].fill(0.0);
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
