//! Training of gated networks.
//!
//! - [`Dataset`]: rows of inputs and targets, checked once.
//! - [`TrainerConfig`]: every choice of a run, checked once; [`Schedule`], [`Warmup`], [`AdamConfig`] are its parts.
//! - [`Trainer`]: one step is gather, draw gates, forward, backward, penalty, clip, Adam; [`Trainer::fit`] runs the epochs.
//! - [`Observer`]: how a caller sees progress, and stops it.
//! - [`Trainer::save`] and [`Trainer::resume`]: checkpoints that go on to the same bits.
//!
//! ```
//! use ell0::{
//!     gates::Penalty,
//!     network::{Activation, GateSpec, Mlp, MlpConfig},
//!     rng::Stream,
//!     training::{Dataset, TrainerConfig, Silent, Trainer},
//! };
//! // y = 2 x₀, and x₁ does not matter.
//! let mut rng = Stream::new(0).at(0);
//! let x: Vec<f32> = (0..2000).map(|_| rng.normal() as f32).collect();
//! let y: Vec<f32> = x.chunks(2).map(|row| 2.0 * row[0]).collect();
//! let data = Dataset::new(&x, 2, &y, 1)?;
//! let model = Mlp::new(&MlpConfig::new([2, 1], Activation::Identity).gated(GateSpec::default()), &Stream::new(1))?;
//! let config = TrainerConfig { epochs: 60, batch_size: 50, learning_rate: 0.02, penalty: Penalty::expected_l0(0.05)?, ..TrainerConfig::default() };
//! let mut trainer = Trainer::new(model, config, data, None)?;
//! trainer.fit(&mut Silent)?;
//! assert_eq!(trainer.model().compact()?.inputs(), [0]);
//! # Ok::<(), ell0::Error>(())
//! ```

mod adam;
mod averaging;
mod checkpoint;
mod config;
mod dataset;
mod evaluate;
mod history;
mod schedule;
mod snapshot;
mod step;
mod trainer;
mod update;

pub use adam::{Adam, AdamConfig, AdamMemory, Group};
pub use averaging::follow;
pub use config::{Keep, TrainerConfig};
pub use dataset::Dataset;
pub use evaluate::evaluate;
pub use history::{EpochRecord, Observer, Outcome, Silent, StepRecord};
pub use schedule::{Schedule, Warmup};
pub use trainer::{Best, Trainer};

#[cfg(test)]
mod tests;
