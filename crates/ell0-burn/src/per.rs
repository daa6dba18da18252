//! What one gate stands before.

use burn::tensor::Tensor;

/// What one gate stands before: a single element of a parameter, or a slice of it across one axis.
///
/// | parameter | shape | a gate for each |
/// | --- | --- | --- |
/// | weight of `Linear` | \[inputs, outputs\] | [`INPUT_UNIT`](Per::INPUT_UNIT) (row), [`OUTPUT_UNIT`](Per::OUTPUT_UNIT) (column) |
/// | weight of `Conv2d` | \[outputs, inputs, height, width\] | [`OUTPUT_CHANNEL`](Per::OUTPUT_CHANNEL), [`INPUT_CHANNEL`](Per::INPUT_CHANNEL) |
/// | any | any | [`Element`](Per::Element), or index along any [`Axis`](Per::Axis) |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// A gate for each element.
    Element,
    /// A gate for each index along this axis, counted from 0, with everything behind that index behind the gate.
    Axis(usize),
}

impl Per {
    /// A row of the weight of a linear layer: all that leaves an input unit.
    pub const INPUT_UNIT: Per = Per::Axis(0);
    /// A column of the weight of a linear layer: all that enters an output unit.
    pub const OUTPUT_UNIT: Per = Per::Axis(1);
    /// The filter that makes an output channel of a convolution.
    pub const OUTPUT_CHANNEL: Per = Per::Axis(0);
    /// All that an input channel of a convolution feeds.
    pub const INPUT_CHANNEL: Per = Per::Axis(1);

    /// Number of gates for a parameter of this shape, or `None` if it lacks the axis.
    pub fn gates(self, shape: &[usize]) -> Option<usize> {
        match self {
            Per::Element => Some(shape.iter().product()),
            Per::Axis(axis) => shape.get(axis).copied(),
        }
    }

    /// The vector of gates in a shape that multiplies the parameter.
    pub(crate) fn spread<const D: usize>(self, gates: Tensor<1>, shape: [usize; D]) -> Tensor<D> {
        let mut spread = shape;
        if let Per::Axis(axis) = self {
            spread = [1; D];
            spread[axis] = shape[axis];
        }
        gates.reshape(spread)
    }

    /// Sums of what stands behind each gate.
    pub(crate) fn gather<const D: usize>(self, values: Tensor<D>) -> Tensor<1> {
        let shape = values.dims();
        match self {
            Per::Element => values.reshape([shape.iter().product::<usize>()]),
            Per::Axis(axis) => {
                let others: Vec<usize> = (0..D).filter(|&other| other != axis).collect();
                values.sum_dims(&others).reshape([shape[axis]])
            }
        }
    }
}
