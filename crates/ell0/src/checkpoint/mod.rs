//! States on the disk: what a run that may be killed at any moment needs to go on from where it was.
//!
//! - [`to_bytes`] and [`from_bytes`]: one safetensors file of named [`Tensor`]s, with everything that is not a tensor as JSON in its header and a checksum over both.
//! - [`write_whole`] and [`WholeFile`]: a file is written beside its place and renamed, so that a kill leaves the old one or the new one. [`WholeFolder`]: a folder likewise.
//! - [`clear_leftovers`], [`discard_unfinished`]: what was not finished goes, by the next process or by this one.
//! - [`Journal`]: rows that only grow, in blocks with a checksum each. A state that names how many rows it knows of finds exactly these again.
//! - [`Checksum`]: whether a file is still what was written.
//!
//! ```
//! use ell0::checkpoint::{Tensor, from_bytes, to_bytes, write_whole};
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Header {
//!     steps: u64,
//! }
//!
//! let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("run.safetensors");
//! let tensors = [("weights".to_string(), Tensor::flat(&[1.0, 2.0][..]))];
//! write_whole(&path, &to_bytes("my-run", 1, &Header { steps: 7 }, &tensors)?)?;
//!
//! let bytes = std::fs::read(&path).unwrap();
//! let (header, tensors) = from_bytes::<Header>("my-run", 1, &bytes, &path)?;
//! assert_eq!(header.steps, 7);
//! assert_eq!(tensors.take("weights", &[2])?, [1.0, 2.0]);
//! # Ok::<(), ell0::Error>(())
//! ```

mod checksum;
mod container;
mod journal;
mod unfinished;
mod whole;

pub use checksum::Checksum;
pub use container::{Tensor, Tensors, format_of, from_bytes, to_bytes};
pub use journal::Journal;
pub use unfinished::{
    LOCK, Unplaced, WholeFolder, clear_leftovers, discard_unfinished, is_temporary,
};
pub use whole::{WholeFile, write_whole};

#[cfg(test)]
mod tests;
