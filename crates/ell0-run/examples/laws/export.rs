//! The data sets as files, so that others fit the same numbers.

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
};

use serde::Serialize;

use crate::{
    Failure,
    data::{self, Measured, Run},
    score::scale,
    study::{Case, Noise, Study},
    systems::{Group, Half},
};

/// A data set in `manifest.json`. Everything is in the units of the measurements.
#[derive(Serialize)]
struct Entry {
    study: Study,
    system: String,
    group: Group,
    half: Half,
    inside: bool,
    variant: String,
    rows: usize,
    runs: usize,
    noise: Noise,
    seed: u64,
    states: Vec<String>,
    library: String,
    /// Names of all terms of the library.
    terms: Vec<String>,
    /// One file a run.
    files: Vec<String>,
    /// The first run without noise.
    clean: String,
    /// The run from the second initial state, without noise.
    second: String,
    /// For each state the true coefficients by name of the term; none where the library lacks a term of the law.
    truth: Option<Vec<BTreeMap<String, f64>>>,
}

/// A folder that data sets are written to.
pub struct Export {
    folder: PathBuf,
    entries: Vec<Entry>,
    /// Clean runs that are there already: they are the same for every noise.
    written: HashSet<String>,
}

impl Export {
    pub fn new(folder: PathBuf) -> Result<Self, Failure> {
        std::fs::create_dir_all(&folder)
            .map_err(|e| format!("cannot make the folder {}: {e}", folder.display()))?;
        Ok(Export {
            folder,
            entries: Vec::new(),
            written: HashSet::new(),
        })
    }

    pub fn add(&mut self, case: &Case, measured: &Measured) -> Result<(), Failure> {
        let system = case.system;
        let stem = case.stem();
        let mut files = Vec::new();
        for (number, frame) in measured.frames.iter().enumerate() {
            let file = format!("{stem}_run{number}.csv");
            data::write_frame(&self.folder.join(&file), frame)?;
            files.push(file);
        }
        let features = system.features(&case.library)?;
        let in_units = |(state, law): (usize, Vec<(usize, f64)>)| {
            let named = law.into_iter().map(|(k, coefficient)| {
                let unit = case.units[state] / scale(&features.terms()[k], &case.units);
                (features.names()[k].clone(), coefficient * unit)
            });
            named.collect()
        };
        let truth = system.truth(&features)?;
        let truth = truth.map(|laws| laws.into_iter().enumerate().map(in_units).collect());
        let entry = Entry {
            study: case.study,
            system: system.name.clone(),
            group: system.group,
            half: system.half,
            inside: truth.is_some(),
            variant: case.variant.clone(),
            rows: case.rows,
            runs: case.starts.len(),
            noise: case.noise,
            seed: case.seed,
            states: system.states.clone(),
            library: case.library.to_string(),
            terms: features.names().to_vec(),
            files,
            clean: self.run(case, "clean", &measured.time, &measured.clean)?,
            second: self.run(case, "second", &measured.time, &measured.second)?,
            truth,
        };
        self.entries.push(entry);
        Ok(())
    }

    /// Writes a run without noise, once; gives its file's name.
    fn run(
        &mut self,
        case: &Case,
        which: &str,
        time: &[f64],
        run: &Run,
    ) -> Result<String, Failure> {
        let file = format!("{}_{which}.csv", case.setting());
        if self.written.insert(file.clone()) {
            let frame = data::frame_of(case, time, run);
            data::write_frame(&self.folder.join(&file), &frame)?;
        }
        Ok(file)
    }

    /// Writes the list of all data sets.
    pub fn finish(&self) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&self.entries)?;
        data::write(&self.folder.join("manifest.json"), &(text + "\n"))
    }
}
