//! A stream of which only so much may be read before somebody says that it goes on well.

use std::{
    io::{self, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// What may still be read; a copy shares it.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    left: Arc<AtomicU64>,
    whole: u64,
}

impl Allowance {
    pub fn new(whole: u64) -> Self {
        Allowance {
            left: Arc::new(AtomicU64::new(whole)),
            whole,
        }
    }

    /// A part was read to its end: the next one may be as long.
    pub fn renew(&self) {
        self.left.store(self.whole, Ordering::Relaxed);
    }

    /// Whether a part was longer than it may be.
    pub fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

/// A stream that fails where its allowance is spent. The parser behind it keeps what it reads until a part is whole, so this is what bounds its memory.
#[derive(Debug)]
pub(super) struct Bounded<R> {
    inner: R,
    allowance: Allowance,
}

impl<R> Bounded<R> {
    pub fn new(inner: R, allowance: Allowance) -> Self {
        Bounded { inner, allowance }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.allowance.left.load(Ordering::Relaxed);
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("it goes on for too long"));
        }
        let most = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = self.inner.read(&mut buffer[..most])?;
        let left = left.saturating_sub(read as u64);
        self.allowance.left.store(left, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_read_and_no_more() {
        let allowance = Allowance::new(10);
        let mut stream = Bounded::new(io::repeat(7), allowance.clone());
        let mut bytes = [0; 8];
        stream.read_exact(&mut bytes).expect("eight of ten");
        assert!(!allowance.is_spent());
        assert!(stream.read_exact(&mut bytes).is_err() && allowance.is_spent());
        allowance.renew();
        stream.read_exact(&mut bytes).expect("eight of ten");
    }
}
