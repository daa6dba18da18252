//! Rows to learn from, and others to tell how good the network is.

use std::path::PathBuf;

use ell0::{rng::Stream, wording::shown_path};

use super::{
    Names, NetworkData,
    copies::{Copies, Split},
    data::Gathered,
    prepare::Rows,
};
use crate::{
    data::{Source, counted},
    error::{Error, Result},
};

/// What was read.
pub(super) struct Material {
    pub names: Names,
    pub train: Gathered,
    /// Which of the rows to learn from are the same.
    pub same: Copies,
    pub test: Option<Gathered>,
    pub copies: CopiesFound,
}

/// Copies among the rows that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CopiesFound {
    /// Rows with the inputs of an earlier one.
    pub rows: usize,
    /// Whether they are measurements of their own all the same, as the inputs are categories.
    pub categories: bool,
    /// Rows of the files to test on that were left out: they have the inputs of a row to learn from.
    pub left_out: usize,
}

impl Gathered {
    /// Some of the rows.
    fn of_some(rows: Rows, some: &[usize]) -> Self {
        let (x, y) = rows.copied(some);
        Gathered {
            x,
            y,
            rows: some.len(),
            dropped: 0,
        }
    }
}

impl NetworkData {
    /// What a network learned from does not tell how good it is on other rows.
    pub(super) fn refuse_to_test_on_training(&self, source: Source) -> Result<()> {
        let Source::Files(files) = source else {
            return Ok(());
        };
        let place = |file: &PathBuf| file.canonicalize().ok();
        let places: Vec<_> = files.iter().map(place).collect();
        let is_learned_from = |file: &&PathBuf| {
            let place = place(file);
            files.contains(file) || place.is_some() && places.contains(&place)
        };
        match self.test.iter().find(is_learned_from) {
            None => Ok(()),
            Some(file) => Err(Error::Unsuitable(format!(
                "{} is a file to learn from and one to test on: {OTHER_ROWS}",
                shown_path(file)
            ))),
        }
    }

    /// Puts a share of the rows aside, copies on one side.
    pub(super) fn set_aside(&self, names: Names, train: Gathered, seed: u64) -> Material {
        let rows = train.rows(&names);
        let inputs = rows.all_inputs();
        let same = Copies::of(&inputs);
        let copies = CopiesFound {
            rows: same.count(),
            categories: same.are_categories(&inputs),
            left_out: 0,
        };
        let same = match copies.categories {
            true => Copies::none(train.rows),
            false => same,
        };
        let aside = (self.test_share * train.rows as f64).round() as usize;
        let stream = Stream::new(seed).split("test");
        let Split { kept, aside } = same.split(aside.min(train.rows.saturating_sub(1)), &stream);
        if aside.is_empty() {
            return Material {
                names,
                train,
                same,
                test: None,
                copies,
            };
        }
        Material {
            train: Gathered {
                dropped: train.dropped,
                ..Gathered::of_some(rows, &kept)
            },
            same: same.of_some(&kept),
            test: Some(Gathered::of_some(rows, &aside)),
            copies,
            names,
        }
    }
}

/// What to do where rows to test on are rows to learn from.
const OTHER_ROWS: &str = "a network is measured on other rows; name none to put a share aside";

/// Rows to learn from and to test on, of which the latter are left out that have the inputs of one of the former.
pub(super) fn without_learned(names: Names, train: Gathered, test: Gathered) -> Result<Material> {
    let (learned, tested) = (train.rows(&names), test.rows(&names));
    let inputs = [learned.all_inputs(), tested.all_inputs()].concat();
    let same = Copies::of(&inputs);
    if same.are_categories(&inputs) {
        return Ok(Material {
            same: Copies::none(train.rows),
            copies: CopiesFound {
                rows: same.count(),
                categories: true,
                left_out: 0,
            },
            test: Some(test),
            names,
            train,
        });
    }
    let (first, all) = (train.rows, train.rows + test.rows);
    let new: Vec<usize> = (first..all).filter(|k| !same.is_among(*k, first)).collect();
    if new.is_empty() {
        return Err(Error::Unsuitable(format!(
            "all {} to test on have the inputs of rows to learn from: {OTHER_ROWS}",
            counted(test.rows, "row")
        )));
    }
    let copies = CopiesFound {
        rows: same.count() - (test.rows - new.len()),
        categories: false,
        left_out: test.rows - new.len(),
    };
    let places: Vec<usize> = new.iter().map(|k| k - first).collect();
    Ok(Material {
        same: same.of_some(&(0..first).collect::<Vec<_>>()),
        test: Some(match copies.left_out {
            0 => test,
            _ => Gathered {
                dropped: test.dropped,
                ..Gathered::of_some(tested, &places)
            },
        }),
        copies,
        names,
        train,
    })
}

#[cfg(test)]
mod tests;
