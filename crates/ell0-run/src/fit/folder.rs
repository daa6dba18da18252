//! The folder of a fit.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use super::{Discovery, FitSettings, followed};
use crate::{
    error::Result,
    files,
    folder::{Folder, Place},
};

/// The file that holds the whole result.
pub(super) const RESULT: &str = "discovery.json";

/// What such a run is called.
const KIND: &str = "fit";

/// How the `config.toml` of a fit begins.
const CONFIG_HEAD: &str = concat!(
    "# Made by ell0 ",
    env!("CARGO_PKG_VERSION"),
    ". From the folder where it ran, a fit with these settings repeats the run.\n\n"
);

impl FitSettings {
    /// Whether the folder of a fit could be put there: asked before the work begins.
    pub fn check_place(&self, place: &Place) -> Result<()> {
        place.check(KIND, self.inputs())
    }

    /// What is read.
    fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.data.files.iter().map(PathBuf::as_path)
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
    /// Writes the folder of a fit: the model, its equations, the path and the law's trajectories as tables, pictures, the settings, the page. `command` is what began it, for the page. Says where the folder is.
    pub fn write(
        &self,
        settings: &FitSettings,
        place: &Place,
        command: Option<&str>,
    ) -> Result<PathBuf> {
        let mut folder = Folder::new(place, KIND, settings.inputs())?;
        let config = files::to_toml(settings)?;
        folder.put("config.toml", CONFIG_HEAD.to_string() + &config)?;
        folder.put("model.json", self.model.to_json() + "\n")?;
        folder.put("equations.txt", self.model.text(6) + "\n")?;
        folder.put("equations.tex", self.model.latex(5) + "\n")?;
        folder.put("path.csv", self.path_table())?;
        folder.put(RESULT, files::to_json(self)?)?;
        if let Some(followed) = &self.followed {
            folder.put(followed::FILE, followed.table())?;
        }
        folder.draw_all(&self.figures())?;
        folder.report(command)?;
        folder.finish()
    }

    fn path_table(&self) -> String {
        let mut csv = String::from(
            "target,terms,lambda,train_mse,validation_mse,validation_deviation,bic,aicc,chosen,features,coefficients\n",
        );
        let number = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
        for l in &self.path {
            let coefficients = l.coefficients.iter().map(ToString::to_string);
            let coefficients: Vec<String> = coefficients.collect();
            let _ = writeln!(
                csv,
                "{},{},{},{},{},{},{},{},{},{},{}",
                files::quoted(&l.target),
                l.terms,
                number(l.lambda),
                l.train_mse,
                number(l.validation_mse),
                number(l.validation_deviation),
                l.bic,
                l.aicc,
                l.chosen,
                files::quoted(&l.features.join(";")),
                coefficients.join(";")
            );
        }
        csv
    }
}
