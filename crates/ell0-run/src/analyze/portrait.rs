//! The phase portrait: what is proved, by the steps it takes, what is only simulated, sample trajectories.

use ell0_control::analysis::{Basin, Equilibrium, Map, Plant, ProvedRegion, Range, Stability};
use ell0_plot::{Axis, Chart, Figure, Series};
use ell0_reach::Basin as ProvedBasin;

/// Points of the edge of a proved region.
const OUTLINE: usize = 180;

/// Steps of a sample trajectory.
const STEPS: usize = 200;

/// How dense the colour is where trajectories are proved to arrive at once, where they are last, and where that is only simulated.
const PROVED: (f64, f64) = (0.75, 0.3);
const SIMULATED: f64 = 0.35;

/// Points along each side of a cell of the picture at which it is asked what is proved.
const LOOKS: usize = 4;

/// What is proved of a cell of the picture.
struct Part {
    /// The share of it.
    proved: f64,
    /// How dense the colour is.
    density: f64,
}

/// What is proved of a loop.
pub struct Proved<'a> {
    /// That it stays in the ellipse.
    pub region: Option<&'a ProvedRegion>,
    /// That it arrives there.
    pub basin: Option<&'a ProvedBasin>,
}

/// The first two states of a loop.
pub fn figure(
    plant: &Plant,
    map: &Map,
    equilibria: &[Equilibrium],
    basin: &Basin,
    proved: &Proved,
) -> Figure {
    let axis = |k: usize| {
        let state = plant.states().get(k);
        let Range { low, high } = state.map_or(Range::symmetric(1.0), |s| s.bounds);
        let name = state.map_or("", |s| s.name.as_str());
        // A little more than the bounds, so that what lies on them is seen whole.
        let room = 0.02 * (high - low);
        (
            Axis::linear(name).within(low - room, high + room),
            low,
            high,
        )
    };
    let ((x, x_low, x_high), (y, y_low, y_high)) = (axis(0), axis(1));
    let n = basin.points;
    let size = ((x_high - x_low) / n as f64, (y_high - y_low) / n as f64);
    let mut chart = Chart::new("What is proved, what is simulated, and trajectories", x, y);
    let middle = |cell: usize| {
        (
            x_low + size.0 * ((cell / n) as f64 + 0.5),
            y_low + size.1 * ((cell % n) as f64 + 0.5),
        )
    };
    // How dense the colour is at a point: what is proved may be thinner than a cell of the picture.
    let density_at = |x: f64, y: f64| {
        let mut state = vec![0.0; plant.states().len()];
        state[0] = x;
        if state.len() > 1 {
            state[1] = y;
        }
        let all = proved.basin?;
        let share = f64::from(all.steps_at(&state)?) / f64::from(all.steps.max(1));
        Some(PROVED.0 + (PROVED.1 - PROVED.0) * share)
    };
    let offset = |k: usize| (k as f64 + 0.5) / LOOKS as f64 - 0.5;
    let parts: Vec<Part> = (0..basin.ends.len())
        .map(|cell| {
            let (x, y) = middle(cell);
            let looks = (0..LOOKS * LOOKS).filter_map(|look| {
                let (i, j) = (look % LOOKS, look / LOOKS);
                density_at(x + size.0 * offset(i), y + size.1 * offset(j))
            });
            let (number, sum) = looks.fold((0, 0.0), |(n, sum), density| (n + 1, sum + density));
            let all = (LOOKS * LOOKS) as f64;
            Part {
                proved: f64::from(number) / all,
                density: sum / all,
            }
        })
        .collect();
    if let Some(all) = proved.basin {
        let cells = parts.iter().enumerate().filter(|(_, p)| p.proved > 0.0);
        let cells = cells.map(|(cell, part)| {
            let (x, y) = middle(cell);
            (x, y, part.density)
        });
        let name = format!("proved, within {} steps (darker: sooner)", all.steps);
        chart = chart.with(Series::cells(&name, size, cells));
    }
    for (k, e) in equilibria.iter().enumerate().filter(|e| e.1.is_stable()) {
        let cells = basin.ends.iter().zip(&parts).enumerate();
        let cells = cells.filter(|(_, (end, part))| **end == Some(k) && part.proved < 1.0);
        let cells = cells.map(|(cell, (_, part))| {
            let (x, y) = middle(cell);
            (x, y, SIMULATED * (1.0 - part.proved))
        });
        let state: Vec<String> = e.state.iter().map(|v| format!("{v:.2}")).collect();
        chart = chart.with(Series::cells(
            &format!("simulated to end at ({})", state.join(", ")),
            size,
            cells,
        ));
    }
    if let Some(region) = proved.region {
        let outline = region.outline(OUTLINE).into_iter().map(|[x, y]| (x, y));
        chart = chart.with(Series::line("proved to be kept", outline));
    }
    let mut name = "trajectories";
    for (a, b) in [
        (0.98, 0.5),
        (0.02, 0.5),
        (0.7, 0.85),
        (0.3, 0.15),
        (0.85, 0.2),
        (0.15, 0.8),
    ] {
        let mut state = vec![0.0; plant.states().len()];
        state[0] = x_low + (x_high - x_low) * a;
        if state.len() > 1 {
            state[1] = y_low + (y_high - y_low) * b;
        }
        let mut points = Vec::new();
        let middle = vec![0.0; state.len()];
        for _ in 0..STEPS {
            let shown = plant.difference(&state, &middle);
            let point = (shown[0], shown.get(1).copied().unwrap_or(0.0));
            // An angle that comes round begins a new line.
            if let Some(&(before, _)) = points.last()
                && f64::abs(point.0 - before) > 0.5 * (x_high - x_low)
            {
                points.push((f64::NAN, f64::NAN));
            }
            points.push(point);
            state = map.next(&state);
        }
        chart = chart.with(Series::line(name, points));
        name = "";
    }
    let at = |e: &Equilibrium| (e.state[0], e.state.get(1).copied().unwrap_or(0.0));
    for (name, stability) in [
        ("unstable equilibria", Stability::Unstable),
        ("undecided equilibria", Stability::Undecided),
    ] {
        let of = equilibria.iter().filter(|e| e.stability == stability);
        let points: Vec<(f64, f64)> = of.map(at).collect();
        if stability == Stability::Unstable || !points.is_empty() {
            chart = chart.with(Series::dots(name, points));
        }
    }
    for (x, y) in equilibria.iter().filter(|e| e.is_stable()).map(at) {
        chart = chart.with_mark(x, y, "stable");
    }
    Figure::new(vec![chart]).with_size(640.0, 500.0)
}
