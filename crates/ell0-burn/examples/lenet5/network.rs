//! LeNet-5 as Caffe has it: 20 and 50 channels of 5×5, 500 units, 10 classes.

use burn::{
    module::Module,
    nn::{
        Linear, LinearConfig, Relu,
        conv::{Conv2d, Conv2dConfig},
        pool::{MaxPool2d, MaxPool2dConfig},
    },
    tensor::{Device, Tensor},
};
use ell0::{gates::Penalty, rng::Stream};
use ell0_burn::{Chain, Flatten, GateSpec, Gating, Per, initialise};

/// An ordinary module of Burn: nothing in it knows of gates.
#[derive(Module, Debug)]
pub struct LeNet5 {
    conv1: Conv2d,
    conv2: Conv2d,
    fc1: Linear,
    fc2: Linear,
    pool: MaxPool2d,
    relu: Relu,
}

impl LeNet5 {
    pub fn new(device: &Device, stream: &Stream) -> Self {
        let network = LeNet5 {
            conv1: Conv2dConfig::new([1, 20], [5, 5]).init(device),
            conv2: Conv2dConfig::new([20, 50], [5, 5]).init(device),
            fc1: LinearConfig::new(800, 500).init(device),
            fc2: LinearConfig::new(500, 10).init(device),
            pool: MaxPool2dConfig::new([2, 2]).init(),
            relu: Relu::new(),
        };
        initialise(network, stream)
    }

    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let x = self
            .pool
            .forward(self.relu.forward(self.conv1.forward(images)));
        let x = self.pool.forward(self.relu.forward(self.conv2.forward(x)));
        let x = self.relu.forward(self.fc1.forward(x.flatten(1, 3)));
        self.fc2.forward(x)
    }

    /// What follows what, for compaction.
    pub fn chain(&self) -> ell0_burn::Result<Chain> {
        Chain::new(vec![
            self.conv1.clone().into(),
            self.relu.clone().into(),
            self.pool.clone().into(),
            self.conv2.clone().into(),
            self.relu.clone().into(),
            self.pool.clone().into(),
            Flatten::new().into(),
            self.fc1.clone().into(),
            self.relu.clone().into(),
            self.fc2.clone().into(),
        ])
    }
}

/// Gates on the channels of the convolutions and the inputs of the linear layers, as published, with λ per parameter for each layer.
pub fn gating(lambda: [f64; 4], decay: f64) -> ell0::Result<Gating> {
    let mut gating = Gating::new();
    for ((layer, per), lambda) in [
        ("conv1", Per::OUTPUT_CHANNEL),
        ("conv2", Per::OUTPUT_CHANNEL),
        ("fc1", Per::INPUT_UNIT),
        ("fc2", Per::INPUT_UNIT),
    ]
    .into_iter()
    .zip(lambda)
    {
        let penalty = Penalty::expected_l0(lambda)?.with_weight_decay(decay)?;
        gating = gating
            .gate(
                format!("{layer}.weight"),
                GateSpec::new(per).with_penalty(penalty),
            )
            .plain(
                format!("{layer}.bias"),
                Penalty::none().with_weight_decay(decay)?,
            );
    }
    Ok(gating)
}
