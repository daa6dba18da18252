//! Gradients through gates and prices against finite differences, in double precision.

use burn::{
    module::{Module, ModuleMapper, Param},
    nn::{Linear, PaddingConfig2d, conv::Conv2d},
    tensor::{DType, Device, Tensor, TensorData},
};
use ell0::{
    gates::Penalty,
    rng::{Generator, Stream},
};
use ell0_burn::{GateSpec, Gates, Gating, Per, draw};

#[derive(Module, Debug)]
struct Network {
    conv: Conv2d,
    hidden: Linear,
    last: Linear,
}

fn numbers<const D: usize>(shape: [usize; D], rng: &mut Generator, device: &Device) -> Tensor<D> {
    let n = shape.iter().product();
    let values: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
    Tensor::from_data(TensorData::new(values, shape), (device, DType::F64))
}

fn network(rng: &mut Generator, device: &Device) -> Network {
    let mut linear = |inputs, outputs| Linear {
        weight: Param::from_tensor(numbers([inputs, outputs], rng, device)),
        bias: Some(Param::from_tensor(numbers([outputs], rng, device))),
    };
    let (hidden, last) = (linear(12, 5), linear(5, 2));
    Network {
        conv: Conv2d {
            weight: Param::from_tensor(numbers([3, 2, 2, 2], rng, device)),
            bias: Some(Param::from_tensor(numbers([3], rng, device))),
            stride: [1, 1],
            kernel_size: [2, 2],
            dilation: [1, 1],
            groups: 1,
            padding: PaddingConfig2d::Valid,
        },
        hidden,
        last,
    }
}

impl Network {
    fn forward(&self, x: Tensor<4>) -> Tensor<2> {
        let x = self.conv.forward(x).tanh().flatten(1, 3);
        self.last.forward(self.hidden.forward(x).tanh())
    }
}

fn gating() -> Gating {
    let penalty = Penalty::expected_l0(0.02)
        .and_then(|p| p.with_weight_decay(0.3))
        .and_then(|p| p.with_prior(0.2, 0.5))
        .expect("a penalty");
    let others = Penalty::none()
        .with_l1(0.01)
        .and_then(|p| p.with_l2(0.1))
        .and_then(|p| p.with_weight_decay(0.05))
        .expect("a penalty");
    Gating::new()
        .gate(
            "conv.weight",
            GateSpec::new(Per::OUTPUT_CHANNEL).with_penalty(penalty),
        )
        .gate(
            "hidden.weight",
            GateSpec::new(Per::Element).with_penalty(penalty),
        )
        .gate(
            "last.weight",
            GateSpec::new(Per::INPUT_UNIT).with_penalty(others),
        )
        .plain("last.bias", others)
}

/// Adds `step` to element `index` of the parameter number `target`, in the order of the traversal.
struct Nudge {
    target: usize,
    index: usize,
    step: f64,
    seen: usize,
}

impl ModuleMapper for Nudge {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        self.seen += 1;
        if self.seen - 1 != self.target {
            return param;
        }
        let (index, step) = (self.index, self.step);
        param.map(|value| {
            let shape = value.shape();
            let (device, dtype) = (value.device(), value.dtype());
            let mut numbers: Vec<f64> = value.into_data().iter::<f64>().collect();
            numbers[index] += step;
            let n = numbers.len();
            Tensor::<1>::from_data(TensorData::new(numbers, [n]), (&device, dtype)).reshape(shape)
        })
    }
}

#[derive(Default)]
struct Count(Vec<usize>);

impl burn::module::ModuleVisitor for Count {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.push(param.lazy_shape().num_elements());
    }
}

struct Slopes<'a>(&'a burn::tensor::Gradients, Vec<Vec<f64>>);

impl burn::module::ModuleVisitor for Slopes<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let slope = param.val().grad(self.0).expect("a gradient");
        self.1.push(slope.into_data().iter::<f64>().collect());
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    let device = Device::flex().autodiff();
    let stream = Stream::new(11);
    let mut rng = stream.at(0);
    let gating = gating();
    let network = gating
        .attach(network(&mut rng, &device), &stream.split("log alpha"))
        .expect("gates");
    let network = draw(network, &stream.split("gates"), 3);
    let gates = network
        .hidden
        .weight
        .reparameterization::<Gates>()
        .expect("gates");
    assert_eq!(gates.log_alpha().dtype(), DType::F64);
    let x = numbers([4, 2, 3, 3], &mut rng, &device);
    let y = numbers([4, 2], &mut rng, &device);
    for network in [network.clone(), network.valid().train()] {
        let loss = |network: &Network| {
            let error = (network.forward(x.clone()) - y.clone()).square().mean();
            error + gating.penalty(network).expect("a price")
        };
        let gradients = loss(&network).backward();
        let mut slopes = Slopes(&gradients, Vec::new());
        network.visit(&mut slopes);
        let mut count = Count::default();
        network.visit(&mut count);
        // Six weights and biases, three log α.
        assert_eq!(count.0.len(), 9);
        for (target, &n) in count.0.iter().enumerate() {
            for index in 0..n {
                let at = |step: f64| {
                    let nudged = network.clone().map(&mut Nudge {
                        target,
                        index,
                        step,
                        seen: 0,
                    });
                    loss(&nudged).into_scalar::<f64>()
                };
                let h = 1e-5;
                let expected = (at(h) - at(-h)) / (2.0 * h);
                let got = slopes.1[target][index];
                // Truncation is of the order h² = 1e-10, rounding of 1e-16/h = 1e-11, both times derivatives of order 10.
                assert!(
                    (got - expected).abs() < 2e-8 * expected.abs().max(1.0),
                    "parameter {target}, element {index}: {got} instead of {expected}"
                );
            }
        }
    }
}
