//! Ranges of values together with the ranges of their derivatives by the states.

use ell0::{
    equation::{Arithmetic, Interval},
    features::Function,
};

/// A value and its derivatives on a box; where it jumps, the derivatives are anything.
#[derive(Clone, Copy, Debug)]
pub struct Dual<const N: usize> {
    pub value: Interval,
    pub slopes: [Interval; N],
    /// Whether it has a value everywhere on the box, and all that it is made of: what had none is not mended by a factor of 0.
    pub defined: bool,
}

impl<const N: usize> Dual<N> {
    /// A state.
    pub fn state(value: Interval, k: usize) -> Self {
        let slopes = std::array::from_fn(|j| Interval::point(f64::from(u8::from(j == k))));
        Dual {
            value,
            slopes,
            defined: true,
        }
    }

    /// f of it, with the range of f′.
    fn chain(self, value: Interval, slope: Interval) -> Self {
        let slopes = self.slopes.map(|s| s.multiply(slope));
        Dual {
            value,
            slopes,
            ..self
        }
    }

    /// Where there is a jump.
    fn jumps(self, value: Interval) -> Self {
        Dual {
            value,
            slopes: [Interval::ENTIRE; N],
            ..self
        }
    }

    /// Where there may be no value.
    fn undefined() -> Self {
        Dual {
            value: Interval::ENTIRE,
            slopes: [Interval::ENTIRE; N],
            defined: false,
        }
    }
}

impl<const N: usize> Arithmetic for Dual<N> {
    fn number(value: f64) -> Self {
        Dual::between(value, value)
    }

    fn between(low: f64, high: f64) -> Self {
        let value = Interval::new(low, high);
        Dual {
            value,
            slopes: [Interval::point(0.0); N],
            defined: true,
        }
    }

    fn add(self, other: Self) -> Self {
        Dual {
            value: self.value.add(other.value),
            slopes: std::array::from_fn(|k| self.slopes[k].add(other.slopes[k])),
            defined: self.defined && other.defined,
        }
    }

    fn multiply(self, other: Self) -> Self {
        let slope = |k: usize| {
            let left = self.slopes[k].multiply(other.value);
            left.add(other.slopes[k].multiply(self.value))
        };
        Dual {
            value: self.value.multiply(other.value),
            slopes: std::array::from_fn(slope),
            defined: self.defined && other.defined,
        }
    }

    fn power(self, exponent: f64) -> Self {
        let x = self.value;
        let value = x.power(exponent);
        if exponent < 0.0 && x.contains(0.0) || exponent.fract() != 0.0 && x.low < 0.0 {
            return Dual::undefined();
        }
        let lower = if exponent == 1.0 {
            Interval::point(1.0)
        } else {
            x.power(exponent - 1.0)
        };
        self.chain(value, Interval::point(exponent).multiply(lower))
    }

    fn call(self, function: Function) -> Self {
        let x = self.value;
        let value = x.call(function);
        let slope = match function {
            Function::Log if x.low <= 0.0 => return Dual::undefined(),
            Function::Sqrt if x.low <= 0.0 => return Dual::undefined(),
            Function::Sign if x.contains(0.0) => return self.jumps(value),
            Function::Sign => Interval::point(0.0),
            Function::Exp => value,
            Function::Log => x.power(-1.0),
            Function::Sqrt => value.power(-1.0).multiply(Interval::point(0.5)),
            Function::Abs => x.call(Function::Sign),
            Function::Sin => x.call(Function::Cos),
            Function::Cos => x.call(Function::Sin).negate(),
            Function::Tanh => Interval::point(1.0).subtract(value.power(2.0)),
        };
        self.chain(value, slope)
    }

    fn clamp(self, low: f64, high: f64) -> Self {
        self.chain(
            self.value.clamp(low, high),
            self.value.clamp_slope(low, high),
        )
    }

    fn clamp_slope(self, low: f64, high: f64) -> Self {
        let slope = self.value.clamp_slope(low, high);
        Dual::between(slope.low, slope.high)
    }
}
