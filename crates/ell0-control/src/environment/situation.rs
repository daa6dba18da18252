//! Where policies are compared beyond what they were trained on.

use super::{Environment, Start};

/// A world and starts in it that policies are compared on.
pub struct Situation {
    /// What it is: `training`, `interpolation`, `extrapolation` or the like.
    pub name: String,
    /// Deviation of the noise on what is seen.
    pub noise: f64,
    /// The world.
    pub world: Box<dyn Environment>,
    /// The starts.
    pub starts: Vec<Start>,
}
