//! The table of Louizos, Welling and Kingma (2018) for a network of 784-300-100 units on MNIST: how many units a price of gates leaves, and at what error.
//!
//! `cargo run --release --example mnist -- FOLDER` takes the folder with MNIST's four files (plain or .gz); `-- FOLDER 20 3` trains for 20 epochs with three seeds. Without a folder, it shows the same on the
//! small digits that are shipped, in seconds; these are another task, of other figures.

use std::{
    env,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use ell0::network::{Init, NoisePer};
use ell0_run::*;

/// Prices of a weight in each layer, times the number of rows, and what was published for such.
const PRICES: [(&str, &[f64], &str); 2] = [
    ("one for all layers", &[0.11], "219-214-100 at 1.4 %"),
    (
        "one for each layer",
        &[0.1, 1.1, 19.0],
        "266-88-33 at 1.8 %",
    ),
];

/// How they were chosen: with seed 100, on 10,000 of the 60,000 rows to learn from.
fn network(prices: &[f64], epochs: u64, seed: u64) -> NetworkSettings {
    NetworkSettings {
        hidden: vec![300, 100],
        lambda: prices.to_vec(),
        // Gates of its own for each row, as in dropout, cost less accuracy than one draw for all of them.
        noise: NoisePer::Row,
        // Weights that begin small, and decay, generalise better.
        init: Init::Torch,
        decay: 5.0,
        input_noise: 0.6,
        scaling: NetworkScaling::Together,
        batch: 100,
        learning_rate: 1e-3,
        gate_rate: Some(3e-3),
        averaging: Some(0.999),
        epochs,
        seed,
        ..NetworkSettings::default()
    }
}

/// One of MNIST's files, in either spelling, packed or not.
fn file(folder: &Path, part: &str, kind: &str) -> PathBuf {
    let names = ["-", "."].map(|dot| format!("{part}{dot}{kind}-ubyte"));
    let packed = names.clone().map(|name| name + ".gz");
    let all = names.iter().chain(&packed).map(|name| folder.join(name));
    // Where there is none, the error names the usual one.
    let mut there = all.filter(|path| path.is_file());
    there.next().unwrap_or_else(|| folder.join(&names[0]))
}

fn data(folder: Option<&Path>) -> NetworkData {
    match folder {
        Some(folder) => NetworkData {
            files: vec![file(folder, "train-images", "idx3")],
            labels: vec![file(folder, "train-labels", "idx1")],
            test: vec![file(folder, "t10k-images", "idx3")],
            test_labels: vec![file(folder, "t10k-labels", "idx1")],
            ..NetworkData::default()
        },
        None => NetworkData {
            files: vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits.csv")],
            class: Some("digit".into()),
            ..NetworkData::default()
        },
    }
}

/// Tells of every tenth epoch, with the clock of the system.
struct Lines;

impl Observer for Lines {
    fn hear(&self, event: Event) -> ControlFlow<()> {
        if let Event::Reached { step, note, .. } = event
            && step.is_multiple_of(10)
        {
            eprintln!("epoch {step}: {note}");
        }
        ControlFlow::Continue(())
    }

    fn now(&self) -> std::time::Duration {
        Timed.now()
    }
}

/// Trains and prints line after line of the table.
pub fn run(folder: Option<&Path>, epochs: u64, seeds: u64) -> Result<Vec<NetworkResult>> {
    let mut found = Vec::new();
    println!("| price | seed | units left | test error | seconds | published |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (name, prices, published) in PRICES {
        for seed in 0..seeds {
            let settings = NetworkRunSettings {
                data: data(folder),
                network: network(prices, epochs, seed),
                path: Vec::new(),
            };
            for row in settings.run(None, &Lines)?.results.unwrap_or_default() {
                println!(
                    "| {name} | {seed} | {} | {:.2} % | {:.0} | {} |",
                    NetworkResult::shape(&row.units),
                    100.0 * row.error(),
                    row.seconds,
                    folder.map_or("–", |_| published),
                );
                found.push(row);
            }
        }
    }
    Ok(found)
}

#[allow(dead_code, reason = "the test calls `run` itself")]
fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |k: usize, usual: u64| match arguments.get(k) {
        Some(text) => text
            .parse()
            .map_err(|_| Error::Settings("usage: mnist FOLDER EPOCHS SEEDS")),
        None => Ok(usual),
    };
    let folder = arguments.first().map(Path::new);
    run(folder, number(1, 200)?, number(2, 2)?).map(drop)
}
