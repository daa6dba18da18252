//! `ell0 show` and `predict`: a finished model at work; and what all commands that take a model share.

use std::{
    io::{Write, stdout},
    path::{Path, PathBuf},
};

use anyhow::{Context, ensure};
use clap::Args;
use ell0::equation::Model;
use ell0_data::{
    table::{Block, ReadOptions, Table, Want},
    write::{TableWriter, Values, write_whole},
};

/// Reads a model file, or that of a run directory.
pub fn load(path: &Path) -> anyhow::Result<Model> {
    let file = if path.is_dir() {
        path.join("model.json")
    } else {
        path.to_path_buf()
    };
    ensure!(
        file.extension().is_none_or(|e| e != "safetensors"),
        "{} is a checkpoint of a network, not a closed form; `ell0 export` takes it",
        file.display()
    );
    ensure!(
        !path.join("policies").is_dir(),
        "{} is the folder of a training; its policies in closed form are in {}",
        path.display(),
        path.join("policies").display()
    );
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    Model::from_json(&text).with_context(|| format!("{} is not a model", file.display()))
}

/// Writes text to a file, whole or not at all, or to the screen.
pub fn deliver(out: Option<&Path>, text: &str) -> anyhow::Result<()> {
    match out {
        Some(path) => Ok(write_whole(path, text.as_bytes())?),
        None => Ok(stdout().lock().write_all(text.as_bytes())?),
    }
}

/// All rows of the named columns.
pub fn read_all(path: &Path, columns: &[String]) -> anyhow::Result<Vec<Vec<f64>>> {
    let wanted: Vec<Want> = columns.iter().cloned().map(Want::Number).collect();
    let mut table = Table::open(path, &wanted, ReadOptions::default())?;
    let (mut all, mut block) = (vec![Vec::new(); columns.len()], Block::default());
    while table.read(8192, &mut block)? {
        all.iter_mut()
            .zip(&block.columns)
            .for_each(|(a, b)| a.extend(b));
    }
    ensure!(
        all.first().is_none_or(|c: &Vec<f64>| !c.is_empty()),
        "{}: there is no row of data",
        path.display()
    );
    Ok(all)
}

/// Print the equations of a model
#[derive(Args)]
pub struct Show {
    /// model.json, or the folder of a run
    model: PathBuf,
    /// As PySINDy prints them
    #[arg(long, conflicts_with_all = ["latex", "json"])]
    pysindy: bool,
    /// As LaTeX
    #[arg(long, conflicts_with = "json")]
    latex: bool,
    /// The model file itself
    #[arg(long)]
    json: bool,
}

impl Show {
    pub fn run(&self) -> anyhow::Result<()> {
        let model = load(&self.model)?;
        let text = if self.json {
            model.to_json()
        } else if self.latex {
            model.latex(5)
        } else if self.pysindy {
            model.pysindy(3)
        } else {
            model.text(6)
        };
        deliver(None, &(text + "\n"))
    }
}

/// Predict the targets of a model for the rows of a file
///
/// For a law of states: their rates of change, or the next row.
#[derive(Args)]
pub struct Predict {
    /// model.json, or the folder of a run
    model: PathBuf,
    /// File with the model's inputs
    data: PathBuf,
    /// Where the predictions go [default: the screen]
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Predict {
    pub fn run(&self) -> anyhow::Result<()> {
        let model = load(&self.model)?;
        let wanted: Vec<Want> = model.inputs().iter().cloned().map(Want::Number).collect();
        let mut table = Table::open(&self.data, &wanted, ReadOptions::default())?;
        let names: Vec<String> = model.targets().map(String::from).collect();
        let mut file = match &self.out {
            Some(out) => Some(TableWriter::create(out, &names)?),
            None => None,
        };
        let mut screen = stdout().lock();
        if file.is_none() {
            let names: Vec<String> = names.iter().map(|n| quoted(n)).collect();
            writeln!(screen, "{}", names.join(","))?;
        }
        let (mut block, mut any) = (Block::default(), false);
        while table.read(8192, &mut block)? {
            any = true;
            let rows = block.rows();
            let values = model.predict(&block.columns.concat(), rows)?;
            match &mut file {
                Some(file) => {
                    let columns = values.chunks_exact(rows);
                    let columns: Vec<_> = columns.map(|c| Values::Number(c.to_vec())).collect();
                    file.push(&columns)?;
                }
                None => {
                    for row in 0..rows {
                        let cells: Vec<String> = (0..names.len())
                            .map(|k| values[k * rows + row].to_string())
                            .collect();
                        writeln!(screen, "{}", cells.join(","))?;
                    }
                }
            }
        }
        ensure!(any, "{}: there is no row of data", self.data.display());
        if let Some(file) = file {
            file.finish()?;
        }
        Ok(())
    }
}

/// A name as a CSV cell.
pub fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_string()
    }
}
