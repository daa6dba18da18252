//! Readers of others that panic on some damaged files, where they should return an error.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside the reader of a format whose panics are turned into errors: a panic hook need not report them.
pub fn panics_are_errors() -> bool {
    GUARDED.get()
}

/// What the work gives; none if it panics.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    GUARDED.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(false);
    result.ok()
}
