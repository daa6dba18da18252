//! `ell0 network`: a sparse network for a table.

use crate::screen;
use ell0::wording::shown_path;
use std::{io::Write, path::PathBuf};

use clap::{Args, ValueEnum};
use ell0::{
    network::{Activation, Init, NoisePer},
    wording::listed,
};
use ell0_run::{
    ClassWeights, NetworkData, NetworkGates, NetworkResult, NetworkRun, NetworkRunSettings,
    NetworkScaling, NetworkSchedule, NetworkSettings, Quality, Site, file_word,
};
use serde::Serialize;

use super::train::goes_on;
use crate::{
    hint::usage,
    line,
    options::{command_line, in_runs},
    progress::Bars,
    table::{self, new_table, or_dash},
    values::{Columns, columns},
};

/// Train a sparse network on a table
///
/// Every input and hidden unit (or every weight) gets a gate that can be exactly zero; training pays for what is open, and what is closed is cut out. Leaves the compacted network (safetensors, C, ONNX), how good it is on rows that it has not seen, which inputs it still reads, curves and a page in a folder.
#[derive(Args)]
#[command(after_help = "Examples:
  ell0 network examples/digits.csv --class digit
  ell0 network house.parquet --targets price --hidden 128,64 --lambda 1
  ell0 network train-images-idx3-ubyte --labels train-labels-idx1-ubyte --test t10k-images-idx3-ubyte --test-labels t10k-labels-idx1-ubyte --hidden 300,100
  ell0 predict runs/network-digits-digit-seed0 new.csv")]
pub struct Network {
    /// CSV (also .gz), Parquet, NPZ, NPY or IDX files
    #[arg(value_name = "DATA", required_unless_present = "resume")]
    files: Vec<PathBuf>,
    /// Files with nothing but the classes of the rows, one for each file of data: IDX data come so
    #[arg(long)]
    labels: Vec<PathBuf>,
    /// Columns that go in, with commas between them; the name of an array stands for all its columns [default: all other columns]
    #[arg(long, value_parser = columns)]
    inputs: Vec<Columns>,
    /// Columns of numbers that are to come out
    #[arg(long, value_parser = columns, conflicts_with_all = ["class", "labels"])]
    targets: Vec<Columns>,
    /// Column, of numbers or words, that tells the class
    #[arg(long, conflicts_with = "labels")]
    class: Option<String>,
    /// Files of rows that only tell how good the network is
    #[arg(long)]
    test: Vec<PathBuf>,
    /// Their classes
    #[arg(long, requires = "test")]
    test_labels: Vec<PathBuf>,
    /// Without --test: share of the rows that only tells how good the network is
    #[arg(
        long,
        default_value_t = 0.2,
        conflicts_with = "test",
        allow_negative_numbers = true
    )]
    test_share: f64,
    /// Leave out rows with empty or NaN cells, and say how many
    #[arg(long)]
    drop_missing: bool,
    /// Widths of the hidden layers, with commas between them; "none" for no hidden layer
    #[arg(long, default_value = "64,64", value_parser = widths)]
    hidden: Widths,
    /// What hidden units do
    #[arg(long, default_value = "relu")]
    activation: Activation,
    /// Where the gates are
    #[arg(long, value_enum, default_value_t = Gates::Unit)]
    gates: Gates,
    /// How often gates are drawn: once for each batch (fast), or for each of its rows (less noise, like dropout)
    #[arg(long, value_enum, default_value_t = Noise::Batch)]
    noise: Noise,
    /// Price of a weight behind an open gate, divided by the number of rows; one for all layers, or one for each with commas between them
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0.1",
        allow_negative_numbers = true
    )]
    lambda: Vec<f64>,
    /// Train a network for each of several factors of the price, and choose the smallest that is about as good as the best
    #[arg(long, value_name = "FACTORS", value_delimiter = ',', num_args = 0..=1, default_missing_value = "0.1,0.3,1,3,10", require_equals = true)]
    path: Vec<f64>,
    /// Epochs over which the price grows from nothing
    #[arg(long, default_value_t = 0)]
    warmup: u64,
    /// Weight decay inside the gates, divided by the number of rows
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    decay: f64,
    /// Deviation of noise that is added to the scaled inputs, anew at every step: what is learned has to bear it, and generalises better
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    input_noise: f64,
    /// Share of gates that are closed at first
    #[arg(long, default_value_t = 0.2, allow_negative_numbers = true)]
    drop_rate: f64,
    /// How weights are drawn at first
    #[arg(long, value_enum, default_value_t = Start::He)]
    init: Start,
    /// How inputs are brought to mean 0 and deviation 1; what is exported takes them as they are
    #[arg(long, value_enum, default_value_t = Scaling::Each)]
    scaling: Scaling,
    /// How much the rows of each class count: equal, balanced (rare classes as much as common ones), or as in spam=5,ham=1
    #[arg(long, default_value = "equal")]
    class_weights: ClassWeights,
    /// Rounds through the rows
    #[arg(long, default_value_t = 200)]
    epochs: u64,
    /// Rows of a step
    #[arg(long, default_value_t = 128)]
    batch: usize,
    /// Learning rate of weights and biases
    #[arg(long, default_value_t = 0.01, allow_negative_numbers = true)]
    learning_rate: f64,
    /// Learning rate of the gates [default: three times that of the weights]
    #[arg(long, allow_negative_numbers = true)]
    gate_rate: Option<f64>,
    /// How both rates change over the epochs
    #[arg(long, value_enum, default_value_t = Falls::Cosine)]
    schedule: Falls,
    /// Decay of the average of the parameters that is kept; 0 for none
    #[arg(long, default_value_t = 0.99, allow_negative_numbers = true)]
    averaging: f64,
    /// Share of the rows to learn from that is held out: the parameters with the smallest error there, the price of what is open included, are kept [default: 0; with --patience or --path 0.1]
    #[arg(long, allow_negative_numbers = true)]
    validation: Option<f64>,
    /// End after so many epochs without improvement on held-out rows
    #[arg(long)]
    patience: Option<u64>,
    /// Seed of everything random
    #[arg(long, default_value_t = 0, value_parser = crate::values::seed, allow_negative_numbers = true)]
    seed: u64,
    /// Folder of the run [default: one in runs/ named after data, target and seed]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on with the run in the folder of --out, as it was begun
    #[arg(long, requires = "out", conflicts_with_all = ["files", "force", "labels", "inputs", "targets", "class", "test", "hidden", "lambda", "path", "epochs", "seed"])]
    resume: bool,
    /// Begin anew if the folder exists
    #[arg(long)]
    force: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

/// Widths of hidden layers.
#[derive(Clone, Debug)]
struct Widths(Vec<usize>);

fn widths(text: &str) -> Result<Widths, String> {
    if text.trim() == "none" {
        return Ok(Widths(Vec::new()));
    }
    let one = |piece: &str| match piece.trim().parse::<usize>() {
        Ok(width) if (1..=1 << 20).contains(&width) => Ok(width),
        _ => Err(format!(
            "`{}`: expected whole numbers from 1 to 1048576 with commas between them, for example 300,100",
            ell0::wording::shown(piece.trim())
        )),
    };
    text.split(',')
        .map(one)
        .collect::<Result<_, _>>()
        .map(Widths)
}

#[derive(Clone, Copy, ValueEnum)]
enum Gates {
    /// On inputs and hidden units: closed ones make the network smaller
    Unit,
    /// On every weight
    Weight,
    /// Nowhere: a plain network
    None,
}

#[derive(Clone, Copy, ValueEnum)]
enum Noise {
    /// Once for each batch
    Batch,
    /// For each row
    Row,
}

#[derive(Clone, Copy, ValueEnum)]
enum Scaling {
    /// Each by itself, and the targets of a regression
    Each,
    /// All by the same mean and deviation: for pixels
    Together,
    /// Not at all
    None,
}

#[derive(Clone, Copy, ValueEnum)]
enum Start {
    /// Normal, with variance 2/inputs
    He,
    /// Uniform, as PyTorch's linear layer
    Torch,
}

#[derive(Clone, Copy, ValueEnum)]
enum Falls {
    /// Not at all
    Constant,
    /// In a straight line down to a hundredth
    Linear,
    /// Along half a cosine down to a hundredth
    Cosine,
    /// Divided by ten after every third
    Step,
}

/// Held out where something is to be chosen.
const VALIDATION: f64 = 0.1;

impl Network {
    fn settings(&self) -> anyhow::Result<NetworkRunSettings> {
        let data = NetworkData {
            files: self.files.clone(),
            labels: self.labels.clone(),
            inputs: Columns::all(&self.inputs),
            targets: Columns::all(&self.targets),
            class: self.class.clone(),
            test: self.test.clone(),
            test_labels: self.test_labels.clone(),
            test_share: match self.test.is_empty() {
                true => self.test_share,
                false => 0.0,
            },
            drop_missing: self.drop_missing,
            ..NetworkData::default()
        };
        if data.targets.is_empty() && data.class.is_none() && data.labels.is_empty() {
            return Err(usage(
                "what is to come out? --class names a column of classes, --targets columns of numbers, --labels a file of classes",
            ));
        }
        if matches!(self.gates, Gates::None) && !self.path.is_empty() {
            return Err(usage(
                "--path tries prices of gates, and --gates none has none",
            ));
        }
        let chooses = self.patience.is_some() || self.path.len() > 1;
        let network = NetworkSettings {
            hidden: self.hidden.0.clone(),
            activation: self.activation,
            gates: match self.gates {
                Gates::Unit => NetworkGates::Unit,
                Gates::Weight => NetworkGates::Weight,
                Gates::None => NetworkGates::None,
            },
            noise: match self.noise {
                Noise::Batch => NoisePer::Batch,
                Noise::Row => NoisePer::Row,
            },
            lambda: self.lambda.clone(),
            warmup: self.warmup,
            decay: self.decay,
            input_noise: self.input_noise,
            drop_rate: self.drop_rate,
            init: match self.init {
                Start::He => Init::He,
                Start::Torch => Init::Torch,
            },
            scaling: match self.scaling {
                Scaling::Each => NetworkScaling::Each,
                Scaling::Together => NetworkScaling::Together,
                Scaling::None => NetworkScaling::None,
            },
            class_weights: self.class_weights.clone(),
            epochs: self.epochs,
            batch: self.batch,
            learning_rate: self.learning_rate,
            gate_rate: Some(self.gate_rate.unwrap_or(3.0 * self.learning_rate)),
            schedule: match self.schedule {
                Falls::Constant => NetworkSchedule::Constant,
                Falls::Linear => NetworkSchedule::Linear,
                Falls::Cosine => NetworkSchedule::Cosine,
                Falls::Step => NetworkSchedule::Step,
            },
            averaging: Some(self.averaging).filter(|a| *a != 0.0),
            validation: self
                .validation
                .unwrap_or(if chooses { VALIDATION } else { 0.0 }),
            patience: self.patience,
            seed: self.seed,
            ..NetworkSettings::default()
        };
        Ok(NetworkRunSettings {
            path: self.path.clone(),
            data,
            network,
        })
    }

    fn folder(&self) -> PathBuf {
        let stem = |path: &PathBuf| path.file_stem().map(|s| s.to_string_lossy().into_owned());
        let data = self.files.first().and_then(stem).unwrap_or_default();
        let target = match &self.class {
            Some(class) => class.clone(),
            None => Columns::all(&self.targets).join("-"),
        };
        let words = [file_word(&data), file_word(&target)];
        let words: Vec<&str> = words
            .iter()
            .map(String::as_str)
            .filter(|w| !w.is_empty())
            .collect();
        self.out
            .clone()
            .unwrap_or_else(|| in_runs(&format!("network-{}-seed{}", words.join("-"), self.seed)))
    }

    pub fn run(&self) -> anyhow::Result<()> {
        let site = Site {
            folder: self.folder(),
            replace: self.force,
            command: Some(command_line()),
        };
        let settings = match self.resume {
            true => None,
            false => Some(self.settings()?),
        };
        let bars = Bars::stoppable();
        let run = match settings {
            None => NetworkRunSettings::resume(&site, &bars),
            Some(settings) => settings.run(Some(&site), &bars),
        };
        let run = run.map_err(|e| goes_on(e, "network", &site))?;
        drop(bars);
        let mut out = screen::out();
        if self.json {
            return print_json(&mut out, &run);
        }
        print(&mut out, &run)?;
        writeln!(
            out,
            "The network (network.safetensors; C and ONNX in export/), results, curves and a page are in {}",
            shown_path(&site.folder)
        )?;
        Ok(())
    }
}

/// The chosen network, and the others beside it.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    chosen: &'a NetworkResult,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    path: &'a [NetworkResult],
}

fn print_json(out: &mut impl Write, run: &NetworkRun) -> anyhow::Result<()> {
    let Some((chosen, _)) = run.chosen() else {
        return Ok(());
    };
    let path = match run.rows() {
        [_] => &[],
        several => several,
    };
    table::json(out, &Told { chosen, path })
}

/// More inputs than these are counted, not named.
const MOST_NAMED: usize = 20;

fn print(out: &mut impl Write, run: &NetworkRun) -> anyhow::Result<()> {
    let Some((chosen, network)) = run.chosen() else {
        return Ok(());
    };
    let classes = matches!(chosen.quality, Quality::Classification { .. });
    let header = [
        "λ",
        if classes {
            "accuracy"
        } else {
            "mean squared error"
        },
        "95 % interval",
        "units left",
        "parameters",
        "operations",
        "seconds",
    ];
    let mut grid = new_table(&header, 1);
    for row in run.rows() {
        let (value, interval) = match &row.quality {
            Quality::Classification {
                accuracy, interval, ..
            } => (
                format!("{:.2} %", 100.0 * accuracy),
                format!("{:.2} … {:.2} %", 100.0 * interval.0, 100.0 * interval.1),
            ),
            Quality::Regression { mse, interval, .. } => (
                format!("{mse:.4e}"),
                format!("{:.3e} … {:.3e}", interval.0, interval.1),
            ),
        };
        let lambda: Vec<String> = row.lambda.iter().map(f64::to_string).collect();
        let mark = match row.chosen && run.rows().len() > 1 {
            true => " ←",
            false => "",
        };
        grid.add_row([
            lambda.join(",") + mark,
            value,
            interval,
            NetworkResult::shape(&row.units),
            row.parameters.to_string(),
            format!("{:.0}", row.operations),
            format!("{:.1}", row.seconds),
        ]);
    }
    writeln!(out, "{grid}")?;
    if let Some(warning) = chosen.warning(&network.names) {
        writeln!(out, "Warning: {warning}.")?;
    }
    if run.rows().len() > 1 {
        writeln!(
            out,
            "Chosen (←): the smallest whose error on held-out rows is within one standard error of the least."
        )?;
    }
    writeln!(
        out,
        "Built: {}, {} parameters, {:.0} operations for a row. {}",
        NetworkResult::shape(&chosen.units_before),
        chosen.parameters_before,
        chosen.operations_before,
        chosen.measured_told().join(" ")
    )?;
    match &chosen.quality {
        Quality::Classification { calibration, .. } => writeln!(
            out,
            "Always saying the commonest class: {:.2} %. Probabilities are off by {:.1} points on average.",
            100.0 * chosen.baseline,
            100.0 * calibration.error
        )?,
        Quality::Regression { r2, .. } => {
            let each: Vec<String> = network
                .names
                .targets
                .iter()
                .zip(r2)
                .map(|(name, r2)| format!("{name} {r2:.4}"))
                .collect();
            line!(
                out,
                "Always saying the mean: {:.4e}. R²: {}.",
                chosen.baseline,
                each.join(", ")
            )?;
        }
    }
    let read = chosen.inputs_read.len();
    let named = match read {
        1..=MOST_NAMED => Some(format!(": {}", listed(&chosen.inputs_read))),
        _ => None,
    };
    writeln!(
        out,
        "Reads {read} of {} inputs{}",
        network.names.inputs.len(),
        or_dash(named).replace('–', ".")
    )?;
    Ok(())
}
