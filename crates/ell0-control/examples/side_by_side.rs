//! The part of `benchmarks/run` that ell0 plays.
//!
//! `side_by_side DATA` reads lines from the standard input, each the name of a piece of work and a budget in milliseconds, does the work again and again for so long, and answers each line with a line of
//! JSON: seconds for one unit of the work (many samples), the number of parameters, and some numbers that tell whether the work was the same as that of others. DATA is a folder with the rows of the
//! fits, written by `benchmarks/side_by_side.py`.

use std::{
    collections::HashMap,
    error::Error,
    fs,
    hint::black_box,
    io::{BufRead, Write, stdin, stdout},
    path::Path as Folder,
    time::{Duration, Instant},
};

use ell0::{
    dictionary::{Accumulator, Line, Method, Path, PathConfig, Rule, Statistics, sampled_trainer},
    equation::{DictionaryTarget, Dynamics, Model},
    features::{Features, Library},
    gates::Penalty,
    network::{Activation, GateSpec, Init, Loss, Mlp, MlpConfig, Per},
    rng::Stream,
    training::{Dataset, Trainer, TrainerConfig},
};
use ell0_control::{
    agent::{Actor, Algorithm, Td3, Td3Config},
    environment::{Environment, Pendulum, PendulumConfig, TimeLimit, make},
    replay::{Batch, Replay, Transition},
};
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Rows of the table that training draws its batches from.
const ROWS: usize = 200_000;
const BATCH: usize = 256;
/// Steps of an episode of the pendulum.
const EPISODE: usize = 200;
const STATES: [&str; 3] = ["x", "y", "z"];

/// Something to do again and again. What a call returns is shown to the other side.
struct Work {
    call: Box<dyn FnMut() -> Outcome<Vec<f64>>>,
    /// Units of work in a call.
    units: usize,
    parameters: usize,
    /// Calls of a sample; 0 before the warm-up.
    calls: usize,
}

impl Work {
    fn new(
        units: usize,
        parameters: usize,
        call: impl FnMut() -> Outcome<Vec<f64>> + 'static,
    ) -> Self {
        Work {
            call: Box::new(call),
            units,
            parameters,
            calls: 0,
        }
    }

    /// Seconds of `calls` calls, and what the last one returned.
    fn time(&mut self, calls: usize) -> Outcome<(f64, Vec<f64>)> {
        let start = Instant::now();
        for _ in 1..calls {
            black_box((self.call)()?);
        }
        let check = black_box((self.call)()?);
        Ok((start.elapsed().as_secs_f64(), check))
    }

    /// Samples of the seconds for one unit, as many as the budget allows, at least one; and a check.
    fn samples(&mut self, budget: Duration) -> Outcome<(Vec<f64>, Vec<f64>)> {
        if self.calls == 0 {
            // Warm up for a tenth of a second; a sample is then about 5 ms, or one call.
            let (start, mut calls) = (Instant::now(), 0);
            while calls == 0 || start.elapsed().as_secs_f64() < 0.1 {
                self.time(1)?;
                calls += 1;
            }
            let each = start.elapsed().as_secs_f64() / f64::from(calls);
            self.calls = (5e-3 / each).ceil() as usize;
        }
        let (start, mut samples) = (Instant::now(), Vec::new());
        loop {
            let (time, check) = self.time(self.calls)?;
            samples.push(time / (self.calls * self.units) as f64);
            if start.elapsed() >= budget {
                return Ok((samples, check));
            }
        }
    }
}

/// A table of standard normal numbers: 4 inputs, 3 targets.
fn table() -> Outcome<Dataset> {
    let mut rng = Stream::new(0).at(0);
    let mut values = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.normal() as f32).collect() };
    Ok(Dataset::new(&values(ROWS * 4), 4, &values(ROWS * 3), 3)?)
}

/// The learning rate is next to nothing, so that the gates stay closed as often as at first.
fn training() -> Outcome<TrainerConfig> {
    Ok(TrainerConfig {
        batch_size: BATCH,
        learning_rate: 1e-12,
        penalty: Penalty::expected_l0(5e-6)?,
        ..TrainerConfig::default()
    })
}

fn steps(mut trainer: Trainer) -> Work {
    let parameters = trainer.model().architecture().parameter_len();
    Work::new(1, parameters, move || Ok(vec![trainer.step()?.error]))
}

/// One training step of 4→width→width→3, ELU.
fn network(width: usize, gates: Option<Per>) -> Outcome<Work> {
    let mut config = MlpConfig::new([4, width, width, 3], Activation::Elu);
    config.init = Init::Torch;
    config.gates = gates.map(|per| GateSpec {
        per,
        ..GateSpec::default()
    });
    let model = Mlp::new(&config, &Stream::new(1))?;
    Ok(steps(Trainer::new(model, training()?, table()?, None)?))
}

/// Rows of the table of images, and of a batch of them.
const IMAGES: usize = 20_000;
const IMAGE_BATCH: usize = 100;

/// One training step of 784→300→100→10, ReLU, classes; of all inputs and hidden units so many per cent are closed, the last ones.
fn classifier(closed: usize) -> Outcome<Work> {
    let mut rng = Stream::new(0).at(0);
    let x: Vec<f32> = (0..IMAGES * 784).map(|_| rng.normal() as f32).collect();
    let y: Vec<f32> = (0..IMAGES).map(|_| rng.index(10) as f32).collect();
    let mut config = MlpConfig::new([784, 300, 100, 10], Activation::Relu);
    config.init = Init::Torch;
    config.gates = Some(GateSpec::default());
    let mut model = Mlp::new(&config, &Stream::new(1))?;
    for layer in 0..3 {
        let place = model.architecture().log_alphas(layer);
        let open = place.len() - place.len() * closed / 100;
        for (k, log_alpha) in model.parameters_mut()[place].iter_mut().enumerate() {
            // Open or closed but for one draw in hundreds.
            *log_alpha = if k < open { 5.0 } else { -5.0 };
        }
    }
    let training = TrainerConfig {
        loss: Loss::CrossEntropy,
        batch_size: IMAGE_BATCH,
        ..training()?
    };
    let data = Dataset::new(&x, 784, &y, 1)?;
    Ok(steps(Trainer::new(model, training, data, None)?))
}

/// One training step of a gated polynomial(3) of 4 inputs, 3 targets; batches of inputs become features on the fly.
fn dictionary() -> Outcome<Work> {
    let features = Library::polynomial(3).features(&["a", "b", "c", "d"])?;
    let mut rng = Stream::new(0).at(0);
    let mut values = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.normal()).collect() };
    let (x, y) = (values(ROWS * 4), values(ROWS * 3));
    let mut accumulator = Accumulator::new(features.clone(), STATES.map(String::from).to_vec())?;
    accumulator.push(&x, &y, None, ROWS)?;
    let statistics = accumulator.finish();
    let by_row = |columns: &[f64], width: usize| -> Vec<f32> {
        (0..ROWS)
            .flat_map(|r| (0..width).map(move |c| columns[c * ROWS + r] as f32))
            .collect()
    };
    let data = Dataset::new(&by_row(&x, 4), 4, &by_row(&y, 3), 3)?
        .for_dictionary(&features, &statistics)?;
    let gates = GateSpec {
        per: Per::Weight,
        ..GateSpec::default()
    };
    let sampled = sampled_trainer(&statistics, gates, training()?, data, None)?;
    Ok(steps(sampled.trainer))
}

/// Random experience of the pendulum.
fn experience() -> Outcome<Replay> {
    let mut world = make("pendulum")?;
    let mut replay = Replay::new(10_000, 3, 1)?;
    let (mut now, mut next) = ([0f32; 3], [0f32; 3]);
    for episode in 0..50 {
        let mut rng = Stream::new(1).at(episode);
        world.reset(&mut rng);
        world.observe(&mut now);
        for _ in 0..EPISODE {
            let action = 4.0 * rng.uniform() - 2.0;
            let step = world.step(&[action])?;
            world.observe(&mut next);
            replay.push(Transition {
                observation: &now,
                action: &[action as f32],
                reward: step.reward,
                next_observation: &next,
                terminated: step.terminated,
                truncated: step.truncated,
            })?;
            now = next;
        }
    }
    Ok(replay)
}

/// Two updates of TD3, of which one updates the policy; batches and random numbers included.
fn td3(policy: &str) -> Outcome<Work> {
    let replay = experience()?;
    let kind = policy.parse()?;
    let world = make("pendulum")?;
    let stream = Stream::new(2);
    let actor = Actor::new(
        &kind,
        world.observation_space(),
        world.action_space(),
        &stream,
    )?;
    let mut agent = Td3::new(Td3Config::default(), actor, &stream)?;
    let critic = agent.critic_architecture().parameter_len();
    let parameters = agent.actor().parameters().len() + 2 * critic;
    let mut batch = Batch::default();
    let price = Penalty::expected_l0(1e-3)?.into();
    Ok(Work::new(2, parameters, move || {
        let mut loss = 0.0;
        for _ in 0..2 {
            let mut rng = Stream::new(3).at(agent.updates());
            replay.sample(BATCH, &mut rng, &mut batch)?;
            agent.draw(&mut rng);
            loss = agent.update(&batch, &price)?.critic_loss;
        }
        Ok(vec![loss])
    }))
}

/// An episode of the pendulum: reset, 200 steps with given actions and their observations. Returns the mean reward of a step over all episodes so far.
fn pendulum() -> Outcome<Work> {
    let mut rng = Stream::new(1).at(0);
    let actions: Vec<f64> = (0..EPISODE).map(|_| 4.0 * rng.uniform() - 2.0).collect();
    let inner = Pendulum::new(PendulumConfig::default())?;
    let mut world = TimeLimit::new(inner, EPISODE as u32);
    let mut observation = [0f32; 3];
    let (mut total, mut steps) = (0.0, 0u64);
    Ok(Work::new(EPISODE, 0, move || {
        world.reset(&mut rng);
        world.observe(black_box(&mut observation));
        for action in &actions {
            let step = world.step(&[*action])?;
            world.observe(black_box(&mut observation));
            total += step.reward;
            steps += 1;
            if step.truncated || step.terminated {
                break;
            }
        }
        Ok(vec![total / steps as f64])
    }))
}

/// Columns of states and of their rates of change, little-endian doubles as NumPy writes them.
fn lorenz(data: &Folder, rows: usize) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let bytes = fs::read(data.join(format!("lorenz-{rows}.f64")))?;
    if bytes.len() != rows * 6 * 8 {
        return Err(format!(
            "{rows} rows of 6 doubles expected, not {} bytes",
            bytes.len()
        )
        .into());
    }
    let mut values: Vec<f64> = bytes
        .chunks_exact(8)
        .map(|b| b.try_into().map(f64::from_le_bytes))
        .collect::<Result<_, _>>()?;
    let rates = values.split_off(rows * 3);
    Ok((values, rates))
}

/// The law of each state: the statistics of all rows, the path of each, and the choice of a line by BIC.
fn fit(x: &[f64], rates: &[f64], rows: usize, method: Method) -> Outcome<(Features, Vec<Line>)> {
    let features = Library::polynomial(3).features(&STATES)?;
    let mut accumulator = Accumulator::new(features.clone(), STATES.map(String::from).to_vec())?;
    accumulator.push(x, rates, None, rows)?;
    let statistics: Statistics = accumulator.finish();
    let config = PathConfig {
        method,
        ..PathConfig::default()
    };
    let line = |target: usize| -> Outcome<Line> {
        let path = Path::new(&statistics, &[target], &[], &config)?;
        Ok(path.choose(Rule::Bic)?.clone())
    };
    let lines = (0..3).map(line).collect::<Outcome<_>>()?;
    Ok((features, lines))
}

fn coefficients(lines: &[Line]) -> Vec<f64> {
    let all = lines.iter().flat_map(|line| line.coefficients.iter());
    all.copied().collect()
}

fn fits(data: &Folder, rows: usize, method: Method) -> Outcome<Work> {
    let (x, rates) = lorenz(data, rows)?;
    Ok(Work::new(1, 60, move || {
        Ok(coefficients(&fit(&x, &rates, rows, method)?.1))
    }))
}

/// Rates of change of many rows by the law that was found.
fn predict(data: &Folder, rows: usize) -> Outcome<Work> {
    let (x, rates) = lorenz(data, rows)?;
    let (features, lines) = fit(&x, &rates, rows, Method::Exact)?;
    let target = |(name, line): (&&str, &Line)| DictionaryTarget {
        target: name.to_string(),
        coefficients: line.coefficients.clone(),
        probabilities: None,
        errors: None,
    };
    let targets: Vec<_> = STATES.iter().zip(&lines).map(target).collect();
    let model = Model::dictionary(
        &features,
        &Library::polynomial(3),
        &targets,
        Dynamics::Continuous,
    )?;
    Ok(Work::new(1, 60, move || {
        let predicted = black_box(model.predict(&x, rows)?);
        Ok([0, rows / 2, 3 * rows - 1].map(|k| predicted[k]).to_vec())
    }))
}

fn work(name: &str, data: &Folder) -> Outcome<Work> {
    let (kind, size) = name.split_once(' ').unwrap_or((name, ""));
    match kind {
        "plain" => network(size.parse()?, None),
        "gated-weights" => network(size.parse()?, Some(Per::Weight)),
        "gated-units" => network(size.parse()?, Some(Per::Unit)),
        "classifier" => classifier(size.parse()?),
        "dictionary" => dictionary(),
        "td3-network" => td3("network(256, 256)"),
        "td3-dictionary" => td3("polynomial(3)"),
        "pendulum" => pendulum(),
        "fit-exact" => fits(data, size.parse()?, Method::Exact),
        "fit-stlsq" => fits(data, size.parse()?, Method::Stlsq),
        "predict" => predict(data, size.parse()?),
        _ => Err(format!("there is no work {name:?}").into()),
    }
}

/// The answer to one line.
fn answer(
    line: &str,
    data: &Folder,
    works: &mut HashMap<String, Work>,
) -> Outcome<serde_json::Value> {
    let (name, budget) = line
        .rsplit_once(' ')
        .ok_or("a line is the name of a work and milliseconds")?;
    // The data of the work before are not needed any more.
    works.retain(|known, _| known == name);
    if !works.contains_key(name) {
        works.insert(name.into(), work(name, data)?);
    }
    let work = works.get_mut(name).ok_or("just inserted")?;
    let (seconds, check) = work.samples(Duration::from_millis(budget.parse()?))?;
    Ok(json!({ "seconds": seconds, "check": check, "parameters": work.parameters }))
}

fn main() -> Outcome<()> {
    let data = std::env::args_os().nth(1).unwrap_or_default();
    let mut works = HashMap::new();
    for line in stdin().lock().lines() {
        let reply = answer(&line?, Folder::new(&data), &mut works)
            .unwrap_or_else(|error| json!({ "error": error.to_string() }));
        println!("{reply}");
        stdout().flush()?;
    }
    Ok(())
}
