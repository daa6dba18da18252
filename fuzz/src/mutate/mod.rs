//! Ways to spoil what is valid, from those that know nothing of it to those that know its structure.

pub mod bytes;
pub mod csv;
pub mod json;
pub mod tokens;
pub mod tree;
