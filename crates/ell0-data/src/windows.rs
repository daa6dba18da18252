//! Windows of measurements: a bounded number of rows, drawn evenly from all runs, for judging laws by the measurements themselves.

use crate::{
    error::Result,
    runs::{Run, Runs},
};

/// Rows that follow each other without a gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// Their times.
    pub time: Vec<f64>,
    /// States and controls, row after row.
    pub inputs: Vec<f64>,
}

impl Piece {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.time.len()
    }
}

/// What is taken of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Rows of a piece, at least: shorter runs are whole.
    pub rows: usize,
    /// Rows in all, at most.
    pub most: usize,
}

/// Reads runs and takes pieces of them: all rows if there are few, else stretches at even distances.
pub fn sample(
    mut runs: Runs,
    all: u64,
    inputs: usize,
    wanted: Sample,
    progress: impl Fn(u64),
) -> Result<Vec<Piece>> {
    let Sample { rows, most } = wanted;
    // Of every `period` rows, the first `rows` are taken.
    let period = match all {
        all if all <= most as u64 => 0,
        all => (all * rows as u64).div_ceil(most as u64).max(rows as u64),
    };
    let (mut pieces, mut piece) = (Vec::new(), Piece::default());
    let mut row = 0u64;
    let mut finish = |piece: &mut Piece| {
        let done = std::mem::take(piece);
        if done.rows() >= 2 {
            pieces.push(done);
        }
    };
    while let Some(Run {
        columns,
        begins,
        gap,
    }) = runs.next_run()?
    {
        if begins || gap {
            finish(&mut piece);
        }
        let n = columns[0].len();
        for k in 0..n {
            let taken = period == 0 || row % period < rows as u64;
            if taken {
                piece.time.push(columns[0][k]);
                let values = columns[1..=inputs].iter().map(|c| c[k]);
                piece.inputs.extend(values);
            } else {
                finish(&mut piece);
            }
            row += 1;
        }
        progress(n as u64);
    }
    finish(&mut piece);
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{frame::Frame, runs::Roles, table::ReadOptions};

    fn pieces(rows: usize, most: usize) -> Vec<Piece> {
        let t: Vec<f64> = (0..rows).map(|k| k as f64).collect();
        let x: Vec<f64> = t.iter().map(|t| 2.0 * t).collect();
        let frames = [
            Frame::new([("t", t.clone()), ("x", x.clone())]),
            Frame::new([("t", t), ("x", x)]),
        ];
        let roles = Roles {
            inputs: vec!["x".into()],
            time: Some("t".into()),
            ..Roles::default()
        };
        let runs = Runs::of_frames(&frames, roles, ReadOptions::default()).expect("runs");
        let wanted = Sample { rows: 10, most };
        sample(runs, 2 * rows as u64, 1, wanted, |_| ()).expect("pieces")
    }

    #[test]
    fn few_rows_are_all_taken_and_many_evenly() {
        let all = pieces(100, 1000);
        assert_eq!(all.iter().map(Piece::rows).collect::<Vec<_>>(), [100, 100]);
        assert_eq!(all[1].inputs[7], 14.0);
        let some = pieces(50_000, 1000);
        let taken: usize = some.iter().map(Piece::rows).sum();
        assert!((900..=1000).contains(&taken), "{taken}");
        assert!(some.iter().all(|p| p.rows() == 10));
        let gaps: Vec<f64> = some
            .windows(2)
            .map(|p| p[1].time[0] - p[0].time[0])
            .collect();
        assert!(
            gaps.iter().filter(|g| **g == 1000.0).count() > 95,
            "{gaps:?}"
        );
    }
}
