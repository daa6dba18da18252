//! Intervals that contain every value an expression can take: bounds are rounded outwards, so what they say is proved.

use std::f64::consts::{FRAC_PI_2, PI};

use super::Arithmetic;
use crate::features::Function;

/// All numbers from `low` to `high`.
///
/// ```
/// use ell0::equation::{Expression, Interval};
/// let square = Expression::parse("x^2 - x", &["x"])?;
/// let range = square.value(&[Interval::new(-1.0, 2.0)]);
/// assert!(range.low <= -0.25 && range.high >= 2.0);
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Least value.
    pub low: f64,
    /// Greatest value.
    pub high: f64,
}

/// Errors of the system's functions, in units of the last place: most libraries stay below 1, all known ones below this.
const FUNCTION_ULPS: f64 = 4.0;

/// Beyond this the reduction of an angle is not worth its analysis.
const LARGEST_ANGLE: f64 = 1e6;

impl Interval {
    /// Every number: where nothing is known.
    pub const ENTIRE: Interval = Interval {
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    };

    /// The numbers between two bounds, in either order; everything if one of them is not a number.
    pub fn new(a: f64, b: f64) -> Self {
        if a.is_nan() || b.is_nan() {
            return Interval::ENTIRE;
        }
        Interval {
            low: a.min(b),
            high: a.max(b),
        }
    }

    /// One number.
    pub fn point(value: f64) -> Self {
        Interval::new(value, value)
    }

    /// Whether a number is inside.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The largest absolute value inside.
    pub fn magnitude(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// −a.
    pub fn negate(self) -> Self {
        Interval {
            low: -self.high,
            high: -self.low,
        }
    }

    /// a − b.
    pub fn subtract(self, other: Self) -> Self {
        self.add(other.negate())
    }

    /// The smallest interval with both inside.
    pub fn hull(self, other: Self) -> Self {
        Interval {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// a/b; everything where b may be 0.
    pub fn divide(self, other: Self) -> Self {
        self.multiply(other.power(-1.0))
    }

    /// Bounds that were computed with an error of at most so many units in the last place, rounded outwards.
    fn widened(low: f64, high: f64, ulps: f64) -> Self {
        if low.is_nan() || high.is_nan() {
            return Interval::ENTIRE;
        }
        let slack = |x: f64| x.abs() * (ulps * f64::EPSILON);
        // What overflows is larger than every number, but by how much is not known.
        let (low, high) = (low.min(f64::MAX), high.max(f64::MIN));
        Interval {
            low: (low - slack(low)).next_down(),
            high: (high + slack(high)).next_up(),
        }
    }

    fn is_zero(self) -> bool {
        self.low == 0.0 && self.high == 0.0
    }

    /// f of both bounds, for an f that grows.
    fn growing(self, f: impl Fn(f64) -> f64) -> Self {
        Interval::widened(f(self.low), f(self.high), FUNCTION_ULPS)
    }

    /// The sine of x + shift, where shift is 0 or π/2.
    fn wave(self, f: impl Fn(f64) -> f64, shift: f64) -> Self {
        let everything = Interval {
            low: -1.0,
            high: 1.0,
        };
        if self.magnitude() > LARGEST_ANGLE || self.high - self.low >= 2.0 * PI {
            return everything;
        }
        let mut range = Interval::widened(
            f(self.low).min(f(self.high)),
            f(self.low).max(f(self.high)),
            FUNCTION_ULPS,
        );
        // A crest may be inside where a whole number of turns lies between the bounds; in doubt it is.
        let inside = |crest: f64| {
            let turns = |x: f64| (x + shift - crest) / (2.0 * PI);
            let doubt = 1e-9;
            (turns(self.high) + doubt).floor() >= (turns(self.low) - doubt).ceil()
        };
        if inside(FRAC_PI_2) {
            range.high = 1.0;
        }
        if inside(-FRAC_PI_2) {
            range.low = -1.0;
        }
        Interval {
            low: range.low.max(-1.0),
            high: range.high.min(1.0),
        }
    }

    /// xⁿ for n ≥ 1.
    fn whole_power(self, n: i32) -> Self {
        // Each of the fewer than n multiplications adds half a unit.
        let ulps = f64::from(n);
        let (low, high) = (self.low.powi(n), self.high.powi(n));
        if n % 2 == 1 {
            return Interval::widened(low, high, ulps);
        }
        let wide = Interval::widened(low.min(high), low.max(high), ulps);
        Interval {
            low: if self.contains(0.0) {
                0.0
            } else {
                wide.low.max(0.0)
            },
            high: wide.high,
        }
    }
}

impl Arithmetic for Interval {
    fn number(value: f64) -> Self {
        Interval::point(value)
    }

    fn between(low: f64, high: f64) -> Self {
        Interval::new(low, high)
    }

    fn add(self, other: Self) -> Self {
        // Exact: what is 0 stays 0, so that equilibria stay where they are.
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        let (low, high) = (self.low + other.low, self.high + other.high);
        if low.is_nan() || high.is_nan() {
            return Interval::ENTIRE;
        }
        Interval {
            low: low.next_down(),
            high: high.next_up(),
        }
    }

    fn multiply(self, other: Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Interval::point(0.0);
        }
        // 0·∞ is 0 here: an infinite bound stands for numbers however large.
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let products = [
            product(self.low, other.low),
            product(self.low, other.high),
            product(self.high, other.low),
            product(self.high, other.high),
        ];
        let low = products.iter().copied().fold(f64::INFINITY, f64::min);
        let high = products.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Interval {
            low: low.next_down(),
            high: high.next_up(),
        }
    }

    fn power(self, exponent: f64) -> Self {
        if self.is_zero() && exponent > 0.0 {
            return self;
        }
        if exponent < 0.0 {
            let below = self.power(-exponent);
            return if below.contains(0.0) {
                Interval::ENTIRE
            } else {
                Interval::widened(1.0 / below.high, 1.0 / below.low, 1.0)
            };
        }
        if exponent.fract() == 0.0 && exponent <= 64.0 {
            return self.whole_power(exponent as i32);
        }
        if self.low < 0.0 {
            return Interval::ENTIRE;
        }
        // The exponent is often a difference, and rounded: that changes x^e by e·ε·ln x of itself.
        let bend = |x: f64| match x.ln().abs() * exponent.max(1.0) {
            bend if bend.is_finite() => bend,
            _ => 0.0,
        };
        let ulps = FUNCTION_ULPS + bend(self.low).max(bend(self.high));
        let wide = Interval::widened(self.low.powf(exponent), self.high.powf(exponent), ulps);
        Interval {
            low: wide.low.max(0.0),
            high: wide.high,
        }
    }

    fn call(self, function: Function) -> Self {
        match function {
            Function::Exp => {
                let wide = self.growing(f64::exp);
                Interval {
                    low: wide.low.max(0.0),
                    high: wide.high,
                }
            }
            Function::Log if self.low > 0.0 => self.growing(f64::ln),
            Function::Sqrt if self.low >= 0.0 => {
                let wide = self.growing(f64::sqrt);
                Interval {
                    low: wide.low.max(0.0),
                    high: wide.high,
                }
            }
            // Not defined on all of it.
            Function::Log | Function::Sqrt => Interval::ENTIRE,
            Function::Abs => Interval {
                low: if self.contains(0.0) {
                    0.0
                } else {
                    self.low.abs().min(self.high.abs())
                },
                high: self.magnitude(),
            },
            _ if self.is_zero() && matches!(function, Function::Tanh | Function::Sin) => self,
            Function::Tanh => {
                let wide = self.growing(f64::tanh);
                Interval {
                    low: wide.low.max(-1.0),
                    high: wide.high.min(1.0),
                }
            }
            Function::Sign => Interval {
                low: Function::Sign.apply(self.low),
                high: Function::Sign.apply(self.high),
            },
            Function::Sin => self.wave(f64::sin, 0.0),
            Function::Cos => self.wave(f64::cos, FRAC_PI_2),
        }
    }

    fn clamp(self, low: f64, high: f64) -> Self {
        Interval {
            low: self.low.clamp(low, high),
            high: self.high.clamp(low, high),
        }
    }

    fn clamp_slope(self, low: f64, high: f64) -> Self {
        let inside = self.low >= low && self.high <= high;
        let outside = self.high < low || self.low > high;
        Interval {
            low: f64::from(inside),
            high: f64::from(!outside),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Expression;
    use super::*;

    const TEXTS: [&str; 9] = [
        "x*y - x^2 + 3",
        "sin(3*x) + cos(y)*x",
        "2*tanh(-4.66*x - 0.5*y - 3.82*x*y)",
        "exp(x) - x^3*y^5",
        "sqrt(abs(x)) + sign(y)",
        "log(x^2 + 1)*y^4",
        "(x^2 + 0.1)^(-1) + y^(-2)",
        "abs(x)^1.5 - y",
        "cos(20*x + y)^3",
    ];

    proptest! {
        #![proptest_config(crate::testing::proptest_config(256))]

        /// Whatever point of a box is taken, its value is inside the interval of the box.
        #[test]
        fn every_value_is_inside(
            which in 0..TEXTS.len(),
            corner in prop::array::uniform2(-5.0..5.0f64),
            size in prop::array::uniform2(prop_oneof![Just(0.0), 0.0..0.01f64, 0.0..4.0f64]),
            share in prop::array::uniform2(0.0..=1.0f64),
        ) {
            let expression = Expression::parse(TEXTS[which], &["x", "y"]).expect("an expression");
            let variables = [0, 1].map(|k| Interval::new(corner[k], corner[k] + size[k]));
            let point = [0, 1].map(|k| (corner[k] + share[k] * size[k]).min(corner[k] + size[k]));
            let (range, value) = (expression.value(&variables), expression.evaluate_row(&point));
            prop_assert!(range.contains(value), "{range:?} {value}");
            // And for a derivative, which the proofs rest on.
            let slope = expression.derivative("x").expect("a variable");
            let (range, value) = (slope.value(&variables), slope.evaluate_row(&point));
            prop_assert!(range.contains(value), "{range:?} {value}");
        }
    }

    #[test]
    fn what_overflows_is_any_large_number() {
        let cube = Interval::new(1e103, 1.1e103).power(3.0);
        assert!(cube.low.is_finite() && cube.high == f64::INFINITY);
        let ten = cube.multiply(Interval::point(1e-308));
        assert!(ten.low <= 10.0 && ten.high >= 13.31, "{ten:?}");
        let less = Interval::new(-1.1e103, -1e103).power(3.0);
        assert!(less.high.is_finite() && less.low == f64::NEG_INFINITY);
        let exp = Interval::new(800.0, 900.0).call(Function::Exp);
        assert!(exp.low.is_finite() && exp.high == f64::INFINITY);
    }

    #[test]
    fn intervals_are_tight_where_they_can_be() {
        let cos = Interval::new(-1.0, 0.5).call(Function::Cos);
        assert!(cos.high == 1.0 && (cos.low - 1f64.cos()).abs() < 1e-14);
        let sin = Interval::new(0.1, 0.2).call(Function::Sin);
        assert!((sin.high - sin.low - (0.2f64.sin() - 0.1f64.sin())).abs() < 1e-14);
        // 0 stays exactly 0, through any odd law.
        let law = Expression::parse("2*tanh(-3*x - 0.5*sin(x)*y)", &["x", "y"]).expect("a law");
        assert_eq!(law.value(&[Interval::point(0.0); 2]), Interval::point(0.0));
        assert_eq!(Interval::new(-1.0, 1.0).power(-1.0), Interval::ENTIRE);
        assert_eq!(
            Interval::new(-1.0, 1.0).call(Function::Log),
            Interval::ENTIRE
        );
    }
}
