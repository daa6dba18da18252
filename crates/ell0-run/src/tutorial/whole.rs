//! Everything, one stage after the other, on one page.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    FigureSettings, Figures, ModelsRun, ModelsSettings, PdeRun, PdeSettings, PolicySettings, Task,
    comparison, data::ENVIRONMENT, figures, pde,
};
use crate::{
    analyze::{self, Analysis, AnalyzeSettings, ProofSettings, Subject},
    error::{Error, Result},
    folder::{
        Lock, Place,
        growing::{Kind, Site, read_settings},
        lock,
        manifest::only_run,
    },
    observer::Observer,
    report::{self, Page, Run, Section},
    train::{self, TrainSettings, TrainingRun},
};

/// A stage of the tutorial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Penalties, gates and estimators, drawn.
    Figures,
    /// Transition models.
    Dynamics,
    /// Reward models.
    Reward,
    /// Policies.
    Policy,
    /// Analysis of the best policy.
    Analysis,
    /// Laws that control fields.
    Pde,
}

impl Stage {
    /// All stages in their order.
    pub const ALL: [Stage; 6] = [
        Stage::Figures,
        Stage::Dynamics,
        Stage::Reward,
        Stage::Policy,
        Stage::Analysis,
        Stage::Pde,
    ];

    /// Its name, which is that of its folder.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stage::Figures => "figures",
            Stage::Dynamics => "dynamics",
            Stage::Reward => "reward",
            Stage::Policy => "policy",
            Stage::Analysis => "analysis",
            Stage::Pde => "pde",
        }
    }

    /// What it is called.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Stage::Figures => "The method",
            Stage::Dynamics => "Transition models",
            Stage::Reward => "Reward models",
            Stage::Policy => "Policies",
            Stage::Analysis => "Analysis of the best policy",
            Stage::Pde => "Laws that control fields",
        }
    }

    /// What it shows.
    fn about(self) -> &'static str {
        match self {
            Stage::Figures => {
                "How a count of parameters becomes something that can be trained: penalties, random gates, their densities, the gradients, and gates that close."
            }
            Stage::Dynamics => {
                "Where the pendulum is after a step, from cos θ, sin θ, its speed and the torque: by a network, by a network with gates, and by equations from three libraries of terms, with sampled gates and by the exact method."
            }
            Stage::Reward => "The same for the reward of a step.",
            Stage::Policy => {
                "A network and three libraries of terms learn by acting (TD3) to swing the pendulum up and hold it. What is left of a library is a formula."
            }
            Stage::Analysis => {
                "What can be said of the best formula before it is put to work: where the loop rests, which states reach the top, and where that is proved."
            }
            Stage::Pde => {
                "Two partial differential equations with eight actuators and eight sensors: sparse laws, laws that all actuators share, and networks, where they were trained and beyond, without and with noise on the sensors."
            }
        }
    }

    /// Whether it has left its results in its folder.
    fn is_done(self, folder: &Path) -> bool {
        let name = match self {
            Stage::Analysis => "analysis.json",
            _ => "results.json",
        };
        folder.join(self.name()).join(name).exists()
    }
}

/// What a stage left.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time")]
pub enum StageResult {
    /// Of the figures.
    Figures(Figures),
    /// Of transition or reward models.
    Models(ModelsRun),
    /// Of the policies.
    Policies(TrainingRun),
    /// Of the analysis.
    Analysis(Analysis),
    /// Of the fields.
    Pde(PdeRun),
}

/// What the whole tutorial depends on.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `seed` | 0 | of everything random |
/// | `quick` | no | everything in under five minutes |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct TutorialSettings {
    pub seed: u64,
    pub quick: bool,
}

/// The settings as a folder of the whole tutorial begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begun {
    tutorial: Whose,
    seed: u64,
    quick: bool,
}

/// That a folder is one of the whole tutorial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Whose {
    Whole,
}

impl From<TutorialSettings> for Begun {
    fn from(settings: TutorialSettings) -> Self {
        Begun {
            tutorial: Whose::Whole,
            seed: settings.seed,
            quick: settings.quick,
        }
    }
}

/// What the page begins with.
const ABOUT: &str = "What L0 regularization does, from its pictures to a control law that is proved stable. Every parameter of a model gets a gate that can be exactly zero; training pays for each open gate, and what stays open is the model. The world is a pendulum that is to be swung up and held.";

/// What is said of a quick one.
const QUICK: &str = "This is the quick run, with 25 of 500 epochs and 140 of 250 episodes. Many gates of the networks and of the sampled dictionaries have not closed yet, and the published results beside them took the full time, as the whole tutorial does.";

/// The whole tutorial at work in its folder, which no other process writes to meanwhile.
#[must_use]
pub struct Tutorial {
    settings: TutorialSettings,
    folder: PathBuf,
    _lock: Lock,
}

impl TutorialSettings {
    /// Begins in a new folder, or goes on in one that was begun with the same settings.
    pub fn begin(&self, site: &Site) -> Result<Tutorial> {
        let folder = &site.folder;
        let asked = Begun::from(*self);
        let lock = if folder.exists() && !site.replace {
            let begun: Begun = read_settings(folder, "a whole tutorial")?;
            if begun != asked {
                let says = |b: &Begun| {
                    let quick = if b.quick { "quick" } else { "not quick" };
                    format!("the tutorial with seed {}, {quick}", b.seed)
                };
                return Err(Error::OtherRun {
                    folder: folder.clone(),
                    found: says(&begun),
                    asked: says(&asked),
                });
            }
            site.go_on(&[])?
        } else {
            site.begin(&kind(), "tutorial", &asked)?
        };
        Ok(Tutorial {
            settings: *self,
            folder: folder.clone(),
            _lock: lock,
        })
    }

    /// All stages that are not done yet, and the page.
    pub fn run(&self, site: &Site, observer: &dyn Observer) -> Result<TutorialRun> {
        let tutorial = self.begin(site)?;
        for stage in Stage::ALL {
            if !tutorial.is_done(stage) {
                let _ = tutorial.run_stage(stage, observer)?;
            }
        }
        tutorial.finish()?;
        TutorialRun::read(&site.folder)
    }
}

impl Tutorial {
    /// Whether a stage has left its results.
    #[must_use]
    pub fn is_done(&self, stage: Stage) -> bool {
        stage.is_done(&self.folder)
    }

    /// Runs a stage, or goes on with it, and writes the page of all that is there.
    pub fn run_stage(&self, stage: Stage, observer: &dyn Observer) -> Result<StageResult> {
        let inside = self.folder.join(stage.name());
        let TutorialSettings { seed, quick } = self.settings;
        let site = Site::new(&inside);
        // Folders of short stages appear whole: what is there is an old one.
        let place = Place::Named {
            folder: inside.clone(),
            replace: true,
        };
        let result = match stage {
            Stage::Figures => {
                let drawn = FigureSettings { seed, quick }.run(observer)?;
                drawn.write(&place, None)?;
                StageResult::Figures(drawn.results)
            }
            Stage::Dynamics | Stage::Reward => {
                let task = match stage {
                    Stage::Reward => Task::Reward,
                    _ => Task::Dynamics,
                };
                let settings = ModelsSettings {
                    seed,
                    ..ModelsSettings::new(task)
                };
                let settings = if quick { settings.quick() } else { settings };
                StageResult::Models(if inside.exists() {
                    ModelsSettings::resume(&site, task, Some(seed), observer)?
                } else {
                    settings.run(&site, observer)?
                })
            }
            Stage::Policy => {
                let settings = PolicySettings {
                    seed,
                    quick,
                    ..PolicySettings::default()
                };
                StageResult::Policies(if inside.exists() {
                    TrainSettings::resume(&site, PolicySettings::COMMAND, None, observer)?
                } else {
                    settings.training()?.run(Some(&site), observer)?
                })
            }
            Stage::Analysis => {
                let policy = best_policy(&self.folder.join(Stage::Policy.name()))?;
                let settings = AnalyzeSettings {
                    environment: Some(ENVIRONMENT.into()),
                    proof: ProofSettings {
                        seconds: if quick { 3.0 } else { 20.0 },
                        ..ProofSettings::default()
                    },
                    ..AnalyzeSettings::new(Subject::File(policy))
                };
                let analyzed = settings.run(observer)?;
                analyzed.write(&place, None)?;
                StageResult::Analysis(analyzed.analysis)
            }
            Stage::Pde => {
                let settings = PdeSettings {
                    seed,
                    ..if quick {
                        PdeSettings::quick()
                    } else {
                        PdeSettings::default()
                    }
                };
                StageResult::Pde(if inside.exists() {
                    PdeSettings::resume(&site, observer)?
                } else {
                    settings.run(&site, observer)?
                })
            }
        };
        // A page after each stage: there is something to look at early.
        report::write(&self.folder)?;
        Ok(result)
    }

    /// Writes the page of everything, and those of stages that were ended before theirs was there. Says where it is.
    pub fn finish(&self) -> Result<PathBuf> {
        for stage in Stage::ALL {
            let inside = self.folder.join(stage.name());
            if self.is_done(stage) && !inside.join(report::FILE).exists() {
                report::write(&inside)?;
            }
        }
        report::write(&self.folder)
    }
}

/// What the whole tutorial leaves in its folder.
fn kind() -> Kind {
    let stages = Stage::ALL.iter().map(|stage| stage.name());
    let files = ["config.toml", report::FILE, report::COMMAND];
    Kind {
        name: "tutorial",
        files: stages.chain(files).map(String::from).collect(),
        inside: &[],
        check: only_stages,
    }
}

/// Whether the folders of the stages hold nothing but what these leave, and no process is writing to them.
fn only_stages(folder: &Path) -> Result<()> {
    let _: Begun = read_settings(folder, "a whole tutorial")?;
    for stage in Stage::ALL {
        let inside = folder.join(stage.name());
        if !inside.is_dir() {
            continue;
        }
        match stage {
            Stage::Figures => only_run(&inside, figures::KIND)?,
            Stage::Analysis => only_run(&inside, analyze::KIND)?,
            Stage::Dynamics | Stage::Reward => comparison::kind().only_run(&inside)?,
            Stage::Policy => train::kind().only_run(&inside)?,
            Stage::Pde => pde::kind().only_run(&inside)?,
        }
        let _held = lock(&inside)?;
    }
    Ok(())
}

/// The file of the policy in closed form with the largest return.
fn best_policy(folder: &Path) -> Result<PathBuf> {
    let run = TrainingRun::read(folder).map_err(|_| Error::NoRun {
        folder: folder.into(),
        expected: "policies, which the analysis needs".into(),
    })?;
    let rows = run.rows().iter().zip(&run.policies);
    let best = rows
        .filter(|(_, policy)| policy.law.is_some())
        .max_by(|(a, _), (b, _)| a.return_mean.total_cmp(&b.return_mean));
    let (_, best) = best.ok_or(Error::Settings("no policy in closed form was trained"))?;
    Ok(folder.join("policies").join(format!("{}.json", best.name)))
}

/// The whole tutorial in its folder, finished or under way.
#[derive(Clone, Debug)]
pub struct TutorialRun {
    /// What it began with.
    pub settings: TutorialSettings,
    /// The stages that have begun, with what they hold.
    pub stages: Vec<(Stage, Box<Run>)>,
}

impl TutorialRun {
    /// Reads the tutorial in a folder, as far as it has come.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let begun: Begun = read_settings(folder, "a whole tutorial")?;
        let mut stages = Vec::new();
        for stage in Stage::ALL {
            let inside = folder.join(stage.name());
            if inside.is_dir() {
                stages.push((stage, Box::new(Run::read(&inside)?)));
            }
        }
        Ok(TutorialRun {
            settings: TutorialSettings {
                seed: begun.seed,
                quick: begun.quick,
            },
            stages,
        })
    }

    pub(crate) fn page(&self, folder: &Path) -> Result<Page> {
        let mut sections = Vec::new();
        for (stage, run) in &self.stages {
            let page = run.page(&folder.join(stage.name()))?;
            let within = |s: Section| s.within(stage.title(), stage.about());
            sections.extend(page.sections.into_iter().map(within));
        }
        if sections.is_empty() {
            sections.push(Section::new("Under way").text("No stage is finished yet."));
        }
        let mut page = Page::new("The ell0 tutorial", sections);
        page.about.push(ABOUT.into());
        if self.settings.quick {
            page.about.push(QUICK.into());
        }
        Ok(page)
    }
}
