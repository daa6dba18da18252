//! `model.json`: read, evaluated, printed and exported.

use ell0::{
    equation::Model,
    export::{Format, Options, export},
};

use super::{Target, samples, text};
use crate::{
    dice::Dice,
    mutate::json,
    verdict::{Fault, Outcome, Verdict, error},
};

pub struct ModelFile;

const WORDS: [&str; 26] = [
    "ell0-model",
    "format",
    "version",
    "inputs",
    "dynamics",
    "library",
    "equations",
    "target",
    "expression",
    "terms",
    "digits",
    "feature",
    "coefficient",
    "probability",
    "regression",
    "continuous",
    "discrete",
    "x",
    "y",
    "v",
    "polynomial(3)",
    "x^2",
    "sin(x)",
    "1/0",
    "int",
    "double",
];

impl Target for ModelFile {
    fn extension(&self) -> &'static str {
        "json"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let models = samples::models()?;
        Ok(models.iter().map(|m| m.to_json().into_bytes()).collect())
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        let (seed, other) = (dice.pick(seeds), dice.pick(seeds));
        json::mutate(dice, seed, other, &WORDS)
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        text::read(bytes, Model::from_json, |model| {
            text::same_again(&model, &model.to_json(), Model::from_json)?;
            let rows = 3;
            let values: Vec<f64> = (0..rows * model.inputs().len())
                .map(|k| 0.3 * k as f64 - 0.5)
                .collect();
            match model.predict(&values, rows) {
                Ok(out) if out.len() == rows * model.equations().len() => {}
                Ok(out) => {
                    let what = format!("{} numbers", out.len());
                    return Err(Fault::wrong("a number for each row and target", what));
                }
                Err(e) => return error(e),
            }
            let _ = (model.text(5), model.latex(5), model.pysindy(3));
            // One of the languages, by the length of the file: all of them would take too long.
            let (format, _) = Format::ALL[bytes.len() % Format::ALL.len()];
            match export(&model, format, &Options::default()) {
                Ok(files) if files.is_empty() => Err(Fault::wrong("an export has files", "")),
                Ok(_) => Ok(Outcome::Valid),
                Err(e) => error(e),
            }
        })
    }
}
