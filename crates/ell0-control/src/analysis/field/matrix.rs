//! Large matrices: what passes between rows of numbers and the linear algebra.

use faer::{Mat, linalg::solvers::Solve};

/// A matrix of rows; those that are too short are filled with 0.
pub fn of_rows(rows: &[Vec<f64>], columns: usize) -> Mat<f64> {
    Mat::from_fn(rows.len(), columns, |i, j| {
        rows[i].get(j).copied().unwrap_or(0.0)
    })
}

/// The rows of a matrix.
pub fn to_rows(a: &Mat<f64>) -> Vec<Vec<f64>> {
    (0..a.nrows())
        .map(|i| (0..a.ncols()).map(|j| a[(i, j)]).collect())
        .collect()
}

/// A column.
pub fn column(values: &[f64]) -> Mat<f64> {
    Mat::from_fn(values.len(), 1, |i, _| values[i])
}

/// A diagonal matrix.
pub fn diagonal(values: &[f64]) -> Mat<f64> {
    let n = values.len();
    Mat::from_fn(n, n, |i, j| if i == j { values[i] } else { 0.0 })
}

/// aᵀ, as a matrix of its own.
pub fn transposed(a: &Mat<f64>) -> Mat<f64> {
    a.transpose().to_owned()
}

/// (a + aᵀ)/2: symmetric to the last bit.
pub fn symmetric(a: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| {
        0.5 * (a[(i.min(j), i.max(j))] + a[(i.max(j), i.min(j))])
    })
}

/// Whether all values are finite.
pub fn is_finite(a: &Mat<f64>) -> bool {
    (0..a.ncols()).all(|j| (0..a.nrows()).all(|i| a[(i, j)].is_finite()))
}

/// x with a·x = b; none if a is singular.
pub fn solve(a: &Mat<f64>, b: &Mat<f64>) -> Option<Mat<f64>> {
    let x = a.partial_piv_lu().solve(b);
    is_finite(&x).then_some(x)
}

/// yᵀ·p·y.
pub fn quadratic(p: &Mat<f64>, y: &[f64]) -> f64 {
    (0..p.ncols())
        .map(|j| y[j] * (0..p.nrows()).map(|i| p[(i, j)] * y[i]).sum::<f64>())
        .sum()
}

/// The largest absolute value.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| v.abs().max(m))
}

/// The length of a vector.
pub fn length(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// a − b.
pub fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
