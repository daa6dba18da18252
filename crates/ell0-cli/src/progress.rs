//! Runs on the terminal: bars for work that takes longer than a second, and Ctrl-C.

use crate::screen;
use std::{
    collections::HashMap,
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use ell0::checkpoint::discard_unfinished;
use ell0_run::{Event, Observer, Timed};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that is shorter than this has no bar.
const SHORT: Duration = Duration::from_secs(1);

/// A bar for every task that goes on for a while; never where the output is no terminal.
pub struct Bars {
    all: MultiProgress,
    bars: Mutex<HashMap<String, Bar>>,
    terminal: bool,
}

/// Whether Ctrl-C was pressed, and whether what goes on now can be stopped and gone on with later.
static STOP: AtomicBool = AtomicBool::new(false);
static STOPPABLE: AtomicBool = AtomicBool::new(false);

/// Ctrl-C and SIGTERM: what is half-written is thrown away. A run that can go on later saves first; a second signal ends it at once, too.
pub fn obey_signals() {
    // Without a handler a limit on the size of files (`ulimit -f`) would kill the process in the midst of a write; with one it is an error like a full disk.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    let _ = ctrlc::set_handler(|| {
        if !STOPPABLE.load(Ordering::SeqCst) || STOP.swap(true, Ordering::SeqCst) {
            discard_unfinished();
            std::process::exit(130);
        }
    });
}

struct Bar {
    bar: ProgressBar,
    began: Instant,
    shown: bool,
}

impl Bars {
    pub fn new() -> Self {
        Bars {
            all: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
            bars: Mutex::default(),
            terminal: screen::has_messages_on_a_terminal(),
        }
    }

    /// For runs that can go on later: the first Ctrl-C lets every job save, the second ends at once.
    pub fn stoppable() -> Self {
        STOPPABLE.store(true, Ordering::SeqCst);
        Bars::new()
    }

    /// Whether Ctrl-C was pressed.
    pub fn stopped(&self) -> bool {
        STOP.load(Ordering::SeqCst)
    }

    fn show(&self, event: Event) {
        let mut bars = self.bars.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Began { task, steps } => {
                let template = match steps {
                    Some(_) => "{prefix} {bar:24} {human_pos}/{human_len} {msg} ({eta} left)",
                    None => "{prefix} {human_pos} ({per_sec})",
                };
                let style = ProgressStyle::with_template(template);
                let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::hidden())
                    .with_style(style.unwrap_or(ProgressStyle::default_bar()))
                    .with_prefix(task.to_string());
                let (began, shown) = (Instant::now(), false);
                bars.insert(task.to_string(), Bar { bar, began, shown });
            }
            Event::Reached { task, step, note } => {
                if let Some(bar) = bars.get_mut(task) {
                    if !bar.shown && bar.began.elapsed() > SHORT {
                        bar.bar = self.all.add(bar.bar.clone());
                        bar.shown = true;
                    }
                    bar.bar.set_position(step);
                    if !note.is_empty() {
                        bar.bar.set_message(note.to_string());
                    }
                }
            }
            Event::Ended { task, note } => {
                if let Some(bar) = bars.remove(task) {
                    match note {
                        "" => bar.bar.finish_and_clear(),
                        note => bar.bar.finish_with_message(note.to_string()),
                    }
                }
            }
            _ => {}
        }
    }

    /// Clears the screen of bars.
    pub fn clear(&self) {
        let _ = self.all.clear();
    }
}

impl Observer for Bars {
    fn hear(&self, event: Event) -> ControlFlow<()> {
        match event {
            Event::Note(note) if self.terminal => {
                let _ = self.all.println(note);
            }
            event if self.terminal => self.show(event),
            // Plain output says what came out, a line each.
            Event::Ended { task, note } if !note.is_empty() => {
                screen::say(format!("{task}: {note}"))
            }
            _ => {}
        }
        if self.stopped() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn now(&self) -> Duration {
        Timed.now()
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        STOPPABLE.store(false, Ordering::SeqCst);
        self.clear();
    }
}
