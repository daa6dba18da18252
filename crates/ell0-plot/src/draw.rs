//! A chart as SVG.

use std::{
    collections::BTreeMap,
    fmt::{Arguments, Write},
};

use crate::{
    Chart, Series, Shape,
    axis::Tick,
    frame::{Frame, LEGEND_ROW, TOP, letters},
};

/// Told apart by most eyes, on white and on dark.
const COLOURS: [&str; 8] = [
    "#2a6fbb", "#d1622b", "#2f9e6e", "#a3478f", "#c79a1b", "#5aa9d6", "#8a5a44", "#6b7280",
];

/// Lines of more points than this do not tell their values.
const MOST_TOLD: usize = 700;

/// Text that may stand in SVG or HTML, between elements or quotes.
pub fn escaped(text: &str) -> String {
    // XML has no way to say most of these.
    let unsayable = |c: char| c.is_control() && !"\n\t".contains(c);
    text.replace(unsayable, "\u{fffd}")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn label(tick: &Tick) -> String {
    match tick {
        Tick::Number(text) => escaped(text),
        Tick::Power(k) => format!(
            "10<tspan dy=\"-5\" font-size=\"9\">{}</tspan>",
            k.to_string().replace('-', "−")
        ),
    }
}

/// An SVG file that grows.
struct Pen<'a>(&'a mut String);

impl Pen<'_> {
    fn put(&mut self, text: Arguments) {
        // Writing to a string does not fail.
        let _ = self.0.write_fmt(text);
    }
}

impl Chart {
    /// Draws into an SVG file, with the upper left corner at the given place. The name of the clip must be the chart's own.
    pub(crate) fn draw(
        &self,
        svg: &mut String,
        clip: &str,
        (left, top): (f64, f64),
        (width, height): (f64, f64),
    ) {
        let colours = self.colours();
        let (frame, legend) = Frame::new(self, &colours, (width, height));
        let mut pen = Pen(svg);
        // A long title is set smaller rather than cut off.
        let room = (width - frame.left) / (letters(&self.title) * 15.0 / 11.0).max(1.0);
        let size = (15.0 * room).clamp(8.0, 15.0);
        pen.put(format_args!(
            "<svg class=\"chart\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n<text x=\"{}\" y=\"18\" class=\"title\" font-size=\"{size:.1}\">{}</text>\n",
            frame.left,
            escaped(&self.title)
        ));
        self.draw_axes(&mut pen, &frame);
        pen.put(format_args!(
            "<clipPath id=\"{clip}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n<g clip-path=\"url(#{clip})\">\n",
            frame.left, frame.top, frame.width, frame.height
        ));
        for (k, (series, colour)) in self.series.iter().zip(&colours).enumerate() {
            match series.shape {
                Shape::Bars => self.draw_bars(&mut pen, &frame, k, colour),
                Shape::Cells => draw_cells(&mut pen, &frame, series, colour),
                Shape::Band => draw_band(&mut pen, &frame, series, colour),
                _ => self.draw_line(&mut pen, &frame, series, colour),
            }
        }
        pen.put(format_args!("</g>\n"));
        self.draw_marks(&mut pen, &frame);
        for entry in legend {
            let (x, y) = (frame.left + entry.x, TOP + LEGEND_ROW * entry.row as f64);
            pen.put(format_args!(
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"10\" height=\"10\" rx=\"2\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\">{}</text>\n",
                entry.colour,
                x + 14.0,
                y + 9.0,
                escaped(&entry.name)
            ));
        }
        pen.put(format_args!("</svg>\n"));
    }

    /// The colour of each series: a new one for each name.
    fn colours(&self) -> Vec<&'static str> {
        let mut names = 0usize;
        let mut colour = |series: &Series| {
            names += usize::from(!series.name.is_empty());
            COLOURS[names.saturating_sub(1) % COLOURS.len()]
        };
        self.series.iter().map(&mut colour).collect()
    }

    /// What a point says when it is pointed at.
    fn title(&self, series: &Series, point: &(f64, f64)) -> String {
        let at = self.x.categories.get(point.0.round().max(0.0) as usize);
        let at = at.map_or_else(|| format!("{}", Short(point.0)), |name| escaped(name));
        let name = escaped(&series.name);
        format!("<title>{name} {at}: {}</title>", Short(point.1))
    }

    fn draw_bars(&self, pen: &mut Pen, frame: &Frame, place: usize, colour: &str) {
        let bars = |series: &[Series]| series.iter().filter(|s| s.shape == Shape::Bars).count();
        let (all, before) = (bars(&self.series), bars(&self.series[..place]));
        let series = &self.series[place];
        let step = frame.width / self.x.categories.len().max(series.points.len()).max(1) as f64;
        let thick = 0.8 * step / all as f64;
        for point in &series.points {
            let ends = (frame.x(point.0), frame.y(point.1), frame.y(frame.y.foot()));
            if let (Some(centre), Some(high), Some(foot)) = ends {
                pen.put(format_args!(
                    "<rect class=\"datum\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"1.5\" fill=\"{colour}\">{}</rect>\n",
                    centre - 0.4 * step + thick * before as f64,
                    high.min(foot),
                    thick * 0.92,
                    (foot - high).abs().max(0.5),
                    self.title(series, point)
                ));
            }
        }
    }

    /// Points joined by a line, with dots, or dots alone.
    fn draw_line(&self, pen: &mut Pen, frame: &Frame, series: &Series, colour: &str) {
        let place = |p: &(f64, f64)| Some((frame.x(p.0)?, frame.y(p.1)?));
        if series.shape != Shape::Dots {
            // A point that cannot be drawn leaves a gap.
            let mut step = 'M';
            let (mut path, mut values) = (String::new(), String::new());
            for p in &series.points {
                match place(p) {
                    Some((x, y)) => {
                        let _ = write!(path, "{step}{x:.2} {y:.2}");
                        let _ = write!(values, " {}:{}", Short(p.0), Short(p.1));
                        step = 'L';
                    }
                    None => step = 'M',
                }
            }
            // A line has no dots to point at: a page can tell its values from these.
            let tells = series.shape == Shape::Line && series.points.len() <= MOST_TOLD;
            let told = if tells {
                format!(
                    " class=\"line\" data-name=\"{}\" data-values=\"{}\"",
                    escaped(&series.name),
                    values.trim_start()
                )
            } else {
                String::new()
            };
            pen.put(format_args!(
                "<path{told} d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"/>\n"
            ));
        }
        for (p, error) in series.points.iter().zip(&series.second) {
            if let (Some(x), Some(high)) = (frame.x(p.0), frame.y(p.1 + error)) {
                let low = frame.y(p.1 - error).unwrap_or(frame.bottom());
                pen.put(format_args!(
                    "<path d=\"M{x:.2} {high:.2}V{low:.2}\" stroke=\"{colour}\" stroke-opacity=\"0.5\" stroke-width=\"1.4\"/>\n"
                ));
            }
        }
        if series.shape == Shape::Line {
            return;
        }
        for p in &series.points {
            if let Some((x, y)) = place(p) {
                pen.put(format_args!(
                    "<circle class=\"datum\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" fill=\"{colour}\">{}</circle>\n",
                    self.title(series, p)
                ));
            }
        }
    }

    fn draw_marks(&self, pen: &mut Pen, frame: &Frame) {
        for mark in &self.marks {
            if let (Some(x), Some(y)) = (frame.x(mark.x), frame.y(mark.y)) {
                let right = x < frame.left + 0.6 * frame.width;
                let (dx, anchor) = if right {
                    (12.0, "start")
                } else {
                    (-12.0, "end")
                };
                let text_y = (y - 12.0).max(frame.top + 12.0);
                pen.put(format_args!(
                    "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"7\" fill=\"none\" stroke=\"#c0262d\" stroke-width=\"2\"/>\n<text x=\"{:.1}\" y=\"{text_y:.1}\" text-anchor=\"{anchor}\" fill=\"#c0262d\" font-size=\"12\">{}</text>\n",
                    x + dx,
                    escaped(&mark.label)
                ));
            }
        }
    }

    fn draw_axes(&self, pen: &mut Pen, frame: &Frame) {
        let (left, top, bottom) = (frame.left, frame.top, frame.bottom());
        let right = left + frame.width;
        if self.x.categories.is_empty() {
            for (value, tick) in frame.x.ticks((frame.width / 60.0).max(1.0) as usize) {
                let Some(x) = frame.x(value) else { continue };
                pen.put(format_args!(
                    "<path class=\"grid\" d=\"M{x:.1} {top}V{bottom:.1}\" stroke=\"#e5e7eb\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\">{}</text>\n",
                    bottom + 16.0,
                    label(&tick)
                ));
            }
        }
        for (k, name) in self.x.categories.iter().enumerate() {
            let step = frame.width / self.x.categories.len() as f64;
            // Long names take turns in two rows.
            let row = if letters(name) > step * 0.95 && k % 2 == 1 {
                30.0
            } else {
                16.0
            };
            pen.put(format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\">{}</text>\n",
                left + (k as f64 + 0.5) * step,
                bottom + row,
                escaped(name)
            ));
        }
        for (value, tick) in &frame.rows {
            let Some(y) = frame.y(*value) else { continue };
            pen.put(format_args!(
                "<path class=\"grid\" d=\"M{left} {y:.1}H{right:.1}\" stroke=\"#e5e7eb\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"11\">{}</text>\n",
                left - 6.0,
                y + 4.0,
                label(tick)
            ));
        }
        pen.put(format_args!(
            "<path class=\"frame\" d=\"M{left} {top}V{bottom:.1}H{right:.1}\" fill=\"none\" stroke=\"#6b7280\"/>\n<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"12\">{}</text>\n<text transform=\"translate(15 {:.1}) rotate(-90)\" text-anchor=\"middle\" font-size=\"12\">{}</text>\n",
            left + frame.width / 2.0,
            bottom + 38.0,
            escaped(&self.x.label),
            top + frame.height / 2.0,
            escaped(&self.y.label)
        ));
    }
}

fn draw_cells(pen: &mut Pen, frame: &Frame, series: &Series, colour: &str) {
    let (w, h) = (0.5 * series.cell.0, 0.5 * series.cell.1);
    // Cells of one density are one path: there may be thousands.
    let mut paths: BTreeMap<u32, String> = BTreeMap::new();
    for (from, to, density) in series.runs() {
        let corners = (
            frame.x(from.0 - w),
            frame.y(to),
            frame.x(from.0 + w),
            frame.y(from.1 - h),
        );
        if let (Some(left), Some(top), Some(right), Some(foot)) = corners {
            // On whole pixels neighbours neither overlap nor leave gaps.
            let (left, right) = (left.round(), right.round());
            let path = paths.entry((density * 1e3).round() as u32).or_default();
            let _ = write!(path, "M{left} {top:.1}H{right}V{foot:.1}H{left}Z");
        }
    }
    for (density, path) in paths {
        pen.put(format_args!(
            "<path class=\"cells\" d=\"{path}\" fill=\"{colour}\" fill-opacity=\"{}\" shape-rendering=\"crispEdges\"/>\n",
            f64::from(density) / 1e3
        ));
    }
}

fn draw_band(pen: &mut Pen, frame: &Frame, series: &Series, colour: &str) {
    let low = series.points.iter().copied();
    let high = series.points.iter().zip(&series.second);
    let corners: Vec<String> = low
        .chain(high.map(|(p, s)| (p.0, *s)).rev())
        .filter_map(|p| Some(format!("{:.2},{:.2}", frame.x(p.0)?, frame.y(p.1)?)))
        .collect();
    pen.put(format_args!(
        "<polygon points=\"{}\" fill=\"{colour}\" fill-opacity=\"0.18\"/>\n",
        corners.join(" ")
    ));
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
