//! A network that finds out which of its inputs and units it needs. docs/method/networks.md shows this file.

use std::sync::Arc;

use ell0::{
    gates::Penalty,
    network::{Activation, GateSpec, Mlp, MlpConfig},
    rng::Stream,
    training::{Dataset, Silent, Trainer, TrainerConfig},
};

fn main() -> ell0::Result<()> {
    // y = sin x₀ + x₁, and x₂ does not matter.
    let mut rng = Stream::new(0).at(0);
    let x: Vec<f32> = (0..6000).map(|_| rng.normal() as f32).collect();
    let y: Vec<f32> = x.chunks(3).map(|row| row[0].sin() + row[1]).collect();
    let data = Arc::new(Dataset::new(&x, 3, &y, 1)?);

    let network = MlpConfig::new([3, 32, 32, 1], Activation::Elu).gated(GateSpec::default());
    let model = Mlp::new(&network, &Stream::new(1))?;
    let config = TrainerConfig {
        penalty: Penalty::expected_l0(5e-5)?,
        epochs: 200,
        batch_size: 64,
        learning_rate: 3e-3,
        gate_learning_rate: Some(3e-2),
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(model, config, data.clone(), None)?;
    trainer.fit(&mut Silent)?;

    let size = trainer.model().complexity()?;
    println!("error {:.4}", trainer.evaluate(&data)?);
    println!("inputs read: {:?}", trainer.model().compact()?.inputs());
    println!(
        "FLOPs: {} before, {} compacted",
        size.flops, size.compacted_flops
    );
    Ok(())
}
