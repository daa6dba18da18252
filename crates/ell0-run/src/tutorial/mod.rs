//! The experiments of Botteghi and Fasel, *Sparsifying parametric models with L0 regularization* (2024), one after the other.
//!
//! - [`FigureSettings`]: what they explain about gates, drawn.
//! - [`ModelsSettings`]: their section 4.1: a network, a network with gates, and dictionaries of polynomial and Fourier terms as transition and reward models of a pendulum.
//! - [`PolicySettings`]: their policies.
//! - [`PdeSettings`]: laws that control partial differential equations, of a second paper of theirs.
//! - [`TutorialSettings`]: all of it, and the analysis of the best policy, on one page.

mod comparison;
mod data;
mod figures;
mod model_result;
mod models;
mod models_figure;
mod models_page;
mod one_model;
mod pde;
mod policy;
mod whole;

pub use comparison::{ModelEpoch, ModelsRun, ModelsSettings};
pub use data::ENVIRONMENT;
pub use figures::{DrawnFigures, FigureNumbers, FigureSettings, Figures};
pub use model_result::ModelResult;
pub use models::{Kind, Task, Terms};
pub(crate) use models_page::error_text;
pub use pde::{PdeMeasured, PdeProblem, PdeRow, PdeRun, PdeSettings};
pub use policy::{PolicySettings, published_return};
pub use whole::{Stage, StageResult, Tutorial, TutorialRun, TutorialSettings};
