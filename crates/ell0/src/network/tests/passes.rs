//! The fast passes against the plain one, and compaction.

use super::*;

/// The first number that is further from what it should be than single precision explains.
fn outside(got: &[f32], want: &[Running]) -> Option<(usize, f32, Running)> {
    assert_eq!(got.len(), want.len());
    let at = got
        .iter()
        .zip(want)
        .position(|(got, want)| !want.allows(*got));
    at.map(|at| (at, got[at], want[at]))
}

proptest! {
    #![proptest_config(proptest_config(128))]

    /// Skipping units with zero gates gives the numbers of the masked computation, forward and backward, for any mix of layers, but for what single precision loses on what is
    /// summed.
    #[test]
    fn skipping_agrees_with_masking(layers in layers(), rows in 1..40usize, seed: u64, test_time: bool) {
        let case = Case::new(layers, rows, Loss::MeanSquaredError, seed);
        let architecture = case.model.architecture();
        let parameters = wide(case.model.parameters());
        // The gates of the fast sampler, so that both computations have the very same mask.
        let fast = |g: &HardConcrete, a: f64, u: f32| {
            let (mut z, mut slope) = ([0.0], [0.0]);
            g.sample_slices(&[a as f32], &[u], &mut z, &mut slope);
            (f64::from(z[0]), f64::from(slope[0]))
        };
        let reference = Reference::new(architecture, &parameters, case.draw(test_time), rows, fast);
        let activations = reference.forward(&parameters, &wide(&case.x));
        let predictions: Vec<Running> = activations.last().unwrap().iter().map(|a| a.0).collect();
        let share = Running::exact(2.0 / predictions.len() as f64);
        let d_output = predictions.iter().zip(&case.y).map(|(p, &t)| p.minus(f64::from(t)).times(share)).collect();
        let (want, want_input) = reference.backward(&parameters, &activations, d_output);

        // A workspace larger than the batch, used before: nothing of an earlier pass may shine through.
        let mut pass = Pass::new(architecture, rows + 3);
        let larger = Case::new(architecture.layers().to_vec(), rows + 3, Loss::MeanSquaredError, seed ^ 1);
        pass.forward(larger.model.parameters(), &larger.x, larger.draw(false)).unwrap();
        let got = pass.forward(case.model.parameters(), &case.x, case.draw(test_time)).unwrap();
        prop_assert_eq!(outside(got, &predictions), None);
        pass.loss(Loss::MeanSquaredError, &case.y, rows).unwrap();
        let mut gradient = vec![f32::NAN; parameters.len()];
        let mut d_input = vec![f32::NAN; case.x.len()];
        pass.backward(case.model.parameters(), &mut gradient, Some(&mut d_input)).unwrap();
        prop_assert_eq!(outside(&gradient, &want), None);
        prop_assert_eq!(outside(&d_input, &want_input), None);
    }

    /// The compacted network gives the outputs of the gated one at test time, with no more work.
    #[test]
    fn compaction_keeps_the_outputs(layers in layers(), rows in 1..20usize, seed: u64) {
        let case = Case::new(layers, rows, Loss::MeanSquaredError, seed);
        let compact = case.model.compact().unwrap();
        let by_row = |model: &dyn Fn(&[f32]) -> crate::Result<Vec<f32>>| model(&case.x).unwrap();
        let (full, small) = (by_row(&|x| case.model.predict(x)), by_row(&|x| compact.predict(x)));
        // Both come from the same numbers by sums in another order.
        let parameters = wide(case.model.parameters());
        let architecture = case.model.architecture();
        let reference = Reference::new(architecture, &parameters, Draw::TestTime, rows, |_, _, _| (0.0, 0.0));
        let n = architecture.inputs();
        let columns: Vec<f64> = (0..n * rows).map(|k| f64::from(case.x[k % rows * n + k / rows])).collect();
        let activations = reference.forward(&parameters, &columns);
        let outputs = activations.last().unwrap();
        let m = architecture.outputs();
        let want: Vec<Running> = (0..m * rows).map(|k| outputs[k % m * rows + k / m].0).collect();
        prop_assert_eq!(outside(&full, &want), None);
        prop_assert_eq!(outside(&small, &want), None);
        let size = case.model.complexity().unwrap();
        prop_assert!(size.compacted_flops <= size.flops && size.expected_flops <= size.flops * (1.0 + 1e-12));
        prop_assert!(size.active <= size.parameters && size.open_gates <= size.gates);
        prop_assert!(size.expected_l0 <= case.model.architecture().layers().iter().map(|l| (l.inputs * l.outputs) as f64).sum::<f64>() * (1.0 + 1e-12));
        prop_assert!(compact.network().architecture().layers().iter().all(|l| l.gating == Gating::Plain));
    }
}

#[test]
fn a_network_whose_gates_are_all_shut_is_a_constant() {
    let config = MlpConfig::new([3, 6, 2], Activation::Elu).gated(GateSpec::default());
    let mut model = Mlp::new(&config, &Stream::new(0)).unwrap();
    let range = model.architecture().all_log_alphas();
    model.parameters_mut()[range].fill(-20.0);
    let biases = model.architecture().biases(1);
    model.parameters_mut()[biases].copy_from_slice(&[0.25, -4.0]);
    assert_eq!(model.predict(&[1.0, 2.0, 3.0]).unwrap(), [0.25, -4.0]);
    let compact = model.compact().unwrap();
    assert_eq!(compact.predict(&[1.0, 2.0, 3.0]).unwrap(), [0.25, -4.0]);
    let size = model.complexity().unwrap();
    assert_eq!(
        (size.open_gates, size.active_weights, size.active),
        (0, 0, 2)
    );
    // Even with nothing open, forward and backward run, and only the last biases learn.
    let mut pass = Pass::new(model.architecture(), 1);
    let u = vec![0.5; model.architecture().shared_noise_len()];
    pass.forward(
        model.parameters(),
        &[1.0, 2.0, 3.0],
        Draw::Sampled(Noise {
            shared: &u,
            rows: &[],
        }),
    )
    .unwrap();
    pass.loss(Loss::MeanSquaredError, &[0.0, 0.0], 1).unwrap();
    let mut gradient = vec![f32::NAN; model.parameters().len()];
    pass.backward(model.parameters(), &mut gradient, None)
        .unwrap();
    assert_eq!(gradient.iter().filter(|&&g| g != 0.0).count(), 2);
}

#[test]
fn expected_flops_are_the_mean_over_sampled_gates() {
    let config = MlpConfig::new([5, 9, 2], Activation::Elu).gated(GateSpec::default());
    let model = random_network(config.architecture().unwrap().layers().to_vec(), 4);
    let architecture = model.architecture();
    let mut pass = Pass::new(architecture, 1);
    let (mut rng, n) = (Stream::new(1).at(0), 20_000);
    let mut u = vec![0.0; architecture.shared_noise_len()];
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..n {
        rng.fill_uniform(&mut u);
        pass.forward(
            model.parameters(),
            &[0.0; 5],
            Draw::Sampled(Noise {
                shared: &u,
                rows: &[],
            }),
        )
        .unwrap();
        let open: Vec<f64> = pass.open_units().map(|k| k as f64).chain([2.0]).collect();
        let flops: f64 = open.windows(2).map(|p| (2.0 * p[0] + 1.0) * p[1]).sum();
        sum += flops;
        squares += flops * flops;
    }
    let mean = sum / f64::from(n);
    let standard_error = ((squares / f64::from(n) - mean * mean) / f64::from(n)).sqrt();
    assert!((mean - model.complexity().unwrap().expected_flops).abs() < 5.0 * standard_error);
}
