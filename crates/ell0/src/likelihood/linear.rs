//! Symmetric systems, small and dense.

/// A symmetric positive definite matrix, factored after its diagonal was scaled to 1.
#[derive(Clone, Debug)]
pub(super) struct Factored {
    n: usize,
    /// Below the diagonal and on it, row after row.
    lower: Vec<f64>,
    scale: Vec<f64>,
}

/// Added to the scaled diagonal: what is singular up to rounding can still be solved.
const RIDGE: f64 = 1e-13;

impl Factored {
    /// Factors a matrix, row after row, with a share of its diagonal added to it; none if it is not positive definite.
    pub fn new(a: &[f64], n: usize, damping: f64) -> Option<Self> {
        let diagonal = (0..n).map(|i| a[i * n + i]);
        let scale: Vec<f64> = diagonal
            .map(|d| if d > 0.0 { 1.0 / d.sqrt() } else { 1.0 })
            .collect();
        let mut lower = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let mut sum = a[i * n + j] * scale[i] * scale[j];
                if i == j {
                    sum = sum.max(0.0) * (1.0 + damping) + RIDGE;
                }
                let (row, other) = (&lower[i * n..][..j], &lower[j * n..][..j]);
                sum -= row.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
                lower[i * n + j] = if i == j {
                    if sum.is_nan() || sum <= 0.0 {
                        return None;
                    }
                    sum.sqrt()
                } else {
                    sum / lower[j * n + j]
                };
            }
        }
        Some(Factored { n, lower, scale })
    }

    /// Solves for a right side, in its place.
    pub fn solve(&self, b: &mut [f64]) {
        let n = self.n;
        b.iter_mut().zip(&self.scale).for_each(|(b, s)| *b *= s);
        for i in 0..n {
            let (done, rest) = b.split_at_mut(i);
            let row = &self.lower[i * n..][..i];
            let sum: f64 = row.iter().zip(&*done).map(|(l, x)| l * x).sum();
            rest[0] = (rest[0] - sum) / self.lower[i * n + i];
        }
        for i in (0..n).rev() {
            b[i] /= self.lower[i * n + i];
            let x = b[i];
            for (j, b) in b[..i].iter_mut().enumerate() {
                *b -= self.lower[i * n + j] * x;
            }
        }
        b.iter_mut().zip(&self.scale).for_each(|(b, s)| *b *= s);
    }

    /// The inverse, row after row.
    pub fn inverse(&self) -> Vec<f64> {
        let column = |k: usize| {
            let mut unit = vec![0.0; self.n];
            unit[k] = 1.0;
            self.solve(&mut unit);
            unit
        };
        (0..self.n).flat_map(column).collect()
    }

    /// The diagonal of the inverse.
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        let column = |k: usize| {
            let mut unit = vec![0.0; self.n];
            unit[k] = 1.0;
            self.solve(&mut unit);
            unit[k]
        };
        (0..self.n).map(column).collect()
    }
}
