//! The error of a network on a whole dataset.

use rayon::prelude::*;

use super::Dataset;
use crate::{
    error::Result,
    features::LiftSpace,
    network::{Architecture, Draw, Loss, Pass},
};

/// Rows that are worked on together. The sum over a dataset is the sum over its blocks in order, whoever computed them.
const BLOCK: usize = 256;

/// The error loss over all rows with the gates of test time, on the threads of the current rayon pool.
pub fn evaluate(
    architecture: &Architecture,
    parameters: &[f32],
    data: &Dataset,
    loss: Loss,
) -> Result<f64> {
    data.check(architecture.inputs(), architecture.outputs(), loss)?;
    evaluate_checked(architecture, parameters, data, loss, true)
}

/// The same for data that have been checked; without the pool if `parallel` is false.
pub(super) fn evaluate_checked(
    architecture: &Architecture,
    parameters: &[f32],
    data: &Dataset,
    loss: Loss,
    parallel: bool,
) -> Result<f64> {
    let capacity = BLOCK.min(data.rows());
    let workspace = || {
        let (x, y) = (
            vec![0.0; capacity * data.inputs()],
            vec![0.0; capacity * data.targets()],
        );
        (
            Pass::new(architecture, capacity),
            x,
            y,
            data.gather_space(capacity),
        )
    };
    let block = |(pass, x, y, space): &mut (Pass, Vec<f32>, Vec<f32>, Option<LiftSpace>),
                 index: usize| {
        let start = index * BLOCK;
        let n = BLOCK.min(data.rows() - start);
        let (x, y) = (&mut x[..n * data.inputs()], &mut y[..n * data.targets()]);
        data.gather(start..start + n, x, y, space.as_mut())?;
        pass.forward(parameters, x, Draw::TestTime)?;
        pass.loss(loss, y, data.rows())
    };
    let blocks = data.rows().div_ceil(BLOCK);
    let parts: Result<Vec<f64>> = if parallel {
        (0..blocks)
            .into_par_iter()
            .map_init(workspace, block)
            .collect()
    } else {
        let mut workspace = workspace();
        (0..blocks)
            .map(|index| block(&mut workspace, index))
            .collect()
    };
    Ok(parts?.iter().sum())
}
