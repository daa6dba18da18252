//! Compacted chains compute what the gated ones do.

use burn::{
    module::{Module, ModuleMapper, Param},
    nn::{
        Gelu, Linear, LinearConfig, PaddingConfig2d, Relu, Sigmoid, Tanh,
        conv::{Conv2d, Conv2dConfig},
        pool::{AvgPool2dConfig, MaxPool2dConfig},
    },
    tensor::{DType, Device, Tensor, TensorData},
};
use ell0::rng::{Generator, Stream};
use ell0_burn::{Chain, Error, Flatten, GateSpec, Gates, Gating, Per, Stage, initialise};

fn device() -> Device {
    Device::flex()
}

/// Closes each gate with this probability, and opens the others by chance.
struct Close<'a> {
    rng: &'a mut Generator,
    share: f64,
    inside: bool,
}

impl ModuleMapper for Close<'_> {
    fn enter_module(&mut self, _name: &str, container_type: &str) {
        self.inside |= container_type == "Reparameterization";
    }

    fn exit_module(&mut self, _name: &str, container_type: &str) {
        self.inside &= container_type != "Reparameterization";
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !self.inside {
            return param;
        }
        param.map(|old| {
            let shape = old.shape();
            let n = shape.num_elements();
            let values: Vec<f64> = (0..n)
                .map(|_| match self.rng.uniform() < self.share {
                    true => -5.0,
                    false => 3.0 * self.rng.uniform() - 1.5,
                })
                .collect();
            Tensor::<1>::from_data(TensorData::new(values, [n]), (&old.device(), old.dtype()))
                .reshape(shape)
        })
    }
}

/// A module in double precision.
struct Double;

impl ModuleMapper for Double {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|value| value.cast(DType::F64))
    }
}

fn noise<const D: usize>(shape: [usize; D], rng: &mut Generator, dtype: DType) -> Tensor<D> {
    let n = shape.iter().product();
    let values: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
    Tensor::from_data(TensorData::new(values, shape), (&device(), dtype))
}

fn lenet(stream: &Stream) -> Chain {
    let device = device();
    let pool = MaxPool2dConfig::new([2, 2]).init();
    let chain = Chain::new(vec![
        Conv2dConfig::new([1, 20], [5, 5]).init(&device).into(),
        Relu::new().into(),
        pool.clone().into(),
        Conv2dConfig::new([20, 50], [5, 5]).init(&device).into(),
        pool.into(),
        Relu::new().into(),
        Flatten::new().into(),
        LinearConfig::new(800, 500).init(&device).into(),
        Relu::new().into(),
        LinearConfig::new(500, 10).init(&device).into(),
    ])
    .expect("a chain");
    initialise(chain, stream)
}

/// Gates on channels and units, as published.
fn gated(chain: Chain, stream: &Stream, rng: &mut Generator, shares: f64) -> Chain {
    let mut gating = Gating::new();
    for (index, stage) in chain.stages().iter().enumerate() {
        let path = |variant: &str| format!("stages.{index}.{variant}.weight");
        match stage {
            Stage::Conv2d(_) => {
                gating = gating.gate(path("Conv2d"), GateSpec::new(Per::OUTPUT_CHANNEL))
            }
            Stage::Linear(_) => {
                gating = gating.gate(path("Linear"), GateSpec::new(Per::INPUT_UNIT))
            }
            _ => {}
        }
    }
    let chain = gating.attach(chain, stream).expect("gates");
    chain.map(&mut Close {
        rng,
        share: shares,
        inside: false,
    })
}

fn largest<const D: usize>(x: Tensor<D>) -> f64 {
    x.abs().max().into_scalar::<f64>()
}

/// The largest difference, and the largest output.
fn compare<const I: usize, const O: usize>(
    one: &Chain,
    other: &Chain,
    x: &Tensor<I>,
) -> (f64, f64) {
    let y: Tensor<O> = one.forward(x.clone()).expect("outputs");
    let z: Tensor<O> = other.forward(x.clone()).expect("outputs");
    assert_eq!(y.dims(), z.dims());
    (largest(y.clone() - z), largest(y))
}

fn no_gates(chain: &Chain) {
    for stage in chain.stages() {
        match stage {
            Stage::Conv2d(layer) => assert!(layer.weight.reparameterization::<Gates>().is_none()),
            Stage::Linear(layer) => assert!(layer.weight.reparameterization::<Gates>().is_none()),
            _ => {}
        }
    }
}

#[test]
fn compacted_lenets_equal_gated_ones() {
    let stream = Stream::new(21);
    let mut rng = stream.at(0);
    for (round, share) in [0.0, 0.2, 0.5, 0.5, 0.8, 0.9, 0.97].into_iter().enumerate() {
        let stream = stream.split(&format!("round {round}"));
        let chain = gated(lenet(&stream), &stream, &mut rng, share);
        let compacted = chain.compact().expect("a smaller chain");
        no_gates(&compacted);
        let (before, after) = (chain.sizes(), compacted.sizes());
        assert!(
            before
                .iter()
                .zip(&after)
                .all(|(b, a)| a.inputs <= b.inputs && a.outputs <= b.outputs)
        );
        if share >= 0.5 {
            let weights =
                |sizes: &[ell0_burn::Size]| sizes.iter().map(|s| s.weights()).sum::<usize>();
            assert!(weights(&after) * 2 < weights(&before));
        }
        assert_eq!(after.last().map(|size| size.outputs), Some(10));
        let x = noise([8, 1, 28, 28], &mut rng, DType::F32);
        let (difference, _) = compare::<4, 2>(&chain, &compacted, &x);
        assert!(difference < 1e-6, "{share} closed: {difference:e}");
        let double = chain.map(&mut Double);
        let compacted = double.compact().expect("a smaller chain");
        let (difference, _) = compare::<4, 2>(&double, &compacted, &x.cast(DType::F64));
        assert!(
            difference < 1e-14,
            "{share} closed, double precision: {difference:e}"
        );
    }
}

#[test]
fn units_that_are_constant_or_unread_are_gone() {
    let stream = Stream::new(5);
    let mut rng = stream.at(0);
    let chain = gated(lenet(&stream), &stream, &mut rng, 0.7);
    let compacted = chain.compact().expect("a smaller chain");
    let open = |stage: usize| -> usize {
        let z = match &chain.stages()[stage] {
            Stage::Conv2d(layer) => layer
                .weight
                .reparameterization::<Gates>()
                .map(Gates::test_gates),
            Stage::Linear(layer) => layer
                .weight
                .reparameterization::<Gates>()
                .map(Gates::test_gates),
            _ => None,
        };
        z.expect("gates")
            .into_data()
            .iter::<f64>()
            .filter(|&z| z != 0.0)
            .count()
    };
    let sizes = compacted.sizes();
    assert_eq!(sizes[0].outputs, open(0));
    assert!(sizes[1].outputs <= open(3));
    assert!(sizes[2].inputs <= open(7));
    assert_eq!(sizes[3].inputs, open(9));
    // A compacted chain is not compacted again.
    assert!(matches!(compacted.compact(), Err(Error::Stage { .. })));
}

#[test]
fn a_layer_that_is_closed_altogether_leaves_the_exact_constant() {
    let stream = Stream::new(6);
    let mut rng = stream.at(0);
    let chain = gated(lenet(&stream), &stream, &mut rng, 1.0);
    let compacted = chain.compact().expect("a smaller chain");
    assert_eq!(
        compacted
            .sizes()
            .iter()
            .map(|size| size.inputs * size.outputs)
            .collect::<Vec<_>>(),
        [1, 1, 1, 10]
    );
    let x = noise([3, 1, 28, 28], &mut rng, DType::F32);
    let (difference, largest) = compare::<4, 2>(&chain, &compacted, &x);
    assert!(difference < 1e-7 && largest > 0.0, "{difference:e}");
}

/// A chain with a given convolution and pooling in its middle, whose first channels are partly closed.
fn middle(second: Conv2d, between: Vec<Stage>, columns: usize, stream: &Stream) -> Chain {
    let device = device();
    let mut stages: Vec<Stage> = vec![Conv2dConfig::new([2, 6], [3, 3]).init(&device).into()];
    stages.extend(between);
    stages.push(second.into());
    stages.extend([
        Stage::from(Tanh::new()),
        Flatten::new().into(),
        LinearConfig::new(columns, 4).init(&device).into(),
        Gelu::new().into(),
        LinearConfig::new(4, 3).init(&device).into(),
    ]);
    initialise(Chain::new(stages).expect("a chain"), stream)
}

#[test]
fn constants_move_only_where_that_is_exact() {
    let device = device();
    let same = Conv2dConfig::new([6, 5], [3, 3]).with_padding(PaddingConfig2d::Same);
    let valid = Conv2dConfig::new([6, 5], [3, 3]);
    let max = MaxPool2dConfig::new([3, 3])
        .with_strides([1, 1])
        .with_padding(PaddingConfig2d::Same);
    let mean = AvgPool2dConfig::new([3, 3])
        .with_strides([1, 1])
        .with_padding(PaddingConfig2d::Same);
    let uncounted = mean.clone().with_count_include_pad(false);
    // Images of 8×8 are 6×6 behind the first convolution; whether a constant other than 0 can move is the last column.
    let cases: [(Conv2dConfig, Vec<Stage>, usize, bool); 7] = [
        (valid.clone(), vec![Sigmoid::new().into()], 5 * 16, true),
        (same.clone(), vec![Sigmoid::new().into()], 5 * 36, false),
        (
            valid.clone(),
            vec![Sigmoid::new().into(), max.init().into()],
            5 * 16,
            true,
        ),
        (
            valid.clone(),
            vec![max.init().into(), Tanh::new().into()],
            5 * 16,
            true,
        ),
        (
            valid.clone(),
            vec![Tanh::new().into(), mean.init().into()],
            5 * 16,
            false,
        ),
        (
            valid.clone(),
            vec![Tanh::new().into(), uncounted.init().into()],
            5 * 16,
            true,
        ),
        (
            valid
                .with_stride([2, 2])
                .with_dilation([2, 2])
                .with_bias(false),
            vec![Gelu::new().into()],
            5,
            true,
        ),
    ];
    for (index, (second, between, columns, moves)) in cases.into_iter().enumerate() {
        let stream = Stream::new(index as u64);
        let mut rng = stream.at(0);
        let chain = middle(second.init(&device), between, columns, &stream);
        let chain = gated(chain, &stream, &mut rng, 0.5).map(&mut Double);
        let compacted = chain.compact().expect("a smaller chain");
        let x = noise([4, 2, 8, 8], &mut rng, DType::F64);
        let (difference, _) = compare::<4, 2>(&chain, &compacted, &x);
        assert!(difference < 1e-14, "case {index}: {difference:e}");
        let Stage::Conv2d(first) = &chain.stages()[0] else {
            unreachable!()
        };
        let gates = first
            .weight
            .reparameterization::<Gates>()
            .expect("gates")
            .test_gates();
        let open = gates
            .into_data()
            .iter::<f64>()
            .filter(|&z| z != 0.0)
            .count();
        assert!(open < 6, "case {index} closes nothing");
        assert_eq!(
            compacted.sizes()[0].outputs,
            if moves { open } else { 6 },
            "case {index}"
        );
    }
}

#[test]
fn a_constant_of_zero_moves_into_padding_too() {
    let device = device();
    let stream = Stream::new(3);
    let mut rng = stream.at(0);
    let second =
        Conv2dConfig::new([6, 5], [3, 3]).with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1));
    let chain = middle(
        second.init(&device),
        vec![Relu::new().into()],
        5 * 36,
        &stream,
    );
    // With biases below zero, what is closed is max(0, b) = 0.
    let mut stages = chain.into_stages();
    if let Stage::Conv2d(first) = &mut stages[0] {
        first.bias = Some(Param::from_tensor(Tensor::full([6], -0.5, &device)));
    }
    let chain = gated(Chain::new(stages).expect("a chain"), &stream, &mut rng, 0.5);
    let compacted = chain.compact().expect("a smaller chain");
    assert!(compacted.sizes()[0].outputs < 6);
    let x = noise([4, 2, 8, 8], &mut rng, DType::F32);
    let (difference, _) = compare::<4, 2>(&chain, &compacted, &x);
    assert!(difference < 1e-6, "{difference:e}");
}

#[test]
fn linear_layers_alone_read_only_the_inputs_that_count() {
    let device = device();
    let stream = Stream::new(8);
    let mut rng = stream.at(0);
    let stages = vec![
        LinearConfig::new(30, 20).init(&device).into(),
        Tanh::new().into(),
        LinearConfig::new(20, 10)
            .with_bias(false)
            .init(&device)
            .into(),
        Sigmoid::new().into(),
        LinearConfig::new(10, 2).init(&device).into(),
    ];
    let chain = initialise(Chain::new(stages).expect("a chain"), &stream);
    let chain = gated(chain, &stream, &mut rng, 0.6);
    let compacted = chain.compact().expect("a smaller chain");
    assert!(matches!(compacted.stages()[0], Stage::Select(_)));
    assert!(compacted.sizes()[0].inputs < 30);
    let x = noise([16, 30], &mut rng, DType::F32);
    let (difference, _) = compare::<2, 2>(&chain, &compacted, &x);
    assert!(difference < 1e-6, "{difference:e}");
}

#[test]
fn gates_on_elements_and_outputs_are_folded_as_well() {
    let device = device();
    let stream = Stream::new(13);
    let mut rng = stream.at(0);
    let chain = lenet(&stream);
    let gating = Gating::new()
        .gate("stages.0.Conv2d.weight", GateSpec::new(Per::Element))
        .gate("stages.3.Conv2d.weight", GateSpec::new(Per::INPUT_CHANNEL))
        .gate("stages.7.Linear.weight", GateSpec::new(Per::OUTPUT_UNIT))
        .gate("stages.9.Linear.weight", GateSpec::new(Per::Element));
    let chain = gating
        .attach(chain, &stream)
        .expect("gates")
        .map(&mut Close {
            rng: &mut rng,
            share: 0.6,
            inside: false,
        });
    let compacted = chain.compact().expect("a smaller chain");
    assert!(compacted.sizes()[0].outputs < 20 && compacted.sizes()[2].outputs < 500);
    let x = Tensor::<4>::ones([2, 1, 28, 28], &device);
    let (difference, _) = compare::<4, 2>(&chain, &compacted, &x);
    assert!(difference < 1e-6, "{difference:e}");
}

#[test]
fn chains_that_do_not_fit_are_refused_in_a_sentence() {
    let device = device();
    let linear = |a, b| -> Stage { LinearConfig::new(a, b).init(&device).into() };
    let conv = |a, b| -> Stage { Conv2dConfig::new([a, b], [3, 3]).init(&device).into() };
    let refused = |stages| Chain::new(stages).expect_err("a chain").to_string();
    assert_eq!(
        refused(vec![conv(1, 4), linear(4, 2)]),
        "stage 1 of the chain (counted from 0) is a linear layer: it needs rows, and images arrive: put a `Flatten` before it"
    );
    assert!(refused(vec![linear(4, 2), conv(1, 4)]).contains("it needs images"));
    assert!(refused(vec![linear(4, 2), linear(3, 2)]).contains("it takes 3 inputs, and 2 arrive"));
    assert!(
        refused(vec![conv(1, 4), Flatten::new().into(), linear(6, 2)]).contains("times the size")
    );
    let grouped = Conv2dConfig::new([4, 4], [3, 3])
        .with_groups(2)
        .init(&device);
    assert!(refused(vec![grouped.into()]).contains("2 groups"));
    let empty = Chain::new(vec![Relu::new().into()]).expect("a chain");
    assert!(matches!(empty.compact(), Err(Error::NoLayer)));
    let rows: Linear = LinearConfig::new(4, 2).init(&device);
    let chain = Chain::new(vec![rows.into()]).expect("a chain");
    let x = Tensor::<2>::ones([1, 4], &device);
    assert!(matches!(chain.forward::<2, 4>(x), Err(Error::Rank { .. })));
    let images = Tensor::<4>::ones([1, 4, 1, 1], &device);
    assert!(chain.forward::<4, 2>(images).is_err());
}
