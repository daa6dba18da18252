//! `ell0 tutorial figures`: what the seed explains about gates, drawn from the functions that train them.

mod closing;
mod densities;
mod estimators;
mod gates;
mod histogram;
mod penalties;
mod spike_and_slab;

use std::{
    io::{Write, stdout},
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use ell0::{gates::HardConcrete, rng::Stream};
use ell0_plot::{Figure, Series};
use serde_json::{Map, Value, json};

use crate::{
    progress::Progress,
    report,
    run_dir::{RunDir, may_replace},
};

#[derive(Args)]
pub struct Figures {
    /// Folder of the figures
    #[arg(long, default_value = "runs/tutorial-figures")]
    out: PathBuf,
    /// Seed of the samples, the estimates and the training
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Fewer samples and steps: the same figures, less smooth
    #[arg(long)]
    quick: bool,
    /// Replace the folder if it exists
    #[arg(long)]
    force: bool,
    /// Print the numbers as JSON
    #[arg(long)]
    json: bool,
}

/// What all figures share.
struct Setting {
    gate: HardConcrete,
    seed: u64,
    quick: bool,
    progress: Progress,
}

impl Setting {
    /// The random stream of a figure: none depends on which others are drawn.
    fn stream(&self, figure: &str) -> Stream {
        Stream::new(self.seed).split("figures").split(figure)
    }

    /// So many, or fewer if it must be quick.
    fn many(&self, usual: usize, quick: usize) -> usize {
        if self.quick { quick } else { usual }
    }
}

/// A figure with what it says.
struct Drawn {
    figure: Figure,
    /// One sentence, with the numbers that it rests on.
    says: String,
    numbers: Value,
}

type Draw = fn(&Setting) -> anyhow::Result<Drawn>;

/// The figures, in the order of the seed.
const FIGURES: [(&str, Draw); 6] = [
    ("penalties", penalties::draw),
    ("spike-and-slab", spike_and_slab::draw),
    ("gates", gates::draw),
    ("densities", densities::draw),
    ("estimators", estimators::draw),
    ("closing", closing::draw),
];

/// What a run leaves in its folder, and in the folder inside it.
const OURS: &[&str] = &["figures", "results.json", report::FILE, report::COMMAND];
const INSIDE: &str = "figures";

fn file(name: &str, extension: &str) -> String {
    format!("{name}.{extension}")
}

/// Whether a folder holds nothing but figures.
pub fn may_throw_away(folder: &Path) -> anyhow::Result<()> {
    may_replace(folder, OURS)?;
    let inside = folder.join(INSIDE);
    if !inside.is_dir() {
        return Ok(());
    }
    let both = |(name, _): &(&str, Draw)| [file(name, "svg"), file(name, "png")];
    let files: Vec<String> = FIGURES.iter().flat_map(both).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    may_replace(&inside, &files)
}

impl Figures {
    pub fn run(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        if self.force && self.out.is_dir() {
            may_throw_away(&self.out)?;
        }
        let mut folder = RunDir::new(Some(&self.out), self.force, "tutorial-figures", OURS)?;
        let steps = FIGURES.len() as u64 + estimators::STEPS;
        let setting = Setting {
            gate: HardConcrete::default(),
            seed: self.seed,
            quick: self.quick,
            progress: Progress::new("drawing", Some(steps)),
        };
        let mut figures = Map::new();
        let mut sentences = Vec::new();
        for (name, draw) in FIGURES {
            let drawn = draw(&setting)?;
            let files = [file(name, "svg"), file(name, "png")].map(|f| format!("{INSIDE}/{f}"));
            folder.draw(&format!("{INSIDE}/{name}"), &drawn.figure)?;
            let object = json!({ "files": files, "says": drawn.says, "numbers": drawn.numbers });
            figures.insert(name.into(), object);
            sentences.push((name, drawn.says));
            setting.progress.advance(1);
        }
        let gate = setting.gate;
        drop(setting);
        let results = json!({
            "seed": self.seed,
            "quick": self.quick,
            "gate": gate,
            "figures": figures,
        });
        let text = serde_json::to_string_pretty(&results)? + "\n";
        folder.put("results.json", &text)?;
        folder.report()?;
        let place = folder.finish()?;
        let mut screen = stdout().lock();
        if self.json {
            screen.write_all(text.as_bytes())?;
            return Ok(());
        }
        self.print(&mut screen, &gate, &sentences)?;
        let seconds = began.elapsed().as_secs_f64();
        writeln!(
            screen,
            "{seconds:.1} s. Each as SVG and PNG in {}, all numbers in {}",
            place.join(INSIDE).display(),
            place.join("results.json").display()
        )?;
        Ok(())
    }

    fn print(
        &self,
        out: &mut impl Write,
        gate: &HardConcrete,
        sentences: &[(&str, String)],
    ) -> anyhow::Result<()> {
        writeln!(
            out,
            "Figures of the gates: β = {:.3}, γ = {}, ζ = {}; seed {}\n",
            gate.beta(),
            gate.gamma(),
            gate.zeta(),
            self.seed
        )?;
        for (name, says) in sentences {
            writeln!(out, "{name}")?;
            for line in wrapped(says, 96) {
                writeln!(out, "    {line}")?;
            }
        }
        writeln!(out)?;
        Ok(())
    }
}

/// Lines of whole words, none longer than `width` if its words are not.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// `n` values from `low` to `high`, both included.
fn grid(low: f64, high: f64, n: usize) -> impl Iterator<Item = f64> + Clone {
    let step = (high - low) / (n.max(2) - 1) as f64;
    (0..n).map(move |k| low + step * k as f64)
}

/// A point mass: a solid bar whose height is the probability.
fn mass(at: f64, width: f64, probability: f64) -> Series {
    Series::cells("", (width, probability), [(at, 0.5 * probability, 1.0)])
}

/// With a true minus sign, as the axes have.
fn signed(value: f64) -> String {
    value.to_string().replace('-', "−")
}
