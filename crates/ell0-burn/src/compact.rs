//! The smaller plain network that a gated one amounts to.

use burn::{
    module::{Module, Param},
    nn::{Linear, PaddingConfig2d, conv::Conv2d},
    tensor::{DType, Device, Tensor, TensorData},
};

use crate::{
    Chain, Select, Stage,
    error::{Error, Result},
    summary::read,
};

impl Chain {
    /// The plain chain with the gates of test time folded into the weights and everything without effect removed. Outputs stay the same to round-off.
    ///
    /// - A unit or channel that nobody reads is not computed.
    /// - One that reads nothing is a constant and moves into the biases behind it, where that is exact: into a convolution that pads its input a constant other than
    ///   0 does not move, because it is no constant at the border; nor through a mean that counts the padding. It stays then, with zero weights.
    /// - Columns behind a flattening, or of the input, that nobody reads are left out by a [`Select`].
    /// - A layer of which nothing would be left keeps one unit, with zero weights: the chain then computes the constant that it amounts to.
    ///
    /// Inputs of the first layer, if it is a convolution, and outputs of the last stay as they are.
    pub fn compact(&self) -> Result<Chain> {
        let stages = self.valid().into_stages();
        if let Some(stage) = stages.iter().position(|s| matches!(s, Stage::Select(_))) {
            return Err(Error::Stage {
                stage,
                what: "a selection of columns".into(),
                expected: "the chain is a compacted one already".into(),
            });
        }
        let places: Vec<usize> = (0..stages.len())
            .filter(|&place| stages[place].size().is_some())
            .collect();
        if places.is_empty() {
            return Err(Error::NoLayer);
        }
        let mut layers = places
            .iter()
            .map(|&place| Weights::of(&stages[place]))
            .collect::<Result<Vec<_>>>()?;
        // Backwards: a unit that nobody reads is not computed.
        for index in (0..layers.len() - 1).rev() {
            let (before, after) = layers.split_at_mut(index + 1);
            let (layer, next) = (&mut before[index], &mut after[0]);
            let columns = next.inputs / layer.outputs;
            let keep = (0..layer.outputs)
                .filter(|unit| (0..columns).any(|k| next.reads(unit * columns + k)))
                .collect();
            join(layer, next, keep);
        }
        // Forwards: a unit that reads nothing is a constant.
        for index in 0..layers.len() - 1 {
            let between = &stages[places[index] + 1..places[index + 1]];
            let next_stage = &stages[places[index + 1]];
            let (before, after) = layers.split_at_mut(index + 1);
            let (layer, next) = (&mut before[index], &mut after[0]);
            let columns = next.inputs / layer.outputs;
            let mut keep = Vec::new();
            for unit in 0..layer.outputs {
                let constant = if layer.reads_nothing(unit) {
                    layer.constant(unit, between, next_stage)?
                } else {
                    None
                };
                // The last unit stays if all others went.
                match constant {
                    Some(value) if !(keep.is_empty() && unit + 1 == layer.outputs) => {
                        for column in unit * columns..(unit + 1) * columns {
                            next.absorb(column, value);
                        }
                    }
                    _ => keep.push(unit),
                }
            }
            join(layer, next, keep);
        }
        // Written out, with selections of columns where they save something.
        let mut compacted = Vec::new();
        let mut layers = layers.into_iter();
        for (place, stage) in stages.iter().enumerate() {
            if stage.size().is_none() {
                compacted.push(stage.clone());
                continue;
            }
            let Some(mut layer) = layers.next() else {
                break;
            };
            // Columns that no unit of a layer before stands for: those of the input, and those of an image.
            let first = place == places[0];
            let flattened = place > 0 && matches!(stages[place - 1], Stage::Flatten(_));
            if matches!(stage, Stage::Linear(_)) && (first || flattened) {
                let mut read: Vec<usize> = (0..layer.inputs).filter(|&i| layer.reads(i)).collect();
                if read.is_empty() {
                    read.push(0);
                }
                if read.len() < layer.inputs {
                    compacted.push(Select::new(&read, &layer.device).into());
                    layer.keep_inputs(&read);
                }
            }
            compacted.push(layer.stage(stage));
        }
        Chain::new(compacted)
    }
}

/// Leaves these units of a layer and their columns of the next; one at least.
fn join(layer: &mut Weights, next: &mut Weights, mut keep: Vec<usize>) {
    if keep.is_empty() {
        keep.push(0);
    }
    let columns = next.inputs / layer.outputs;
    let read: Vec<usize> = keep
        .iter()
        .flat_map(|unit| unit * columns..(unit + 1) * columns)
        .collect();
    layer.keep_outputs(&keep);
    next.keep_inputs(&read);
}

/// The effective weights of a layer in double precision: `weights[(output·inputs + input)·taps + tap]`.
struct Weights {
    weights: Vec<f64>,
    biases: Vec<f64>,
    inputs: usize,
    outputs: usize,
    taps: usize,
    dtype: DType,
    device: Device,
}

impl Weights {
    fn of(stage: &Stage) -> Result<Self> {
        let (weights, biases, dtype, device, size) = match stage {
            Stage::Conv2d(Conv2d { weight, bias, .. }) => {
                let weight = weight.val();
                let (dtype, device) = (weight.dtype(), weight.device());
                (read("weights", weight)?, bias, dtype, device, stage.size())
            }
            Stage::Linear(Linear { weight, bias }) => {
                let weight = weight.val();
                let (dtype, device) = (weight.dtype(), weight.device());
                let transposed = read("weights", weight.transpose())?;
                (transposed, bias, dtype, device, stage.size())
            }
            _ => return Err(Error::NoLayer),
        };
        let size = size.ok_or(Error::NoLayer)?;
        Ok(Weights {
            weights,
            biases: match biases {
                Some(bias) => read("biases", bias.val())?,
                None => vec![0.0; size.outputs],
            },
            inputs: size.inputs,
            outputs: size.outputs,
            taps: size.taps,
            dtype,
            device,
        })
    }

    fn taps(&self, output: usize, input: usize) -> &[f64] {
        &self.weights[(output * self.inputs + input) * self.taps..][..self.taps]
    }

    fn reads(&self, input: usize) -> bool {
        (0..self.outputs).any(|o| self.taps(o, input).iter().any(|&w| w != 0.0))
    }

    fn reads_nothing(&self, output: usize) -> bool {
        (0..self.inputs).all(|i| self.taps(output, i).iter().all(|&w| w == 0.0))
    }

    /// Moves a constant input into the biases.
    fn absorb(&mut self, input: usize, value: f64) {
        for output in 0..self.outputs {
            let weight: f64 = self.taps(output, input).iter().sum();
            self.biases[output] += weight * value;
        }
    }

    fn keep_outputs(&mut self, keep: &[usize]) {
        let row = self.inputs * self.taps;
        self.weights = keep
            .iter()
            .flat_map(|&o| self.weights[o * row..][..row].iter().copied())
            .collect();
        self.biases = keep.iter().map(|&o| self.biases[o]).collect();
        self.outputs = keep.len();
    }

    fn keep_inputs(&mut self, keep: &[usize]) {
        self.weights = (0..self.outputs)
            .flat_map(|o| keep.iter().map(move |&i| (o, i)))
            .flat_map(|(o, i)| self.taps(o, i).iter().copied())
            .collect();
        self.inputs = keep.len();
    }

    /// What a unit that reads nothing hands to the next layer, if it is one number that this layer can absorb.
    fn constant(&self, unit: usize, between: &[Stage], next: &Stage) -> Result<Option<f64>> {
        let mut value = self.biases[unit];
        for stage in between {
            match stage {
                // A window holds at least one element that is not padding, and the padding is below all numbers.
                Stage::MaxPool2d(_) | Stage::Flatten(_) => {}
                Stage::AvgPool2d(pool) => {
                    let padded = !unpadded(&pool.padding) || pool.ceil_mode;
                    if padded && pool.count_include_pad && value != 0.0 {
                        return Ok(None);
                    }
                }
                _ => {
                    // By the very function that the network would apply, in its precision.
                    let x = Tensor::<1>::from_data(
                        TensorData::new(vec![value], [1]),
                        (&self.device, self.dtype),
                    );
                    match stage.activate(x) {
                        Some(y) => value = read("an activation", y)?[0],
                        None => return Ok(None),
                    }
                }
            }
        }
        Ok(match next {
            Stage::Conv2d(layer) if !unpadded(&layer.padding) && value != 0.0 => None,
            _ => Some(value),
        })
    }

    /// The layer as a plain module, otherwise like the original.
    fn stage(&self, original: &Stage) -> Stage {
        let options = (&self.device, self.dtype);
        // A constant may have moved into biases that were not there.
        let bias = |had: bool| {
            (had || self.biases.iter().any(|&b| b != 0.0)).then(|| {
                Param::from_tensor(Tensor::from_data(
                    TensorData::new(self.biases.clone(), [self.outputs]),
                    options,
                ))
            })
        };
        let data = || TensorData::new(self.weights.clone(), [self.weights.len()]);
        let flat = Tensor::<1>::from_data(data(), options);
        match original {
            Stage::Conv2d(layer) => {
                let [height, width] = layer.kernel_size;
                Stage::Conv2d(Conv2d {
                    weight: Param::from_tensor(flat.reshape([
                        self.outputs,
                        self.inputs,
                        height,
                        width,
                    ])),
                    bias: bias(layer.bias.is_some()),
                    ..layer.clone()
                })
            }
            Stage::Linear(layer) => {
                let mut rows = vec![0.0; self.weights.len()];
                for i in 0..self.inputs {
                    for o in 0..self.outputs {
                        rows[i * self.outputs + o] = self.weights[o * self.inputs + i];
                    }
                }
                let shape = [self.inputs, self.outputs];
                Stage::Linear(Linear {
                    weight: Param::from_tensor(Tensor::from_data(
                        TensorData::new(rows, shape),
                        options,
                    )),
                    bias: bias(layer.bias.is_some()),
                })
            }
            other => other.clone(),
        }
    }
}

fn unpadded(padding: &PaddingConfig2d) -> bool {
    matches!(
        padding,
        PaddingConfig2d::Valid | PaddingConfig2d::Explicit(0, 0, 0, 0)
    )
}
