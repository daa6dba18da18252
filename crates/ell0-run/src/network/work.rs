//! A trained network on other rows: what it says of them, and how good that is.

use std::path::{Path, PathBuf};

use ell0::wording::shown_path;
use ell0_data::{
    table::{Block, ReadOptions, Table, Want},
    write::{TableWriter, Values},
};
use serde::{Deserialize, Serialize};

use super::{NetworkData, Quality, SparseNetwork, data::refuse_other_size, quality::likeliest};
use crate::{
    data::{Source, refuse_twice},
    error::{Error, Result},
    out_file::OutFile,
};

/// Rows that are worked on at once.
const BLOCK: usize = 2048;

/// Rows that a network is measured on.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `files` | none | files with the network's inputs and targets |
/// | `labels` | none | files with nothing but their classes |
/// | `drop_missing` | no | whether rows with empty or NaN cells are left out |
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct NetworkScoreSettings {
    pub files: Vec<PathBuf>,
    pub labels: Vec<PathBuf>,
    pub drop_missing: bool,
}

impl NetworkScoreSettings {
    /// Measures a network.
    pub fn run(&self, network: &SparseNetwork) -> Result<Quality> {
        refuse_twice(&self.files)?;
        if self.files.is_empty() {
            return Err(Error::NoData);
        }
        if !self.labels.is_empty() && self.labels.len() != self.files.len() {
            return Err(Error::Settings(
                "there must be one file of labels for each file, or none",
            ));
        }
        let names = &network.names;
        if !self.labels.is_empty() && names.classes.is_empty() {
            return Err(Error::Settings(
                "files of labels are for networks that tell classes",
            ));
        }
        let data = NetworkData {
            targets: match names.classes.is_empty() {
                true => names.targets.clone(),
                false => Vec::new(),
            },
            drop_missing: self.drop_missing,
            ..NetworkData::default()
        };
        let rows = data.gather_known(Source::Files(&self.files), &self.labels, names)?;
        network.quality(&rows.x, &rows.y)
    }
}

impl SparseNetwork {
    /// Names of the columns of [`SparseNetwork::predict_file`]: the targets, or the class and the probability of each.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let names = &self.names;
        let probability = |class: &String| format!("p({class})");
        let probabilities = names.classes.iter().map(probability);
        names.targets.iter().cloned().chain(probabilities).collect()
    }

    /// The columns for some rows.
    fn said(&self, rows: &[f64], place: &dyn Fn(usize) -> String) -> Result<Vec<Values>> {
        let outputs = self.predict_placed(rows, place)?;
        let width = self.names.outputs().len().max(1);
        let column = |values: &[f64], k: usize| -> Vec<f64> {
            values.iter().skip(k).step_by(width).copied().collect()
        };
        if self.names.classes.is_empty() {
            return Ok((0..width)
                .map(|k| Values::Number(column(&outputs, k)))
                .collect());
        }
        let (mut classes, mut probabilities) = (Vec::new(), Vec::with_capacity(outputs.len()));
        for logits in outputs.chunks_exact(width) {
            let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let all: f64 = logits.iter().map(|l| (l - largest).exp()).sum();
            classes.push(self.names.classes[likeliest(logits)].clone());
            probabilities.extend(logits.iter().map(|l| (l - largest).exp() / all));
        }
        let mut columns = vec![Values::Text(classes)];
        columns.extend((0..width).map(|k| Values::Number(column(&probabilities, k))));
        Ok(columns)
    }

    /// What it says of every row of a file, block after block: `each` gets the columns of some rows.
    pub fn predict_file(
        &self,
        data: impl AsRef<Path>,
        mut each: impl FnMut(&[Values]) -> Result<()>,
    ) -> Result<()> {
        let data = data.as_ref();
        let inputs = &self.names.inputs;
        refuse_other_size(&Table::open(data, &[], ReadOptions::default())?, inputs)?;
        let wanted: Vec<Want> = inputs.iter().cloned().map(Want::Number).collect();
        let mut table = Table::open(data, &wanted, ReadOptions::default())?;
        let (mut block, mut rows, mut any) = (Block::default(), Vec::new(), false);
        while table.read(BLOCK, &mut block)? {
            any = true;
            rows.clear();
            for row in 0..block.rows() {
                rows.extend(block.columns.iter().map(|column| column[row]));
            }
            let place =
                |row: usize| format!("{}, {}", shown_path(data), table.place(block.places[row]));
            each(&self.said(&rows, &place)?)?;
        }
        match any {
            true => Ok(()),
            false => Err(Error::Unsuitable(format!(
                "{}: there is no row of data",
                shown_path(data)
            ))),
        }
    }

    /// The same, written to a file: Parquet if its name ends so, else CSV.
    pub fn predict_to_file(&self, data: impl AsRef<Path>, out: &OutFile) -> Result<()> {
        out.check(&[data.as_ref()])?;
        let mut file = TableWriter::create(out.path(), &self.columns())?;
        self.predict_file(data, |columns| Ok(file.push(columns)?))?;
        Ok(file.finish()?)
    }
}
