//! One chart: axes, series, marks.

use std::fmt::Write;

use crate::axis::{Axis, Ruler, Tick};

/// How the points of a series are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Joined by a line.
    Line,
    /// A line with dots.
    LineAndDots,
    /// Dots.
    Dots,
    /// Bars from the foot of the chart.
    Bars,
    /// An area between the points and the second values.
    Band,
    /// Rectangles around the points; the second values are how dense each is, from 0 to 1.
    Cells,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend; series without one are not in it, and have the colour of the one before.
    pub name: String,
    /// How it is shown.
    pub shape: Shape,
    /// The points.
    pub points: Vec<(f64, f64)>,
    /// Half the length of an error bar at each point, the other edge of a band, or the density of a cell.
    pub second: Vec<f64>,
    /// Width and height of a cell.
    pub cell: (f64, f64),
}

impl Series {
    fn new(name: &str, shape: Shape, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series {
            name: name.into(),
            shape,
            points: points.into_iter().collect(),
            second: Vec::new(),
            cell: (0.0, 0.0),
        }
    }

    /// Cells of a width and height around (x, y), with densities from 0 to 1.
    pub fn cells(
        name: &str,
        (width, height): (f64, f64),
        cells: impl IntoIterator<Item = (f64, f64, f64)>,
    ) -> Self {
        let cells: Vec<_> = cells.into_iter().collect();
        let mut series = Series::new(name, Shape::Cells, cells.iter().map(|c| (c.0, c.1)));
        series.second = cells.iter().map(|c| c.2).collect();
        series.cell = (width, height);
        series
    }

    /// A line.
    pub fn line(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series::new(name, Shape::Line, points)
    }

    /// A line with dots.
    pub fn dotted(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series::new(name, Shape::LineAndDots, points)
    }

    /// Dots.
    pub fn dots(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series::new(name, Shape::Dots, points)
    }

    /// Bars; those of several series stand side by side.
    pub fn bars(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series::new(name, Shape::Bars, points)
    }

    /// An area between (x, low) and (x, high).
    pub fn band(name: &str, points: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let points: Vec<_> = points.into_iter().collect();
        let mut series = Series::new(name, Shape::Band, points.iter().map(|p| (p.0, p.1)));
        series.second = points.iter().map(|p| p.2).collect();
        series
    }

    /// With error bars of ± these.
    pub fn with_errors(mut self, errors: impl IntoIterator<Item = f64>) -> Self {
        self.second = errors.into_iter().collect();
        self
    }
}

/// A place that is pointed out.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// Where.
    pub y: f64,
    /// What is said of it.
    pub label: String,
}

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Title.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// What is shown, from back to front.
    pub series: Vec<Series>,
    /// What is pointed out.
    pub marks: Vec<Mark>,
    /// Words right of a place, such as the names of the rows of a heat map.
    pub labels: Vec<Mark>,
}

/// Told apart by most eyes, on white and on dark.
const COLOURS: [&str; 8] = [
    "#2a6fbb", "#d1622b", "#2f9e6e", "#a3478f", "#c79a1b", "#5aa9d6", "#8a5a44", "#6b7280",
];

/// Lines of more points than this do not tell their values.
const MOST_UNSEEN: usize = 300;

/// Space around the plot.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 52.0;

/// Text that may stand in an SVG file.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Cells above each other with the same density, as one: (centre of the lowest, upper end of the highest, density).
fn runs(series: &Series) -> Vec<((f64, f64), f64, f64)> {
    let height = series.cell.1;
    let mut runs: Vec<((f64, f64), f64, f64)> = Vec::new();
    for (point, density) in series.points.iter().zip(&series.second) {
        let density = density.clamp(0.0, 1.0);
        match runs.last_mut() {
            Some((from, to, d))
                if from.0 == point.0
                    && *d == density
                    && (*to - (point.1 - 0.5 * height)).abs() < 1e-6 * height =>
            {
                *to = point.1 + 0.5 * height;
            }
            _ => runs.push((*point, point.1 + 0.5 * height, density)),
        }
    }
    runs.retain(|r| r.2 > 0.0);
    runs
}

impl Chart {
    /// An empty chart.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Chart {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
            marks: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// With another series.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// With words right of a place.
    pub fn with_label(mut self, x: f64, y: f64, label: impl Into<String>) -> Self {
        self.labels.push(Mark {
            x,
            y,
            label: label.into(),
        });
        self
    }

    /// With a place pointed out.
    pub fn with_mark(mut self, x: f64, y: f64, label: impl Into<String>) -> Self {
        self.marks.push(Mark {
            x,
            y,
            label: label.into(),
        });
        self
    }

    fn rulers(&self) -> (Ruler, Ruler) {
        let points = || self.series.iter().flat_map(|s| s.points.iter());
        let edges = self.series.iter().flat_map(|s| {
            s.points
                .iter()
                .zip(&s.second)
                .flat_map(move |(p, &e)| match s.shape {
                    Shape::Band => [e, e],
                    Shape::Cells => [p.1 - 0.5 * s.cell.1, p.1 + 0.5 * s.cell.1],
                    _ => [p.1 - e, p.1 + e],
                })
        });
        // Bars stand on zero, where there is one.
        let zero = (self.y.scale == crate::Scale::Linear
            && self.series.iter().any(|s| s.shape == Shape::Bars))
        .then_some(0.0);
        (
            Ruler::new(&self.x, points().map(|p| p.0)),
            Ruler::new(&self.y, points().map(|p| p.1).chain(edges).chain(zero)),
        )
    }

    /// Draws into an SVG file, with the upper left corner at the given place.
    pub(crate) fn draw(&self, svg: &mut String, left: f64, top: f64, width: f64, height: f64) {
        let (x_ruler, y_ruler) = self.rulers();
        let (plot_width, plot_height) = (width - LEFT - RIGHT, height - TOP - BOTTOM);
        let x = |value: f64| x_ruler.at(value).map(|at| LEFT + at * plot_width);
        let y = |value: f64| y_ruler.at(value).map(|at| TOP + (1.0 - at) * plot_height);
        let mut put = |text: std::fmt::Arguments| {
            let _ = svg.write_fmt(text);
        };
        put(format_args!(
            "<g class=\"chart\" transform=\"translate({left} {top})\">\n"
        ));
        put(format_args!(
            "<text x=\"{LEFT}\" y=\"18\" class=\"title\" font-size=\"15\">{}</text>\n",
            escaped(&self.title)
        ));
        self.draw_ticks(&mut put, &x_ruler, &y_ruler, plot_width, plot_height);
        let clip = format!("clip-{left:.0}-{top:.0}");
        put(format_args!(
            "<clipPath id=\"{clip}\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{plot_width}\" height=\"{plot_height}\"/></clipPath>\n<g clip-path=\"url(#{clip})\">\n"
        ));
        let bars = self
            .series
            .iter()
            .filter(|s| s.shape == Shape::Bars)
            .count();
        let (mut colour, mut bar, mut names) = (COLOURS[0], 0, Vec::new());
        for series in &self.series {
            if !series.name.is_empty() {
                colour = COLOURS[names.len() % COLOURS.len()];
                names.push((series.name.as_str(), colour));
            }
            let title = |p: &(f64, f64)| {
                let at = self.x.categories.get(p.0.round().max(0.0) as usize);
                let at = at.map_or_else(|| format!("{}", Short(p.0)), |name| escaped(name));
                let name = escaped(&series.name);
                format!("<title>{name} {at}: {}</title>", Short(p.1))
            };
            match series.shape {
                Shape::Bars => {
                    let step =
                        plot_width / self.x.categories.len().max(series.points.len()).max(1) as f64;
                    let thick = 0.8 * step / bars as f64;
                    for point in &series.points {
                        if let (Some(centre), Some(high), Some(foot)) =
                            (x(point.0), y(point.1), y(y_ruler.foot()))
                        {
                            let from = centre - 0.4 * step + thick * bar as f64;
                            put(format_args!(
                                "<rect class=\"datum\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"1.5\" fill=\"{colour}\">{}</rect>\n",
                                high.min(foot),
                                thick * 0.92,
                                (foot - high).abs().max(0.5),
                                title(point)
                            ));
                        }
                    }
                    bar += 1;
                }
                Shape::Cells => {
                    for (from, to, density) in runs(series) {
                        let (w, h) = (0.5 * series.cell.0, 0.5 * series.cell.1);
                        let corners = (x(from.0 - w), y(to), x(from.0 + w), y(from.1 - h));
                        if let (Some(left), Some(top), Some(right), Some(foot)) = corners {
                            // On whole pixels neighbours neither overlap nor leave gaps.
                            let (left, right) = (left.round(), right.round());
                            put(format_args!(
                                "<rect class=\"cell\" x=\"{left:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{colour}\" fill-opacity=\"{density:.3}\" shape-rendering=\"crispEdges\"/>\n",
                                right - left,
                                foot - top
                            ));
                        }
                    }
                }
                Shape::Band => {
                    let low = series.points.iter().copied();
                    let high = series
                        .points
                        .iter()
                        .zip(&series.second)
                        .map(|(p, s)| (p.0, *s));
                    let corners: Vec<String> = low
                        .chain(high.rev())
                        .filter_map(|p| Some(format!("{:.2},{:.2}", x(p.0)?, y(p.1)?)))
                        .collect();
                    put(format_args!(
                        "<polygon points=\"{}\" fill=\"{colour}\" fill-opacity=\"0.18\"/>\n",
                        corners.join(" ")
                    ));
                }
                Shape::Line | Shape::LineAndDots | Shape::Dots => {
                    if series.shape != Shape::Dots {
                        // A point that cannot be drawn leaves a gap.
                        let mut pen = 'M';
                        let mut path = String::new();
                        for p in &series.points {
                            match (x(p.0), y(p.1)) {
                                (Some(x), Some(y)) => {
                                    let _ = write!(path, "{pen}{x:.2} {y:.2}");
                                    pen = 'L';
                                }
                                _ => pen = 'M',
                            }
                        }
                        put(format_args!(
                            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"/>\n"
                        ));
                    }
                    // A line has no dots to point at: unseen ones tell its values.
                    if series.shape == Shape::Line && series.points.len() <= MOST_UNSEEN {
                        for p in &series.points {
                            if let (Some(x), Some(y)) = (x(p.0), y(p.1)) {
                                put(format_args!(
                                    "<circle class=\"datum\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill-opacity=\"0\">{}</circle>\n",
                                    title(p)
                                ));
                            }
                        }
                    }
                    for (p, error) in series.points.iter().zip(&series.second) {
                        if let (Some(x), Some(high)) = (x(p.0), y(p.1 + error)) {
                            let low = y(p.1 - error).unwrap_or(TOP + plot_height);
                            put(format_args!(
                                "<path d=\"M{x:.2} {high:.2}V{low:.2}\" stroke=\"{colour}\" stroke-opacity=\"0.5\" stroke-width=\"1.4\"/>\n"
                            ));
                        }
                    }
                    if series.shape != Shape::Line {
                        for p in &series.points {
                            if let (Some(x), Some(y)) = (x(p.0), y(p.1)) {
                                put(format_args!(
                                    "<circle class=\"datum\" cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"3.2\" fill=\"{colour}\">{}</circle>\n",
                                    title(p)
                                ));
                            }
                        }
                    }
                }
            }
        }
        put(format_args!("</g>\n"));
        for label in &self.labels {
            if let (Some(x), Some(y)) = (x(label.x), y(label.y)) {
                put(format_args!(
                    "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\">{}</text>\n",
                    x + 4.0,
                    y + 3.5,
                    escaped(&label.label)
                ));
            }
        }
        for mark in &self.marks {
            if let (Some(x), Some(y)) = (x(mark.x), y(mark.y)) {
                let right = x < LEFT + 0.6 * plot_width;
                let (dx, anchor) = if right {
                    (12.0, "start")
                } else {
                    (-12.0, "end")
                };
                let text_y = (y - 12.0).max(TOP + 12.0);
                put(format_args!(
                    "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"7\" fill=\"none\" stroke=\"#c0262d\" stroke-width=\"2\"/>\n<text x=\"{:.1}\" y=\"{text_y:.1}\" text-anchor=\"{anchor}\" fill=\"#c0262d\" font-size=\"12\">{}</text>\n",
                    x + dx,
                    escaped(&mark.label)
                ));
            }
        }
        if names.len() > 1 {
            let mut at = LEFT;
            for (name, colour) in names {
                put(format_args!(
                    "<rect x=\"{at:.1}\" y=\"26\" width=\"10\" height=\"10\" rx=\"2\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"35\" font-size=\"11\">{}</text>\n",
                    at + 14.0,
                    escaped(name)
                ));
                at += 26.0 + 6.2 * name.chars().count() as f64;
            }
        }
        put(format_args!("</g>\n"));
    }

    fn draw_ticks(
        &self,
        put: &mut impl FnMut(std::fmt::Arguments),
        x_ruler: &Ruler,
        y_ruler: &Ruler,
        plot_width: f64,
        plot_height: f64,
    ) {
        let bottom = TOP + plot_height;
        let label = |tick: &Tick| match tick {
            Tick::Number(text) => text.clone(),
            Tick::Power(k) => format!(
                "10<tspan dy=\"-5\" font-size=\"9\">{}</tspan>",
                k.to_string().replace('-', "−")
            ),
        };
        if self.x.categories.is_empty() {
            for (value, tick) in x_ruler.ticks((plot_width / 60.0) as usize) {
                let Some(x) = x_ruler.at(value).map(|at| LEFT + at * plot_width) else {
                    continue;
                };
                put(format_args!(
                    "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom:.1}\" stroke=\"#e5e7eb\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\">{}</text>\n",
                    bottom + 16.0,
                    label(&tick)
                ));
            }
        }
        for (k, name) in self.x.categories.iter().enumerate() {
            let step = plot_width / self.x.categories.len() as f64;
            // Long names take turns in two rows.
            let crowded = 6.0 * name.chars().count() as f64 > step * 0.95;
            let row = if crowded && k % 2 == 1 { 30.0 } else { 16.0 };
            put(format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\">{}</text>\n",
                LEFT + (k as f64 + 0.5) * step,
                bottom + row,
                escaped(name)
            ));
        }
        // An axis without a name has no scale: what stands along it is named otherwise.
        let most = if self.y.label.is_empty() {
            0.0
        } else {
            plot_height / 36.0
        };
        for (value, tick) in y_ruler
            .ticks(most as usize)
            .into_iter()
            .filter(|_| most > 0.0)
        {
            let Some(y) = y_ruler.at(value).map(|at| TOP + (1.0 - at) * plot_height) else {
                continue;
            };
            put(format_args!(
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{:.1}\" stroke=\"#e5e7eb\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"11\">{}</text>\n",
                LEFT + plot_width,
                LEFT - 6.0,
                y + 4.0,
                label(&tick)
            ));
        }
        put(format_args!(
            "<path class=\"frame\" d=\"M{LEFT} {TOP}V{bottom:.1}H{:.1}\" fill=\"none\" stroke=\"#6b7280\"/>\n",
            LEFT + plot_width
        ));
        put(format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"12\">{}</text>\n",
            LEFT + plot_width / 2.0,
            bottom + 38.0,
            escaped(&self.x.label)
        ));
        put(format_args!(
            "<text transform=\"translate(15 {:.1}) rotate(-90)\" text-anchor=\"middle\" font-size=\"12\">{}</text>\n",
            TOP + plot_height / 2.0,
            escaped(&self.y.label)
        ));
    }
}

/// A number as a person would say it.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let size = self.0.abs();
        if self.0 == self.0.round() && size < 1e9 {
            write!(f, "{}", self.0)
        } else if (1e-2..1e5).contains(&size) {
            write!(f, "{:.4}", self.0)
        } else {
            write!(f, "{:.3e}", self.0)
        }
    }
}
