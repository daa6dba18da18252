//! Runs of **ell0**: settings in, a typed result out, and a folder with its page if wanted.
//!
//! Everything that the command line does can be called from here; there are no options, no terminal and no clock that was not given. Every run is a struct of settings (its TOML is the `config.toml` of
//! its folder) that is checked before anything is done. An [`Observer`] hears how a run goes and may stop it; what can be resumed is saved. Reading a folder gives the same value back that the run gave.
//!
//! | settings | result | what |
//! | --- | --- | --- |
//! | [`FitSettings`] | [`Discovery`] | the law behind measurements, in files or in memory |
//! | [`StatsSettings`] | [`Evidence`](ell0_data::evidence::Evidence) | statistics, to be fitted elsewhere |
//! | [`ScoreSettings`], [`SimulateSettings`], [`predict`] | [`Scores`], [`Simulation`](ell0::equation::Simulation) | a law at work |
//! | [`TrainSettings`] | [`TrainingRun`] | control policies, learned by acting |
//! | [`CollectSettings`], [`measure`], [`roll_out`], [`optimum`] | [`Evaluation`], [`Trajectory`](ell0_control::rollout::Trajectory), [`Optimum`] | worlds and policies at work |
//! | [`NetworkRunSettings`] | [`NetworkRun`] | sparse networks for tables, in files or in memory |
//! | [`NetworkSettings`] | [`SparseNetwork`] | a sparse network for rows in memory |
//! | [`NetworkScoreSettings`] | [`Quality`] | a sparse network at work |
//! | [`AnalyzeSettings`] | [`Analysis`] | what can be said of a policy or a law |
//! | [`ExportSettings`] | [`Exported`] | a model or policy in another language |
//! | [`FigureSettings`], [`ModelsSettings`], [`PolicySettings`], [`PdeSettings`], [`TutorialSettings`] | [`Figures`], [`ModelsRun`], [`TrainingRun`], [`PdeRun`], [`TutorialRun`] | the tutorial |
//! | [`GateSettings`] | [`GateStudy`] | a gate and the estimators of its gradient |
//! | [`Page`], [`compare`] | | the page of a run, several runs on one |
//!
//! From a table in memory to C:
//!
//! ```
//! use ell0_data::frame::Frame;
//! use ell0_run::{DataSettings, Exportable, ExportSettings, FitSettings, Silent, SimulateSettings, analyze_law};
//!
//! // A damped oscillator, sampled.
//! let t: Vec<f64> = (0..1000).map(|k| 0.01 * f64::from(k)).collect();
//! let x: Vec<f64> = t.iter().map(|t| (-0.1 * t).exp() * (2.0 * t).cos()).collect();
//! let v: Vec<f64> = t.iter().map(|t| (-0.1 * t).exp() * (-0.1 * (2.0 * t).cos() - 2.0 * (2.0 * t).sin())).collect();
//! let table = Frame::new([("t", t), ("x", x), ("v", v)]);
//! let data = DataSettings { states: vec!["x".into(), "v".into()], library: "polynomial(2)".parse()?, ..DataSettings::default() };
//!
//! let found = FitSettings { data, ..FitSettings::default() }.run_on(&[table], &Silent)?;
//! assert_eq!(found.model.text(2), "x' = 1*v\nv' = -4*x - 0.2*v");
//!
//! let analyzed = analyze_law(&found.model, &[], &Silent)?;
//! let ell0_run::Findings::Law(law) = &analyzed.analysis.findings else { unreachable!() };
//! assert!(law.equilibria[0].stable);
//!
//! let simulation = SimulateSettings { initial: vec![("x".into(), 1.0), ("v".into(), 0.0)], duration: Some(1.0), ..SimulateSettings::default() };
//! assert_eq!(simulation.run(&found.model)?.states.len(), 101);
//!
//! let folder = tempfile::tempdir().expect("a folder");
//! let exported = ExportSettings::default().run(&Exportable::Equations(found.model), folder.path())?;
//! assert!(exported.files[0].ends_with("model.h"));
//! # Ok::<(), ell0_run::Error>(())
//! ```

mod analyze;
mod data;
mod error;
mod export;
mod files;
mod fit;
mod folder;
mod gates;
mod input_noise;
mod jobs;
mod learning;
mod metrics;
mod model;
mod network;
mod observer;
mod out_file;
mod report;
mod score;
mod simulate;
mod stats;
mod stopwatch;
mod text;
mod train;
mod tutorial;
mod worlds;

pub use analyze::{
    Analysis, AnalyzeSettings, Analyzed, BasinReport, EquilibriumReport, FieldAnalysis,
    FieldEquilibriumReport, Findings, FixedPointReport, LawAnalysis, LimitsReport, LoopAnalysis,
    ParameterReport, ProofSettings, Recording, RegionEnding, RegionReport, ReturnReport, Subject,
    TermReport, UncertainReport, ValidityReport, analyze_field, analyze_law, analyze_loop,
    analyze_policy,
};
pub use data::{DataSettings, Kind, Source};
pub use error::{Error, Result};
pub use export::{ExportSettings, Exportable, Exported};
pub use files::quoted;
pub use fit::{
    Alternative, Choice, Course, Criterion, DataSummary, DiscoveredEquation, DiscoveredTerm,
    Discovery, Doubt, FitSettings, Followed, FollowedRun, FollowedTarget, InputCaution, Judged,
    Judgement, LeftOut, Outlier, PathLine, Pattern, Selected, Unfollowed, Verdict,
};
pub use folder::{Place, growing::Site, is_held};
pub use gates::{
    GateParameters, GateQuantities, GateSettings, GateStudy, GradientStudy, MeasuredEstimator,
    Quantile,
};
pub use input_noise::InputNoise;
pub use model::{Trained, predict, predict_to_file, read_model};
pub use network::{
    Calibration, ClassWeights, MeasuredOn, Names, NetworkData, NetworkEpoch, NetworkGates,
    NetworkResult, NetworkRun, NetworkRunSettings, NetworkScaling, NetworkSchedule,
    NetworkScoreSettings, NetworkSettings, NetworkTask, Quality, Scale, SparseNetwork,
};
pub use observer::{Event, Observer, Silent, Timed};
pub use out_file::OutFile;
pub use report::{
    COMMAND, FILE as PAGE, Page, Run, Section, at_most, compare, is_page, write as write_page,
};
pub use score::{Score, ScoreSettings, Scores};
pub use simulate::{SimulateSettings, shown_trajectory, trajectory_table};
pub use stats::StatsSettings;
pub use train::{
    AgentResult, AgentSettings, MetricLine, TrainPlan, TrainSettings, TrainedPolicy, TrainingRun,
    file_word,
};
pub use tutorial::{
    DrawnFigures, ENVIRONMENT as TUTORIAL_ENVIRONMENT, FigureNumbers, FigureSettings, Figures,
    Kind as ModelKind, ModelEpoch, ModelResult, ModelsRun, ModelsSettings, PdeMeasured, PdeProblem,
    PdeRow, PdeRun, PdeSettings, PolicySettings, Stage, StageResult, Task, Terms, Tutorial,
    TutorialRun, TutorialSettings, published_return,
};
pub use worlds::{
    CollectSettings, Evaluation, MeanReturn, Optimum, SituationReturn, law_policy, measure,
    optimum, roll_out, write_trajectory,
};
