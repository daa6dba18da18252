//! Statistics of the gates that a module draws.

use burn::{
    module::Module,
    nn::{Linear, LinearConfig},
    tensor::Device,
};
use ell0::{gates::HardConcrete, rng::Stream};
use ell0_burn::{GateSpec, Gates, Gating, Per, draw};

#[derive(Module, Debug)]
struct One {
    layer: Linear,
}

#[test]
fn gates_are_zero_one_and_in_between_as_often_as_they_should() {
    let device = Device::flex();
    let distribution = HardConcrete::default();
    // log α = 0 but for noise of 0.01, which moves the probabilities by less than 1e-3·0.01: 100,000 gates × 20 steps are not enough to see it.
    let gating = Gating::new().gate("layer.weight", GateSpec::new(Per::Element));
    let one = One {
        layer: LinearConfig::new(100, 1000).init(&device),
    };
    let mut one = gating.attach(one, &Stream::new(1)).expect("gates");
    let noise = Stream::new(2);
    let (mut n, mut zero, mut ones, mut sum) = (0.0, 0.0, 0.0, 0.0);
    for step in 0..20 {
        one = draw(one, &noise, step);
        let gates = one
            .layer
            .weight
            .reparameterization::<Gates>()
            .expect("gates");
        for z in gates.gates().into_data().iter::<f64>() {
            assert!((0.0..=1.0).contains(&z));
            n += 1.0;
            zero += f64::from(z == 0.0);
            ones += f64::from(z == 1.0);
            sum += z;
        }
    }
    let check = |what: &str, got: f64, expected: f64, variance: f64| {
        // Five standard errors: a chance of 6e-7 to fail. The noise of log α adds 1e-2·slope/√100000 < 1e-5.
        let error = 5.0 * (variance / n).sqrt() + 2e-5;
        assert!(
            (got - expected).abs() < error,
            "{what}: {got} instead of {expected} ± {error}"
        );
    };
    let p = distribution.prob_zero(0.0);
    check("P(z = 0)", zero / n, p, p * (1.0 - p));
    let p = distribution.prob_one(0.0);
    check("P(z = 1)", ones / n, p, p * (1.0 - p));
    let moments = distribution.moments(0.0);
    check("E[z]", sum / n, moments.mean, moments.variance);
}
