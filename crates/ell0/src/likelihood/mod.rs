//! Laws of rates of change by the likelihood of the measurements themselves.
//!
//! Rates of change are second-hand: differences and bumps mix the noise of neighbouring samples, and coarse sampling ruins them. What was measured are the states. Runs are cut into [`Window`]s; unknown are the coefficients of the law and the
//! state at the beginning of each window, and the most likely ones bring the law's trajectories nearest to the measurements, in deviations of their errors. [`likely_law`] begins with a law that is near,
//! drops and adds terms as the evidence says, and tells how sure every coefficient is.

mod choose;
mod fit;
mod flow;
mod linear;
mod noise;
mod slopes;
mod window;

pub use choose::{LikelihoodConfig, LikelyEquation, LikelyLaw, likely_law};
pub use noise::Noise;
pub use window::Window;

#[cfg(test)]
mod tests;
