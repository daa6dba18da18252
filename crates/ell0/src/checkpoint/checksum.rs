//! A checksum of numbers and bytes that keeps up with the disk.

/// A running checksum, eight bytes at a time. Each step is one-to-one in the sum so far, so a change within any eight bytes is always found; several changes are missed
/// once in 2⁶⁴. It is no defence against intent.
#[derive(Clone, Copy, Debug)]
pub struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Checksum::new()
    }
}

impl Checksum {
    /// Of nothing so far.
    #[must_use]
    pub fn new() -> Self {
        Checksum(0xcbf2_9ce4_8422_2325)
    }

    /// Eight bytes as a number.
    #[inline]
    pub fn word(&mut self, word: u64) {
        // The rotation lets high bits reach low ones.
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }

    /// Bytes, with their number before them: what follows cannot be taken for their end.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for &word in words {
            self.word(u64::from_le_bytes(word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
    }

    /// The same as [`Checksum::bytes`] of the values in little-endian order.
    pub fn values(&mut self, values: &[f32]) {
        self.word(values.len() as u64 * 4);
        let (pairs, rest) = values.as_chunks::<2>();
        for [low, high] in pairs {
            self.word(u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32);
        }
        self.word(rest.first().map_or(0, |last| u64::from(last.to_bits())));
    }

    /// The sum.
    #[must_use]
    pub fn finish(self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    }
}

/// Numbers as little-endian bytes, behind what is there already.
pub(super) fn push_values(values: &[f32], bytes: &mut Vec<u8>) {
    let start = bytes.len();
    bytes.resize(start + 4 * values.len(), 0);
    for (bytes, value) in bytes[start..].as_chunks_mut().0.iter_mut().zip(values) {
        *bytes = value.to_le_bytes();
    }
}

/// Numbers of little-endian bytes.
pub(super) fn values_of(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b))
}
