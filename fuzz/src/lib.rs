//! The machine that looks for inputs which ell0 does not survive.
//!
//! - [`targets`]: parsers, each with valid inputs and ways to spoil them; [`mutate`]: those ways.
//! - [`worker`]: the process that runs cases; [`parsers`]: its parent, which outlives it; [`alone`]: one case by itself; [`limits`]: time, memory and panics of a case.
//! - [`mod@shrink`] and [`cases`]: a case that fails is made small and kept.
//! - [`commands`]: sequences of real commands. [`kills`]: runs that are killed and go on.
//!
//! All of it is a function of a seed: case k of a parser can be made again from the seed and k alone ([`dice`]).

pub mod alone;
pub mod cases;
pub mod commands;
pub mod desk;
pub mod dice;
pub mod files;
pub mod kills;
pub mod limits;
pub mod mutate;
pub mod parsers;
pub mod shrink;
pub mod summary;
pub mod targets;
pub mod verdict;
pub mod worker;
