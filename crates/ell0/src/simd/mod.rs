//! Elementwise kernels that the compiler vectorises for the processor at hand.
//!
//! Each kernel is an ordinary loop inside [`vectorised`], which runs it through pulp's run-time dispatch: a stock build uses AVX2 and FMA where
//! they exist. The functions inside are branch-free, so that the loops become vector code.

mod functions;

pub(crate) use functions::{exp, expm1, ln, sigmoid, tanh};

/// Runs `kernel` compiled for the best instruction set of this processor.
#[inline(always)]
pub(crate) fn vectorised<R>(kernel: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(kernel)
}

/// Lanes of the partial sums below: wide enough to hide the latency of the additions on eight-lane registers.
const LANES: usize = 32;

/// Σ f(a, b) over two slices of equal length, in a fixed order of partial sums.
#[inline(always)]
fn sum_map(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0f32; LANES];
    let (a_head, a_tail) = a.as_chunks::<LANES>();
    let (b_head, b_tail) = b.as_chunks::<LANES>();
    for (a, b) in a_head.iter().zip(b_head) {
        for lane in 0..LANES {
            lanes[lane] += f(a[lane], b[lane]);
        }
    }
    for (lane, (a, b)) in a_tail.iter().zip(b_tail).enumerate() {
        lanes[lane] += f(*a, *b);
    }
    fold(lanes)
}

/// Sum of the partial sums, halving their number each time.
#[inline(always)]
fn fold(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// Σ aᵢ bᵢ.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    sum_map(a, b, |a, b| a * b)
}

/// Σ aᵢ bᵢ cᵢ.
#[inline(always)]
pub(crate) fn dot3(a: &[f32], b: &[f32], c: &[f32]) -> f32 {
    let mut lanes = [0f32; LANES];
    let ((a, a_tail), (b, b_tail), (c, c_tail)) = (
        a.as_chunks::<LANES>(),
        b.as_chunks::<LANES>(),
        c.as_chunks::<LANES>(),
    );
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane] * c[lane];
        }
    }
    for (lane, ((a, b), c)) in a_tail.iter().zip(b_tail).zip(c_tail).enumerate() {
        lanes[lane] += a * b * c;
    }
    fold(lanes)
}

/// Σ aᵢ.
#[inline(always)]
pub(crate) fn sum(a: &[f32]) -> f32 {
    sum_map(a, a, |a, _| a)
}

/// Σ aᵢ² in double precision, vectorised: the squared norm of a gradient, infinite or NaN as soon as one entry is.
pub(crate) fn squared_norm(a: &[f32]) -> f64 {
    vectorised(
        #[inline(always)]
        || {
            a.chunks(1024)
                .map(|block| {
                    let mut lanes = [0f64; 16];
                    let (head, tail) = block.as_chunks::<16>();
                    for values in head {
                        for (lane, &value) in lanes.iter_mut().zip(values) {
                            *lane += f64::from(value) * f64::from(value);
                        }
                    }
                    for (lane, &value) in lanes.iter_mut().zip(tail) {
                        *lane += f64::from(value) * f64::from(value);
                    }
                    lanes.iter().sum::<f64>()
                })
                .sum()
        },
    )
}

/// yᵢ += xᵢ.
pub(crate) fn add_assign(y: &mut [f32], x: &[f32]) {
    vectorised(
        #[inline(always)]
        || {
            for (y, &x) in y.iter_mut().zip(x) {
                *y += x;
            }
        },
    );
}

/// Whether no value is NaN or larger than the limit.
pub(crate) fn all_within(values: &[f64], limit: f64) -> bool {
    vectorised(
        #[inline(always)]
        || {
            let mut lanes = [0f64; 16];
            let (head, tail) = values.as_chunks::<16>();
            for values in head {
                for (lane, &value) in lanes.iter_mut().zip(values) {
                    *lane += if value.abs() <= limit { 0.0 } else { 1.0 };
                }
            }
            lanes.iter().all(|&lane| lane == 0.0) && tail.iter().all(|value| value.abs() <= limit)
        },
    )
}
