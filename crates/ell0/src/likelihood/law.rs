//! What is asked of the measurements, and what they answer.

use crate::features::Features;

/// How a law is chosen.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `tolerance` | 0.01 | error of the integration between two rows, in deviations of the measurements |
/// | `floor` | 0.01 | a law that is nearer to the measurements than so many deviations is near enough: no term is added to come nearer |
/// | `most_changes` | 60 | terms that are dropped, added or put in another's place, at most; with 0 the terms stay and only their coefficients are found |
/// | `look_around` | yes | whether laws one change away are looked at in the end, for probabilities and alternatives |
/// | `most_work` | 1.5·10¹⁰ | about so many operations, after which no further change is tried, and no fit goes on: where a library does not have the law, terms could be added for a long time, and what a law of many states and terms takes grows with the cube of their number |
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct LikelihoodConfig {
    pub tolerance: f64,
    pub floor: f64,
    pub most_changes: usize,
    pub look_around: bool,
    pub most_work: u64,
}

impl LikelihoodConfig {
    /// The same, but terms stay as they are and nothing is looked at beside them.
    #[must_use]
    pub fn as_it_is(self) -> Self {
        LikelihoodConfig {
            most_changes: 0,
            look_around: false,
            ..self
        }
    }
}

impl Default for LikelihoodConfig {
    fn default() -> Self {
        LikelihoodConfig {
            tolerance: 0.01,
            floor: 0.01,
            most_changes: 60,
            look_around: true,
            most_work: 15_000_000_000,
        }
    }
}

/// Among which terms the law of each equation is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// For each equation, terms of the library by their index, in order.
    pub terms: Vec<Vec<usize>>,
    /// For each equation, how many terms there were to choose from before some were set aside: what is picked out of many must be worth more.
    pub choices: Vec<usize>,
}

impl Candidates {
    /// All terms of the library, for so many equations.
    #[must_use]
    pub fn every(features: &Features, equations: usize) -> Self {
        Candidates {
            terms: vec![(0..features.len()).collect(); equations],
            choices: vec![features.len(); equations],
        }
    }
}

/// Terms of one equation, by their index in the library, with coefficients.
pub type Terms = Vec<(usize, f64)>;

/// Where a search begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beginning {
    /// A law that is near: the terms of each equation.
    pub law: Vec<Terms>,
    /// States that windows may begin with; those that were measured, if there are none.
    pub starts: Option<Vec<Vec<f64>>>,
    /// For each equation, other laws of it that may be better; there may be none of any.
    pub rivals: Vec<Vec<Terms>>,
}

impl Beginning {
    /// A law, and nothing else.
    #[must_use]
    pub fn with(law: Vec<Terms>) -> Self {
        Beginning {
            law,
            ..Beginning::default()
        }
    }
}

/// One equation of a law.
#[derive(Clone, Debug, PartialEq)]
pub struct LikelyEquation {
    /// Its terms, by their index in the library, in order.
    pub support: Vec<usize>,
    /// Their coefficients.
    pub coefficients: Vec<f64>,
    /// The standard errors of these.
    pub errors: Vec<f64>,
    /// The probability of each term of the library among laws that are at most one change away: a term dropped, added, or put in another's place. 0 for those that were no candidates. Empty if the measurements do not tell.
    pub probabilities: Vec<f64>,
    /// What would do almost as well, the likeliest first.
    pub alternatives: Vec<Alternative>,
}

/// Another law of an equation, one change away.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The term that goes, if one does.
    pub dropped: Option<usize>,
    /// The term that comes, if one does.
    pub added: Option<usize>,
    /// How likely this law is beside the one that was chosen: at most about 1.
    pub odds: f64,
}

/// A law with its likelihood.
#[derive(Clone, Debug, PartialEq)]
pub struct LikelyLaw {
    /// For each state.
    pub equations: Vec<LikelyEquation>,
    /// Mean squared residual in deviations of the measurements: about 1 if the law is right and the deviations are.
    pub misfit: f64,
    /// Measurements less starts.
    pub freedom: f64,
    /// The evidence, dof·ln(misfit) + terms·ln(measurements) + 2·ln(choices of so many terms): the less, the better.
    pub score: f64,
    /// Windows that the law cannot be followed through.
    pub lost: usize,
    /// The law's own states in each window, row after row, from the most likely start; empty for windows that are lost.
    pub states: Vec<Vec<f64>>,
    /// The most likely start of each window.
    pub starts: Vec<Vec<f64>>,
    /// Covariance of all coefficients, equation after equation; empty if the measurements say nothing of some.
    pub covariance: Vec<f64>,
    /// The work that it took, about as many operations.
    pub work: u64,
    /// Whether the search ended before it was done because more would have been too much work: the law is the best so far. If even the first could not be fitted, all windows are lost.
    pub ended: bool,
}

impl LikelyLaw {
    /// The terms and coefficients of each equation, as a place to start from.
    #[must_use]
    pub fn terms(&self) -> Vec<Terms> {
        let equations = self.equations.iter();
        equations
            .map(|e| {
                let terms = e.support.iter().copied();
                terms.zip(e.coefficients.iter().copied()).collect()
            })
            .collect()
    }
}
