//! Between which lines a bounded law lies.

/// An action in what it would be without bounds, v: amplitude·tanh(v/amplitude) or v itself, brought into a range. It lies between v times a share and v.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sector {
    /// The factor before tanh; none for a law that is linear.
    pub amplitude: Option<f64>,
    /// The nearer end of the range of the action; infinite if there is none.
    pub limit: f64,
}

impl Sector {
    /// The least share of v that the action is, for all |v| up to a bound. Both tanh(v)/v and clip(v)/v fall as |v| grows, so that it is the share at the bound.
    pub fn least(&self, bound: f64) -> f64 {
        if bound == 0.0 {
            return 1.0;
        }
        let action = match self.amplitude {
            Some(amplitude) => amplitude * (bound / amplitude).tanh(),
            None => bound,
        };
        match (action.min(self.limit), bound) {
            (f64::INFINITY, _) => 1.0,
            (_, f64::INFINITY) => 0.0,
            (action, bound) => (action / bound).min(1.0),
        }
    }

    /// The largest bound up to which the action is at least a share of v; infinite for a share of 0, and for a law that has no bound.
    pub fn bound(&self, share: f64) -> f64 {
        let scale = self.amplitude.unwrap_or(f64::INFINITY).min(self.limit);
        if share <= 0.0 || scale.is_infinite() {
            return f64::INFINITY;
        }
        // The action is at most the scale, so that the share is below its goal at scale/share.
        let (mut low, mut high) = (0.0, scale / share);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.least(middle) >= share {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_function() {
        let soft = Sector {
            amplitude: Some(0.25),
            limit: 0.25,
        };
        assert!((soft.least(0.25) - 1f64.tanh()).abs() < 1e-15);
        assert!((soft.least(soft.bound(0.3)) - 0.3).abs() < 1e-12);
        let hard = Sector {
            amplitude: None,
            limit: 2.0,
        };
        assert_eq!(hard.least(1.5), 1.0);
        assert_eq!(hard.least(8.0), 0.25);
        assert!((hard.bound(0.25) - 8.0).abs() < 1e-9);
        let free = Sector {
            amplitude: None,
            limit: f64::INFINITY,
        };
        assert_eq!(free.least(f64::INFINITY), 1.0);
        assert_eq!(soft.least(f64::INFINITY), 0.0);
        assert_eq!(hard.least(f64::INFINITY), 0.0);
        assert_eq!(hard.bound(0.0), f64::INFINITY);
    }
}
