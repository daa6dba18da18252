//! The statistics of some measurements, to be fitted elsewhere.

use ell0_data::{evidence::Evidence, frame::Frame};

use crate::{
    data::{DataSettings, Source},
    error::{Error, Result},
    input_noise::ROWS_ARE_CORRECTED,
    observer::Observer,
};

/// What statistics are made of. They are small whatever the number of rows, and those of several parts are fitted together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatsSettings {
    /// The measurements and the meaning of their columns.
    pub data: DataSettings,
    /// Whether a bounded number of rows is left out that would come along otherwise, for judging laws by the measurements themselves.
    pub no_samples: bool,
}

impl StatsSettings {
    /// The statistics of the files of the settings.
    pub fn run(&self, observer: &dyn Observer) -> Result<Evidence> {
        self.of(Source::Files(&self.data.files), observer)
    }

    /// The statistics of tables in memory.
    pub fn run_on(&self, tables: &[Frame], observer: &dyn Observer) -> Result<Evidence> {
        self.of(Source::Frames(tables), observer)
    }

    fn of(&self, source: Source, observer: &dyn Observer) -> Result<Evidence> {
        if !self.data.input_noise.is_unsaid() {
            return Err(Error::Settings(ROWS_ARE_CORRECTED));
        }
        let mut prepared = self.data.prepare(source, observer)?;
        let mut evidence = DataSettings::gather(&mut prepared, observer)?;
        if self.no_samples {
            evidence.samples.clear();
        }
        Ok(evidence)
    }
}
