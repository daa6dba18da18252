//! LeNet-5-Caffe with gates on channels and units, trained on MNIST, then compacted.
//!
//! ```text
//! cargo run --release --example lenet5 -- --data FOLDER --epochs 10
//! ```
//!
//! Louizos et al. (2018) report 20-25-45-462 of 20-50-800-500 at 0.9 % error (λ = 0.1/N everywhere) and 9-18-65-25 at 1.0 % (λ = 10, 0.5, 0.1, 10 over N).

mod digits;
mod network;
mod settings;

use std::{error::Error, process::ExitCode, time::Instant};

use burn::{
    lr_scheduler::{constant::ConstantLr, module_lr_scheduler::ModuleLrScheduler},
    module::Module,
    nn::loss::CrossEntropyLossConfig,
    optim::{AdamConfig, GradientsParams},
    tensor::{Device, Tensor},
};
use ell0::rng::Stream;
use ell0_burn::{Chain, Gates, Stage, draw};

use digits::Digits;
use network::{LeNet5, gating};
use settings::{HELP, Settings};

/// Rows that are looked at together at test time.
const TEST_BATCH: usize = 500;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let Some(settings) = Settings::read(std::env::args().skip(1))? else {
        print!("{HELP}");
        return Ok(());
    };
    let stream = Stream::new(settings.seed);
    let (mut train, test) = match &settings.data {
        Some(folder) => (
            Digits::mnist(folder, "train")?,
            Digits::mnist(folder, "t10k")?,
        ),
        None => {
            println!("no --data: digits are drawn (--help)");
            let rows = settings.rows.unwrap_or(2000);
            (
                Digits::drawn(rows, &stream.split("drawn for training")),
                Digits::drawn(500, &stream.split("drawn for testing")),
            )
        }
    };
    train.truncate(settings.rows.unwrap_or(usize::MAX));
    if train.len() == 0 || test.len() == 0 {
        return Err("there are no rows to learn from or to test on".into());
    }

    let device = Device::flex().autodiff();
    let lambda = settings.lambda.map(|lambda| lambda / train.len() as f64);
    let gating = gating(lambda, settings.decay)?;
    let mut network = gating.attach(
        LeNet5::new(&device, &stream.split("weights")),
        &stream.split("log alpha"),
    )?;
    let mut optimiser = AdamConfig::new().init();
    let rates = |share: f64| {
        let gates = settings.gate_rate.unwrap_or(settings.rate);
        ModuleLrScheduler::new(ConstantLr::new(share * settings.rate))
            .with_group(Gates::group(), ConstantLr::new(share * gates))
    };
    let cross_entropy = CrossEntropyLossConfig::new().init(&device);
    let (noise, order) = (stream.split("gates"), stream.split("order"));

    println!(
        "{} rows of training, {} of test, seed {}",
        train.len(),
        test.len(),
        settings.seed
    );
    println!("epoch   error   units left       parameters left   expected   loss    s");
    let mut step = 0;
    for epoch in 1..=settings.epochs {
        let clock = Instant::now();
        let rows = shuffled(train.len(), &mut order.at(epoch));
        let (mut sum, mut batches) = (0.0, 0);
        let mut rates = rates(settings.share(epoch));
        for batch in rows.chunks(settings.batch) {
            network = draw(network, &noise, step);
            let (images, labels) = train.batch(batch, &device);
            let loss = cross_entropy.forward(network.forward(images), labels)
                + gating.penalty(&network)?;
            sum += loss.clone().into_scalar::<f32>();
            batches += 1;
            let gradients = GradientsParams::from_grads(loss.backward(), &network);
            network = optimiser.step(rates.step(), network, gradients);
            step += 1;
        }
        let seconds = clock.elapsed().as_secs_f64();
        let valid = network.valid();
        let outputs = predict(&test, |images| Ok(valid.forward(images)))?;
        let chain = valid.chain()?.compact()?;
        println!(
            "{epoch:5}  {:5.2} %  {:15}  {:6} of 430500  {:8.0}   {:.4}  {seconds:.1}",
            100.0 * wrong(&outputs, &test)?,
            units(&chain),
            weights(&chain),
            gating.expected_l0(&valid)?.into_scalar::<f32>(),
            sum / batches as f32,
        );
    }

    let valid = network.valid();
    for row in gating.openness(&valid)? {
        println!(
            "{}: {} of {} gates open at test time, {:.1} expected",
            row.path, row.open, row.gates, row.expected_open
        );
    }
    let compacted = valid.chain()?.compact()?;
    println!(
        "units 20-50-800-500 before, {} compacted",
        units(&compacted)
    );
    let (before, gated) = timed(|| predict(&test, |images| Ok(valid.forward(images))))?;
    let folded = valid.clone().materialize();
    let (plain, _) = timed(|| predict(&test, |images| Ok(folded.forward(images))))?;
    let (after, smaller) = timed(|| predict(&test, |images| compacted.forward(images)))?;
    let difference = (gated.clone() - smaller).abs().max().into_scalar::<f32>();
    let largest = gated.abs().max().into_scalar::<f32>();
    println!(
        "outputs on the test set: largest difference {difference:.1e}, largest output {largest:.1}"
    );
    println!(
        "{} images: {:.0} ms gated, {:.0} ms with the gates folded, {:.0} ms compacted",
        test.len(),
        1e3 * before,
        1e3 * plain,
        1e3 * after
    );
    let allowed = 1e-6 * largest.max(1.0);
    if difference > allowed {
        return Err(format!(
            "the compacted network differs by {difference:e}, more than {allowed:e}"
        )
        .into());
    }
    Ok(())
}

fn shuffled(n: usize, rng: &mut ell0::rng::Generator) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..n).collect();
    for k in (1..n).rev() {
        rows.swap(k, rng.index(k + 1));
    }
    rows
}

/// Outputs for all rows.
fn predict(
    digits: &Digits,
    forward: impl Fn(Tensor<4>) -> ell0_burn::Result<Tensor<2>>,
) -> Result<Tensor<2>, Box<dyn Error>> {
    let device = Device::flex();
    let rows: Vec<usize> = (0..digits.len()).collect();
    let outputs = rows
        .chunks(TEST_BATCH)
        .map(|rows| forward(digits.batch(rows, &device).0))
        .collect::<ell0_burn::Result<Vec<_>>>()?;
    Ok(Tensor::cat(outputs, 0))
}

/// The share of rows whose largest output is not that of their label.
fn wrong(outputs: &Tensor<2>, digits: &Digits) -> Result<f64, Box<dyn Error>> {
    let rows: Vec<usize> = (0..digits.len()).collect();
    let (_, labels) = digits.batch(&rows, &Device::flex());
    let guesses = outputs.clone().argmax(1).reshape([digits.len()]);
    let wrong = guesses.not_equal(labels).int().sum().into_scalar::<i64>();
    Ok(wrong as f64 / digits.len() as f64)
}

/// The shortest time of three, in seconds, and the result.
fn timed<T>(
    mut what: impl FnMut() -> Result<T, Box<dyn Error>>,
) -> Result<(f64, T), Box<dyn Error>> {
    let mut best = f64::INFINITY;
    let mut result = what()?;
    for _ in 0..3 {
        let clock = Instant::now();
        result = what()?;
        best = best.min(clock.elapsed().as_secs_f64());
    }
    Ok((best, result))
}

/// Channels of the convolutions and inputs of the linear layers, as the paper writes them.
fn units(chain: &Chain) -> String {
    let units: Vec<String> = chain
        .stages()
        .iter()
        .filter_map(|stage| match stage {
            Stage::Conv2d(layer) => Some(layer.weight.dims()[0]),
            Stage::Linear(layer) => Some(layer.weight.dims()[0]),
            _ => None,
        })
        .map(|units| units.to_string())
        .collect();
    units.join("-")
}

/// Weights, without biases.
fn weights(chain: &Chain) -> usize {
    chain.sizes().iter().map(|size| size.weights()).sum()
}
