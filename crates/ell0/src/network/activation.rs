//! Activation functions, applied together with the bias, and their derivatives from the output alone.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    simd,
};

/// The function after a layer's linear map.
///
/// ```
/// use ell0::network::Activation;
/// assert_eq!("elu".parse::<Activation>()?, Activation::Elu);
/// assert!("gelu".parse::<Activation>().unwrap_err().to_string().contains("elu, relu, tanh, identity"));
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// x for x > 0, eˣ − 1 below.
    Elu,
    /// max(0, x).
    Relu,
    /// tanh x.
    Tanh,
    /// x.
    Identity,
}

impl FromStr for Activation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "elu" => Ok(Activation::Elu),
            "relu" => Ok(Activation::Relu),
            "tanh" => Ok(Activation::Tanh),
            "identity" => Ok(Activation::Identity),
            _ => Err(Error::Unknown {
                kind: "activation",
                name: name.into(),
                expected: "elu, relu, tanh, identity",
            }),
        }
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Activation::Elu => "elu",
            Activation::Relu => "relu",
            Activation::Tanh => "tanh",
            Activation::Identity => "identity",
        })
    }
}

impl Activation {
    /// f(x) for a single number.
    pub fn apply(self, x: f32) -> f32 {
        match self {
            Activation::Elu => elu(x),
            Activation::Relu => relu(x),
            Activation::Tanh => simd::tanh(x),
            Activation::Identity => x,
        }
    }

    /// values ← f(values + bias), one bias for each column of `rows` values.
    pub(super) fn forward(
        self,
        values: &mut [f32],
        rows: usize,
        biases: impl Iterator<Item = f32>,
    ) {
        #[inline(always)]
        fn each(
            values: &mut [f32],
            rows: usize,
            biases: impl Iterator<Item = f32>,
            f: impl Fn(f32) -> f32,
        ) {
            for (column, bias) in values.chunks_exact_mut(rows).zip(biases) {
                for value in column {
                    *value = f(*value + bias);
                }
            }
        }
        simd::vectorised(
            #[inline(always)]
            || match self {
                Activation::Elu => each(values, rows, biases, elu),
                Activation::Relu => each(values, rows, biases, relu),
                Activation::Tanh => each(values, rows, biases, simd::tanh),
                Activation::Identity => each(values, rows, biases, |x| x),
            },
        );
    }

    /// d ← d ⊙ f′, with f′ from the outputs; each column's sum, the gradient of its bias, goes to `bias_gradient`.
    pub(super) fn backward(
        self,
        outputs: &[f32],
        d: &mut [f32],
        rows: usize,
        mut bias_gradient: impl FnMut(usize, f32),
    ) {
        #[inline(always)]
        fn each(
            outputs: &[f32],
            d: &mut [f32],
            rows: usize,
            bias_gradient: &mut impl FnMut(usize, f32),
            slope: impl Fn(f32) -> f32,
        ) {
            let columns = outputs.chunks_exact(rows).zip(d.chunks_exact_mut(rows));
            for (index, (outputs, d)) in columns.enumerate() {
                for (d, &h) in d.iter_mut().zip(outputs) {
                    *d *= slope(h);
                }
                bias_gradient(index, simd::sum(d));
            }
        }
        simd::vectorised(
            #[inline(always)]
            || match self {
                // For x ≤ 0, eˣ = (eˣ − 1) + 1.
                Activation::Elu => each(outputs, d, rows, &mut bias_gradient, |h| h.min(0.0) + 1.0),
                Activation::Relu => each(outputs, d, rows, &mut bias_gradient, |h| {
                    if h > 0.0 { 1.0 } else { 0.0 }
                }),
                Activation::Tanh => each(outputs, d, rows, &mut bias_gradient, |h| 1.0 - h * h),
                Activation::Identity => each(outputs, d, rows, &mut bias_gradient, |_| 1.0),
            },
        );
    }
}

#[inline(always)]
fn elu(x: f32) -> f32 {
    let below = simd::expm1(x);
    if x > 0.0 { x } else { below }
}

#[inline(always)]
fn relu(x: f32) -> f32 {
    // Written so that NaN stays NaN: a diverging network must not look healthy.
    if x < 0.0 { 0.0 } else { x }
}
