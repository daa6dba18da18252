//! Laws as they were chosen on the path, and as the measurements have them.

use ell0::{
    dictionary::{Line, Path, Relation},
    equation::DictionaryTarget,
};
use ell0_data::evidence::Evidence;

use super::{
    FitSettings, Judgement, Material, PathLine,
    likelihood::{FromPath, Searched},
    measured::Measured,
    plain,
    shared::Writing,
};
use crate::error::Result;

/// The laws of all targets.
pub(super) struct Laws {
    pub laws: Vec<DictionaryTarget>,
    /// What the measurements say of them, if they were asked.
    pub judgement: Option<Judgement>,
    /// Covariance of the coefficients that are not 0, law after law; none if it is not known.
    pub covariance: Option<Vec<f64>>,
    /// Whether a search was ended by its bound.
    pub ended: bool,
}

impl Laws {
    /// Chooses by the likelihood of the measurements, beginning with the laws of the path.
    pub fn judge(
        &mut self,
        settings: &FitSettings,
        evidence: &[Evidence],
        material: &Material,
        paths: &[Path],
        chosen: &[Line],
        go_on: &dyn Fn(u64) -> bool,
    ) -> Result<()> {
        // A number or a price of terms decides on the terms; the measurements have the coefficients.
        let search = settings.is_free();
        if plain::is_for(&evidence[0]) {
            let judged = plain::judge(self, evidence, material, paths, search)?;
            self.judgement = Some(judged);
            return Ok(());
        }
        self.judgement = Some(Judgement::no_law(self.laws.len()));
        let Some(measured) = Measured::of(evidence) else {
            return Ok(());
        };
        let from_path = FromPath {
            features: &material.features,
            paths,
            chosen,
            allowed: &material.allowed,
            search,
        };
        let Searched { found, ended } = measured.law(&from_path, go_on)?;
        self.ended |= ended;
        let Some(found) = found else {
            if ended {
                self.judgement = Some(Judgement::unjudged(self.laws.len()));
            }
            return Ok(());
        };
        for (law, equation) in self.laws.iter_mut().zip(&found.law.equations) {
            law.coefficients.fill(0.0);
            let mut errors = vec![0.0; law.coefficients.len()];
            let terms = equation.support.iter().zip(&equation.coefficients);
            for ((j, c), error) in terms.zip(&equation.errors) {
                law.coefficients[*j] = *c;
                errors[*j] = *error;
            }
            law.errors = Some(errors);
            let known = !equation.probabilities.is_empty();
            law.probabilities = known.then(|| equation.probabilities.clone());
        }
        self.judgement = Some(found.judgement);
        self.covariance = Some(found.law.covariance).filter(|c| !c.is_empty());
        Ok(())
    }

    /// Lets laws share their probabilities with others that are the same on these data, because columns are combinations of others.
    pub fn share(&mut self, relations: &[Relation], material: &Material) {
        let Some(judgement) = &mut self.judgement else {
            return;
        };
        let equations = self.laws.iter_mut().zip(&mut judgement.equations);
        for ((law, judged), allowed) in equations.zip(&material.allowed) {
            let writing = Writing {
                names: material.features.names(),
                all: &material.all,
                allowed,
                rows: material.all.effective_rows(),
            };
            for relation in relations.iter().filter(|r| r.exact) {
                writing.share(law, judged, relation);
            }
        }
    }

    /// Marks the law on the path of each target that has as many terms as the one that was chosen.
    pub fn mark(&self, path: &mut [PathLine]) {
        for law in &self.laws {
            let size = law.coefficients.iter().filter(|c| **c != 0.0).count();
            let own = path.iter_mut().filter(|l| l.target == law.target);
            own.for_each(|line| line.chosen = line.terms == size);
        }
    }
}
