//! Progress on the terminal, for work that takes longer than a second.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that appears after a second; never where the output is no terminal.
pub struct Progress {
    bar: ProgressBar,
    began: Instant,
    shown: AtomicBool,
}

impl Progress {
    /// A bar for so many steps of `what`, or a count where nobody knows how many there are.
    pub fn new(what: &str, total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => "{msg} {wide_bar} {human_pos}/{human_len} ({eta} left)",
            None => "{msg} {human_pos} ({per_sec})",
        };
        let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden())
            .with_style(style)
            .with_message(what.to_string());
        Progress {
            bar,
            began: Instant::now(),
            shown: AtomicBool::new(false),
        }
    }

    /// So many more steps are done.
    pub fn advance(&self, steps: u64) {
        if self.began.elapsed() > Duration::from_secs(1)
            && !self.shown.swap(true, Ordering::Relaxed)
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(steps);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
