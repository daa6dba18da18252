//! Gates that close while a sparse regression is trained.

use ell0::{
    dictionary::{GatesAndWeights, SampledTrainer, Statistics, sampled_trainer},
    gates::Penalty,
    network::{GateSpec, Per},
    training::{Dataset, Schedule, TrainerConfig},
};
use ell0_plot::{Axis, Chart, Figure, Series};
use serde_json::{Value, json};

use super::{Drawn, Setting};

/// The regression: y = Σ cⱼ xⱼ + noise, of which most coefficients are zero.
const TRUTH: [f64; 6] = [1.5, -0.8, 0.0, 0.0, 0.0, 0.0];

/// Correlation of neighbours, so that a needless feature can stand in for a needed one for a while.
const CORRELATION: f64 = 0.5;
const NOISE: f64 = 0.3;
const LAMBDA: f64 = 0.03;
const RATE: f64 = 0.02;
const STEPS: u64 = 4000;

/// Draws of the gates in each step: with one, a needless gate that chance has helped takes long to close.
const SAMPLES: usize = 4;

/// Steps between two records, over which the loss is averaged.
const EVERY: u64 = 20;

/// One record of the training.
struct Record {
    step: u64,
    prob_active: Vec<f64>,
    /// Gates that are not zero at test time.
    open: usize,
    error: f64,
    penalty: f64,
}

/// Rows of features, and targets.
fn data(setting: &Setting) -> (Vec<f64>, Vec<f64>) {
    let rows = setting.many(4000, 2000);
    let stream = setting.stream("closing");
    let (mut phi, mut y) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let mut rng = stream.at(row as u64);
        let mut x = 0.0;
        let mut target = NOISE * rng.normal();
        for (j, c) in TRUTH.iter().enumerate() {
            let fresh = rng.normal();
            x = match j {
                0 => fresh,
                _ => CORRELATION * x + (1.0 - CORRELATION * CORRELATION).sqrt() * fresh,
            };
            phi.push(x);
            target += c * x;
        }
        y.push(target);
    }
    (phi, y)
}

/// The records and the coefficients at the end.
fn train(setting: &Setting) -> crate::error::Result<(Vec<Record>, Vec<f64>)> {
    let p = TRUTH.len();
    let (phi, y) = data(setting);
    let names = (1..=p).map(|j| format!("x{j}")).collect();
    let mut statistics = Statistics::new(names, vec!["y".into()])?;
    let columns: Vec<f64> = (0..p)
        .flat_map(|j| phi.iter().skip(j).step_by(p).copied())
        .collect();
    statistics.push(&columns, &y, y.len())?;
    let gates = GateSpec {
        per: Per::Weight,
        ..GateSpec::default()
    };
    let config = TrainerConfig {
        penalty: Penalty::expected_l0(LAMBDA)?,
        batch_size: 128,
        samples: SAMPLES,
        learning_rate: RATE,
        schedule: Schedule::Cosine {
            steps: STEPS,
            last: 0.1,
        },
        seed: setting.seed,
        ..TrainerConfig::default()
    };
    // The features have unit variance but for chance, so they are left as they are.
    let single = |values: &[f64]| values.iter().map(|v| *v as f32).collect::<Vec<f32>>();
    let rows = Dataset::new(&single(&phi), p, &single(&y), 1)?;
    let SampledTrainer {
        dictionary: sampled,
        mut trainer,
    } = sampled_trainer(&statistics, gates, config, rows, None)?;
    let mut records = Vec::new();
    let (mut error, mut penalty) = (0.0, 0.0);
    for step in 1..=STEPS {
        let record = trainer.step()?;
        error += record.error / EVERY as f64;
        penalty += record.penalty / EVERY as f64;
        if step % EVERY == 0 {
            let log_alphas = sampled.gates_and_weights(trainer.model())?.log_alphas;
            let gate = gates.distribution;
            records.push(Record {
                step,
                prob_active: log_alphas.iter().map(|&a| gate.prob_active(a)).collect(),
                open: log_alphas
                    .iter()
                    .filter(|&&a| gate.test_gate(a) > 0.0)
                    .count(),
                error: std::mem::take(&mut error),
                penalty: std::mem::take(&mut penalty),
            });
        }
    }
    let GatesAndWeights {
        log_alphas,
        weights,
    } = sampled.gates_and_weights(trainer.model())?;
    let gate = gates.distribution;
    let coefficients = log_alphas
        .iter()
        .zip(weights)
        .map(|(&a, w)| gate.test_gate(a) * w)
        .collect();
    Ok((records, coefficients))
}

pub fn draw(setting: &Setting) -> crate::error::Result<Drawn> {
    let (records, coefficients) = train(setting)?;
    let needed = |j: usize| TRUTH[j] != 0.0;
    let name = |j: usize| {
        format!(
            "x{} {}",
            j + 1,
            if needed(j) { "needed" } else { "needless" }
        )
    };
    let along = |value: &dyn Fn(&Record) -> f64| -> Vec<(f64, f64)> {
        records.iter().map(|r| (r.step as f64, value(r))).collect()
    };
    let steps = || Axis::linear("step");
    let gates = (0..TRUTH.len()).fold(
        Chart::new(
            "Probability that each gate is active",
            steps(),
            Axis::linear("P(z ≠ 0)").within(0.0, 1.05),
        ),
        |chart, j| chart.with(Series::line(&name(j), along(&|r| r.prob_active[j]))),
    );
    let total = |r: &Record| r.prob_active.iter().sum::<f64>();
    let open = Chart::new(
        format!(
            "Open gates; {} are needed",
            (0..TRUTH.len()).filter(|&j| needed(j)).count()
        ),
        steps(),
        Axis::linear("gates").within(0.0, TRUTH.len() as f64 + 0.3),
    )
    .with(Series::line("expected number, Σ P(z ≠ 0)", along(&total)))
    .with(Series::line("open at test time", along(&|r| r.open as f64)));
    let noise = NOISE * NOISE;
    let loss = Chart::new(
        format!("Loss, mean of {EVERY} steps"),
        steps(),
        Axis::log("loss"),
    )
    .with(Series::line(
        "squared error of the batch",
        along(&|r| r.error),
    ))
    .with(Series::line("penalty λ Σ P(z ≠ 0)", along(&|r| r.penalty)))
    .with(Series::line("variance of the noise", along(&|_| noise)));
    let (Some(first), Some(last)) = (records.first(), records.last()) else {
        return Err(crate::error::Error::Settings("the training has no steps"));
    };
    let extreme = |of: bool, pick: fn(f64, f64) -> f64, from: f64| {
        let chosen = (0..TRUTH.len()).filter(|&j| needed(j) == of);
        chosen.map(|j| last.prob_active[j]).fold(from, pick)
    };
    let count = |of: bool, open: bool| {
        let like = |j: &usize| needed(*j) == of && (coefficients[*j] != 0.0) == open;
        (0..TRUTH.len()).filter(like).count()
    };
    let says = format!(
        "After {} steps at λ = {LAMBDA}, {} of {} needless gates are closed (P(z ≠ 0) ≤ {:.3}) and {} of {} needed ones open (≥ {:.3}); the expected number of open gates went from {:.2} to {:.2}, the error from {:.2} to {:.3}, where the noise is {noise:.3}.",
        last.step,
        count(false, false),
        count(false, false) + count(false, true),
        extreme(false, f64::max, 0.0),
        count(true, true),
        count(true, false) + count(true, true),
        extreme(true, f64::min, 1.0),
        total(first),
        total(last),
        first.error,
        last.error,
    );
    let gate_numbers = (0..TRUTH.len()).map(|j| {
        json!({
            "name": format!("x{}", j + 1),
            "needed": needed(j),
            "truth": TRUTH[j],
            "coefficient": coefficients[j],
            "prob_active": last.prob_active[j],
            "open": coefficients[j] != 0.0,
        })
    });
    let numbers = json!({
        "lambda": LAMBDA,
        "noise_variance": noise,
        "steps": last.step,
        "gates": gate_numbers.collect::<Vec<Value>>(),
        "records": records.iter().map(|r| json!({
            "step": r.step,
            "prob_active": r.prob_active,
            "expected_open": total(r),
            "open": r.open,
            "error": r.error,
            "penalty": r.penalty,
        })).collect::<Vec<Value>>(),
    });
    Ok(Drawn {
        figure: Figure::new(vec![gates, open, loss])
            .with_columns(1)
            .with_size(760.0, 290.0),
        says,
        numbers,
    })
}
