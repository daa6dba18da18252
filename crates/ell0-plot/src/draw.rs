//! A chart as the elements of a drawing.

use std::collections::BTreeMap;

use crate::{
    Chart, Field, Series, Shape,
    axis::Tick,
    colour_bar::{self, mark, outline},
    element::{Anchor, Colour, Element, FRAME, GRID, Line, Place, Sheet, Text},
    frame::{Frame, LEGEND_ROW, TOP, letters},
    svg::Short,
};

/// Told apart by most eyes, on white and on dark.
const COLOURS: [Colour; 8] = [
    "#2a6fbb", "#d1622b", "#2f9e6e", "#a3478f", "#c79a1b", "#5aa9d6", "#8a5a44", "#6b7280",
];

/// What is pointed out.
const MARKED: Colour = "#c0262d";

/// Lines of more points than this do not tell their values.
const MOST_TOLD: usize = 700;

impl Tick {
    pub(crate) fn label(&self, place: Place, anchor: Anchor) -> Element {
        let mut text = Text::new(place, 11.0, anchor, "10");
        match self {
            Tick::Number(number) => text.words.clone_from(number),
            Tick::Power(k) => text.power = Some(*k),
        }
        Element::Text(text)
    }
}

fn grid(corners: [Place; 2]) -> Element {
    let line = Line::through(corners.into(), GRID, 1.0);
    Element::Line(Line {
        class: Some("grid"),
        ..line
    })
}

impl Chart {
    /// The chart as elements.
    pub(crate) fn sheet(&self, (width, height): (f64, f64)) -> Sheet {
        let colours = self.colours();
        let (frame, legend) = Frame::new(self, &colours, (width, height));
        // A long title is set smaller rather than cut off.
        let room = (width - frame.left) / (letters(&self.title) * 15.0 / 11.0).max(1.0);
        let size = (15.0 * room).clamp(8.0, 15.0);
        let title = Text::new((frame.left, 18.0), size, Anchor::Start, &self.title);
        let mut behind = vec![Element::Text(title)];
        self.axes(&mut behind, &frame);
        let (mut data, mut front) = (Vec::new(), Vec::new());
        if let Some(field) = &self.field {
            show(&mut data, &frame, field);
            self.around_field(&mut front, &frame);
            colour_bar::draw(&mut front, field, &frame);
        }
        for (k, (series, colour)) in self.series.iter().zip(&colours).enumerate() {
            match series.shape {
                Shape::Bars => self.bars(&mut data, &frame, k, colour),
                Shape::Cells => cells(&mut data, &frame, series, colour),
                Shape::Band => band(&mut data, &frame, series, colour),
                Shape::Points => points(&mut data, &frame, series, colour),
                _ => self.line(&mut data, &frame, series, colour),
            }
        }
        self.draw_marks(&mut front, &frame);
        for entry in legend {
            let (x, y) = (frame.left + entry.x, TOP + LEGEND_ROW * entry.row as f64);
            if let Some(colour) = entry.colour {
                front.push(Element::Bar {
                    place: (x, y),
                    size: (10.0, 10.0),
                    round: 2.0,
                    colour,
                    title: None,
                });
            }
            let place = (x + 14.0, y + 9.0);
            let text = Text::new(place, 11.0, Anchor::Start, entry.name);
            front.push(Element::Text(text));
        }
        Sheet {
            size: (width, height),
            behind,
            plot: [frame.left, frame.top, frame.width, frame.height],
            data,
            front,
        }
    }

    /// The colour of each series: a new one for each name.
    fn colours(&self) -> Vec<Colour> {
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
        let at = at.map_or_else(|| Short(point.0).to_string(), Clone::clone);
        format!("{} {at}: {}", series.name, Short(point.1))
    }

    fn bars(&self, data: &mut Vec<Element>, frame: &Frame, place: usize, colour: Colour) {
        let bars = |series: &[Series]| series.iter().filter(|s| s.shape == Shape::Bars).count();
        let (all, before) = (bars(&self.series), bars(&self.series[..place]));
        let series = &self.series[place];
        let step = frame.width / self.x.categories.len().max(series.points.len()).max(1) as f64;
        let thick = 0.8 * step / all as f64;
        for point in &series.points {
            let ends = (frame.x(point.0), frame.y(point.1), frame.y(frame.y.foot()));
            if let (Some(centre), Some(high), Some(foot)) = ends {
                data.push(Element::Bar {
                    place: (centre - 0.4 * step + thick * before as f64, high.min(foot)),
                    size: (thick * 0.92, (foot - high).abs().max(0.5)),
                    round: 1.5,
                    colour,
                    title: Some(self.title(series, point)),
                });
            }
        }
    }

    /// Points joined by a line, with dots, or dots alone.
    fn line(&self, data: &mut Vec<Element>, frame: &Frame, series: &Series, colour: Colour) {
        let place = |p: &(f64, f64)| Some((frame.x(p.0)?, frame.y(p.1)?));
        if series.shape != Shape::Dots {
            // A line has no dots to point at: a page can tell its values from these.
            let tells = series.shape == Shape::Line && series.points.len() <= MOST_TOLD;
            // A point that cannot be drawn leaves a gap.
            let (mut parts, mut part) = (Vec::new(), Vec::new());
            let mut values = Vec::new();
            for p in &series.points {
                match place(p) {
                    Some(corner) => {
                        part.push(corner);
                        if tells {
                            values.push(*p);
                        }
                    }
                    None => parts.push(std::mem::take(&mut part)),
                }
            }
            parts.push(part);
            parts.retain(|part| !part.is_empty());
            let told = tells.then(|| (series.name.clone(), values));
            data.push(Element::Line(Line {
                parts,
                colour,
                width: 1.8,
                opacity: 1.0,
                class: tells.then_some("line"),
                told,
            }));
        }
        for (p, error) in series.points.iter().zip(&series.second) {
            if let (Some(x), Some(high)) = (frame.x(p.0), frame.y(p.1 + error)) {
                let low = frame.y(p.1 - error).unwrap_or(frame.bottom());
                let line = Line::through(vec![(x, high), (x, low)], colour, 1.4);
                data.push(Element::Line(Line {
                    opacity: 0.5,
                    ..line
                }));
            }
        }
        if series.shape == Shape::Line {
            return;
        }
        for p in &series.points {
            if let Some(place) = place(p) {
                data.push(Element::Dot {
                    place,
                    radius: 3.2,
                    colour,
                    title: self.title(series, p),
                });
            }
        }
    }

    fn draw_marks(&self, front: &mut Vec<Element>, frame: &Frame) {
        for mark in &self.marks {
            if let (Some(x), Some(y)) = (frame.x(mark.x), frame.y(mark.y)) {
                let right = x < frame.left + 0.6 * frame.width;
                let (dx, anchor) = if right {
                    (12.0, Anchor::Start)
                } else {
                    (-12.0, Anchor::End)
                };
                let text_y = (y - 12.0).max(frame.top + 12.0);
                front.push(Element::Ring {
                    place: (x, y),
                    radius: 7.0,
                    colour: MARKED,
                });
                let text = Text::new((x + dx, text_y), 12.0, anchor, &mark.label);
                front.push(Element::Text(Text {
                    colour: MARKED,
                    ..text
                }));
            }
        }
    }

    /// A field hides the grid and the inner half of the axes: marks outside of it say where the labels belong.
    fn around_field(&self, front: &mut Vec<Element>, frame: &Frame) {
        let (left, top, bottom) = (frame.left, frame.top, frame.bottom());
        front.push(outline([left, top, left + frame.width, bottom]));
        if self.x.categories.is_empty() {
            for (value, _) in frame.columns() {
                let Some(x) = frame.x(value) else { continue };
                front.push(mark([(x, bottom), (x, bottom + 4.0)]));
            }
        }
        for (value, _) in &frame.rows {
            let Some(y) = frame.y(*value) else { continue };
            front.push(mark([(left - 4.0, y), (left, y)]));
        }
    }

    fn axes(&self, behind: &mut Vec<Element>, frame: &Frame) {
        let (left, top, bottom) = (frame.left, frame.top, frame.bottom());
        let right = left + frame.width;
        if self.x.categories.is_empty() {
            for (value, tick) in frame.columns() {
                let Some(x) = frame.x(value) else { continue };
                behind.push(grid([(x, top), (x, bottom)]));
                behind.push(tick.label((x, bottom + 16.0), Anchor::Middle));
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
            let place = (left + (k as f64 + 0.5) * step, bottom + row);
            behind.push(Element::Text(Text::new(place, 11.0, Anchor::Middle, name)));
        }
        for (value, tick) in &frame.rows {
            let Some(y) = frame.y(*value) else { continue };
            behind.push(grid([(left, y), (right, y)]));
            behind.push(tick.label((left - 6.0, y + 4.0), Anchor::End));
        }
        let edge = vec![(left, top), (left, bottom), (right, bottom)];
        let edge = Line::through(edge, FRAME, 1.0);
        behind.push(Element::Line(Line {
            class: Some("frame"),
            ..edge
        }));
        let place = (left + frame.width / 2.0, bottom + 38.0);
        let name = Text::new(place, 12.0, Anchor::Middle, &self.x.label);
        behind.push(Element::Text(name));
        let place = (15.0, top + frame.height / 2.0);
        let name = Text::new(place, 12.0, Anchor::Middle, &self.y.label);
        behind.push(Element::Text(Text {
            turned: true,
            ..name
        }));
    }
}

fn show(data: &mut Vec<Element>, frame: &Frame, field: &Field) {
    let ((x0, x1), (y0, y1)) = (field.x(), field.y());
    let corners = (frame.x(x0), frame.y(y1), frame.x(x1), frame.y(y0));
    if let (Some(left), Some(top), Some(right), Some(foot)) = corners {
        data.push(Element::Picture {
            place: (left, top),
            size: (right - left, foot - top),
            picture: field.picture(),
        });
    }
}

fn cells(data: &mut Vec<Element>, frame: &Frame, series: &Series, colour: Colour) {
    let (w, h) = (0.5 * series.cell.0, 0.5 * series.cell.1);
    // Cells of one density are one element: there may be thousands.
    let mut densities: BTreeMap<u32, Vec<[f64; 4]>> = BTreeMap::new();
    for (from, to, density) in series.runs() {
        let corners = (
            frame.x(from.0 - w),
            frame.y(to),
            frame.x(from.0 + w),
            frame.y(from.1 - h),
        );
        if let (Some(left), Some(top), Some(right), Some(foot)) = corners {
            let boxes = densities.entry((density * 1e3).round() as u32).or_default();
            boxes.push([left.round(), top, right.round(), foot]);
        }
    }
    data.extend(
        densities
            .into_iter()
            .map(|(density, boxes)| Element::Cells {
                boxes,
                colour,
                opacity: f64::from(density) / 1e3,
            }),
    );
}

/// The stretches of a band between points that cannot be drawn.
fn band(data: &mut Vec<Element>, frame: &Frame, series: &Series, colour: Colour) {
    let (mut low, mut high): (Vec<Place>, Vec<Place>) = (Vec::new(), Vec::new());
    let mut finish = |low: &mut Vec<Place>, high: &mut Vec<Place>| {
        let mut corners = std::mem::take(low);
        corners.extend(std::mem::take(high).into_iter().rev());
        if corners.len() > 2 {
            data.push(Element::Area {
                corners,
                colour,
                opacity: 0.18,
            });
        }
    };
    for (p, second) in series.points.iter().zip(&series.second) {
        match (frame.x(p.0), frame.y(p.1), frame.y(*second)) {
            (Some(x), Some(a), Some(b)) => {
                low.push((x, a));
                high.push((x, b));
            }
            _ => finish(&mut low, &mut high),
        }
    }
    finish(&mut low, &mut high);
}

fn points(data: &mut Vec<Element>, frame: &Frame, series: &Series, colour: Colour) {
    let places = series.points.iter();
    let places = places.filter_map(|p| Some((frame.x(p.0)?, frame.y(p.1)?)));
    data.push(Element::Points {
        places: places.collect(),
        radius: 1.5,
        colour,
        opacity: 0.75,
    });
}
