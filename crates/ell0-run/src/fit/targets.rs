//! The law of every target: each on its own, several side by side.

use std::sync::atomic::{AtomicUsize, Ordering};

use ell0::{
    dictionary::{Line, Path, Rule},
    equation::DictionaryTarget,
    wording::shown,
};
use rayon::prelude::*;

use super::{FitSettings, Material, material::Supports};
use crate::{
    error::{About, Error, Result},
    observer::Task,
};

/// What was found for one target.
pub(super) struct Chosen {
    /// The best law of every size.
    pub path: Path,
    /// The one that was chosen.
    pub line: Line,
    /// Its coefficients from all rows, and the probabilities of all terms.
    pub law: DictionaryTarget,
    /// Why there are no probabilities.
    pub no_probabilities: Option<String>,
}

/// Chooses the terms of all targets. `too_few_rows` says it of a target, in place of the method's own words. The first target in order that fails is what went wrong, whichever was
/// first to be done.
pub(super) fn choose_all(
    settings: &FitSettings,
    material: &Material,
    rules: &[Rule],
    supports: Option<&Supports>,
    with_probabilities: bool,
    too_few_rows: impl Fn(usize) -> Error + Sync,
    solving: &Task,
) -> Result<Vec<Chosen>> {
    let failed = AtomicUsize::new(usize::MAX);
    let choose = |(index, rule): (usize, &Rule)| {
        // Nobody will ask for what comes after a failure; what comes before it might fail, too.
        if failed.load(Ordering::Relaxed) < index {
            return None;
        }
        let chosen = choose(settings, material, (index, *rule), supports, solving);
        let chosen = chosen.map(|chosen| match with_probabilities {
            true => chosen.with_probabilities(settings, material, index),
            false => chosen,
        });
        // Where all rows are learned from, the error itself says what would be enough.
        let held_out = !matches!(rule, Rule::Bic | Rule::Only);
        let chosen = chosen.map_err(|error| match error {
            Error::Method(ell0::Error::Parameter { name: "rows", .. }) if held_out => {
                too_few_rows(index)
            }
            error => error,
        });
        match &chosen {
            Ok(_) => solving.advance(1),
            Err(_) => drop(failed.fetch_min(index, Ordering::Relaxed)),
        }
        Some(chosen)
    };
    let all: Vec<Option<Result<Chosen>>> = rules.par_iter().enumerate().map(choose).collect();
    let all = all.into_iter().flatten().collect::<Result<Vec<Chosen>>>()?;
    solving.go_on()?;
    Ok(all)
}

fn choose(
    settings: &FitSettings,
    material: &Material,
    (index, rule): (usize, Rule),
    supports: Option<&Supports>,
    solving: &Task,
) -> Result<Chosen> {
    solving.go_on()?;
    let target = &material.all.targets()[index];
    let about = || format!("no law for `{}`", shown(target));
    let path = match material.path(index, settings, rule, supports, &|| solving.still()) {
        Err(error @ Error::Method(ell0::Error::Parameter { name: "rows", .. })) => {
            return Err(error);
        }
        path => path.about(about)?,
    };
    // A path that was stopped may not have what is asked of it.
    solving.go_on()?;
    let line = path.choose(rule).about(about)?.clone();
    let law = DictionaryTarget {
        target: target.clone(),
        coefficients: material.coefficients(index, &line.support)?,
        probabilities: None,
        errors: None,
    };
    Ok(Chosen {
        path,
        line,
        law,
        no_probabilities: None,
    })
}

impl Chosen {
    /// The same, with the probability of each term; or why there are none: the law stands without them.
    fn with_probabilities(
        mut self,
        settings: &FitSettings,
        material: &Material,
        target: usize,
    ) -> Self {
        match material.probabilities(settings, target) {
            Ok(probabilities) => self.law.probabilities = Some(probabilities),
            Err(error) => self.no_probabilities = Some(error.to_string()),
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use ell0_data::frame::Frame;

    use crate::{DataSettings, Error, Event, FitSettings};

    /// Whoever asks to stop while terms are being chosen is obeyed, before the equation is done.
    #[test]
    fn a_choice_of_terms_can_be_stopped() {
        let t: Vec<f64> = (0..400).map(|k| 0.01 * f64::from(k)).collect();
        let x = t.iter().map(|t| 0.5 + 2.5 * (-2.0 * t).exp()).collect();
        let table = Frame::new([("t", t), ("x", x)]);
        let settings = FitSettings {
            data: DataSettings {
                states: vec!["x".into()],
                ..DataSettings::default()
            },
            ..FitSettings::default()
        };
        let stop = |event: Event| match event {
            Event::Reached { task, step, .. } if task.starts_with("choosing") => {
                assert_eq!(step, 0);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        };
        let stopped = settings.run_on(&[table], &stop);
        assert!(matches!(stopped, Err(Error::Stopped { .. })));
    }
}
