//! Whole powers as a few products: the squares that are needed, multiplied from the lowest on, as `f64::powi` does. Much faster than C's `pow`, and the same bits.

/// Whole exponents up to this are products; `equation::evaluate` draws the line at the same place.
const LARGEST: f64 = 64.0;

/// The exponent, if it is whole and small enough.
pub(super) fn whole(exponent: f64) -> Option<i32> {
    (exponent.fract() == 0.0 && exponent.abs() <= LARGEST).then_some(exponent as i32)
}

/// The name of the helper for an exponent.
pub(super) fn helper(exponent: i32) -> String {
    if exponent < 0 {
        format!("power_m{}", exponent.unsigned_abs())
    } else {
        format!("power_{exponent}")
    }
}

/// The squares x², x⁴, … to be computed, each as (its name, the one it is the square of), and the expression of the power in them.
pub(super) fn products(exponent: i32) -> (Vec<(String, String)>, String) {
    let size = exponent.unsigned_abs();
    if size == 0 {
        return (Vec::new(), "1.0".into());
    }
    let name = |bit: u32| match bit {
        0 => "x".to_string(),
        bit => format!("x{}", 1u32 << bit),
    };
    let highest = size.ilog2();
    let squares = (1..=highest).map(|bit| (name(bit), name(bit - 1)));
    let factors: Vec<String> = (0..=highest)
        .filter(|bit| size >> bit & 1 == 1)
        .map(name)
        .collect();
    let product = factors.join(" * ");
    let value = match (exponent < 0, factors.len()) {
        (false, _) => product,
        (true, 1) => format!("1.0 / {product}"),
        (true, _) => format!("1.0 / ({product})"),
    };
    (squares.collect(), value)
}
