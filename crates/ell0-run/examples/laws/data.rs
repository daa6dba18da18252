//! Measurements of a system: its run, noise on it, and both as tables.

use std::path::Path;

use ell0::{
    equation::{
        Model,
        integrate::{Adaptive, Control, DormandPrince, Stopped},
    },
    rng::Stream,
};
use ell0_data::frame::Frame;

use crate::{
    Failure,
    study::{Case, Noise},
};

/// States, row after row.
pub type Run = Vec<Vec<f64>>;

/// How exactly true laws are followed.
pub const TRUTH: Control = Control {
    tolerance: 1e-10,
    largest: 1e12,
    most_steps: 100_000,
};

/// How exactly laws that were found are followed. One that takes so many steps from one row to the next is not worth the time.
pub const FOUND: Control = Control {
    tolerance: 1e-8,
    largest: 1e9,
    most_steps: 20_000,
};

/// What a method sees of a system, and what it does not.
pub struct Measured {
    pub frames: Vec<Frame>,
    pub time: Vec<f64>,
    /// The first run without noise, in the system's own units.
    pub clean: Run,
    /// The run from the second initial state.
    pub second: Run,
}

/// Follows a law whose inputs are its states.
pub fn simulate(
    model: &Model,
    control: Control,
    initial: &[f64],
    time: &[f64],
) -> Result<Run, Stopped> {
    let mut law = |x: &[f64], _: f64, rates: &mut [f64]| {
        for (rate, expression) in rates.iter_mut().zip(model.expressions()) {
            *rate = expression.evaluate_row(x);
        }
    };
    let mut integrator = Adaptive::with_control(DormandPrince::new(initial.len()), control);
    let mut x = initial.to_vec();
    let mut run = vec![x.clone()];
    for pair in time.windows(2) {
        integrator.advance(&mut law, &mut x, pair[0], pair[1])?;
        run.push(x.clone());
    }
    Ok(run)
}

/// The measurements of a case.
pub fn measure(case: &Case) -> Result<Measured, Failure> {
    let system = case.system;
    let model = system.model()?;
    let time: Vec<f64> = (0..case.rows).map(|k| k as f64 * case.step).collect();
    let follow = |initial: &Vec<f64>| {
        simulate(&model, TRUTH, initial, &time)
            .map_err(|e| format!("the true law of {} from {initial:?}: {e}", system.name))
    };
    let runs = case
        .starts
        .iter()
        .map(follow)
        .collect::<Result<Vec<_>, _>>()?;
    let second = follow(&system.second)?;
    let deviations: Vec<f64> = (0..system.states.len())
        .map(|k| deviation(runs.iter().flatten().map(|x| x[k])))
        .collect();
    let frames = runs.iter().enumerate().map(|(number, run)| {
        let mut columns = vec![("t".to_string(), time.clone())];
        for (k, name) in system.states.iter().enumerate() {
            let mut rng = case.stream.at((number * system.states.len() + k) as u64);
            let noisy = run.iter().map(|x| {
                let drawn = rng.normal();
                let measured = match case.noise {
                    Noise::OfDeviation(level) => x[k] + level * deviations[k] * drawn,
                    Noise::OfValue(level) => x[k] * (1.0 + level * drawn),
                };
                measured * case.units[k]
            });
            columns.push((name.clone(), noisy.collect()));
        }
        Frame::new(columns)
    });
    Ok(Measured {
        frames: frames.collect(),
        clean: runs[0].clone(),
        time,
        second,
    })
}

/// Standard deviation.
fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (values.map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// Where the noise of a seed comes from. In the study `nine` it is the same for all systems, as it always was.
pub fn noise_of(seed: u64, system: Option<&str>) -> Stream {
    let noise = Stream::new(seed).split("noise");
    system.map_or(noise.clone(), |name| noise.split(name))
}

/// Writes columns as CSV, with all digits.
pub fn write_frame(file: &Path, frame: &Frame) -> Result<(), Failure> {
    let columns = frame.columns();
    let rows = columns.first().map_or(0, Vec::len);
    let mut text = frame.names().join(",") + "\n";
    for row in 0..rows {
        let cells = columns.iter().map(|column| column[row].to_string());
        text += &cells.collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    write(file, &text)
}

/// A run as a table, in the units of the measurements.
pub fn frame_of(case: &Case, time: &[f64], run: &Run) -> Frame {
    let states = case.system.states.iter().zip(&case.units).enumerate();
    let column = |k: usize, unit: f64| run.iter().map(|x| x[k] * unit).collect();
    let columns = states.map(|(k, (name, unit))| (name.clone(), column(k, *unit)));
    Frame::new(
        [("t".to_string(), time.to_vec())]
            .into_iter()
            .chain(columns),
    )
}

pub fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text).map_err(|e| format!("cannot write {}: {e}", file.display()).into())
}
