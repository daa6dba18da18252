//! The largest level set of a quadratic function that can be proved to lie in the region of attraction, and the region itself as simulations see it.

use ell0::rng::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    equilibria::Equilibrium,
    linear::{self, Rows},
    map::{Map, Values},
    not_proved::NotProved,
    plant::Plant,
    proof::{Claim, Verdict, prove},
    pulse::Pulse,
    value::Matrix,
};

/// A set that is proved to be left by no trajectory, and on which V falls until the equilibrium is reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProvedRegion {
    /// The claim.
    pub claim: Claim,
    /// Boxes of the proof.
    pub boxes: u64,
    /// Half the width of the smallest, relative to the whole set.
    pub smallest: f64,
    /// Distance from the equilibrium within which its rounding leaves the question open: 0 if it is exact.
    pub inner_radius: f64,
    /// The set reaches this far from the equilibrium in each state.
    pub reach: Vec<f64>,
    /// Volume of the set.
    pub volume: f64,
    /// Level that sampling would have allowed.
    pub sampled_level: f64,
}

impl ProvedRegion {
    /// The edge of the set in the plane of the first two states, all others as at the equilibrium: so many points and the first again. With one state, its two ends.
    #[must_use]
    pub fn outline(&self, points: usize) -> Vec<[f64; 2]> {
        let (p, centre) = (self.claim.p.rows(), &self.claim.centre);
        if p.len() < 2 {
            let reach = self.reach[0];
            return vec![[centre[0] - reach, 0.0], [centre[0] + reach, 0.0]];
        }
        // d = √c·L⁻ᵀ·(cos, sin), where P = L·Lᵀ in the plane.
        let plane: Rows = p[..2].iter().map(|row| row[..2].to_vec()).collect();
        let Some(l) = linear::cholesky(&plane) else {
            return Vec::new();
        };
        let size = self.claim.level.sqrt();
        let points = points.max(1);
        (0..=points)
            .map(|k| {
                let turn = k as f64 * std::f64::consts::PI / (0.5 * points as f64);
                let (sin, cos) = turn.sin_cos();
                let second = sin / l[1][1];
                let first = (cos - l[1][0] * second) / l[0][0];
                [centre[0] + size * first, centre[1] + size * second]
            })
            .collect()
    }
}

/// Boxes of a proof.
const MOST_BOXES: u64 = 1_500_000;

/// Random matrices that are tried.
const TRIALS: u64 = 200;

/// Levels that are tried, relative to what sampling allows.
const LEVELS: [f64; 12] = [
    0.98, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.3, 0.1, 0.03, 0.01,
];

/// Inner levels that are tried where a disturbance keeps trajectories from the equilibrium, relative to the level, the largest first.
const INNER_LEVELS: [f64; 8] = [0.8, 0.6, 0.4, 0.25, 0.15, 0.08, 0.04, 0.02];

/// Volume of {dᵀPd ≤ c}.
fn volume(p: &[Vec<f64>], level: f64) -> f64 {
    let n = p.len();
    let root = linear::cholesky(p).map_or(f64::INFINITY, |l| (0..n).map(|k| l[k][k]).product());
    // Of the unit ball, by the recursion over the dimension.
    let mut ball = [1.0, 2.0];
    for k in 2..=n {
        ball = [ball[1], ball[0] * 2.0 * std::f64::consts::PI / k as f64];
    }
    let ball = if n == 0 { 1.0 } else { ball[1] };
    ball * level.powf(0.5 * n as f64) / root
}

/// The number of four significant digits at or below a positive number, or at or above: what is printed is what is proved.
pub fn short(value: f64, above: bool) -> f64 {
    let exponent = value.log10().floor() - 3.0;
    let digits = value / 10f64.powf(exponent);
    let digits = if above { digits.ceil() } else { digits.floor() };
    // By way of text, so that it has no more digits than these.
    match format!("{digits}e{exponent}").parse() {
        Ok(short) if f64::is_normal(short) => short,
        _ => value,
    }
}

/// The samples that a level is judged by: offsets from the equilibrium and where they go.
struct Samples {
    offsets: Vec<(Vec<f64>, Vec<f64>)>,
    /// How far the bounds are from the equilibrium.
    room: Vec<f64>,
}

impl Samples {
    fn new(plant: &Plant, map: &Map, centre: &[f64], count: u64) -> Self {
        let room: Vec<f64> = centre
            .iter()
            .zip(&plant.states)
            .map(|(c, state)| match state.period {
                Some(period) => 0.5 * period,
                None => (c - state.bounds.low).min(state.bounds.high - c),
            })
            .collect();
        let stream = Stream::new(0).split("samples");
        let offsets = (0..count)
            .into_par_iter()
            .map(|k| {
                let mut rng = stream.at(k);
                // Many near the equilibrium, too, where the largest boxes fail first.
                let size = rng.uniform();
                let d: Vec<f64> = room
                    .iter()
                    .map(|r| r * size * (2.0 * rng.uniform() - 1.0))
                    .collect();
                let x: Vec<f64> = d.iter().zip(centre).map(|(d, c)| d + c).collect();
                // Parameters are in the middle once in a while, else at some of their ends. Disturbances are left out: near the equilibrium none could be borne.
                let mut share = |varies: bool| match varies || k % 4 == 0 {
                    true => 0.5,
                    false => rng.uniform().round(),
                };
                let uncertain = map.uncertain().iter();
                let uncertain: Vec<f64> = uncertain.map(|u| u.range.at(share(u.varies))).collect();
                let mut room = Values::default();
                map.image(&x, &uncertain, &mut room);
                let e = room.next.iter().zip(centre).map(|(x, c)| x - c).collect();
                (d, e)
            })
            .collect();
        Samples { offsets, room }
    }

    /// The largest level within the bounds at which no sample contradicts.
    fn level(&self, p: &[Vec<f64>]) -> f64 {
        let Some(inverse) = linear::inverse(p) else {
            return 0.0;
        };
        let fits = self
            .room
            .iter()
            .enumerate()
            .fold(f64::INFINITY, |m, (k, r)| m.min(r * r / inverse[k][k]));
        self.offsets.iter().fold(fits, |level, (d, e)| {
            let v = linear::quadratic(p, d);
            if v < level && linear::quadratic(p, e) >= v {
                v
            } else {
                level
            }
        })
    }
}

/// The matrix P of the discrete Lyapunov equation, for the Q among many whose level set is largest as far as samples tell.
fn best_matrix(samples: &Samples, equilibrium: &Equilibrium) -> Option<Rows> {
    let n = equilibrium.state.len();
    let score = |root: &Rows| -> Option<(f64, Rows)> {
        let q = linear::product(root, &linear::transpose(root));
        let p = linear::lyapunov(equilibrium.jacobian.rows(), &q)?;
        Some((volume(&p, samples.level(&p)), p))
    };
    let scaled = |k: usize, factor: f64| -> Rows {
        let mut root = vec![vec![0.0; n]; n];
        for (i, row) in root.iter_mut().enumerate() {
            row[i] = factor.powi(i32::from(i == k)) / samples.room[i];
        }
        root
    };
    let mut best: Option<(f64, Rows, Rows)> = None;
    let consider = |root: Rows, best: &mut Option<(f64, Rows, Rows)>| {
        if let Some((value, p)) = score(&root)
            && best.as_ref().is_none_or(|b| value > b.0)
        {
            *best = Some((value, root, p));
        }
    };
    for k in 0..n {
        for power in -3..=3 {
            consider(scaled(k, 3f64.powi(power)), &mut best);
        }
    }
    // Then at random around the best, with steps that become smaller.
    let stream = Stream::new(0).split("matrices");
    for trial in 0..TRIALS {
        let Some((_, root, _)) = &best else { break };
        let mut rng = stream.at(trial);
        let step = 0.6 * (1.0 - trial as f64 / TRIALS as f64) + 0.02;
        let mut root = root.clone();
        for i in 0..n {
            let size = root[i][i].abs();
            for j in 0..i {
                root[i][j] += step * size * rng.normal();
            }
            root[i][i] *= (step * rng.normal()).exp();
        }
        consider(root, &mut best);
    }
    best.map(|b| b.2)
}

/// The largest level set that can be proved, or why there is none. The pulse beats at every box of a proof.
pub fn proved_region(
    plant: &Plant,
    map: &Map,
    equilibrium: &Equilibrium,
    pulse: Pulse,
) -> Result<ProvedRegion, NotProved> {
    if !equilibrium.is_stable() {
        return Err(NotProved::NotStable);
    }
    let few = Samples::new(plant, map, &equilibrium.state, 4_000);
    let many = Samples::new(plant, map, &equilibrium.state, 100_000);
    // The largest set first; it may leave too little to prove, so then the plainest matrix.
    let mut reason = NotProved::NoSolution;
    let matrices = [
        best_matrix(&few, equilibrium),
        plain_matrix(&few, equilibrium),
    ];
    let matrices: Vec<Rows> = matrices.into_iter().flatten().collect();
    for p in &matrices {
        match largest_level(map, equilibrium, p, many.level(p), 0.0, pulse) {
            Ok(region) => return Ok(region),
            Err(why) => reason = why,
        }
    }
    if map.uncertain().iter().all(|u| !u.varies) {
        return Err(reason);
    }
    // A disturbance may keep trajectories from the equilibrium, but not from its neighbourhood.
    for p in &matrices {
        let mut best = None;
        for inner in INNER_LEVELS {
            match largest_level(map, equilibrium, p, many.level(p), inner, pulse) {
                // A smaller inner level is better as long as the set is not smaller.
                Ok(region) => match &best {
                    Some(ProvedRegion { claim, .. }) if region.claim.level < claim.level => break,
                    _ => best = Some(region),
                },
                Err(NotProved::Stopped) => return Err(NotProved::Stopped),
                Err(_) => break,
            }
        }
        if let Some(region) = best {
            return Ok(region);
        }
    }
    Err(reason)
}

/// P of the Lyapunov equation whose Q is the identity, in states scaled to their room.
fn plain_matrix(samples: &Samples, equilibrium: &Equilibrium) -> Option<Rows> {
    let n = equilibrium.state.len();
    let mut q = vec![vec![0.0; n]; n];
    (0..n).for_each(|k| q[k][k] = samples.room[k].powi(-2));
    linear::lyapunov(equilibrium.jacobian.rows(), &q)
}

/// The largest level of a matrix that can be proved, of those tried below what samples allow, with an inner level relative to it.
fn largest_level(
    map: &Map,
    equilibrium: &Equilibrium,
    p: &Rows,
    sampled_level: f64,
    inner: f64,
    pulse: Pulse,
) -> Result<ProvedRegion, NotProved> {
    let inverse = linear::inverse(p).ok_or(NotProved::Singular)?;
    let (mut left, mut reason) = (MOST_BOXES, NotProved::Refuted);
    for share in LEVELS {
        let claim = Claim {
            centre: equilibrium.state.clone(),
            p: Matrix::from_rows(p.clone()),
            level: short(share * sampled_level, false),
            inner: short(inner * share * sampled_level, true),
        };
        match prove(map, &claim, left, pulse) {
            Verdict::Proved {
                boxes,
                smallest,
                inner_radius,
            } => {
                let n = p.len();
                return Ok(ProvedRegion {
                    reach: (0..n)
                        .map(|k| (claim.level * inverse[k][k]).sqrt())
                        .collect(),
                    volume: volume(p, claim.level),
                    claim,
                    boxes,
                    smallest,
                    inner_radius,
                    sampled_level,
                });
            }
            Verdict::Open(NotProved::Stopped) => return Err(NotProved::Stopped),
            Verdict::Open(why) => {
                reason = why;
                // All levels together must not take forever.
                left -= left / 4;
            }
            Verdict::Refuted(_) => {}
        }
    }
    Err(reason)
}

/// Where trajectories end, on a grid over the first two states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Basin {
    /// Points along each of the two states.
    pub points: usize,
    /// For each point, the second state running fastest, the index of the equilibrium it ends at, if it does.
    pub ends: Vec<Option<usize>>,
}

/// Steps until a trajectory must be near its equilibrium.
const LONGEST: usize = 2000;

impl Basin {
    /// Simulates the map from the midpoints of `points` × `points` cells over the bounds of the first two states; the others begin at 0. The pulse beats at every cell.
    #[must_use]
    pub fn new(
        plant: &Plant,
        map: &Map,
        equilibria: &[Equilibrium],
        points: usize,
        pulse: Pulse,
    ) -> Self {
        let n = plant.states.len();
        let place = |k: usize, i: usize| {
            let bounds = plant.states[k].bounds;
            bounds.low + bounds.width() * (i as f64 + 0.5) / points as f64
        };
        let end = |cell: usize| -> Option<usize> {
            if !pulse() {
                return None;
            }
            let mut x = vec![0.0; n];
            x[0] = place(0, cell / points);
            if n > 1 {
                x[1] = place(1, cell % points);
            }
            for _ in 0..LONGEST {
                for (k, equilibrium) in equilibria.iter().enumerate().filter(|e| e.1.is_stable()) {
                    let apart = plant.difference(&x, &equilibrium.state);
                    if plant.is_small(&apart, 1e-3) {
                        return Some(k);
                    }
                }
                x = map.next(&x);
                if x.iter().any(|v| !v.is_finite()) {
                    return None;
                }
            }
            None
        };
        let cells = if n > 1 { points * points } else { points };
        Basin {
            points,
            ends: (0..cells).into_par_iter().map(end).collect(),
        }
    }

    /// The share of the grid that ends at an equilibrium.
    #[must_use]
    pub fn share(&self, equilibrium: usize) -> f64 {
        let there = self.ends.iter().filter(|e| **e == Some(equilibrium));
        there.count() as f64 / self.ends.len().max(1) as f64
    }
}
