//! Windows: short stretches of measurements, each with a start of its own.

use crate::error::{Result, require, require_len};

/// A short stretch of measurements of the states, and of inputs from outside that go on beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    time: Vec<f64>,
    /// Row after row.
    states: Vec<f64>,
    controls: Vec<f64>,
    /// One over the deviation of each measurement's error; 0 for one that does not count.
    weights: Vec<f64>,
}

impl Window {
    /// Times, in order, and for each of them a row of states, of inputs from outside (there may be none), and of the deviations of the errors of the states. A deviation that is infinite makes a measurement
    /// count for nothing.
    pub fn new(
        time: Vec<f64>,
        states: Vec<f64>,
        controls: Vec<f64>,
        deviations: &[f64],
    ) -> Result<Self> {
        let rows = time.len();
        require(rows >= 2, "rows of a window", rows, "at least 2")?;
        require(
            time.windows(2).all(|t| t[1] > t[0]) && time[0].is_finite(),
            "time of a window",
            "out of order",
            "it must grow from row to row",
        )?;
        require(
            !states.is_empty() && states.len().is_multiple_of(rows),
            "states of a window",
            states.len(),
            "the same number for each row",
        )?;
        require(
            controls.len().is_multiple_of(rows),
            "controls of a window",
            controls.len(),
            "the same number for each row",
        )?;
        require_len("deviations of a window", deviations.len(), states.len())?;
        require(
            deviations.iter().all(|d| *d > 0.0),
            "deviation",
            "of 0 or less",
            "every measurement needs a deviation above 0",
        )?;
        let finite = states.iter().chain(&controls).all(|v| v.is_finite());
        require(
            finite,
            "window",
            "a value that is not finite",
            "finite values",
        )?;
        Ok(Window {
            weights: deviations.iter().map(|d| 1.0 / d).collect(),
            time,
            states,
            controls,
        })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.time.len()
    }

    /// Number of states.
    #[must_use]
    pub fn width(&self) -> usize {
        self.states.len() / self.rows()
    }

    /// Number of inputs from outside.
    #[must_use]
    pub fn controls(&self) -> usize {
        self.controls.len() / self.rows()
    }

    /// Times of the rows.
    #[must_use]
    pub fn time(&self) -> &[f64] {
        &self.time
    }

    /// The states of a row.
    #[must_use]
    pub fn state(&self, row: usize) -> &[f64] {
        let n = self.width();
        &self.states[row * n..][..n]
    }

    /// One over the deviations of a row.
    #[must_use]
    pub fn weights(&self, row: usize) -> &[f64] {
        let n = self.width();
        &self.weights[row * n..][..n]
    }

    /// Where the law begins, for all that is measured: the first value of each state that counts.
    #[must_use]
    pub fn begin(&self) -> Vec<f64> {
        let first = |i: usize| {
            let counts = (0..self.rows()).find(|k| self.weights(*k)[i] > 0.0);
            self.state(counts.unwrap_or(0))[i]
        };
        (0..self.width()).map(first).collect()
    }

    /// Measurements that count.
    #[must_use]
    pub fn counted(&self) -> usize {
        self.weights.iter().filter(|w| **w > 0.0).count()
    }

    /// What the squared residuals of the window sum to if it cannot be followed: as far off as ten times its own spread, and no less than so many deviations.
    pub(super) fn lost(&self) -> f64 {
        let n = self.width();
        let mut total = 0.0;
        for i in 0..n {
            let rows = 0..self.rows();
            let of = |k: usize| (self.state(k)[i], self.weights(k)[i]);
            let weight: f64 = rows.clone().map(|k| of(k).1.min(1.0)).sum();
            let mean = rows
                .clone()
                .map(|k| of(k).0 * of(k).1.min(1.0))
                .sum::<f64>()
                / weight.max(1e-300);
            total += rows
                .map(|k| (10.0 * (of(k).0 - mean) * of(k).1).powi(2))
                .sum::<f64>();
        }
        total + 1e4 * self.counted() as f64
    }

    /// The inputs from outside at a time between two rows, on the straight line between them.
    pub(super) fn control_at(&self, row: usize, t: f64, out: &mut [f64]) {
        let m = self.controls();
        if m == 0 {
            return;
        }
        let (from, to) = (self.time[row], self.time[row + 1]);
        let share = ((t - from) / (to - from)).clamp(0.0, 1.0);
        let (a, b) = self.controls[row * m..][..2 * m].split_at(m);
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = a + share * (b - a);
        }
    }

    /// Its parts of at most so many rows, or three where two would be left alone; each row is in one part.
    #[must_use]
    pub fn parts(&self, rows: usize) -> Vec<Window> {
        let (n, m) = (self.width(), self.controls());
        let count = self.rows().div_ceil(rows.max(2)).min(self.rows() / 2);
        let edge = |k: usize| k * self.rows() / count;
        (0..count)
            .map(|k| edge(k)..edge(k + 1))
            .map(|range| Window {
                time: self.time[range.clone()].to_vec(),
                states: self.states[range.start * n..range.end * n].to_vec(),
                controls: self.controls[range.start * m..range.end * m].to_vec(),
                weights: self.weights[range.start * n..range.end * n].to_vec(),
            })
            .collect()
    }
}
