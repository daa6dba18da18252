//! What terms there are, before the columns are known.

use std::collections::{HashMap, HashSet};

use super::{Factor, Features, Function, Term, published};
use crate::error::{Error, Result, require};

/// A feature library.
///
/// | text | terms |
/// | --- | --- |
/// | `polynomial(3)` | all monomials up to degree 3, with the constant |
/// | `polynomial(3, no-bias)` | without the constant |
/// | `polynomial(3, no-interactions)` | powers of single inputs only |
/// | `polynomial(3, interactions-only)` | products of different inputs only |
/// | `fourier(2)` | sin and cos of 1× and 2× each input; `no-sin`, `no-cos` leave one out |
/// | `fourier(1, interactions)` | and every product of two different ones of these |
/// | `fourier(1, published-interactions)` | the products that the published code makes by mistake: see [`published`] |
/// | `functions(exp, tanh, reciprocal)` | these of each input: exp, log, sqrt, abs, tanh, sign, sin, cos, reciprocal |
/// | `a + b` | the terms of a, then those of b |
/// | `a * b` | every product of a term of a with a term of b |
/// | `a[x, u]` | a on these inputs only |
/// | `a without {x^3, x u}` | all terms but these |
/// | `a only {x, x u}` | just these terms |
///
/// Brackets group: `(polynomial(1) + functions(tanh)) * polynomial(1)[u]`. A name with a comma, a brace or a quote in it is written in double quotes.
#[derive(Clone, Debug, PartialEq)]
pub enum Library {
    /// Monomials.
    Polynomial {
        /// Largest total degree.
        degree: u32,
        /// Whether the constant 1 is a term.
        bias: bool,
        /// Whether products of different inputs are terms.
        interactions: bool,
        /// Whether only products of different inputs, each to the first power, are terms.
        interactions_only: bool,
    },
    /// Sines and cosines.
    Fourier {
        /// Frequencies 1, …, this.
        frequencies: u32,
        /// Whether sines are terms.
        sin: bool,
        /// Whether cosines are terms.
        cos: bool,
        /// Which products of two base terms are terms.
        pairs: Pairs,
    },
    /// Chosen functions of each input, and the reciprocal if wanted.
    Functions {
        /// The functions, in order; `None` is the reciprocal.
        functions: Vec<Option<Function>>,
    },
    /// The terms of one after those of the other.
    Sum(Vec<Library>),
    /// Every product of terms.
    Product(Vec<Library>),
    /// On some inputs only.
    On(Box<Library>, Vec<String>),
    /// Just these terms.
    Only(Box<Library>, Vec<String>),
    /// All but these terms.
    Without(Box<Library>, Vec<String>),
}

/// More terms than this are a mistake: the statistics hold the square of their number.
const MAX_TERMS: usize = 10_000;

/// Which products of two base terms a Fourier library holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// None.
    None,
    /// Of every two different ones.
    Every,
    /// Those of the published code: see [`published`].
    Published,
}

impl Library {
    /// Monomials up to a degree, with the constant and all products.
    pub fn polynomial(degree: u32) -> Self {
        Library::Polynomial {
            degree,
            bias: true,
            interactions: true,
            interactions_only: false,
        }
    }

    /// Sines and cosines of frequencies 1 to `frequencies`, without products.
    pub fn fourier(frequencies: u32) -> Self {
        Library::Fourier {
            frequencies,
            sin: true,
            cos: true,
            pairs: Pairs::None,
        }
    }

    /// The terms of several libraries together, those of the first first; what occurs in several stands once.
    ///
    /// ```
    /// use ell0::features::Library;
    /// let parts: [Library; 2] = ["polynomial(2)".parse()?, "fourier(1) + polynomial(2)".parse()?];
    /// assert_eq!(Library::union(&parts).to_string(), "polynomial(2) + fourier(1)");
    /// # Ok::<(), ell0::Error>(())
    /// ```
    #[must_use]
    pub fn union<'l>(libraries: impl IntoIterator<Item = &'l Library>) -> Library {
        let mut parts: Vec<Library> = Vec::new();
        for library in libraries {
            let own = match library {
                Library::Sum(own) => own,
                one => std::slice::from_ref(one),
            };
            for part in own {
                if !parts.contains(part) {
                    parts.push(part.clone());
                }
            }
        }
        match parts.len() {
            1 => parts.remove(0),
            _ => Library::Sum(parts),
        }
    }

    /// The terms for the given columns. Terms that occur twice are kept once; [`Features::repeated`] names them.
    pub fn features<S: AsRef<str>>(&self, inputs: &[S]) -> Result<Features> {
        let inputs: Vec<String> = inputs.iter().map(|s| s.as_ref().to_string()).collect();
        require(
            !inputs.is_empty(),
            "inputs",
            "none",
            "a library needs at least one input column",
        )?;
        let mut seen = HashSet::new();
        if let Some(twice) = inputs.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(Error::parameter(
                "inputs",
                twice,
                "each column must have its own name",
            ));
        }
        let every: Vec<usize> = (0..inputs.len()).collect();
        let terms = self.terms(&inputs, &every)?;
        let (mut kept, mut repeated, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for term in terms {
            if seen.insert(term.canonical()) {
                kept.push(term);
            } else {
                repeated.push(term);
            }
        }
        require(
            !kept.is_empty(),
            "library",
            self,
            "it has no terms for these columns",
        )?;
        Features::new(inputs, kept, repeated)
    }

    /// Where the terms of this library stand among those of a larger one, such as [`Library::union`], for the same columns.
    pub fn places(&self, among: &Features) -> Result<Vec<usize>> {
        let all = among.terms().iter().map(Term::canonical);
        let all: HashMap<Term, usize> = all.zip(0..).collect();
        let own = self.features(among.inputs())?;
        let places = own.terms().iter().map(|t| all.get(&t.canonical()).copied());
        let places: Option<Vec<usize>> = places.collect();
        let mut places = places.ok_or_else(|| {
            Error::parameter("library", self, "it has terms that the larger one lacks")
        })?;
        places.sort_unstable();
        Ok(places)
    }

    fn terms(&self, names: &[String], inputs: &[usize]) -> Result<Vec<Term>> {
        let terms = match self {
            Library::Polynomial {
                degree,
                bias,
                interactions,
                interactions_only,
            } => polynomial(inputs, *degree, *bias, *interactions, *interactions_only)?,
            Library::Fourier {
                frequencies,
                sin,
                cos,
                pairs,
            } => fourier(inputs, *frequencies, *sin, *cos, *pairs)?,
            Library::Functions { functions } => functions
                .iter()
                .flat_map(|function| inputs.iter().map(move |&input| (function, input)))
                .map(|(function, input)| {
                    Term::of(match *function {
                        None => Factor::Power {
                            input,
                            exponent: -1,
                        },
                        Some(function) => Factor::Call {
                            function,
                            frequency: 1,
                            input,
                        },
                    })
                })
                .collect(),
            Library::Sum(parts) => {
                let mut terms = Vec::new();
                for part in parts {
                    terms.extend(part.terms(names, inputs)?);
                    check_count(Some(terms.len()))?;
                }
                terms
            }
            Library::Product(parts) => {
                let mut terms = vec![Term::one()];
                for part in parts {
                    let right = part.terms(names, inputs)?;
                    check_count(terms.len().checked_mul(right.len()))?;
                    terms = terms
                        .iter()
                        .flat_map(|a| right.iter().map(move |b| a.product(b)))
                        .collect();
                }
                terms
            }
            Library::On(library, columns) => {
                let place = |column: &String| {
                    let found = inputs.iter().copied().find(|&i| &names[i] == column);
                    found.ok_or_else(|| unknown("input", column, names))
                };
                library.terms(
                    names,
                    &columns.iter().map(place).collect::<Result<Vec<_>>>()?,
                )?
            }
            Library::Only(library, wanted) | Library::Without(library, wanted) => {
                let terms = library.terms(names, inputs)?;
                let printed: Vec<String> = terms.iter().map(|term| term.name(names)).collect();
                if let Some(missing) = wanted.iter().find(|name| !printed.contains(name)) {
                    return Err(unknown("term", missing, &printed));
                }
                let keep = matches!(self, Library::Only(..));
                let kept = terms.into_iter().zip(&printed);
                kept.filter(|(_, name)| wanted.contains(name) == keep)
                    .map(|(term, _)| term)
                    .collect()
            }
        };
        check_count(Some(terms.len()))?;
        Ok(terms)
    }
}

fn unknown(kind: &'static str, name: &str, known: &[String]) -> Error {
    let nearest = known.iter().min_by_key(|k| strsim::levenshtein(k, name));
    Error::parameter(
        kind,
        format!("`{name}`"),
        match nearest {
            Some(nearest) => format!("there is no such {kind}; the nearest is `{nearest}`"),
            None => format!("there is no such {kind}"),
        },
    )
}

fn check_count(count: Option<usize>) -> Result<()> {
    match count {
        Some(count) if count <= MAX_TERMS => Ok(()),
        _ => Err(Error::parameter(
            "library",
            "too large",
            "at most 10,000 terms; lower the degree or restrict the inputs",
        )),
    }
}

/// Number of monomials of at most this degree: (n + d choose d), or none if it is beyond all bounds.
fn monomials(n: usize, degree: u32) -> Option<usize> {
    (1..=degree as usize).try_fold(1usize, |count, k| Some(count.checked_mul(n + k)? / k))
}

fn polynomial(
    inputs: &[usize],
    degree: u32,
    bias: bool,
    interactions: bool,
    only: bool,
) -> Result<Vec<Term>> {
    require(degree <= 100, "degree", degree, "at most 100")?;
    require(
        interactions || !only,
        "polynomial",
        "no-interactions, interactions-only",
        "each leaves out the other's terms, powers of single inputs and products of different ones: take one of them",
    )?;
    if interactions && !only {
        check_count(monomials(inputs.len(), degree))?;
    }
    let mut terms = Vec::new();
    if bias {
        terms.push(Term::one());
    }
    for d in 1..=degree {
        if !interactions && !only {
            let power = |&input: &usize| {
                Term::of(Factor::Power {
                    input,
                    exponent: d as i32,
                })
            };
            terms.extend(inputs.iter().map(power));
            continue;
        }
        // Non-decreasing (or increasing) sequences of d inputs in lexicographic order, as scikit-learn makes them.
        let strict = usize::from(only);
        let mut sequence: Vec<usize> = (0..d as usize).map(|k| k * strict).collect();
        if sequence.last().is_some_and(|&last| last >= inputs.len()) {
            break;
        }
        loop {
            let factor = |&k: &usize| Factor::Power {
                input: inputs[k],
                exponent: 1,
            };
            terms.push(sequence.iter().map(factor).fold(Term::one(), Term::times));
            check_count(Some(terms.len()))?;
            let length = sequence.len();
            let limit = |place: usize| inputs.len() - 1 - (length - 1 - place) * strict;
            let Some(place) = (0..length)
                .rev()
                .find(|&place| sequence[place] < limit(place))
            else {
                break;
            };
            let next = sequence[place] + 1;
            for (offset, value) in sequence[place..].iter_mut().enumerate() {
                *value = next + offset * strict;
            }
        }
    }
    Ok(terms)
}

fn fourier(
    inputs: &[usize],
    frequencies: u32,
    sin: bool,
    cos: bool,
    pairs: Pairs,
) -> Result<Vec<Term>> {
    require(
        (1..=1000).contains(&frequencies),
        "frequencies",
        frequencies,
        "from 1 to 1000",
    )?;
    require(
        sin || cos,
        "fourier",
        "no-sin, no-cos",
        "sines or cosines must be left",
    )?;
    let mut terms = Vec::new();
    for frequency in 1..=frequencies {
        for &input in inputs {
            for (wanted, function) in [(sin, Function::Sin), (cos, Function::Cos)] {
                if wanted {
                    terms.push(Term::of(Factor::Call {
                        function,
                        frequency,
                        input,
                    }));
                }
            }
        }
    }
    let base = terms.clone();
    let n = base.len();
    if pairs != Pairs::None {
        check_count(n.checked_mul(n).map(|n| n / 2))?;
    }
    for (i, a) in base.iter().enumerate() {
        let others = match pairs {
            Pairs::None => &[],
            Pairs::Every => &base[i + 1..],
            Pairs::Published => published::partners(&base, i),
        };
        terms.extend(others.iter().map(|b| a.product(b)));
    }
    Ok(terms)
}
