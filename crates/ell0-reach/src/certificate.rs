//! A proof as text, for whoever doubts the prover.
//!
//! The head says what is claimed: states with their boxes and periods, what is uncertain, the map as expressions, the target, the limits. The cells follow in the order in which the box is divided: a number is the axis along which a cell is divided into the lower and the upper
//! half, `.` is a cell of which nothing is claimed, and `k/n` one whose every image after k steps is in cells that claim at most n − k steps, or in the target. The last line is a sum over all before it.

use std::fmt::Write;

use ell0::equation::Interval;
use ell0_control::analysis::{Map, State};

use crate::{
    basin::{Basin, Cells},
    shear::Shear,
    tree::{Arrival, Cell, ROOT, Tree},
};

/// The first line.
const TITLE: &str = "ell0 certificate 1";

/// Tokens of a line, about.
const LINE: usize = 120;

/// FNV-1a, 64 bits: no defence against malice, but every change of one byte changes it.
fn sum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Numbers, each with a blank before it, that can be read back to the bit.
fn numbers<'a>(values: impl IntoIterator<Item = &'a f64>) -> String {
    values.into_iter().fold(String::new(), |mut text, value| {
        let _ = write!(text, " {value:e}");
        text
    })
}

fn ranges(sides: &[Interval]) -> String {
    let ends = sides.iter().flat_map(|s| [s.low, s.high]);
    numbers(&ends.collect::<Vec<_>>())
}

impl Basin {
    /// The proof as text. States and map are those of the question.
    pub fn certificate(&self, states: &[State], map: &Map) -> ell0_control::Result<String> {
        let mut out = String::new();
        let names = map.names();
        let quoted = |name: &str| format!("`{name}`");
        let _ = writeln!(out, "{TITLE}");
        let (low, high) = self.bounds();
        for (k, state) in states.iter().enumerate() {
            let period = state
                .period
                .map_or(String::new(), |p| format!(" period {p:e}"));
            let ends = numbers([&low[k], &high[k]]);
            let _ = writeln!(out, "state {}{ends}{period}", quoted(&state.name));
        }
        for u in map.uncertain() {
            let kind = if u.varies { "disturbance" } else { "parameter" };
            let ends = numbers([&u.range.low, &u.range.high]);
            let _ = writeln!(out, "{kind} {}{ends}", quoted(&u.name));
        }
        for (k, value) in map.assignments().iter().enumerate() {
            let range = value
                .range
                .map_or(String::new(), |r| numbers([&r.low, &r.high]));
            let _ = writeln!(
                out,
                "value {}{range} = {}",
                quoted(&value.name),
                map.law(k)?
            );
        }
        for &k in map.next_states() {
            let _ = writeln!(out, "next {}", quoted(&names[k]));
        }
        let _ = writeln!(out, "centre{}", numbers(&self.claim.centre));
        for row in self.claim.p.rows() {
            let _ = writeln!(out, "p{}", numbers(row));
        }
        let _ = writeln!(out, "level {:e}", self.claim.level);
        if self.claim.inner > 0.0 {
            let _ = writeln!(out, "inner {:e}", self.claim.inner);
        }
        if self.stay.iter().any(|s| *s != Interval::ENTIRE) {
            let _ = writeln!(out, "stay{}", ranges(&self.stay));
        }
        for region in &self.avoid {
            let _ = writeln!(out, "avoid{}", ranges(region));
        }
        match &self.cells {
            Cells::One(tree, shear) => write_cells(&mut out, tree, shear, self.odd),
            Cells::Two(tree, shear) => write_cells(&mut out, tree, shear, self.odd),
            Cells::Three(tree, shear) => write_cells(&mut out, tree, shear, self.odd),
        }
        let sum = sum(&out);
        let _ = writeln!(out, "sum {sum:016x}");
        Ok(out)
    }

    fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        fn of<const N: usize>(cell: &Cell<N>, odd: bool) -> (Vec<f64>, Vec<f64>) {
            let mut low = cell.low.to_vec();
            if odd {
                low[0] = -cell.high[0];
            }
            (low, cell.high.to_vec())
        }
        match &self.cells {
            Cells::One(tree, _) => of(tree.bounds(), self.odd),
            Cells::Two(tree, _) => of(tree.bounds(), self.odd),
            Cells::Three(tree, _) => of(tree.bounds(), self.odd),
        }
    }
}

fn write_cells<const N: usize>(out: &mut String, tree: &Tree<N>, shear: &Shear<N>, odd: bool) {
    for row in shear.entries() {
        let _ = writeln!(out, "shear{}", numbers(row));
    }
    if odd {
        let _ = writeln!(out, "odd");
    }
    let _ = writeln!(out, "cells");
    let mut used = 0;
    let mut stack = vec![ROOT];
    while let Some(at) = stack.pop() {
        let before = out.len();
        if let Some((axis, first)) = tree.division(at) {
            let _ = write!(out, "{axis}");
            stack.extend([first + 1, first]);
        } else if let Some(Arrival { after, steps }) = tree.arrival(at) {
            let _ = write!(out, "{after}/{steps}");
        } else {
            out.push('.');
        }
        used += out.len() - before + 1;
        if used > LINE {
            out.push('\n');
            used = 0;
        } else {
            out.push(' ');
        }
    }
    out.push('\n');
}
