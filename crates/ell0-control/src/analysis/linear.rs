//! Small matrices: the linear algebra of a loop.

use faer::{Mat, linalg::solvers::Solve};

use super::value::Complex;

/// A matrix, row by row.
pub type Rows = Vec<Vec<f64>>;

fn to_faer(a: &[Vec<f64>]) -> Mat<f64> {
    Mat::from_fn(a.len(), a.first().map_or(0, Vec::len), |i, j| a[i][j])
}

/// Eigenvalues, the largest first; none if they cannot be computed.
pub fn eigenvalues(a: &[Vec<f64>]) -> Option<Vec<Complex>> {
    if a.iter().flatten().any(|v| !v.is_finite()) {
        return None;
    }
    let mut values: Vec<Complex> = to_faer(a)
        .eigenvalues()
        .ok()?
        .into_iter()
        .map(|z| Complex { re: z.re, im: z.im })
        .collect();
    values.sort_by(|x, y| {
        let larger = y.abs().total_cmp(&x.abs());
        larger.then(y.im.total_cmp(&x.im))
    });
    Some(values)
}

/// The largest absolute value of an eigenvalue; infinite if there is none.
pub fn spectral_radius(a: &[Vec<f64>]) -> f64 {
    eigenvalues(a).map_or(f64::INFINITY, |values| {
        values.iter().fold(0.0, |m, z| z.abs().max(m))
    })
}

/// Whether everything shrinks in the end. Eigenvalues on the unit circle, up to rounding, do not count as inside.
pub fn is_stable(a: &[Vec<f64>]) -> bool {
    spectral_radius(a) < 1.0 - 1e-9
}

/// x with a·x = b; none if a is singular.
pub fn solve(a: &[Vec<f64>], b: &[f64]) -> Option<Vec<f64>> {
    let right = Mat::from_fn(b.len(), 1, |i, _| b[i]);
    let x = to_faer(a).partial_piv_lu().solve(&right);
    let x: Vec<f64> = (0..b.len()).map(|i| x[(i, 0)]).collect();
    x.iter().all(|v| v.is_finite()).then_some(x)
}

/// a⁻¹; none if a is singular.
pub fn inverse(a: &[Vec<f64>]) -> Option<Rows> {
    let n = a.len();
    let columns: Vec<Vec<f64>> = (0..n)
        .map(|k| {
            solve(
                a,
                &(0..n)
                    .map(|i| f64::from(u8::from(i == k)))
                    .collect::<Vec<_>>(),
            )
        })
        .collect::<Option<_>>()?;
    Some(
        (0..n)
            .map(|i| columns.iter().map(|c| c[i]).collect())
            .collect(),
    )
}

/// a·b.
pub fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Rows {
    let columns = b.first().map_or(0, Vec::len);
    a.iter()
        .map(|row| {
            (0..columns)
                .map(|j| row.iter().zip(b).map(|(x, b)| x * b[j]).sum())
                .collect()
        })
        .collect()
}

/// aᵀ.
pub fn transpose(a: &[Vec<f64>]) -> Rows {
    let columns = a.first().map_or(0, Vec::len);
    (0..columns)
        .map(|j| a.iter().map(|row| row[j]).collect())
        .collect()
}

/// dᵀ·p·d.
pub fn quadratic(p: &[Vec<f64>], d: &[f64]) -> f64 {
    p.iter()
        .zip(d)
        .map(|(row, x)| x * row.iter().zip(d).map(|(p, y)| p * y).sum::<f64>())
        .sum()
}

/// The lower triangular l with l·lᵀ = a; none if a is not positive definite.
pub fn cholesky(a: &[Vec<f64>]) -> Option<Rows> {
    let n = a.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let rest = a[i][j] - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
            l[i][j] = if i == j {
                if !(rest > 0.0 && rest.is_finite()) {
                    return None;
                }
                rest.sqrt()
            } else {
                rest / l[j][j]
            };
        }
    }
    Some(l)
}

/// p with p = aᵀ·p·a + q: the discrete Lyapunov equation, by doubling. None if a is not stable.
pub fn lyapunov(a: &[Vec<f64>], q: &[Vec<f64>]) -> Option<Rows> {
    if !is_stable(a) {
        return None;
    }
    let (mut a, mut p) = (a.to_vec(), q.to_vec());
    for _ in 0..64 {
        let more = product(&transpose(&a), &product(&p, &a));
        let mut change = 0f64;
        for (p, more) in p.iter_mut().flatten().zip(more.iter().flatten()) {
            *p += more;
            change = change.max((more / p.abs().max(f64::MIN_POSITIVE)).abs());
        }
        a = product(&a, &a);
        if change < 1e-16 {
            break;
        }
    }
    // Symmetric to the last bit.
    let n = p.len();
    for i in 0..n {
        for j in 0..i {
            p[i][j] = 0.5 * (p[i][j] + p[j][i]);
            p[j][i] = p[i][j];
        }
    }
    p.iter().flatten().all(|v| v.is_finite()).then_some(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lyapunov_equation_is_solved() {
        let a = vec![vec![0.8, 0.3], vec![-0.4, 0.6]];
        let q = vec![vec![2.0, 0.5], vec![0.5, 1.0]];
        let p = lyapunov(&a, &q).expect("stable");
        let again = product(&transpose(&a), &product(&p, &a));
        for i in 0..2 {
            for j in 0..2 {
                assert!((p[i][j] - again[i][j] - q[i][j]).abs() < 1e-12);
            }
        }
        assert!(cholesky(&p).is_some());
        assert!(lyapunov(&[vec![1.01]], &[vec![1.0]]).is_none());
        let unit = product(&p, &inverse(&p).expect("regular"));
        assert!((unit[0][0] - 1.0).abs() < 1e-12 && unit[0][1].abs() < 1e-12);
        let turn = eigenvalues(&[vec![0.0, -2.0], vec![2.0, 0.0]]).expect("eigenvalues");
        assert!((turn[0].im - 2.0).abs() < 1e-12 && (turn[1].im + 2.0).abs() < 1e-12);
    }
}
