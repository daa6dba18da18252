//! Tables that a network learns from: which columns go in, what is to come out.

use std::{collections::HashMap, path::PathBuf};

use ell0::wording::{listed, shown, shown_path};
use ell0_data::table::{Block, ReadOptions, Table, Want};
use serde::{Deserialize, Serialize};

use super::{
    Names,
    apart::{Material, without_learned},
    prepare::Rows,
};
use crate::{
    data::{Source, counted, refuse_twice},
    error::{Error, Result},
};

/// Tables and the meaning of their columns.
///
/// | setting | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `files` | none | CSV (also .gz), Parquet, NPZ, NPY or IDX files. Leave them out for tables in memory | |
/// | `labels` | none | files with nothing but the classes of the rows, one for each of `files`: IDX data come so | |
/// | `inputs` | all other columns | columns that go in; the name of an array stands for all its columns | |
/// | `targets` | none | columns of numbers that are to come out | |
/// | `class` | none | the column, of numbers or words, that tells the class, instead of `targets` | |
/// | `class_names` | none | what the classes 0, 1, … of a column of numbers are called | |
/// | `test` | none | files of rows that only tell how good the network is; rows whose inputs are those of a row to learn from are left out | |
/// | `test_labels` | none | their classes | |
/// | `test_share` | 0.2 | without `test`, the share of the rows that only tells how good it is; rows with the same inputs stand on one side | \[0, 0.9\] |
/// | `drop_missing` | no | whether rows with empty or NaN cells are left out | |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct NetworkData {
    pub files: Vec<PathBuf>,
    pub labels: Vec<PathBuf>,
    pub inputs: Vec<String>,
    pub targets: Vec<String>,
    pub class: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub class_names: Vec<String>,
    pub test: Vec<PathBuf>,
    pub test_labels: Vec<PathBuf>,
    pub test_share: f64,
    pub drop_missing: bool,
}

impl Default for NetworkData {
    fn default() -> Self {
        NetworkData {
            files: Vec::new(),
            labels: Vec::new(),
            inputs: Vec::new(),
            targets: Vec::new(),
            class: None,
            class_names: Vec::new(),
            test: Vec::new(),
            test_labels: Vec::new(),
            test_share: 0.2,
            drop_missing: false,
        }
    }
}

/// What the classes of a file of labels are called.
const LABEL: &str = "label";

/// Rows that are read at once.
const BLOCK: usize = 4096;

/// The most numbers that are kept in memory: 8 GiB.
const MOST_VALUES: usize = 1 << 30;

/// More classes than these are no classes.
const MOST_CLASSES: usize = 10_000;

/// Up to so many classes nobody asks whether they are some.
const FEW_CLASSES: usize = 20;

/// Rows in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Gathered {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub rows: usize,
    pub dropped: u64,
}

impl Gathered {
    pub fn rows<'a>(&'a self, names: &Names) -> Rows<'a> {
        Rows {
            x: &self.x,
            inputs: names.inputs.len(),
            y: &self.y,
            targets: names.targets.len(),
        }
    }
}

/// Numbers for the texts of classes.
#[derive(Default)]
struct Classes {
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Classes {
    fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.numbers.insert(text.into(), self.texts.len());
        self.texts.push(text.into());
        self.texts.len() - 1
    }

    /// The classes in their order, and the place of each in it: that of numbers, if all are, else that of words.
    fn sorted(&self) -> (Vec<String>, Vec<usize>) {
        let value = |text: &String| text.parse::<f64>().ok();
        let numbers = self.texts.iter().all(|t| value(t).is_some());
        let mut order: Vec<usize> = (0..self.texts.len()).collect();
        order.sort_by(|a, b| {
            let (a, b) = (&self.texts[*a], &self.texts[*b]);
            match (numbers, value(a), value(b)) {
                (true, Some(x), Some(y)) => x.total_cmp(&y),
                _ => a.cmp(b),
            }
        });
        let mut place = vec![0; order.len()];
        for (k, class) in order.iter().enumerate() {
            place[*class] = k;
        }
        (
            order.iter().map(|k| self.texts[*k].clone()).collect(),
            place,
        )
    }
}

/// Opens the table of a source, counted from 0.
fn open(source: Source, number: usize, wanted: &[Want], options: ReadOptions) -> Result<Table> {
    Ok(match source {
        Source::Files(files) => Table::open(&files[number], wanted, options)?,
        Source::Frames(frames) => Table::of_frame(&frames[number], number + 1, wanted, options)?,
    })
}

fn count(source: Source) -> usize {
    match source {
        Source::Files(files) => files.len(),
        Source::Frames(frames) => frames.len(),
    }
}

/// The array that a column is part of, and its number there: `images_17`.
fn part_of(column: &str) -> Option<(&str, usize)> {
    let (array, number) = column.rsplit_once('_')?;
    Some((array, number.parse().ok()?))
}

/// How many columns of an array there are.
fn width(columns: &[String], array: &str) -> usize {
    let of = |column: &&String| part_of(column).is_some_and(|(a, _)| a == array);
    columns.iter().filter(of).count()
}

/// Whether columns that are all of an array are all of it in another table, too: else a smaller image would be read as part of a larger one.
pub(super) fn refuse_other_size(table: &Table, inputs: &[String]) -> Result<()> {
    let Some((array, _)) = inputs.first().and_then(|name| part_of(name)) else {
        return Ok(());
    };
    let (own, there) = (width(inputs, array), width(table.names(), array));
    let whole = (0..own).all(|k| {
        inputs
            .get(k)
            .is_some_and(|name| *name == format!("{array}_{k}"))
    });
    if own < 2 || !whole || there == own || there == 0 {
        return Ok(());
    }
    Err(Error::Unsuitable(format!(
        "{}: its rows have {there} numbers `{array}_…`, and {own} are needed: are these images of another size?",
        shown_path(table.path())
    )))
}

impl NetworkData {
    /// Mistakes are found before anything is read.
    fn check(&self, source: Source) -> Result<()> {
        refuse_twice(&self.files)?;
        refuse_twice(&self.test)?;
        self.refuse_to_test_on_training(source)?;
        if count(source) == 0 {
            return Err(Error::NoData);
        }
        if !(0.0..=0.9).contains(&self.test_share) {
            let expected = "a share of the rows from 0 to 0.9";
            return Err(Error::setting("test-share", self.test_share, expected));
        }
        let classes = self.class.is_some() || !self.labels.is_empty();
        if classes != self.targets.is_empty() || self.class.is_some() && !self.labels.is_empty() {
            return Err(Error::Settings(
                "what is to come out? Name either target columns of numbers, or a column of classes, or files of labels",
            ));
        }
        let pairs = [
            ("files", count(source), &self.labels),
            ("files to test on", self.test.len(), &self.test_labels),
        ];
        for (what, files, labels) in pairs {
            let wanted = if self.labels.is_empty() { 0 } else { files };
            if labels.len() != wanted {
                return Err(Error::Unsuitable(format!(
                    "{} of labels for {files} {what}: there must be one for each, or none",
                    counted(labels.len(), "file"),
                )));
            }
        }
        for name in &self.targets {
            if self.inputs.contains(name) {
                return Err(Error::ColumnTwice(name.clone()));
            }
        }
        if let Some(class) = &self.class
            && self.inputs.contains(class)
        {
            return Err(Error::ColumnTwice(class.clone()));
        }
        Ok(())
    }

    /// The input columns: those named, an array's name standing for all its columns, or all that are nothing else.
    fn input_columns(&self, columns: &[String]) -> Result<Vec<String>> {
        let other =
            |name: &String| self.targets.contains(name) || self.class.as_ref() == Some(name);
        let mut inputs: Vec<String> = Vec::new();
        if self.inputs.is_empty() {
            inputs.extend(columns.iter().filter(|c| !other(c)).cloned());
        }
        for name in &self.inputs {
            let of = |c: &&String| part_of(c).is_some_and(|(array, _)| array == name);
            match columns.contains(name) {
                false if columns.iter().any(|c| of(&c)) => {
                    inputs.extend(columns.iter().filter(of).cloned());
                }
                _ => inputs.push(name.clone()),
            }
        }
        let twice = (0..inputs.len()).find(|&k| inputs[..k].contains(&inputs[k]));
        // Of many columns, those of arrays, the question is answered by their names.
        if let Some(k) = twice {
            return Err(Error::ColumnTwice(inputs[k].clone()));
        }
        if inputs.is_empty() {
            return Err(Error::Unsuitable(format!(
                "no column is left to go in; there are {}",
                listed(columns)
            )));
        }
        Ok(inputs)
    }

    /// Reads everything.
    pub(super) fn read(&self, source: Source, seed: u64) -> Result<Material> {
        self.check(source)?;
        let columns = open(source, 0, &[], ReadOptions::default())?
            .names()
            .to_vec();
        let mut names = Names {
            inputs: self.input_columns(&columns)?,
            targets: match &self.class {
                Some(class) => vec![class.clone()],
                None if self.labels.is_empty() => self.targets.clone(),
                None => vec![LABEL.into()],
            },
            classes: Vec::new(),
        };
        let mut classes = Classes::default();
        let mut train = self.gather(source, &self.labels, &names, &mut classes)?;
        if self.targets.is_empty() {
            let (sorted, place) = classes.sorted();
            for class in &mut train.y {
                *class = place[*class as usize] as f64;
            }
            names.classes = self.called(sorted)?;
            check_classes(&names, &train.y)?;
        }
        refuse_constant(&names, &train)?;
        match self.test.is_empty() {
            true => Ok(self.set_aside(names, train, seed)),
            false => {
                let files = Source::Files(&self.test);
                let test = self.gather_known(files, &self.test_labels, &names)?;
                without_learned(names, train, test)
            }
        }
    }

    /// Classes by their names, where these were given.
    fn called(&self, classes: Vec<String>) -> Result<Vec<String>> {
        if self.class_names.is_empty() {
            return Ok(classes);
        }
        let name = |class: &String| {
            let number = class.parse::<usize>().ok();
            number.and_then(|k| self.class_names.get(k).cloned())
        };
        let named: Option<Vec<String>> = classes.iter().map(name).collect();
        named.ok_or_else(|| {
            Error::Unsuitable(format!(
                "{} names for the classes {}: they must be 0, 1, … in their order",
                self.class_names.len(),
                listed(&classes)
            ))
        })
    }

    /// Rows of other tables, of whose classes none may be new.
    pub(super) fn gather_known(
        &self,
        source: Source,
        labels: &[PathBuf],
        names: &Names,
    ) -> Result<Gathered> {
        let mut classes = Classes::default();
        for class in &names.classes {
            classes.number(class);
        }
        let rows = self.gather(source, labels, names, &mut classes)?;
        match classes.texts.get(names.classes.len()) {
            Some(new) if !names.classes.is_empty() => Err(Error::Unsuitable(format!(
                "`{}` has the class `{}`, which was not among the rows that the network learned from; they had {}",
                shown(&names.targets[0]),
                shown(new),
                listed(&names.classes)
            ))),
            _ => Ok(rows),
        }
    }

    /// The rows of some tables, one after the other.
    fn gather(
        &self,
        source: Source,
        labels: &[PathBuf],
        names: &Names,
        classes: &mut Classes,
    ) -> Result<Gathered> {
        let options = ReadOptions {
            drop_missing: self.drop_missing,
            ..ReadOptions::default()
        };
        let regression = self.targets == names.targets && !self.targets.is_empty();
        let mut wanted: Vec<Want> = names.inputs.iter().cloned().map(Want::Number).collect();
        if regression {
            wanted.extend(names.targets.iter().cloned().map(Want::Number));
        } else if labels.is_empty() {
            wanted.push(Want::Label(names.targets[0].clone()));
        }
        let mut all = Gathered::default();
        let mut block = Block::default();
        for number in 0..count(source) {
            refuse_other_size(
                &open(source, number, &[], ReadOptions::default())?,
                &names.inputs,
            )?;
            let mut table = open(source, number, &wanted, options)?;
            let first = all.rows;
            while table.read(BLOCK, &mut block)? {
                let inputs = names.inputs.len();
                if all.x.len() + block.rows() * inputs > MOST_VALUES {
                    return Err(Error::Unsuitable(format!(
                        "more than {} rows of {inputs} inputs do not fit into memory: take fewer rows",
                        all.rows
                    )));
                }
                let (x, y) = block.columns.split_at(inputs);
                for row in 0..block.rows() {
                    all.x.extend(x.iter().map(|column| column[row]));
                    all.y.extend(y.iter().map(|column| column[row]));
                }
                all.rows += block.rows();
            }
            all.dropped += table.dropped();
            if all.rows == first {
                return Err(Error::damaged(table.path(), "there is no row of data"));
            }
            let numbers = |texts: Vec<String>, classes: &mut Classes| -> Vec<usize> {
                texts.iter().map(|text| classes.number(text)).collect()
            };
            if let Some(labels) = labels.get(number) {
                let own = read_labels(labels)?;
                if own.values.len() != all.rows - first || table.dropped() > 0 {
                    return Err(Error::Unsuitable(format!(
                        "{} has {} labels for {} rows of {}{}",
                        shown_path(labels),
                        own.values.len(),
                        all.rows - first,
                        shown_path(table.path()),
                        match table.dropped() {
                            0 => "",
                            _ => ", others having been left out",
                        }
                    )));
                }
                let numbers = numbers(own.texts, classes);
                all.y
                    .extend(own.values.iter().map(|v| numbers[*v as usize] as f64));
            } else if !regression {
                let numbers = numbers(table.labels(), classes);
                for class in &mut all.y[first..] {
                    *class = numbers[*class as usize] as f64;
                }
            }
            if classes.texts.len() > MOST_CLASSES {
                return Err(no_classes(names, classes.texts.len(), all.rows));
            }
        }
        Ok(all)
    }
}

/// The labels of a file.
struct OwnLabels {
    values: Vec<f64>,
    texts: Vec<String>,
}

fn read_labels(path: &PathBuf) -> Result<OwnLabels> {
    let names = Table::open(path, &[], ReadOptions::default())?
        .names()
        .to_vec();
    let [name] = &names[..] else {
        return Err(Error::Unsuitable(format!(
            "{} has {} columns: a file of labels has one",
            shown_path(path),
            names.len()
        )));
    };
    let wanted = [Want::Label(name.clone())];
    let mut table = Table::open(path, &wanted, ReadOptions::default())?;
    let (mut values, mut block) = (Vec::new(), Block::default());
    while table.read(BLOCK, &mut block)? {
        values.extend_from_slice(&block.columns[0]);
    }
    Ok(OwnLabels {
        values,
        texts: table.labels(),
    })
}

fn no_classes(names: &Names, classes: usize, rows: usize) -> Error {
    Error::Unsuitable(format!(
        "`{}` has {classes} different values in {rows} rows: that is a quantity, not a class; make it a target instead",
        shown(&names.targets[0])
    ))
}

/// Classes must be some, and there must be two at least.
fn check_classes(names: &Names, y: &[f64]) -> Result<()> {
    let classes = names.classes.len();
    if let [only] = &names.classes[..] {
        return Err(Error::Unsuitable(format!(
            "`{}` has only one class, `{}`: there is nothing to tell apart",
            shown(&names.targets[0]),
            shown(only)
        )));
    }
    let mut counts = vec![0u64; classes];
    for class in y {
        counts[*class as usize] += 1;
    }
    let single = counts.iter().filter(|c| **c == 1).count();
    match classes > FEW_CLASSES && 2 * single > classes {
        true => Err(no_classes(names, classes, y.len())),
        false => Ok(()),
    }
}

/// From inputs that never change nothing can be learned.
fn refuse_constant(names: &Names, rows: &Gathered) -> Result<()> {
    let width = names.inputs.len();
    let (first, others) = rows.x.split_at(width.min(rows.x.len()));
    let still = others.chunks_exact(width).all(|row| row == first);
    match still {
        true => Err(Error::Unsuitable(format!(
            "every input is the same in all {} rows: nothing can be learned from {}",
            rows.rows,
            listed(&names.inputs)
        ))),
        false => Ok(()),
    }
}
