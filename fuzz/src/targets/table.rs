//! What is promised of every table, whatever its format.

use std::path::Path;

use ell0_data::{
    runs::{Roles, Runs},
    table::{Block, ReadOptions, Table, Want},
};

use crate::{
    desk::Desk,
    verdict::{Fault, Outcome, Verdict, error},
};

/// Reads the file of a case in several ways: only whole rows or all, as numbers, as labels, as trajectories.
pub fn read(desk: &Desk, name: &str, bytes: &[u8]) -> Verdict {
    let path = desk.put(name, bytes);
    let verdict = look(&path);
    desk.check(name, bytes, &[])?;
    verdict
}

/// Columns that are read.
const COLUMNS: usize = 4;

fn look(path: &Path) -> Verdict {
    let names = match Table::open(path, &[], ReadOptions::default()) {
        Ok(table) => table.names().to_vec(),
        Err(e) => return error(e),
    };
    let names = &names[..names.len().min(COLUMNS)];
    let number = |name: &String| Want::Number(name.clone());
    let numbers: Vec<Want> = names.iter().map(number).collect();
    let labels = names.iter().take(1).map(|n| Want::Label(n.clone()));
    let labelled: Vec<Want> = labels.chain(names.iter().skip(1).map(number)).collect();
    let mut last = Ok(Outcome::Valid);
    for (wanted, drop_missing) in [(numbers, false), (labelled, true)] {
        let options = ReadOptions {
            drop_missing,
            ..ReadOptions::default()
        };
        last = read_all(path, &wanted, options);
        last.as_ref().map_err(Clone::clone)?;
    }
    trajectories(path, names)?;
    last
}

fn read_all(path: &Path, wanted: &[Want], options: ReadOptions) -> Verdict {
    let mut table = match Table::open(path, wanted, options) {
        Ok(table) => table,
        Err(e) => return error(e),
    };
    let mut block = Block::default();
    loop {
        match table.read(512, &mut block) {
            Err(e) => return error(e),
            Ok(false) => return Ok(Outcome::Valid),
            Ok(true) => {}
        }
        let rows = block.rows();
        let lengths = block.columns.iter().map(Vec::len);
        if rows > 512 || block.skipped.len() != rows || !lengths.clone().all(|n| n == rows) {
            let lengths: Vec<usize> = lengths.collect();
            let what = format!("{rows} rows, columns of {lengths:?}");
            return Err(Fault::wrong("columns are equally long", what));
        }
        if !block.columns.iter().flatten().all(|x| x.is_finite()) {
            return Err(Fault::wrong("numbers are finite", ""));
        }
    }
}

/// The same file as `ell0 fit` reads it: with time, if there is such a column.
fn trajectories(path: &Path, names: &[String]) -> Verdict {
    let time = names.iter().find(|n| *n == "t").cloned();
    let inputs: Vec<String> = names.iter().filter(|n| *n != "t").cloned().collect();
    let roles = Roles {
        dt: time.is_none().then_some(0.1),
        time,
        inputs,
        split_at_gaps: true,
        longest_step: Some(1.0),
        ..Roles::default()
    };
    let options = ReadOptions {
        drop_missing: true,
        ..ReadOptions::default()
    };
    let mut runs = Runs::new(&[path.into()], roles, options);
    loop {
        match runs.next_run() {
            Err(e) => return error(e),
            Ok(None) => return Ok(Outcome::Valid),
            Ok(Some(run)) => {
                let rows = run.columns.first().map_or(0, Vec::len);
                if run.columns.iter().any(|c| c.len() != rows) {
                    return Err(Fault::wrong("columns of a run are equally long", ""));
                }
            }
        }
    }
}
