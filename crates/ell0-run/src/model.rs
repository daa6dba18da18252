//! A finished model at work: read, applied to the rows of a file.

use std::path::Path;

use ell0::{
    checkpoint::format_of,
    equation::Model,
    input,
    wording::{shown, shown_path},
};
use ell0_data::{
    table::{Block, ReadOptions, Table, Want},
    write::{TableWriter, Values},
};

use crate::{
    error::{About, Error, Result},
    files,
    network::{self, SparseNetwork},
    out_file::OutFile,
};

/// What was trained or found: equations, or a network.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time")]
pub enum Trained {
    /// Equations.
    Equations(Model),
    /// A sparse network.
    Network(SparseNetwork),
}

impl Trained {
    /// Reads the file of a model or a network, or that of a run's folder.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let network = path.join(network::FILE);
        let file = match network.exists() {
            true => &network,
            false => path,
        };
        if file.extension().is_some_and(|e| e == "safetensors") {
            let bytes = input::read(file, input::MOST_BINARY).map_err(Error::io("read", file))?;
            if format_of(&bytes, file).is_ok_and(|f| f == network::FORMAT) {
                return Ok(Trained::Network(SparseNetwork::from_bytes(&bytes, file)?));
            }
        }
        Ok(Trained::Equations(read_model(path)?))
    }
}

/// Reads a model file, or that of a run's folder.
pub fn read_model(path: impl AsRef<Path>) -> Result<Model> {
    let path = path.as_ref();
    let file = if path.is_dir() {
        path.join("model.json")
    } else {
        path.to_path_buf()
    };
    if file.extension().is_some_and(|e| e == "safetensors") {
        return Err(Error::Network(file));
    }
    if path.join(network::FILE).exists() {
        return Err(Error::Network(path.join(network::FILE)));
    }
    if path.join("policies").is_dir() {
        return Err(Error::Unsuitable(format!(
            "{} is the folder of a training; its policies in closed form are in {}",
            shown_path(path),
            shown_path(&path.join("policies"))
        )));
    }
    let text = files::read(&file)?;
    Model::from_json(&text).about(|| format!("{} is not a model", shown_path(&file)))
}

/// All rows of the named columns.
pub(crate) fn read_all(path: &Path, columns: &[String]) -> Result<Vec<Vec<f64>>> {
    let wanted: Vec<Want> = columns.iter().cloned().map(Want::Number).collect();
    let mut table = Table::open(path, &wanted, ReadOptions::default())?;
    let (mut all, mut block) = (vec![Vec::new(); columns.len()], Block::default());
    while table.read(BLOCK, &mut block)? {
        all.iter_mut()
            .zip(&block.columns)
            .for_each(|(a, b)| a.extend(b));
    }
    if all.first().is_some_and(Vec::is_empty) {
        return Err(no_row(path));
    }
    Ok(all)
}

fn no_row(path: &Path) -> Error {
    Error::damaged(path, "there is no row of data")
}

/// Rows that are worked on at once.
const BLOCK: usize = 8192;

/// The targets of a model for every row of a file, block after block: `each` gets the columns of some rows.
pub fn predict(
    model: &Model,
    data: impl AsRef<Path>,
    mut each: impl FnMut(&[&[f64]]) -> Result<()>,
) -> Result<()> {
    let data = data.as_ref();
    let wanted: Vec<Want> = model.inputs().iter().cloned().map(Want::Number).collect();
    let mut table = Table::open(data, &wanted, ReadOptions::default())?;
    let mut law = model.compiled();
    let (mut block, mut any) = (Block::default(), false);
    let (mut inputs, mut values) = (Vec::new(), Vec::new());
    while table.read(BLOCK, &mut block)? {
        any = true;
        let rows = block.rows();
        inputs.clear();
        block
            .columns
            .iter()
            .for_each(|c| inputs.extend_from_slice(c));
        values.resize(rows * model.equations().len(), 0.0);
        law.predict_into(&inputs, rows, &mut values)?;
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let target = model.targets().nth(at / rows).unwrap_or_default();
            return Err(Error::Unsuitable(format!(
                "{}, {}: the model has no finite value for `{}` (it gives {}): repair the row or leave it out",
                shown_path(data),
                table.place(block.places[at % rows]),
                shown(target),
                values[at]
            )));
        }
        let columns: Vec<&[f64]> = values.chunks_exact(rows).collect();
        each(&columns)?;
    }
    if any { Ok(()) } else { Err(no_row(data)) }
}

/// The same, written to a file: Parquet if its name ends so, else CSV.
pub fn predict_to_file(model: &Model, data: impl AsRef<Path>, out: &OutFile) -> Result<()> {
    out.check(&[data.as_ref()])?;
    let names: Vec<String> = model.targets().map(String::from).collect();
    let mut file = TableWriter::create(out.path(), &names)?;
    predict(model, data, |columns| {
        let columns = columns.iter().map(|c| Values::Number(c.to_vec()));
        Ok(file.push(&columns.collect::<Vec<_>>())?)
    })?;
    Ok(file.finish()?)
}
