//! Runs without what is no measurement.

use std::{ops::Range, sync::Arc};

use crate::{blemishes::Blemishes, runs::Run};

/// Puts what their neighbours say in the place of values far off, and leaves out rows in which a state stands still, or that are astray.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mending {
    blemishes: Arc<Blemishes>,
    /// Rows that are left out: ranges that do not touch, in order.
    out: Vec<Range<u64>>,
    /// A trajectory has begun of which nothing was handed on yet.
    begun: bool,
}

impl Mending {
    pub fn new(blemishes: Arc<Blemishes>) -> Self {
        let mut out: Vec<Range<u64>> = Vec::new();
        let still = blemishes.still.iter().map(|s| s.row..s.row + s.rows);
        let astray = blemishes.astray.iter().map(|s| s.row..s.row + 1);
        for rows in still.chain(astray) {
            match out.last_mut() {
                Some(last) if last.end >= rows.start => last.end = last.end.max(rows.end),
                _ => out.push(rows),
            }
        }
        Mending {
            blemishes,
            out,
            begun: false,
        }
    }

    /// The parts of a run that stay.
    pub fn mend(&mut self, mut run: Run) -> Vec<Run> {
        if self.blemishes.is_empty() {
            return vec![run];
        }
        let own = run.row..run.row + run.columns[0].len() as u64;
        let spikes = &self.blemishes.spikes;
        let from = spikes.partition_point(|s| s.row < own.start);
        for spike in spikes[from..].iter().take_while(|s| s.row < own.end) {
            run.columns[1 + spike.state][(spike.row - own.start) as usize] = spike.expected;
        }
        self.begun |= run.begins;
        let first = self.out.partition_point(|out| out.end < own.start);
        let out = self.out[first..].iter();
        let mut from = own.start;
        let mut stays = Vec::new();
        for out in out.take_while(|out| out.start < own.end) {
            stays.push(from..out.start.max(from));
            from = out.end.max(from);
        }
        stays.push(from..own.end.max(from));
        let mut parts = Vec::new();
        for rows in stays.into_iter().filter(|rows| !rows.is_empty()) {
            let within = (rows.start - own.start) as usize..(rows.end - own.start) as usize;
            let begins = std::mem::take(&mut self.begun);
            // Rows that stand by themselves have no gaps between them.
            let joined = !self.blemishes.still.is_empty();
            let left_out = joined && self.out.iter().any(|out| out.end == rows.start);
            let gap = left_out || run.gap && rows.start == own.start;
            let columns = run.columns.iter().map(|c| c[within.clone()].to_vec());
            parts.push(Run {
                columns: columns.collect(),
                row: rows.start,
                spot: run.spot.clone(),
                places: run.places[within].to_vec(),
                begins,
                gap: gap && !begins,
            });
        }
        parts
    }

    /// Values of a run that were put in the place of others: places in row after row.
    pub fn replaced(&self, run: &Run) -> Vec<usize> {
        let (rows, width) = (run.columns[0].len() as u64, run.columns.len() - 1);
        let spikes = &self.blemishes.spikes;
        let from = spikes.partition_point(|s| s.row < run.row);
        let own = spikes[from..].iter().take_while(|s| s.row < run.row + rows);
        own.map(|s| (s.row - run.row) as usize * width + s.state)
            .collect()
    }
}
