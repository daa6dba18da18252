//! How the states in a window move with those of its start.

/// How states in a window move with those of its start: a column for each of these.
pub(super) struct Slopes {
    columns: Vec<Vec<f64>>,
    /// The factor of SᵀS.
    lower: Vec<f64>,
}

impl Slopes {
    pub fn new(columns: Vec<Vec<f64>>) -> Option<Self> {
        let n = columns.len();
        let product = |k: usize| dot(&columns[k / n], &columns[k % n]);
        let square: Vec<f64> = (0..n * n).map(product).collect();
        let lower = cholesky(&square, n)?;
        Some(Slopes { columns, lower })
    }

    /// The move of the start that comes nearest to a move of the states: least squares.
    pub fn nearest(&self, states: &[f64]) -> Vec<f64> {
        let (n, lower) = (self.columns.len(), &self.lower);
        let mut right: Vec<f64> = self.columns.iter().map(|c| dot(c, states)).collect();
        // Forwards through the factor, and back.
        for i in 0..n {
            let done: f64 = (0..i).map(|j| lower[i * n + j] * right[j]).sum();
            right[i] = (right[i] - done) / lower[i * n + i];
        }
        for i in (0..n).rev() {
            let done: f64 = (i + 1..n).map(|j| lower[j * n + i] * right[j]).sum();
            right[i] = (right[i] - done) / lower[i * n + i];
        }
        right
    }

    /// The move of the states that follows from one of the start.
    pub fn moved_by(&self, start: &[f64]) -> Vec<f64> {
        let mut states = vec![0.0; self.columns.first().map_or(0, Vec::len)];
        for (column, by) in self.columns.iter().zip(start) {
            states
                .iter_mut()
                .zip(column)
                .for_each(|(x, c)| *x += by * c);
        }
        states
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// L with L·Lᵀ = A, row after row; none if A is not positive definite.
pub(super) fn cholesky(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut lower = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let done: f64 = (0..j).map(|k| lower[i * n + k] * lower[j * n + k]).sum();
            let rest = a[i * n + j] - done;
            if i == j {
                if !(rest > 0.0 && rest.is_finite()) {
                    return None;
                }
                lower[i * n + i] = rest.sqrt();
            } else {
                lower[i * n + j] = rest / lower[j * n + j];
            }
        }
    }
    Some(lower)
}
