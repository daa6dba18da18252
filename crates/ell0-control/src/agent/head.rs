//! What stands behind the body of a policy: its output brought into the range of an action.

use serde::{Deserialize, Serialize};

use crate::environment::Space;

/// What stands behind an output of a policy's body.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Head {
    /// y.
    Identity,
    /// centre + half·tanh y.
    Tanh {
        /// The middle of the range.
        centre: f32,
        /// Half the range.
        half: f32,
    },
    /// scale·y.
    Scaled(f32),
}

impl Head {
    /// The head of an action: tanh where there are two bounds, else a factor.
    #[must_use]
    pub fn of(space: &Space, k: usize) -> Self {
        if space.is_bounded(k) {
            Head::Tanh {
                centre: space.centre(k) as f32,
                half: space.half(k) as f32,
            }
        } else {
            Head::Scaled(space.scale(k) as f32)
        }
    }

    /// Whether its values may be beyond a bound.
    pub(super) fn may_leave_its_range(self) -> bool {
        !matches!(self, Head::Tanh { .. })
    }

    /// Actions from outputs.
    pub(super) fn apply(self, output: &[f32], action: &mut [f32]) {
        let pairs = action.iter_mut().zip(output);
        match self {
            Head::Identity => pairs.for_each(|(a, y)| *a = *y),
            Head::Tanh { centre: 0.0, half } => pairs.for_each(|(a, y)| *a = half * y.tanh()),
            Head::Tanh { centre, half } => {
                pairs.for_each(|(a, y)| *a = centre + half * y.tanh());
            }
            Head::Scaled(scale) => pairs.for_each(|(a, y)| *a = scale * y),
        }
    }

    /// The gradient by outputs from that by actions.
    pub(super) fn backward(self, action: &[f32], d_action: &[f32], d_output: &mut [f32]) {
        let triples = d_output.iter_mut().zip(action).zip(d_action);
        match self {
            Head::Identity => triples.for_each(|((d, _), da)| *d = *da),
            Head::Tanh { centre, half } => {
                for ((d, a), da) in triples {
                    // d tanh y = 1 − tanh² y.
                    let t = (a - centre) / half;
                    *d = da * half * (1.0 - t * t);
                }
            }
            Head::Scaled(scale) => triples.for_each(|((d, _), da)| *d = da * scale),
        }
    }
}
