//! Values that remember what they depend on: v = c + Σ sₖ·eₖ ± δ with eₖ ∈ [−1, 1], and v in a range.
//!
//! Sums and products are exact up to terms of second order, which go into δ. A function f becomes f(m) + f′(m)·(v − m) + ½·f″·(v − m)², with m the middle of the range of v and f″ anywhere in its range on it, or, where the graph has corners or bends both ways, its chord.

use ell0::{
    equation::{Arithmetic, Interval},
    features::Function,
};

/// Symbols eₖ.
pub const SYMBOLS: usize = 8;

/// More than the rounding of the one to three operations that a coefficient takes, relative to the numbers in it.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// More than the rounding of sums of up to 60 numbers that are not negative.
const UPWARDS: f64 = 64.0 * f64::EPSILON;

/// Tanh over a wider range is worth a chord.
const WIDE: f64 = 0.1;

/// A value.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// c.
    pub centre: f64,
    /// s.
    pub slopes: [f64; SYMBOLS],
    /// δ; not a number where the value may not be defined, and then in all that is made of it.
    pub error: f64,
    /// Where it lies.
    pub range: Interval,
}

/// A bound of what was computed from numbers that are not negative.
pub fn up(value: f64) -> f64 {
    value * (1.0 + UPWARDS) + f64::MIN_POSITIVE
}

/// The middle of an interval, and how far its ends are from it.
fn middle(i: Interval) -> (f64, f64) {
    let m = i.low + 0.5 * (i.high - i.low);
    (m, up((i.high - m).max(m - i.low)))
}

/// α·v + β ± δ, the last two as an interval.
#[derive(Clone, Copy)]
struct Line {
    slope: f64,
    rest: Interval,
}

impl Line {
    /// Of a function with this value and slope at the middle of a range, and this second derivative on it.
    fn tangent(range: Interval, value: Interval, slope: Interval, bend: Interval) -> Self {
        let (m, r) = middle(range);
        let (at, off) = middle(slope);
        let rest = value
            .subtract(Interval::point(at).multiply(Interval::point(m)))
            .add(bend.multiply(Interval::new(0.0, up(0.5 * r * r))))
            .add(Interval::new(-up(off * r), up(off * r)));
        Line { slope: at, rest }
    }

    /// Of a function that is farthest from the chord at one of these points of its graph.
    fn chord(slope: f64, graph: &[(Interval, Interval)]) -> Self {
        let off = |(v, f): &(Interval, Interval)| f.subtract(Interval::point(slope).multiply(*v));
        let rest = graph.iter().map(off).reduce(Interval::hull);
        let rest = rest.unwrap_or(Interval::ENTIRE);
        Line { slope, rest }
    }

    fn width(&self) -> f64 {
        let width = self.rest.high - self.rest.low;
        if width.is_nan() { f64::INFINITY } else { width }
    }
}

impl Form {
    /// c + Σ sₖ·eₖ ± δ, in a range.
    pub fn new(centre: f64, slopes: [f64; SYMBOLS], error: f64, range: Interval) -> Self {
        let reach = up(slopes.iter().map(|s| s.abs()).sum::<f64>() + error);
        let range = Interval {
            low: range.low.max((centre - reach).next_down()),
            high: range.high.min((centre + reach).next_up()),
        };
        Form {
            centre,
            slopes,
            error,
            range,
        }
    }

    fn size(&self) -> f64 {
        self.slopes.iter().map(|s| s.abs()).sum()
    }

    fn undefined() -> Self {
        let error = f64::NAN;
        Form {
            error,
            ..Form::number(0.0)
        }
    }

    /// The better of a line and of no dependence at all.
    fn along(self, line: Line, image: Interval) -> Self {
        let constant = Line {
            slope: 0.0,
            rest: image,
        };
        let line = if line.width() < constant.width() {
            line
        } else {
            constant
        };
        let (beta, delta) = middle(line.rest);
        let a = line.slope;
        let size = a.abs() * (self.centre.abs() + self.size()) + beta.abs();
        Form::new(
            a * self.centre + beta,
            self.slopes.map(|s| a * s),
            up(a.abs() * self.error + delta + ROUNDING * size),
            image,
        )
    }

    /// A function whose graph is straight between these corners.
    fn broken(self, corners: &[f64], f: impl Fn(f64) -> f64, image: Interval) -> Self {
        let Interval { low, high } = self.range;
        let slope = (f(high) - f(low)) / (high - low);
        let slope = if slope.is_finite() { slope } else { 0.0 };
        let inside = corners.iter().filter(|c| low < **c && **c < high);
        let points = [low, high].into_iter().chain(inside.copied());
        let graph: Vec<_> = points
            .map(|v| (Interval::point(v), Interval::point(f(v))))
            .collect();
        self.along(Line::chord(slope, &graph), image)
    }

    /// tanh by its chord, from which it is farthest at the ends and where its slope 1 − tanh² is that of the chord.
    fn chord_of_tanh(range: Interval, image: Interval) -> Line {
        let slope = ((image.high - image.low) / (range.high - range.low)).clamp(1e-9, 1.0);
        let one = Interval::point(1.0);
        let rest = one.subtract(Interval::point(slope));
        let t = Interval::new(rest.low.max(0.0), rest.high).call(Function::Sqrt);
        // atanh t.
        let v = one.add(t).divide(one.subtract(t)).call(Function::Log);
        let v = v.multiply(Interval::point(0.5));
        let v = Interval::new(v.low.max(0.0), v.high);
        let end = |v: f64| (Interval::point(v), Interval::point(v).call(Function::Tanh));
        let mut graph = vec![end(range.low), end(range.high)];
        for (v, t) in [(v, t), (v.negate(), t.negate())] {
            if v.high >= range.low && v.low <= range.high {
                graph.push((v, t));
            }
        }
        Line::chord(slope, &graph)
    }
}

impl Arithmetic for Form {
    fn number(value: f64) -> Self {
        Form {
            centre: value,
            slopes: [0.0; SYMBOLS],
            error: 0.0,
            range: Interval::point(value),
        }
    }

    fn between(low: f64, high: f64) -> Self {
        let range = Interval::new(low, high);
        let (m, r) = middle(range);
        Form::new(m, [0.0; SYMBOLS], r, range)
    }

    fn add(self, other: Self) -> Self {
        let size = self.centre.abs() + other.centre.abs() + self.size() + other.size();
        Form::new(
            self.centre + other.centre,
            std::array::from_fn(|k| self.slopes[k] + other.slopes[k]),
            up(self.error + other.error + ROUNDING * size),
            self.range.add(other.range),
        )
    }

    fn multiply(self, other: Self) -> Self {
        let (a, b) = (self.centre, other.centre);
        let (p, q) = (self.size(), other.size());
        let second = (p + self.error) * (q + other.error);
        let size = a.abs() * b.abs() + a.abs() * q + b.abs() * p;
        Form::new(
            a * b,
            std::array::from_fn(|k| a * other.slopes[k] + b * self.slopes[k]),
            up(a.abs() * other.error + b.abs() * self.error + second + ROUNDING * size),
            self.range.multiply(other.range),
        )
    }

    fn power(self, exponent: f64) -> Self {
        let range = self.range;
        let pole = exponent < 0.0 && range.contains(0.0);
        if pole || exponent.fract() != 0.0 && range.low < 0.0 {
            return Form::undefined();
        }
        let power = |x: Interval, e: f64| match e {
            0.0 => Interval::point(1.0),
            e => x.power(e),
        };
        let number = Interval::point;
        let m = number(middle(range).0);
        let slope = number(exponent).multiply(power(m, exponent - 1.0));
        let bend = number(exponent).multiply(number(exponent - 1.0));
        let bend = bend.multiply(power(range, exponent - 2.0));
        let line = Line::tangent(range, power(m, exponent), slope, bend);
        self.along(line, range.power(exponent))
    }

    fn call(self, function: Function) -> Self {
        let range = self.range;
        let image = range.call(function);
        let number = Interval::point;
        let m = number(middle(range).0);
        let (slope, bend) = match function {
            Function::Log if range.low <= 0.0 => return Form::undefined(),
            Function::Sqrt if range.low < 0.0 => return Form::undefined(),
            // It jumps.
            Function::Sign => return Form::between(image.low, image.high).or_undefined(self),
            Function::Abs => return self.broken(&[0.0], f64::abs, image),
            Function::Sin => (m.call(Function::Cos), image.negate()),
            Function::Cos => (m.call(Function::Sin).negate(), image.negate()),
            Function::Exp => (m.call(Function::Exp), image),
            Function::Log => (m.power(-1.0), range.power(-2.0).negate()),
            Function::Sqrt => (
                m.power(-0.5).multiply(number(0.5)),
                range.power(-1.5).multiply(number(-0.25)),
            ),
            Function::Tanh => {
                let slope = |t: Interval| number(1.0).subtract(t.power(2.0));
                let bend = image.multiply(slope(image)).multiply(number(-2.0));
                (slope(m.call(Function::Tanh)), bend)
            }
        };
        let mut line = Line::tangent(range, m.call(function), slope, bend);
        if function == Function::Tanh && range.high - range.low > WIDE {
            let chord = Form::chord_of_tanh(range, image);
            if chord.width() < line.width() {
                line = chord;
            }
        }
        self.along(line, image)
    }

    fn clamp(self, low: f64, high: f64) -> Self {
        if self.range.low >= low && self.range.high <= high {
            return self;
        }
        let image = self.range.clamp(low, high);
        self.broken(&[low, high], |v| v.clamp(low, high), image)
    }

    fn clamp_slope(self, low: f64, high: f64) -> Self {
        let slope = self.range.clamp_slope(low, high);
        Form::between(slope.low, slope.high)
    }
}

impl Form {
    /// What is made of something undefined is undefined.
    fn or_undefined(self, from: Self) -> Self {
        if from.error.is_nan() {
            Form::undefined()
        } else {
            self
        }
    }
}
