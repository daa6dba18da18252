//! Evidence of many parts as that of few, so that it stays small however many there are.

use super::{
    Evidence,
    split::{GROUPS, blocks},
};
use crate::{repeats::Repeats, survey::Survey, windows::Piece};

/// With so many trajectories the groups of rows are those of trajectories modulo 25.
const MANY: usize = GROUPS;

/// Rows of samples that are kept: twice as many as are drawn from one part.
const SAMPLED: usize = 8000;

impl Evidence {
    /// Evidence that was gathered apart, in as few parts as can be: what was gathered in the same way is one part as soon as it has 25 trajectories. It is split into training and validation data just as before, and the sums are the same up
    /// to rounding.
    pub fn folded(all: Vec<Evidence>) -> ell0::Result<Vec<Evidence>> {
        let trajectories: usize = all.iter().map(|e| e.survey.trajectories).sum();
        let alike = |a: &Evidence, b: &Evidence| {
            a.derivative == b.derivative
                && a.library == b.library
                && a.libraries == b.libraries
                && a.inputs == b.inputs
                && a.targets == b.targets
                && a.dynamics == b.dynamics
        };
        let same = all.windows(2).all(|pair| alike(&pair[0], &pair[1]));
        if all.len() < 2 || trajectories < MANY || !same {
            return Ok(all);
        }
        let mut parts = all.into_iter();
        let Some(first) = parts.next() else {
            return Ok(Vec::new());
        };
        let mut sum = Evidence {
            groups: Vec::new(),
            samples: Vec::new(),
            ..first.clone()
        };
        let (mut groups, mut earlier, mut rows) = (vec![None; GROUPS], 0, 0);
        // With samples only if every part has some: else a law would be judged by a part of the data.
        let (mut samples, mut sampled) = (Vec::new(), true);
        for (k, part) in [first].into_iter().chain(parts).enumerate() {
            let each = blocks(part.survey.trajectories);
            for (group, statistics) in part.groups {
                let slot: &mut Option<ell0::dictionary::Statistics> =
                    &mut groups[(earlier + group / each) % GROUPS];
                match slot {
                    Some(sum) => sum.merge(&statistics)?,
                    none => *none = Some(statistics),
                }
            }
            sampled &= !part.samples.is_empty();
            let moved = part.samples.into_iter().map(|piece| Piece {
                first: piece.first + rows,
                ..piece
            });
            samples.extend(moved);
            earlier += part.survey.trajectories;
            rows += part.survey.rows;
            if k > 0 {
                sum.gaps += part.gaps;
                sum.short += part.short;
                sum.errors_of += part.errors_of;
                let errors = sum.errors.iter_mut().zip(&part.errors);
                errors.for_each(|(e, more)| *e += more);
                sum.survey = sum.survey.and(part.survey);
            }
        }
        let groups = groups.into_iter().enumerate();
        sum.groups = groups.filter_map(|(k, s)| Some((k, s?))).collect();
        sum.samples = if sampled {
            thinned(samples)
        } else {
            Vec::new()
        };
        Ok(vec![sum])
    }
}

/// Every second piece, and again, until there are few enough.
fn thinned(mut pieces: Vec<Piece>) -> Vec<Piece> {
    while pieces.iter().map(Piece::rows).sum::<usize>() > SAMPLED && pieces.len() > 1 {
        let halved = pieces.into_iter().step_by(2);
        pieces = halved.collect();
    }
    pieces
}

impl Survey {
    /// That of both together.
    pub(super) fn and(mut self, other: Survey) -> Survey {
        self.rows += other.rows;
        self.trajectories += other.trajectories;
        self.lengths.extend(other.lengths);
        self.lengths.truncate(MANY);
        self.shortest = self.shortest.min(other.shortest);
        self.dropped += other.dropped;
        let noise = self.noise.iter_mut().zip(&other.noise);
        noise.for_each(|(n, more)| *n = n.max(*more));
        self.relative_noise = self.relative_noise.max(other.relative_noise);
        self.coarse |= other.coarse;
        self.lag = self.lag.min(other.lag);
        let constant = self.constant.iter_mut().zip(&other.constant);
        constant.for_each(|(c, more)| *c = c.filter(|c| Some(*c) == *more));
        self.blemishes = self.blemishes.and(other.blemishes).told();
        self.repeats = Repeats::merged(self.repeats, other.repeats);
        self
    }
}
