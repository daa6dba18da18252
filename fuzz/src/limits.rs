//! Time, memory and panics of one case.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use cap::Cap;
use peak_alloc::PeakAlloc;

use crate::verdict::{Fault, Kind, Verdict};

/// The longest that a case may take.
pub const TIME: Duration = Duration::from_secs(2);

/// The most memory that a case may need beyond what was there.
pub const MEMORY: usize = 256 << 20;

/// Beyond this the allocator refuses, so that a case cannot take the machine with it.
const END_OF_MEMORY: usize = 1 << 30;

/// Cases run on a stack of this size, that of a main thread: those of tests would be smaller.
const STACK: usize = 8 << 20;

// One counts, the other refuses.
#[global_allocator]
static ALLOCATOR: Cap<PeakAlloc> = Cap::new(PeakAlloc, usize::MAX);

/// What a case came to, and what it cost.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The verdict, also on time and memory.
    pub verdict: Verdict,
    /// How long it took.
    pub time: Duration,
    /// Bytes beyond what was there before.
    pub memory: usize,
}

/// The last panic that nobody was going to make an error of.
static PANIC: Mutex<Option<(String, String)>> = Mutex::new(None);

/// Panics are remembered instead of printed.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            if ell0_data::table::panics_are_errors() {
                return;
            }
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            let place = info.location().map_or(String::new(), |l| {
                format!("{}:{}", short(l.file()), l.line())
            });
            let mut last = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some((place, text.unwrap_or_default()));
        }));
    });
}

/// The end of a path: where sources lie on this machine is nobody's business.
fn short(path: &str) -> String {
    let parts: Vec<&str> = path.split(['/', '\\']).collect();
    let from = match parts.iter().rposition(|p| *p == "crates" || *p == "src") {
        Some(at) if parts[at] == "crates" => at,
        Some(at) => at.saturating_sub(1),
        None => parts.len().saturating_sub(2),
    };
    parts[from..].join("/")
}

/// Runs a case within its limits. What it cannot be stopped at, a [`Watchdog`] sees.
pub fn measured(run: impl FnOnce() -> Verdict) -> Measured {
    silence();
    let base = PeakAlloc.current_usage();
    PeakAlloc.reset_peak_usage();
    let _ = ALLOCATOR.set_limit(ALLOCATOR.allocated() + END_OF_MEMORY);
    let began = Instant::now();
    let answer = catch_unwind(AssertUnwindSafe(run));
    let time = began.elapsed();
    let memory = PeakAlloc.peak_usage().saturating_sub(base);
    let _ = ALLOCATOR.set_limit(usize::MAX);
    let verdict = answer.unwrap_or_else(|_| {
        let mut last = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        let (place, text) = last.take().unwrap_or_default();
        Err(Fault::new(Kind::Panic, place, text))
    });
    let verdict = verdict.and_then(|outcome| {
        if time > TIME {
            let what = format!("{} ms", time.as_millis());
            return Err(Fault::new(Kind::Slow, "", what));
        }
        if memory > MEMORY {
            let what = format!("{} MB", memory >> 20);
            return Err(Fault::new(Kind::Memory, "", what));
        }
        Ok(outcome)
    });
    Measured {
        verdict,
        time,
        memory,
    }
}

/// Calls a function on a stack as large as that of a main thread.
pub fn on_usual_stack<T: Send>(run: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, run)?;
        thread
            .join()
            .map_err(|_| std::io::Error::other("the driver itself panicked"))
    })
}

/// When the present case began, in milliseconds since the watchdog did, and 1; 0 between two cases.
static BEGAN: AtomicU64 = AtomicU64::new(0);

/// Sees cases that do not end.
#[derive(Debug)]
pub struct Watchdog {
    start: Instant,
}

impl Watchdog {
    /// Calls `bark` when a case takes longer than it may. It will not come back to its loop: `bark` should end the process.
    pub fn start(limit: Duration, bark: impl Fn() + Send + 'static) -> Self {
        let start = Instant::now();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(50));
                let began = BEGAN.load(Ordering::Relaxed);
                let now = start.elapsed().as_millis() as u64 + 1;
                if began != 0 && now.saturating_sub(began) > limit.as_millis() as u64 {
                    bark();
                }
            }
        });
        Watchdog { start }
    }

    /// A case begins.
    pub fn begin(&self) {
        let now = self.start.elapsed().as_millis() as u64 + 1;
        BEGAN.store(now, Ordering::Relaxed);
    }

    /// It has ended.
    pub fn end(&self) {
        BEGAN.store(0, Ordering::Relaxed);
    }
}
