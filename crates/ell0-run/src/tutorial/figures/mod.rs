//! What Botteghi and Fasel (2024) explain about gates, drawn from the functions that train them.

mod closing;
mod densities;
mod estimators;
mod gates;
mod histogram;
mod penalties;
mod spike_and_slab;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ell0::{gates::HardConcrete, rng::Stream};
use ell0_plot::{Figure, Series};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::Result,
    files,
    folder::{Folder, Place},
    observer::{Observer, Task},
    report::{Page, Section},
};

/// The drawings of the method.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `seed` | 0 | of the samples, the estimates and the training |
/// | `quick` | no | fewer samples and steps: the same figures, less smooth |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct FigureSettings {
    pub seed: u64,
    pub quick: bool,
}

/// The numbers behind the drawings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Seed of everything random.
    pub seed: u64,
    /// Whether it was a quick run.
    pub quick: bool,
    /// The distribution of the gates.
    pub gate: HardConcrete,
    /// The figures by their names.
    pub figures: BTreeMap<String, FigureNumbers>,
}

/// What a figure says, and the numbers that it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureNumbers {
    /// Its files within the folder.
    pub files: [String; 2],
    /// One sentence, with the numbers that it rests on.
    pub says: String,
    /// All numbers; each figure has its own.
    pub numbers: Value,
}

/// Drawings with their numbers, not yet written.
#[derive(Clone, Debug)]
pub struct DrawnFigures {
    /// The numbers.
    pub results: Figures,
    /// Names and drawings, in the order of the paper.
    pub drawings: Vec<(&'static str, Figure)>,
}

/// What all figures share.
struct Setting<'a> {
    gate: HardConcrete,
    seed: u64,
    quick: bool,
    drawing: Task<'a>,
}

impl Setting<'_> {
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

/// The name of a figure, its heading, and how it is drawn.
struct Plate {
    name: &'static str,
    heading: &'static str,
    draw: fn(&Setting) -> Result<Drawn>,
}

/// The figures, in the order of the paper.
const FIGURES: [Plate; 6] = [
    Plate {
        name: "penalties",
        heading: "Penalties",
        draw: penalties::draw,
    },
    Plate {
        name: "spike-and-slab",
        heading: "Spike and slab",
        draw: spike_and_slab::draw,
    },
    Plate {
        name: "gates",
        heading: "Gates",
        draw: gates::draw,
    },
    Plate {
        name: "densities",
        heading: "Densities",
        draw: densities::draw,
    },
    Plate {
        name: "estimators",
        heading: "Estimators of the gradient",
        draw: estimators::draw,
    },
    Plate {
        name: "closing",
        heading: "Gates that close",
        draw: closing::draw,
    },
];

/// What such a run is called.
pub(super) const KIND: &str = "figures";

/// The folder of the drawings inside it.
const INSIDE: &str = "figures";

fn file(name: &str, extension: &str) -> String {
    format!("{name}.{extension}")
}

impl FigureSettings {
    /// Whether the folder of the figures could be put there: asked before the work begins.
    pub fn check_place(&self, place: &Place) -> Result<()> {
        place.check(KIND, [])
    }

    /// Draws all figures.
    pub fn run(&self, observer: &dyn Observer) -> Result<DrawnFigures> {
        let steps = FIGURES.len() as u64 + estimators::STEPS;
        let setting = Setting {
            gate: HardConcrete::default(),
            seed: self.seed,
            quick: self.quick,
            drawing: Task::begin(observer, "drawing", Some(steps)),
        };
        let (mut figures, mut drawings) = (BTreeMap::new(), Vec::new());
        for plate in &FIGURES {
            let drawn = (plate.draw)(&setting)?;
            let files = ["svg", "png"].map(|e| format!("{INSIDE}/{}", file(plate.name, e)));
            let numbers = FigureNumbers {
                files,
                says: drawn.says,
                numbers: drawn.numbers,
            };
            figures.insert(plate.name.to_string(), numbers);
            drawings.push((plate.name, drawn.figure));
            setting.drawing.advance(1);
            setting.drawing.go_on()?;
        }
        Ok(DrawnFigures {
            results: Figures {
                seed: self.seed,
                quick: self.quick,
                gate: setting.gate,
                figures,
            },
            drawings,
        })
    }
}

impl DrawnFigures {
    /// Writes the folder of the figures: each as SVG and PNG, the numbers, the page. Says where it is.
    pub fn write(&self, place: &Place, command: Option<&str>) -> Result<PathBuf> {
        let mut folder = Folder::new(place, KIND, [])?;
        for (name, figure) in &self.drawings {
            folder.draw(&format!("{INSIDE}/{name}"), figure)?;
        }
        folder.put("results.json", files::to_json(&self.results)?)?;
        folder.report(command)?;
        folder.finish()
    }
}

impl Figures {
    /// Whether a folder holds figures.
    pub(crate) fn is_folder(folder: &Path) -> bool {
        let first = folder.join(INSIDE).join(file(FIGURES[0].name, "svg"));
        folder.join("results.json").exists() && first.exists()
    }

    /// Reads the numbers in a folder of figures.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        files::read_json(&folder.as_ref().join("results.json"))
    }

    /// Names of the figures in their order, and what each says.
    pub fn sentences(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let says = |plate: &Plate| self.figures.get(plate.name).map(|f| f.says.as_str());
        FIGURES
            .iter()
            .map(move |plate| (plate.name, says(plate).unwrap_or_default()))
    }

    pub(crate) fn page(&self, folder: &Path) -> Result<Page> {
        let mut sections = Vec::new();
        for (plate, (name, says)) in FIGURES.iter().zip(self.sentences()) {
            let svg = files::read(&folder.join(INSIDE).join(file(name, "svg")))?;
            sections.push(Section::new(plate.heading).text(says).svg(&svg));
        }
        Ok(Page::new("The method in figures", sections))
    }
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
