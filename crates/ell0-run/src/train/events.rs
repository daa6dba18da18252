//! Event files for TensorBoard: records of protocol buffers, each with its length and two checksums.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

use ell0::protobuf::Message;
use ell0_control::agent::EpisodeRecord;

use crate::{
    error::{Error, Result},
    observer::Observer,
};

/// TensorBoard takes any file with `tfevents` in its name.
pub const FILE: &str = "events.out.tfevents.ell0";

/// An event file that grows with the run, so that TensorBoard shows it live.
pub struct Events<'a> {
    file: File,
    place: PathBuf,
    observer: &'a dyn Observer,
}

impl<'a> Events<'a> {
    /// Begins the file in a folder anew, with what happened so far: after an interruption the end of the old one may be beyond the checkpoint, or half a record.
    pub fn begin(
        folder: &Path,
        history: &[EpisodeRecord],
        observer: &'a dyn Observer,
    ) -> Result<Self> {
        let place = folder.join(FILE);
        std::fs::create_dir_all(folder).map_err(Error::io("write", &place))?;
        let mut events = Events {
            file: File::create(&place).map_err(Error::io("write", &place))?,
            place,
            observer,
        };
        let mut version = Message::default();
        version.double(1, events.now());
        version.bytes(3, b"brain.Event:2");
        events.write(&version)?;
        history.iter().try_for_each(|r| events.push(r))?;
        Ok(events)
    }

    /// Writes an episode, all its numbers in one event.
    pub fn push(&mut self, episode: &EpisodeRecord) -> Result<()> {
        let values = [
            ("return/training", Some(episode.training_return)),
            ("return/evaluation", episode.evaluation_return),
            ("critic/loss", episode.critic_loss),
            ("critic/scale", Some(episode.q_scale)),
            ("gates/terms", episode.terms.map(|t| t as f64)),
            ("gates/price", Some(episode.price)),
        ];
        let mut summary = Message::default();
        for (tag, value) in values {
            if let Some(value) = value {
                let mut scalar = Message::default();
                scalar.bytes(1, tag.as_bytes());
                scalar.float(2, value as f32);
                summary.message(1, &scalar);
            }
        }
        let mut event = Message::default();
        event.double(1, self.now());
        event.varint(2, episode.episode);
        event.message(5, &summary);
        self.write(&event)
    }

    fn write(&mut self, message: &Message) -> Result<()> {
        let bytes = record(message.as_bytes());
        let written = self.file.write_all(&bytes);
        written.map_err(Error::io("write", &self.place))
    }

    fn now(&self) -> f64 {
        self.observer.now().as_secs_f64()
    }
}

/// Length, its checksum, the bytes, their checksum.
fn record(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u64).to_le_bytes();
    let mut all = length.to_vec();
    all.extend_from_slice(&masked_crc(&length).to_le_bytes());
    all.extend_from_slice(bytes);
    all.extend_from_slice(&masked_crc(bytes).to_le_bytes());
    all
}

fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), bit by bit: event files are small.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the CRC's catalogue, and of RFC 3720, B.4.
    #[test]
    fn checksums_are_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    /// Length and two checksums around the bytes.
    #[test]
    fn records_have_a_frame() {
        assert_eq!(record(b"testing").len(), 8 + 4 + 7 + 4);
    }
}
