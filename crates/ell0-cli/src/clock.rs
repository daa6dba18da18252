//! How long something takes that may be interrupted.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use ell0_data::write::write_whole;

/// The time since the beginning; that of earlier attempts counts, and is kept beside the checkpoint.
pub struct Clock {
    file: PathBuf,
    before: f64,
    began: Instant,
}

impl Clock {
    pub fn new(checkpoint: &Path) -> Self {
        let file = checkpoint.with_extension("seconds");
        // Without a checkpoint there were no earlier attempts.
        let text = std::fs::read_to_string(&file).ok();
        let text = text.filter(|_| checkpoint.exists());
        Clock {
            before: text.and_then(|t| t.trim().parse().ok()).unwrap_or(0.0),
            began: Instant::now(),
            file,
        }
    }

    pub fn seconds(&self) -> f64 {
        self.before + self.began.elapsed().as_secs_f64()
    }

    pub fn save(&self) -> anyhow::Result<()> {
        Ok(write_whole(
            &self.file,
            format!("{}\n", self.seconds()).as_bytes(),
        )?)
    }
}
