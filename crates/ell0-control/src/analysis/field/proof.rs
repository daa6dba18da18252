//! A quadratic Lyapunov function of a linear plant with bounded linear laws, verified.
//!
//! The loop is y⁺ = A·y + B·a with aᵢ = φᵢ(kᵢ·y), where φᵢ(v)/v lies between 0 and 1 and falls as |v| grows (tanh, clipping). On {yᵀPy ≤ c} the number |kᵢ·y| is at most βᵢ, with βᵢ² = c·kᵢP⁻¹kᵢᵀ; there the action is σᵢ·kᵢ·y with a share σᵢ from δᵢ = φᵢ(βᵢ)/βᵢ to 1. So y⁺ = (A + B·diag(σ)·K)·y,
//! whatever the shares are. V⁺ = yᵀ(A + BσK)ᵀP(A + BσK)y is convex in σ, hence largest at a corner of the box of shares: if P − (A + BσK)ᵀP(A + BσK) is positive definite at all 2ᵐ corners, V falls at every step in the set, no trajectory leaves it, and all of them go to 0.
//!
//! The search for P is by floating point and heuristics: solutions of the Riccati equation of the bounded real lemma, which is the same question with diagonal multipliers, for sectors of several widths. What it finds is then verified, and only that is claimed:
//!
//! - P − (A + BσK)ᵀP(A + BσK) at every corner, and P − (c/βᵢ²)·kᵢᵀkᵢ (which says that |kᵢ·y| ≤ βᵢ on the set), by [`is_definite`], with a margin that covers the rounding of their entries: 4·(n + m + o + 8)·u·‖P‖·(‖A‖ + ‖B‖·‖K‖)² in Frobenius norms for n states, m actions, o observations and the unit roundoff u;
//! - δᵢ is made smaller by 10⁻¹³ of itself, which covers the rounding of tanh.
//!
//! This is rigorous for the loop in exact arithmetic whose matrices A, B and K are the numbers in the computer, which the world and the law give. It is not about the rounding of the world itself, nor of observations.

use ell0::rng::Stream;
use faer::Mat;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    closed::FieldLoop,
    definite::{ROUNDOFF, is_definite},
    matrix::{diagonal, of_rows, quadratic, solve, symmetric, to_rows, transposed},
    no_proof::NoProof,
    riccati::{doubling, lyapunov},
    saturated::Saturated,
};
use crate::{
    analysis::{linear, pulse::Pulse, value::Matrix},
    error::{Error, Result},
};

/// A set from which every trajectory is proved to go to 0: {yᵀPy ≤ level}, or all states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvedSet {
    /// The matrix P.
    pub p: Matrix,
    /// The level; none if it is proved for every state.
    pub level: Option<f64>,
    /// On the set each action is at least this share of what it would be without bounds.
    pub shares: Vec<f64>,
    /// Corners of the box of shares that were verified.
    pub corners: usize,
    /// What was subtracted from the diagonals to cover rounding.
    pub rounding: f64,
    /// How far the set reaches in each state.
    pub reach: Option<Vec<f64>>,
    /// The largest amplitude of a uniform field in it.
    pub uniform: Option<f64>,
    /// Every state of at most this length is in it.
    pub radius: Option<f64>,
    /// Typical states that were looked at.
    pub typical_states: usize,
    /// Those in the set.
    pub typical_inside: usize,
    /// By so much a typical state could be multiplied to be on the edge of the set: the median.
    pub typical_factor: Option<f64>,
}

/// More actions have too many corners.
const MOST_ACTIONS: usize = 12;

/// Typical states that the size of a set is measured on.
const TYPICAL: u64 = 200;

/// Shares down to which the search lets actions bend, at first.
const SHARES: [f64; 9] = [0.02, 0.05, 0.1, 0.17, 0.25, 0.4, 0.6, 0.8, 0.98];

/// How much of a shape is added to the right side of the equation, relative to the multipliers: of the unit matrix, and of the narrow shape.
const UNIT: [f64; 1] = [1e-2];
const NARROW: [f64; 3] = [1e3, 1e5, 1e1];

/// The weight of directions that typical states do not have is at most about the inverse of this, relative to those that they have.
const FLOOR: f64 = 1e-3;

/// Candidates that are verified.
const BEST: usize = 3;

/// A candidate of the search.
struct Candidate {
    p: Mat<f64>,
    /// The share that it was made for.
    share: f64,
    /// The level that the search expects; none for all states.
    level: Option<f64>,
    /// The median factor of typical states.
    worth: f64,
}

/// What verification needs again and again.
struct Corners<'a> {
    found: &'a Saturated,
    p: &'a Mat<f64>,
    /// P − AᵀPA.
    alone: Mat<f64>,
    /// BᵀPA and BᵀPB.
    across: Mat<f64>,
    within: Mat<f64>,
    /// kᵢP⁻¹kᵢᵀ.
    spans: Vec<f64>,
    /// What rounding may have done to an entry-wise sum, as a spectral norm.
    rounding: f64,
}

/// A share, lowered by what the rounding of tanh may have done; an action that does not bend has all of it.
fn lowered(share: f64) -> f64 {
    if share < 1.0 {
        share * (1.0 - 1e-13)
    } else {
        1.0
    }
}

/// What was verified of a level.
struct Verified {
    shares: Vec<f64>,
    corners: usize,
}

impl<'a> Corners<'a> {
    fn new(found: &'a Saturated, p: &'a Mat<f64>, observations: usize) -> Option<Self> {
        let (a, b, k) = (&found.a, &found.b, &found.k);
        let (n, m) = (a.nrows(), b.ncols());
        let moved = p * a;
        let seen = transposed(b) * p;
        let turned = solve(p, &transposed(k))?;
        let spans = (0..m)
            .map(|i| (0..n).map(|j| k[(i, j)] * turned[(j, i)]).sum())
            .collect();
        let norm = a.norm_l2() + b.norm_l2() * k.norm_l2();
        let terms = (n + m + observations + 8) as f64;
        Some(Corners {
            alone: symmetric(&(p - a.transpose() * &moved)),
            across: &seen * a,
            within: &seen * b,
            spans,
            rounding: 1.01 * 4.0 * terms * ROUNDOFF * p.norm_l2() * (1.0 + norm).powi(2),
            found,
            p,
        })
    }

    /// Verifies that V falls on the set of a level, or everywhere.
    fn verify(&self, level: Option<f64>, pulse: Pulse) -> Result<Option<Verified>> {
        let (k, n, m) = (&self.found.k, self.p.nrows(), self.spans.len());
        if !is_definite(self.p, self.rounding) {
            return Ok(None);
        }
        let mut shares = Vec::with_capacity(m);
        for (i, sector) in self.found.sectors.iter().enumerate() {
            let still = (0..n).all(|j| k[(i, j)] == 0.0);
            shares.push(match level {
                _ if still => 1.0,
                None => lowered(sector.least(f64::INFINITY)),
                Some(level) => {
                    // A little more than the bound, so that the matrix is definite for all that rounding does.
                    let span = (level * self.spans[i].max(0.0)).sqrt();
                    let bounds = [1e-6, 1e-4, 1e-2].map(|more| span * (1.0 + more));
                    let holds = |bound: &f64| {
                        let share = level / (bound * bound);
                        let within = Mat::from_fn(n, n, |r, c| {
                            self.p[(r, c)] - share * (k[(i, r)] * k[(i, c)])
                        });
                        is_definite(&within, self.rounding)
                    };
                    let Some(bound) = bounds.into_iter().find(holds) else {
                        return Ok(None);
                    };
                    lowered(sector.least(bound))
                }
            });
        }
        // An action that does not bend has no corners.
        let bending: Vec<usize> = (0..m).filter(|&i| shares[i] < 1.0).collect();
        let corners = 1usize << bending.len();
        // None: asked to stop. The first corner at which V does not fall ends it.
        let falls = (0..corners).into_par_iter().map(|corner| {
            if !pulse() {
                return None;
            }
            let mut sigma = vec![1.0; m];
            for (bit, &i) in bending.iter().enumerate() {
                if corner >> bit & 1 == 1 {
                    sigma[i] = shares[i];
                }
            }
            // P − (A + BσK)ᵀP(A + BσK) = P − AᵀPA − KᵀE − EᵀK with E = σ·(BᵀPA + ½·BᵀPB·σK).
            let bent = Mat::from_fn(m, n, |i, j| sigma[i] * k[(i, j)]);
            let half = &self.within * &bent;
            let e = Mat::from_fn(m, n, |i, j| {
                sigma[i] * (self.across[(i, j)] + 0.5 * half[(i, j)])
            });
            let twice = k.transpose() * e;
            let left = Mat::from_fn(n, n, |i, j| {
                let (low, high) = (i.min(j), i.max(j));
                self.alone[(i, j)] - (twice[(low, high)] + twice[(high, low)])
            });
            Some(is_definite(&left, self.rounding))
        });
        match falls.find_any(|falls| *falls != Some(true)) {
            Some(None) => Err(Error::Stopped),
            Some(_) => Ok(None),
            None => Ok(Some(Verified { shares, corners })),
        }
    }

    /// The largest level that can be verified, looked for from a first one up and down.
    fn largest(&self, first: f64, pulse: Pulse) -> Result<Option<(f64, Verified)>> {
        let (mut level, mut best) = (first, None);
        for _ in 0..40 {
            if let Some(verified) = self.verify(Some(level), pulse)? {
                best = Some((level, verified));
                break;
            }
            level *= 0.7;
        }
        let Some((mut good, mut verified)) = best else {
            return Ok(None);
        };
        let mut bad = (good < first).then_some(good / 0.7);
        for _ in 0..20 {
            let tried = match bad {
                Some(bad) if bad < 1.03 * good => break,
                Some(bad) => (good * bad).sqrt(),
                None => 1.5 * good,
            };
            match self.verify(Some(tried), pulse)? {
                Some(more) => (good, verified) = (tried, more),
                None => bad = Some(tried),
            }
        }
        Ok(Some((good, verified)))
    }
}

/// The median factor by which typical states may be multiplied to be on the edge of a set.
fn median_factor(p: &Mat<f64>, level: f64, typical: &[Vec<f64>]) -> f64 {
    let mut factors: Vec<f64> = typical
        .iter()
        .map(|y| (level / quadratic(p, y).max(f64::MIN_POSITIVE)).sqrt())
        .collect();
    factors.sort_by(f64::total_cmp);
    factors.get(factors.len() / 2).copied().unwrap_or(0.0)
}

/// Multipliers that balance what comes of each action and what goes into it; all alike where that cannot be said.
fn multipliers(middle: &Mat<f64>, b: &Mat<f64>, k: &Mat<f64>) -> Vec<f64> {
    let m = b.ncols();
    let out = lyapunov(middle, &(transposed(k) * k));
    let come = lyapunov(&transposed(middle), &(b * b.transpose()));
    let (Some(out), Some(come)) = (out, come) else {
        return vec![1.0; m];
    };
    let (after, before) = (transposed(b) * (&out * b), k * (&come * k.transpose()));
    let balanced: Vec<f64> = (0..m)
        .map(|i| (after[(i, i)] / before[(i, i)]).sqrt())
        .collect();
    if balanced.iter().all(|t| t.is_finite() && *t > 0.0) {
        balanced
    } else {
        vec![1.0; m]
    }
}

/// What is added to the right side of the equation.
#[derive(Clone)]
struct Shape {
    matrix: Mat<f64>,
    amount: f64,
}

/// The unit matrix, and what weighs little where typical states are and much where they are not, so that the set is long where it should be: the most promising first.
fn shapes(typical: &[Vec<f64>], n: usize) -> Vec<Shape> {
    let unit = Mat::<f64>::identity(n, n);
    let states = of_rows(typical, n);
    let spread = symmetric(&(transposed(&states) * &states));
    let trace: f64 = (0..n).map(|i| spread[(i, i)]).sum();
    let floor = FLOOR * trace / n as f64;
    let inverse = solve(&(spread + floor * &unit), &unit);
    let narrow = inverse.map(|inverse| floor * symmetric(&inverse));
    let of = |matrix: Mat<f64>, amounts: &[f64]| -> Vec<Shape> {
        let shape = |amount: &f64| Shape {
            matrix: matrix.clone(),
            amount: *amount,
        };
        amounts.iter().map(shape).collect()
    };
    let narrow = narrow.map_or(Vec::new(), |narrow| of(narrow, &NARROW));
    [narrow, of(unit, &UNIT)].concat()
}

/// The question for one share, by the bounded real lemma: σ = middle + half·Δ with |Δᵢ| ≤ 1, and P = ĀᵀPĀ + ĀᵀPB(T − BᵀPB)⁻¹BᵀPĀ + K'ᵀTK' + Q, where Ā = A + B·middle·K and K' = half·K.
struct Question<'a> {
    found: &'a Saturated,
    share: f64,
    /// Ā.
    middle: Mat<f64>,
    /// T.
    t: Vec<f64>,
    /// −B·T⁻¹·Bᵀ.
    g: Mat<f64>,
    /// K'ᵀ·T·K'.
    weighed: Mat<f64>,
}

impl<'a> Question<'a> {
    /// None if the loop is not stable in the middle of the sector.
    fn new(found: &'a Saturated, share: f64) -> Option<Self> {
        let (a, b, k) = (&found.a, &found.b, &found.k);
        let (n, m) = (a.nrows(), b.ncols());
        // A law that never bends so far has a share of its own.
        let shares: Vec<f64> = found
            .sectors
            .iter()
            .map(|s| match s.bound(share) {
                f64::INFINITY => s.least(f64::INFINITY),
                _ => share,
            })
            .collect();
        let part = |of: fn(f64) -> f64| Mat::from_fn(m, n, |i, j| of(shares[i]) * k[(i, j)]);
        let (middle, half) = (part(|s| 0.5 * (1.0 + s)), part(|s| 0.5 * (1.0 - s)));
        let middle = a + b * &middle;
        if !linear::is_stable(&to_rows(&middle)) {
            return None;
        }
        let t = multipliers(&middle, b, k);
        let over = Mat::from_fn(n, m, |i, j| -b[(i, j)] / t[j]);
        Some(Question {
            g: symmetric(&(&over * b.transpose())),
            weighed: symmetric(&(transposed(&half) * (diagonal(&t) * &half))),
            found,
            share,
            middle,
            t,
        })
    }

    /// Its answer with Q of a shape, if there is one.
    fn candidate(&self, shape: &Shape, typical: &[Vec<f64>]) -> Option<Candidate> {
        let (b, k) = (&self.found.b, &self.found.k);
        let n = b.nrows();
        let trace: f64 = (0..n).map(|i| self.weighed[(i, i)]).sum();
        let q = &self.weighed + shape.amount * trace.max(1e-6) / n as f64 * &shape.matrix;
        let p = doubling(&self.middle, &self.g, &q)?;
        // Other solutions of the equation are none of the question.
        let within = diagonal(&self.t) - transposed(b) * (&p * b);
        if !is_definite(&symmetric(&within), 0.0) || !is_definite(&p, 0.0) {
            return None;
        }
        let turned = solve(&p, &transposed(k))?;
        let level = self.found.sectors.iter().enumerate().map(|(i, s)| {
            let span: f64 = (0..n).map(|j| k[(i, j)] * turned[(j, i)]).sum();
            let bound = s.bound(self.share);
            if bound.is_infinite() || span <= 0.0 {
                f64::INFINITY
            } else {
                bound * bound / span
            }
        });
        let level = level.fold(f64::INFINITY, f64::min);
        let worth = median_factor(&p, level, typical);
        (worth > 0.0).then_some(Candidate {
            p,
            share: self.share,
            level: level.is_finite().then_some(level),
            worth,
        })
    }
}

/// The search for candidates.
struct Search<'a> {
    found: &'a Saturated,
    typical: &'a [Vec<f64>],
    shapes: Vec<Shape>,
    pulse: Pulse<'a>,
}

impl Search<'_> {
    /// Candidates for all of some shares with all of some shapes, the best first.
    fn at(&self, shares: &[f64], shapes: &[Shape]) -> Result<Vec<Candidate>> {
        let tried = shares.par_iter().map(|share| {
            let Some(question) = Question::new(self.found, *share) else {
                return Ok(Vec::new());
            };
            let mut all = Vec::new();
            for shape in shapes {
                if !(self.pulse)() {
                    return Err(Error::Stopped);
                }
                all.extend(question.candidate(shape, self.typical));
            }
            Ok(all)
        });
        let tried = tried.collect::<Result<Vec<_>>>()?;
        let mut all: Vec<Candidate> = tried.into_iter().flatten().collect();
        all.sort_by(|x, y| y.worth.total_cmp(&x.worth));
        Ok(all)
    }

    /// Those for all states. There are none if the plant, with the actions that have no bound, is not stable by itself.
    fn everywhere(&self) -> Result<Vec<Candidate>> {
        let k = &self.found.k;
        let free = Mat::from_fn(k.nrows(), k.ncols(), |i, j| {
            self.found.sectors[i].least(f64::INFINITY) * k[(i, j)]
        });
        let alone = &self.found.a + &self.found.b * free;
        if !linear::is_stable(&to_rows(&alone)) {
            return Ok(Vec::new());
        }
        self.at(&[0.0], &self.shapes)
    }

    /// Those for a set: shares are tried with one shape, then all shapes around the best share.
    fn nearby(&self) -> Result<Vec<Candidate>> {
        let coarse = self.at(&SHARES, &self.shapes[..1])?;
        let best = coarse.first().map_or(0.9, |c| c.share);
        let fine = [0.75, 0.87, 1.0, 1.15, 1.3].map(|factor| (factor * best).min(0.99));
        let mut all = self.at(&fine, &self.shapes)?;
        all.extend(coarse);
        all.sort_by(|x, y| y.worth.total_cmp(&x.worth));
        Ok(all)
    }
}

/// The best set that can be verified of the most promising candidates.
fn verified(
    found: &Saturated,
    all: &[Candidate],
    observations: usize,
    typical: &[Vec<f64>],
    pulse: Pulse,
) -> Result<Option<ProvedSet>> {
    let mut best: Option<ProvedSet> = None;
    for candidate in all.iter().take(BEST) {
        let Some(corners) = Corners::new(found, &candidate.p, observations) else {
            continue;
        };
        let verified = match candidate.level {
            None => {
                let everywhere = corners.verify(None, pulse)?;
                everywhere.map(|verified| (None, verified))
            }
            Some(first) => {
                let largest = corners.largest(first, pulse)?;
                largest.map(|(level, verified)| (Some(level), verified))
            }
        };
        let Some((level, verified)) = verified else {
            continue;
        };
        let set = describe(&corners, level, verified, typical);
        let size = |set: &ProvedSet| set.typical_factor.unwrap_or(f64::INFINITY);
        if best.as_ref().is_none_or(|b| size(&set) > size(b)) {
            best = Some(set);
        }
        if level.is_none() {
            break;
        }
    }
    Ok(best)
}

/// Proves that a loop goes to 0 from a set, or from everywhere, if the plant is linear and the laws are bounded and linear within; otherwise says why not. The pulse beats at every candidate and every corner.
pub fn prove_saturated(
    found: &FieldLoop,
    pulse: Pulse,
) -> Result<std::result::Result<ProvedSet, NoProof>> {
    let saturated = match Saturated::of(found) {
        Ok(saturated) => saturated,
        Err(reason) => return Ok(Err(reason)),
    };
    let m = found.actions();
    if m > MOST_ACTIONS {
        return Ok(Err(NoProof::TooManyActions {
            actions: m,
            most: MOST_ACTIONS,
        }));
    }
    let linear_loop = &saturated.a + &saturated.b * &saturated.k;
    if !linear::is_stable(&to_rows(&linear_loop)) {
        return Ok(Err(NoProof::NotStable));
    }
    let stream = Stream::new(0).split("typical");
    let typical: Vec<Vec<f64>> = (0..TYPICAL)
        .map(|k| found.world().typical_state(&mut stream.at(k)))
        .collect();
    let search = Search {
        found: &saturated,
        typical: &typical,
        shapes: shapes(&typical, found.states()),
        pulse,
    };
    let seen = found.order().len();
    let mut set = verified(&saturated, &search.everywhere()?, seen, &typical, pulse)?;
    if set.is_none() {
        set = verified(&saturated, &search.nearby()?, seen, &typical, pulse)?;
    }
    Ok(set.ok_or(NoProof::NotFound))
}

/// What a set holds.
fn describe(
    corners: &Corners,
    level: Option<f64>,
    verified: Verified,
    typical: &[Vec<f64>],
) -> ProvedSet {
    let p = corners.p;
    let n = p.nrows();
    let inside = |y: &&Vec<f64>| level.is_none_or(|level| quadratic(p, y) <= level);
    let reach = level.and_then(|level| {
        let inverse = solve(p, &Mat::identity(n, n))?;
        Some((0..n).map(|i| (level * inverse[(i, i)]).sqrt()).collect())
    });
    let radius = level.and_then(|level| {
        let values = p.self_adjoint_eigenvalues(faer::Side::Lower).ok()?;
        Some((level / values.last()?).sqrt())
    });
    ProvedSet {
        p: Matrix::from_rows(to_rows(p)),
        level,
        shares: verified.shares,
        corners: verified.corners,
        rounding: corners.rounding,
        reach,
        uniform: level.map(|level| (level / quadratic(p, &vec![1.0; n])).sqrt()),
        radius,
        typical_states: typical.len(),
        typical_inside: typical.iter().filter(inside).count(),
        typical_factor: level.map(|level| median_factor(p, level, typical)),
    }
}
