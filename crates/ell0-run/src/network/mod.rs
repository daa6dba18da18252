//! Sparse networks for tables in files or in memory: trained with gates, then compacted.
//!
//! ```
//! use ell0_run::{NetworkSettings, NetworkTask, Silent};
//! // Whether a point lies above the line; the second input says nothing.
//! let x: Vec<f64> = (0..400).flat_map(|k| [f64::from(k) / 200.0 - 1.0, f64::from(k % 7)]).collect();
//! let y: Vec<f64> = (0..400).map(|k| f64::from(u8::from(k >= 200))).collect();
//! let settings = NetworkSettings {
//!     task: NetworkTask::Classification,
//!     classes: 2,
//!     hidden: vec![8],
//!     epochs: 60,
//!     learning_rate: 0.01,
//!     ..NetworkSettings::default()
//! };
//! let network = settings.run_on(&x, 2, &y, &Silent)?;
//! let logits = network.predict(&[0.9, 0.0, -0.9, 0.0])?;
//! assert!(logits[1] > logits[0] && logits[2] > logits[3]);
//! # Ok::<(), ell0_run::Error>(())
//! ```

mod apart;
mod copies;
mod data;
mod figures;
mod folder;
mod names;
mod page;
mod prepare;
mod quality;
mod results;
mod run;
mod scale;
mod settings;
mod told;
mod trained;
mod weights;
mod work;

pub use data::NetworkData;
pub use names::Names;
pub use quality::{Calibration, Quality};
pub use results::{MeasuredOn, NetworkEpoch, NetworkResult, NetworkRun};
pub use run::NetworkRunSettings;
pub use scale::Scale;
pub use settings::{NetworkGates, NetworkScaling, NetworkSchedule, NetworkSettings, NetworkTask};
pub use trained::SparseNetwork;
pub(crate) use trained::{FILE, FORMAT};
pub use weights::ClassWeights;
pub use work::NetworkScoreSettings;

#[cfg(test)]
mod tests;
