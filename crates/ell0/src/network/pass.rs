//! Forward and backward through a network for one batch.

use super::{
    Architecture, Gating, Loss, NoisePer, layer_backward::Backward, layer_pass::LayerPass,
};
use crate::error::{Error, Result, require_len};

/// How the gates are set in a pass.
#[derive(Clone, Copy, Debug)]
pub enum Draw<'a> {
    /// The deterministic gates of test time.
    TestTime,
    /// Gates sampled from explicit noise.
    Sampled(Noise<'a>),
}

/// Uniform noise in (0, 1) for one draw of all gates, layer after layer.
#[derive(Clone, Copy, Debug)]
pub struct Noise<'a> {
    /// For the gates drawn once a batch: [`Architecture::shared_noise_len`] numbers.
    pub shared: &'a [f32],
    /// For the gates drawn for each row: [`Architecture::row_noise_len`] numbers, all rows of a gate together.
    pub rows: &'a [f32],
}

/// Workspace of a forward and backward pass. Made once; a pass allocates nothing.
///
/// ```
/// use ell0::{network::{Activation, Draw, Mlp, MlpConfig, Pass}, rng::Stream};
/// let model = Mlp::new(&MlpConfig::new([2, 8, 1], Activation::Tanh), &Stream::new(0))?;
/// let mut pass = Pass::new(model.architecture(), 3);
/// // Three rows; the first column, then the second.
/// let y = pass.forward(model.parameters(), &[0.1, 0.2, 0.3, 1.0, 1.0, 1.0], Draw::TestTime)?;
/// assert_eq!(y.len(), 3);
/// pass.d_output_mut().fill(1.0);
/// let mut gradient = vec![0.0; model.parameters().len()];
/// pass.backward(model.parameters(), &mut gradient, None)?;
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pass {
    architecture: Architecture,
    capacity: usize,
    /// Rows of the last forward pass; 0 before it, and after one that failed.
    rows: usize,
    layers: Vec<LayerPass>,
    input: Vec<f32>,
    every_output: Vec<usize>,
    d: Vec<f32>,
    d_next: Vec<f32>,
}

impl Pass {
    /// A workspace for batches of at most `capacity` rows.
    pub fn new(architecture: &Architecture, capacity: usize) -> Self {
        let layers = architecture
            .layers()
            .iter()
            .map(|layer| LayerPass::new(layer, capacity))
            .collect();
        let width = capacity * architecture.widest();
        Pass {
            architecture: architecture.clone(),
            capacity,
            rows: 0,
            layers,
            input: vec![0.0; capacity * architecture.inputs()],
            every_output: (0..architecture.outputs()).collect(),
            d: vec![0.0; width],
            d_next: vec![0.0; width],
        }
    }

    /// Most rows a batch may have.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The predictions for `x`, which holds column after column; so do the predictions.
    pub fn forward(&mut self, parameters: &[f32], x: &[f32], draw: Draw) -> Result<&[f32]> {
        self.rows = 0;
        let inputs = self.architecture.inputs();
        let rows = x.len() / inputs;
        require_len("values of the batch", x.len(), rows * inputs)?;
        // Closed inputs are left out, as closed hidden units are.
        self.forward_open(parameters, rows, draw, |open, input| {
            for (column, &unit) in input.chunks_exact_mut(rows).zip(open) {
                column.copy_from_slice(&x[unit * rows..][..rows]);
            }
            Ok(())
        })
    }

    /// The same for a batch that is made on demand: once the gates are drawn, `fill` is told which inputs are open and writes the columns of these, one after the other.
    pub fn forward_open<E: From<Error>>(
        &mut self,
        parameters: &[f32],
        rows: usize,
        draw: Draw,
        fill: impl FnOnce(&[usize], &mut [f32]) -> Result<(), E>,
    ) -> Result<&[f32], E> {
        self.rows = 0;
        let architecture = &self.architecture;
        require_len("parameters", parameters.len(), architecture.parameter_len())?;
        if rows == 0 {
            return Err(Error::Empty { what: "batch" }.into());
        }
        if rows > self.capacity {
            let expected = format!("this workspace holds at most {}", self.capacity);
            return Err(Error::parameter("rows of the batch", rows, expected).into());
        }
        self.draw_gates(parameters, draw, rows)?;
        let architecture = &self.architecture;

        let open = self.layers[0].open();
        fill(open, &mut self.input[..rows * open.len()])?;
        for index in 0..self.layers.len() {
            let (before, rest) = self.layers.split_at_mut(index);
            let (layer, after) = rest.split_first_mut().expect("index is in range");
            let input = before.last().map_or(&self.input[..], LayerPass::output);
            let open_outputs = after
                .first()
                .map_or(&self.every_output[..], LayerPass::open);
            layer.forward(
                &architecture.layers()[index],
                &parameters[architecture.weights(index)],
                &parameters[architecture.biases(index)],
                input,
                open_outputs,
                rows,
            );
        }
        self.rows = rows;
        Ok(self.output())
    }

    /// Draws the gates of all layers first: which units of a layer are needed is decided by the gates of the next.
    fn draw_gates(&mut self, parameters: &[f32], draw: Draw, rows: usize) -> Result<()> {
        let architecture = &self.architecture;
        if let Draw::Sampled(noise) = draw {
            require_len(
                "shared noise",
                noise.shared.len(),
                architecture.shared_noise_len(),
            )?;
            require_len(
                "row noise",
                noise.rows.len(),
                architecture.row_noise_len(rows),
            )?;
        }
        let (mut shared_used, mut rows_used) = (0, 0);
        for (index, pass) in self.layers.iter_mut().enumerate() {
            let layer = &architecture.layers()[index];
            let log_alphas = &parameters[architecture.log_alphas(index)];
            match (draw, layer.gating) {
                (_, Gating::Plain) => {}
                (Draw::TestTime, Gating::Gated(spec)) => {
                    pass.set_test_time(layer, spec, log_alphas)
                }
                (Draw::Sampled(noise), Gating::Gated(spec)) if spec.noise == NoisePer::Batch => {
                    let u = &noise.shared[shared_used..][..layer.gates()];
                    shared_used += u.len();
                    pass.sample_shared(layer, spec, log_alphas, u);
                }
                (Draw::Sampled(noise), Gating::Gated(spec)) => {
                    let u = &noise.rows[rows_used..][..layer.gates() * rows];
                    rows_used += u.len();
                    pass.sample_rows(layer, spec, log_alphas, u, rows);
                }
            }
        }
        Ok(())
    }

    /// The predictions of the last forward pass, column after column.
    pub fn output(&self) -> &[f32] {
        let last = &self.layers[self.layers.len() - 1];
        &last.output()[..self.rows * self.every_output.len()]
    }

    /// The gradient by the predictions, to be filled in before [`backward`](Self::backward).
    pub fn d_output_mut(&mut self) -> &mut [f32] {
        &mut self.d[..self.rows * self.every_output.len()]
    }

    /// The loss of the last forward pass over a batch of `batch` rows, of which these are a part or all; readies the backward pass.
    pub fn loss(&mut self, loss: Loss, targets: &[f32], batch: usize) -> Result<f64> {
        let outputs = self.every_output.len();
        loss.check_targets(targets, self.rows, outputs)?;
        if self.rows == 0 || batch < self.rows {
            return Err(Error::parameter(
                "batch",
                batch,
                format!("the last forward pass had {} rows", self.rows),
            ));
        }
        let last = &self.layers[self.layers.len() - 1];
        let size = self.rows * outputs;
        let (predictions, d) = (&last.output()[..size], &mut self.d[..size]);
        Ok(loss.value_and_gradient(predictions, targets, self.rows, batch as f64, d))
    }

    /// Overwrites `gradient` with the gradient by all parameters, and `d_input` with the gradient by the inputs, column after column.
    ///
    /// `parameters` must be those of the forward pass. The gradient given in [`d_output_mut`](Self::d_output_mut) is used up.
    pub fn backward(
        &mut self,
        parameters: &[f32],
        gradient: &mut [f32],
        mut d_input: Option<&mut [f32]>,
    ) -> Result<()> {
        let (rows, architecture) = (self.rows, &self.architecture);
        if rows == 0 {
            return Err(Error::Empty {
                what: "forward pass before this backward pass",
            });
        }
        require_len("parameters", parameters.len(), architecture.parameter_len())?;
        require_len("gradient", gradient.len(), architecture.parameter_len())?;
        if let Some(d_input) = &d_input {
            require_len(
                "gradient by the inputs",
                d_input.len(),
                rows * architecture.inputs(),
            )?;
        }
        let (ungated, log_alpha_gradient) =
            gradient.split_at_mut(architecture.weights_and_biases().end);
        for index in (0..self.layers.len()).rev() {
            let (before, rest) = self.layers.split_at_mut(index);
            let (layer, after) = rest.split_first_mut().expect("index is in range");
            let input = before.last().map_or(&self.input[..], LayerPass::output);
            let open_outputs = after
                .first()
                .map_or(&self.every_output[..], LayerPass::open);
            let (weights, biases) = (architecture.weights(index), architecture.biases(index));
            let log_alphas = architecture.log_alphas(index);
            let offset = architecture.weights_and_biases().end;
            let (weight_gradient, bias_gradient) =
                ungated[weights.start..biases.end].split_at_mut(weights.len());
            layer.backward(Backward {
                layer: &architecture.layers()[index],
                weights: &parameters[weights],
                input,
                open_outputs,
                rows,
                d: &mut self.d,
                d_input: &mut self.d_next,
                needs_d_input: index > 0 || d_input.is_some(),
                weight_gradient,
                bias_gradient,
                log_alpha_gradient: &mut log_alpha_gradient
                    [log_alphas.start - offset..log_alphas.end - offset],
            });
            std::mem::swap(&mut self.d, &mut self.d_next);
        }
        if let Some(d_input) = &mut d_input {
            d_input.fill(0.0);
            for (column, &unit) in self.d.chunks_exact(rows).zip(self.layers[0].open()) {
                d_input[unit * rows..][..rows].copy_from_slice(column);
            }
        }
        Ok(())
    }

    /// Overwrites `d_input` with the gradient by the inputs, column after column, and leaves the parameters alone: cheaper than [`backward`](Self::backward). Only for plain networks.
    pub fn backward_to_input(&mut self, parameters: &[f32], d_input: &mut [f32]) -> Result<()> {
        let (rows, architecture) = (self.rows, &self.architecture);
        if rows == 0 {
            return Err(Error::Empty {
                what: "forward pass before this backward pass",
            });
        }
        if let Some(layer) = architecture
            .layers()
            .iter()
            .find(|layer| layer.gating != Gating::Plain)
        {
            return Err(Error::parameter(
                "layer",
                format!("{} gates", layer.gates()),
                "only plain networks can leave their parameters alone",
            ));
        }
        require_len("parameters", parameters.len(), architecture.parameter_len())?;
        let size = rows * architecture.inputs();
        require_len("gradient by the inputs", d_input.len(), size)?;
        for index in (0..self.layers.len()).rev() {
            let (before, rest) = self.layers.split_at_mut(index);
            let (layer, after) = rest.split_first_mut().expect("index is in range");
            let input = before.last().map_or(&self.input[..], LayerPass::output);
            let open_outputs = after
                .first()
                .map_or(&self.every_output[..], LayerPass::open);
            layer.backward(Backward {
                layer: &architecture.layers()[index],
                weights: &parameters[architecture.weights(index)],
                input,
                open_outputs,
                rows,
                d: &mut self.d,
                d_input: &mut self.d_next,
                needs_d_input: true,
                weight_gradient: &mut [],
                bias_gradient: &mut [],
                log_alpha_gradient: &mut [],
            });
            std::mem::swap(&mut self.d, &mut self.d_next);
        }
        d_input.copy_from_slice(&self.d[..size]);
        Ok(())
    }

    /// Numbers of open inputs of each layer in the last forward pass.
    #[cfg(test)]
    pub(crate) fn open_units(&self) -> impl Iterator<Item = usize> + '_ {
        self.layers.iter().map(|layer| layer.open().len())
    }
}
