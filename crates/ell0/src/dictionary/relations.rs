//! Columns that are combinations of others: exactly, or up to the noise.

use serde::{Deserialize, Serialize};

use super::{Problem, Statistics, support::Fitted};
use crate::error::{Result, require_len};

/// A column that is a linear combination of others on given data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    /// Its name.
    pub term: String,
    /// The others, with their coefficients.
    pub of: Vec<(String, f64)>,
    /// Standard deviation of what the combination leaves, relative to that of the column.
    pub left: f64,
    /// Whether that is no more than digits cut off, or than what noise makes of a combination that is exact.
    pub exact: bool,
}

/// What makes a combination of columns one worth naming.
pub struct Relating<'a> {
    /// The standard deviation that noise of the data makes of a combination: of all columns with these coefficients.
    pub noise: &'a dyn Fn(&[f64]) -> f64,
    /// A combination that leaves less than this share of a column's standard deviation is named, whatever the noise is.
    pub near: f64,
    /// Relations that are looked for.
    pub most: usize,
}

/// A smaller share is digits cut off.
const CUT_OFF: f64 = 1e-6;

/// A combination that leaves more than this share of a column says little of it, be it noise or not.
const LARGEST: f64 = 0.2;

/// Two estimates of the same noise are alike up to this factor.
const ALIKE: f64 = 1.25;

/// A member of a combination belongs to it if more is left without it, by this factor.
const WORSE: f64 = 1.5;

/// Combinations among columns, which stand one after the other; each is of as few columns as will do, and of earlier ones. Constants other than the column `1` are left aside.
pub fn relations(
    names: &[String],
    columns: &[f64],
    rows: usize,
    relating: &Relating,
) -> Result<Vec<Relation>> {
    require_len("values of the columns", columns.len(), rows * names.len())?;
    let column = |j: usize| &columns[j * rows..(j + 1) * rows];
    let spreads: Vec<f64> = (0..names.len()).map(|j| spread(column(j))).collect();
    // A column of its own for what is asked of a problem: its target does not matter.
    let mut statistics = Statistics::new(names.to_vec(), vec![String::new()])?;
    statistics.push(columns, &vec![0.0; rows], rows)?;
    let problem = Problem::new(&statistics, &[0])?;
    let looked = Looked {
        columns,
        rows,
        problem: &problem,
        spreads: &spreads,
        relating,
    };
    let mut kept = Fitted::new(&problem, &[]);
    let mut found = Vec::new();
    for j in 0..names.len() {
        if spreads[j] == 0.0 && names[j] != "1" {
            continue;
        }
        let distance = kept.addition(j).1.sqrt() * problem.scale[j];
        if distance <= LARGEST * spreads[j]
            && found.len() < relating.most
            && let Some((members, left, exact)) = looked.combination(&kept.support, j)
        {
            let of = members.iter().map(|(i, c)| (names[*i].clone(), *c));
            found.push(Relation {
                term: names[j].clone(),
                of: of.collect(),
                left: left / spreads[j],
                exact,
            });
            continue;
        }
        kept.add(j);
    }
    Ok(found)
}

/// Standard deviation.
fn spread(column: &[f64]) -> f64 {
    let n = column.len().max(1) as f64;
    let mean = column.iter().sum::<f64>() / n;
    let square = column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    // Rounding is no spread.
    match square.sqrt() {
        spread if spread > 1e-14 * mean.abs() => spread,
        _ => 0.0,
    }
}

/// Columns that are looked at.
struct Looked<'a> {
    columns: &'a [f64],
    rows: usize,
    problem: &'a Problem,
    spreads: &'a [f64],
    relating: &'a Relating<'a>,
}

/// Columns with their coefficients.
type Members = Vec<(usize, f64)>;

impl Looked<'_> {
    /// The combination of as few of some columns as will do that is another one; none if what is left is more than noise.
    fn combination(&self, among: &[usize], other: usize) -> Option<(Members, f64, bool)> {
        let mut support = among.to_vec();
        support.sort_unstable();
        let (mut members, mut left) = self.fit(&support, other);
        let limit = |left: f64, members: &Members| {
            let exact = left <= self.allowed(members, other);
            (exact || left <= self.relating.near * self.spreads[other]).then_some(exact)
        };
        limit(left, &members)?;
        // The smallest members first.
        let size = |(i, c): &(usize, f64)| c.abs() * self.problem.scale[*i];
        let mut order = members.clone();
        order.sort_by(|a, b| size(a).total_cmp(&size(b)));
        for (gone, _) in order {
            let fewer: Vec<usize> = support.iter().copied().filter(|i| *i != gone).collect();
            let (next, more) = self.fit(&fewer, other);
            let allowed = (WORSE * left).max(CUT_OFF * self.spreads[other]);
            if more <= allowed && limit(more, &next).is_some() {
                (support, members) = (fewer, next);
                left = more.max(left);
            }
        }
        let exact = limit(left, &members)?;
        // What is 1 up to rounding is no combination of anything.
        (!members.is_empty()).then_some((members, left, exact))
    }

    /// What digits cut off and noise may leave of a combination that is exact.
    fn allowed(&self, members: &Members, other: usize) -> f64 {
        let mut coefficients = vec![0.0; self.spreads.len()];
        members.iter().for_each(|(i, c)| coefficients[*i] = -c);
        coefficients[other] = 1.0;
        let noise = (self.relating.noise)(&coefficients);
        (CUT_OFF * self.spreads[other]).max(ALIKE * noise)
    }

    /// The combination that comes nearest to a column, and what it leaves.
    fn fit(&self, support: &[usize], other: usize) -> (Members, f64) {
        let fitted = Fitted::new(self.problem, support);
        let scaled = fitted.combination(fitted.len(), other);
        let scale = &self.problem.scale;
        let members = fitted.support.iter().zip(scaled);
        let members: Members = members
            .map(|(i, c)| (*i, c * scale[other] / scale[*i]))
            .collect();
        let column = |j: usize| &self.columns[j * self.rows..(j + 1) * self.rows];
        let mut rest = column(other).to_vec();
        for (i, c) in &members {
            rest.iter_mut()
                .zip(column(*i))
                .for_each(|(r, v)| *r -= c * v);
        }
        let square = rest.iter().map(|r| r * r).sum::<f64>() / self.rows.max(1) as f64;
        (members, square.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    const ROWS: usize = 400;

    /// The relations among x, v and what is made of them.
    fn found(
        names: &[&str],
        noise: f64,
        made: impl Fn(f64, f64, f64) -> Vec<f64>,
    ) -> Vec<Relation> {
        let mut rng = Stream::new(5).at(0);
        let rows: Vec<Vec<f64>> = (0..ROWS)
            .map(|_| made(rng.normal(), rng.normal(), noise * rng.normal()))
            .collect();
        let columns: Vec<f64> = (0..names.len())
            .flat_map(|j| rows.iter().map(move |row| row[j]))
            .collect();
        let names: Vec<String> = names.iter().map(|n| n.to_string()).collect();
        // The noise is that of the last column.
        let of = |c: &[f64]| noise * c.last().map_or(0.0, |c| c.abs());
        let relating = Relating {
            noise: &of,
            near: 1e-2,
            most: 3,
        };
        relations(&names, &columns, ROWS, &relating).unwrap()
    }

    #[test]
    fn a_feedback_is_named_with_its_gains() {
        let names = ["1", "x", "v", "w", "u"];
        for (noise, digits) in [(0.0, 1e-12), (0.05, 0.02)] {
            let of = |x: f64, v: f64, e: f64| {
                vec![1.0, x, v, (7.0 * x).sin() * v, -3.0 * x - 2.0 * v + e]
            };
            let all = found(&names, noise, of);
            let [relation] = &all[..] else {
                panic!("{noise}: {all:?}");
            };
            let members: Vec<&str> = relation.of.iter().map(|m| m.0.as_str()).collect();
            assert_eq!(
                (relation.term.as_str(), &members[..]),
                ("u", &["x", "v"][..])
            );
            for ((_, c), truth) in relation.of.iter().zip([-3.0, -2.0]) {
                assert!((c - truth).abs() < digits, "{relation:?}");
            }
            assert!(relation.exact && relation.left <= noise.max(1e-12));
        }
    }

    #[test]
    fn a_circle_is_named_and_rounding_is_near() {
        let circle = |x: f64, _: f64, _: f64| {
            let (s, c) = x.sin_cos();
            vec![1.0, c, s, c * c, c * s, s * s]
        };
        let all = found(&["1", "x", "v", "x^2", "x v", "v^2"], 0.0, circle);
        let [relation] = &all[..] else {
            panic!("{all:?}")
        };
        assert_eq!(relation.term, "v^2");
        let [(one, a), (square, b)] = &relation.of[..] else {
            panic!("{all:?}")
        };
        assert_eq!((one.as_str(), square.as_str()), ("1", "x^2"));
        assert!((a - 1.0).abs() < 1e-9 && (b + 1.0).abs() < 1e-9);
        // A sum in cents is no sum to the last digit, but near.
        let total = |x: f64, v: f64, _: f64| vec![1.0, x, v, (100.0 * (x + v)).round() / 100.0];
        let all = found(&["1", "a", "b", "total"], 0.0, total);
        let [relation] = &all[..] else {
            panic!("{all:?}")
        };
        assert!(!relation.exact && relation.left < 0.01);
    }

    /// Columns that only go along with each other are none.
    #[test]
    fn healthy_columns_have_no_relation() {
        for noise in [0.0, 0.1] {
            let near = |x: f64, v: f64, e: f64| vec![1.0, x, v, x + 0.2 * v * v + e];
            assert_eq!(found(&["1", "x", "v", "y"], noise, near), []);
        }
        let constant = |x: f64, _: f64, _: f64| vec![1.0, x, 5.0];
        assert_eq!(found(&["1", "x", "c"], 0.0, constant), []);
    }
}
