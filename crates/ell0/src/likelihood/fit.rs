//! The most likely coefficients on given supports: Gauss and Newton's method, damped, over the coefficients and the starts of all windows at once.

use rayon::prelude::*;

use super::{Window, flow::Flow, linear::Factored, slopes::Sums};

/// The most likely coefficients, with what they leave.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    pub coefficients: Vec<f64>,
    pub starts: Vec<Vec<f64>>,
    /// Σ of squared weighted residuals, over the windows that could be followed.
    pub squares: f64,
    /// Measurements in windows that could be followed, and such windows.
    pub counted: usize,
    pub followed: usize,
    /// Information of the coefficients, the starts eliminated: p × p.
    pub information: Vec<f64>,
    /// What windows cost that could not be followed.
    pub lost: f64,
}

const ITERATIONS: usize = 40;

/// A step that would lower the sum by less than this share of what one measurement adds to it ends the search.
const ENOUGH: f64 = 1e-3;

/// A search is given up when even so many times what the next step promises would not reach the goal.
const HOPE: f64 = 4.0;

/// Normal equations of all windows.
struct Whole {
    total: f64,
    windows: Vec<Option<Sums>>,
}

fn gather(
    flow: &Flow,
    windows: &[Window],
    starts: &[Vec<f64>],
    coefficients: &[f64],
    rows: &[usize],
) -> Whole {
    let sums: Vec<Option<Sums>> = windows
        .par_iter()
        .zip(starts)
        .map(|(window, start)| flow.sums(window, start, coefficients, rows))
        .collect();
    let total = windows.iter().zip(&sums).map(|(window, sums)| match sums {
        Some(sums) => sums.squares,
        None => window.lost(),
    });
    Whole {
        total: total.sum(),
        windows: sums,
    }
}

/// Normal equations of the coefficients, the starts eliminated.
pub(super) struct Reduced {
    /// A row for each coefficient that was asked for, a column for each.
    pub information: Vec<f64>,
    /// The diagonal, of all coefficients.
    pub diagonal: Vec<f64>,
    pub gradient: Vec<f64>,
    /// By how much better starts alone would lower the sum.
    promise: f64,
}

fn reduced(whole: &Whole, n: usize, p: usize, rows: &[usize], damping: f64) -> Reduced {
    let q = rows.len();
    let mut sum = Reduced {
        information: vec![0.0; q * p],
        diagonal: vec![0.0; p],
        gradient: vec![0.0; p],
        promise: 0.0,
    };
    let width = n + p;
    let mut column = vec![0.0; n];
    // A_ss⁻¹ A_sp, n × p.
    let mut solved = vec![0.0; n * p];
    for sums in whole.windows.iter().flatten() {
        let start = |a: usize| &sums.normal[a * width..][..width];
        let Some(factored) = of_start(sums, n, damping) else {
            continue;
        };
        for c in 0..p {
            (0..n).for_each(|a| column[a] = start(a)[n + c]);
            factored.solve(&mut column);
            (0..n).for_each(|a| solved[a * p + c] = column[a]);
        }
        for (at, (&row, out)) in rows
            .iter()
            .zip(sum.information.chunks_exact_mut(p.max(1)))
            .enumerate()
        {
            let own = &sums.normal[(n + at) * width + n..][..p];
            out.iter_mut().zip(own).for_each(|(out, own)| *out += own);
            for k in 0..n {
                let through = start(k)[n + row];
                let solved = &solved[k * p..][..p];
                out.iter_mut()
                    .zip(solved)
                    .for_each(|(out, s)| *out -= through * s);
            }
        }
        for c in 0..p {
            sum.diagonal[c] += sums.diagonal[n + c];
            sum.gradient[c] += sums.gradient[n + c];
            for k in 0..n {
                sum.diagonal[c] -= start(k)[n + c] * solved[k * p + c];
                sum.gradient[c] -= solved[k * p + c] * sums.gradient[k];
            }
        }
        column.copy_from_slice(&sums.gradient[..n]);
        factored.solve(&mut column);
        let pulls = column.iter().zip(&sums.gradient);
        sum.promise += pulls.map(|(a, b)| a * b).sum::<f64>();
    }
    sum
}

fn of_start(sums: &Sums, n: usize, damping: f64) -> Option<Factored> {
    let width = sums.gradient.len();
    let rows = sums.normal.chunks_exact(width).take(n);
    let own: Vec<f64> = rows.flat_map(|row| row[..n].iter().copied()).collect();
    Factored::new(&own, n, damping)
}

/// A window's start after the coefficients have moved.
fn shifted(start: &[f64], sums: Option<&Sums>, step: &[f64], damping: f64) -> Vec<f64> {
    let n = start.len();
    let Some((sums, factored)) = sums.and_then(|s| Some((s, of_start(s, n, damping)?))) else {
        return start.to_vec();
    };
    let width = sums.gradient.len();
    let mut by: Vec<f64> = (0..n)
        .map(|a| {
            let through = sums.normal[a * width + n..][..step.len()].iter().zip(step);
            sums.gradient[a] - through.map(|(sp, d)| sp * d).sum::<f64>()
        })
        .collect();
    factored.solve(&mut by);
    start.iter().zip(by).map(|(s, d)| s + d).collect()
}

/// When a fit has gone far enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// A fit that will not bring the sum below this may end early.
    pub goal: f64,
    /// Mean squares below this are as good as none.
    pub floor: f64,
    /// A fit that has taken so much work ends where it is.
    pub most_work: u64,
}

/// Fits the coefficients of a flow to windows, from coefficients and starts that are near.
pub(super) fn fit(
    flow: &Flow,
    windows: &[Window],
    mut starts: Vec<Vec<f64>>,
    mut coefficients: Vec<f64>,
    Until {
        goal,
        floor,
        most_work,
    }: Until,
) -> Fitted {
    let (n, p) = (starts.first().map_or(0, Vec::len), flow.coefficients());
    let every: Vec<usize> = (0..p).collect();
    let measurements: usize = windows.iter().map(Window::counted).sum();
    let mut damping = 1e-4;
    let mut whole = gather(flow, windows, &starts, &coefficients, &every);
    'steps: for _ in 0..ITERATIONS {
        if flow.work() > most_work {
            break;
        }
        loop {
            let normal = reduced(&whole, n, p, &every, damping);
            let mut step = normal.gradient.clone();
            if let Some(factored) = Factored::new(&normal.information, p, damping) {
                factored.solve(&mut step);
                let pulls = step.iter().zip(&normal.gradient);
                let promise = normal.promise + pulls.map(|(a, b)| a * b).sum::<f64>();
                // In what one measurement adds.
                let little = promise <= ENOUGH * (whole.total / measurements as f64 + floor);
                if little || whole.total - HOPE * promise > goal {
                    break 'steps;
                }
                let moved: Vec<f64> = coefficients.iter().zip(&step).map(|(c, d)| c + d).collect();
                let begun: Vec<Vec<f64>> = starts
                    .iter()
                    .zip(&whole.windows)
                    .map(|(start, sums)| shifted(start, sums.as_ref(), &step, damping))
                    .collect();
                let next = gather(flow, windows, &begun, &moved, &every);
                if next.total < whole.total {
                    (coefficients, starts, whole) = (moved, begun, next);
                    damping = (damping * 0.1).max(1e-12);
                    break;
                }
            }
            damping *= 10.0;
            if damping > 1e8 || flow.work() > most_work {
                break 'steps;
            }
        }
    }
    let information = reduced(&whole, n, p, &every, 0.0).information;
    let followed = windows.iter().zip(&whole.windows);
    let followed = followed.filter_map(|(window, sums)| Some((window, sums.as_ref()?)));
    let (mut squares, mut counted, mut count) = (0.0, 0, 0);
    for (window, sums) in followed {
        squares += sums.squares;
        counted += window.counted();
        count += 1;
    }
    Fitted {
        coefficients,
        starts,
        squares,
        counted,
        followed: count,
        information,
        lost: whole.total - squares,
    }
}

/// Normal equations of coefficients as they stand, the starts eliminated: of all coefficients with those of `rows`, which are in order.
pub(super) fn information(
    flow: &Flow,
    windows: &[Window],
    starts: &[Vec<f64>],
    coefficients: &[f64],
    rows: &[usize],
) -> Reduced {
    let whole = gather(flow, windows, starts, coefficients, rows);
    let n = starts.first().map_or(0, Vec::len);
    reduced(&whole, n, flow.coefficients(), rows, 0.0)
}

/// The most likely starts of windows under a law that is given, from some that are near or from what was measured; none for a window that cannot be followed.
pub(super) fn starts(
    flow: &Flow,
    windows: &[Window],
    near: Option<Vec<Vec<f64>>>,
    coefficients: &[f64],
) -> Vec<Option<Vec<f64>>> {
    let near = near.unwrap_or_else(|| windows.iter().map(Window::begin).collect());
    let still = vec![0.0; coefficients.len()];
    let of = |(window, mut start): (&Window, Vec<f64>)| {
        let mut sums = flow.sums(window, &start, coefficients, &[])?;
        let mut damping = 1e-4;
        for _ in 0..ITERATIONS {
            let moved = shifted(&start, Some(&sums), &still, damping);
            match flow.sums(window, &moved, coefficients, &[]) {
                Some(next) if next.squares < sums.squares => {
                    let gained = sums.squares - next.squares;
                    let enough = gained < ENOUGH * sums.squares / window.counted().max(1) as f64;
                    (start, sums, damping) = (moved, next, (damping * 0.1).max(1e-12));
                    if enough {
                        break;
                    }
                }
                _ => damping *= 10.0,
            }
            if damping > 1e8 {
                break;
            }
        }
        Some(start)
    };
    windows.par_iter().zip(near).map(of).collect()
}
