//! Which rows are held out: whole trajectories, or blocks of time.

use ell0::dictionary::Statistics;

use super::Evidence;

/// Groups of rows: every group is whole in the training data or in one part of the validation data.
pub(super) const GROUPS: usize = 25;

/// Parts of the validation data: the spread of the error over them is its uncertainty.
pub(super) const PARTS: usize = 5;

/// With so many trajectories, whole ones are held out; with fewer, blocks of time.
const ENOUGH: usize = 5;

/// With so many trajectories there are enough held-out ones to be the parts of the validation data; with fewer, each is cut into blocks of time for that.
const MANY: usize = 25;

/// Blocks of time that a trajectory is kept in: as many as may be needed when evidence comes together.
pub(super) fn blocks(trajectories: usize) -> usize {
    match trajectories {
        0..ENOUGH => GROUPS,
        ENOUGH..MANY => PARTS,
        _ => 1,
    }
}

/// Where a block of time of a trajectory belongs, of so many trajectories in all: 0 is the training data, the others are parts of the validation data. Every fifth
/// trajectory is held out, or every fifth block of time where there are few.
pub(super) fn place(trajectories: usize, trajectory: usize, block: usize, blocks: usize) -> usize {
    let (unit, part) = match trajectories {
        0..ENOUGH => (block, block / 5),
        ENOUGH..MANY => (trajectory, block * PARTS / blocks),
        _ => (trajectory, trajectory / 5),
    };
    if unit % 5 == 4 { 1 + part % PARTS } else { 0 }
}

pub(super) fn group_count(trajectories: usize) -> usize {
    trajectories.clamp(1, MANY) * blocks(trajectories)
}

/// Training statistics, parts of the validation data that have rows, and for each target an error below which a model is as good as the targets themselves.
#[derive(Clone, Debug)]
pub struct Split {
    /// Statistics of the training rows.
    pub train: Statistics,
    /// Statistics of the parts of the validation rows.
    pub validation: Vec<Statistics>,
    /// Mean squared error of each target itself.
    pub floors: Vec<f64>,
}

impl Split {
    /// Statistics of all rows, those of the training and of the validation data.
    pub fn all(&self) -> ell0::Result<Statistics> {
        let mut all = self.train.clone();
        for part in &self.validation {
            all.merge(part)?;
        }
        Ok(all)
    }
}

impl Evidence {
    /// Brings evidence together and splits its rows into training and validation data, just as that of all the files at once would have been.
    pub fn split(all: &[Evidence]) -> ell0::Result<Split> {
        let Some(first) = all.first() else {
            return Err(ell0::Error::Empty { what: "statistics" });
        };
        let names = first.features()?.names().to_vec();
        let mut places = (0..=PARTS)
            .map(|_| Statistics::new(names.clone(), first.targets.clone()))
            .collect::<ell0::Result<Vec<_>>>()?;
        let trajectories: usize = all.iter().map(|e| e.survey.trajectories).sum();
        let mut earlier = 0;
        for evidence in all {
            let blocks = blocks(evidence.survey.trajectories);
            for (group, statistics) in &evidence.groups {
                let (trajectory, block) = (earlier + group / blocks, group % blocks);
                let place = place(trajectories, trajectory, block, blocks);
                places[place].merge(statistics)?;
            }
            earlier += evidence.survey.trajectories;
        }
        let of: u64 = all.iter().map(|e| e.errors_of).sum();
        // Twice the size of the error: held-out parts may have more than their share of it, and it is an estimate.
        let floor =
            |k: usize| 4.0 * all.iter().map(|e| e.errors[k]).sum::<f64>() / of.max(1) as f64;
        let mut places = places.into_iter();
        Ok(Split {
            floors: (0..first.targets.len()).map(floor).collect(),
            train: match places.next() {
                Some(train) => train,
                None => return Err(ell0::Error::Empty { what: "statistics" }),
            },
            validation: places.filter(|part| part.rows() > 0).collect(),
        })
    }
}
