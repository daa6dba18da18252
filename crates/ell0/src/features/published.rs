//! What exists only to reproduce the published code of Botteghi and Fasel (2024): its products of Fourier terms. It counts the second index of a pair from 1 instead of from after the first, so that
//! there are squares and repetitions, and some products are missing. Everything else of the kind is in the module `published` of `ell0-control`.

use super::{Library, Pairs, Term};

/// The terms that the published code multiplies the i-th with.
pub(super) fn partners(base: &[Term], i: usize) -> &[Term] {
    base.get(1..base.len() - i).unwrap_or_default()
}

impl Library {
    /// The same with the published products in every Fourier part that has products.
    #[must_use]
    pub fn published(self) -> Self {
        let all = |parts: Vec<Library>| parts.into_iter().map(|p| p.published()).collect();
        let inside = |part: Box<Library>| Box::new(part.published());
        match self {
            Library::Fourier {
                frequencies,
                sin,
                cos,
                pairs: Pairs::Every,
            } => Library::Fourier {
                frequencies,
                sin,
                cos,
                pairs: Pairs::Published,
            },
            Library::Sum(parts) => Library::Sum(all(parts)),
            Library::Product(parts) => Library::Product(all(parts)),
            Library::On(part, names) => Library::On(inside(part), names),
            Library::Only(part, names) => Library::Only(inside(part), names),
            Library::Without(part, names) => Library::Without(inside(part), names),
            other => other,
        }
    }
}
