//! What a save costs when a million transitions are remembered: 9 observations, 8 actions, a network of 256 × 256.
//!
//! `saving FOLDER` prints the time and the bytes of the first save, which writes everything, and of one after every further episode of a thousand steps.

use std::{error::Error, fs, path::PathBuf, time::Instant};

use ell0::rng::Generator;
use ell0_control::{
    Result,
    agent::{Saver, TrainConfig, Training},
    environment::{Environment, Space, Step},
};

const OBSERVATIONS: usize = 9;
const ACTIONS: usize = 8;
const STEPS: u32 = 1000;
const EPISODES: usize = 1000;

/// A random walk of nine numbers that eight actions push.
#[derive(Clone)]
struct Walk {
    at: [f64; OBSERVATIONS],
    seen: Space,
    chosen: Space,
}

impl Walk {
    fn new() -> Self {
        let names = |letter: char, count: usize| (0..count).map(move |k| format!("{letter}{k}"));
        let seen = names('x', OBSERVATIONS).fold(Space::default(), Space::unbounded);
        let with = |space: Space, name: String| space.with(name, -1.0, 1.0);
        Walk {
            at: [0.0; OBSERVATIONS],
            seen,
            chosen: names('u', ACTIONS).fold(Space::default(), with),
        }
    }
}

impl Environment for Walk {
    fn text(&self) -> String {
        "walk".into()
    }

    fn observation_space(&self) -> &Space {
        &self.seen
    }

    fn action_space(&self) -> &Space {
        &self.chosen
    }

    fn reset(&mut self, rng: &mut Generator) {
        self.at.iter_mut().for_each(|x| *x = rng.normal());
    }

    fn observe(&self, observation: &mut [f32]) {
        let pairs = observation.iter_mut().zip(&self.at);
        pairs.for_each(|(o, x)| *o = *x as f32);
    }

    fn step(&mut self, action: &[f64]) -> Result<Step> {
        for (x, u) in self.at.iter_mut().zip(action) {
            *x = 0.99 * *x + 0.1 * u;
        }
        Ok(Step::goes_on(-self.at[0].powi(2)))
    }

    fn copy(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    fn time_limit(&self) -> Option<u32> {
        Some(STEPS)
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("saving FOLDER")?;
    let stem = PathBuf::from(folder).join("saving");
    // Random actions and no updates: only the saving matters.
    let config = TrainConfig {
        environment: "walk".into(),
        policy: "network(256, 256)".into(),
        episodes: u64::MAX,
        random_episodes: u64::MAX,
        updates: 0,
        ..TrainConfig::default()
    };
    let mut training = Training::new(config.clone(), Box::new(Walk::new()))?;
    for _ in 0..EPISODES {
        training.episode()?;
    }
    let sizes = || -> u64 {
        let files = Saver::files(&stem);
        files
            .iter()
            .map(|f| fs::metadata(f).map_or(0, |m| m.len()))
            .sum()
    };
    let mut saver = Saver::create(&stem, &training)?;
    let begin = Instant::now();
    saver.save(&training)?;
    let (first, all) = (begin.elapsed(), sizes());
    println!(
        "first save: {:.1} ms, {:.1} MB",
        first.as_secs_f64() * 1e3,
        all as f64 / 1e6
    );
    let small: u64 = [0, 4]
        .map(|k| Saver::files(&stem)[k].clone())
        .iter()
        .map(|f| fs::metadata(f).map_or(0, |m| m.len()))
        .sum();
    let mut times = Vec::new();
    let before = sizes();
    for _ in 0..20 {
        training.episode()?;
        let begin = Instant::now();
        saver.save(&training)?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let written = small + (sizes() - before) / 20;
    times.sort_by(f64::total_cmp);
    println!(
        "one save more, median of 20: {:.1} ms, {:.2} MB",
        times[10],
        written as f64 / 1e6
    );
    let begin = Instant::now();
    let (again, _) = Training::resume(&stem, config, Box::new(Walk::new()))?;
    println!("resuming: {:.1} ms", begin.elapsed().as_secs_f64() * 1e3);
    assert_eq!(again.history(), training.history());
    for file in Saver::files(&stem) {
        let _ = fs::remove_file(file);
    }
    Ok(())
}
