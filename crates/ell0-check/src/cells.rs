//! Every cell: where are its images?

use rayon::prelude::*;

use crate::{
    certificate::{Certificate, Flaw, Node},
    form::Form,
    image::{Cell, Images, Room},
    limits::Limits,
    place::Places,
    target::Target,
};

/// What came of all cells.
pub struct Checked {
    /// The share of the box of those that claim something.
    pub share: f64,
    /// The most steps.
    pub steps: u32,
    /// Their number.
    pub proved: usize,
    /// Those whose claim could not be verified, by their number in the file.
    pub flaws: Vec<(usize, Flaw)>,
}

/// Checks all cells.
pub fn check<const N: usize>(
    certificate: &Certificate,
    target: &Target<N>,
    limits: &Limits<N>,
) -> Checked {
    let mut bounds = Cell {
        low: std::array::from_fn(|k| certificate.states[k].low),
        high: std::array::from_fn(|k| certificate.states[k].high),
    };
    if certificate.odd {
        bounds.low[0] = 0.0;
    }
    let places = Places::new(certificate, target, bounds);
    let images = Images::new(certificate);
    // The proved ones, with their number among all.
    let mut proved = Vec::new();
    let mut stack = vec![(0, bounds)];
    let mut leaves = 0;
    while let Some((at, cell)) = stack.pop() {
        match certificate.nodes[at] {
            Node::Divided { axis, upper } => {
                stack.push((upper, cell.half(axis, true)));
                stack.push((at + 1, cell.half(axis, false)));
                continue;
            }
            Node::Open => {}
            Node::Proved { after, steps } => proved.push((leaves, cell, after, steps)),
        }
        leaves += 1;
    }
    let one = |room: &mut Room<Form>,
               &(number, cell, after, steps): &(usize, Cell<N>, u32, u32)| {
        let outside = Flaw::Outside { cell: number };
        let mut set = images.begin(&cell);
        if after == 0 {
            return if target.holds(&cell) {
                Ok(())
            } else {
                Err(outside)
            };
        }
        for _ in 0..after {
            if limits.are_some() && !limits.allow(&set.hull) {
                return Err(Flaw::Forbidden { cell: number });
            }
            set = images.step(&set, room).ok_or_else(|| outside.clone())?;
        }
        let left = steps.checked_sub(after).ok_or_else(|| outside.clone())?;
        if places.holds(&images.turn(&set), left) {
            Ok(())
        } else {
            Err(outside)
        }
    };
    let flaws = proved.par_iter().map_init(Room::default, |room, cell| {
        let flaw = one(room, cell).err();
        flaw.map(|flaw| (cell.0, flaw))
    });
    let flaws = flaws.flatten().collect();
    let volume = |c: &Cell<N>| (0..N).map(|k| c.high[k] - c.low[k]).product::<f64>();
    Checked {
        share: proved.iter().map(|p| volume(&p.1)).sum::<f64>() / volume(&bounds),
        steps: proved.iter().map(|p| p.3).max().unwrap_or(0),
        proved: proved.len(),
        flaws,
    }
}
