//! Laws that are the same on the data because some columns are combinations of others: they share their probability, as near copies do.
//!
//! Where u = −3x − 2v in every row, a part of a law within such a relation can be written in several ways, of which each leaves one of the relation's members out. How many terms each needs says how likely it is beside the others.

use ell0::{
    dictionary::{Relation, Statistics, price_of_choice},
    equation::DictionaryTarget,
};

use super::judgement::{Alternative, Judged};

/// A term that makes less than this share of what a law says of its target is none.
const NOTHING: f64 = 1e-2;

/// Alternatives that are told: down to these odds, and so many of an equation.
const ODDS: f64 = 0.05;
const MOST_TOLD: usize = 3;

/// What an equation is written in.
pub(super) struct Writing<'a> {
    pub names: &'a [String],
    pub all: &'a Statistics,
    /// Terms that the equation may have.
    pub allowed: &'a [usize],
    pub rows: f64,
}

impl Writing<'_> {
    /// Lets a law share its probability with the other ways to write it that a relation allows.
    pub fn share(&self, law: &mut DictionaryTarget, judged: &mut Judged, relation: &Relation) {
        let Some(members) = self.members(relation) else {
            return;
        };
        let coefficients = law.coefficients.clone();
        let there: Vec<usize> = places(&coefficients);
        let Some(probabilities) = &mut law.probabilities else {
            return;
        };
        if !members.iter().any(|(j, _)| there.contains(j)) {
            return;
        }
        // The law itself, and those one change away that are told.
        let mut total = 1.0 + judged.alternatives.iter().map(|a| a.odds).sum::<f64>();
        probabilities.iter_mut().for_each(|p| *p *= total);
        for other in self.others(&coefficients, &members) {
            let support = places(&other);
            let gone: Vec<&String> = self.told(&there, &support);
            let come: Vec<&String> = self.told(&support, &there);
            if gone.is_empty() && come.is_empty() {
                continue;
            }
            let price = |terms: usize| {
                terms as f64 * self.rows.ln() + price_of_choice(self.allowed.len(), terms)
            };
            // The law was chosen, so that no other is likelier.
            let odds = (-0.5 * (price(support.len()) - price(there.len())))
                .exp()
                .min(1.0);
            let (without, with) = (joined(&gone), joined(&come));
            let mut told = judged.alternatives.iter_mut();
            let told = told.find(|a| a.without == without && a.with == with);
            let known = told.as_ref().map_or(0.0, |a| a.odds);
            let more = (odds - known).max(0.0);
            match told {
                Some(told) => told.odds = told.odds.max(odds),
                None => judged.alternatives.push(Alternative {
                    without,
                    with,
                    odds,
                }),
            }
            for (j, p) in probabilities.iter_mut().enumerate() {
                // What has nothing to do with the relation stays as likely as it is.
                let own = match members.iter().any(|(m, _)| *m == j) {
                    true => f64::from(u8::from(support.contains(&j))),
                    false => *p / total,
                };
                *p += more * own;
            }
            total += more;
        }
        probabilities
            .iter_mut()
            .for_each(|p| *p = (*p / total).clamp(0.0, 1.0));
        judged.alternatives.retain(|a| a.odds >= ODDS);
        judged
            .alternatives
            .sort_by(|a, b| b.odds.total_cmp(&a.odds));
        judged.alternatives.truncate(MOST_TOLD);
    }

    /// The members of a relation with the coefficients of a sum that is 0; none if the equation may not have all of them.
    fn members(&self, relation: &Relation) -> Option<Vec<(usize, f64)>> {
        let place = |name: &String| {
            let place = self.names.iter().position(|n| n == name);
            place.filter(|j| self.allowed.contains(j))
        };
        let mut members = vec![(place(&relation.term)?, 1.0)];
        for (name, c) in &relation.of {
            members.push((place(name)?, -c));
        }
        Some(members)
    }

    /// The ways to write a law, each without one of the members.
    fn others(&self, coefficients: &[f64], members: &[(usize, f64)]) -> Vec<Vec<f64>> {
        let size = |column: usize| {
            let squares = (0..=column).map(|row| self.all.r(row, column).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let largest = |law: &[f64]| {
            let sizes = law.iter().enumerate().map(|(j, c)| c.abs() * size(j));
            sizes.fold(0.0, f64::max)
        };
        let without = |(out, share): &(usize, f64)| {
            let by = -coefficients[*out] / share;
            let mut other = coefficients.to_vec();
            members.iter().for_each(|(j, c)| other[*j] += by * c);
            other[*out] = 0.0;
            let least = NOTHING * largest(coefficients);
            let weak = |j: usize, c: f64| c.abs() * size(j) < least;
            for (j, _) in members {
                if weak(*j, other[*j]) {
                    other[*j] = 0.0;
                }
            }
            other
        };
        let there = members.iter().filter(|(j, _)| coefficients[*j] != 0.0);
        let mut all: Vec<Vec<f64>> = Vec::new();
        for other in there.map(without) {
            if !all.iter().any(|a| places(a) == places(&other)) {
                all.push(other);
            }
        }
        all
    }

    /// Terms of one law that another has not.
    fn told(&self, of: &[usize], but: &[usize]) -> Vec<&String> {
        let own = of.iter().filter(|j| !but.contains(j));
        own.map(|j| &self.names[*j]).collect()
    }
}

fn places(coefficients: &[f64]) -> Vec<usize> {
    let places = 0..coefficients.len();
    places.filter(|j| coefficients[*j] != 0.0).collect()
}

/// Names of terms in one; none if there are none.
fn joined(names: &[&String]) -> Option<String> {
    let names: Vec<&str> = names.iter().map(|n| n.as_str()).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}
