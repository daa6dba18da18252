use proptest::prelude::*;

use super::{
    estimators::{Estimator, GateFunction, Quadratic, Trial, exact_gradient},
    *,
};
use crate::rng::Stream;

fn gates() -> [HardConcrete; 4] {
    [
        HardConcrete::default(),
        HardConcrete::new(0.5, -0.1, 1.1).unwrap(),
        HardConcrete::new(1.3, -0.25, 1.4).unwrap(),
        HardConcrete::new(6.0, -0.001, 1.5).unwrap(),
    ]
}

/// Central difference with the step that balances truncation and round-off.
fn slope(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    let h = 1e-5 * (1.0 + x.abs());
    (f(x + h) - f(x - h)) / (2.0 * h)
}

/// Trapezoidal rule on a fine grid: slow, and independent of the quadrature under test.
fn integral(f: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let n = 200_000;
    let h = (high - low) / f64::from(n);
    (0..=n)
        .map(|i| {
            let weight = if i == 0 || i == n { 0.5 } else { 1.0 };
            weight * f(low + h * f64::from(i))
        })
        .sum::<f64>()
        * h
}

fn assert_close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance * (1.0 + want.abs()),
        "got {got}, want {want}"
    );
}

#[test]
fn derivatives_agree_with_finite_differences() {
    for gate in gates() {
        for a in [-6.0, -1.3, 0.0, 0.7, 4.0] {
            assert_close(
                gate.prob_active_slope(a),
                slope(|a| gate.prob_active(a), a),
                1e-9,
            );
            assert_close(gate.prob_one_slope(a), slope(|a| gate.prob_one(a), a), 1e-9);
            let moments = gate.moments(a);
            assert_close(moments.mean_slope, slope(|a| gate.moments(a).mean, a), 1e-9);
            assert_close(
                moments.variance_slope,
                slope(|a| gate.moments(a).variance, a),
                1e-9,
            );
            for u in [0.05, 0.3, 0.5, 0.8, 0.97] {
                let Gate {
                    value: z,
                    slope: dz,
                } = gate.sample_with_slope(a, u);
                // At the very kink there is no derivative to compare with.
                if z > 1e-3 && z < 1.0 - 1e-3 {
                    assert_close(dz, slope(|a| gate.sample(a, u), a), 1e-7);
                }
            }
        }
    }
}

#[test]
fn densities_integrate_to_their_cdf() {
    for gate in gates() {
        for a in [-2.0, 0.3, 3.0] {
            let (stretched, rectified) = (gate.stretched(a), gate.rectified(a));
            for (low, high) in [(0.1, 0.4), (0.4, 0.9)] {
                let mass = integral(|t| stretched.density(t), low, high);
                assert_close(mass, stretched.cdf(high) - stretched.cdf(low), 1e-8);
                let concrete = gate.concrete(a);
                let mass = integral(|s| concrete.density(s), low, high);
                assert_close(mass, concrete.cdf(high) - concrete.cdf(low), 1e-8);
            }
            let inside = stretched.cdf(1.0) - stretched.cdf(0.0);
            assert_close(
                rectified.mass_at_zero() + inside + rectified.mass_at_one(),
                1.0,
                1e-14,
            );
            assert_close(rectified.mass_at_zero(), gate.prob_zero(a), 1e-14);
            assert_close(rectified.mass_at_one(), gate.prob_one(a), 1e-14);
        }
    }
}

#[test]
fn moments_agree_with_integrals_over_the_noise() {
    for gate in gates() {
        for a in [-3.0, 0.0, 0.5, 4.0] {
            // E[z] = ∫ P(z > t) dt, a smooth integrand for the trapezoidal rule but at the ends.
            let mean = integral(|t| gate.rectified(a).survival(t.min(1.0 - 1e-15)), 0.0, 1.0);
            let second = integral(
                |t| 2.0 * t * gate.rectified(a).survival(t.min(1.0 - 1e-15)),
                0.0,
                1.0,
            );
            let moments = gate.moments(a);
            assert_close(moments.mean, mean, 1e-8);
            assert_close(moments.mean_complement, 1.0 - mean, 1e-8);
            assert_close(moments.variance, second - mean * mean, 1e-8);
        }
    }
}

#[test]
fn moments_keep_their_digits_in_the_tails() {
    let gate = HardConcrete::default();
    // Symmetric stretch: z at log α is distributed as 1 − z at −log α, so both tails must agree to round-off.
    for a in [10.0, 30.0, 50.0] {
        let (up, down) = (gate.moments(a), gate.moments(-a));
        assert!((up.mean_complement / down.mean - 1.0).abs() < 1e-12);
        assert!((up.variance / down.variance - 1.0).abs() < 1e-12);
        assert!((up.mean_slope / down.mean_slope - 1.0).abs() < 1e-12);
        assert!((up.variance_slope / down.variance_slope + 1.0).abs() < 1e-12);
    }
    // Far out, P(z > t) = e^(log α)·((ζ−t)/(t−γ))^β to first order, so E[z] scales by e^(Δ log α).
    let ratio = gate.moments(-50.0).mean / gate.moments(-40.0).mean;
    assert!((ratio / (-10f64).exp() - 1.0).abs() < 1e-12);
}

proptest! {
    #![proptest_config(crate::testing::proptest_config(256))]

    #[test]
    fn everything_is_finite_and_in_range(a in -50.0..50.0f64, exponent in -300.0..0.0f64, beta in 0.05..5.0f64, gamma in -2.0..-0.001f64, zeta in 1.001..3.0f64) {
        let gate = HardConcrete::new(beta, gamma, zeta).unwrap();
        let u = 10f64.powf(exponent).min(1.0 - 1e-16);
        for u in [u, 1.0 - u] {
            let Gate { value: z, slope } = gate.sample_with_slope(a, u);
            prop_assert!((0.0..=1.0).contains(&z) && slope.is_finite() && slope >= 0.0);
            prop_assert!((0.0..=1.0).contains(&gate.concrete(a).quantile(u)));
            prop_assert!(gate.concrete(a).density(u) >= 0.0 && gate.concrete(a).density(u).is_finite());
        }
        let m = gate.moments(a);
        for p in [gate.prob_active(a), gate.prob_zero(a), gate.prob_one(a), gate.test_gate(a), m.mean, m.mean_complement, m.variance] {
            prop_assert!((0.0..=1.0 + 1e-14).contains(&p), "{p}");
        }
        prop_assert!(gate.prob_active(a) > 0.0 && gate.prob_zero(a) > 0.0 && m.variance > 0.0);
        prop_assert!((m.mean + m.mean_complement - 1.0).abs() < 1e-13);
        prop_assert!(m.mean <= gate.prob_active(a) * (1.0 + 1e-12) && m.mean >= gate.prob_one(a) * (1.0 - 1e-12));
        prop_assert!(m.mean_slope.is_finite() && m.variance_slope.is_finite());
    }

    #[test]
    fn quantile_inverts_the_cdf(a in -8.0..8.0f64, u in 0.001..0.999f64) {
        for gate in gates() {
            let concrete = gate.concrete(a);
            let s = concrete.quantile(u);
            // Where s is within round-off of 1, u cannot be recovered from it.
            if s < 1.0 - 1e-6 {
                prop_assert!((concrete.cdf(s) - u).abs() < 1e-8);
                prop_assert!((gate.stretched(a).cdf(gate.stretched(a).quantile(u)) - u).abs() < 1e-6);
            }
            let z = gate.rectified(a).quantile(u);
            prop_assert_eq!(z, gate.sample(a, u));
            prop_assert!(gate.rectified(a).cdf(z) >= u - 1e-6);
        }
    }

    #[test]
    fn single_precision_sampler_agrees_with_double(a in -12.0..12.0f32, k in 0u32..1 << 23) {
        let u = (k as f32 + 0.5) * 2f32.powi(-23);
        for gate in gates() {
            let (mut z, mut slope) = ([0.0], [0.0]);
            gate.sample_slices(&[a], &[u], &mut z, &mut slope);
            let Gate { value: want, slope: want_slope } = gate.sample_with_slope(f64::from(a), f64::from(u));
            prop_assert!((f64::from(z[0]) - want).abs() < 2e-6);
            let (mut at_test, mut at_test_slope) = ([0.0], [0.0]);
            gate.test_slices(&[a], &mut at_test, &mut at_test_slope);
            prop_assert!((f64::from(at_test[0]) - gate.test_gate(f64::from(a))).abs() < 2e-6);
            // Within round-off of the kinks either side is right.
            if want == 0.0 && z[0] == 0.0 || want > 1e-5 && want < 1.0 - 1e-5 {
                prop_assert!((f64::from(slope[0]) - want_slope).abs() < 1e-5);
            }
        }
    }
}

/// Kolmogorov–Smirnov distance between samples and a CDF that may jump: at each sample both one-sided limits are compared.
fn ks_distance(
    mut samples: Vec<f64>,
    cdf: impl Fn(f64) -> f64,
    cdf_left: impl Fn(f64) -> f64,
) -> f64 {
    samples.sort_by(f64::total_cmp);
    let n = samples.len() as f64;
    let mut worst = 0f64;
    let mut i = 0;
    while i < samples.len() {
        let mut j = i;
        while j < samples.len() && samples[j] == samples[i] {
            j += 1;
        }
        worst = worst
            .max((j as f64 / n - cdf(samples[i])).abs())
            .max((i as f64 / n - cdf_left(samples[i])).abs());
        i = j;
    }
    worst
}

/// The sampler passes the Kolmogorov–Smirnov test at the 0.1 % level (critical value 1.949/√n; conservative where the distribution has
/// point masses); a sampler at another location or temperature fails it, so the test has power.
#[test]
fn kolmogorov_smirnov_test_of_the_sampler() {
    let n = 50_000;
    let critical = 1.949 / f64::from(n).sqrt();
    for (index, gate) in gates().into_iter().enumerate() {
        for (k, a) in [-1.5, 0.0, 0.8].into_iter().enumerate() {
            let mut rng = Stream::new(99).at((index * 3 + k) as u64);
            let noise: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
            let hard = gate.rectified(a);
            let distance = |location: f64, gate: &HardConcrete| {
                let samples = noise.iter().map(|&u| gate.sample(location, u)).collect();
                let left = |t: f64| {
                    if t <= 0.0 {
                        0.0
                    } else {
                        1.0 - hard.survival(t.min(1.0 - 1e-15))
                    }
                };
                ks_distance(samples, |t| hard.cdf(t), left)
            };
            assert!(
                distance(a, &gate) < critical,
                "{gate:?} at {a}: {}",
                distance(a, &gate)
            );
            assert!(distance(a + 0.2, &gate) > critical);
            let hotter = HardConcrete::new(gate.beta() * 1.5, gate.gamma(), gate.zeta()).unwrap();
            assert!(distance(a, &hotter) > critical);

            let stretched = gate.stretched(a);
            let samples: Vec<f64> = noise.iter().map(|&u| stretched.quantile(u)).collect();
            assert!(ks_distance(samples, |t| stretched.cdf(t), |t| stretched.cdf(t)) < critical);

            // The single-precision sampler of the networks against the same CDF.
            let mut u = vec![0f32; n as usize];
            rng.fill_uniform(&mut u);
            let (mut z, mut slopes) = (vec![0f32; u.len()], vec![0f32; u.len()]);
            gate.sample_rows(a as f32, &u, &mut z, &mut slopes);
            let left = |t: f64| {
                if t <= 0.0 {
                    0.0
                } else {
                    1.0 - hard.survival(t.min(1.0 - 1e-15))
                }
            };
            let samples = z.iter().map(|&z| f64::from(z)).collect();
            assert!(ks_distance(samples, |t| hard.cdf(t), left) < critical);
        }
    }
}

#[test]
fn exact_gradient_agrees_with_finite_differences_of_the_enumerated_expectation() {
    let f = Quadratic::demonstration();
    let log_alpha = [0.5, -1.0, 0.2, 2.0];
    let expectation = |log_alpha: &[f64]| -> f64 {
        (0..16)
            .map(|mask: usize| {
                let z: Vec<f64> = (0..4).map(|j| (mask >> j & 1) as f64).collect();
                let p: f64 = z
                    .iter()
                    .zip(log_alpha)
                    .map(|(&z, &a)| sigmoid(if z == 1.0 { a } else { -a }))
                    .product();
                p * f.value(&z)
            })
            .sum()
    };
    let gradient = exact_gradient(&f, &log_alpha).unwrap();
    for j in 0..4 {
        let along = |x: f64| {
            let mut moved = log_alpha;
            moved[j] = x;
            expectation(&moved)
        };
        assert_close(gradient[j], slope(along, log_alpha[j]), 1e-8);
    }
}

/// Statistical tests at five standard errors: REINFORCE is unbiased for Bernoulli gates; the hard-concrete estimator is unbiased for
/// its own smoothed objective, known in closed form; straight-through is biased, and the test can see it.
#[test]
fn estimators_have_the_bias_they_should() {
    let f = Quadratic::demonstration();
    let log_alpha = [0.5, -1.0, 0.2, 2.0];
    let exact = exact_gradient(&f, &log_alpha).unwrap();
    let gate = HardConcrete::default();
    let smoothed = f.expectation(&gate, &log_alpha).unwrap().gradient;
    let measure = |estimator: Estimator, reference: &[f64], samples| {
        estimator
            .measure(
                &f,
                &log_alpha,
                reference,
                Trial {
                    samples,
                    repeats: 40_000,
                },
                &mut Stream::new(5).at(0),
            )
            .unwrap()
    };
    let within = |estimator, reference: &[f64], samples| {
        let m = measure(estimator, reference, samples);
        m.bias
            .iter()
            .zip(&m.standard_error)
            .all(|(b, e)| b.abs() < 5.0 * e)
    };
    assert!(within(Estimator::Reinforce { baseline: false }, &exact, 1));
    assert!(within(Estimator::Reinforce { baseline: true }, &exact, 4));
    assert!(within(Estimator::HardConcrete(gate), &smoothed, 1));
    assert!(!within(Estimator::HardConcrete(gate), &exact, 1));
    assert!(!within(Estimator::StraightThrough, &exact, 1));
    assert!(!within(Estimator::Concrete { beta: 2.0 / 3.0 }, &exact, 1));

    let total = |estimator| measure(estimator, &exact, 4).variance.iter().sum::<f64>();
    assert!(
        total(Estimator::Reinforce { baseline: true })
            < total(Estimator::Reinforce { baseline: false })
    );
    assert!(total(Estimator::HardConcrete(gate)) < total(Estimator::Reinforce { baseline: true }));
    let zeros = |estimator| measure(estimator, &exact, 1).zeros;
    assert_eq!(zeros(Estimator::Concrete { beta: 2.0 / 3.0 }), 0.0);
    assert!(zeros(Estimator::HardConcrete(gate)) > 0.1);
}

#[test]
fn closed_form_expectation_agrees_with_finite_differences() {
    let f = Quadratic::demonstration();
    let gate = HardConcrete::default();
    let log_alpha = [0.5, -1.0, 0.2, 2.0];
    let gradient = f.expectation(&gate, &log_alpha).unwrap().gradient;
    for j in 0..4 {
        let along = |x: f64| {
            let mut moved = log_alpha;
            moved[j] = x;
            f.expectation(&gate, &moved).unwrap().value
        };
        assert_close(gradient[j], slope(along, log_alpha[j]), 1e-8);
    }
}

#[test]
fn divergence_from_the_prior_agrees_with_its_definition_and_finite_differences() {
    let prior = GatePrior {
        prob: 0.1,
        scale: 0.7,
    };
    for x in [-30.0, -2.0, 0.0, 1.5, 40.0] {
        let (p, q) = (sigmoid(x), sigmoid(-x));
        let (value, derivative) = prior.divergence(x);
        assert_close(
            value,
            0.7 * (p * (p / 0.1).ln() + q * (q / 0.9).ln()),
            1e-12,
        );
        assert_close(derivative, slope(|x| prior.divergence(x).0, x), 1e-8);
    }
    assert!(prior.divergence(logit(0.1)).0.abs() < 1e-15);
}

#[test]
fn bad_parameters_are_named() {
    for (beta, gamma, zeta, name) in [
        (0.0, -0.1, 1.1, "beta = 0"),
        (-1.0, -0.1, 1.1, "beta = -1"),
        (f64::NAN, -0.1, 1.1, "beta = NaN"),
        (0.5, 0.0, 1.1, "gamma = 0"),
        (0.5, 0.2, 1.1, "gamma = 0.2"),
        (0.5, -0.1, 1.0, "zeta = 1"),
        (0.5, -0.1, f64::INFINITY, "zeta = inf"),
    ] {
        let error = HardConcrete::new(beta, gamma, zeta)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(name), "{error}");
    }
    assert!(
        serde_json::from_str::<HardConcrete>(r#"{"beta":0.5,"gamma":0.1,"zeta":1.1}"#).is_err()
    );
    for error in [
        Penalty::expected_l0(-1.0).unwrap_err(),
        Penalty::none().with_prior(1.0, 1.0).unwrap_err(),
        Penalty::none().with_l1(f64::NAN).unwrap_err(),
    ] {
        assert!(matches!(error, crate::Error::Parameter { .. }));
    }
    let f = Quadratic::demonstration();
    assert!(exact_gradient(&f, &[0.0; 3]).is_err());
    assert!(exact_gradient(&f, &[0.0, f64::NAN, 0.0, 0.0]).is_err());
    let mut rng = Stream::new(0).at(0);
    assert!(
        Estimator::Reinforce { baseline: true }
            .gradient(&f, &[0.0; 4], 1, &mut rng)
            .is_err()
    );
}
