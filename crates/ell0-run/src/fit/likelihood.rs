//! The law that the measurements themselves ask for, from those of the path.

use ell0::{
    dictionary::{Line, Path},
    features::Features,
    likelihood::{LikelihoodConfig, LikelyLaw, Window, likely_law},
};
use ell0_data::{
    noise::deviation,
    windows::{Piece, Sample, sample},
};

use crate::{
    data::Prepared,
    error::Result,
    observer::{Observer, Task},
};

/// Rows of a window: few at first, so that a law that is only near can be followed; then more, which say more about weak terms.
const ROWS: [usize; 3] = [25, 100, 400];

/// Rows of all windows together.
const MOST: usize = 4000;

/// A law that is right leaves as much in long windows as in short ones, up to this factor; one that is wrong, or chaotic, leaves more.
const NO_WORSE: f64 = 1.15;

/// Times that the noise is measured anew by what a law leaves.
const ROUNDS: usize = 3;

/// No measurement is more exact than this share of its state's deviation: digits are cut off somewhere.
const FINEST: f64 = 1e-8;

/// Pieces of the measurements.
pub(super) struct Measured {
    pieces: Vec<Piece>,
    states: usize,
    /// Deviations of the noise on the states, as the survey has it.
    noise: Vec<f64>,
}

impl Measured {
    pub fn new(prepared: &Prepared, observer: &dyn Observer) -> Result<Self> {
        let reading = Task::begin(
            observer,
            "drawing windows, rows:",
            Some(prepared.survey.rows),
        );
        let wanted = Sample {
            rows: ROWS[2],
            most: MOST,
        };
        let inputs = prepared.question.inputs.len();
        let pieces = sample(
            prepared.runs()?,
            prepared.survey.rows,
            inputs,
            wanted,
            |rows| reading.advance(rows),
        )?;
        reading.end()?;
        Ok(Measured {
            pieces,
            states: prepared.question.targets.len(),
            noise: prepared.survey.noise.clone(),
        })
    }

    /// Windows of at most so many rows, with these deviations.
    fn windows(&self, rows: usize, deviations: &[f64]) -> Result<Vec<Window>> {
        let mut windows = Vec::new();
        for piece in &self.pieces {
            let width = piece.inputs.len() / piece.rows();
            let (mut states, mut controls) = (Vec::new(), Vec::new());
            for row in piece.inputs.chunks_exact(width) {
                states.extend_from_slice(&row[..self.states]);
                controls.extend_from_slice(&row[self.states..]);
            }
            let deviations = deviations.repeat(piece.rows());
            let whole = Window::new(piece.time.clone(), states, controls, &deviations)?;
            windows.extend(whole.parts(rows));
        }
        Ok(windows)
    }

    fn scales(&self) -> Vec<f64> {
        let column = |k: usize| -> Vec<f64> {
            let rows = self.pieces.iter().flat_map(|piece| {
                let width = piece.inputs.len() / piece.rows();
                piece.inputs.chunks_exact(width)
            });
            rows.map(|row| row[k]).collect()
        };
        (0..self.states).map(|k| deviation(&column(k))).collect()
    }

    /// The most likely law, from the laws of the paths that were chosen and from the best by other measures; none if no law can be followed.
    pub fn law(
        &self,
        features: &Features,
        paths: &[Path],
        chosen: &[Line],
    ) -> Result<Option<LikelyLaw>> {
        let near = |line: &Line| -> Vec<(usize, f64)> {
            let coefficients = line.support.iter().map(|&j| (j, line.coefficients[j]));
            coefficients.collect()
        };
        let mut starts: Vec<Vec<Vec<(usize, f64)>>> = vec![chosen.iter().map(near).collect()];
        let by_bic = paths.iter().map(|path| {
            let least = path.lines().iter().min_by(|a, b| a.bic.total_cmp(&b.bic));
            least.map(near).unwrap_or_default()
        });
        starts.push(by_bic.collect());
        starts.dedup();
        let scales = self.scales();
        let mut deviations: Vec<f64> = self
            .noise
            .iter()
            .zip(&scales)
            .map(|(noise, scale)| noise.max(FINEST * scale))
            .collect();
        let config = LikelihoodConfig::default();
        let mut best: Option<LikelyLaw> = None;
        let windows = self.windows(ROWS[0], &deviations)?;
        for start in &starts {
            let law = likely_law(features, &windows, start, &config)?;
            if best.as_ref().is_none_or(|b| law.score < b.score) {
                best = Some(law);
            }
        }
        let Some(mut law) = best else { return Ok(None) };
        for _ in 0..ROUNDS {
            let same = law.deviations.iter().all(|d| (0.8..1.25).contains(d));
            if same {
                break;
            }
            for ((deviation, more), scale) in
                deviations.iter_mut().zip(&law.deviations).zip(&scales)
            {
                *deviation = (*deviation * more).max(FINEST * scale);
            }
            let windows = self.windows(ROWS[0], &deviations)?;
            law = likely_law(features, &windows, &terms(&law), &config)?;
        }
        for rows in &ROWS[1..] {
            let windows = self.windows(*rows, &deviations)?;
            let longer = likely_law(features, &windows, &terms(&law), &config)?;
            if longer.lost > 0 || longer.misfit > NO_WORSE * law.misfit {
                break;
            }
            law = longer;
        }
        Ok((law.lost == 0).then_some(law))
    }
}

/// A law as a place to start from.
fn terms(law: &LikelyLaw) -> Vec<Vec<(usize, f64)>> {
    let equations = law.equations.iter();
    equations
        .map(|e| {
            let terms = e.support.iter().copied();
            terms.zip(e.coefficients.iter().copied()).collect()
        })
        .collect()
}
