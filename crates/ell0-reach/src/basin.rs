//! What is proved: the states from which every trajectory arrives.

use ell0::equation::Interval;
use ell0_control::analysis::Claim;

use crate::{
    ellipsoid::Ellipsoid,
    inside::Proved,
    prover::Progress,
    shear::Shear,
    tree::{Cell, Tree},
};

/// Cells over one to three states, with their coordinates.
#[derive(Clone, Debug)]
pub enum Cells {
    /// One state.
    One(Tree<1>, Shear<1>),
    /// Two.
    Two(Tree<2>, Shear<2>),
    /// Three.
    Three(Tree<3>, Shear<3>),
}

/// The states from which every trajectory arrives.
#[derive(Clone, Debug)]
pub struct Basin {
    /// The share of the box that is proved.
    pub share: f64,
    /// Within how many steps, at most.
    pub steps: u32,
    /// What it took.
    pub progress: Progress,
    /// The set in which they arrive. With limits it may be smaller than the one that was given.
    pub claim: Claim,
    /// Whether the loop treats x and −x alike, so that half of the cells are enough.
    pub odd: bool,
    pub(crate) periods: Vec<Option<f64>>,
    pub(crate) stay: Vec<Interval>,
    pub(crate) avoid: Vec<Vec<Interval>>,
    pub(crate) cells: Cells,
}

impl Basin {
    /// The cells.
    #[must_use]
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Claims nothing of some leaves any more, by their numbers from left to right, in this order.
    pub fn forget(&mut self, leaves: &[usize]) {
        fn of<const N: usize>(tree: &mut Tree<N>, leaves: &[usize]) -> (f64, u32) {
            tree.forget(leaves);
            (tree.share(), tree.steps_of_slowest())
        }
        (self.share, self.steps) = match &mut self.cells {
            Cells::One(tree, _) => of(tree, leaves),
            Cells::Two(tree, _) => of(tree, leaves),
            Cells::Three(tree, _) => of(tree, leaves),
        };
    }

    /// Within how many steps a state arrives, if that is proved; in plain numbers.
    #[must_use]
    pub fn steps_at(&self, state: &[f64]) -> Option<u32> {
        match &self.cells {
            Cells::One(tree, shear) => self.steps_in(tree, shear, state),
            Cells::Two(tree, shear) => self.steps_in(tree, shear, state),
            Cells::Three(tree, shear) => self.steps_in(tree, shear, state),
        }
    }

    fn steps_in<const N: usize>(
        &self,
        tree: &Tree<N>,
        shear: &Shear<N>,
        state: &[f64],
    ) -> Option<u32> {
        let target = Ellipsoid::new(&self.claim);
        let proved = Proved {
            tree,
            target: &target,
            shear,
            periods: std::array::from_fn(|k| self.periods[k]),
            odd: self.odd,
        };
        let state: [f64; N] = state.try_into().ok()?;
        proved.steps_at(&state)
    }

    /// Calls a function for every proved cell, with its corners as states and the steps until it has arrived.
    pub fn for_each_proved(&self, mut look: impl FnMut(&[Vec<f64>], u32)) {
        fn all<const N: usize>(
            tree: &Tree<N>,
            shear: &Shear<N>,
            look: &mut impl FnMut(&[Vec<f64>], u32),
        ) {
            tree.for_each_leaf(|_, cell: &Cell<N>, arrival| {
                let Some(arrival) = arrival else { return };
                let corner = |which: usize| {
                    let y = std::array::from_fn(|k| match which >> k & 1 {
                        0 => cell.low[k],
                        _ => cell.high[k],
                    });
                    shear.to_point(&y).to_vec()
                };
                let corners: Vec<Vec<f64>> = (0..1 << N).map(corner).collect();
                look(&corners, arrival.steps);
            });
        }
        match &self.cells {
            Cells::One(tree, shear) => all(tree, shear, &mut look),
            Cells::Two(tree, shear) => all(tree, shear, &mut look),
            Cells::Three(tree, shear) => all(tree, shear, &mut look),
        }
    }
}
