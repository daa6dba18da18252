//! Limits: a box that is never left, boxes that are never entered.

use ell0::equation::{Arithmetic, Interval};

use crate::certificate::Certificate;

pub struct Limits<const N: usize> {
    stay: Option<[Interval; N]>,
    avoid: Vec<[Interval; N]>,
    periods: [Option<f64>; N],
}

impl<const N: usize> Limits<N> {
    pub fn new(certificate: &Certificate) -> Self {
        let sides = |b: &Vec<Interval>| std::array::from_fn(|k| b[k]);
        Limits {
            stay: certificate.stay.as_ref().map(sides),
            avoid: certificate.avoid.iter().map(sides).collect(),
            periods: std::array::from_fn(|k| certificate.states[k].period),
        }
    }

    /// Whether there are any.
    pub fn are_some(&self) -> bool {
        self.stay.is_some() || !self.avoid.is_empty()
    }

    /// Whether all states of a box are allowed.
    pub fn allow(&self, sides: &[Interval; N]) -> bool {
        let stays = self.stay.is_none_or(|stay| {
            (0..N).all(|k| {
                let free = stay[k] == Interval::ENTIRE;
                let inside = |x: Interval| stay[k].low <= x.low && x.high <= stay[k].high;
                free || self.turned(k, sides[k], stay[k]).into_iter().any(inside)
            })
        });
        let avoids = self.avoid.iter().all(|region| {
            (0..N).any(|k| {
                // With a period, three turns are all that matter only if both together are shorter.
                let both = (sides[k].high - sides[k].low) + (region[k].high - region[k].low);
                let few = self.periods[k].is_none_or(|p| both < p);
                let apart = |x: Interval| x.high < region[k].low || x.low > region[k].high;
                few && self.turned(k, sides[k], region[k]).into_iter().all(apart)
            })
        });
        stays && avoids
    }

    /// A side, moved by the turns that bring its middle nearest to that of another, and by one more and one less.
    fn turned(&self, k: usize, side: Interval, to: Interval) -> Vec<Interval> {
        let Some(p) = self.periods[k] else {
            return vec![side];
        };
        let middle = |x: Interval| x.low + 0.5 * (x.high - x.low);
        let turns = ((middle(to) - middle(side)) / p).round();
        let moved = |more: f64| {
            let period = Interval::new(p.next_down(), p.next_up());
            side.add(period.multiply(Interval::point(turns + more)))
        };
        vec![moved(-1.0), moved(0.0), moved(1.0)]
    }
}
