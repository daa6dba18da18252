//! Features of scaled inputs as what a network sees.

use super::{Features, Workspace};
use crate::{
    error::{Result, require, require_len},
    simd,
};

/// Features in place of inputs, with either of them brought to scale: computed in double precision, seen by a network in single precision.
///
/// ```
/// use ell0::features::{Library, Lift};
/// let features = "polynomial(2, no-bias)".parse::<Library>()?.features(&["x"])?;
/// let lift = Lift::of_scaled_inputs(features, &[2.0])?;
/// // Two rows: x/2 and (x/2)².
/// let mut seen = [0.0; 4];
/// lift.apply(&[1.0, 4.0], &mut seen, &mut lift.workspace(2))?;
/// assert_eq!(seen, [0.5, 2.0, 0.25, 4.0]);
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lift {
    features: Features,
    scaled: Scaled,
    factors: Vec<f64>,
}

/// What is divided by its scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scaled {
    Inputs,
    Features,
}

/// Room for lifting blocks of at most so many rows. Made once by [`Lift::workspace`].
#[derive(Clone, Debug)]
pub struct LiftSpace {
    rows: usize,
    inputs: Vec<f64>,
    features: Vec<f64>,
    workspace: Workspace,
    needed: Vec<bool>,
}

/// Rows that are lifted at a time where only some features are wanted: few enough for all of them to stay near.
const BLOCK: usize = 128;

impl Lift {
    /// Features of inputs that are divided by their scales first.
    pub fn of_scaled_inputs(features: Features, scales: &[f64]) -> Result<Self> {
        let size = features.inputs().len();
        require_len("scales of the inputs", scales.len(), size)?;
        let factors = factors("scale of an input", scales, features.inputs())?;
        Ok(Lift {
            features,
            scaled: Scaled::Inputs,
            factors,
        })
    }

    /// Features of the inputs as they are, each divided by its scale.
    pub fn to_scaled_features(features: Features, scales: &[f64]) -> Result<Self> {
        let size = features.len();
        require_len("scales of the features", scales.len(), size)?;
        let factors = factors("scale of a feature", scales, features.names())?;
        Ok(Lift {
            features,
            scaled: Scaled::Features,
            factors,
        })
    }

    /// The features.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Room for blocks of at most `rows` rows.
    #[must_use]
    pub fn workspace(&self, rows: usize) -> LiftSpace {
        LiftSpace {
            rows,
            inputs: vec![0.0; rows * self.features.inputs().len()],
            features: vec![0.0; rows * self.features.len()],
            workspace: self.features.workspace(rows),
            needed: Vec::new(),
        }
    }

    /// The same of some of the features only, whose columns stand one after the other: what they do not need is not computed.
    pub fn apply_some(
        &self,
        wanted: &[usize],
        inputs: &[f32],
        out: &mut [f32],
        space: &mut LiftSpace,
    ) -> Result<()> {
        let width = self.features.inputs().len();
        let rows = inputs.len() / width;
        require_len("input values of the features", inputs.len(), rows * width)?;
        require_len("room for the features", out.len(), rows * wanted.len())?;
        if let Some(&beyond) = wanted.iter().find(|k| **k >= self.features.len()) {
            require(false, "feature", beyond, "it must be one of the features")?;
        }
        if rows > space.rows {
            require_len("rows of the workspace", space.rows, rows)?;
        }
        self.features.needed(wanted, &mut space.needed);
        let needed = &space.needed;
        for first in (0..rows).step_by(BLOCK) {
            let block = BLOCK.min(rows - first);
            let scaled = &mut space.inputs[..block * width];
            for (k, column) in scaled.chunks_exact_mut(block).enumerate() {
                let factor = match self.scaled {
                    Scaled::Inputs => self.factors[k],
                    Scaled::Features => 1.0,
                };
                let from = &inputs[k * rows + first..][..block];
                for (x, from) in column.iter_mut().zip(from) {
                    *x = factor * f64::from(*from);
                }
            }
            let features = &mut space.features[..block * self.features.len()];
            self.features
                .run(scaled, block, features, &mut space.workspace, |k| needed[k]);
            simd::vectorised(
                #[inline(always)]
                || {
                    for (column, &k) in wanted.iter().enumerate() {
                        let factor = match self.scaled {
                            Scaled::Inputs => 1.0,
                            Scaled::Features => self.factors[k],
                        };
                        let out = &mut out[column * rows + first..][..block];
                        let from = &features[k * block..][..block];
                        for (o, f) in out.iter_mut().zip(from) {
                            *o = (f * factor) as f32;
                        }
                    }
                },
            );
        }
        Ok(())
    }

    /// What a network sees of some rows; columns of inputs and of features stand one after the other. Allocates nothing.
    pub fn apply(&self, inputs: &[f32], out: &mut [f32], space: &mut LiftSpace) -> Result<()> {
        let width = self.features.inputs().len();
        let rows = inputs.len() / width;
        require_len("input values of the features", inputs.len(), rows * width)?;
        require_len(
            "room for the features",
            out.len(),
            rows * self.features.len(),
        )?;
        for (room, x) in space.inputs(rows, width)?.iter_mut().zip(inputs) {
            *room = f64::from(*x);
        }
        self.evaluate(rows, space)?;
        self.round(rows, out, space);
        Ok(())
    }

    /// The features of the rows that are in the workspace already, in double precision and before their own scale.
    pub(crate) fn evaluate<'s>(&self, rows: usize, space: &'s mut LiftSpace) -> Result<&'s [f64]> {
        let (width, size) = (self.features.inputs().len(), self.features.len());
        let inputs = &mut space.inputs[..rows * width];
        if self.scaled == Scaled::Inputs && rows > 0 {
            for (column, &factor) in inputs.chunks_exact_mut(rows).zip(&self.factors) {
                column.iter_mut().for_each(|x| *x *= factor);
            }
        }
        let features = &mut space.features[..rows * size];
        self.features
            .evaluate_into(inputs, rows, features, &mut space.workspace)?;
        Ok(features)
    }

    /// A feature as a network sees it.
    pub(crate) fn seen(&self, feature: usize, value: f64) -> f32 {
        match self.scaled {
            Scaled::Inputs => value as f32,
            Scaled::Features => (value * self.factors[feature]) as f32,
        }
    }

    /// The features that were evaluated last, as a network sees them.
    pub(crate) fn round(&self, rows: usize, out: &mut [f32], space: &LiftSpace) {
        if rows == 0 {
            return;
        }
        let columns = out
            .chunks_exact_mut(rows)
            .zip(space.features.chunks_exact(rows))
            .take(self.features.len());
        match self.scaled {
            Scaled::Inputs => {
                for (out, features) in columns {
                    out.iter_mut()
                        .zip(features)
                        .for_each(|(o, f)| *o = *f as f32);
                }
            }
            Scaled::Features => simd::vectorised(
                #[inline(always)]
                || {
                    for ((out, features), &factor) in columns.zip(&self.factors) {
                        out.iter_mut()
                            .zip(features)
                            .for_each(|(o, &f)| *o = (f * factor) as f32);
                    }
                },
            ),
        }
    }
}

impl LiftSpace {
    /// Room for the inputs of some rows, to be filled before [`Lift::evaluate`].
    pub(crate) fn inputs(&mut self, rows: usize, width: usize) -> Result<&mut [f64]> {
        if rows > self.rows {
            require_len("rows of the workspace", self.rows, rows)?;
        }
        Ok(&mut self.inputs[..rows * width])
    }
}

fn factors(what: &'static str, scales: &[f64], names: &[String]) -> Result<Vec<f64>> {
    for (&scale, name) in scales.iter().zip(names) {
        let ok = scale > 0.0 && scale.is_finite();
        require(
            ok,
            what,
            format!("{scale} (of {name})"),
            "it must be positive and finite",
        )?;
    }
    Ok(scales.iter().map(|s| 1.0 / s).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{features::Library, rng::Stream};

    fn features() -> Features {
        let library: Library = "polynomial(3) + fourier(1)".parse().unwrap();
        library.features(&["a", "b"]).unwrap()
    }

    /// Each value is what a pocket calculator gives: scale, term, round.
    #[test]
    fn inputs_or_features_are_scaled() {
        let (rows, scales) = (37, [2.0, 0.3]);
        let mut rng = Stream::new(0).at(0);
        let x: Vec<f32> = (0..2 * rows).map(|_| rng.normal() as f32).collect();
        let p = features().len();
        let sizes: Vec<f64> = (0..p).map(|k| 0.1 + k as f64).collect();
        let by_inputs = Lift::of_scaled_inputs(features(), &scales).unwrap();
        let by_features = Lift::to_scaled_features(features(), &sizes).unwrap();
        let mut space = by_inputs.workspace(rows + 3);
        for lift in [by_inputs, by_features] {
            let mut seen = vec![0.0; rows * p];
            lift.apply(&x, &mut seen, &mut space).unwrap();
            for row in 0..rows {
                let at = |k: usize| f64::from(x[k * rows + row]);
                for (k, term) in features().terms().iter().enumerate() {
                    let want = match lift.scaled {
                        Scaled::Inputs => term.apply(&[at(0) / scales[0], at(1) / scales[1]]),
                        Scaled::Features => term.apply(&[at(0), at(1)]) / sizes[k],
                    };
                    let got = f64::from(seen[k * rows + row]);
                    assert!(
                        (got - want).abs() < 1e-6 * (1.0 + want.abs()),
                        "{got} {want}"
                    );
                }
            }
        }
    }

    /// Some of the features are the same bits as all of them, whatever stands between.
    #[test]
    fn some_features_are_those_of_all() {
        let rows = 3 * BLOCK + 17;
        let mut rng = Stream::new(4).at(0);
        let x: Vec<f32> = (0..2 * rows).map(|_| rng.normal() as f32).collect();
        let p = features().len();
        let sizes: Vec<f64> = (0..p).map(|k| 0.1 + k as f64).collect();
        for lift in [
            Lift::of_scaled_inputs(features(), &[2.0, 0.3]).unwrap(),
            Lift::to_scaled_features(features(), &sizes).unwrap(),
        ] {
            let mut space = lift.workspace(rows);
            let mut all = vec![0.0; rows * p];
            lift.apply(&x, &mut all, &mut space).unwrap();
            let sets: [&[usize]; 4] = [&[], &[9], &[0, 3, 8, 13], &[1, 2, 3, 4, 5, 6, 7]];
            for wanted in sets {
                let mut some = vec![0.0; rows * wanted.len()];
                lift.apply_some(wanted, &x, &mut some, &mut space).unwrap();
                for (column, &k) in some.chunks_exact(rows).zip(wanted) {
                    assert_eq!(column, &all[k * rows..][..rows]);
                }
            }
            let mut out = vec![0.0; rows];
            assert!(lift.apply_some(&[p], &x, &mut out, &mut space).is_err());
            assert!(lift.apply_some(&[0, 1], &x, &mut out, &mut space).is_err());
        }
    }

    #[test]
    fn bad_sizes_and_scales_are_named() {
        let message = |lift: Result<Lift>| lift.unwrap_err().to_string();
        assert!(message(Lift::of_scaled_inputs(features(), &[1.0])).contains("got 1, expected 2"));
        assert!(
            message(Lift::of_scaled_inputs(features(), &[1.0, 0.0]))
                .contains("scale of an input = 0 (of b)")
        );
        assert!(message(Lift::to_scaled_features(features(), &[1.0; 3])).contains("expected 14"));
        let lift = Lift::of_scaled_inputs(features(), &[1.0, 1.0]).unwrap();
        let mut out = vec![0.0; 2 * lift.features().len()];
        let mut space = lift.workspace(1);
        assert!(lift.apply(&[0.0; 4], &mut out, &mut space).is_err());
        assert!(lift.apply(&[0.0; 3], &mut out, &mut space).is_err());
        assert!(lift.apply(&[0.0; 2], &mut out, &mut space).is_err());
        lift.apply(&[0.0; 2], &mut out[..14], &mut space).unwrap();
    }
}
