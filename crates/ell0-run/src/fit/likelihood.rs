//! The law that the measurements themselves ask for, from those of the path.

use std::cell::Cell;

use ell0::{
    dictionary::{Line, Path},
    features::Features,
    likelihood::{
        Beginning, Candidates, LikelihoodConfig, LikelyLaw, Noise, Terms, Window, held_out_r2,
        likely_law_watched,
    },
};

use super::{
    judgement::Judgement,
    measured::{FINEST, Measured, Measuring},
    verdict::{Grown, HeldAgainst, judge},
};
use crate::error::Result;

/// Windows grow by this factor, up to so many rows: longer ones say more about weak terms.
const GROWTH: usize = 4;
const LONGEST: usize = 400;

/// Windows of so many rows, or four times the first, are long enough to say that a law is followed.
const LONG: usize = 100;

/// A law that is right leaves as much in long windows as in short ones, up to this factor and so many standard errors of a mean square; one that is wrong, or lost in chaos, leaves more.
const NO_WORSE: f64 = 1.04;
const ERRORS: f64 = 3.0;

fn usual_misfit(law: &LikelyLaw) -> f64 {
    NO_WORSE + ERRORS * (2.0 / law.freedom).sqrt()
}

/// Times that the noise is measured anew by what a law leaves.
const ROUNDS: usize = 6;

/// Equations times terms up to which all terms are candidates; beyond, only those of laws on the path.
const MOST_COLUMNS: usize = 600;

/// Sizes beyond the chosen one whose terms are candidates, too.
const BEYOND: usize = 8;

/// Sizes up to which laws of the path are tried in the place of an equation, beyond the chosen one.
const RIVALS: usize = 2;

/// A beginning with more terms than this takes long, and is not tried if there is a law already that leaves nothing but noise.
const MANY: usize = 100;

/// A law with its judgement.
pub(super) struct Found {
    pub law: LikelyLaw,
    pub judgement: Judgement,
}

/// What a search came to.
pub(super) struct Searched {
    /// None if no law can be followed.
    pub found: Option<Found>,
    /// Whether the search was ended by its bound.
    pub ended: bool,
}

/// The work of looking for a law and of following it, at most: about so many operations.
pub(super) fn most_work() -> u64 {
    2 * LikelihoodConfig::default().most_work
}

/// What a search begins with.
pub(super) struct FromPath<'a> {
    pub features: &'a Features,
    /// The best laws of each size by rates of change, and those that were chosen among them.
    pub paths: &'a [Path],
    pub chosen: &'a [Line],
    /// The terms that each equation may have.
    pub allowed: &'a [Vec<usize>],
    /// Whether terms are dropped and added, or stay as they were chosen.
    pub search: bool,
}

impl FromPath<'_> {
    fn candidates(&self) -> Candidates {
        let choices: Vec<usize> = self.allowed.iter().map(Vec::len).collect();
        let few = choices.iter().sum::<usize>() <= MOST_COLUMNS;
        let of_path = |(path, chosen): (&Path, &Line)| {
            let lines = path.lines().iter();
            let near = lines.filter(|l| l.terms <= chosen.terms + BEYOND);
            let mut terms: Vec<usize> = near.flat_map(|l| l.support.clone()).collect();
            terms.sort_unstable();
            terms.dedup();
            terms
        };
        Candidates {
            terms: match few {
                true => self.allowed.to_vec(),
                false => self.paths.iter().zip(self.chosen).map(of_path).collect(),
            },
            choices,
        }
    }

    /// Laws to start from: the one that was chosen, and the best by another measure.
    fn starts(&self) -> Vec<Vec<Terms>> {
        let best = |path: &Path| {
            let least = path.lines().iter().min_by(|a, b| a.bic.total_cmp(&b.bic));
            least.map(near).unwrap_or_default()
        };
        let mut starts: Vec<Vec<Terms>> = vec![self.chosen.iter().map(near).collect()];
        let least: Vec<Terms> = self.paths.iter().map(best).collect();
        if self.search && !starts.contains(&least) {
            starts.push(least);
        }
        starts
    }

    /// Other laws of each equation: those of the path that are not much larger than the chosen one.
    fn rivals(&self) -> Vec<Vec<Terms>> {
        let of = |(path, chosen): (&Path, &Line)| {
            let lines = path.lines().iter().rev();
            let near_it = |l: &&Line| l.terms > 0 && l.terms <= chosen.terms + RIVALS;
            lines.filter(near_it).take(2 * RIVALS).map(near).collect()
        };
        match self.search {
            true => self.paths.iter().zip(self.chosen).map(of).collect(),
            false => Vec::new(),
        }
    }
}

/// A law of the path as a place to start from.
fn near(line: &Line) -> Terms {
    let terms = line.support.iter();
    terms.map(|&j| (j, line.coefficients[j])).collect()
}

/// A search for laws that is bounded as a whole, however many questions it asks.
struct Search<'a> {
    features: &'a Features,
    candidates: Candidates,
    /// Operations that are left.
    left: Cell<u64>,
    /// Whether something was left undone for want of them.
    ended: Cell<bool>,
    /// Hears how much of the work was done, and says whether to go on.
    go_on: &'a dyn Fn(u64) -> bool,
}

impl Search<'_> {
    /// The law that a beginning leads to; none if not even that could be fitted with the work that is left.
    fn law(
        &self,
        windows: &[Window],
        beginning: &Beginning,
        config: &LikelihoodConfig,
    ) -> Result<Option<LikelyLaw>> {
        // Half of it is for looking for terms, half for following those that were found.
        let (left, half) = (self.left.get(), LikelihoodConfig::default().most_work);
        let config = match left > half {
            true => LikelihoodConfig {
                most_work: left - half,
                ..*config
            },
            false => LikelihoodConfig {
                most_work: left,
                ..config.as_it_is()
            },
        };
        let done = most_work() - left;
        let law = likely_law_watched(
            self.features,
            windows,
            &self.candidates,
            beginning,
            &config,
            &|work| (self.go_on)(done + work),
        )?;
        let rest = left.saturating_sub(law.work);
        // A search that was ended is over: what is left is for following the law that it found.
        let over = law.ended && rest > half;
        self.left.set(if over { half } else { rest });
        self.ended.set(self.ended.get() || law.ended);
        let begun = !law.ended || law.lost < windows.len();
        Ok(begun.then_some(law))
    }
}

/// A law that the noise agrees with: what it leaves is as large as the noise that was measured by it.
struct Settled {
    law: LikelyLaw,
    windows: Vec<Window>,
    measuring: Measuring,
    config: LikelihoodConfig,
}

impl Measured {
    /// The most likely law, from the laws of the paths that were chosen and from the best by other measures. `go_on` hears how much of the [work](most_work) was done, and says whether to go on.
    pub fn law(&self, beginning: &FromPath, go_on: &dyn Fn(u64) -> bool) -> Result<Searched> {
        let nothing = |ended: bool| Searched { found: None, ended };
        if !self.moves() {
            return Ok(nothing(false));
        }
        // Many laws are tried on some of the rows, and one of them on all.
        let starts = beginning.starts();
        let search = Search {
            features: beginning.features,
            candidates: beginning.candidates(),
            left: Cell::new(most_work()),
            ended: Cell::new(false),
            go_on,
        };
        let settled = match self.few() {
            Some(few) => {
                let noise = few.first_noise();
                match few.settled(&search, beginning, starts, &noise, false)? {
                    Some(first) => {
                        let (terms, noise) = (vec![first.law.terms()], &first.measuring.noise);
                        self.settled(&search, beginning, terms, noise, true)?
                    }
                    None => None,
                }
            }
            None => self.settled(&search, beginning, starts, &self.first_noise(), false)?,
        };
        let Some(settled) = settled else {
            return Ok(nothing(true));
        };
        let Settled {
            mut law,
            mut windows,
            measuring,
            config,
        } = settled;
        let mut rows = self.first;
        let mut grown = true;
        while rows < LONGEST && self.pieces.iter().any(|p| p.rows() > rows) {
            let longer_windows = self.windows(rows * GROWTH, &measuring.deviations, false)?;
            let near = self.go_on(&law, &windows, &longer_windows);
            let Some(longer) = search.law(&longer_windows, &near, &config)? else {
                grown = false;
                break;
            };
            if longer.lost > 0 || longer.misfit > usual_misfit(&longer) * law.misfit.max(1.0) {
                grown = rows >= LONG.max(GROWTH * self.first);
                break;
            }
            (law, windows) = (longer, longer_windows);
            rows *= GROWTH;
        }
        if rows == self.first {
            let near = self.go_on(&law, &windows, &windows);
            law = search.law(&windows, &near, &config)?.unwrap_or(law);
        }
        let ended = search.ended.get();
        if law.lost > 0 {
            return Ok(nothing(ended));
        }
        let (r2, parts) = self.held_out(beginning.features, &law, &windows, &measuring, &config)?;
        let grown = Grown {
            law: &law,
            windows: &windows,
            measuring: &measuring,
            grown,
            r2,
            parts,
            config,
        };
        // A law that has left the measurements altogether is none, and what it is fitted to is an accident.
        let HeldAgainst { judgement, astray } = judge(self, beginning, &grown)?;
        let found = (!astray).then_some(Found { law, judgement });
        Ok(Searched { found, ended })
    }

    /// The best of the laws that some beginnings lead to in short windows, and the noise by what it leaves; none if none could be fitted with the work that is left. Where there is but one beginning that was settled before, its terms stay.
    fn settled(
        &self,
        search: &Search,
        from: &FromPath,
        starts: Vec<Vec<Terms>>,
        noise: &[Noise],
        settled_before: bool,
    ) -> Result<Option<Settled>> {
        let usual = LikelihoodConfig::default();
        let mut config = LikelihoodConfig {
            floor: self.floor(noise, usual.floor),
            most_changes: if from.search { usual.most_changes } else { 0 },
            ..usual
        };
        let mut deviations = self.deviations(noise);
        let mut windows = self.windows(self.first, &deviations, false)?;
        let free = from.search && !settled_before;
        let trying = match free {
            false => config.as_it_is(),
            true => LikelihoodConfig {
                look_around: false,
                ..config
            },
        };
        let mut best: Option<LikelyLaw> = None;
        let size = |law: &[Terms]| law.iter().map(Vec::len).sum::<usize>();
        for start in starts {
            let explained = best.as_ref().is_some_and(|best| self.is_explained(best));
            if explained && size(&start) > MANY {
                continue;
            }
            if best.is_some() && search.ended.get() {
                break;
            }
            let start = Beginning {
                rivals: if free { from.rivals() } else { Vec::new() },
                ..Beginning::with(start)
            };
            let Some(law) = search.law(&windows, &start, &trying)? else {
                continue;
            };
            if best.as_ref().is_none_or(|best| law.score < best.score) {
                best = Some(law);
            }
        }
        let Some(mut law) = best else {
            return Ok(None);
        };
        let mut measuring = self.measured_by(&law, &windows, &deviations);
        for _ in 0..ROUNDS {
            config.floor = self.floor(&measuring.noise, usual.floor);
            deviations.clone_from(&measuring.deviations);
            let next = self.windows(self.first, &deviations, false)?;
            let near = self.go_on(&law, &windows, &next);
            let config = LikelihoodConfig {
                floor: config.floor,
                ..trying
            };
            let Some(again) = search.law(&next, &near, &config)? else {
                break;
            };
            (law, windows) = (again, next);
            let before = measuring.noise;
            measuring = self.measured_by(&law, &windows, &deviations);
            if self.same(&before, &measuring.noise) {
                break;
            }
        }
        Ok(Some(Settled {
            law,
            windows,
            measuring,
            config,
        }))
    }

    /// Whether a law leaves no more than the noise that was measured without one.
    fn is_explained(&self, law: &LikelyLaw) -> bool {
        let mut noise = self.noise.iter().zip(&self.known).zip(&self.scales);
        let known = noise.all(|((noise, known), scale)| *known || *noise <= FINEST * scale);
        known && law.lost == 0 && law.misfit <= usual_misfit(law)
    }

    /// A law as a place to start from, in other windows of the same pieces: each begins where the law is at its first row.
    fn go_on(&self, law: &LikelyLaw, windows: &[Window], next: &[Window]) -> Beginning {
        let n = self.states;
        let said = windows
            .iter()
            .zip(&law.states)
            .flat_map(|(window, states)| {
                (0..window.rows()).map(move |k| states.get(k * n..(k + 1) * n))
            });
        let said: Vec<Option<&[f64]>> = said.collect();
        let mut row = 0;
        let starts = next.iter().map(|window| {
            let first = said.get(row).copied().flatten();
            row += window.rows();
            first.map_or_else(|| window.begin(), <[f64]>::to_vec)
        });
        Beginning {
            starts: Some(starts.collect()),
            ..Beginning::with(law.terms())
        }
    }

    /// Whether two measures of the noise are alike.
    fn same(&self, before: &[Noise], now: &[Noise]) -> bool {
        let mut pairs = before.iter().zip(now).zip(&self.scales);
        pairs.all(|((a, b), scale)| {
            (0.9..1.1).contains(&(b.at(*scale) / a.at(*scale)))
                && (0.8..1.25).contains(&(b.at(0.1 * scale) / a.at(0.1 * scale)))
        })
    }

    /// R² of each state in windows that are held out, each long enough for the states to move by their own deviation, and how many windows there are.
    fn held_out(
        &self,
        features: &Features,
        law: &LikelyLaw,
        windows: &[Window],
        measuring: &Measuring,
        config: &LikelihoodConfig,
    ) -> Result<(Option<Vec<f64>>, usize)> {
        let all: usize = self.pieces.iter().map(|p| p.rows()).sum();
        let moving = (2 * self.lag).clamp(self.first, LONG);
        // Five windows at least, so that one can be held out.
        let rows = moving.min(all / 5).max(4);
        let parts = self.windows(rows, &measuring.deviations, false)?;
        let near = self.go_on(law, windows, &parts);
        Ok((held_out_r2(features, &parts, &near, config)?, parts.len()))
    }
}
