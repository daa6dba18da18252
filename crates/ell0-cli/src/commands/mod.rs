//! The commands, one file each.

pub mod fit;
pub mod gates;
