//! Columns, and terms of the library, that are combinations of others on the data of a fit: coefficients of these cannot be told apart.

use ell0::{
    dictionary::{Relating, Relation, relations},
    equation::Dynamics,
    features::{Features, Term},
    wording::shown,
};
use ell0_data::evidence::Evidence;

use super::{Discovery, judgement::percent, measured::Measured, rows::SampledRows};
use crate::error::Result;

/// Rows that are looked at.
const ROWS: usize = 1000;

/// With more terms than this only columns are looked at; and with fewer rows for each.
const MOST_TERMS: usize = 60;
const ROWS_FOR_EACH: usize = 3;
const FEWEST: usize = 20;

/// Relations that are looked for, and those that are told one by one.
const MOST: usize = 8;
const TOLD: usize = 3;

/// A combination that leaves less than this leaves nothing but digits.
const EXACT: f64 = 1e-6;

/// A column that is a combination of others up to this share of its standard deviation is named, whatever the noise is.
const NEAR: f64 = 1e-2;

/// Among the terms of a library there are many combinations, and some are small by chance. What is named has so few members beside the first, leaves so little of it, and what it leaves is noise: neighbouring rows of it are not correlated.
const MEMBERS: usize = 3;
const LEAVES: f64 = 0.1;
const WHITE: f64 = 3.0;

/// Combinations among the columns; among the terms of the library, if there are none.
pub(super) fn related(evidence: &[Evidence], features: &Features) -> Result<Vec<Relation>> {
    let sampled = SampledRows::of(evidence);
    let step = sampled.len().div_ceil(ROWS).max(1);
    let rows: Vec<Vec<f64>> = (0..sampled.len())
        .step_by(step)
        .map(|k| sampled.row(k))
        .collect();
    let noise = noise(evidence);
    let inputs = features.inputs();
    let one = (!inputs.iter().any(|name| name == "1")).then(Term::one);
    let linear = (0..inputs.len())
        .map(|input| Term::of(ell0::features::Factor::Power { input, exponent: 1 }));
    let columns = Looked {
        terms: one.into_iter().chain(linear).collect(),
        rows: &rows,
        noise: &noise,
    };
    let found = columns.relations(inputs, NEAR)?;
    if !found.is_empty() || features.len() > MOST_TERMS {
        return Ok(found);
    }
    let terms = Looked {
        terms: features.terms().to_vec(),
        rows: &rows,
        noise: &noise,
    };
    let found = terms.relations(inputs, 0.0)?.into_iter();
    let small = found.filter(|r| r.of.len() <= MEMBERS && r.left <= LEAVES);
    Ok(small.filter(|r| terms.is_noise(r, inputs)).collect())
}

/// The noise of each input, where it is known: controls, and the inputs of a regression, count as exact.
fn noise(evidence: &[Evidence]) -> Vec<f64> {
    let first = &evidence[0];
    let mut noise = vec![0.0; first.inputs.len()];
    if first.dynamics == Dynamics::Continuous
        && let Some(measured) = Measured::of(evidence)
    {
        let known = measured.noise.iter().zip(&measured.known);
        let known = known.map(|(noise, known)| if *known { *noise } else { 0.0 });
        noise
            .iter_mut()
            .zip(known)
            .for_each(|(n, known)| *n = known);
    }
    noise
}

/// Terms on rows.
struct Looked<'a> {
    terms: Vec<Term>,
    rows: &'a [Vec<f64>],
    noise: &'a [f64],
}

impl Looked<'_> {
    fn relations(&self, inputs: &[String], near: f64) -> Result<Vec<Relation>> {
        let (rows, terms) = (self.rows.len(), self.terms.len());
        if rows < (ROWS_FOR_EACH * terms).max(FEWEST) {
            return Ok(Vec::new());
        }
        let values = |term: &Term| self.rows.iter().map(|row| term.apply(row)).collect();
        let columns: Vec<Vec<f64>> = self.terms.iter().map(values).collect();
        let columns = columns.concat();
        let noisy = (0..self.noise.len()).filter(|input| self.noise[*input] > 0.0);
        let moved: Vec<Moved> = noisy.map(|input| self.moved(input)).collect();
        let all = moved.iter().flatten().flat_map(|(_, by)| by);
        if !all.chain(&columns).all(|v| v.is_finite()) {
            return Ok(Vec::new());
        }
        let noise = |coefficients: &[f64]| {
            let square = |moved: &Moved, row: usize| {
                let terms = moved.iter().map(|(j, by)| coefficients[*j] * by[row]);
                terms.sum::<f64>().powi(2)
            };
            let each = |moved: &Moved| (0..rows).map(|row| square(moved, row)).sum::<f64>();
            (moved.iter().map(each).sum::<f64>() / rows as f64).sqrt()
        };
        let names: Vec<String> = self.terms.iter().map(|term| term.name(inputs)).collect();
        let relating = Relating {
            noise: &noise,
            near,
            most: MOST,
        };
        Ok(relations(&names, &columns, rows, &relating)?)
    }

    /// Whether what a relation leaves is noise, and no movement that it misses.
    fn is_noise(&self, relation: &Relation, inputs: &[String]) -> bool {
        let term = |name: &String| self.terms.iter().find(|t| t.name(inputs) == *name);
        let of: Option<Vec<(&Term, f64)>> = relation
            .of
            .iter()
            .map(|(name, c)| Some((term(name)?, *c)))
            .collect();
        let (Some(first), Some(of)) = (term(&relation.term), of) else {
            return false;
        };
        let rest = |row: &Vec<f64>| {
            let said: f64 = of.iter().map(|(term, c)| c * term.apply(row)).sum();
            first.apply(row) - said
        };
        let rest: Vec<f64> = self.rows.iter().map(rest).collect();
        let squares: f64 = rest.iter().map(|r| r * r).sum();
        let products: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
        // Exact ones leave digits.
        relation.left < EXACT || products.abs() <= WHITE / (rest.len() as f64).sqrt() * squares
    }

    /// By how much the noise of an input moves the terms that have it.
    fn moved(&self, input: usize) -> Moved {
        let by = self.noise[input];
        let mut near = vec![0.0; self.noise.len()];
        let mut moved = Vec::new();
        for (j, term) in self.terms.iter().enumerate() {
            if !term.factors().iter().any(|f| f.input() == input) {
                continue;
            }
            let mut at = |row: &[f64], by: f64| {
                near.copy_from_slice(row);
                near[input] += by;
                term.apply(&near)
            };
            let rows = self.rows.iter();
            moved.push((
                j,
                rows.map(|row| (at(row, by) - at(row, -by)) / 2.0).collect(),
            ));
        }
        moved
    }
}

/// Terms with what is made of each in every row.
type Moved = Vec<(usize, Vec<f64>)>;

/// A relation in words: v = 2*x − 1.
fn equation(relation: &Relation) -> String {
    let mut text = format!("{} =", shown(&relation.term));
    for (k, (name, c)) in relation.of.iter().enumerate() {
        let sign = match (k, *c < 0.0) {
            (0, true) => " -",
            (0, false) => " ",
            (_, true) => " - ",
            (_, false) => " + ",
        };
        let size = rounded(c.abs());
        text += sign;
        text += &match (name.as_str(), size.as_str()) {
            ("1", size) => size.to_string(),
            (name, "1") => shown(name),
            (name, size) => format!("{size}*{}", shown(name)),
        };
    }
    text
}

/// A number with four digits that count.
fn rounded(value: f64) -> String {
    let digits = (3.0 - value.max(1e-300).log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

impl Discovery {
    /// Columns and terms that are combinations of others on these data, a sentence each.
    #[must_use]
    pub fn relations_told(&self) -> Vec<String> {
        let told = |relation: &Relation| {
            let mut members: Vec<String> = vec![shown(&relation.term)];
            members.extend(relation.of.iter().map(|(name, _)| shown(name)));
            let last = members.pop().unwrap_or_default();
            let members = match members.len() {
                0 => last,
                _ => format!("{} and {last}", members.join(", ")),
            };
            let off = percent(relation.left);
            let (upto, told) = match (relation.exact, relation.left < EXACT) {
                (true, true) => (
                    String::new(),
                    "cannot be told apart: any one of them can be left out of a law",
                ),
                (true, false) => (
                    format!(", up to noise of {off}"),
                    "cannot be told apart: any one of them can be left out of a law",
                ),
                (false, _) => (
                    format!(", up to {off} of its standard deviation"),
                    "are told apart only by that rest",
                ),
            };
            format!(
                "{} on these data{upto}: the coefficients of {members} {told}",
                equation(relation)
            )
        };
        let mut all: Vec<String> = self.relations.iter().take(TOLD).map(told).collect();
        let more = self.relations.len().saturating_sub(TOLD);
        if more > 0 {
            all.push(format!(
                "and {more} more relations of this kind among the terms"
            ));
        }
        all
    }
}
