//! Gradients against finite differences in double precision.

use super::*;

fn penalty_value(architecture: &Architecture, parameters: &[f64], penalty: &Penalty) -> f64 {
    let mut total = 0.0;
    for (index, layer) in architecture.layers().iter().enumerate() {
        let (w, b, a) = (
            &parameters[architecture.weights(index)],
            &parameters[architecture.biases(index)],
            &parameters[architecture.log_alphas(index)],
        );
        for (k, w) in w.iter().enumerate() {
            let active = match layer.gating {
                Gating::Plain => 1.0,
                Gating::Gated(spec) => spec.distribution.prob_active(
                    a[if spec.per == Per::Unit {
                        k / layer.outputs
                    } else {
                        k
                    }],
                ),
            };
            total += active * (penalty.lambda() + 0.5 * penalty.weight_decay() * w * w)
                + penalty.l1() * w.abs()
                + 0.5 * penalty.l2() * w * w;
        }
        total += b
            .iter()
            .map(|b| 0.5 * penalty.weight_decay() * b * b)
            .sum::<f64>();
        if let (Gating::Gated(spec), Some(prior)) = (layer.gating, penalty.prior()) {
            for &a in a {
                let (p, q) = (
                    spec.distribution.prob_active(a),
                    spec.distribution.prob_zero(a),
                );
                total +=
                    prior.scale * (p * (p / prior.prob).ln() + q * (q / (1.0 - prior.prob)).ln());
            }
        }
    }
    total
}

fn relative_distance(got: &[f32], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(1e-6f64, |m, w| m.max(w.abs()));
    got.iter()
        .zip(want)
        .map(|(&g, w)| (f64::from(g) - w).abs() / scale)
        .fold(0.0, f64::max)
}

/// Every layer kind × activation × loss, with all penalties at once: the whole training loss differentiated numerically in double precision
/// (central differences, gates re-drawn from the same noise) against the gradient of the fast pass.
#[test]
fn gradients_agree_with_finite_differences() {
    let penalty = Penalty::expected_l0(0.02)
        .unwrap()
        .with_prior(0.1, 0.3)
        .unwrap()
        .with_weight_decay(0.05)
        .unwrap()
        .with_l1(0.01)
        .unwrap()
        .with_l2(0.03)
        .unwrap();
    let mut seed = 0;
    for gating in gatings() {
        for activation in ACTIVATIONS {
            for loss in [
                Loss::MeanSquaredError,
                Loss::CrossEntropy,
                Loss::WeightedCrossEntropy,
            ] {
                seed += 1;
                let layer = |inputs, outputs, activation| Dense {
                    inputs,
                    outputs,
                    activation,
                    gating,
                    bias: true,
                };
                let case = Case::new(
                    vec![
                        layer(3, 5, activation),
                        layer(5, 4, activation),
                        layer(4, 3, Activation::Identity),
                    ],
                    6,
                    loss,
                    seed,
                );
                let architecture = case.model.architecture();
                let parameters = wide(case.model.parameters());
                let objective = |parameters: &[f64]| {
                    let reference = Reference::new(
                        architecture,
                        parameters,
                        case.draw(false),
                        case.rows,
                        |g, a, u| {
                            let gate = g.sample_with_slope(a, f64::from(u));
                            (gate.value, gate.slope)
                        },
                    );
                    let activations = reference.forward(parameters, &wide(&case.x));
                    let predictions: Vec<f64> = activations
                        .last()
                        .unwrap()
                        .iter()
                        .map(|a| a.0.value)
                        .collect();
                    loss_value(loss, &predictions, &case.y, case.rows)
                        + penalty_value(architecture, parameters, &penalty)
                };

                let mut pass = Pass::new(architecture, case.rows);
                pass.forward(case.model.parameters(), &case.x, case.draw(false))
                    .unwrap();
                let mut value = pass.loss(loss, &case.y, case.rows).unwrap();
                let mut gradient = vec![f32::NAN; parameters.len()];
                pass.backward(case.model.parameters(), &mut gradient, None)
                    .unwrap();
                value += architecture
                    .penalise(case.model.parameters(), &penalty, &mut gradient)
                    .unwrap();
                assert!((value / objective(&parameters) - 1.0).abs() < 1e-5);

                let numeric: Vec<f64> = (0..parameters.len())
                    .map(|k| {
                        let at = |h: f64| {
                            let mut p = parameters.clone();
                            p[k] += h;
                            objective(&p)
                        };
                        (at(1e-5) - at(-1e-5)) / 2e-5
                    })
                    .collect();
                let distance = relative_distance(&gradient, &numeric);
                assert!(
                    distance < 1e-5,
                    "{gating:?} {activation} {loss:?}: {distance}"
                );
            }
        }
    }
}

/// Each penalty alone, so that an error in one cannot hide behind another.
#[test]
fn penalties_agree_with_finite_differences() {
    let none = Penalty::none();
    let penalties = [
        Penalty::expected_l0(0.7).unwrap(),
        none.with_prior(0.2, 1.5).unwrap(),
        none.with_weight_decay(0.4).unwrap(),
        none.with_l1(0.3).unwrap(),
        none.with_l2(0.6).unwrap(),
        Penalty::expected_l0(2.0)
            .unwrap()
            .with_prior(0.2, 1.0)
            .unwrap()
            .warmed(0.25),
    ];
    for gating in gatings() {
        let model = random_network(
            vec![
                Dense {
                    inputs: 4,
                    outputs: 3,
                    activation: Activation::Elu,
                    gating,
                    bias: true,
                },
                Dense {
                    inputs: 3,
                    outputs: 1,
                    activation: Activation::Identity,
                    gating,
                    bias: true,
                },
            ],
            3,
        );
        let architecture = model.architecture();
        let parameters = wide(model.parameters());
        for penalty in &penalties {
            let mut gradient = vec![0.0; parameters.len()];
            let value = architecture
                .penalise(model.parameters(), penalty, &mut gradient)
                .unwrap();
            assert!(
                (value - penalty_value(architecture, &parameters, penalty)).abs()
                    < 1e-5 * (1.0 + value)
            );
            let numeric: Vec<f64> = (0..parameters.len())
                .map(|k| {
                    let at = |h: f64| {
                        let mut p = parameters.clone();
                        p[k] += h;
                        penalty_value(architecture, &p, penalty)
                    };
                    (at(1e-5) - at(-1e-5)) / 2e-5
                })
                .collect();
            let distance = relative_distance(&gradient, &numeric);
            assert!(distance < 1e-5, "{gating:?} {penalty:?}: {distance}");
        }
    }
}
