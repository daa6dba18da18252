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
    /// Whether there was enough work left to begin, and whether it ended before it was done because there was no more.
    pub begun: bool,
    pub ended: bool,
}

impl Fitted {
    /// A law that nothing was found out about: there was no work left for it.
    fn not_begun(coefficients: Vec<f64>, starts: Vec<Vec<f64>>, windows: &[Window]) -> Self {
        Fitted {
            information: Vec::new(),
            coefficients,
            starts,
            squares: 0.0,
            counted: 0,
            followed: 0,
            lost: windows.iter().map(Window::lost).sum(),
            begun: false,
            ended: true,
        }
    }
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

/// A window may take so many times its share of the work that is left: some are harder to follow than others.
const SHARE: u64 = 4;

fn gather(
    flow: &Flow,
    windows: &[Window],
    starts: &[Vec<f64>],
    coefficients: &[f64],
    rows: &[usize],
    most_work: u64,
) -> Whole {
    // What a window may take must not depend on how far the others are.
    let all = rows_of(windows).max(1) as u64;
    let left = most_work.saturating_sub(flow.work());
    let share = |window: &Window| (left / all).saturating_mul(SHARE * window.rows() as u64);
    let sums: Vec<Option<Sums>> = windows
        .par_iter()
        .zip(starts)
        .map(|(window, start)| flow.sums(window, start, coefficients, rows, share(window)))
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

fn rows_of(windows: &[Window]) -> usize {
    windows.iter().map(Window::rows).sum()
}

/// The work of normal equations of so many coefficients with so many of them, the starts eliminated: sums over the windows, then elimination in each, then a factor.
pub(super) fn of_equations(flow: &Flow, windows: &[Window], of: usize) -> u64 {
    let (n, p, of_all) = (
        flow.states as u64,
        flow.coefficients() as u64,
        flow.coefficients().max(of) as u64,
    );
    let of_window = n * n * (n + p) + 2 * n * p * of as u64;
    let sums = flow.of_sums(rows_of(windows), of);
    sums + windows.len() as u64 * of_window + of as u64 * of as u64 * of_all
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
#[derive(Clone, Copy)]
pub(super) struct Until<'a> {
    /// A fit that will not bring the sum below this may end early.
    pub goal: f64,
    /// Mean squares below this are as good as none.
    pub floor: f64,
    /// A fit takes about so much work at most, and ends where it is then.
    pub most_work: u64,
    /// Asked between the steps, with the work that was done; if it says no, the fit ends where it is.
    pub go_on: &'a dyn Fn(u64) -> bool,
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
        go_on,
    }: Until,
) -> Fitted {
    let (n, p) = (starts.first().map_or(0, Vec::len), flow.coefficients());
    let every: Vec<usize> = (0..p).collect();
    let measurements: usize = windows.iter().map(Window::counted).sum();
    // Sums take little beside the elimination only where there are few coefficients; all of it is counted.
    let step = of_equations(flow, windows, p);
    let beside = step - flow.of_sums(rows_of(windows), p);
    let may_go_on = || flow.work() + step <= most_work && go_on(flow.work());
    if !may_go_on() {
        return Fitted::not_begun(coefficients, starts, windows);
    }
    let mut damping = 1e-4;
    let mut ended = false;
    let mut whole = gather(flow, windows, &starts, &coefficients, &every, most_work);
    'steps: for _ in 0..ITERATIONS {
        if !may_go_on() {
            ended = true;
            break;
        }
        loop {
            flow.note(beside);
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
                let next = gather(flow, windows, &begun, &moved, &every, most_work);
                if next.total < whole.total {
                    (coefficients, starts, whole) = (moved, begun, next);
                    damping = (damping * 0.1).max(1e-12);
                    break;
                }
            }
            damping *= 10.0;
            ended = !may_go_on();
            if damping > 1e8 || ended {
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
        begun: true,
        ended,
    }
}

/// Normal equations of coefficients as they stand, the starts eliminated: of all coefficients with those of `rows`, which are in order.
pub(super) fn information(
    flow: &Flow,
    windows: &[Window],
    starts: &[Vec<f64>],
    coefficients: &[f64],
    rows: &[usize],
    most_work: u64,
) -> Reduced {
    let whole = gather(flow, windows, starts, coefficients, rows, most_work);
    let n = starts.first().map_or(0, Vec::len);
    reduced(&whole, n, flow.coefficients(), rows, 0.0)
}

/// The most likely starts of windows under a law that is given, from some that are near or from what was measured; none for a window that cannot be followed, nor for any if that takes more than about so much work.
pub(super) fn starts(
    flow: &Flow,
    windows: &[Window],
    near: Option<Vec<Vec<f64>>>,
    coefficients: &[f64],
    most_work: u64,
) -> Vec<Option<Vec<f64>>> {
    let near = near.unwrap_or_else(|| windows.iter().map(Window::begin).collect());
    let still = vec![0.0; coefficients.len()];
    let once = flow.of_sums(rows_of(windows), 0).max(1);
    let rounds = ITERATIONS.min((most_work / once) as usize);
    if rounds == 0 {
        return vec![None; windows.len()];
    }
    let of = |(window, mut start): (&Window, Vec<f64>)| {
        let mut sums = flow.sums(window, &start, coefficients, &[], most_work)?;
        let mut damping = 1e-4;
        for _ in 0..rounds {
            let moved = shifted(&start, Some(&sums), &still, damping);
            match flow.sums(window, &moved, coefficients, &[], most_work) {
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
