//! All models of a task, trained side by side.

use std::{
    fmt::Write as _,
    io::{IsTerminal, stderr},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use anyhow::bail;
use ell0::training::EpochRecord;
use ell0_data::write::write_whole;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;

use super::{
    models::{Kind, Task},
    train::{Done, Row, Run},
};

/// Trains all models, as many at a time as there are cores. Every model has its own random stream, so the order does not matter.
pub fn side_by_side(run: &Run) -> anyhow::Result<Vec<Row>> {
    let bars = MultiProgress::new();
    let style =
        ProgressStyle::with_template("{prefix:26} {bar:24} {pos:>4}/{len:<4} {msg} ({eta} left)")
            .unwrap_or(ProgressStyle::default_bar());
    let bar = |kind: &Kind| {
        let length = match kind {
            Kind::Exact(_) => 1,
            _ => run.epochs,
        };
        let bar = bars.add(ProgressBar::new(length).with_style(style.clone()));
        bar.set_prefix(kind.name());
        bar
    };
    let bars: Vec<ProgressBar> = Kind::ALL.iter().map(bar).collect();
    let histories: Vec<Mutex<Vec<EpochRecord>>> =
        Kind::ALL.iter().map(|_| Mutex::default()).collect();
    let metrics = Mutex::new(Instant::now());
    let done: Vec<Mutex<Option<anyhow::Result<Done>>>> =
        Kind::ALL.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let plain = !stderr().is_terminal();
    let work = || {
        // The slowest come first, so that no core idles at the end.
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(&kind) = Kind::ALL.get(index) else {
                return;
            };
            let result = run.train(kind, |record| {
                if let Ok(mut history) = histories[index].lock() {
                    history.push(*record);
                }
                bars[index].set_position(record.epoch);
                bars[index].set_message(format!(
                    "test {:.2e}, {} active",
                    record.test_error.unwrap_or(f64::NAN),
                    record.active_weights
                ));
                // Now and then, for those who look at the file while it grows.
                if let Ok(mut written) = metrics.try_lock()
                    && written.elapsed().as_secs() >= 2
                {
                    let _ = write_metrics(run, &histories);
                    *written = Instant::now();
                }
            });
            if let Ok(done) = &result {
                let row = &done.row;
                bars[index].finish_with_message(format!(
                    "test {:.2e}, {} active",
                    row.test_mse, row.active
                ));
                if plain {
                    eprintln!(
                        "{}: test error {:.3e}, {} of {} parameters active, {:.1} s",
                        row.model, row.test_mse, row.active, row.parameters, row.seconds
                    );
                }
            }
            let failed = result.is_err();
            if let Ok(mut slot) = done[index].lock() {
                *slot = Some(result);
            }
            if failed {
                // The others need not begin what cannot be finished.
                next.store(Kind::ALL.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        (0..cores.min(Kind::ALL.len())).for_each(|_| drop(scope.spawn(work)));
    });
    bars.iter().for_each(|bar| bar.finish_and_clear());
    let mut rows = Vec::new();
    for (slot, history) in done.into_iter().zip(&histories) {
        let Ok(Some(result)) = slot.into_inner() else {
            continue;
        };
        let Done { row, history: all } = result?;
        if let Ok(mut history) = history.lock() {
            *history = all;
        }
        rows.push(row);
    }
    if rows.len() != Kind::ALL.len() {
        bail!("not all models were trained");
    }
    write_metrics(run, &histories)?;
    Ok(rows)
}

/// One line for each epoch of each model.
fn write_metrics(run: &Run, histories: &[Mutex<Vec<EpochRecord>>]) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Line<'a> {
        task: Task,
        model: &'a str,
        #[serde(flatten)]
        record: &'a EpochRecord,
    }
    let mut text = String::new();
    for (kind, history) in Kind::ALL.iter().zip(histories) {
        let Ok(history) = history.lock() else {
            continue;
        };
        let model = kind.name();
        for record in history.iter() {
            let line = Line {
                task: run.task,
                model: &model,
                record,
            };
            let _ = writeln!(text, "{}", serde_json::to_string(&line)?);
        }
    }
    Ok(write_whole(
        run.folder.join("metrics.jsonl"),
        text.as_bytes(),
    )?)
}
