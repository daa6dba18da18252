//! What a chart shows: points that belong together, and their shape.

/// How the points of a series are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Joined by a line.
    Line,
    /// A line with dots.
    LineAndDots,
    /// Dots.
    Dots,
    /// Small dots, of which there may be many; they do not tell their values.
    Points,
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

    /// Small dots, of which there may be many.
    pub fn points(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series::new(name, Shape::Points, points)
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

    /// Cells above each other with the same density, as one: (centre of the lowest, upper end of the highest, density).
    pub(crate) fn runs(&self) -> Vec<((f64, f64), f64, f64)> {
        let height = self.cell.1;
        let mut runs: Vec<((f64, f64), f64, f64)> = Vec::new();
        for (point, density) in self.points.iter().zip(&self.second) {
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

    /// With error bars of ± these.
    pub fn with_errors(mut self, errors: impl IntoIterator<Item = f64>) -> Self {
        self.second = errors.into_iter().collect();
        self
    }
}
