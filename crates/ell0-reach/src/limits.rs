//! Where trajectories must not be: outside of a box, or in one.

use ell0::equation::{Arithmetic, Interval};

/// Limits that hold at every step of a trajectory, in the states.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits<const N: usize> {
    /// A box that is never left; infinite where there is no limit.
    pub stay: [Interval; N],
    /// Boxes that are never entered.
    pub avoid: Vec<[Interval; N]>,
    /// After how much a state comes back to itself.
    pub periods: [Option<f64>; N],
}

impl<const N: usize> Limits<N> {
    /// Whether there are none.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.stay == [Interval::ENTIRE; N] && self.avoid.is_empty()
    }

    /// Whether they are the same for x and −x.
    #[must_use]
    pub fn are_symmetric(&self) -> bool {
        self.avoid.is_empty() && self.stay.iter().all(|s| s.low == -s.high)
    }

    /// Whether every state of a box is certainly allowed.
    #[must_use]
    pub fn allow(&self, hull: &[Interval; N]) -> bool {
        let stays = (0..N).all(|k| within(hull[k], self.stay[k], self.periods[k]));
        stays
            && self
                .avoid
                .iter()
                .all(|region| (0..N).any(|k| misses(hull[k], region[k], self.periods[k])))
    }

    /// Whether no state of a box is allowed: it is outside of what must not be left, or all of it in what must not be entered.
    #[must_use]
    pub fn forbid(&self, hull: &[Interval; N]) -> bool {
        let outside = (0..N).any(|k| misses(hull[k], self.stay[k], self.periods[k]));
        outside
            || self
                .avoid
                .iter()
                .any(|region| (0..N).all(|k| within(hull[k], region[k], self.periods[k])))
    }

    /// Whether a point is allowed, in plain numbers.
    #[must_use]
    pub fn have(&self, x: &[f64; N]) -> bool {
        self.are_none() || self.allow(&x.map(Interval::point))
    }
}

/// Whole turns that bring the middle of an interval near another, give or take one.
fn turns(of: Interval, to: Interval, period: Option<f64>) -> [Interval; 3] {
    let Some(p) = period else {
        return [Interval::point(0.0); 3];
    };
    let middle = |i: Interval| i.low + 0.5 * (i.high - i.low);
    let near = ((middle(to) - middle(of)) / p).round();
    // The period is a real number, within a unit in the last place of this one.
    let turn = |n: f64| Interval::new(p.next_down(), p.next_up()).multiply(Interval::point(n));
    [near - 1.0, near, near + 1.0].map(|n| {
        if n == 0.0 {
            Interval::point(0.0)
        } else {
            turn(n)
        }
    })
}

/// Whether all of an interval is in another, after some turns.
fn within(of: Interval, to: Interval, period: Option<f64>) -> bool {
    if to == Interval::ENTIRE {
        return true;
    }
    turns(of, to, period).iter().any(|turn| {
        let moved = of.add(*turn);
        moved.low >= to.low && moved.high <= to.high
    })
}

/// Whether an interval has nothing of another, whatever the turns.
fn misses(of: Interval, to: Interval, period: Option<f64>) -> bool {
    // Wider than a period, it may be anywhere; and so may what is no number.
    let width = (of.high - of.low) + (to.high - to.low);
    if period.is_some_and(|p| width >= p || width.is_nan()) {
        return false;
    }
    turns(of, to, period).iter().all(|turn| {
        let moved = of.add(*turn);
        moved.high < to.low || moved.low > to.high
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_come_round() {
        let period = Some(std::f64::consts::TAU);
        let region = Interval::new(3.0, 3.3);
        let at = |low: f64, high: f64| Interval::new(low, high);
        assert!(!misses(at(-3.2, -3.1), region, period));
        assert!(misses(at(-3.2, -3.1), region, None));
        assert!(misses(at(2.0, 2.9), region, period));
        assert!(!misses(
            at(2.0 - 12.0, 3.1 - 4.0 * std::f64::consts::PI),
            region,
            period
        ));
        assert!(within(at(-3.2, -3.1), region, period));
        assert!(!within(at(-3.4, -3.1), region, period));
        assert!(!misses(at(-10.0, 10.0), region, period));
        assert!(!within(Interval::ENTIRE, region, period));
        assert!(!misses(Interval::ENTIRE, region, period));
    }

    #[test]
    fn limits_hold_in_boxes() {
        let limits = Limits {
            stay: [Interval::ENTIRE, Interval::new(-6.0, 6.0)],
            avoid: vec![[Interval::new(1.0, 1.2), Interval::new(0.0, 1.0)]],
            periods: [Some(std::f64::consts::TAU), None],
        };
        let at = |x: f64, v: f64| [Interval::new(x, x + 0.1), Interval::new(v, v + 0.1)];
        assert!(limits.allow(&at(0.0, 0.0)) && limits.allow(&at(1.05, -5.0)));
        assert!(!limits.allow(&at(0.95, 0.5)) && !limits.forbid(&at(0.95, 0.5)));
        assert!(limits.forbid(&at(1.05, 0.5)) && limits.forbid(&at(0.0, 7.0)));
        assert!(!limits.allow(&at(0.0, 5.95)) && !limits.forbid(&at(0.0, 5.95)));
        assert!(limits.have(&[0.0, 0.0]) && !limits.have(&[1.1, 0.5]));
    }
}
