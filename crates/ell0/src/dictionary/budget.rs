//! How much work a search may do: counted operations, so that the same search ends at the same place on every machine.

use std::cell::Cell;

/// Work that is left, in about so many operations.
#[derive(Debug)]
pub(super) struct Budget(Cell<u64>);

impl Budget {
    pub fn new(most_work: u64) -> Self {
        Budget(Cell::new(most_work))
    }

    /// One that is never spent.
    pub fn endless() -> Self {
        Budget::new(u64::MAX)
    }

    /// Takes note of work that was done.
    pub fn spend(&self, work: usize) {
        self.0.set(self.0.get().saturating_sub(work as u64));
    }

    pub fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}
