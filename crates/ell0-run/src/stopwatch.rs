//! How long something takes that may be interrupted.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use ell0_data::write::write_whole;

use crate::{
    error::Result,
    observer::{Observer, seconds_since},
};

/// The time since the beginning by the observer's clock; that of earlier attempts counts, and is kept beside the checkpoint.
pub(crate) struct Stopwatch<'a> {
    file: PathBuf,
    before: f64,
    began: Duration,
    observer: &'a dyn Observer,
}

impl<'a> Stopwatch<'a> {
    /// A watch beside the checkpoint with this stem; unless it was `begun`, there were no earlier attempts.
    pub fn new(stem: &Path, begun: bool, observer: &'a dyn Observer) -> Self {
        let mut file = stem.as_os_str().to_owned();
        file.push(".seconds");
        let file = PathBuf::from(file);
        let text = ell0::input::read_text(&file).ok().filter(|_| begun);
        Stopwatch {
            before: text.and_then(|t| t.trim().parse().ok()).unwrap_or(0.0),
            began: observer.now(),
            file,
            observer,
        }
    }

    pub fn seconds(&self) -> f64 {
        self.before + seconds_since(self.observer, self.began)
    }

    pub fn save(&self) -> Result<()> {
        let text = format!("{}\n", self.seconds());
        Ok(write_whole(&self.file, text.as_bytes())?)
    }
}
