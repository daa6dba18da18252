//! How exact measurements are, by what a law leaves of them.

/// The deviation of a state's measurements: a part that is always the same, and one that grows with the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The part that is always the same.
    pub constant: f64,
    /// The part that grows, for a value of 1.
    pub proportional: f64,
}

/// Rounds of the search for both parts.
const ROUNDS: usize = 60;

impl Noise {
    /// The deviation at a value.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        self.constant.hypot(self.proportional * value)
    }

    /// The parts that make residuals (value and square of each) most likely; a second part must earn its keep.
    #[must_use]
    pub fn of(residuals: &[(f64, f64)]) -> Self {
        let n = residuals.len().max(1) as f64;
        let constant = residuals.iter().map(|(_, r)| r).sum::<f64>() / n;
        // Squares of values, where they are not 0 up to rounding.
        let largest = residuals.iter().map(|(x, _)| x * x).fold(0.0, f64::max);
        let relative = residuals
            .iter()
            .map(|(x, r)| r / (x * x).max(1e-12 * largest));
        let proportional = if largest > 0.0 {
            relative.sum::<f64>() / n
        } else {
            0.0
        };
        // −2 ln of the likelihood.
        let cost = |a: f64, b: f64| -> f64 {
            residuals
                .iter()
                .map(|(x, r)| {
                    let v = (a + b * x * x).max(1e-300);
                    v.ln() + r / v
                })
                .sum()
        };
        let (mut a, mut b) = (0.5 * constant, 0.5 * constant / (largest / 3.0).max(1e-300));
        for _ in 0..ROUNDS {
            // Each residual's square is shared between the parts as they are now (expectation), and the parts follow (maximisation), with the exponent that makes large steps.
            let (mut up, mut down, mut side, mut out) = (0.0, 0.0, 0.0, 0.0);
            for (x, r) in residuals {
                let q = x * x;
                let v = (a + b * q).max(1e-300);
                up += r / (v * v);
                down += 1.0 / v;
                side += q * r / (v * v);
                out += q / v;
            }
            a *= up / down.max(1e-300);
            b *= side / out.max(1e-300);
        }
        let price = n.ln();
        let ways = [
            (cost(constant, 0.0), constant, 0.0),
            (cost(0.0, proportional), 0.0, proportional),
            (cost(a, b) + price, a, b),
        ];
        let (_, a, b) = ways
            .into_iter()
            .filter(|way| way.0.is_finite())
            .min_by(|p, q| p.0.total_cmp(&q.0))
            .unwrap_or((0.0, constant, 0.0));
        Noise {
            constant: a.sqrt(),
            proportional: b.sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn both_parts_are_told_apart() {
        let mut rng = Stream::new(5).at(0);
        for (a, b) in [(0.3, 0.0), (0.0, 0.05), (0.2, 0.1), (1e-9, 0.0)] {
            let residuals: Vec<(f64, f64)> = (0..4000)
                .map(|k| {
                    let x = 5.0 * (f64::from(k) * 0.01).sin();
                    let noise = Noise {
                        constant: a,
                        proportional: b,
                    };
                    (x, (noise.at(x) * rng.normal()).powi(2))
                })
                .collect();
            let found = Noise::of(&residuals);
            for x in [0.3, 2.0, 5.0] {
                let truth = Noise {
                    constant: a,
                    proportional: b,
                };
                let ratio = found.at(x) / truth.at(x);
                assert!((0.93..1.07).contains(&ratio), "{a} {b}: {found:?} at {x}");
            }
        }
        assert_eq!(Noise::of(&[]).at(1.0), 0.0);
    }
}
