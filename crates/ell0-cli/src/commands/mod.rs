//! The commands, one file each (those that use a finished model share one).

pub mod fit;
pub mod gates;
pub mod model;
