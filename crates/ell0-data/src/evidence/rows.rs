//! Stretches of trajectories as rows of features and targets, group by group.

use ell0::{dictionary::Statistics, features::Features};

use super::{
    Question,
    split::{GROUPS, blocks, place},
};
use crate::{
    error::Result,
    runs::Runs,
    series::{Equations, Recipe, Stretch, for_each_stretch},
    survey::Survey,
};

/// The rows of one group from one stretch.
pub(super) struct GroupRows {
    pub group: usize,
    pub statistics: Statistics,
    pub errors: Vec<f64>,
    pub errors_of: u64,
}

/// The group that a row belongs to.
fn group_of(survey: &Survey, trajectory: usize, row: usize) -> usize {
    let blocks = blocks(survey.trajectories);
    if blocks == 1 {
        return trajectory % GROUPS;
    }
    let length = survey.lengths.get(trajectory).copied().unwrap_or(1).max(1);
    trajectory * blocks + (row * blocks / length).min(blocks - 1)
}

/// Calls `each` with the rows of a stretch, group by group.
fn by_group(
    recipe: &Recipe,
    features: &Features,
    survey: &Survey,
    stretch: &Stretch,
    mut each: impl FnMut(usize, Equations) -> Result<()>,
) -> Result<()> {
    let mut rows = stretch.rows();
    while !rows.is_empty() {
        let group = group_of(survey, stretch.trajectory, rows.start);
        let end = rows
            .clone()
            .find(|&row| group_of(survey, stretch.trajectory, row) != group)
            .unwrap_or(rows.end);
        let evaluate = |x: &[f64], _| features.evaluate(x);
        let equations = recipe.equations(stretch, &(rows.start..end), &survey.noise, evaluate)?;
        each(group, equations)?;
        rows.start = end;
    }
    Ok(())
}

/// The statistics of a stretch, group by group.
pub(super) fn work(
    recipe: &Recipe,
    features: &Features,
    survey: &Survey,
    empty: &Statistics,
    stretch: &Stretch,
) -> Result<Vec<GroupRows>> {
    let mut done = Vec::new();
    by_group(recipe, features, survey, stretch, |group, equations| {
        let mut statistics = empty.clone();
        statistics.push(&equations.phi, &equations.y, equations.rows)?;
        done.push(GroupRows {
            group,
            statistics,
            errors: equations.errors,
            errors_of: equations.errors_of,
        });
        Ok(())
    })?;
    Ok(done)
}

/// Rows of the training data themselves, for a method that statistics are not enough for: at most about `most` of them, evenly spread.
pub fn training_rows(
    mut runs: Runs,
    question: &Question,
    survey: &Survey,
    most: u64,
) -> Result<TrainingRows> {
    let (features, recipe) = (question.features()?, question.recipe());
    let stride = survey.rows.div_ceil(most.max(1)).max(1) as usize;
    let mut all = TrainingRows::default();
    for_each_stretch(
        &mut runs,
        &recipe,
        |_| (),
        |stretch| {
            let mut kept = Vec::new();
            by_group(&recipe, &features, survey, stretch, |group, equations| {
                let blocks = blocks(survey.trajectories);
                let (trajectory, block) = (group / blocks, group % blocks);
                if place(survey.trajectories, trajectory, block, blocks) == 0 {
                    kept.push(equations);
                }
                Ok(())
            })?;
            Ok(kept)
        },
        |kept| {
            for e in kept {
                for row in (0..e.rows).step_by(stride) {
                    let phi = (0..features.len()).map(|j| e.phi[j * e.rows + row]);
                    all.features.extend(phi);
                    let y = (0..recipe.targets).map(|k| e.y[k * e.rows + row]);
                    all.targets.extend(y);
                }
            }
            Ok(())
        },
    )?;
    Ok(all)
}

/// Rows of features and of targets, row after row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingRows {
    /// Features of each row.
    pub features: Vec<f64>,
    /// Targets of each row.
    pub targets: Vec<f64>,
}
