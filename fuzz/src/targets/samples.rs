//! Small valid things that several targets begin with, made by the library itself.

use std::{io::Write, path::Path, sync::Arc};

use ell0::{
    equation::{Dynamics, Expression, Model},
    network::{Activation, GateSpec, Mlp, MlpConfig},
    rng::Stream,
    training::{Dataset, Silent as Quiet, Trainer, TrainerConfig},
};
use ell0_control::{
    agent::{AlgorithmConfig, Saver, Td3Config, TrainConfig, Training},
    environment::make,
};
use ell0_data::frame::Frame;
use ell0_run::{DataSettings, FitSettings};

/// A damped oscillator, sampled.
pub fn oscillator(rows: u32) -> Frame {
    let t: Vec<f64> = (0..rows).map(|k| 0.05 * f64::from(k)).collect();
    let decay = |t: &f64| (-0.1 * t).exp();
    let x = t.iter().map(|t| decay(t) * (2.0 * t).cos()).collect();
    let v = t
        .iter()
        .map(|t| decay(t) * (-0.1 * (2.0 * t).cos() - 2.0 * (2.0 * t).sin()))
        .collect();
    Frame::new([("t", t), ("x", x), ("v", v)])
}

/// A table as CSV.
pub fn csv_of(table: &Frame) -> String {
    let mut csv = table.names().join(",") + "\n";
    let columns = table.columns();
    for row in 0..columns[0].len() {
        let cells = columns.iter().map(|c| c[row].to_string());
        csv += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    csv
}

/// Tables as text.
pub fn tables() -> Vec<Vec<u8>> {
    let small = csv_of(&oscillator(8));
    let named = "name,t,x\nfirst,0,1.5\nfirst,1,2.5\nsecond,0,-1e-3\nsecond,0.5,7\n";
    let gaps = "t;x;v\n0;1;2\n1;;3\n2;nan;4\n9;3;5\n";
    let quoted = "\"a b\",\"c,d\",\"e\"\"f\"\n1,2,3\n\"4\",5,6\n";
    [small.as_str(), named, gaps, quoted]
        .map(|t| t.as_bytes().to_vec())
        .into()
}

/// Bytes as one member of a gzip file.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// What is asked of the oscillator.
pub fn question() -> DataSettings {
    DataSettings {
        states: vec!["x".into(), "v".into()],
        library: ell0::features::Library::polynomial(2),
        ..DataSettings::default()
    }
}

/// A law by `ell0 fit`, and laws by hand.
pub fn models() -> anyhow::Result<Vec<Model>> {
    let fit = FitSettings {
        data: question(),
        ..FitSettings::default()
    };
    let found = fit.run_on(&[oscillator(60)], &ell0_run::Silent)?;
    let by_hand = |inputs: &[&str], laws: &[(&str, &str)], dynamics| -> anyhow::Result<Model> {
        let laws = laws.iter().map(|(target, text)| {
            let law = Expression::parse(text, inputs)?;
            Ok((target.to_string(), law))
        });
        let inputs = inputs.iter().map(ToString::to_string).collect();
        let laws = laws.collect::<ell0::Result<Vec<_>>>()?;
        Ok(Model::new(inputs, laws, dynamics)?)
    };
    let law = "2*tanh(-4.66*sin_theta - 0.5*theta_dot - 3.82*cos_theta*theta_dot)";
    let inputs = ["cos_theta", "sin_theta", "theta_dot"];
    let chaos = [("x", "3.9*x*(1 - x)"), ("y y", "exp(-x^2)/`y y`")];
    let rates = [("a", "log(abs(a)) - sqrt(a^2)"), ("b", "sign(a) + b^0.5")];
    Ok(vec![
        found.model,
        by_hand(&inputs, &[("torque", law)], Dynamics::Regression)?,
        by_hand(&["x", "y y"], &chaos, Dynamics::Discrete)?,
        by_hand(&["a", "b", "u"], &rates, Dynamics::Continuous)?,
    ])
}

/// The settings of a training that takes no time.
pub fn training_settings(policy: &str) -> TrainConfig {
    TrainConfig {
        environment: "pendulum(g=9.81, limit=10)".into(),
        policy: policy.into(),
        episodes: 4,
        random_episodes: 1,
        updates_after: 2,
        updates: 2,
        replay: 200,
        agent: AlgorithmConfig::Td3(Td3Config {
            critic_hidden: vec![4],
            batch: 8,
            ..Td3Config::default()
        }),
        ..TrainConfig::default()
    }
}

/// A training of two episodes, saved under a stem.
pub fn train(policy: &str, stem: &Path) -> anyhow::Result<Training> {
    let config = training_settings(policy);
    let world = make(&config.environment)?;
    let mut training = Training::new(config, world)?;
    for _ in 0..3 {
        training.episode()?;
    }
    Saver::create(stem, &training)?.save(&training)?;
    Ok(training)
}

/// What a network learns from.
pub fn dataset() -> ell0::Result<Arc<Dataset>> {
    let x: Vec<f32> = (0..24).map(|k| k as f32 / 24.0).collect();
    let y: Vec<f32> = x.chunks(2).map(|row| row[0] - row[1]).collect();
    Ok(Arc::new(Dataset::new(&x, 2, &y, 1)?))
}

/// The checkpoint of a network that has learned a little.
pub fn network() -> ell0::Result<Vec<u8>> {
    let config = MlpConfig::new([2, 3, 1], Activation::Elu).gated(GateSpec::default());
    let model = Mlp::new(&config, &Stream::new(1))?;
    let settings = TrainerConfig {
        epochs: 2,
        batch_size: 4,
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(model, settings, dataset()?, None)?;
    trainer.fit(&mut Quiet)?;
    trainer.to_bytes()
}
