//! What a run tells while it goes on, and how it is stopped.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use crate::error::{Error, Result};

/// What a run tells. Tasks may go on side by side; each is known by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A task begins.
    Began {
        /// Its name.
        task: &'a str,
        /// Its steps, where anybody knows.
        steps: Option<u64>,
    },
    /// A task has come so far.
    Reached {
        /// Its name.
        task: &'a str,
        /// Steps that are done.
        step: u64,
        /// How it stands, in a few words; may be empty.
        note: &'a str,
    },
    /// A task is over.
    Ended {
        /// Its name.
        task: &'a str,
        /// What came out, in a few words; may be empty.
        note: &'a str,
    },
    /// A sentence for whoever watches.
    Note(&'a str),
}

/// Hears how a run goes, from several threads at once, and may stop it. Whatever can be resumed is saved before the run returns.
pub trait Observer: Sync {
    /// Something happened. `Break` asks the run to stop at the next moment from which it can go on.
    fn hear(&self, event: Event) -> ControlFlow<()> {
        let _ = event;
        ControlFlow::Continue(())
    }

    /// Whether what there is will do. A training that hears so brings itself to an end after the episode under way, with the best that it has; nothing else looks.
    fn has_enough(&self) -> bool {
        false
    }

    /// The time since 1970. A run looks at no clock of its own: times in results, and how often it saves, come from here. The clock of those who do not care stands still at 0; then runs save by count.
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

/// A function hears events; it has no clock.
impl<F: Fn(Event) -> ControlFlow<()> + Sync> Observer for F {
    fn hear(&self, event: Event) -> ControlFlow<()> {
        self(event)
    }
}

/// An observer that looks away and has no clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// An observer that looks away but has the clock of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timed;

impl Observer for Timed {
    fn now(&self) -> Duration {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.unwrap_or_default()
    }
}

/// Steps of [`Task::beat`] that are told together.
const BEATS: u64 = 16;

/// A task that counts its steps for an observer, and remembers whether it was asked to stop.
pub(crate) struct Task<'a> {
    observer: &'a dyn Observer,
    name: &'a str,
    done: AtomicU64,
    stopped: AtomicBool,
}

impl<'a> Task<'a> {
    pub fn begin(observer: &'a dyn Observer, name: &'a str, steps: Option<u64>) -> Self {
        let task = Task {
            observer,
            name,
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        };
        task.tell(Event::Began { task: name, steps });
        task
    }

    fn tell(&self, event: Event) {
        if self.observer.hear(event).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    /// So many more steps are done.
    pub fn advance(&self, steps: u64) {
        let step = self.done.fetch_add(steps, Ordering::Relaxed) + steps;
        let (task, note) = (self.name, "");
        self.tell(Event::Reached { task, step, note });
    }

    /// So many steps are done, and how it stands.
    pub fn reach(&self, step: u64, note: &str) {
        self.done.store(step, Ordering::Relaxed);
        let task = self.name;
        self.tell(Event::Reached { task, step, note });
    }

    /// Whether nobody has asked to stop.
    pub fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed)
    }

    /// One more step is done; whether to go on. Steps that take no time are told together.
    pub fn beat(&self) -> bool {
        let step = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if step.is_multiple_of(BEATS) {
            let (task, note) = (self.name, "");
            self.tell(Event::Reached { task, step, note });
        }
        !self.stopped.load(Ordering::Relaxed)
    }

    /// No further step is done, but work goes on: tells so. Whether to go on.
    pub fn still(&self) -> bool {
        let step = self.done.load(Ordering::Relaxed);
        let (task, note) = (self.name, "");
        self.tell(Event::Reached { task, step, note });
        !self.stopped.load(Ordering::Relaxed)
    }

    /// The task is over; an error if the observer asked to stop.
    pub fn end(self) -> Result<()> {
        self.go_on()
    }

    /// An error if the observer asked to stop.
    pub fn go_on(&self) -> Result<()> {
        if self.stopped.load(Ordering::Relaxed) {
            Err(Error::Stopped { folder: None })
        } else {
            Ok(())
        }
    }
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        let (task, note) = (self.name, "");
        self.tell(Event::Ended { task, note });
    }
}

/// Seconds since a moment, by the observer's clock.
pub(crate) fn seconds_since(observer: &dyn Observer, began: Duration) -> f64 {
    observer.now().saturating_sub(began).as_secs_f64()
}
