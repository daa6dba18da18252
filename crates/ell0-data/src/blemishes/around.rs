//! What the rows around a value say of it, whatever a few of them are.

/// Rows on either side that a value is compared with.
pub(super) const REACH: usize = 8;

/// It is a spike if it is so many times as far off the fit to its neighbours as these are.
const FAR: f64 = 8.0;

/// The rows around one.
pub(super) struct Around {
    pub expected: f64,
    /// How far they are off the fit themselves.
    scale: f64,
}

impl Around {
    /// A cubic through the rows around one that has the least sum of distances, so that a few others far off cannot pull it away.
    pub fn new(time: &[f64], column: &[f64], k: usize) -> Option<Self> {
        let (from, to) = (k.saturating_sub(REACH), (k + REACH + 1).min(time.len()));
        let rows: Vec<usize> = (from..to).filter(|i| *i != k).collect();
        if rows.len() < REACH {
            return None;
        }
        let width = (time[to - 1] - time[k]).max(time[k] - time[from]);
        let s = |i: usize| (time[i] - time[k]) / width;
        let (mut weights, mut cubic) = (vec![1.0; rows.len()], [0.0; 4]);
        for _ in 0..20 {
            let (mut a, mut b) = ([[0.0; 4]; 4], [0.0; 4]);
            for (i, w) in rows.iter().zip(&weights) {
                let powers = [1.0, s(*i), s(*i).powi(2), s(*i).powi(3)];
                for (r, p) in powers.iter().enumerate() {
                    b[r] += w * p * column[*i];
                    for (c, q) in powers.iter().enumerate() {
                        a[r][c] += w * p * q;
                    }
                }
            }
            cubic = solve(a, b)?;
            let residual = |i: usize| (column[i] - at(&cubic, s(i))).abs();
            let sizes: Vec<f64> = rows.iter().map(|i| residual(*i)).collect();
            let finest = 1e-3 * median(&sizes) + f64::MIN_POSITIVE;
            weights = sizes.iter().map(|r| 1.0 / r.max(finest)).collect();
            let largest = weights.iter().copied().fold(0.0, f64::max);
            weights.iter_mut().for_each(|w| *w /= largest);
        }
        let sizes: Vec<f64> = rows
            .iter()
            .map(|i| (column[*i] - at(&cubic, s(*i))).abs())
            .collect();
        let share = rows.len() as f64 / (rows.len() as f64 - 4.0);
        Some(Around {
            expected: cubic[0],
            scale: median(&sizes) / 0.6745 * share.sqrt(),
        })
    }

    pub fn is_far(&self, value: f64) -> bool {
        let rounding = 1e-12 * (value.abs() + self.expected.abs());
        (value - self.expected).abs() > FAR * self.scale + rounding
    }
}

fn at(cubic: &[f64; 4], s: f64) -> f64 {
    cubic[0] + s * (cubic[1] + s * (cubic[2] + s * cubic[3]))
}

fn median(sizes: &[f64]) -> f64 {
    let mut sorted = sizes.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Four linear equations, by elimination.
fn solve(mut a: [[f64; 4]; 4], mut b: [f64; 4]) -> Option<[f64; 4]> {
    for k in 0..4 {
        let pivot = (k..4).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs()))?;
        a.swap(k, pivot);
        b.swap(k, pivot);
        if a[k][k].abs() < 1e-300 {
            return None;
        }
        for i in k + 1..4 {
            let share = a[i][k] / a[k][k];
            let above = a[k];
            a[i].iter_mut()
                .zip(above)
                .for_each(|(x, y)| *x -= share * y);
            b[i] -= share * b[k];
        }
    }
    for k in (0..4).rev() {
        let sum: f64 = (k + 1..4).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - sum) / a[k][k];
    }
    Some(b)
}
