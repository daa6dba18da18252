//! The lines of all jobs of a run in one file: appended as they come, put in order when the run is over.

use std::{
    fs::File,
    io::Write,
    marker::PhantomData,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use ell0_data::write::write_whole;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    error::{Error, Result},
    files,
};

/// One line of a file of metrics.
pub(crate) trait Line: Serialize + DeserializeOwned {
    /// The job that it belongs to.
    fn job(&self) -> &str;
}

/// A file of metrics that several jobs write to.
pub(crate) struct Metrics<L> {
    path: PathBuf,
    /// None until a job has begun.
    file: Mutex<Option<File>>,
    line: PhantomData<fn(L)>,
}

fn text<L: Serialize>(line: &L) -> Result<String> {
    serde_json::to_string(line)
        .map(|text| text + "\n")
        .map_err(|e| Error::Unsuitable(format!("metrics that cannot be written: {e}")))
}

impl<L: Line> Metrics<L> {
    pub fn new(path: PathBuf) -> Self {
        Metrics {
            path,
            file: Mutex::new(None),
            line: PhantomData,
        }
    }

    /// A job begins, or goes on after the lines that count: what an earlier attempt wrote beyond them is left out.
    pub fn begin(&self, job: &str, lines: impl Iterator<Item = L>) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = String::new();
        // A file that was damaged is made anew by and by.
        let there: Vec<L> = files::read_lines(&self.path).unwrap_or_default();
        for line in there.iter().filter(|line| line.job() != job) {
            all += &text(line)?;
        }
        for line in lines {
            all += &text(&line)?;
        }
        write_whole(&self.path, all.as_bytes())?;
        let open = File::options().append(true).open(&self.path);
        *file = Some(open.map_err(Error::io("write", &self.path))?);
        Ok(())
    }

    /// Appends a line, at once and whole.
    pub fn push(&self, line: &L) -> Result<()> {
        let text = text(line)?;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match file.as_mut() {
            Some(file) => file
                .write_all(text.as_bytes())
                .map_err(Error::io("write", &self.path)),
            None => Ok(()),
        }
    }

    /// All lines in their order.
    pub fn finish(&self, lines: impl Iterator<Item = L>) -> Result<()> {
        let mut all = String::new();
        for line in lines {
            all += &text(&line)?;
        }
        Ok(write_whole(&self.path, all.as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Count {
        job: String,
        k: u64,
    }

    impl Line for Count {
        fn job(&self) -> &str {
            &self.job
        }
    }

    #[test]
    fn a_job_that_goes_on_keeps_what_counts_and_all_of_the_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("metrics.jsonl");
        let line = |job: &str, k| Count { job: job.into(), k };
        let metrics = Metrics::new(path.clone());
        for job in ["a", "b"] {
            metrics.begin(job, std::iter::empty()).expect("begun");
        }
        for k in 1..=5 {
            metrics.push(&line("a", k)).expect("written");
            metrics.push(&line("b", k)).expect("written");
        }
        // Killed in the midst of a line; the checkpoint of b is of its third step.
        let half = std::fs::read_to_string(&path).expect("a file") + "{\"job\":\"a\",";
        std::fs::write(&path, half).expect("written");
        let again: Metrics<Count> = Metrics::new(path.clone());
        let kept = (1..=3).map(|k| line("b", k));
        again.begin("b", kept).expect("begun");
        again.push(&line("b", 4)).expect("written");
        let lines: Vec<Count> = files::read_lines(&path).expect("lines");
        let of = |job: &str| -> Vec<u64> {
            let of = lines.iter().filter(|l| l.job == job);
            of.map(|l| l.k).collect()
        };
        assert_eq!(of("a"), [1, 2, 3, 4, 5]);
        assert_eq!(of("b"), [1, 2, 3, 4]);
    }
}
