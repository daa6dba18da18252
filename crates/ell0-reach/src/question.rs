//! What is asked: from where does a closed loop arrive in a set that it does not leave again?

use ell0::equation::Interval;
use ell0_control::analysis::{Claim, Map, Plant, Pulse, Range, State, short};

use crate::{
    basin::{Basin, Cells},
    ellipsoid::Ellipsoid,
    error::NoBasin,
    limits::Limits,
    parity::is_odd,
    prover::{Budget, Problem, Progress, prove},
    shear::Shear,
    tree::Cell,
    turns::comes_round,
};

/// States that a proof may have.
pub const MOST_STATES: usize = 3;

/// The bounds of a state; those of an angle are its period, up to rounding, so they become a little more.
pub(crate) fn whole(state: &State) -> Result<Range, NoBasin> {
    let Range { low, high } = state.bounds;
    let Some(period) = state.period else {
        return Ok(state.bounds);
    };
    let short = period - (high - low);
    if short > 1e-12 * period {
        return Err(NoBasin::NotAround {
            state: state.name.clone(),
            period,
        });
    }
    let more = 2.0 * short.max(0.0) + 4.0 * f64::EPSILON * period;
    Ok(Range::new(low - more, high + more))
}

/// From where does a closed loop arrive in a set, and keep within limits on the way?
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Names, bounds and periods of the states.
    pub states: &'a [State],
    /// The closed loop.
    pub map: &'a Map,
    /// The set, which is proved not to be left again.
    pub target: &'a Claim,
    /// A box that trajectories must never leave, by states.
    pub stay: &'a [(String, Range)],
    /// Boxes that they must never enter.
    pub avoid: &'a [Vec<(String, Range)>],
}

impl<'a> Question<'a> {
    /// Without limits on the way.
    #[must_use]
    pub fn new(plant: &'a Plant, map: &'a Map, target: &'a Claim) -> Self {
        Question {
            states: plant.states(),
            map,
            target,
            stay: &[],
            avoid: &[],
        }
    }

    /// Proves as much as the budget allows. `watch` is called after every round, the pulse beats at every cell.
    pub fn prove(
        &self,
        budget: Budget,
        pulse: Pulse,
        watch: impl FnMut(&Progress),
    ) -> Result<Basin, NoBasin> {
        Ok(match self.states.len() {
            1 => self.prove_in::<1>(budget, pulse, watch, Cells::One)?,
            2 => self.prove_in::<2>(budget, pulse, watch, Cells::Two)?,
            3 => self.prove_in::<3>(budget, pulse, watch, Cells::Three)?,
            states => return Err(NoBasin::TooManyStates { states }),
        })
    }

    fn prove_in<const N: usize>(
        &self,
        budget: Budget,
        pulse: Pulse,
        mut watch: impl FnMut(&Progress),
        cells: impl FnOnce(crate::tree::Tree<N>, Shear<N>) -> Cells,
    ) -> Result<Basin, NoBasin> {
        let (problem, claim) = self.problem::<N>()?;
        let mut last = Progress::default();
        let tree = prove(&problem, budget, pulse, |progress| {
            last = *progress;
            watch(progress);
        });
        let limits = problem.limits.clone();
        let share = tree.share();
        let steps = tree.steps_of_slowest();
        Ok(Basin {
            share,
            steps,
            progress: last,
            claim,
            odd: problem.odd,
            periods: problem.periods.to_vec(),
            stay: limits.stay.to_vec(),
            avoid: limits.avoid.iter().map(|a| a.to_vec()).collect(),
            cells: cells(tree, problem.shear),
        })
    }

    /// The question in numbers, and the target as it is used.
    fn problem<const N: usize>(&self) -> Result<(Problem<'a, N>, Claim), NoBasin> {
        let rows = self.target.p.rows();
        let square = rows.len() == N && rows.iter().all(|row| row.len() == N);
        if !square || self.target.centre.len() != N || self.map.next_states().len() != N {
            return Err(NoBasin::OtherStates { states: N });
        }
        let periods: [Option<f64>; N] = std::array::from_fn(|k| self.states[k].period);
        let sides: Vec<Range> = self.states.iter().map(whole).collect::<Result<_, _>>()?;
        let mut bounds = Cell {
            low: std::array::from_fn(|k| sides[k].low),
            high: std::array::from_fn(|k| sides[k].high),
        };
        comes_round(self.states, self.map)?;
        let limits = self.limits(periods)?;
        let claim = self.fitting(&limits)?;
        let symmetric = (0..N).all(|k| bounds.low[k] == -bounds.high[k] && claim.centre[k] == 0.0);
        let odd = symmetric && limits.are_symmetric() && is_odd(self.map);
        if odd {
            bounds.low[0] = 0.0;
        }
        let target = Ellipsoid::new(&claim);
        let problem = Problem {
            map: self.map,
            shear: Shear::along(target.p(), &periods),
            bounds,
            periods,
            target,
            limits,
            odd,
        };
        Ok((problem, claim))
    }

    fn limits<const N: usize>(&self, periods: [Option<f64>; N]) -> Result<Limits<N>, NoBasin> {
        let region = |given: &Vec<(String, Range)>| Question::region(self.states, given);
        Ok(Limits {
            stay: Question::region(self.states, self.stay)?,
            avoid: self.avoid.iter().map(region).collect::<Result<_, _>>()?,
            periods,
        })
    }

    /// A box by the ranges of some states.
    pub(crate) fn region<const N: usize>(
        states: &[State],
        given: &[(String, Range)],
    ) -> Result<[Interval; N], NoBasin> {
        let mut sides = [Interval::ENTIRE; N];
        for (k, (name, range)) in given.iter().enumerate() {
            if given[..k].iter().any(|(other, _)| other == name) {
                return Err(NoBasin::Twice { name: name.clone() });
            }
            let at = states.iter().position(|s| s.name == *name);
            let at = at.ok_or_else(|| NoBasin::NoState {
                name: name.clone(),
                states: states.iter().map(|s| s.name.clone()).collect(),
            })?;
            if range.low.is_nan() || range.high.is_nan() || range.low >= range.high {
                return Err(NoBasin::Empty { name: name.clone() });
            }
            sides[at] = Interval::new(range.low, range.high);
        }
        Ok(sides)
    }

    /// The target, or so much of it as is allowed: every smaller level of the same function is not left again, either.
    fn fitting<const N: usize>(&self, limits: &Limits<N>) -> Result<Claim, NoBasin> {
        let mut claim = self.target.clone();
        for _ in 0..60 {
            let hull = Ellipsoid::<N>::new(&claim).hull();
            if hull.is_some_and(|hull| limits.allow(&hull)) {
                return Ok(claim);
            }
            claim.level = short(0.8 * claim.level, false);
            // What is smaller than the inner level may be left.
            if claim.level <= claim.inner {
                break;
            }
        }
        Err(NoBasin::TargetForbidden)
    }
}
