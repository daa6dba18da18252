//! Charts side by side, as SVG and as PNG.

use crate::{Chart, paint::Painting};

/// Why a figure could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the figure cannot be drawn: {0}")]
pub struct Error(pub(crate) String);

/// Charts side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The charts, row after row.
    pub charts: Vec<Chart>,
    /// Charts in a row.
    pub columns: usize,
    /// Size of a chart.
    pub size: (f64, f64),
}

impl Figure {
    /// Up to three charts in a row.
    pub fn new(charts: Vec<Chart>) -> Self {
        Figure {
            columns: charts.len().clamp(1, 3),
            charts,
            size: (420.0, 320.0),
        }
    }

    /// With so many charts in a row.
    pub fn with_columns(mut self, columns: usize) -> Self {
        self.columns = columns.max(1);
        self
    }

    /// With charts of this size.
    pub fn with_size(mut self, width: f64, height: f64) -> Self {
        self.size = (width.max(200.0), height.max(150.0));
        self
    }

    /// Width and height of it all.
    fn extent(&self) -> (f64, f64) {
        let rows = self.charts.len().div_ceil(self.columns).max(1);
        (
            self.size.0 * self.columns as f64 + 16.0,
            self.size.1 * rows as f64 + 16.0,
        )
    }

    /// Where a chart stands.
    fn place(&self, chart: usize) -> (f64, f64) {
        let (column, row) = (chart % self.columns, chart / self.columns);
        (
            8.0 + self.size.0 * column as f64,
            8.0 + self.size.1 * row as f64,
        )
    }

    /// The figure as SVG. Dots and bars have their values as titles; lines have theirs in `data-values`, as x:y for each point of the path, for pages that show them.
    pub fn svg(&self) -> String {
        let (width, height) = self.extent();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"Ubuntu, 'Segoe UI', Helvetica, Arial, sans-serif\" fill=\"#1f2937\">\n<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        // Each chart is a drawing of its own, so that a page can set them under each other where there is no room side by side.
        for (k, chart) in self.charts.iter().enumerate() {
            let sheet = chart.sheet(self.size);
            sheet.write_svg(&mut svg, &format!("clip-{k}"), self.place(k));
        }
        svg + "</svg>\n"
    }

    /// The figure as PNG, `zoom` pixels for each unit of the SVG.
    pub fn png(&self, zoom: f32) -> Result<Vec<u8>, Error> {
        let mut painting = Painting::new(self.extent(), zoom)?;
        for (k, chart) in self.charts.iter().enumerate() {
            painting.paint(&chart.sheet(self.size), self.place(k));
        }
        painting.png()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Axis, Chart, Figure, Series};

    #[test]
    fn every_kind_is_drawn_and_bad_values_are_left_out() {
        let points = [(1.0, 1e-3), (2.0, f64::NAN), (3.0, 0.0), (4.0, 5.0)];
        let chart = Chart::new("A < B & \"C\"", Axis::linear("x"), Axis::log("y"))
            .with(Series::dotted("a", points).with_errors([1e-4; 4]))
            .with(Series::band("b", points.map(|p| (p.0, p.1, p.1 * 2.0))))
            .with(Series::dots("c", points))
            .with_mark(4.0, 5.0, "here");
        let bars = Chart::new("", Axis::categories(["one", "two"]), Axis::linear("y"))
            .with(Series::bars("a", [(0.0, 1.0), (1.0, -2.0)]))
            .with(Series::bars("b", [(0.0, 3.0)]));
        let empty = Chart::new("", Axis::linear(""), Axis::linear(""))
            .with(Series::line("l", points))
            // Two cells above each other are one rectangle, the third has another density.
            .with(Series::cells(
                "",
                (1.0, 1.0),
                [(0.0, 0.0, 0.5), (0.0, 1.0, 0.5), (0.0, 2.0, 1.0)],
            ));
        let figure = Figure::new(vec![chart, bars, empty]);
        let svg = figure.svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_eq!(svg.matches("class=\"datum\"").count(), 2 + 2 + 3);
        assert_eq!(svg.matches("class=\"cells\"").count(), 2);
        assert!(svg.contains("A &lt; B &amp; &quot;C&quot;"));
        assert!(svg.contains("<title>b one: 3</title>"));
        // A value for each point that is drawn.
        assert!(
            svg.contains("data-name=\"l\" data-values=\"1:1.000e-3 3:0 4:5\""),
            "{svg}"
        );
        // A legend of any length leaves room for the chart.
        let many = (0..200).map(|k| Series::line(&format!("a run with a long name {k}"), points));
        let chart = Chart::new("", Axis::linear("x"), Axis::linear("y"));
        let many = Figure::new(vec![many.fold(chart, Chart::with)]).svg();
        assert!(many.contains(" more</text>") && !many.contains("height=\"-"));
        // Deterministic, as everything is.
        assert_eq!(
            figure.png(1.5).expect("drawn"),
            figure.png(1.5).expect("drawn")
        );
    }
}
