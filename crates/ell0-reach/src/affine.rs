//! Affine forms: values that remember how they depend on what the set is made of.
//!
//! A value is v = c + Σ sₖ·eₖ + ε with symbols eₖ ∈ [−1, 1] that all values share and an error |ε| ≤ δ of its own, and it lies in a range. Where an interval forgets that sin θ and θ̇ move together along a set that lies askew, a form does not: along a set that hugs the
//! line on which a law switches, the argument of the law hardly changes, and the form knows. A function f is replaced by a line α·v + β with the rigorous error of that on the range: by Taylor's formula, f(m) + f′(m)·(v − m) + ½·f″·(v − m)², or by the secant where f
//! bends both ways. Jumps become ranges without dependence, and what has no value has no error that is a number, whatever happens to it later.

use ell0::{
    equation::{Arithmetic, Interval},
    features::Function,
};

use crate::rounding::middle_and_radius;

/// Symbols of a set.
pub const SYMBOLS: usize = 8;

/// Ranges that are wider than this are worth a secant.
const WIDE: f64 = 0.1;

/// More than the rounding of one operation on each of the symbols, by the sum of what they hold.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A value that depends on the symbols.
#[derive(Clone, Copy, Debug)]
pub struct Affine {
    /// c.
    pub centre: f64,
    /// s.
    pub slopes: [f64; SYMBOLS],
    /// At least Σ|sₖ|.
    size: f64,
    /// δ; not a number where the value is not defined.
    pub error: f64,
    /// Where it lies.
    pub range: Interval,
}

/// f(v) = α·v + β ± δ.
#[derive(Clone, Copy, Debug)]
struct Line {
    alpha: f64,
    beta: f64,
    delta: f64,
}

/// At least what was computed, in up to 40 operations on numbers that are not negative. What is no number stays none.
fn up(value: f64) -> f64 {
    value * (1.0 + 1e-14) + f64::MIN_POSITIVE
}

/// The value of a function of the system, which is off by at most 4 units in the last place.
fn near(value: f64) -> Interval {
    let slack = value.abs() * 1e-15 + f64::MIN_POSITIVE;
    Interval::new(value - slack, value + slack)
}

impl Line {
    /// α·v + what lies in the rest.
    fn new(alpha: f64, rest: Interval) -> Self {
        let (beta, delta) = middle_and_radius(rest.low, rest.high);
        Line { alpha, beta, delta }
    }

    /// No dependence.
    fn constant(range: Interval) -> Self {
        Line::new(0.0, range)
    }

    /// f(m) + f′(m)·(v − m) + ½·f″·(v − m)² with m in the middle of the range and f″ anywhere on it.
    fn taylor(
        range: Interval,
        value: impl Fn(f64) -> Interval,
        slope: impl Fn(f64) -> Interval,
        bend: Interval,
    ) -> Self {
        let (m, r) = middle_and_radius(range.low, range.high);
        let (value, slope) = (value(m), slope(m));
        let alpha = slope.low + 0.5 * (slope.high - slope.low);
        let square = Interval::new(0.0, up(0.5 * r * r));
        let rest = value
            .subtract(Interval::point(alpha).multiply(Interval::point(m)))
            .add(bend.multiply(square))
            .add(
                slope
                    .subtract(Interval::point(alpha))
                    .multiply(Interval::new(-r, r)),
            );
        Line::new(alpha, rest)
    }

    /// α·v for a given α, and g(v) = f(v) − α·v at points between which it is largest and least.
    fn through(alpha: f64, points: impl Iterator<Item = (Interval, Interval)>) -> Self {
        let g = |(v, f): (Interval, Interval)| f.subtract(Interval::point(alpha).multiply(v));
        let rest = points.map(g).reduce(Interval::hull);
        Line::new(alpha, rest.unwrap_or(Interval::ENTIRE))
    }

    /// The one with the smaller error.
    fn better(self, other: Self) -> Self {
        // What is no number is worst.
        if other.delta <= self.delta || self.delta.is_nan() {
            other
        } else {
            self
        }
    }
}

impl Affine {
    /// c + Σ sₖ·eₖ ± δ within a range.
    #[must_use]
    pub fn new(centre: f64, slopes: [f64; SYMBOLS], error: f64, range: Interval) -> Self {
        let size = up(slopes.iter().map(|s| s.abs()).sum());
        let mut form = Affine {
            centre,
            slopes,
            size,
            error,
            range,
        };
        let reach = up(size + error);
        // Both hold the value.
        form.range.low = range.low.max((centre - reach).next_down());
        form.range.high = range.high.min((centre + reach).next_up());
        form
    }

    /// Anything in a range, whatever else is known.
    #[must_use]
    pub fn anything(low: f64, high: f64) -> Self {
        let (middle, radius) = middle_and_radius(low, high);
        Affine::new(middle, [0.0; SYMBOLS], radius, Interval::new(low, high))
    }

    /// A value that is not there.
    fn undefined() -> Self {
        Affine {
            error: f64::NAN,
            ..Affine::anything(0.0, 0.0)
        }
    }

    fn along(self, line: Line, range: Interval) -> Self {
        let Line { alpha, beta, delta } = line;
        let centre = alpha * self.centre + beta;
        let slopes = self.slopes.map(|s| alpha * s);
        let size = alpha.abs() * (self.size + self.centre.abs());
        let rounding = ROUNDING * (size + beta.abs());
        let error = up(alpha.abs() * self.error + delta + rounding);
        Affine::new(centre, slopes, error, range)
    }

    /// Brought onto the line by which a tanh over a wide range is replaced best: the secant, from which it is farthest where 1 − tanh² is its slope.
    fn secant_of_tanh(range: Interval, image: Interval) -> Line {
        let alpha = ((image.high - image.low) / (range.high - range.low)).clamp(1e-9, 1.0);
        let one = Interval::point(1.0);
        let t = one.subtract(Interval::point(alpha));
        let t = Interval::new(t.low.max(0.0), t.high).call(Function::Sqrt);
        // atanh t = ½·ln((1 + t)/(1 − t)).
        let ratio = one.add(t).divide(one.subtract(t));
        let at = ratio.call(Function::Log).multiply(Interval::point(0.5));
        let at = Interval::new(at.low.max(0.0), at.high);
        let end = |v: f64| (Interval::point(v), near(v.tanh()));
        let turning = [(at, t), (at.negate(), t.negate())];
        let inside = |v: &Interval| v.high >= range.low && v.low <= range.high;
        let points = [end(range.low), end(range.high)].into_iter();
        Line::through(
            alpha,
            points.chain(turning.into_iter().filter(|(v, _)| inside(v))),
        )
    }

    /// A function whose graph is made of lines that meet at some points.
    fn broken(self, corners: &[f64], f: impl Fn(f64) -> f64, image: Interval) -> Self {
        let Interval { low, high } = self.range;
        let alpha = (f(high) - f(low)) / (high - low);
        if !alpha.is_finite() {
            return self.along(Line::constant(image), image);
        }
        let inside = corners.iter().copied().filter(|c| low < *c && *c < high);
        let points = [low, high].into_iter().chain(inside);
        let pair = |v: f64| (Interval::point(v), Interval::point(f(v)));
        self.along(Line::through(alpha, points.map(pair)), image)
    }
}

impl Arithmetic for Affine {
    fn number(value: f64) -> Self {
        Affine {
            centre: value,
            slopes: [0.0; SYMBOLS],
            size: 0.0,
            error: 0.0,
            range: Interval::point(value),
        }
    }

    fn between(low: f64, high: f64) -> Self {
        Affine::anything(low, high)
    }

    fn add(self, other: Self) -> Self {
        let centre = self.centre + other.centre;
        let slopes = std::array::from_fn(|k| self.slopes[k] + other.slopes[k]);
        let rounding = ROUNDING * (centre.abs() + self.size + other.size);
        let error = up(self.error + other.error + rounding);
        Affine::new(centre, slopes, error, self.range.add(other.range))
    }

    fn multiply(self, other: Self) -> Self {
        let (a, b) = (self.centre, other.centre);
        let slopes = std::array::from_fn(|k| a * other.slopes[k] + b * self.slopes[k]);
        let (aa, bb) = (a.abs(), b.abs());
        let rounding = ROUNDING * (aa * bb + aa * other.size + bb * self.size);
        let second = (self.size + self.error) * (other.size + other.error);
        let error = up(aa * other.error + bb * self.error + second + rounding);
        Affine::new(a * b, slopes, error, self.range.multiply(other.range))
    }

    fn power(self, exponent: f64) -> Self {
        let (range, whole) = (self.range, exponent.fract() == 0.0);
        let pole = exponent < 0.0 && range.contains(0.0);
        if pole || !whole && range.low < 0.0 {
            return Affine::undefined();
        }
        let image = range.power(exponent);
        let number = Interval::point;
        let lower = |x: Interval, less: f64| match exponent - less {
            0.0 => number(1.0),
            e => x.power(e),
        };
        let bend = number(exponent)
            .multiply(number(exponent - 1.0))
            .multiply(lower(range, 2.0));
        let taylor = Line::taylor(
            range,
            |m| number(m).power(exponent),
            |m| number(exponent).multiply(lower(number(m), 1.0)),
            bend,
        );
        self.along(taylor.better(Line::constant(image)), image)
    }

    fn call(self, function: Function) -> Self {
        let range = self.range;
        let undefined = match function {
            Function::Log => range.low <= 0.0,
            Function::Sqrt => range.low < 0.0,
            _ => false,
        };
        if undefined {
            return Affine::undefined();
        }
        let image = range.call(function);
        let number = Interval::point;
        let constant = Line::constant(image);
        let line = match function {
            Function::Sign => constant,
            Function::Abs => return self.broken(&[0.0], f64::abs, image),
            Function::Sin => {
                Line::taylor(range, |m| near(m.sin()), |m| near(m.cos()), image.negate())
            }
            Function::Cos => Line::taylor(
                range,
                |m| near(m.cos()),
                |m| near(m.sin()).negate(),
                image.negate(),
            ),
            Function::Tanh => {
                let slope = |t: Interval| number(1.0).subtract(t.power(2.0));
                let bend = image.multiply(slope(image)).multiply(number(-2.0));
                let at = |m: f64| near(m.tanh());
                let taylor = Line::taylor(range, at, |m| slope(at(m)), bend);
                if range.high - range.low > WIDE {
                    taylor.better(Affine::secant_of_tanh(range, image))
                } else {
                    taylor
                }
            }
            Function::Exp => Line::taylor(range, |m| near(m.exp()), |m| near(m.exp()), image),
            Function::Log => Line::taylor(
                range,
                |m| near(m.ln()),
                |m| number(m).power(-1.0),
                range.power(-2.0).negate(),
            ),
            Function::Sqrt => Line::taylor(
                range,
                |m| near(m.sqrt()),
                |m| number(m).power(-0.5).multiply(number(0.5)),
                range.power(-1.5).multiply(number(-0.25)),
            ),
        };
        self.along(line.better(constant), image)
    }

    fn clamp(self, low: f64, high: f64) -> Self {
        if self.range.low >= low && self.range.high <= high {
            return self;
        }
        let image = self.range.clamp(low, high);
        self.broken(&[low, high], |v| v.clamp(low, high), image)
    }

    /// Forms have no use for it.
    fn clamp_slope(self, low: f64, high: f64) -> Self {
        let Interval { low, high } = self.range.clamp_slope(low, high);
        Affine::anything(low, high)
    }
}
