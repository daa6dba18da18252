//! What does not fit together is an error.

use super::*;

#[test]
fn bad_shapes_are_errors() {
    let config = MlpConfig::new([2, 3, 1], Activation::Elu);
    let model = Mlp::new(&config, &Stream::new(0)).unwrap();
    let message = |e: crate::Error| e.to_string();
    assert!(
        message(
            MlpConfig::new([2, 0, 1], Activation::Elu)
                .architecture()
                .unwrap_err()
        )
        .contains("[2, 0, 1]")
    );
    assert!(MlpConfig::new([2], Activation::Elu).architecture().is_err());
    assert!(
        MlpConfig::new([usize::MAX, 2], Activation::Elu)
            .architecture()
            .is_err()
    );
    let closed = GateSpec {
        drop_rate: 1.0,
        ..GateSpec::default()
    };
    assert!(
        message(config.clone().gated(closed).architecture().unwrap_err()).contains("drop_rate = 1")
    );
    let layer = |inputs, outputs| Dense {
        inputs,
        outputs,
        activation: Activation::Elu,
        gating: Gating::Plain,
        bias: true,
    };
    assert!(
        message(Architecture::new(vec![layer(2, 3), layer(4, 1)]).unwrap_err())
            .contains("inputs of layer 1: got 4, expected 3")
    );
    assert!(
        message(Mlp::from_parameters(model.architecture().clone(), vec![0.0; 2]).unwrap_err())
            .contains("got 2, expected 13")
    );
    assert!(model.predict(&[1.0, 2.0, 3.0]).is_err());
    let mut pass = Pass::new(model.architecture(), 2);
    let forward = |pass: &mut Pass, x: &[f32]| {
        pass.forward(model.parameters(), x, Draw::TestTime)
            .map(<[f32]>::len)
    };
    assert!(forward(&mut pass, &[1.0; 6]).is_err());
    assert!(forward(&mut pass, &[]).is_err());
    // Before a forward pass, or after one that failed, there is nothing to go back through.
    assert!(
        pass.backward(model.parameters(), &mut [0.0; 13], None)
            .is_err()
    );
    assert!(pass.output().is_empty() && pass.loss(Loss::MeanSquaredError, &[], 1).is_err());
    assert_eq!(forward(&mut pass, &[1.0; 4]).unwrap(), 2);
    assert!(pass.loss(Loss::MeanSquaredError, &[0.0], 2).is_err());
    assert!(pass.loss(Loss::MeanSquaredError, &[0.0; 2], 1).is_err());
    assert!(
        pass.backward(model.parameters(), &mut [0.0; 12], None)
            .is_err()
    );
    let wide = Dense {
        inputs: 1 << 60,
        outputs: 0,
        activation: Activation::Elu,
        gating: Gating::Plain,
        bias: true,
    };
    assert!(
        Architecture::new(vec![
            wide,
            Dense {
                inputs: 0,
                outputs: 1,
                ..wide
            }
        ])
        .is_err()
    );
    assert!(
        model
            .architecture()
            .penalise(&[0.0; 3], &Penalty::none(), &mut [0.0; 13])
            .is_err()
    );
    assert!(
        message(
            Loss::CrossEntropy
                .check_targets(&[0.0, 3.0], 2, 3)
                .unwrap_err()
        )
        .contains("whole number below 3")
    );
    assert!("gelu".parse::<Activation>().is_err());
}
