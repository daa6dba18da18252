//! The figures of a run of networks.

use ell0_plot::{Axis, Chart, Figure, Series};

use super::{NetworkEpoch, NetworkResult, NetworkRun, Quality, SparseNetwork};

/// Inputs that are drawn as a square are at least so many.
const SMALLEST_PICTURE: usize = 16;

impl NetworkRun {
    /// All figures with the names of their files.
    pub(super) fn figures(&self) -> Vec<(&'static str, Figure)> {
        let mut figures = Vec::new();
        let chosen = self.chosen();
        let name = chosen.map_or("network", |(result, _)| &result.name);
        let epochs: Vec<&NetworkEpoch> = self.metrics.iter().filter(|e| e.run == name).collect();
        if !epochs.is_empty() {
            figures.push(("learning", learning(&epochs)));
            figures.push(("gates", closing(&epochs)));
        }
        if let Some((result, network)) = chosen {
            figures.extend(calibration(result).map(|figure| ("calibration", figure)));
            figures.extend(picture(network).map(|figure| ("inputs", figure)));
        }
        if self.rows().len() > 1 {
            figures.push(("path", path(self.rows())));
        }
        figures
    }
}

/// The error over the epochs.
fn learning(epochs: &[&NetworkEpoch]) -> Figure {
    let points = |value: &dyn Fn(&NetworkEpoch) -> Option<f64>| -> Vec<(f64, f64)> {
        let of = |e: &&NetworkEpoch| Some((e.record.epoch as f64, value(e)?));
        epochs.iter().filter_map(of).filter(|p| p.1 > 0.0).collect()
    };
    let mut chart = Chart::new(
        "Error while learning",
        Axis::linear("epoch"),
        Axis::log("error"),
    )
    .with(Series::line(
        "training, with gates as drawn",
        points(&|e| Some(e.record.train_error)),
    ));
    let held = points(&|e| e.record.test_error);
    if !held.is_empty() {
        chart = chart.with(Series::line("held out, with gates of test time", held));
    }
    Figure::new(vec![chart]).with_size(720.0, 320.0)
}

/// Open inputs of each layer over the epochs.
fn closing(epochs: &[&NetworkEpoch]) -> Figure {
    let layers = epochs.first().map_or(0, |e| e.record.open_inputs.len());
    let mut chart = Chart::new("Gates closing", Axis::linear("epoch"), Axis::linear("open"));
    for layer in 0..layers {
        let name = match layer {
            0 => "inputs".to_string(),
            layer => format!("units of hidden layer {layer}"),
        };
        let open = |e: &&NetworkEpoch| {
            let open = e.record.open_inputs.get(layer).copied().unwrap_or(0);
            (e.record.epoch as f64, open as f64)
        };
        chart = chart.with(Series::line(&name, epochs.iter().map(open)));
    }
    Figure::new(vec![chart]).with_size(720.0, 320.0)
}

/// How often what is said with some probability is right.
fn calibration(result: &NetworkResult) -> Option<Figure> {
    let Quality::Classification { calibration, .. } = &result.quality else {
        return None;
    };
    let bins = calibration.bins.iter().filter(|(rows, _, _)| *rows > 0);
    let points = bins.map(|(_, probability, right)| (*probability, *right));
    let share = |label: &str| Axis::linear(label).within(0.0, 1.0);
    let chart = Chart::new(
        "Calibration",
        share("probability of what is said"),
        share("share that is right"),
    )
    .with(Series::line("as it should be", [(0.0, 0.0), (1.0, 1.0)]))
    .with(Series::dotted("this network", points));
    Some(Figure::new(vec![chart]).with_size(420.0, 380.0))
}

/// Inputs that make up a square, as pixels do: how strongly each is read.
fn picture(network: &SparseNetwork) -> Option<Figure> {
    let inputs = network.names.inputs.len();
    let side = inputs.isqrt();
    if side * side != inputs || inputs < SMALLEST_PICTURE {
        return None;
    }
    let strengths = network.input_strengths();
    let largest = strengths.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let cells = strengths.iter().enumerate().map(|(k, strength)| {
        let (row, column) = (k / side, k % side);
        // From above, as images stand; what is read at all can be seen.
        let shade = match *strength > 0.0 {
            true => 0.15 + 0.85 * strength / largest,
            false => 0.0,
        };
        (column as f64, (side - 1 - row) as f64, shade)
    });
    let axis = |label: &str| Axis::linear(label).within(-0.5, side as f64 - 0.5);
    let chart = Chart::new(
        "Inputs that are read, as a square",
        axis("column"),
        axis("row, from below"),
    )
    .with(Series::cells("inputs", (1.0, 1.0), cells));
    Some(Figure::new(vec![chart]).with_size(420.0, 420.0))
}

/// Error against size.
fn path(results: &[NetworkResult]) -> Figure {
    let points = |value: &dyn Fn(&NetworkResult) -> Option<f64>| -> Vec<(f64, f64)> {
        let of = |r: &NetworkResult| Some((r.parameters.max(1) as f64, value(r)?));
        let mut points: Vec<(f64, f64)> = results.iter().filter_map(of).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let what = match results.first().map(|r| &r.quality) {
        Some(Quality::Classification { .. }) => "share of wrong classes",
        _ => "mean squared error",
    };
    let mut chart = Chart::new(
        "Error against size",
        Axis::log("weights and biases that are left"),
        Axis::linear(what),
    )
    .with(Series::dotted("measured", points(&|r| Some(r.error()))));
    let held = points(&|r| r.validation_error);
    if !held.is_empty() {
        chart = chart.with(Series::dotted("held out, for the choice", held));
    }
    if let Some(chosen) = results.iter().find(|r| r.chosen) {
        chart = chart.with_mark(chosen.parameters.max(1) as f64, chosen.error(), "chosen");
    }
    Figure::new(vec![chart]).with_size(720.0, 380.0)
}
