//! Gates in the life of a module: attached, drawn, put to the test, saved, trained.

use burn::{
    module::{Module, Param},
    nn::{
        Embedding, EmbeddingConfig, Linear, LinearConfig,
        conv::{Conv2d, Conv2dConfig},
    },
    optim::{AdamConfig, GradientsParams},
    tensor::{Device, Tensor},
};
use ell0::{
    gates::{HardConcrete, Penalty},
    rng::Stream,
};
use ell0_burn::{Error, GateSpec, Gates, Gating, Per, draw, initialise};

#[derive(Module, Debug)]
struct Network {
    conv: Conv2d,
    blocks: Vec<Linear>,
    words: Embedding,
}

fn device() -> Device {
    Device::flex().autodiff()
}

fn network(seed: u64) -> Network {
    let device = device();
    let network = Network {
        conv: Conv2dConfig::new([2, 6], [3, 3]).init(&device),
        blocks: vec![
            LinearConfig::new(5, 7).init(&device),
            LinearConfig::new(7, 3).init(&device),
        ],
        words: EmbeddingConfig::new(4, 3).init(&device),
    };
    initialise(network, &Stream::new(seed))
}

fn gating() -> Gating {
    let penalty = |lambda| Penalty::expected_l0(lambda).expect("a penalty");
    Gating::new()
        .gate(
            "conv.weight",
            GateSpec::new(Per::OUTPUT_CHANNEL).with_penalty(penalty(0.1)),
        )
        .gate(
            "blocks.0.weight",
            GateSpec::new(Per::INPUT_UNIT).with_penalty(penalty(0.2)),
        )
        .gate(
            "blocks.1.weight",
            GateSpec::new(Per::OUTPUT_UNIT).with_penalty(penalty(0.3)),
        )
        .gate("words.weight", GateSpec::new(Per::Element))
}

fn gated(seed: u64) -> Network {
    gating()
        .attach(network(seed), &Stream::new(seed).split("log alpha"))
        .expect("gates")
}

fn bits<const D: usize>(x: Tensor<D>) -> Vec<u32> {
    x.into_data().iter::<f32>().map(f32::to_bits).collect()
}

fn values<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().iter::<f32>().collect()
}

fn gates<const D: usize>(param: &Param<Tensor<D>>) -> &Gates {
    param.reparameterization().expect("gates")
}

#[test]
fn any_parameter_of_any_module_gets_as_many_gates_as_it_should() {
    let network = gated(0);
    assert_eq!(gates(&network.conv.weight).log_alpha().dims(), [6]);
    assert_eq!(gates(&network.blocks[0].weight).log_alpha().dims(), [5]);
    assert_eq!(gates(&network.blocks[1].weight).log_alpha().dims(), [3]);
    assert_eq!(gates(&network.words.weight).log_alpha().dims(), [12]);
    let bias = network.conv.bias.as_ref().expect("a bias");
    assert!(bias.reparameterization::<Gates>().is_none());
    // What is trained: the weights as before, and log α.
    assert_eq!(
        network.num_params(),
        self::network(0).num_params() + 6 + 5 + 3 + 12
    );
}

#[test]
fn a_gate_multiplies_what_stands_behind_it() {
    let network = draw(gated(1), &Stream::new(5), 0);
    let z = values(gates(&network.conv.weight).gates());
    let (base, seen) = (
        values(network.conv.weight.base()),
        values(network.conv.weight.val()),
    );
    for k in 0..base.len() {
        assert_eq!(seen[k], base[k] * z[k / 18]);
    }
    let z = values(gates(&network.blocks[0].weight).gates());
    let (base, seen) = (
        values(network.blocks[0].weight.base()),
        values(network.blocks[0].weight.val()),
    );
    for k in 0..base.len() {
        assert_eq!(seen[k], base[k] * z[k / 7]);
    }
    let z = values(gates(&network.blocks[1].weight).gates());
    let (base, seen) = (
        values(network.blocks[1].weight.base()),
        values(network.blocks[1].weight.val()),
    );
    for k in 0..base.len() {
        assert_eq!(seen[k], base[k] * z[k % 3]);
    }
}

#[test]
fn the_sampled_gates_are_those_of_the_method_for_the_same_noise() {
    let stream = Stream::new(9);
    let network = draw(gated(2), &stream, 17);
    let mut u = vec![0f32; 12];
    stream.split("words.weight").at(17).fill_uniform(&mut u);
    let gates = gates(&network.words.weight);
    let log_alpha = values(gates.log_alpha());
    for ((z, u), log_alpha) in values(gates.gates()).into_iter().zip(u).zip(log_alpha) {
        let expected = HardConcrete::default().sample(log_alpha.into(), u.into());
        assert!((f64::from(z) - expected).abs() < 2e-6, "{z} {expected}");
    }
}

#[test]
fn the_seed_and_the_step_decide_and_nothing_else_does() {
    let stream = Stream::new(3);
    let drawn = |step, disturb: bool| {
        if disturb {
            // Burn's own state of random numbers, which all of the process shares.
            device().seed(step + 77);
            let _ = Tensor::<1>::random([5], burn::tensor::Distribution::Default, &device());
        }
        let network = draw(gated(3), &stream, step);
        let mut all = bits(network.conv.weight.val());
        all.extend(bits(gates(&network.words.weight).gates()));
        all
    };
    assert_eq!(drawn(4, false), drawn(4, true));
    assert_ne!(drawn(4, false), drawn(5, false));
    // Drawn again, in between or twice in a step: the same.
    let network = draw(draw(gated(3), &stream, 9), &stream, 4);
    assert_eq!(bits(network.conv.weight.val()), drawn(4, false)[..108]);
    assert_eq!(
        bits(network.conv.weight.val()),
        bits(network.conv.weight.val())
    );
}

#[test]
fn training_is_the_same_to_the_bit_for_the_same_seed() {
    let run = |seed: u64| {
        let stream = Stream::new(seed);
        let gating = gating();
        let mut network = gated(seed);
        let mut optimiser = AdamConfig::new().init();
        let x = Tensor::<2>::ones([4, 5], &device());
        for step in 0..5 {
            network = draw(network, &stream.split("gates"), step);
            let y = network.blocks[1].forward(network.blocks[0].forward(x.clone()).tanh());
            let loss = (y - 1.0).square().mean() + gating.penalty(&network).expect("a price");
            let gradients = GradientsParams::from_grads(loss.backward(), &network);
            network = optimiser.step(0.01, network, gradients);
        }
        let mut all = bits(network.blocks[0].weight.base());
        all.extend(bits(gates(&network.blocks[0].weight).log_alpha()));
        all
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn at_test_time_there_is_no_noise_and_training_brings_it_back() {
    let attached = gated(4);
    let test = values(gates(&attached.conv.weight).test_gates());
    assert_eq!(values(gates(&attached.conv.weight).gates()), test);
    let drawn = draw(attached, &Stream::new(0), 0);
    let sampled = values(gates(&drawn.conv.weight).gates());
    assert_ne!(sampled, test);
    let valid = drawn.valid();
    assert!(!gates(&valid.conv.weight).is_sampling());
    assert_eq!(values(gates(&valid.conv.weight).gates()), test);
    let train = valid.clone().train();
    assert_eq!(values(gates(&train.conv.weight).gates()), sampled);
    // Folded into the weights, nothing is left of the gates.
    let folded = valid.clone().materialize();
    assert!(folded.conv.weight.reparameterization::<Gates>().is_none());
    assert_eq!(
        bits(folded.conv.weight.val()),
        bits(valid.conv.weight.val())
    );
    assert_eq!(folded.num_params(), network(4).num_params());
}

#[test]
fn prices_are_those_of_the_formula() {
    let network = gated(5);
    let gating = gating();
    let distribution = HardConcrete::default();
    let expected = |log_alpha: Tensor<1>, behind: f64| -> f64 {
        let probs = log_alpha
            .into_data()
            .iter::<f64>()
            .map(|a| distribution.prob_active(a))
            .collect::<Vec<_>>();
        behind * probs.iter().sum::<f64>()
    };
    let l0 = [
        expected(gates(&network.conv.weight).log_alpha(), 18.0),
        expected(gates(&network.blocks[0].weight).log_alpha(), 7.0),
        expected(gates(&network.blocks[1].weight).log_alpha(), 7.0),
        expected(gates(&network.words.weight).log_alpha(), 1.0),
    ];
    let total = gating
        .expected_l0(&network)
        .expect("L0")
        .into_scalar::<f32>();
    assert!((f64::from(total) - l0.iter().sum::<f64>()).abs() < 1e-4);
    let prices = gating.prices(&network).expect("prices");
    for ((price, lambda), l0) in prices.iter().zip([0.1, 0.2, 0.3, 0.0]).zip(l0) {
        let got = f64::from(price.value.clone().into_scalar::<f32>());
        assert!((got - lambda * l0).abs() < 1e-4, "{}", price.path);
    }
    let open = gating.openness(&network).expect("openness");
    assert_eq!(
        (open[0].gates, open[0].behind_each, open[0].open),
        (6, 18, 6)
    );
    assert!((open[3].expected_open - l0[3]).abs() < 1e-4);
    assert_eq!(
        Gating::new()
            .penalty(&network)
            .expect("nothing")
            .into_scalar::<f32>(),
        0.0
    );
}

#[test]
fn a_record_holds_weights_and_gates() {
    let source = draw(gated(6), &Stream::new(0), 0);
    let target = gated(7).load_record(source.clone().into_record());
    assert_eq!(
        bits(gates(&target.conv.weight).log_alpha()),
        bits(gates(&source.conv.weight).log_alpha())
    );
    assert_eq!(
        bits(target.valid().conv.weight.val()),
        bits(source.valid().conv.weight.val())
    );
}

#[test]
fn attaching_makes_no_weights() {
    let lazy = LinearConfig::new(4, 3).init(&device());
    #[derive(Module, Debug)]
    struct One {
        layer: Linear,
    }
    let gating = Gating::new().gate("layer.weight", GateSpec::new(Per::INPUT_UNIT));
    let one = gating
        .attach(One { layer: lazy }, &Stream::new(0))
        .expect("gates");
    assert!(!one.layer.weight.is_initialized());
    assert!(gates(&one.layer.weight).log_alpha().is_require_grad());
}

#[test]
fn initial_weights_follow_from_the_stream_whatever_was_touched_first() {
    let one = bits(network(8).blocks[1].weight.val());
    let other = network(8);
    let _ = other.words.weight.val();
    device().seed(99);
    assert_eq!(bits(other.blocks[1].weight.val()), one);
    let bound = 1.0 / 7f32.sqrt();
    assert!(
        values(other.blocks[1].weight.val())
            .iter()
            .all(|w| w.abs() <= bound)
    );
    assert_ne!(bits(network(9).blocks[1].weight.val()), one);
}

#[test]
fn what_cannot_be_is_said_in_a_sentence() {
    let stream = Stream::new(0);
    let refused = |gating: Gating, module: Network| match gating.attach(module, &stream) {
        Ok(_) => panic!("it was attached"),
        Err(error) => error,
    };
    let unit = GateSpec::new(Per::INPUT_UNIT);
    let error = refused(Gating::new().gate("conv.weigth", unit), network(0));
    assert!(matches!(error, Error::NoParameter { .. }));
    assert!(error.to_string().contains("`conv.weight`"), "{error}");
    let error = refused(
        Gating::new().gate("conv.bias", GateSpec::new(Per::Axis(1))),
        network(0),
    );
    assert_eq!(
        error.to_string(),
        "`conv.bias` has 1 axes, so it has no axis 1 (counted from 0) to gate along"
    );
    let twice = Gating::new()
        .gate("conv.weight", unit)
        .plain("conv.weight", Penalty::none());
    assert!(matches!(refused(twice, network(0)), Error::Twice { .. }));
    let error = refused(Gating::new().gate("conv.weight", unit), gated(0));
    assert!(matches!(error, Error::Occupied { .. }), "{error}");
    let error = refused(
        Gating::new().gate("conv.weight", unit.with_drop_rate(1.0)),
        network(0),
    );
    assert!(
        error
            .to_string()
            .starts_with("drop_rate = 1 is not allowed"),
        "{error}"
    );
    let error = gating().penalty(&network(0)).expect_err("no gates");
    assert!(matches!(error, Error::NoGates { .. }), "{error}");
    let error = Gating::new()
        .plain("conv.beta", Penalty::none())
        .expected_l0(&network(0))
        .expect_err("no such parameter");
    assert!(
        error.to_string().contains("it has `blocks.0.bias`"),
        "{error}"
    );
    let other = Gating::new().gate("conv.weight", GateSpec::new(Per::INPUT_CHANNEL));
    let error = other.penalty(&gated(0)).expect_err("other gates");
    assert!(
        matches!(
            error,
            Error::Gates {
                got: 6,
                expected: 2,
                ..
            }
        ),
        "{error}"
    );
}
