//! Networks that learn: saved now and then, gone on with after an interruption.

use std::{ops::ControlFlow, path::Path, sync::Arc, time::Duration};

use ell0::{
    network::Mlp,
    training::{Dataset, EpochRecord, Observer as EpochObserver, Outcome, Trainer, TrainerConfig},
};

use crate::{
    error::{Error, Result},
    folder::parent_of,
    observer::{Observer, seconds_since},
    stopwatch::Stopwatch,
};

/// Time between two checkpoints.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// Epochs between two checkpoints where there is no clock.
const SAVE_EPOCHS: u64 = 10;

/// What is to be learned, and how.
pub(crate) struct Question {
    pub model: Mlp,
    pub config: TrainerConfig,
    pub train: Arc<Dataset>,
    pub test: Option<Arc<Dataset>>,
}

/// What was learned.
pub(crate) struct Learned {
    pub trainer: Trainer,
    /// How long it took, earlier attempts included.
    pub seconds: f64,
}

impl Question {
    /// Trains, from the checkpoint if it is there. `begun` hears what was done before, `progress` every epoch; a break stops the training after it is saved.
    pub fn answer(
        self,
        checkpoint: Option<&Path>,
        observer: &dyn Observer,
        begun: impl FnOnce(&[EpochRecord]) -> Result<()>,
        progress: impl FnMut(&EpochRecord) -> ControlFlow<()>,
    ) -> Result<Learned> {
        let began = observer.now();
        let there = checkpoint.filter(|c| c.exists());
        let stopwatch =
            checkpoint.map(|c| Stopwatch::new(&c.with_extension(""), there.is_some(), observer));
        let mut trainer = match there {
            Some(checkpoint) => self.resume(checkpoint)?,
            None => Trainer::new(self.model, self.config, self.train, self.test)?,
        };
        begun(trainer.history())?;
        let mut watch = Watch {
            progress,
            observer,
            saved: observer.now(),
            stopped: false,
        };
        // The watch breaks off when it is time to save; the trainer goes on where it was.
        loop {
            let outcome = trainer.fit(&mut watch)?;
            if let (Some(checkpoint), Some(stopwatch)) = (checkpoint, &stopwatch) {
                trainer.save(checkpoint)?;
                stopwatch.save()?;
                watch.saved = observer.now();
            }
            if outcome != Outcome::Interrupted {
                let seconds = match &stopwatch {
                    Some(stopwatch) => stopwatch.seconds(),
                    None => seconds_since(observer, began),
                };
                return Ok(Learned { trainer, seconds });
            }
            if watch.stopped {
                // Checkpoints stand in a folder of their own inside that of the run.
                let folder = checkpoint.map(|c| parent_of(parent_of(c)).into());
                return Err(Error::Stopped { folder });
            }
        }
    }

    fn resume(self, checkpoint: &Path) -> Result<Trainer> {
        let again =
            "not a checkpoint of this model and this run; delete it to train the model anew";
        let trainer = Trainer::resume(checkpoint, self.train, self.test)
            .map_err(|e| Error::damaged(checkpoint, format!("{again} ({e})")))?;
        let same = trainer.config() == &self.config
            && trainer.model().architecture() == self.model.architecture();
        match same {
            true => Ok(trainer),
            false => Err(Error::damaged(checkpoint, again)),
        }
    }
}

/// Hands epochs on, and breaks off when it is time to save.
struct Watch<'a, P> {
    progress: P,
    observer: &'a dyn Observer,
    saved: Duration,
    stopped: bool,
}

impl<P: FnMut(&EpochRecord) -> ControlFlow<()>> EpochObserver for Watch<'_, P> {
    fn epoch(&mut self, record: &EpochRecord) -> ControlFlow<()> {
        self.stopped |= (self.progress)(record).is_break();
        let now = self.observer.now();
        let due = if now.is_zero() {
            // Without a clock, by count.
            record.epoch.is_multiple_of(SAVE_EPOCHS)
        } else {
            // A clock that was set back says nothing.
            now < self.saved || now - self.saved > SAVE_EVERY
        };
        if self.stopped || due {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
