//! Layers one after the other, as compaction follows them.

use burn::{
    module::{Module, Param, ParamId},
    nn::{
        Gelu, Linear, Relu, Sigmoid, Tanh,
        conv::Conv2d,
        pool::{AvgPool2d, MaxPool2d},
    },
    tensor::{Device, Int, Tensor, TensorData},
};

use crate::error::{Error, Result};

/// Layers one after the other: convolutions with pooling, then linear layers, or linear layers alone.
///
/// The way in which a network of any type tells what follows what. Cloning a layer into it costs nothing, and what [`compact`](Chain::compact) gives back can be taken apart
/// into the network's own type, whose layers are of the same types with smaller sizes. A chain is a module itself and computes what its layers compute.
#[derive(Module, Debug)]
pub struct Chain {
    stages: Vec<Stage>,
}

/// One layer of a [`Chain`].
#[derive(Module, Debug)]
pub enum Stage {
    /// A convolution; `groups` must be 1.
    Conv2d(Conv2d),
    /// A linear layer.
    Linear(Linear),
    /// The maximum over windows.
    MaxPool2d(MaxPool2d),
    /// The mean over windows.
    AvgPool2d(AvgPool2d),
    /// max(0, x).
    Relu(Relu),
    /// tanh x.
    Tanh(Tanh),
    /// σ(x).
    Sigmoid(Sigmoid),
    /// x Φ(x).
    Gelu(Gelu),
    /// Images as rows, channel by channel.
    Flatten(Flatten),
    /// Some columns of rows.
    Select(Select),
}

macro_rules! stages {
    ($($name:ident),*) => {$(
        impl From<$name> for Stage {
            fn from(stage: $name) -> Self {
                Stage::$name(stage)
            }
        }
    )*};
}
stages!(
    Conv2d, Linear, MaxPool2d, AvgPool2d, Relu, Tanh, Sigmoid, Gelu, Flatten, Select
);

/// Images \[rows, channels, height, width\] as rows \[rows, channels·height·width\].
#[derive(Module, Debug)]
pub struct Flatten {}

impl Flatten {
    /// There is only one.
    pub fn new() -> Self {
        Flatten {}
    }

    /// Images as rows.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        images.flatten(1, 3)
    }
}

impl Default for Flatten {
    fn default() -> Self {
        Flatten::new()
    }
}

/// Some columns of rows: what a linear layer still reads of what is given to it.
#[derive(Module, Debug)]
pub struct Select {
    columns: Param<Tensor<1, Int>>,
}

impl Select {
    /// These columns, in this order.
    pub fn new(columns: &[usize], device: &Device) -> Self {
        let columns: Vec<i64> = columns.iter().map(|&column| column as i64).collect();
        let n = columns.len();
        Select {
            columns: Param::initialized(
                ParamId::new(),
                Tensor::from_data(TensorData::new(columns, [n]), device),
            ),
        }
    }

    /// How many columns.
    pub fn width(&self) -> usize {
        self.columns.lazy_shape().num_elements()
    }

    /// These columns of the rows.
    pub fn forward(&self, rows: Tensor<2>) -> Tensor<2> {
        rows.select(1, self.columns.val())
    }
}

/// The size of a convolution or linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Input units or channels.
    pub inputs: usize,
    /// Output units or channels.
    pub outputs: usize,
    /// Elements of the kernel: 1 for a linear layer.
    pub taps: usize,
}

impl Size {
    /// Weights, without biases.
    pub fn weights(&self) -> usize {
        self.inputs * self.outputs * self.taps
    }
}

/// What flows between stages.
enum Flow {
    Images(Tensor<4>),
    Rows(Tensor<2>),
}

impl Stage {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Stage::Conv2d(_) => "a convolution",
            Stage::Linear(_) => "a linear layer",
            Stage::MaxPool2d(_) | Stage::AvgPool2d(_) => "pooling",
            Stage::Relu(_) | Stage::Tanh(_) | Stage::Sigmoid(_) | Stage::Gelu(_) => "an activation",
            Stage::Flatten(_) => "a flattening",
            Stage::Select(_) => "a selection of columns",
        }
    }

    /// The size, of a stage with weights.
    pub(crate) fn size(&self) -> Option<Size> {
        match self {
            Stage::Conv2d(layer) => {
                let [outputs, inputs, height, width] = layer.weight.lazy_shape().dims();
                Some(Size {
                    inputs: inputs * layer.groups,
                    outputs,
                    taps: height * width,
                })
            }
            Stage::Linear(layer) => {
                let [inputs, outputs] = layer.weight.lazy_shape().dims();
                Some(Size {
                    inputs,
                    outputs,
                    taps: 1,
                })
            }
            _ => None,
        }
    }

    /// What an activation makes of its input.
    pub(crate) fn activate<const D: usize>(&self, x: Tensor<D>) -> Option<Tensor<D>> {
        match self {
            Stage::Relu(stage) => Some(stage.forward(x)),
            Stage::Tanh(stage) => Some(stage.forward(x)),
            Stage::Sigmoid(stage) => Some(stage.forward(x)),
            Stage::Gelu(stage) => Some(stage.forward(x)),
            _ => None,
        }
    }
}

impl Chain {
    /// Checks that each stage can take what the one before gives.
    pub fn new(stages: Vec<Stage>) -> Result<Self> {
        // Whether images arrive (not known before the first stage that cares), and how many channels or columns.
        let mut images: Option<bool> = None;
        let mut width: Option<usize> = None;
        for (index, stage) in stages.iter().enumerate() {
            let fault = |expected: String| Error::Stage {
                stage: index,
                what: stage.name().into(),
                expected,
            };
            let arrives = match stage {
                Stage::Conv2d(_)
                | Stage::MaxPool2d(_)
                | Stage::AvgPool2d(_)
                | Stage::Flatten(_) => Some(true),
                Stage::Linear(_) | Stage::Select(_) => Some(false),
                _ => None,
            };
            match (images, arrives) {
                (Some(false), Some(true)) => {
                    return Err(fault("it needs images, and rows arrive".into()));
                }
                (Some(true), Some(false)) => {
                    return Err(fault(
                        "it needs rows, and images arrive: put a `Flatten` before it".into(),
                    ));
                }
                (_, Some(arrives)) => images = Some(arrives),
                (_, None) => {}
            }
            match stage {
                Stage::Conv2d(layer) if layer.groups != 1 => {
                    return Err(fault(format!(
                        "it has {} groups, and chains are followed through convolutions of one",
                        layer.groups
                    )));
                }
                Stage::Flatten(_) => images = Some(false),
                Stage::Select(select) => width = Some(select.width()),
                _ => {}
            }
            let Some(size) = stage.size() else { continue };
            let flattened = index > 0 && matches!(stages[index - 1], Stage::Flatten(_));
            let fits = match width {
                Some(channels) if flattened => size.inputs.is_multiple_of(channels),
                Some(width) => size.inputs == width,
                None => true,
            };
            if !fits {
                return Err(fault(format!(
                    "it takes {} inputs, and {} arrive{}",
                    size.inputs,
                    width.unwrap_or(0),
                    if flattened {
                        " times the size of an image"
                    } else {
                        ""
                    }
                )));
            }
            width = Some(size.outputs);
        }
        Ok(Chain { stages })
    }

    /// The stages, in order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The stages, in order.
    pub fn into_stages(self) -> Vec<Stage> {
        self.stages
    }

    /// The sizes of the convolutions and linear layers, in order.
    pub fn sizes(&self) -> Vec<Size> {
        self.stages.iter().filter_map(Stage::size).collect()
    }

    /// What the layers compute: of images (`I` = 4) or rows (`I` = 2), and likewise `O`.
    pub fn forward<const I: usize, const O: usize>(&self, input: Tensor<I>) -> Result<Tensor<O>> {
        let mut flow = match I {
            4 => Flow::Images(ranked(input)),
            2 => Flow::Rows(ranked(input)),
            _ => {
                return Err(Error::Rank {
                    what: "the input of the chain",
                    got: I,
                    expected: 4,
                });
            }
        };
        for (index, stage) in self.stages.iter().enumerate() {
            flow = match (flow, stage) {
                (Flow::Images(x), Stage::Conv2d(stage)) => Flow::Images(stage.forward(x)),
                (Flow::Images(x), Stage::MaxPool2d(stage)) => Flow::Images(stage.forward(x)),
                (Flow::Images(x), Stage::AvgPool2d(stage)) => Flow::Images(stage.forward(x)),
                (Flow::Images(x), Stage::Flatten(stage)) => Flow::Rows(stage.forward(x)),
                (Flow::Rows(x), Stage::Linear(stage)) => Flow::Rows(stage.forward(x)),
                (Flow::Rows(x), Stage::Select(stage)) => Flow::Rows(stage.forward(x)),
                (Flow::Images(x), stage) => {
                    Flow::Images(stage.activate(x).ok_or_else(|| wrong(index, stage, 4))?)
                }
                (Flow::Rows(x), stage) => {
                    Flow::Rows(stage.activate(x).ok_or_else(|| wrong(index, stage, 2))?)
                }
            };
        }
        match flow {
            Flow::Images(x) if O == 4 => Ok(ranked(x)),
            Flow::Rows(x) if O == 2 => Ok(ranked(x)),
            Flow::Images(_) => Err(result(4, O)),
            Flow::Rows(_) => Err(result(2, O)),
        }
    }
}

fn wrong(index: usize, stage: &Stage, axes: usize) -> Error {
    Error::Stage {
        stage: index,
        what: stage.name().into(),
        expected: format!("it cannot take the {axes} axes that arrive from this input"),
    }
}

fn result(got: usize, expected: usize) -> Error {
    Error::Rank {
        what: "the result of the chain",
        got,
        expected,
    }
}

/// The same tensor where the compiler does not know that the ranks agree.
fn ranked<const A: usize, const B: usize>(x: Tensor<A>) -> Tensor<B> {
    let shape = x.shape();
    x.reshape(shape)
}
