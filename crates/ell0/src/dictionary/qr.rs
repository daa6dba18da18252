//! Householder reflections on column-major matrices: what the statistics and the supports are made of.

use crate::simd;

const LANES: usize = 8;

/// Σ aᵢbᵢ with independent partial sums.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0f64; LANES];
    let ((a, a_tail), (b, b_tail)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] = a[lane].mul_add(b[lane], lanes[lane]);
        }
    }
    let mut total: f64 = a_tail.iter().zip(b_tail).map(|(a, b)| a * b).sum();
    for pair in 0..LANES / 2 {
        total += lanes[pair] + lanes[pair + LANES / 2];
    }
    total
}

/// The same for four columns at once: the first vector is read once.
#[inline(always)]
fn dot4(v: &[f64], c: [&[f64]; 4]) -> [f64; 4] {
    let mut lanes = [[0f64; 4]; 4];
    let (v, v_tail) = v.as_chunks::<4>();
    let split = c.map(|c| c.as_chunks::<4>());
    for (i, v) in v.iter().enumerate() {
        for k in 0..4 {
            let c = &split[k].0[i];
            for lane in 0..4 {
                lanes[k][lane] = v[lane].mul_add(c[lane], lanes[k][lane]);
            }
        }
    }
    std::array::from_fn(|k| {
        let tail: f64 = v_tail.iter().zip(split[k].1).map(|(a, b)| a * b).sum();
        (lanes[k][0] + lanes[k][2]) + (lanes[k][1] + lanes[k][3]) + tail
    })
}

#[inline(always)]
fn subtract(c: &mut [f64], factor: f64, v: &[f64]) {
    for (c, &v) in c.iter_mut().zip(v) {
        *c = (-factor).mul_add(v, *c);
    }
}

/// R ← the triangular factor of R on top of the block, with R of k × k and the block of `rows` × k, both column after column. The block is used up.
///
/// Each reflection touches one row of R and the block, so the zeros of R cost nothing. R may be of either sign on its diagonal.
pub(super) fn absorb(r: &mut [f64], k: usize, block: &mut [f64], rows: usize) {
    debug_assert!(r.len() == k * k && block.len() == k * rows);
    if rows == 0 {
        return;
    }
    simd::vectorised(
        #[inline(always)]
        || {
            for j in 0..k {
                let (done, rest) = block.split_at_mut((j + 1) * rows);
                let v = &mut done[j * rows..];
                let alpha = r[j * k + j];
                let square = dot(v, v);
                if square == 0.0 {
                    continue;
                }
                let beta = -alpha.signum() * alpha.hypot(square.sqrt());
                let head = alpha - beta;
                let tau = -head / beta;
                let inverse = 1.0 / head;
                v.iter_mut().for_each(|v| *v *= inverse);
                r[j * k + j] = beta;
                let v = &*v;
                let mut columns = rest.chunks_exact_mut(rows);
                let mut column = j + 1;
                while column + 4 <= k {
                    let c: [&mut [f64]; 4] =
                        std::array::from_fn(|_| columns.next().expect("four columns are left"));
                    let dots = dot4(v, [&*c[0], &*c[1], &*c[2], &*c[3]]);
                    for (offset, c) in c.into_iter().enumerate() {
                        let place = (column + offset) * k + j;
                        let w = tau * (r[place] + dots[offset]);
                        r[place] -= w;
                        subtract(c, w, v);
                    }
                    column += 4;
                }
                for c in columns {
                    let place = column * k + j;
                    let w = tau * (r[place] + dot(v, c));
                    r[place] -= w;
                    subtract(c, w, v);
                    column += 1;
                }
            }
        },
    );
}

/// Reflects the columns of `a` (rows × columns, column after column) from row `at` on so that column `column` becomes zero below row `at`;
/// returns that column's norm from row `at` on before, without doing anything if it is at most `tolerance`.
pub(super) fn reflect(a: &mut [f64], rows: usize, at: usize, column: usize, tolerance: f64) -> f64 {
    let norm = {
        let v = &a[column * rows + at..(column + 1) * rows];
        dot(v, v).sqrt()
    };
    if norm <= tolerance {
        return norm;
    }
    simd::vectorised(
        #[inline(always)]
        || {
            let (before, after) = a.split_at_mut((column + 1) * rows);
            let v = &mut before[column * rows + at..];
            let alpha = v[0];
            let beta = if alpha > 0.0 { -norm } else { norm };
            let head = alpha - beta;
            // H = I − (−head/β)·uuᵀ with u = (1, v₁/head, …).
            let tau = -head / beta;
            let inverse = 1.0 / head;
            v[0] = 1.0;
            v[1..].iter_mut().for_each(|v| *v *= inverse);
            for c in after.chunks_exact_mut(rows) {
                let c = &mut c[at..];
                let w = tau * dot(v, c);
                subtract(c, w, v);
            }
            v.fill(0.0);
            v[0] = beta;
        },
    );
    norm
}
