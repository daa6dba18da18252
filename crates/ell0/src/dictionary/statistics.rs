//! The data of a dictionary model, reduced to a triangle.

use serde::{Deserialize, Serialize};

use super::qr;
use crate::{
    error::{Error, Result, require, require_len},
    features::{Features, Workspace},
    simd,
};

/// The triangular factor R of the matrix [Φ y]: all that a squared error needs to know of the data.
///
/// ‖Φw − y‖² = ‖R (w, −1)‖² for every w, whatever the number of rows. R is kept rather than ΦᵀΦ = RᵀR, which would square the condition number.
/// Factors of parts of the data merge into that of the whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Saved", into = "Saved")]
pub struct Statistics {
    features: Vec<String>,
    targets: Vec<String>,
    rows: u64,
    weight: f64,
    /// Sum of the squared weights.
    weight_squares: f64,
    /// (features + targets)², column after column, upper triangle.
    r: Vec<f64>,
    /// The value of each feature that is the same in all rows so far.
    constant: Vec<Option<f64>>,
}

/// The version of the saved form.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    format: String,
    version: u32,
    features: Vec<String>,
    targets: Vec<String>,
    rows: u64,
    weight: f64,
    weight_squares: f64,
    /// The columns of R down to the diagonal.
    triangle: Vec<Vec<f64>>,
    /// The value of each feature in the first row; null where the feature varies.
    constant: Vec<Option<f64>>,
}

const FORMAT: &str = "ell0-statistics";

impl From<Statistics> for Saved {
    fn from(s: Statistics) -> Self {
        let k = s.features.len() + s.targets.len();
        Saved {
            format: FORMAT.into(),
            version: VERSION,
            triangle: (0..k).map(|c| s.r[c * k..c * k + c + 1].to_vec()).collect(),
            constant: s.constant,
            features: s.features,
            targets: s.targets,
            rows: s.rows,
            weight: s.weight,
            weight_squares: s.weight_squares,
        }
    }
}

impl TryFrom<Saved> for Statistics {
    type Error = Error;

    fn try_from(saved: Saved) -> Result<Self> {
        require(
            saved.format == FORMAT,
            "format",
            &saved.format,
            "expected `ell0-statistics`",
        )?;
        require(
            saved.version == VERSION,
            "version",
            saved.version,
            "this program reads version 1",
        )?;
        let k = saved.features.len() + saved.targets.len();
        require_len("columns of the triangle", saved.triangle.len(), k)?;
        // A file takes no more memory than its own size calls for.
        for (c, column) in saved.triangle.iter().enumerate() {
            require_len(
                format!("entries of column {c} of the triangle"),
                column.len(),
                c + 1,
            )?;
        }
        let mut statistics = Statistics::new(saved.features, saved.targets)?;
        for (c, column) in saved.triangle.iter().enumerate() {
            statistics.r[c * k..c * k + c + 1].copy_from_slice(column);
        }
        require(
            statistics.r.iter().all(|v| v.is_finite())
                && saved.weight.is_finite()
                && saved.weight >= 0.0,
            "triangle",
            "a value that is not finite",
            "all values must be finite",
        )?;
        require_len(
            "constants of the features",
            saved.constant.len(),
            statistics.features.len(),
        )?;
        statistics.constant = saved.constant;
        require(saved.rows < 1 << 53, "rows", saved.rows, "at most 2^53")?;
        let sums = [saved.weight, saved.weight_squares];
        let counted = sums
            .iter()
            .all(|s| s.is_finite() && *s >= 0.0 && (*s > 0.0 || saved.rows == 0));
        let empty =
            saved.rows > 0 || (saved.weight == 0.0 && statistics.r.iter().all(|&v| v == 0.0));
        require(
            counted && empty,
            "weight",
            saved.weight,
            "it must be positive, and 0 with an empty triangle if there are no rows",
        )?;
        statistics.rows = saved.rows;
        statistics.weight = saved.weight;
        statistics.weight_squares = saved.weight_squares;
        Ok(statistics)
    }
}

/// Most features and targets: the square of it are 200 MB.
const MOST_COLUMNS: usize = 5_000;

impl Statistics {
    /// Statistics of no rows yet.
    pub fn new(features: Vec<String>, targets: Vec<String>) -> Result<Self> {
        require(
            !features.is_empty(),
            "features",
            "none",
            "at least one feature",
        )?;
        require(
            !targets.is_empty(),
            "targets",
            "none",
            "at least one target",
        )?;
        for names in [&features, &targets] {
            let mut seen = std::collections::HashSet::new();
            if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
                return Err(Error::parameter(
                    "name",
                    twice,
                    "each feature and each target must have its own",
                ));
            }
        }
        let k = features.len() + targets.len();
        require(
            k <= MOST_COLUMNS,
            "features",
            features.len(),
            "features and targets together must be at most 5,000 (their statistics take the square of that): lower the degree or restrict the inputs",
        )?;
        Ok(Statistics {
            r: vec![0.0; k * k],
            constant: vec![None; features.len()],
            features,
            targets,
            rows: 0,
            weight: 0.0,
            weight_squares: 0.0,
        })
    }

    fn width(&self) -> usize {
        self.features.len() + self.targets.len()
    }

    /// Names of the features.
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// Names of the targets.
    pub fn targets(&self) -> &[String] {
        &self.targets
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Sum of the rows' weights; the number of rows, if there are no weights.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Number of rows that count: (Σ weights)²/Σ weights², the number of rows if all weights are the same.
    pub fn effective_rows(&self) -> f64 {
        if self.weight_squares > 0.0 {
            self.weight.powi(2) / self.weight_squares
        } else {
            0.0
        }
    }

    /// Entry of R.
    pub fn r(&self, row: usize, column: usize) -> f64 {
        self.r[column * self.width() + row]
    }

    /// The features that had the same value in every row.
    pub fn constant(&self) -> Vec<usize> {
        (0..self.features.len())
            .filter(|&j| self.constant[j].is_some())
            .collect()
    }

    /// Takes note of further values of a feature.
    fn note(&mut self, feature: usize, values: &[f64], first_rows: bool) {
        if first_rows {
            self.constant[feature] = Some(values[0]);
        }
        if let Some(first) = self.constant[feature]
            && values.iter().any(|&v| v != first)
        {
            self.constant[feature] = None;
        }
    }

    /// Adds the statistics of other rows.
    pub fn merge(&mut self, other: &Statistics) -> Result<()> {
        for (what, ours, theirs) in [
            ("features", &self.features, &other.features),
            ("targets", &self.targets, &other.targets),
        ] {
            if ours != theirs {
                let differs = ours.iter().zip(theirs).find(|(a, b)| a != b);
                let value =
                    differs.map_or(format!("{} names", theirs.len()), |(_, b)| format!("`{b}`"));
                let expected =
                    differs.map_or(format!("{} names", ours.len()), |(a, _)| format!("`{a}`"));
                return Err(Error::parameter(
                    what,
                    value,
                    format!(
                        "statistics merge only if their {what} are the same; here {expected} was expected"
                    ),
                ));
            }
        }
        if other.rows == 0 {
            return Ok(());
        }
        for j in 0..self.features.len() {
            match other.constant[j] {
                Some(value) => self.note(j, &[value], self.rows == 0),
                None => self.constant[j] = None,
            }
        }
        let k = self.width();
        qr::absorb_triangle(&mut self.r, k, &mut other.r.clone());
        self.rows += other.rows;
        self.weight += other.weight;
        self.weight_squares += other.weight_squares;
        Ok(())
    }

    /// Adds rows whose features were computed elsewhere, integrals of them for example; columns of features and of targets stand one after the other.
    pub fn push(&mut self, phi: &[f64], targets: &[f64], rows: usize) -> Result<()> {
        let (p, k) = (self.features.len(), self.width());
        require_len("values of the features", phi.len(), rows * p)?;
        require_len("target values", targets.len(), rows * (k - p))?;
        let mut room = vec![0.0; BLOCK.min(rows) * k];
        for start in (0..rows).step_by(BLOCK) {
            let n = BLOCK.min(rows - start);
            let block = &mut room[..n * k];
            let columns = phi.chunks_exact(rows).chain(targets.chunks_exact(rows));
            for (room, column) in block.chunks_exact_mut(n).zip(columns) {
                room.copy_from_slice(&column[start..][..n]);
            }
            self.absorb(block, n, None)?;
        }
        Ok(())
    }

    /// Adds `n` rows of features and targets, which are overwritten.
    fn absorb(&mut self, block: &mut [f64], n: usize, weights: Option<&[f64]>) -> Result<()> {
        let (p, k) = (self.features.len(), self.width());
        if !simd::all_within(block, LARGEST) {
            let at = block
                .iter()
                .position(|x| x.is_nan() || x.abs() > LARGEST)
                .unwrap_or(0);
            let mut names = self.features.iter().chain(&self.targets);
            return Err(Error::Value {
                column: names.nth(at / n).cloned().unwrap_or_default(),
                row: self.rows + (at % n) as u64,
                value: block[at],
                expected: "every value must be finite and at most 1e100: repair the row, leave it out, or choose another function".into(),
            });
        }
        let first_rows = self.rows == 0;
        for (j, column) in block.chunks_exact(n).take(p).enumerate() {
            self.note(j, column, first_rows);
        }
        let (mut weight, mut squares) = (n as f64, n as f64);
        if let Some(weights) = weights {
            weight = weights.iter().sum();
            squares = weights.iter().map(|w| w * w).sum();
            for column in block.chunks_exact_mut(n) {
                column
                    .iter_mut()
                    .zip(weights)
                    .for_each(|(x, w)| *x *= w.sqrt());
            }
        }
        qr::absorb(&mut self.r, k, block, n);
        self.rows += n as u64;
        self.weight += weight;
        self.weight_squares += squares;
        Ok(())
    }

    /// The statistics of the same rows with some of the features only, in the order given.
    pub fn of_features(&self, features: &[usize]) -> Result<Statistics> {
        let (p, k) = (self.features.len(), self.width());
        if let Some(j) = features.iter().find(|j| **j >= p) {
            return Err(Error::parameter("feature", j, "there are fewer features"));
        }
        let names = features.iter().map(|&j| self.features[j].clone()).collect();
        let mut part = Statistics::new(names, self.targets.clone())?;
        // The rows of R stand for all rows of the data.
        let columns = features.iter().copied().chain(p..k);
        let mut block: Vec<f64> = columns
            .flat_map(|c| self.r[c * k..(c + 1) * k].iter().copied())
            .collect();
        let width = part.width();
        qr::absorb(&mut part.r, width, &mut block, k);
        part.constant = features.iter().map(|&j| self.constant[j]).collect();
        part.rows = self.rows;
        part.weight = self.weight;
        part.weight_squares = self.weight_squares;
        Ok(part)
    }

    /// The squared error of target `target` per unit of weight, for coefficients of all features.
    pub fn mean_squared_error(&self, target: usize, coefficients: &[f64]) -> Result<f64> {
        let p = self.features.len();
        require_len("coefficients", coefficients.len(), p)?;
        require(
            target < self.targets.len(),
            "target",
            target,
            "there are fewer targets",
        )?;
        if self.weight == 0.0 {
            return Err(Error::Empty { what: "statistics" });
        }
        let k = self.width();
        let mut residual: Vec<f64> = self.r[(p + target) * k..][..k].iter().map(|y| -y).collect();
        simd::vectorised(
            #[inline(always)]
            || {
                // Column after column, and only those that count: laws have few terms.
                let terms = coefficients.iter().enumerate().filter(|(_, w)| **w != 0.0);
                for (column, &w) in terms {
                    let r = &self.r[column * k..][..=column];
                    for (residual, r) in residual.iter_mut().zip(r) {
                        *residual = r.mul_add(w, *residual);
                    }
                }
            },
        );
        Ok(residual.iter().map(|r| r * r).sum::<f64>() / self.weight)
    }

    /// How many significant digits the coefficients of a law need to be printed with, at least five: with fewer the squared error would grow by more than 1 %. Large coefficients that cancel
    /// need many.
    pub fn digits(&self, target: usize, coefficients: &[f64]) -> Result<usize> {
        let error = self.mean_squared_error(target, coefficients)?;
        let energy = self.mean_squared_error(target, &vec![0.0; coefficients.len()])?;
        // Exact laws have no error that could grow by a share.
        let limit = 1.01 * error + 1e-8 * energy;
        for digits in 5..17 {
            let rounded = |c: &f64| format!("{c:.*e}", digits - 1).parse().unwrap_or(*c);
            let rounded: Vec<f64> = coefficients.iter().map(rounded).collect();
            if self.mean_squared_error(target, &rounded)? <= limit {
                return Ok(digits);
            }
        }
        Ok(17)
    }
}

/// Turns rows of inputs and targets into statistics, block by block. Memory is a block and the triangle, whatever the number of rows.
#[derive(Clone, Debug)]
pub struct Accumulator {
    features: Features,
    statistics: Statistics,
    workspace: Workspace,
    block: Vec<f64>,
    inputs: Vec<f64>,
}

/// Values beyond this cannot be squared and summed; weights neither.
const LARGEST: f64 = 1e100;

/// Rows that are reflected together: the block stays in the second-level cache, and mostly in the first.
const BLOCK: usize = 128;

impl Accumulator {
    /// An accumulator for the given features and targets.
    pub fn new(features: Features, targets: Vec<String>) -> Result<Self> {
        let statistics = Statistics::new(features.names().to_vec(), targets)?;
        Ok(Accumulator {
            workspace: features.workspace(BLOCK),
            block: vec![0.0; BLOCK * statistics.width()],
            inputs: vec![0.0; BLOCK * features.inputs().len()],
            features,
            statistics,
        })
    }

    /// Adds rows; the columns of inputs and of targets stand one after the other. Weights, if given, must not be negative.
    ///
    /// After an error, the rows before the block that it names are in ([`Statistics::rows`] says how many): start anew, or go on from there.
    pub fn push(
        &mut self,
        inputs: &[f64],
        targets: &[f64],
        weights: Option<&[f64]>,
        rows: usize,
    ) -> Result<()> {
        let (n_inputs, q) = (self.features.inputs().len(), self.statistics.targets.len());
        require_len("input values", inputs.len(), rows * n_inputs)?;
        require_len("target values", targets.len(), rows * q)?;
        if let Some(weights) = weights {
            require_len("weights", weights.len(), rows)?;
            if let Some(row) = weights.iter().position(|w| !(0.0..=LARGEST).contains(w)) {
                return Err(Error::Value {
                    column: "weight".into(),
                    row: self.statistics.rows + row as u64,
                    value: weights[row],
                    expected: "weights must be finite, not negative, and at most 1e100".into(),
                });
            }
        }
        let (p, k) = (self.features.len(), self.statistics.width());
        for start in (0..rows).step_by(BLOCK) {
            let n = BLOCK.min(rows - start);
            let block = &mut self.block[..n * k];
            for (column, room) in self.inputs.chunks_exact_mut(n).take(n_inputs).enumerate() {
                room.copy_from_slice(&inputs[column * rows + start..][..n]);
            }
            self.features.evaluate_into(
                &self.inputs[..n * n_inputs],
                n,
                &mut block[..n * p],
                &mut self.workspace,
            )?;
            for (column, room) in block[n * p..].chunks_exact_mut(n).enumerate() {
                room.copy_from_slice(&targets[column * rows + start..][..n]);
            }
            self.statistics
                .absorb(block, n, weights.map(|w| &w[start..][..n]))?;
        }
        Ok(())
    }

    /// The features.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The statistics of all rows so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The statistics of all rows.
    pub fn finish(self) -> Statistics {
        self.statistics
    }
}
