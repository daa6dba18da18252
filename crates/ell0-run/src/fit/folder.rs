//! The folder of a fit.

use std::{fmt::Write, path::PathBuf};

use ell0_plot::{Axis, Chart, Figure, Series};

use super::{Discovery, FitSettings};
use crate::{
    error::Result,
    files,
    folder::{Folder, Place},
    report,
};

/// The file that holds the whole result.
pub(super) const RESULT: &str = "discovery.json";

/// The files of a fit.
const OURS: &[&str] = &[
    "config.toml",
    "model.json",
    RESULT,
    "equations.txt",
    "equations.tex",
    "path.csv",
    "path.svg",
    "path.png",
    report::FILE,
    report::COMMAND,
];

/// How the `config.toml` of a fit begins.
const CONFIG_HEAD: &str = concat!(
    "# Made by ell0 ",
    env!("CARGO_PKG_VERSION"),
    ". From the folder where it ran, a fit with these settings repeats the run.\n\n"
);

impl FitSettings {
    /// Whether the folder of a fit could be put there: asked before the work begins.
    pub fn check_place(&self, place: &Place) -> Result<()> {
        place.check(OURS)
    }

    /// What the automatic name of a fit's folder begins with: the name of its first file.
    #[must_use]
    pub fn stem(&self) -> String {
        let name = self.data.files.first().and_then(|f| f.file_name());
        let name = name.map_or("fit".into(), |s| s.to_string_lossy().to_string());
        let stem = name.split('.').find(|s| !s.is_empty());
        stem.unwrap_or("fit").to_string()
    }
}

impl Discovery {
    /// Writes the folder of a fit: the model, its equations, the path as a table and as a figure, the settings, the page. `command` is what began it, for the page. Says where the folder is.
    pub fn write(
        &self,
        settings: &FitSettings,
        place: &Place,
        command: Option<&str>,
    ) -> Result<PathBuf> {
        let mut folder = Folder::new(place, OURS)?;
        let config = files::to_toml(settings)?;
        folder.put("config.toml", CONFIG_HEAD.to_string() + &config)?;
        folder.put("model.json", self.model.to_json() + "\n")?;
        folder.put("equations.txt", self.model.text(6) + "\n")?;
        folder.put("equations.tex", self.model.latex(5) + "\n")?;
        folder.put("path.csv", self.path_table())?;
        folder.put(RESULT, files::to_json(self)?)?;
        folder.draw("path", &self.path_figure())?;
        folder.report(command)?;
        folder.finish()
    }

    fn path_table(&self) -> String {
        let mut csv = String::from(
            "target,terms,lambda,train_mse,validation_mse,validation_deviation,bic,aicc,chosen\n",
        );
        let number = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
        for l in &self.path {
            let _ = writeln!(
                csv,
                "{},{},{},{},{},{},{},{},{}",
                files::quoted(&l.target),
                l.terms,
                number(l.lambda),
                l.train_mse,
                number(l.validation_mse),
                number(l.validation_deviation),
                l.bic,
                l.aicc,
                l.chosen
            );
        }
        csv
    }

    /// Error against number of terms, the choice marked: a chart for each target.
    #[must_use]
    pub fn path_figure(&self) -> Figure {
        let chart = |target: &str| {
            let lines = || self.path_of(target);
            let train = lines().map(|l| (l.terms as f64, l.train_mse));
            let held_out: Vec<_> = lines()
                .filter_map(|l| Some((l.terms as f64, l.validation_mse?)))
                .collect();
            let deviations = lines().filter_map(|l| l.validation_deviation);
            let mut chart = Chart::new(
                format!("{target}: error against number of terms"),
                Axis::linear("terms"),
                Axis::log("mean squared error"),
            )
            .with(Series::dotted("training", train));
            if !held_out.is_empty() {
                chart = chart.with(Series::dotted("held out", held_out).with_errors(deviations));
            }
            match lines().find(|l| l.chosen) {
                None => chart,
                Some(chosen) => {
                    let terms = if chosen.terms == 1 { "term" } else { "terms" };
                    chart.with_mark(
                        chosen.terms as f64,
                        chosen.validation_mse.unwrap_or(chosen.train_mse),
                        format!("chosen: {} {terms}", chosen.terms),
                    )
                }
            }
        };
        Figure::new(self.targets().map(chart).collect())
    }
}
