//! One chart: axes, series, marks.

use crate::{
    Field, Series, Shape,
    axis::{Axis, Ruler, Scale},
};

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
    /// Values shown by colours, behind all else. With one, both axes are even and end where it does, if nothing is shown beyond.
    pub field: Option<Field>,
    /// What is shown, from back to front.
    pub series: Vec<Series>,
    /// What is pointed out.
    pub marks: Vec<Mark>,
}

impl Chart {
    /// An empty chart.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Chart {
            title: title.into(),
            x,
            y,
            field: None,
            series: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// With another series.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// With values shown by colours, and what they mean at its right.
    pub fn with_field(mut self, field: Field) -> Self {
        self.field = Some(field);
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

    /// The axes with their ranges settled.
    pub(crate) fn rulers(&self) -> (Ruler, Ruler) {
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
        let zero = (self.y.scale == Scale::Linear
            && self.series.iter().any(|s| s.shape == Shape::Bars))
        .then_some(0.0);
        let xs = points().map(|p| p.0);
        let ys = points().map(|p| p.1).chain(edges).chain(zero);
        match &self.field {
            None => (Ruler::new(&self.x, xs), Ruler::new(&self.y, ys)),
            Some(field) => (
                Ruler::around(&self.x, field.x(), xs),
                Ruler::around(&self.y, field.y(), ys),
            ),
        }
    }
}
