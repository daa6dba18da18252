//! `ell0 score`: a model measured on other data.

use crate::screen;
use std::{io::Write, path::PathBuf};

use clap::Args;
use ell0_data::derivative::Wanted;
use ell0_run::{NetworkScoreSettings, ScoreSettings, SparseNetwork, Trained};

use super::fit_print::too_short;
use crate::{
    hint::usage,
    line, table,
    values::{Columns, columns},
};

/// Measure a model on other data
///
/// A plain regression or a network is compared with its target columns, a discrete law with the next row, a law of rates of change with the rates that the data show.
#[derive(Args)]
pub struct Score {
    /// model.json, network.safetensors, or the folder of a run
    model: PathBuf,
    /// Files with the model's inputs and, for a regression, its targets; each is a trajectory of its own
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// Column of time [default: `t` or `time`, if there is one]
    #[arg(long)]
    time: Option<String>,
    /// Time between rows, where there is no column of time
    #[arg(long, conflicts_with = "time")]
    dt: Option<f64>,
    /// Column that tells the experiments apart
    #[arg(long)]
    trajectory: Option<String>,
    /// How rates of change are found: auto, fd2, fd4, savgol or weak; the last two also with the points on either side, as in "weak(10)"
    #[arg(long, default_value = "auto")]
    derivative: Wanted,
    /// Columns that hold the rates of change, one for each state in the order of the model; nothing is differenced then, and time is not needed
    #[arg(long, value_parser = columns, conflicts_with = "derivative")]
    rates: Vec<Columns>,
    /// For a network: files with nothing but the classes of the rows, one for each file of data
    #[arg(long, conflicts_with_all = ["time", "dt", "trajectory", "rates", "drop_short"])]
    labels: Vec<PathBuf>,
    /// Leave out rows with empty or NaN cells
    #[arg(long)]
    drop_missing: bool,
    /// Leave out trajectories with fewer rows than are needed, and say how many
    #[arg(long)]
    drop_short: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Score {
    pub fn run(&self) -> anyhow::Result<()> {
        let model = match Trained::read(&self.model)? {
            Trained::Network(network) => return self.network(&network),
            Trained::Equations(model) => model,
        };
        if !self.labels.is_empty() {
            return Err(usage("--labels are for networks that tell classes"));
        }
        let settings = ScoreSettings {
            files: self.data.clone(),
            time: self.time.clone(),
            dt: self.dt,
            trajectory: self.trajectory.clone(),
            derivative: self.derivative,
            rates: Columns::all(&self.rates),
            drop_missing: self.drop_missing,
            drop_short: self.drop_short,
        };
        let scores = settings.run(&model)?;
        let mut out = screen::out();
        if self.json {
            return table::json(&mut out, &scores);
        }
        match scores.derivative.as_deref() {
            None => {}
            Some("given") => writeln!(out, "rates of change given")?,
            Some(derivative) => writeln!(out, "rates of change by {derivative}")?,
        }
        if let Some(short) = scores.short {
            writeln!(out, "{} left out", too_short(short))?;
        }
        for score in &scores.scores {
            let r2 = score
                .r2
                .map_or("undefined, the target is constant".into(), |r| {
                    format!("{r:.6}")
                });
            line!(
                out,
                "{}: mean squared error {:.4e}, R² {r2}",
                score.target,
                score.mse
            )?;
        }
        Ok(())
    }

    fn network(&self, network: &SparseNetwork) -> anyhow::Result<()> {
        let settings = NetworkScoreSettings {
            files: self.data.clone(),
            labels: self.labels.clone(),
            drop_missing: self.drop_missing,
        };
        let quality = settings.run(network)?;
        let mut out = screen::out();
        if self.json {
            return table::json(&mut out, &quality);
        }
        writeln!(out, "{quality}")?;
        Ok(())
    }
}
