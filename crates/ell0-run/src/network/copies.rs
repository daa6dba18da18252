//! Rows that are the same: what was learned from one of them was learned from all.

use std::collections::HashSet;

use ell0::rng::Stream;
use rayon::prelude::*;

/// Which rows have the same inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Copies {
    /// For each row, the place of the first with the same inputs: its own, if there is none before it.
    first: Vec<usize>,
}

/// Inputs are categories if so many rows have each combination of their values, and this share of all combinations is there: then rows that are alike are no copies of each other.
const ALIKE: usize = 10;
const COMBINATIONS: f64 = 0.5;

/// The rows to learn from, and those that are put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub kept: Vec<usize>,
    pub aside: Vec<usize>,
}

/// The bits of a number, those of 0 for −0.
fn bits(value: f64) -> u64 {
    (value + 0.0).to_bits()
}

fn hash(row: &[f64]) -> u64 {
    row.iter().fold(row.len() as u64, |hash, value| {
        // The high bits of a product depend on all of its factors; the shift brings them down.
        let mixed = (hash ^ bits(*value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    })
}

impl Copies {
    /// Of rows of numbers.
    pub fn of(rows: &[&[f64]]) -> Self {
        Copies::by(rows, hash)
    }

    /// Of so many rows, no two of which are the same.
    pub fn none(rows: usize) -> Self {
        Copies {
            first: (0..rows).collect(),
        }
    }

    fn by(rows: &[&[f64]], hash: impl Fn(&[f64]) -> u64 + Sync) -> Self {
        let hashed = rows.par_iter().enumerate();
        let mut order: Vec<(u64, usize)> = hashed.map(|(k, row)| (hash(row), k)).collect();
        order.par_sort_unstable();
        let numbers = |k: usize| rows[k].iter().map(|value| bits(*value));
        let mut first: Vec<usize> = (0..rows.len()).collect();
        for alike in order.chunk_by_mut(|a, b| a.0 == b.0) {
            let same = |a: &(u64, usize), b: &(u64, usize)| numbers(a.1).eq(numbers(b.1));
            // Different rows may have one hash; sorted, those that are the same are neighbours.
            if !alike.windows(2).all(|pair| same(&pair[0], &pair[1])) {
                alike.sort_by(|a, b| numbers(a.1).cmp(numbers(b.1)).then(a.1.cmp(&b.1)));
            }
            for copies in alike.chunk_by(same) {
                for (_, k) in copies {
                    first[*k] = copies[0].1;
                }
            }
        }
        Copies { first }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.first.len()
    }

    /// Whether a row is the first of its kind.
    fn is_first(&self, row: usize) -> bool {
        self.first[row] == row
    }

    /// Whether the inputs are categories, so that rows with the same inputs are measurements of their own.
    pub fn are_categories(&self, rows: &[&[f64]]) -> bool {
        let kinds: Vec<&[f64]> = (0..self.rows())
            .filter(|row| self.is_first(*row))
            .map(|row| rows[row])
            .collect();
        if self.rows() < ALIKE * kinds.len() {
            return false;
        }
        let width = kinds.first().map_or(0, |row| row.len());
        let values = |column: usize| {
            let different: HashSet<u64> = kinds.iter().map(|row| bits(row[column])).collect();
            different.len() as f64
        };
        let combinations: f64 = (0..width).map(values).product();
        kinds.len() as f64 >= COMBINATIONS * combinations
    }

    /// Rows that must stand on one side of a split: those that are the same, unless their inputs are categories.
    pub fn to_keep_together(rows: &[&[f64]]) -> Self {
        let copies = Copies::of(rows);
        match copies.are_categories(rows) {
            true => Copies::none(rows.len()),
            false => copies,
        }
    }

    /// Rows that are the same as an earlier one.
    pub fn count(&self) -> usize {
        (0..self.rows()).filter(|row| !self.is_first(*row)).count()
    }

    /// Whether a row is the same as one of the first `others`.
    pub fn is_among(&self, row: usize, others: usize) -> bool {
        self.first[row] < others
    }

    /// The same of some of the rows, in their order.
    pub fn of_some(&self, rows: &[usize]) -> Self {
        let mut place = vec![None; self.rows()];
        let of = |(k, row): (usize, &usize)| *place[self.first[*row]].get_or_insert(k);
        Copies {
            first: rows.iter().enumerate().map(of).collect(),
        }
    }

    /// All rows in a random order, about `aside` of them put aside, and all that are the same on one side. The order is one of kinds of rows, so that a kind is put aside as probably as any other, however many rows it has; one that has more rows than there is room for is kept. If all have, the smallest is put aside, unless it is the only one.
    pub fn split(&self, aside: usize, stream: &Stream) -> Split {
        let mut order: Vec<usize> = (0..self.rows()).collect();
        if aside == 0 {
            return Split {
                kept: order,
                aside: Vec::new(),
            };
        }
        let mut rng = stream.at(0);
        for k in (1..order.len()).rev() {
            order.swap(k, rng.index(k + 1));
        }
        let mut sizes = vec![0usize; self.rows()];
        self.first.iter().for_each(|first| sizes[*first] += 1);
        let kinds = || order.iter().copied().filter(|row| self.is_first(*row));
        let (mut chosen, mut room) = (vec![false; self.rows()], aside);
        for kind in kinds() {
            if let Some(rest) = room.checked_sub(sizes[kind]) {
                (chosen[kind], room) = (true, rest);
            }
        }
        if room == aside
            && kinds().nth(1).is_some()
            && let Some(smallest) = kinds().min_by_key(|kind| sizes[*kind])
        {
            chosen[smallest] = true;
        }
        let is_aside = |row: &usize| chosen[self.first[*row]];
        let (aside, kept) = order.into_iter().partition(is_aside);
        Split { kept, aside }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As rows were put aside before copies were looked for.
    fn plain(rows: usize, aside: usize, stream: &Stream) -> Split {
        let mut order: Vec<usize> = (0..rows).collect();
        let mut rng = stream.at(0);
        for k in (1..rows).rev() {
            order.swap(k, rng.index(k + 1));
        }
        let kept = order.split_off(aside);
        Split { kept, aside: order }
    }

    #[test]
    fn rows_are_the_same_to_the_last_bit() {
        let next = f64::from_bits(1f64.to_bits() + 1);
        let rows: [&[f64]; 6] = [
            &[0.0, 1.0],
            &[1.0, 0.0],
            &[-0.0, 1.0],
            &[0.0, next],
            &[1.0, -0.0],
            &[0.0, 1.0],
        ];
        let copies = Copies::of(&rows);
        assert_eq!(copies.first, [0, 1, 0, 3, 1, 0]);
        assert_eq!(copies.count(), 3);
        // Whatever the hash is.
        for hash in [|_: &[f64]| 7, |row: &[f64]| row[0] as u64] {
            assert_eq!(Copies::by(&rows, hash), copies);
        }
        assert_eq!(copies.of_some(&[5, 1, 3, 2, 4]).first, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn whole_numbers_have_hashes_of_their_own() {
        let values: Vec<f64> = (0..40_000).map(f64::from).collect();
        let mut hashes: Vec<u64> = values.chunks(2).map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 20_000);
        let low: std::collections::HashSet<u64> = hashes.iter().map(|h| h & 0xffff).collect();
        assert!(low.len() > 15_000, "{}", low.len());
    }

    #[test]
    fn without_copies_the_split_is_the_plain_one() {
        for rows in [1, 2, 3, 10, 1797] {
            for share in [0.0, 0.1, 0.2, 0.9] {
                let aside = ((share * rows as f64).round() as usize).min(rows - 1);
                let stream = Stream::new(rows as u64).split("test");
                let found = Copies::none(rows).split(aside, &stream);
                match aside {
                    0 => assert_eq!(found.kept, (0..rows).collect::<Vec<_>>()),
                    _ => assert_eq!(found, plain(rows, aside, &stream)),
                }
            }
        }
    }

    #[test]
    fn copies_stand_on_one_side() {
        // Kinds of one to seven rows, in turn.
        let values: Vec<f64> = (0..2000)
            .map(|k| f64::from(k % 500 % (k % 7 + 40)))
            .collect();
        let rows: Vec<&[f64]> = values.chunks(1).collect();
        let copies = Copies::of(&rows);
        assert!(copies.count() > 1900);
        for seed in 0..20 {
            let Split { kept, aside } = copies.split(400, &Stream::new(seed));
            assert_eq!(kept.len() + aside.len(), 2000);
            assert!(aside.len() <= 400 && aside.len() > 300, "{}", aside.len());
            assert!(
                aside
                    .iter()
                    .all(|a| kept.iter().all(|k| values[*a] != values[*k]))
            );
            // What is kept can be split again.
            let again = copies.of_some(&kept).split(160, &Stream::new(seed + 1));
            let value = |k: &usize| values[kept[*k]];
            let apart = |a: &usize| again.kept.iter().all(|k| value(a) != value(k));
            assert!(!again.aside.is_empty() && again.aside.iter().all(apart));
        }
    }

    #[test]
    fn a_kind_is_put_aside_as_probably_as_any_other() {
        // 20 rows nine times, and 180 rows once: half of the rows each.
        let values: Vec<f64> = (0..360)
            .map(|k| f64::from(if k < 180 { k % 20 } else { k }))
            .collect();
        let rows: Vec<&[f64]> = values.chunks(1).collect();
        let copies = Copies::of(&rows);
        let several = |seed: u64| {
            let split = copies.split(90, &Stream::new(seed));
            split.aside.iter().filter(|k| **k < 180).count()
        };
        let mean = (0..200).map(several).sum::<usize>() as f64 / 200.0;
        // A kind of nine rows is put aside with a share near one in four, so that 45 rows are expected.
        assert!((mean - 45.0).abs() < 5.0, "{mean}");
    }

    #[test]
    fn categories_are_no_copies() {
        let of = |values: &[f64], width: usize| {
            let rows: Vec<&[f64]> = values.chunks(width).collect();
            Copies::of(&rows).are_categories(&rows)
        };
        // Three columns of three levels; a column of two.
        let levels: Vec<f64> = (0..400)
            .flat_map(|k| [k % 3, k / 3 % 3, k / 9 % 3].map(f64::from))
            .collect();
        assert!(of(&levels, 3) && of(&levels, 1));
        // Twenty rows, twenty times each.
        let mut rng = Stream::new(1).at(0);
        let some: Vec<f64> = (0..60).map(|_| rng.normal()).collect();
        assert!(!of(&some.repeat(20), 3));
        // Each level a few times only.
        assert!(!of(&levels[..300], 3));
    }

    #[test]
    fn few_kinds_are_split_as_well_as_they_can_be() {
        let values = [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0];
        let rows: Vec<&[f64]> = values.chunks(1).collect();
        let split = Copies::of(&rows).split(2, &Stream::new(0));
        assert_eq!(split.aside.len(), 3);
        assert!(split.aside.iter().all(|k| values[*k] == 2.0));
        let only: Vec<&[f64]> = values[..4].chunks(1).collect();
        assert!(Copies::of(&only).split(2, &Stream::new(0)).aside.is_empty());
    }
}
