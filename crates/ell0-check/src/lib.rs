//! A checker of certificates: whoever doubts the prover can read this instead.
//!
//! It shares no code with the prover but [expressions and intervals](ell0::equation). A certificate claims that a closed loop x⁺ = F(x), from every state of some cells, arrives in a set {dᵀPd ≤ c} within the steps that the cell names, keeps within limits on the way, and does not leave the set again. What is checked:
//!
//! 1. *The file* (`certificate`): its sum, that everything fits together, that the box is as wide as a period where a state has one.
//! 2. *The target* (`target`): dᵀPd falls at every step in the set, so that it is not left; and it is within the limits.
//! 3. *Symmetry* (`odd`): if only half of the box is written down, F(−x) = −F(x).
//! 4. *Angles* (`round`): where a state has a period, F(x + p) = F(x) but for whole turns.
//! 5. *Every cell* (`image`, `place`): all its images after k steps, enclosed by a zonotope (`form`), are in cells that claim at most n − k steps, or in the target. n > n − k, so nothing leans on itself, and by induction over n all of them arrive.

mod cells;
mod certificate;
mod dual;
mod form;
mod image;
mod limits;
mod odd;
mod place;
mod round;
mod target;

pub use certificate::Flaw;

use certificate::Certificate;

/// What was verified.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// Names of the states.
    pub states: Vec<String>,
    /// The share of the box.
    pub share: f64,
    /// Steps until the target, at most.
    pub steps: u32,
    /// Cells that were verified.
    pub cells: usize,
    /// Distance from the centre within which dᵀPd need not fall: 0 if the centre is an equilibrium exactly.
    pub inner_radius: f64,
    /// Cells of which this could not be verified: none, if the certificate holds.
    rejected: Vec<usize>,
}

/// Checks the text of a certificate.
pub fn check(text: &str) -> Result<Verified, Flaw> {
    match try_cells(text)? {
        (verified, None) => Ok(verified),
        (_, Some(flaw)) => Err(flaw),
    }
}

/// The numbers of all cells that are rejected, in the order of the file. Without them, others may be.
pub fn rejected(text: &str) -> Result<Vec<usize>, Flaw> {
    Ok(try_cells(text)?.0.rejected)
}

/// What is verified, and the first flaw among the cells.
fn try_cells(text: &str) -> Result<(Verified, Option<Flaw>), Flaw> {
    let certificate = Certificate::read(text)?;
    match certificate.states.len() {
        1 => check_in::<1>(&certificate),
        2 => check_in::<2>(&certificate),
        3 => check_in::<3>(&certificate),
        _ => Err(Flaw::Head("one to three states are needed")),
    }
}

fn check_in<const N: usize>(certificate: &Certificate) -> Result<(Verified, Option<Flaw>), Flaw> {
    let set = target::Target::<N>::new(certificate)?;
    if certificate.odd && !odd::is_odd(certificate) {
        return Err(Flaw::NotOdd);
    }
    if let Some(state) = round::not_round(certificate) {
        let state = certificate.states[state].name.clone();
        return Err(Flaw::NotRound { state });
    }
    let limits = limits::Limits::new(certificate);
    if !limits.allow(&set.hull) {
        return Err(Flaw::TargetForbidden);
    }
    let inner_radius = set.falls(certificate)?;
    let cells = cells::check(certificate, &set, &limits);
    let verified = Verified {
        states: certificate.states.iter().map(|s| s.name.clone()).collect(),
        share: cells.share,
        steps: cells.steps,
        cells: cells.proved,
        inner_radius,
        rejected: cells.flaws.iter().map(|f| f.0).collect(),
    };
    Ok((verified, cells.flaws.into_iter().next().map(|f| f.1)))
}
