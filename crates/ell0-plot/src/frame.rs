//! Where things stand in a chart: the plot, the labels along it, the legend above it.

use std::borrow::Cow;

use crate::{
    Axis, Chart, Series,
    axis::{Ruler, Tick},
    colour_bar,
    element::Colour,
};

/// Space around the plot, the least on the left; a row of the legend takes more at the top.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 16.0;
pub(crate) const TOP: f64 = 26.0;
const BOTTOM: f64 = 52.0;
pub(crate) const LEGEND_ROW: f64 = 16.0;

/// About the width of a letter of size 11.
const LETTER: f64 = 5.9;

pub(crate) fn letters(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}

/// About the width of a tick's label.
pub(crate) fn length(tick: &Tick) -> f64 {
    match tick {
        Tick::Number(text) => letters(text),
        Tick::Power(_) => 4.0 * LETTER,
    }
}

/// An entry of the legend.
pub(crate) struct Entry<'a> {
    pub name: Cow<'a, str>,
    /// None for what stands for others.
    pub colour: Option<Colour>,
    /// From the left of the plot.
    pub x: f64,
    pub row: usize,
}

/// Where the plot lies in its chart.
pub(crate) struct Frame {
    pub x: Ruler,
    pub y: Ruler,
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    /// Labels along the vertical axis.
    pub rows: Vec<(f64, Tick)>,
}

impl Frame {
    /// The frame, and the legend above it.
    pub fn new<'a>(
        chart: &'a Chart,
        colours: &[Colour],
        (width, height): (f64, f64),
    ) -> (Self, Vec<Entry<'a>>) {
        let (x, y) = chart.rulers();
        let rows = |height: f64| match &chart.y {
            axis if !axis.categories.is_empty() => names(axis),
            // An axis without a name has no scale.
            axis if axis.label.is_empty() => Vec::new(),
            _ => y.ticks((height / 36.0).max(5.0) as usize),
        };
        let below = height - TOP - BOTTOM - 6.0;
        let lengths = rows(below);
        let longest = lengths.iter().map(|row| length(&row.1)).fold(0.0, f64::max);
        let label = if chart.y.label.is_empty() { 8.0 } else { 24.0 };
        let left = (label + longest + 8.0).clamp(LEFT, LEFT.max(0.4 * width));
        let right = chart.field.as_ref();
        let right = right.map_or(RIGHT, |field| colour_bar::room(field, below));
        let width = (width - left - right).max(20.0);
        // The legend may take a quarter of the chart.
        let most_rows = (0.25 * height / LEGEND_ROW).max(1.0) as usize;
        let legend = chart.legend(colours, width, most_rows);
        let legend_rows = legend.last().map_or(0, |entry| entry.row + 1);
        let above = LEGEND_ROW * legend_rows as f64;
        let height = (below - above).max(20.0);
        let rows = rows(height);
        let frame = Frame {
            x,
            y,
            left,
            top: TOP + 6.0 + above,
            width,
            height,
            rows,
        };
        (frame, legend)
    }

    pub fn x(&self, value: f64) -> Option<f64> {
        self.x.at(value).map(|at| self.left + at * self.width)
    }

    pub fn y(&self, value: f64) -> Option<f64> {
        let at = self.y.at(value)?;
        Some(self.top + (1.0 - at) * self.height)
    }

    /// Labels along the horizontal axis.
    pub fn columns(&self) -> Vec<(f64, Tick)> {
        self.x.ticks((self.width / 60.0).max(1.0) as usize)
    }

    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// The names of an axis, where they stand.
fn names(axis: &Axis) -> Vec<(f64, Tick)> {
    let name = |(k, name): (usize, &String)| (k as f64, Tick::Number(name.clone()));
    axis.categories.iter().enumerate().map(name).collect()
}

impl Chart {
    /// The names of the series, if there are several, in rows of a width; what finds no room is counted.
    fn legend(&self, colours: &[Colour], width: f64, most_rows: usize) -> Vec<Entry<'_>> {
        let named: Vec<(&Series, Colour)> = self
            .series
            .iter()
            .zip(colours.iter().copied())
            .filter(|(series, _)| !series.name.is_empty())
            .collect();
        if named.len() < 2 {
            return Vec::new();
        }
        let mut entries: Vec<Entry> = Vec::new();
        let (mut x, mut row) = (0.0, 0);
        let longest = ((width - 14.0) / LETTER).max(4.0) as usize;
        for (k, (series, colour)) in named.iter().enumerate() {
            let mut name = Cow::from(&series.name);
            if name.chars().count() > longest {
                name = (name.chars().take(longest - 1).collect::<String>() + "…").into();
            }
            let length = 14.0 + letters(&name);
            if x > 0.0 && x + length > width {
                (x, row) = (0.0, row + 1);
            }
            if row >= most_rows {
                // In place of the last one there is room for.
                if let Some(last) = entries.last_mut() {
                    last.name = format!("and {} more", named.len() - k + 1).into();
                    last.colour = None;
                }
                break;
            }
            entries.push(Entry {
                name,
                colour: Some(*colour),
                x,
                row,
            });
            x += length + 14.0;
        }
        entries
    }
}
