//! What Burn 0.22 does where one might expect otherwise, each in the smallest program that shows it. The crate works around these; where an upgrade of Burn makes one of
//! these tests fail, the way around may no longer be needed.

use burn::{
    module::{Module, ModuleVisitor, Param},
    nn::{Initializer, Linear, LinearConfig},
    tensor::{DType, Device, Tensor},
};
use ell0::rng::Stream;
use ell0_burn::{GateSpec, Gates, Gating, Per};

#[derive(Module, Debug)]
struct Two {
    first: Linear,
    second: Linear,
}

fn two() -> Two {
    let device = Device::flex().autodiff();
    let ones = LinearConfig::new(3, 3).with_initializer(Initializer::Ones);
    Two {
        first: ones.init(&device),
        second: ones.init(&device),
    }
}

fn gated() -> Two {
    Gating::new()
        .gate("first.weight", GateSpec::new(Per::INPUT_UNIT))
        .attach(two(), &Stream::new(0))
        .expect("gates")
}

/// Random numbers: the seed is the device's and shared by the process, and weights are drawn when they are first looked at. So the order in which parameters are touched
/// decides what they are. The way around: `ell0_burn::initialise`. (The only test here that draws from that state.)
#[test]
fn the_order_in_which_weights_are_touched_decides_what_they_are() {
    let device = Device::flex();
    let weights = |second_first: bool| {
        device.seed(1);
        let first = LinearConfig::new(3, 3).init(&device);
        let second = LinearConfig::new(3, 3).init(&device);
        if second_first {
            let _ = second.weight.val();
        }
        first.weight.val().into_data()
    };
    assert_ne!(weights(false), weights(true));
}

/// Traversal: a visitor is given the parameter without its reparameterisation and then the tensors of that, but never the thing itself with what it holds besides
/// tensors. So prices need to be told of the distribution and the grouping again: `Gating`.
#[test]
fn a_visitor_sees_tensors_of_a_reparameterisation_but_not_itself() {
    #[derive(Default)]
    struct Look {
        gates: usize,
        tensors: usize,
    }
    impl ModuleVisitor for Look {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.tensors += 1;
            self.gates += usize::from(param.reparameterization::<Gates>().is_some());
        }
    }
    let two = gated();
    assert!(two.first.weight.reparameterization::<Gates>().is_some());
    let mut look = Look::default();
    two.visit(&mut look);
    assert_eq!((look.tensors, look.gates), (5, 0));
}

/// Materialisation: a parameter stands for its stored value wherever it is used as a tensor; only `val()` has the gates in it, and what maps a single parameter
/// drops them without a word.
#[test]
fn a_parameter_used_as_a_tensor_has_no_gates() {
    let two = gated();
    let sum = |x: Tensor<2>| x.sum().into_scalar::<f32>();
    assert_eq!(sum((*two.first.weight).clone()), 9.0);
    assert_eq!(sum(two.first.weight.clone().into_value()), 9.0);
    // σ(0)·1.2 − 0.1 = ½, but for the noise of log α.
    assert!((sum(two.first.weight.val()) - 4.5).abs() < 0.1);
    let mapped = two.first.weight.map(|w| w);
    assert!(mapped.reparameterization::<Gates>().is_none());
}

/// A second reparameterisation of a parameter vanishes without a word: the first is put back over it. `Gating::attach` refuses instead.
#[test]
fn a_second_reparameterisation_vanishes() {
    struct Again;
    #[derive(Module, Debug)]
    struct Nothing {
        kept: Param<Tensor<1>>,
    }
    impl burn::module::Reparameterization for Nothing {
        const NAME: &'static str = "nothing";
        fn apply<const D: usize>(&self, base: Tensor<D>) -> Tensor<D> {
            base
        }
    }
    impl burn::module::Reparameterizer for Again {
        type Reparam = Nothing;
        fn reparameterize<const D: usize>(
            &mut self,
            path: &str,
            param: Param<Tensor<D>>,
        ) -> (Param<Tensor<D>>, Option<Nothing>) {
            let kept = Param::from_tensor(Tensor::zeros([1], &param.lazy_device()));
            (param, (path == "first.weight").then_some(Nothing { kept }))
        }
    }
    let two = gated().apply_reparameterization(Again);
    assert!(two.first.weight.reparameterization::<Nothing>().is_none());
    assert!(two.first.weight.reparameterization::<Gates>().is_some());
}

/// Precision: the gradient through a division by a number is rounded to single precision whatever the tensor's. The way around: multiply.
#[test]
fn a_gradient_through_a_division_is_single_precision() {
    let device = Device::flex().autodiff();
    let slope = |f: fn(Tensor<1>) -> Tensor<1>| {
        let x = Tensor::<1>::ones([1], (&device, DType::F64)).require_grad();
        let gradients = f(x.clone()).backward();
        x.grad(&gradients).expect("a gradient").into_scalar::<f64>()
    };
    let error = |slope: f64| (slope * 1.3 - 1.0).abs();
    assert!(error(slope(|x| x / 1.3)) > 1e-9);
    assert!(error(slope(|x| x * (1.0 / 1.3))) < 1e-15);
}
