//! Bounds of sums of products that hold whatever the rounding.
//!
//! A sum of m products of numbers that are not negative, computed in any order, is off by at most (m + 1)·2⁻⁵³ of itself, and by 2⁻¹⁰⁷⁴ for each product that underflows. Here m stays below 400: one factor at the end covers all of it, which is cheaper than
//! rounding every operation outwards.

/// More than the rounding of 400 operations on numbers that are not negative.
const OUTWARDS: f64 = 1.0 + 1e-13;

/// The relative rounding of sums of up to 400 products, of any sign, by the sum of their absolute values.
pub const ROUNDING: f64 = 1e-13;

/// At least what was computed by up to 400 operations on numbers that are not negative. What is no number is infinite.
#[must_use]
pub fn upwards(value: f64) -> f64 {
    let bound = value * OUTWARDS + f64::MIN_POSITIVE;
    if bound.is_nan() { f64::INFINITY } else { bound }
}

/// The middle of two bounds, and a radius that reaches both.
#[must_use]
pub fn middle_and_radius(low: f64, high: f64) -> (f64, f64) {
    let middle = low + 0.5 * (high - low);
    let radius = (high - middle).max(middle - low);
    (middle, upwards(radius))
}
