//! Parameters that follow others slowly.

use crate::simd::vectorised;

/// Polyak averaging, slow ← τ·now + (1−τ)·slow.
///
/// # Panics
///
/// If the two differ in length.
pub fn follow(slow: &mut [f32], now: &[f32], tau: f64) {
    assert_eq!(slow.len(), now.len(), "parameters of the same model");
    let (take, keep) = (tau as f32, (1.0 - tau) as f32);
    vectorised(
        #[inline(always)]
        || {
            for (slow, now) in slow.iter_mut().zip(now) {
                *slow = take.mul_add(*now, keep * *slow);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::follow;

    #[test]
    fn what_follows_comes_closer_by_its_share() {
        let mut slow = [0.0, 8.0];
        follow(&mut slow, &[4.0, 4.0], 0.25);
        assert_eq!(slow, [1.0, 7.0]);
        follow(&mut slow, &[4.0, 4.0], 1.0);
        assert_eq!(slow, [4.0, 4.0]);
    }
}
