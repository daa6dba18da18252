//! The shards of a training step, which can run side by side.

use super::{Dataset, TrainerConfig};
use crate::{
    error::Result,
    features::LiftSpace,
    network::{Architecture, Draw, Noise, Pass},
    rng::Stream,
};

/// Rows of a shard. How a batch is divided depends on its size alone, never on the number of threads: that keeps the bits the same.
pub(super) const SHARD_ROWS: usize = 256;

/// A shard of a step: some rows of the batch under one draw of the gates, with its own workspace.
#[derive(Debug)]
pub(super) struct Shard {
    sample: u64,
    index: u64,
    first_row: usize,
    rows: usize,
    pass: Pass,
    x: Vec<f32>,
    y: Vec<f32>,
    space: Option<LiftSpace>,
    /// What is added to the inputs; empty where nothing is.
    input_noise: Vec<f32>,
    shared_noise: Vec<f32>,
    row_noise: Vec<f32>,
    pub gradient: Vec<f32>,
    pub error: f64,
}

/// The random streams of a run. What a step draws depends on the seed and the number of the step alone, so a resumed run draws the same.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    batches: Stream,
    shared: Stream,
    rows: Stream,
    inputs: Stream,
}

impl Streams {
    pub fn new(seed: u64) -> Self {
        let root = Stream::new(seed);
        Streams {
            batches: root.split("batches"),
            shared: root.split("gate noise"),
            rows: root.split("row gate noise"),
            inputs: root.split("input noise"),
        }
    }

    /// The rows of a step's batch.
    pub fn draw_batch(&self, step: u64, rows: usize, indices: &mut [usize]) {
        self.batches.at(step).fill_indices(rows, indices);
    }
}

impl Shard {
    /// All shards of a step: for each sample of the gates, as many of nearly equal size as the batch needs.
    pub fn all(architecture: &Architecture, config: &TrainerConfig, data: &Dataset) -> Vec<Shard> {
        let shards = config.batch_size.div_ceil(SHARD_ROWS);
        let bound = |shard: usize| shard * config.batch_size / shards;
        let make = |sample: usize, shard: usize| {
            let (first_row, rows) = (bound(shard), bound(shard + 1) - bound(shard));
            Shard {
                sample: sample as u64,
                index: shard as u64,
                first_row,
                rows,
                pass: Pass::new(architecture, rows),
                x: vec![0.0; rows * data.inputs()],
                y: vec![0.0; rows * data.targets()],
                space: data.gather_space(rows),
                input_noise: match config.input_noise {
                    0.0 => Vec::new(),
                    _ => vec![0.0; rows * data.inputs()],
                },
                shared_noise: vec![0.0; architecture.shared_noise_len()],
                row_noise: vec![0.0; architecture.row_noise_len(rows)],
                gradient: vec![0.0; architecture.parameter_len()],
                error: 0.0,
            }
        };
        (0..config.samples)
            .flat_map(|sample| (0..shards).map(move |shard| make(sample, shard)))
            .collect()
    }

    /// Gathers the rows, draws the gates, and computes this shard's share of the error and its gradient.
    pub fn run(
        &mut self,
        parameters: &[f32],
        data: &Dataset,
        indices: &[usize],
        config: &TrainerConfig,
        streams: &Streams,
        step: u64,
    ) -> Result<()> {
        let rows = &indices[self.first_row..][..self.rows];
        data.gather(
            rows.iter().copied(),
            &mut self.x,
            &mut self.y,
            self.space.as_mut(),
        )?;
        let samples = config.samples;
        let draw = step * samples as u64 + self.sample;
        // What only one of the shards draws.
        let shards = indices.len().div_ceil(SHARD_ROWS) as u64;
        let own = draw * shards + self.index;
        if !self.input_noise.is_empty() {
            streams.inputs.at(own).fill_uniform(&mut self.input_noise);
            // Uniform in ±√3·deviation.
            let width = (12f64.sqrt() * config.input_noise) as f32;
            for (x, u) in self.x.iter_mut().zip(&self.input_noise) {
                *x += width * (u - 0.5);
            }
        }
        // Shards of one sample share its gates; rows have their own.
        if !self.shared_noise.is_empty() {
            streams.shared.at(draw).fill_uniform(&mut self.shared_noise);
        }
        if !self.row_noise.is_empty() {
            streams.rows.at(own).fill_uniform(&mut self.row_noise);
        }
        let noise = Noise {
            shared: &self.shared_noise,
            rows: &self.row_noise,
        };
        self.pass
            .forward(parameters, &self.x, Draw::Sampled(noise))?;
        self.error = self
            .pass
            .loss(config.loss, &self.y, indices.len() * samples)?;
        self.pass.backward(parameters, &mut self.gradient, None)
    }
}
