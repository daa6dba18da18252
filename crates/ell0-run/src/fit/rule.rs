//! The one rule by which a law is said to explain what was measured, whatever it is a law of: derivatives, the next row, or a regression.
//!
//! 1. *No law*, if most of the movement is left: the residual is more than 0.7 of the target's standard deviation, on the data that the coefficients were fitted to or on those held out (R² below 0.51). Or if nearly all of it is noise.
//! 2. *Partly*, if anything says that the residual is more than noise; or if nothing could: the noise is not known, and the residual is more than 0.3 of the standard deviation (R² below 0.91), or more than 0.1 of it with fewer than 100 rows beyond the terms.
//! 3. *Explained* otherwise.

use serde::{Deserialize, Serialize};

use super::judgement::Verdict;

/// A larger share of a target's standard deviation is most of its movement: about half of the variance.
const MOST: f64 = 0.7;

/// A residual of a smaller share is next to nothing: digits cut off, the error of a solver.
pub(super) const NEXT_TO_NOTHING: f64 = 1e-3;

/// Where the noise is not known, a residual of a larger share is called noise only if there are rows enough to tell.
const LITTLE: f64 = 0.1;
const ENOUGH_ROWS: f64 = 100.0;

/// And one of a larger share is not: noise of the inputs, or what the library lacks, need not leave traces.
const MUCH: f64 = 0.3;

/// Held-out data are missed by no more than so many times what is left of the others: a law that has learned noise by heart misses more.
const BY_HEART: f64 = 3.0;

/// Residuals of neighbours are correlated by less than this, and by so many standard errors, if they are noise.
const WHITE: f64 = 0.1;
const ERRORS: f64 = 3.0;

/// Lags that are looked at where rows stand by themselves: a central difference of noise is correlated at the second.
const LAGS: usize = 3;

/// Why a residual is not taken for noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// No law of the library can be followed through the measurements.
    NotFollowed,
    /// It is larger than the noise of the measurements, or grows where the law is followed for long.
    MoreThanNoise,
    /// It goes along with a term outside of the library.
    LacksTerm,
    /// Held-out data are missed by far more.
    HeldOut,
    /// Residuals of rows that follow each other are correlated.
    Correlated {
        /// So many rows apart.
        lag: usize,
        /// By so much.
        correlation: f64,
    },
    /// There are too few rows to tell.
    FewRows,
    /// The noise is not known, and the residual is large.
    NoiseUnknown,
}

/// What is known of the residual of an equation, all relative to the target's standard deviation.
pub(super) struct Standing {
    /// Its standard deviation, on the data that the coefficients were fitted to.
    pub left: f64,
    /// The noise, as the measurements have it by themselves.
    pub noise: Option<f64>,
    /// On held-out data, if there are enough of these to compare it with what is left.
    pub r2: Option<f64>,
    pub comparable: bool,
    /// Rows less terms.
    pub freedom: f64,
    /// What else says that it is more than noise.
    pub doubt: Option<Doubt>,
}

impl Standing {
    /// The residual on held-out data.
    fn missed(&self) -> f64 {
        self.r2.map_or(0.0, |r2| (1.0 - r2).max(0.0).sqrt())
    }

    /// Whether the law knows the data that it was fitted to by heart.
    pub fn is_by_heart(&self) -> bool {
        self.comparable && self.missed() > BY_HEART * self.left.max(NEXT_TO_NOTHING)
    }

    /// The verdict, and what speaks against a better one.
    pub fn verdict(&self) -> (Verdict, Option<Doubt>) {
        let missed = self.missed();
        let lost = self.left.max(missed) > MOST || self.noise.is_some_and(|noise| noise > MOST);
        if lost || !self.left.is_finite() {
            return (Verdict::NoLaw, self.doubt);
        }
        let unknown = self.noise.is_none();
        let few = unknown && self.left > LITTLE && self.freedom < ENOUGH_ROWS;
        let much = unknown && self.left > MUCH;
        let doubt = self
            .doubt
            .or(self.is_by_heart().then_some(Doubt::HeldOut))
            .or(few.then_some(Doubt::FewRows))
            .or(much.then_some(Doubt::NoiseUnknown));
        match doubt {
            Some(doubt) => (Verdict::Partly, Some(doubt)),
            None => (Verdict::Explained, None),
        }
    }
}

/// How residuals of rows so many apart go along with each other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Along {
    product: f64,
    squares: f64,
    pairs: f64,
}

impl Along {
    pub fn push(&mut self, a: f64, b: f64) {
        self.product += a * b;
        self.squares += (a * a + b * b) / 2.0;
        self.pairs += 1.0;
    }

    /// Whether there are any.
    pub fn is_there(&self) -> bool {
        self.pairs > 0.0
    }

    pub fn correlation(&self) -> f64 {
        match self.squares > 0.0 {
            true => self.product / self.squares,
            false => 0.0,
        }
    }

    /// What noise stays below.
    pub fn limit(&self) -> f64 {
        WHITE + ERRORS / self.pairs.max(1.0).sqrt()
    }
}

/// The strongest correlation of residuals of rows that follow each other, if it is stronger than that of noise; sequences are rows without a gap.
pub(super) fn correlated<'a>(sequences: impl Iterator<Item = &'a [f64]> + Clone) -> Option<Doubt> {
    let at = |lag: usize| {
        let mut along = Along::default();
        for own in sequences.clone() {
            let pairs = own.iter().zip(own.iter().skip(lag));
            pairs.for_each(|(a, b)| along.push(*a, *b));
        }
        (lag, along)
    };
    let all = (1..=LAGS).map(at);
    let strong = all.filter(|(_, along)| along.correlation().abs() > along.limit());
    let size = |(_, along): &(usize, Along)| along.correlation().abs();
    let strongest = strong.max_by(|a, b| size(a).total_cmp(&size(b)));
    strongest.map(|(lag, along)| Doubt::Correlated {
        lag,
        correlation: along.correlation(),
    })
}

#[cfg(test)]
mod tests {
    use ell0::rng::Stream;

    use super::*;

    fn standing(left: f64, r2: f64) -> Standing {
        Standing {
            left,
            noise: None,
            r2: Some(r2),
            comparable: true,
            freedom: 500.0,
            doubt: None,
        }
    }

    /// Whatever else is known, a law that leaves most, here or on held-out data, is none.
    #[test]
    fn most_left_means_no_law() {
        for noise in [None, Some(0.6)] {
            for (left, r2) in [(0.72, 0.48), (0.75, 0.9), (0.2, 0.4), (0.01, -2.0)] {
                let standing = Standing {
                    noise,
                    ..standing(left, r2)
                };
                assert_eq!(standing.verdict().0, Verdict::NoLaw, "{left} {r2}");
            }
        }
        let noise = Standing {
            noise: Some(0.58),
            ..standing(0.6, 0.63)
        };
        assert_eq!(noise.verdict(), (Verdict::Explained, None));
    }

    #[test]
    fn what_cannot_be_told_is_not_explained() {
        let few = |left: f64| Standing {
            freedom: 4.0,
            ..standing(left, 0.99)
        };
        assert_eq!(few(0.5).verdict().1, Some(Doubt::FewRows));
        assert_eq!(few(0.05).verdict().0, Verdict::Explained);
        assert_eq!(standing(0.2, 0.96).verdict().0, Verdict::Explained);
        let unknown = standing(0.4, 0.84);
        assert_eq!(unknown.verdict().1, Some(Doubt::NoiseUnknown));
        let heart = standing(0.05, 0.9);
        assert_eq!(heart.verdict(), (Verdict::Partly, Some(Doubt::HeldOut)));
    }

    /// Noise is not correlated; noise that was differenced over two rows is, at the second lag.
    #[test]
    fn correlations_of_residuals_are_found() {
        let mut rng = Stream::new(1).at(0);
        let noise: Vec<f64> = (0..1000).map(|_| rng.normal()).collect();
        let pieces = || noise.chunks(300);
        assert_eq!(correlated(pieces()), None);
        let differences: Vec<f64> = noise.windows(3).map(|w| w[2] - w[0]).collect();
        let found = correlated([&differences[..]].into_iter());
        let Some(Doubt::Correlated { lag, correlation }) = found else {
            panic!("{found:?}");
        };
        assert!(lag == 2 && (-0.6..-0.4).contains(&correlation), "{found:?}");
    }
}
