//! The most likely coefficients on given supports: Gauss and Newton's method, damped, over the coefficients and the starts of all windows at once.

use rayon::prelude::*;

use super::{
    Window,
    flow::{Flow, Sums},
    linear::Factored,
};

/// The most likely coefficients, with what they leave.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    pub coefficients: Vec<f64>,
    pub starts: Vec<Vec<f64>>,
    /// Σ of squared weighted residuals, over the windows that could be followed.
    pub squares: f64,
    /// The same of each state.
    pub by_state: Vec<f64>,
    /// Measurements in windows that could be followed, and such windows.
    pub counted: usize,
    pub followed: usize,
    /// Information of the coefficients, the starts eliminated: p × p.
    pub information: Vec<f64>,
    /// What windows cost that could not be followed.
    pub lost: f64,
}

const ITERATIONS: usize = 40;

/// A step that lowers the sum by less than this share of what one measurement adds to it ends the search.
const ENOUGH: f64 = 1e-3;

/// Normal equations of all windows.
struct Whole {
    total: f64,
    windows: Vec<Option<Sums>>,
}

fn gather(flow: &Flow, windows: &[Window], starts: &[Vec<f64>], coefficients: &[f64]) -> Whole {
    let sums: Vec<Option<Sums>> = windows
        .par_iter()
        .zip(starts)
        .map(|(window, start)| flow.sums(window, start, coefficients))
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

fn total(flow: &Flow, windows: &[Window], starts: &[Vec<f64>], coefficients: &[f64]) -> f64 {
    let each: Vec<f64> = windows
        .par_iter()
        .zip(starts)
        .map(|(window, start)| {
            let squares = flow.squares(window, start, coefficients);
            if squares.is_finite() {
                squares
            } else {
                window.lost()
            }
        })
        .collect();
    each.into_iter().sum()
}

/// Information and gradient of the coefficients, the starts eliminated.
fn reduced(whole: &Whole, n: usize, p: usize, damping: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut information, mut gradient) = (vec![0.0; p * p], vec![0.0; p]);
    for sums in whole.windows.iter().flatten() {
        let Some(factored) = Factored::new(&sums.ss, n, damping) else {
            continue;
        };
        // A_ss⁻¹ A_sp, column after column.
        let mut solved = vec![0.0; n * p];
        let mut column = vec![0.0; n];
        for c in 0..p {
            (0..n).for_each(|a| column[a] = sums.sp[a * p + c]);
            factored.solve(&mut column);
            (0..n).for_each(|a| solved[a * p + c] = column[a]);
        }
        for a in 0..p {
            let out = &mut information[a * p..][..p];
            for (out, pp) in out.iter_mut().zip(&sums.pp[a * p..][..p]) {
                *out += pp;
            }
            for k in 0..n {
                let ska = sums.sp[k * p + a];
                for (out, solved) in out.iter_mut().zip(&solved[k * p..][..p]) {
                    *out -= ska * solved;
                }
            }
            gradient[a] += sums.p[a];
            for k in 0..n {
                gradient[a] -= solved[k * p + a] * sums.s[k];
            }
        }
    }
    (information, gradient)
}

/// Fits the coefficients of a flow to windows, from coefficients and starts that are near.
pub(super) fn fit(
    flow: &Flow,
    windows: &[Window],
    mut starts: Vec<Vec<f64>>,
    mut coefficients: Vec<f64>,
) -> Fitted {
    let (n, p) = (starts.first().map_or(0, Vec::len), flow.coefficients());
    let mut damping = 1e-4;
    let mut whole = gather(flow, windows, &starts, &coefficients);
    for _ in 0..ITERATIONS {
        let mut better = None;
        while damping < 1e8 {
            let (information, mut step) = reduced(&whole, n, p, damping);
            if let Some(factored) = Factored::new(&information, p, damping) {
                factored.solve(&mut step);
                let moved: Vec<f64> = coefficients.iter().zip(&step).map(|(c, d)| c + d).collect();
                let begun: Vec<Vec<f64>> = starts
                    .iter()
                    .zip(&whole.windows)
                    .map(|(start, sums)| shifted(start, sums.as_ref(), &step, damping))
                    .collect();
                let sum = total(flow, windows, &begun, &moved);
                if sum < whole.total {
                    better = Some((moved, begun, sum));
                    break;
                }
            }
            damping *= 10.0;
        }
        let Some((moved, begun, sum)) = better else {
            break;
        };
        let measurements: usize = windows.iter().map(Window::counted).sum();
        let gain = (whole.total - sum) / whole.total * measurements as f64;
        (coefficients, starts) = (moved, begun);
        damping = (damping * 0.1).max(1e-12);
        whole = gather(flow, windows, &starts, &coefficients);
        if gain < ENOUGH {
            break;
        }
    }
    let (information, _) = reduced(&whole, n, p, 0.0);
    let followed = windows.iter().zip(&whole.windows);
    let followed = followed.filter_map(|(window, sums)| Some((window, sums.as_ref()?)));
    let (mut squares, mut counted, mut count) = (0.0, 0, 0);
    let mut by_state = vec![0.0; n];
    for (window, sums) in followed {
        squares += sums.squares;
        let of = by_state.iter_mut().zip(&sums.by_state);
        of.for_each(|(total, own)| *total += own);
        counted += window.counted();
        count += 1;
    }
    Fitted {
        coefficients,
        starts,
        squares,
        by_state,
        counted,
        followed: count,
        information,
        lost: whole.total - squares,
    }
}

/// A window's start after the coefficients have moved.
fn shifted(start: &[f64], sums: Option<&Sums>, step: &[f64], damping: f64) -> Vec<f64> {
    let n = start.len();
    let Some((sums, factored)) = sums.and_then(|s| Some((s, Factored::new(&s.ss, n, damping)?)))
    else {
        return start.to_vec();
    };
    let p = step.len();
    let mut move_by: Vec<f64> = (0..n)
        .map(|a| {
            let through = sums.sp[a * p..][..p].iter().zip(step);
            sums.s[a] - through.map(|(sp, d)| sp * d).sum::<f64>()
        })
        .collect();
    factored.solve(&mut move_by);
    start.iter().zip(move_by).map(|(s, d)| s + d).collect()
}

/// Information and gradient of coefficients as they stand, the starts eliminated.
pub(super) fn information(
    flow: &Flow,
    windows: &[Window],
    starts: &[Vec<f64>],
    coefficients: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let whole = gather(flow, windows, starts, coefficients);
    let n = starts.first().map_or(0, Vec::len);
    reduced(&whole, n, flow.coefficients(), 0.0)
}
