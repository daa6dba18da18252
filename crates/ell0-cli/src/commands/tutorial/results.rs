//! The comparison as a table and as the two bar charts of the seed's figure.

use std::io::Write;

use comfy_table::{CellAlignment, Table, presets::UTF8_BORDERS_ONLY};
use ell0_plot::{Axis, Chart, Figure, Series};

use super::{
    models::{Kind, Task},
    train::Row,
};

pub fn table(out: &mut impl Write, task: Task, rows: &[Row]) -> anyhow::Result<()> {
    let mut grid = Table::new();
    grid.load_style(UTF8_BORDERS_ONLY).set_header([
        "model",
        "train MSE",
        "test MSE",
        "best test",
        "published",
        "all terms",
        "parameters",
        "active",
        "FLOPs",
        "seconds",
    ]);
    for column in grid.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for (kind, row) in Kind::ALL.iter().zip(rows) {
        let number = |v: f64| format!("{v:.2e}");
        grid.add_row([
            row.model.clone(),
            number(row.train_mse),
            number(row.test_mse),
            number(row.best_test_mse),
            kind.published(task)
                .map_or("–".into(), |(_, test)| number(test)),
            row.all_terms_test_mse.map_or("–".into(), number),
            row.parameters.to_string(),
            row.active.to_string(),
            format!("{:.0}", row.flops),
            format!("{:.1}", row.seconds),
        ]);
    }
    writeln!(out, "{grid}")?;
    writeln!(
        out,
        "train and test: after the last epoch; best test: the best epoch, as in the published figure; active and FLOPs: of the best epoch, closed gates removed.\n\"exact\" needs no epochs: gates by their expectation in closed form, and the path's choice of terms; all terms: the test error of least squares with every term kept.\n"
    )?;
    Ok(())
}

pub fn equations(out: &mut impl Write, rows: &[Row]) -> anyhow::Result<()> {
    for row in rows {
        if let Some(equations) = &row.equations {
            writeln!(out, "{}:", row.model)?;
            for line in equations.lines() {
                let terms = line.matches(" + ").count() + line.matches(" - ").count() + 1;
                if terms <= 14 {
                    writeln!(out, "  {line}")?;
                } else {
                    let name = line.split(" = ").next().unwrap_or_default();
                    writeln!(out, "  {name} = … ({terms} terms)")?;
                }
            }
        }
    }
    writeln!(out)?;
    Ok(())
}

/// Train and test errors, logarithmic, next to the published ones.
pub fn figure(task: Task, rows: &[Row]) -> Figure {
    let short = |kind: &Kind| match kind {
        Kind::Network => "NN".into(),
        Kind::SparseNetwork => "sparse NN".into(),
        _ => kind
            .name()
            .replace("polynomial", "poly.")
            .replace("fourier", "Fourier"),
    };
    let chart = |title: &str, ours: &dyn Fn(&Row) -> f64, theirs: &dyn Fn((f64, f64)) -> f64| {
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
