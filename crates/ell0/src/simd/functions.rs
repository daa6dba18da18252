//! Branch-free exponential, logarithm and their kin in single precision.

/// 1.5·2²³: adding and subtracting it rounds a small number to an integer, whose bits then stand in the mantissa.
const ROUND: f32 = 12_582_912.0;
/// ln 2 split in a head with few bits, so that n·head is exact, and a tail.
const LN_2_HEAD: f32 = 0.693_359_4;
const LN_2_TAIL: f32 = -2.121_944_4e-4;

/// 2ⁿ and eʳ − 1 with x = n·ln 2 + r, |r| ≤ ½ ln 2.
#[inline(always)]
fn reduce_exp(x: f32) -> (f32, f32) {
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2_TAIL, n.mul_add(-LN_2_HEAD, x));
    // The integer n sits in the low bits of `shifted`; moved to the exponent it is 2ⁿ.
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    // (eʳ − 1 − r)/r² by its Taylor series, cut where the next term is below half an ulp of eʳ − 1.
    let mut tail = 1.0 / 5040.0;
    tail = r.mul_add(tail, 1.0 / 720.0);
    tail = r.mul_add(tail, 1.0 / 120.0);
    tail = r.mul_add(tail, 1.0 / 24.0);
    tail = r.mul_add(tail, 1.0 / 6.0);
    tail = r.mul_add(tail, 0.5);
    (power, (r * r).mul_add(tail, r))
}

/// eˣ, held at e⁻⁸⁷ below and e⁸⁸ above; NaN stays NaN.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let (power, rest) = reduce_exp(x.clamp(-87.0, 88.0));
    power.mul_add(rest, power)
}

/// eˣ − 1, accurate near 0.
#[inline(always)]
pub(crate) fn expm1(x: f32) -> f32 {
    let (power, rest) = reduce_exp(x.clamp(-87.0, 88.0));
    power.mul_add(rest, power - 1.0)
}

/// ln x for positive normal x; other values are held at the ends of that range.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    let x = x.clamp(f32::MIN_POSITIVE, f32::MAX);
    // x = m·2ᵉ with m in [√½, √2).
    let bits = x.to_bits().wrapping_sub(0x3f35_04f3);
    let exponent = ((bits as i32) >> 23) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff) + 0x3f35_04f3);
    // ln m = 2 artanh(t) with t = (m − 1)/(m + 1), |t| ≤ 0.172.
    let f = m - 1.0;
    let t = f / (m + 1.0);
    let t2 = t * t;
    let mut series = 2.0 / 9.0;
    series = t2.mul_add(series, 2.0 / 7.0);
    series = t2.mul_add(series, 2.0 / 5.0);
    series = t2.mul_add(series, 2.0 / 3.0);
    let ln_m = (t * t2).mul_add(series, 2.0 * t);
    // 0·x is 0, but NaN for NaN: noise that is not a number must not look like a gate.
    exponent.mul_add(LN_2_HEAD, exponent.mul_add(LN_2_TAIL, ln_m)) + 0.0 * x
}

/// σ(x) = 1/(1 + e⁻ˣ).
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// tanh x, accurate near 0.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    // Beyond ±10, tanh is ±1 in single precision.
    let e = expm1(2.0 * x.clamp(-10.0, 10.0));
    e / (e + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest relative error of `f` against `exact` over a grid.
    fn worst(range: (f64, f64), f: fn(f32) -> f32, exact: fn(f64) -> f64) -> f64 {
        (0..=200_000)
            .map(|i| {
                let x = (range.0 + (range.1 - range.0) * f64::from(i) / 200_000.0) as f32;
                let want = exact(f64::from(x));
                (f64::from(f(x)) - want).abs() / want.abs().max(1e-30)
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn elementary_functions_are_right_to_single_precision() {
        assert!(worst((-86.9, 87.9), exp, f64::exp) < 3e-7);
        assert!(worst((-20.0, 20.0), expm1, f64::exp_m1) < 4e-7);
        assert!(worst((-1e-3, 1e-3), expm1, f64::exp_m1) < 2e-7);
        assert!(worst((1e-30, 0.9), ln, f64::ln) < 4e-7);
        assert!(worst((1.1, 1e6), ln, f64::ln) < 4e-7);
        assert!(worst((0.99, 1.01), |x| ln(x) + 1.0, |x| x.ln() + 1.0) < 2e-7);
        assert!(worst((-30.0, 30.0), sigmoid, |x| 1.0 / (1.0 + (-x).exp())) < 4e-7);
        assert!(worst((-12.0, 12.0), tanh, f64::tanh) < 6e-7);
    }

    #[test]
    fn extremes_stay_finite_and_nan_stays_nan() {
        for f in [exp, expm1, ln, sigmoid, tanh] {
            for x in [
                f32::INFINITY,
                f32::NEG_INFINITY,
                0.0,
                f32::MIN_POSITIVE,
                f32::MAX,
                f32::MIN,
            ] {
                assert!(f(x).is_finite(), "{x}");
            }
        }
        for f in [exp, expm1, ln, sigmoid, tanh] {
            assert!(f(f32::NAN).is_nan());
        }
    }
}
