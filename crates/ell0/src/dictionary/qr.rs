//! Householder reflections on column-major matrices: what the statistics and the supports are made of.

use pulp::{Simd, WithSimd};

use crate::simd;

const LANES: usize = 8;

/// Σ aᵢbᵢ with independent partial sums.
#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
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

/// Columns that are reflected together.
const PANEL: usize = 4;

/// The products of a panel's four columns with each of `N` others: everything is read once.
#[inline(always)]
fn panel_dots<S: Simd, const N: usize>(
    simd: S,
    v: [&[f64]; PANEL],
    c: [&[f64]; N],
) -> [[f64; PANEL]; N] {
    let mut sums = [[simd.splat_f64s(0.0); PANEL]; N];
    let (v_head, v_tail) = (
        v.map(|v| S::as_simd_f64s(v).0),
        v.map(|v| S::as_simd_f64s(v).1),
    );
    let (c_head, c_tail) = (
        c.map(|c| S::as_simd_f64s(c).0),
        c.map(|c| S::as_simd_f64s(c).1),
    );
    let length = v_head[0].len();
    // Equal lengths, said once, so that the loop needs no checks.
    let (v_head, c_head) = (v_head.map(|v| &v[..length]), c_head.map(|c| &c[..length]));
    for i in 0..length {
        for n in 0..N {
            for k in 0..PANEL {
                sums[n][k] = simd.mul_add_f64s(v_head[k][i], c_head[n][i], sums[n][k]);
            }
        }
    }
    std::array::from_fn(|n| {
        std::array::from_fn(|k| {
            let tail: f64 = v_tail[k].iter().zip(c_tail[n]).map(|(v, c)| v * c).sum();
            simd.reduce_sum_f64s(sums[n][k]) + tail
        })
    })
}

/// c −= Σ factors_k v_k.
#[inline(always)]
fn panel_subtract<S: Simd>(simd: S, v: [&[f64]; PANEL], c: &mut [f64], factors: [f64; PANEL]) {
    let (v_head, v_tail) = (
        v.map(|v| S::as_simd_f64s(v).0),
        v.map(|v| S::as_simd_f64s(v).1),
    );
    let (c_head, c_tail) = S::as_mut_simd_f64s(c);
    let v_head = v_head.map(|v| &v[..c_head.len()]);
    let wide = factors.map(|f| simd.splat_f64s(-f));
    for (i, c) in c_head.iter_mut().enumerate() {
        let mut value = *c;
        for k in 0..PANEL {
            value = simd.mul_add_f64s(wide[k], v_head[k][i], value);
        }
        *c = value;
    }
    for (i, c) in c_tail.iter_mut().enumerate() {
        *c -= (0..PANEL).map(|k| factors[k] * v_tail[k][i]).sum::<f64>();
    }
}

/// c −= factor·v.
#[inline(always)]
pub(super) fn subtract(c: &mut [f64], factor: f64, v: &[f64]) {
    for (c, &v) in c.iter_mut().zip(v) {
        *c = (-factor).mul_add(v, *c);
    }
}

/// R ← the triangular factor of R on top of the block, with R of k × k and the block of `rows` × k, both column after column. The block is used up.
///
/// Each reflection touches one row of R and the block, so the zeros of R cost nothing. Reflections are made four at a time and then applied together to
/// the columns after them: with w_i = R_i + v_i·c − Σ_{l<i} α_l v_i·v_l and α_i = τ_i w_i, four steps are one pass c −= Σ α_i v_i.
pub(super) fn absorb(r: &mut [f64], k: usize, block: &mut [f64], rows: usize) {
    debug_assert!(r.len() == k * k && block.len() == k * rows);
    let triangle = false;
    if rows > 0 {
        pulp::Arch::new().dispatch(Absorb {
            r,
            k,
            block,
            rows,
            triangle,
        });
    }
}

/// [`absorb`] for a block that is a triangle itself: its zeros, which stay zeros, cost nothing either. The bits are the same.
pub(super) fn absorb_triangle(r: &mut [f64], k: usize, block: &mut [f64]) {
    debug_assert!(r.len() == k * k && block.len() == k * k);
    let (rows, triangle) = (k, true);
    if rows > 0 {
        pulp::Arch::new().dispatch(Absorb {
            r,
            k,
            block,
            rows,
            triangle,
        });
    }
}

struct Absorb<'a> {
    r: &'a mut [f64],
    k: usize,
    block: &'a mut [f64],
    rows: usize,
    triangle: bool,
}

impl WithSimd for Absorb<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Absorb {
            r,
            k,
            block,
            rows,
            triangle,
        } = self;
        for start in (0..k).step_by(PANEL) {
            let width = PANEL.min(k - start);
            // Whole groups of lanes, so that the sums have the same bits as over everything.
            let height = match (start + width).next_multiple_of(LANES) {
                height if triangle => height.min(rows),
                _ => rows,
            };
            let (done, rest) = block.split_at_mut((start + width) * rows);
            let panel = &mut done[start * rows..];
            let mut tau = [0.0; PANEL];
            for i in 0..width {
                tau[i] = reflect_panel(r, k, panel, (rows, height), start, i, width);
            }
            if width < PANEL {
                return;
            }
            let v: [&[f64]; PANEL] = std::array::from_fn(|i| &panel[i * rows..][..height]);
            let gram = panel_dots(simd, v, v);
            let mut column = start + PANEL;
            let mut pairs = rest.chunks_exact_mut(2 * rows);
            for pair in &mut pairs {
                let (a, b) = pair.split_at_mut(rows);
                let (a, b) = (&mut a[..height], &mut b[..height]);
                let dots = panel_dots(simd, v, [&*a, &*b]);
                for (c, dots) in [a, b].into_iter().zip(dots) {
                    let factors =
                        panel_factors(&mut r[column * k + start..][..PANEL], &tau, &gram, dots);
                    panel_subtract(simd, v, c, factors);
                    column += 1;
                }
            }
            let last = pairs.into_remainder();
            if !last.is_empty() {
                let last = &mut last[..height];
                let [dots] = panel_dots(simd, v, [&*last]);
                let factors =
                    panel_factors(&mut r[column * k + start..][..PANEL], &tau, &gram, dots);
                panel_subtract(simd, v, last, factors);
            }
        }
    }
}

/// The factors α of a column, and what they do to its four entries of R.
#[inline(always)]
fn panel_factors(
    r: &mut [f64],
    tau: &[f64; PANEL],
    gram: &[[f64; PANEL]; PANEL],
    dots: [f64; PANEL],
) -> [f64; PANEL] {
    let mut alpha = [0.0; PANEL];
    for i in 0..PANEL {
        let earlier: f64 = (0..i).map(|l| alpha[l] * gram[i][l]).sum();
        alpha[i] = tau[i] * (r[i] + dots[i] - earlier);
        r[i] -= alpha[i];
    }
    alpha
}

/// Reflects column `i` of a panel into row `start + i` of R, and the later columns of the panel with it. The column becomes v (its head being 1); τ is
/// returned.
#[inline(always)]
fn reflect_panel(
    r: &mut [f64],
    k: usize,
    panel: &mut [f64],
    (rows, height): (usize, usize),
    start: usize,
    i: usize,
    width: usize,
) -> f64 {
    let j = start + i;
    let (done, rest) = panel.split_at_mut((i + 1) * rows);
    let v = &mut done[i * rows..][..height];
    let alpha = r[j * k + j];
    let square = dot(v, v);
    if square == 0.0 {
        return 0.0;
    }
    let beta = -alpha.signum() * alpha.hypot(square.sqrt());
    let head = alpha - beta;
    let tau = -head / beta;
    let inverse = 1.0 / head;
    v.iter_mut().for_each(|v| *v *= inverse);
    r[j * k + j] = beta;
    for (offset, c) in rest.chunks_exact_mut(rows).take(width - i - 1).enumerate() {
        let place = (j + 1 + offset) * k + j;
        let c = &mut c[..height];
        let w = tau * (r[place] + dot(v, c));
        r[place] -= w;
        subtract(c, w, v);
    }
    tau
}

/// H = I − τ vvᵀ, which turns one column into a multiple of the first unit vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reflection {
    tau: f64,
    /// What the column's first entry becomes.
    pub diagonal: f64,
    /// Entries of v from here on are zero.
    height: usize,
}

impl Reflection {
    /// The reflection of a column, which becomes v; none, and the column as it was, if its norm is at most `tolerance`.
    pub fn of(v: &mut [f64], tolerance: f64) -> Option<Self> {
        let norm = simd::vectorised(
            #[inline(always)]
            || dot(v, v),
        )
        .sqrt();
        if norm <= tolerance || norm.is_nan() {
            return None;
        }
        let alpha = v[0];
        let diagonal = if alpha > 0.0 { -norm } else { norm };
        let head = alpha - diagonal;
        let inverse = 1.0 / head;
        v[0] = 1.0;
        v[1..].iter_mut().for_each(|v| *v *= inverse);
        // Columns of a triangle end early. Whole groups of lanes, so that the sums have the same bits as over everything.
        let last = v.iter().rposition(|&v| v != 0.0).unwrap_or(0);
        let height = (last + 1).next_multiple_of(LANES);
        Some(Reflection {
            tau: -head / diagonal,
            diagonal,
            height: if height > v.len() { v.len() } else { height },
        })
    }

    /// Reflects a column.
    #[inline(always)]
    pub fn apply(&self, v: &[f64], column: &mut [f64]) {
        let (v, column) = (&v[..self.height], &mut column[..self.height]);
        let w = self.tau * dot(v, column);
        subtract(column, w, v);
    }
}

/// Reflects the columns of `a` (rows × columns, column after column) from row `at` on so that column `column` becomes zero below row `at`;
/// returns that column's norm from row `at` on before, without doing anything if it is at most `tolerance`.
pub(super) fn reflect(a: &mut [f64], rows: usize, at: usize, column: usize, tolerance: f64) -> f64 {
    let norm = simd::vectorised(
        #[inline(always)]
        || {
            let v = &a[column * rows + at..(column + 1) * rows];
            dot(v, v)
        },
    )
    .sqrt();
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
