//! Laws of rates of change by the likelihood of the measurements themselves.
//!
//! Rates of change are second-hand: differences and bumps mix the noise of neighbouring samples, and coarse sampling ruins them. What was measured are the states. Runs are cut into [`Window`]s; unknown are the coefficients of the law and the
//! state at the beginning of each window, and the most likely ones bring the law's trajectories nearest to the measurements, in deviations of their errors. [`likely_law`] begins with a law that is near,
//! drops, adds and exchanges terms as the evidence says, and tells how sure every coefficient is, which terms might belong, and what would do almost as well. [`held_out_r2`] holds it against windows that it was not fitted to, [`wanted_terms`] looks for what it lacks.

mod choose;
mod evidence;
mod fit;
mod flow;
mod held_out;
mod law;
mod linear;
mod neighbours;
mod noise;
mod slopes;
mod wanted;
mod window;

pub use choose::{likely_law, likely_law_watched};
pub use held_out::held_out_r2;
pub use law::{
    Alternative, Beginning, Candidates, LikelihoodConfig, LikelyEquation, LikelyLaw, Terms,
};
pub use neighbours::{Change, alternatives, probabilities};
pub use noise::Noise;
pub use wanted::{Wanted, wanted_terms};
pub use window::Window;

#[cfg(test)]
mod tests;
