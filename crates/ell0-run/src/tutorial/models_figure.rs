//! The comparison as the two bar charts of the paper's figure.

use ell0_plot::{Axis, Chart, Figure, Series};

use super::{
    ModelResult,
    models::{Kind, Task},
};

/// Train and test errors, logarithmic, next to the published ones.
pub fn figure(task: Task, rows: &[ModelResult]) -> Figure {
    let short = |kind: &Kind| match kind {
        Kind::Network => "NN".into(),
        Kind::SparseNetwork => "sparse NN".into(),
        _ => kind
            .name()
            .replace("polynomial", "poly.")
            .replace("fourier", "Fourier"),
    };
    let chart =
        |title: &str, ours: &dyn Fn(&ModelResult) -> f64, theirs: &dyn Fn((f64, f64)) -> f64| {
            let here = rows.iter().enumerate();
            let published = Kind::ALL.iter().enumerate();
            Chart::new(
                title,
                Axis::categories(Kind::ALL.iter().map(short)),
                Axis::log("mean squared error, best epoch"),
            )
            .with(Series::bars(
                "ell0",
                here.map(|(k, row)| (k as f64, ours(row))),
            ))
            .with(Series::bars(
                "published",
                published.filter_map(|(k, kind)| Some((k as f64, theirs(kind.published(task)?)))),
            ))
        };
    let what = match task {
        Task::Dynamics => "transition model",
        Task::Reward => "reward model",
    };
    Figure::new(vec![
        chart(
            &format!("Training error of the {what}"),
            &|r| r.best_train_mse,
            &|p| p.0,
        ),
        chart(
            &format!("Test error of the {what}"),
            &|r| r.best_test_mse,
            &|p| p.1,
        ),
    ])
    .with_columns(1)
    .with_size(900.0, 330.0)
}
