//! Pieces of the measurements: a bounded number of rows, drawn evenly from all runs, for judging laws by the measurements themselves.

use ell0::wording::shown;
use serde::{Deserialize, Serialize};

use crate::runs::Run;

/// Rows that follow each other without a gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// Their times.
    pub time: Vec<f64>,
    /// Inputs, and the targets of a regression, row after row.
    pub values: Vec<f64>,
    /// Number of the first row among all rows.
    pub first: u64,
    /// Where the rows stand: a file, what a place in it is called, and the place of each.
    pub file: String,
    /// Line or row.
    pub word: String,
    /// The number of each.
    pub places: Vec<u64>,
    /// Values that are no measurements but were put in the place of one: places in `values`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<usize>,
}

impl Piece {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.time.len()
    }

    /// Values of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.values.len() / self.rows().max(1)
    }

    /// Whether it has rows of so many finite values, at times in order.
    pub(crate) fn is_sound(&self, width: usize) -> bool {
        let rows = self.rows();
        rows >= 2
            && self.values.len() == rows * width
            && self.places.len() == rows
            && self.values.iter().all(|v| v.is_finite())
            && self.time.iter().all(|t| t.is_finite())
            && self.time.windows(2).all(|t| t[0] < t[1])
            && self.replaced.iter().all(|place| *place < self.values.len())
    }

    /// Where a row stands.
    #[must_use]
    pub fn place(&self, row: usize) -> String {
        let place = self.places.get(row).copied().unwrap_or(0);
        format!("{} {place} of {}", shown(&self.word), shown(&self.file))
    }

    /// Its parts between steps of time that are longer than this.
    fn split(&self, longest: f64) -> Vec<Piece> {
        let long = |k: &usize| self.time[*k] - self.time[*k - 1] > longest;
        let ends = (1..self.rows()).filter(long).chain([self.rows()]);
        self.cut(ends)
    }

    /// Its parts of about so many rows.
    #[must_use]
    pub fn parts(&self, rows: usize) -> Vec<Piece> {
        let count = (self.rows() / rows.max(1)).max(1);
        self.cut((1..=count).map(|k| k * self.rows() / count))
    }

    /// Its parts up to some rows.
    fn cut(&self, ends: impl Iterator<Item = usize>) -> Vec<Piece> {
        let width = self.width();
        let mut from = 0;
        let mut parts = Vec::new();
        for to in ends {
            let own = from * width..to * width;
            let replaced = self.replaced.iter().filter(|place| own.contains(*place));
            parts.push(Piece {
                time: self.time[from..to].to_vec(),
                file: self.file.clone(),
                word: self.word.clone(),
                places: self.places[from..to].to_vec(),
                values: self.values[own.clone()].to_vec(),
                first: self.first + from as u64,
                replaced: replaced.map(|place| place - own.start).collect(),
            });
            from = to;
        }
        parts
    }
}

/// Rows of a piece that is drawn, if there are many: as many as the longest window has.
const ROWS: u64 = 400;

/// Rows in all.
const MOST: usize = 4000;

/// Values in all that laws are judged by.
const VALUES: usize = 16_000;

/// A piece, and whether it goes on where the one before it ended.
#[derive(Debug)]
struct Chunk {
    piece: Piece,
    follows: bool,
}

/// Draws pieces from runs as they go by, without knowing how many rows will come: of every `period` rows the first few are kept; when they become too many, the period is doubled and every second piece goes.
#[derive(Debug)]
pub(crate) struct Sampler {
    period: u64,
    row: u64,
    taken: usize,
    chunks: Vec<Chunk>,
    /// Whether rows that come now go on where the last ones ended.
    follows: bool,
}

impl Sampler {
    pub fn new() -> Self {
        Sampler {
            period: ROWS,
            row: 0,
            taken: 0,
            chunks: Vec::new(),
            follows: false,
        }
    }

    /// Takes a run, and which of its values were put in the place of others: places in row after row, in order.
    pub fn push(&mut self, run: &Run, replaced: &[usize]) {
        let (rows, width) = (run.columns[0].len(), run.columns.len() - 1);
        if run.begins || run.gap {
            self.follows = false;
        }
        let mut k = 0;
        while k < rows {
            let within = self.row % self.period;
            if within >= ROWS {
                // Nothing is wanted until the next period.
                let pause = (self.period - within).min((rows - k) as u64);
                (self.follows, k, self.row) = (false, k + pause as usize, self.row + pause);
                continue;
            }
            // Pieces end where those of a longer period would.
            let until = k + (ROWS - within).min((rows - k) as u64) as usize;
            if !self.follows || within == 0 {
                let (first, follows) = (self.row, self.follows);
                let piece = Piece {
                    first,
                    file: run.spot.file_name(),
                    word: run.spot.word.into(),
                    ..Piece::default()
                };
                self.chunks.push(Chunk { piece, follows });
                self.follows = true;
            }
            if let Some(Chunk { piece, .. }) = self.chunks.last_mut() {
                let before = piece.values.len();
                piece.time.extend_from_slice(&run.columns[0][k..until]);
                piece.places.extend_from_slice(&run.places[k..until]);
                for row in k..until {
                    piece.values.extend(run.columns[1..].iter().map(|c| c[row]));
                }
                let own = k * width..until * width;
                let replaced = replaced.iter().filter(|place| own.contains(*place));
                piece
                    .replaced
                    .extend(replaced.map(|place| place - own.start + before));
            }
            self.taken += until - k;
            self.row += (until - k) as u64;
            k = until;
            if self.taken > 2 * MOST {
                self.thin();
            }
        }
    }

    fn thin(&mut self) {
        self.period *= 2;
        let period = self.period;
        let stays = |chunk: &Chunk| chunk.piece.first % period < ROWS;
        self.follows &= self.chunks.last().is_some_and(stays);
        self.chunks.retain(stays);
        self.taken = self.chunks.iter().map(|c| c.piece.rows()).sum();
    }

    /// The pieces; neighbours that belong together are one.
    pub fn finish(self) -> Vec<Piece> {
        // At most so many rows: of the pieces as many are left out, evenly.
        let share = (MOST as f64 / self.taken.max(1) as f64).min(1.0);
        let mut due = 1.0 - share;
        let mut pieces: Vec<Piece> = Vec::new();
        for Chunk { piece, follows } in self.chunks {
            due += share;
            if due < 1.0 {
                continue;
            }
            due -= 1.0;
            let joins = |before: &Piece| before.first + before.rows() as u64 == piece.first;
            match pieces.last_mut() {
                Some(before) if follows && joins(before) => {
                    let shift = before.values.len();
                    before.time.extend(piece.time);
                    before.places.extend(piece.places);
                    before.values.extend(piece.values);
                    let replaced = piece.replaced.iter().map(|place| place + shift);
                    before.replaced.extend(replaced);
                }
                _ => pieces.push(piece),
            }
        }
        pieces
    }
}

/// Pieces of several samples together: as many rows as one sample has, of each sample its share; fewer of long rows, for it is values that count.
#[must_use]
pub fn bounded(pieces: Vec<Piece>) -> Vec<Piece> {
    let rows: usize = pieces.iter().map(Piece::rows).sum();
    let width = pieces.first().map_or(1, Piece::width).max(1);
    let most = MOST.min(VALUES / width).max(ROWS as usize);
    let pieces: Vec<Piece> = match rows > most {
        true => pieces.iter().flat_map(|p| p.parts(ROWS as usize)).collect(),
        false => pieces,
    };
    let share = (most as f64 / rows.max(1) as f64).min(1.0);
    let mut due = 1.0 - share;
    let stays = |_: &Piece| {
        due += share;
        let stays = due >= 1.0;
        due -= f64::from(stays);
        stays
    };
    pieces.into_iter().filter(stays).collect()
}

/// Pieces without those steps of time that are longer than this, and without what is too short to say anything.
pub fn without_gaps(pieces: Vec<Piece>, longest: f64) -> Vec<Piece> {
    let parts = pieces.into_iter().flat_map(|piece| piece.split(longest));
    parts.filter(|piece| piece.rows() >= 2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(rows: usize, step: usize) -> Vec<Piece> {
        let mut sampler = Sampler::new();
        for run in 0..2 {
            for from in (0..rows).step_by(step) {
                let t: Vec<f64> = (from..rows.min(from + step)).map(|k| k as f64).collect();
                let x: Vec<f64> = t.iter().map(|t| 2.0 * t).collect();
                let run = Run {
                    begins: from == 0,
                    row: (run * rows + from) as u64,
                    places: (from..rows.min(from + step)).map(|k| k as u64).collect(),
                    columns: vec![t, x],
                    ..Run::default()
                };
                // The fourth row of the first block of each run.
                let replaced: &[usize] = if from == 0 { &[3] } else { &[] };
                sampler.push(&run, replaced);
            }
        }
        without_gaps(sampler.finish(), f64::INFINITY)
    }

    #[test]
    fn few_rows_are_all_taken_and_many_evenly() {
        for step in [7, 64, 10_000] {
            let all = pieces(1000, step);
            assert_eq!(
                all.iter().map(Piece::rows).collect::<Vec<_>>(),
                [1000, 1000]
            );
            assert_eq!((all[1].values[7], all[1].first), (14.0, 1000));
            assert_eq!(
                (&all[0].replaced[..], &all[1].replaced[..]),
                (&[3][..], &[3][..])
            );
            let some = pieces(50_000, step);
            let taken: usize = some.iter().map(Piece::rows).sum();
            assert!((3000..=4000).contains(&taken), "{taken}");
            assert_eq!(some, pieces(50_000, 512), "blocks do not matter");
            let firsts: Vec<u64> = some.iter().map(|p| p.first).collect();
            assert!(
                firsts
                    .windows(2)
                    .all(|f| (6_400..=25_600).contains(&(f[1] - f[0]))),
                "{firsts:?}"
            );
        }
    }

    #[test]
    fn pieces_end_at_gaps() {
        let piece = Piece {
            time: vec![0.0, 1.0, 5.0, 6.0, 9.0],
            values: vec![0.0, 1.0, 2.0, 3.0, 4.0],
            first: 10,
            places: vec![12, 13, 14, 15, 16],
            replaced: vec![3],
            ..Piece::default()
        };
        let parts = without_gaps(vec![piece], 2.0);
        assert_eq!(parts.len(), 2);
        assert_eq!(
            (parts[1].first, &parts[1].values[..], &parts[1].replaced[..]),
            (12, &[2.0, 3.0][..], &[1][..])
        );
    }
}
