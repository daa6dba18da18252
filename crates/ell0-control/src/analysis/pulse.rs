//! Long work that can be watched and stopped.

/// Called again and again while an analysis is at work, from several threads at once. `false` asks it to stop; what it returns then is not finished, and whoever asked knows.
pub type Pulse<'a> = &'a (dyn Fn() -> bool + Sync);

/// The pulse of those who wait to the end.
#[must_use]
pub fn on() -> bool {
    true
}
