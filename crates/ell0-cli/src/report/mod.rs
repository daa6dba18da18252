//! The report of a run: one page, made from the files in its folder.

mod analysis;
mod compare;
mod fit;
mod models;
mod page;
mod train;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ell0::equation::Model;
use ell0_data::write::write_whole;

use crate::run_dir::is_held;
use serde_json::Value;

pub use compare::compare;
pub use page::{Section, html, is_page};

/// The file of a report.
pub const FILE: &str = "report.html";

/// The file with the words that began a run.
pub const COMMAND: &str = "command.txt";

/// Stages of the whole tutorial, in their order: folders inside its folder, what they are called, and what they show.
pub const STAGES: [(&str, &str, &str); 5] = [
    (
        "figures",
        "The method",
        "How a count of parameters becomes something that can be trained: penalties, random gates, their densities, the gradients, and gates that close.",
    ),
    (
        "dynamics",
        "Transition models",
        "Where the pendulum is after a step, from cos θ, sin θ, its speed and the torque: by a network, by a network with gates, and by equations from three libraries of terms, with sampled gates and by the exact method.",
    ),
    (
        "reward",
        "Reward models",
        "The same for the reward of a step.",
    ),
    (
        "policy",
        "Policies",
        "A network and three libraries of terms learn by acting (TD3) to swing the pendulum up and hold it. What is left of a library is a formula.",
    ),
    (
        "analysis",
        "Analysis of the best policy",
        "What can be said of the best formula before it is put to work: where the loop rests, which states reach the top, and where that is proved.",
    ),
];

/// What the page of the whole tutorial begins with.
const ABOUT: &str = "What L0 regularization does, from its pictures to a control law that is proved stable. Every parameter of a model gets a gate that can be exactly zero; training pays for each open gate, and what stays open is the model. The world is a pendulum that is to be swung up and held.";

/// What is said of a quick one.
const QUICK: &str = "This is the quick run, with 25 of 500 epochs and 140 of 250 episodes. Many gates of the networks and of the sampled dictionaries have not closed yet, and the published results beside them took the full time, which ell0 tutorial without --quick takes, too.";

/// The drawings of the method in their order: files, and headings.
const FIGURES: [(&str, &str); 6] = [
    ("penalties", "Penalties"),
    ("spike-and-slab", "Spike and slab"),
    ("gates", "Gates"),
    ("densities", "Densities"),
    ("estimators", "Estimators of the gradient"),
    ("closing", "Gates that close"),
];

/// The command line, as it could be typed again.
pub fn command_line() -> String {
    let quoted = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("ell0".to_string())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The title of the whole tutorial.
const TUTORIAL: &str = "The ell0 tutorial";

/// What a folder says about itself.
pub struct Report {
    pub title: String,
    about: Option<String>,
    pub command: Option<String>,
    pub sections: Vec<Section>,
}

impl Report {
    /// The report of a run's folder, whatever run it is.
    pub fn of(folder: &Path) -> anyhow::Result<Self> {
        let (title, sections) = sections(folder)
            .with_context(|| format!("cannot make a report of {}", folder.display()))?;
        Ok(Report {
            about: (title == TUTORIAL).then(|| about(folder)),
            title,
            command: std::fs::read_to_string(folder.join(COMMAND))
                .ok()
                .map(|c| c.trim().to_string()),
            sections,
        })
    }

    pub fn html(&self, refresh: Option<u32>) -> String {
        html(
            &self.title,
            self.about.as_deref(),
            self.command.as_deref(),
            &self.sections,
            refresh,
        )
    }
}

/// Writes the report of a folder into it.
pub fn write(folder: &Path) -> anyhow::Result<PathBuf> {
    let place = folder.join(FILE);
    write_whole(&place, Report::of(folder)?.html(None).as_bytes())?;
    Ok(place)
}

/// Notes how a run began, if nobody did before.
pub fn note_command(folder: &Path) -> anyhow::Result<()> {
    let place = folder.join(COMMAND);
    if !place.exists() {
        write_whole(&place, (command_line() + "\n").as_bytes())?;
    }
    Ok(())
}

fn sections(folder: &Path) -> anyhow::Result<(String, Vec<Section>)> {
    let has = |name: &str| folder.join(name).exists();
    let mut begun = false;
    if has("path.csv") && has("model.json") {
        return fit::sections(folder);
    }
    if has("analysis.json") {
        return analysis::sections(folder);
    }
    if has("config.toml") {
        let text = read(folder, "config.toml")?;
        let config: toml::Value = toml::from_str(&text).context("config.toml")?;
        if config.get("agents").is_some() {
            return train::sections(folder, &config);
        }
        if config.get("task").is_some() {
            return models::sections(folder, &config);
        }
        begun = config.get("tutorial").is_some();
    }
    if has("results.json") && has(&format!("figures/{}.svg", FIGURES[0].0)) {
        return figures(folder);
    }
    let mut all = Vec::new();
    for (stage, name, about) in STAGES {
        let inside = folder.join(stage);
        if inside.is_dir() {
            let (_, sections) = sections(&inside)?;
            all.extend(sections.into_iter().map(|s| s.within(name, about)));
        }
    }
    if all.is_empty() && begun {
        all.push(Section::new("Under way").text("No stage is finished yet."));
    }
    if all.is_empty() {
        bail!(
            "it holds no run: expected the folder of `ell0 fit`, `train`, `tutorial` or `analyze`"
        );
    }
    Ok((TUTORIAL.into(), all))
}

/// What is said of a run without results: whether a process is at work on it.
fn unfinished(folder: &Path) -> Section {
    if is_held(folder) {
        Section::new("Under way")
            .text("This run is not finished; what follows is what it has done so far.")
    } else {
        Section::new("Not finished")
            .text("No process is at work on this run; what follows is what it has done so far. The command that began it goes on with it, with --resume.")
    }
}

/// What the whole tutorial shows.
fn about(folder: &Path) -> String {
    let config = std::fs::read_to_string(folder.join("config.toml")).unwrap_or_default();
    let config: toml::Table = config.parse().unwrap_or_default();
    match config.get("quick").and_then(toml::Value::as_bool) {
        Some(true) => format!("{ABOUT}\n{QUICK}"),
        _ => ABOUT.into(),
    }
}

/// The drawings of the method.
fn figures(folder: &Path) -> anyhow::Result<(String, Vec<Section>)> {
    let results = json(folder, "results.json")?.unwrap_or_default();
    let mut sections = Vec::new();
    for (name, heading) in FIGURES {
        let svg = read(folder, &format!("figures/{name}.svg"))?;
        let says = results["figures"][name]["says"].as_str().unwrap_or("");
        sections.push(Section::new(heading).text(says).svg(&svg));
    }
    Ok(("The method in figures".into(), sections))
}

/// The laws of all models in a folder, if there are any.
fn equations(folder: &Path, heading: &str) -> Option<Section> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    let mut section = None;
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        if let Ok(text) = std::fs::read_to_string(&file)
            && let Ok(model) = Model::from_json(&text)
        {
            let so_far = section.unwrap_or_else(|| Section::new(heading));
            section = Some(so_far.equations(&name, &model));
        }
    }
    section
}

fn read(folder: &Path, name: &str) -> anyhow::Result<String> {
    let place = folder.join(name);
    std::fs::read_to_string(&place).with_context(|| format!("cannot read {}", place.display()))
}

/// A file of JSON, if it is there.
fn json(folder: &Path, name: &str) -> anyhow::Result<Option<Value>> {
    if !folder.join(name).exists() {
        return Ok(None);
    }
    let value = serde_json::from_str(&read(folder, name)?);
    Ok(Some(value.with_context(|| format!("{name} is not JSON"))?))
}

/// Lines of JSON; none if the file is not there yet.
fn lines(folder: &Path, name: &str) -> anyhow::Result<Vec<Value>> {
    if !folder.join(name).exists() {
        return Ok(Vec::new());
    }
    read(folder, name)?
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("{name} is not JSON")))
        .collect()
}

/// A number for a table.
fn number(value: &Value, digits: usize) -> String {
    match value.as_f64() {
        Some(v) if v != 0.0 && (v.abs() < 1e-3 || v.abs() >= 1e6) => format!("{v:.2e}"),
        Some(v) => format!("{v:.digits$}"),
        None => "–".into(),
    }
}

/// A whole number, or text, for a table.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "–".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
