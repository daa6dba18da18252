//! The head behind the body of a policy: its output brought into the range of an action.

use ell0::network::Head;

use crate::environment::Space;

/// The head of an action: tanh where there are two bounds, else a factor.
pub(super) fn head(space: &Space, k: usize) -> Head {
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
pub(super) fn may_leave_its_range(head: Head) -> bool {
    !matches!(head, Head::Tanh { .. })
}

/// The gradient by outputs from that by actions: the actions tell the slope, so that no tanh is computed twice.
pub(super) fn backward(head: Head, action: &[f32], d_action: &[f32], d_output: &mut [f32]) {
    let triples = d_output.iter_mut().zip(action).zip(d_action);
    match head {
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
