//! The pictures of a fit: the measurements with the law through them, planes of states, what the law leaves, and the path.

use ell0::equation::Dynamics;
use ell0_plot::{Axis, Chart, Figure, Series};

use super::{Course, Discovery, Followed, FollowedRun, FollowedTarget};

/// Targets that have charts of their own.
const MOST_TARGETS: usize = 6;

/// Points that a chart shows, and corners of a line: more would only hide each other.
const MOST_POINTS: usize = 400;
const MOST_CORNERS: usize = 650;

/// Rows of a map that are shown over time: it may jump from each to the next, so none can be left out between them.
const MOST_STEPS: usize = 120;

/// Residuals up to so many deviations have bars of their own.
const WIDEST: f64 = 4.0;

/// Bars of a histogram.
const BARS: usize = 32;

/// A place in a line where it is interrupted.
const GAP: (f64, f64) = (f64::NAN, f64::NAN);

/// Every so many-th of these, so that no more than the most are left.
fn step(rows: usize, most: usize) -> usize {
    rows.div_ceil(most).max(1)
}

impl FollowedRun {
    /// The line of the law through places that each row has, interrupted where the law is started anew or lost. Of each window the first and the last row are kept, and every so many-th between.
    fn line(&self, every: usize, place: impl Fn(usize) -> Option<(f64, f64)>) -> Vec<(f64, f64)> {
        let rows = self.time.len();
        let mut line = Vec::with_capacity(rows / every + 2 * self.starts.len());
        for (k, &start) in self.starts.iter().enumerate() {
            let end = self.starts.get(k + 1).copied().unwrap_or(rows);
            if k > 0 {
                line.push(GAP);
            }
            for row in start..end {
                if (row - start) % every == 0 || row + 1 == end {
                    line.push(place(row).unwrap_or(GAP));
                }
            }
        }
        line
    }

    /// The same run, no longer than so many rows.
    fn beginning(&self, rows: usize) -> Self {
        let rows = rows.min(self.time.len());
        let course = |course: &Course| Course {
            measured: course.measured[..rows].to_vec(),
            law: course.law[..rows].to_vec(),
            band: course.band[..rows].to_vec(),
        };
        let starts = self.starts.iter().copied();
        FollowedRun {
            time: self.time[..rows].to_vec(),
            starts: starts.filter(|start| *start < rows).collect(),
            courses: self.courses.iter().map(course).collect(),
        }
    }

    /// A target over time: what was measured, the law through it, the band around that.
    fn over_time(&self, target: usize, title: String, time: &str, name: &str) -> Chart {
        let course = &self.courses[target];
        let every = step(self.time.len(), MOST_POINTS);
        let measured = self.time.iter().zip(&course.measured).step_by(every);
        let every = step(self.time.len(), MOST_CORNERS);
        let law = self.line(every, |k| Some((self.time[k], course.law[k]?)));
        let edge = |low: bool| {
            let line = self.line(every, |k| {
                let (a, b) = course.band[k]?;
                Some((self.time[k], if low { a } else { b }))
            });
            line.into_iter()
        };
        let band = edge(true).zip(edge(false)).map(|(a, b)| (a.0, a.1, b.1));
        Chart::new(title, Axis::linear(time), course.axis(name))
            .with(Series::line("law", law))
            .with(Series::band("", band))
            .with(Series::points("measured", measured.map(|(t, x)| (*t, *x))))
    }
}

impl Course {
    /// As far as measurements and law go: a band that is wider says no more.
    fn axis(&self, name: &str) -> Axis {
        let values = || self.measured.iter().chain(self.law.iter().flatten());
        let low = values().copied().fold(f64::INFINITY, f64::min);
        let high = values().copied().fold(f64::NEG_INFINITY, f64::max);
        let room = 0.05 * (high - low);
        match room > 0.0 && room.is_finite() {
            true => Axis::linear(name).within(low - room, high + room),
            false => Axis::linear(name),
        }
    }
}

impl Followed {
    fn rows(&self) -> usize {
        self.runs.iter().map(|run| run.time.len()).sum()
    }

    fn shown(&self) -> impl Iterator<Item = (usize, &FollowedTarget)> {
        self.targets.iter().enumerate().take(MOST_TARGETS)
    }

    /// Targets that have no charts of their own.
    pub(super) fn hidden(&self) -> usize {
        self.targets.len().saturating_sub(MOST_TARGETS)
    }

    /// The courses of a target in all runs.
    fn courses(&self, target: usize) -> impl Iterator<Item = (&FollowedRun, &Course)> {
        self.runs.iter().map(move |run| (run, &run.courses[target]))
    }

    fn is_regression(&self) -> bool {
        self.window.is_none()
    }

    /// The measurements with the law through them: each target over time, or what was measured against what a regression says.
    #[must_use]
    pub fn trajectories(&self, dynamics: Dynamics) -> Figure {
        if self.is_regression() {
            return Figure::new(self.shown().map(|(i, t)| self.said(i, t)).collect());
        }
        let time = time_label(dynamics);
        let several = self.runs.len() > 1;
        let rows = match dynamics {
            Dynamics::Discrete => MOST_STEPS,
            _ => usize::MAX,
        };
        let runs: Vec<FollowedRun> = self.runs.iter().map(|run| run.beginning(rows)).collect();
        let mut charts = Vec::new();
        for (i, target) in self.shown() {
            for (k, run) in runs.iter().enumerate() {
                let name = &target.target;
                let mut title = name.clone();
                if several {
                    title += &format!(", run {}", k + 1);
                }
                if run.time.len() < self.runs[k].time.len() {
                    title += &format!(", the first {} rows", run.time.len());
                }
                charts.push(run.over_time(i, title, time, name));
            }
        }
        let size = match self.runs.len() {
            0 | 1 => (880.0, 220.0),
            2 => (440.0, 230.0),
            _ => (420.0, 260.0),
        };
        Figure::new(charts)
            .with_columns(self.runs.len())
            .with_size(size.0, size.1)
    }

    /// What was measured against what the law says.
    fn said(&self, i: usize, target: &FollowedTarget) -> Chart {
        let every = step(self.rows(), MOST_POINTS);
        let pairs = self
            .courses(i)
            .flat_map(|(_, c)| c.law.iter().zip(&c.measured));
        let pairs = pairs.filter_map(|(law, measured)| Some(((*law)?, *measured)));
        let pairs: Vec<(f64, f64)> = pairs.step_by(every).collect();
        let low = pairs.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
        let high = pairs.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
        let name = &target.target;
        Chart::new(
            format!("{name}: measured against the law"),
            Axis::linear("law"),
            Axis::linear("measured"),
        )
        .with(Series::line("law", [(low, low), (high, high)]))
        .with(Series::points("measured", pairs))
    }

    /// The planes of the first two or three states; of a map of one state, each value against the one before. None where there is no plane.
    #[must_use]
    pub fn planes(&self, dynamics: Dynamics) -> Option<Figure> {
        let pairs: &[(usize, usize)] = match self.targets.len() {
            _ if self.is_regression() => return None,
            0 => return None,
            1 if dynamics == Dynamics::Discrete => return Some(self.next()),
            1 => return None,
            2 => &[(0, 1)],
            _ => &[(0, 1), (0, 2), (1, 2)],
        };
        let every = step(self.rows(), MOST_POINTS);
        let plane = |&(i, j): &(usize, usize)| {
            let (mut measured, mut law) = (Vec::new(), Vec::new());
            for run in &self.runs {
                let (x, y) = (&run.courses[i], &run.courses[j]);
                let pairs = x.measured.iter().zip(&y.measured).step_by(every);
                measured.extend(pairs.map(|(x, y)| (*x, *y)));
                law.extend(run.line(1, |k| Some((x.law[k]?, y.law[k]?))));
                law.push(GAP);
            }
            let (x, y) = (&self.targets[i].target, &self.targets[j].target);
            Chart::new(format!("{y} against {x}"), Axis::linear(x), Axis::linear(y))
                .with(Series::line("law", law))
                .with(Series::points("measured", measured))
        };
        let charts = pairs.iter().map(plane).collect();
        Some(Figure::new(charts).with_size(420.0, 380.0))
    }

    /// Each value of a map's only state against the one before.
    fn next(&self) -> Figure {
        let every = step(self.rows(), MOST_POINTS);
        let pairs = |course: &Course| -> Vec<(f64, f64)> {
            let pairs = course.measured.windows(2).map(|x| (x[0], x[1]));
            pairs.step_by(every).collect()
        };
        let measured: Vec<_> = self.courses(0).flat_map(|(_, c)| pairs(c)).collect();
        let mut law: Vec<(f64, f64)> = Vec::new();
        for (run, course) in self.courses(0) {
            for k in (0..run.time.len().saturating_sub(1)).step_by(every) {
                if run.starts.contains(&(k + 1)) {
                    continue;
                }
                law.extend(course.law[k].zip(course.law[k + 1]));
            }
        }
        let name = &self.targets[0].target;
        let chart = Chart::new(
            format!("{name} against {name} one row before"),
            Axis::linear(format!("{name}, row k")),
            Axis::linear(format!("{name}, row k + 1")),
        )
        .with(Series::points("law", law))
        .with(Series::points("measured", measured));
        Figure::new(vec![chart]).with_size(420.0, 380.0)
    }

    /// What the law leaves, in deviations of the noise, or of itself where the noise is not known: over time (of a regression, against what it says), and how often it is how much.
    #[must_use]
    pub fn residuals(&self, dynamics: Dynamics) -> Figure {
        let mut charts = Vec::new();
        let every = step(self.rows(), MOST_POINTS);
        let across = match self.is_regression() {
            true => "law",
            false => time_label(dynamics),
        };
        for (i, target) in self.shown() {
            let mut left: Vec<(f64, f64)> = self
                .courses(i)
                .flat_map(|(run, course)| {
                    let rows = run.time.iter().zip(&course.measured).zip(&course.law);
                    rows.filter_map(|((t, measured), law)| {
                        let at = if self.is_regression() { (*law)? } else { *t };
                        Some((at, measured - (*law)?))
                    })
                })
                .collect();
            let unit = target.noise.unwrap_or_else(|| typical(&left));
            left.iter_mut().for_each(|r| r.1 /= unit);
            let name = &target.target;
            let points = left.iter().copied().step_by(every);
            let measure = Axis::linear(target.measure());
            charts.push(
                Chart::new(
                    format!("{name}: measured − law"),
                    Axis::linear(across),
                    measure,
                )
                .with(Series::points("", points)),
            );
            charts.push(histogram(name, target.measure(), &left));
        }
        Figure::new(charts).with_columns(2).with_size(440.0, 230.0)
    }
}

impl FollowedTarget {
    /// What residuals are measured in.
    fn measure(&self) -> &'static str {
        match self.noise {
            Some(_) => "deviations of the noise",
            None => "deviations",
        }
    }
}

/// The deviation of residuals by their median, which a few that are far off do not move.
fn typical(residuals: &[(f64, f64)]) -> f64 {
    let mut sizes: Vec<f64> = residuals.iter().map(|r| r.1.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let median = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    if median > 0.0 { median / 0.6745 } else { 1.0 }
}

fn time_label(dynamics: Dynamics) -> &'static str {
    match dynamics {
        Dynamics::Discrete => "row",
        _ => "time",
    }
}

/// How often residuals are how large, beside the normal distribution. What is further out is in the outermost bars.
fn histogram(name: &str, measure: &str, residuals: &[(f64, f64)]) -> Chart {
    let width = 2.0 * WIDEST / BARS as f64;
    let mut counts = vec![0usize; BARS];
    for (_, left) in residuals {
        let bar = ((left + WIDEST) / width).floor();
        counts[bar.clamp(0.0, BARS as f64 - 1.0) as usize] += 1;
    }
    let centre = |k: usize| -WIDEST + (k as f64 + 0.5) * width;
    let share = |count: usize| count as f64 / residuals.len().max(1) as f64 / width;
    let bars = counts.iter().enumerate();
    let bars = bars.map(|(k, count)| (centre(k), share(*count)));
    let normal = (0..=80).map(|k| {
        let x = WIDEST * (f64::from(k) / 40.0 - 1.0);
        let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        (x, density)
    });
    Chart::new(
        format!("{name}: how often"),
        Axis::linear(measure).within(-WIDEST, WIDEST),
        Axis::linear("density"),
    )
    .with(Series::bars("measured − law", bars))
    .with(Series::line("normal", normal))
}

impl Discovery {
    /// The pictures by the names of their files, in the order in which they are shown.
    #[must_use]
    pub fn figures(&self) -> Vec<(&'static str, Figure)> {
        let dynamics = self.data.dynamics;
        let mut figures = Vec::new();
        if let Some(followed) = &self.followed {
            figures.push(("trajectories", followed.trajectories(dynamics)));
            let planes = followed.planes(dynamics);
            figures.extend(planes.map(|planes| ("planes", planes)));
            figures.push(("residuals", followed.residuals(dynamics)));
        }
        figures.push(("path", self.path_figure()));
        figures
    }

    /// Error against number of terms, the choice marked: a chart for each target.
    #[must_use]
    pub fn path_figure(&self) -> Figure {
        let chart = |target: &str| {
            let lines = || self.path_of(target);
            let train = lines().map(|l| (l.terms as f64, l.train_mse));
            let held_out: Vec<_> = lines()
                .filter_map(|l| Some((l.terms as f64, l.validation_mse?)))
                .collect();
            let deviations = lines().filter_map(|l| l.validation_deviation);
            let mut chart = Chart::new(
                format!("{target}: error against number of terms"),
                Axis::linear("terms"),
                Axis::log("mean squared error"),
            )
            .with(Series::dotted("training", train));
            if !held_out.is_empty() {
                chart = chart.with(Series::dotted("held out", held_out).with_errors(deviations));
            }
            match lines().find(|l| l.chosen) {
                None => chart,
                Some(chosen) => {
                    let terms = if chosen.terms == 1 { "term" } else { "terms" };
                    chart.with_mark(
                        chosen.terms as f64,
                        chosen.validation_mse.unwrap_or(chosen.train_mse),
                        format!("chosen: {} {terms}", chosen.terms),
                    )
                }
            }
        };
        Figure::new(self.targets().map(chart).collect())
    }
}
