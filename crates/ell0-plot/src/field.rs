//! A field: values on a grid over a rectangle, shown by colours.

use crate::{
    Error, Palette,
    picture::{Picture, covered},
};

/// More columns or rows than this are averaged: no chart has the pixels to show them.
const MOST: usize = 600;

/// Values on a grid of equal cells over a rectangle, shown by colours: a quantity over time and space, for example. Values that are not finite are grey.
///
/// ```
/// use ell0_plot::{Axis, Chart, Field, Figure};
/// let wave = |point: usize, time: usize| (0.2 * point as f64 - 0.1 * time as f64).sin();
/// let field = Field::from_fn((64, 1000), (0.0, 50.0), (0.0, 22.0), wave)?
///     .with_range(-1.0, 1.0)
///     .with_label("u");
/// let chart = Chart::new("A wave", Axis::linear("t"), Axis::linear("x")).with_field(field);
/// assert!(Figure::new(vec![chart]).svg().contains("<image"));
/// # Ok::<(), ell0_plot::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    rows: usize,
    columns: usize,
    /// Row after row, the lowest first.
    values: Vec<f64>,
    x: (f64, f64),
    y: (f64, f64),
    label: String,
    palette: Palette,
    range: Option<(f64, f64)>,
}

impl Field {
    /// Values row after row, the first row at the low end of `y`; `x` and `y` are the ends of the rectangle, the outer edges of its cells.
    pub fn new(
        (rows, columns): (usize, usize),
        values: Vec<f64>,
        x: (f64, f64),
        y: (f64, f64),
    ) -> Result<Self, Error> {
        if rows == 0 || columns == 0 || rows.checked_mul(columns) != Some(values.len()) {
            return Err(Error(format!(
                "a field of {rows} rows and {columns} columns cannot have {} values",
                values.len()
            )));
        }
        for (name, (low, high)) in [("x", x), ("y", y)] {
            if !(low < high && low.is_finite() && high.is_finite()) {
                return Err(Error(format!(
                    "a field cannot reach from {name} = {low} to {high}: both must be finite, and the first the lesser"
                )));
            }
        }
        Ok(Field {
            rows,
            columns,
            values,
            x,
            y,
            label: String::new(),
            palette: Palette::default(),
            range: None,
        })
    }

    /// The same with the value of each row and column from a function.
    pub fn from_fn(
        (rows, columns): (usize, usize),
        x: (f64, f64),
        y: (f64, f64),
        mut value: impl FnMut(usize, usize) -> f64,
    ) -> Result<Self, Error> {
        let mut values = Vec::with_capacity(rows.saturating_mul(columns).min(1 << 24));
        for row in 0..rows {
            values.extend((0..columns).map(|column| value(row, column)));
        }
        Field::new((rows, columns), values, x, y)
    }

    /// With given values at the ends of the colours, so that charts can be compared. Values beyond have the colours of the ends.
    pub fn with_range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// With other colours.
    pub fn with_palette(mut self, palette: Palette) -> Self {
        self.palette = palette;
        self
    }

    /// With a name of the quantity, beside the colours.
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The name of the quantity.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Where it lies along the horizontal axis.
    pub fn x(&self) -> (f64, f64) {
        self.x
    }

    /// Where it lies along the vertical axis.
    pub fn y(&self) -> (f64, f64) {
        self.y
    }

    /// The values at the ends of the colours: those given, if they are finite, else the least and the greatest value; for diverging colours as far below zero as above it. Ends that coincide are moved apart.
    pub fn range(&self) -> (f64, f64) {
        let finite = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite();
        let of_values = || {
            let ends = (f64::INFINITY, f64::NEG_INFINITY);
            let values = self.values.iter().filter(|v| v.is_finite());
            let ends = values.fold(ends, |(low, high), v| (low.min(*v), high.max(*v)));
            let ends = Some(ends).filter(finite)?;
            let most = ends.0.abs().max(ends.1.abs());
            Some(match self.palette {
                Palette::Diverging => (-most, most),
                Palette::Sequential => ends,
            })
        };
        let ends = self.range.filter(finite).or_else(of_values);
        // A distance between the ends must be a number, too.
        let (a, b) = ends.map_or((0.0, 1.0), |(a, b)| {
            (a.clamp(-1e300, 1e300), b.clamp(-1e300, 1e300))
        });
        match a == b {
            false => (a.min(b), a.max(b)),
            true => {
                let room = if a == 0.0 { 1.0 } else { 0.5 * a.abs() };
                (a - room, a + room)
            }
        }
    }

    /// Which colours it is shown by.
    pub(crate) fn palette(&self) -> Palette {
        self.palette
    }

    /// The field in colours.
    pub(crate) fn picture(&self) -> Picture {
        let (columns, rows) = (self.columns.min(MOST), self.rows.min(MOST));
        let range = self.range();
        let mut cells = Vec::with_capacity(columns * rows);
        // Pictures begin at the top.
        for row in (0..rows).rev() {
            for column in 0..columns {
                let value = self.mean((columns, rows), column, row);
                cells.push(self.palette.colour(value, range));
            }
        }
        Picture {
            columns,
            rows,
            cells,
        }
    }

    /// The mean of the values in one of `parts` = (across, down) equal parts, of those that are finite.
    fn mean(&self, (across, down): (usize, usize), column: usize, row: usize) -> f64 {
        let (mut sum, mut whole) = (0.0, 0.0);
        for (row, high) in covered(self.rows, down, row) {
            for (column, wide) in covered(self.columns, across, column) {
                let value = self.values[row * self.columns + column];
                if value.is_finite() {
                    sum += high * wide * value;
                    whole += high * wide;
                }
            }
        }
        sum / whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette::MISSING;

    fn field(values: &[f64]) -> Field {
        Field::new((1, values.len()), values.into(), (0.0, 1.0), (0.0, 1.0)).expect("a field")
    }

    #[test]
    fn ranges_are_of_the_data_or_given() {
        let values = field(&[-1.0, f64::NAN, 4.0, f64::NEG_INFINITY]);
        assert_eq!(values.range(), (-4.0, 4.0));
        let sequential = values.clone().with_palette(Palette::Sequential);
        assert_eq!(sequential.range(), (-1.0, 4.0));
        assert_eq!(sequential.with_range(0.0, 2.0).range(), (0.0, 2.0));
        assert_eq!(values.clone().with_range(3.0, -2.0).range(), (-2.0, 3.0));
        // A range that cannot be used is that of the data.
        assert_eq!(values.with_range(f64::NAN, 1.0).range(), (-4.0, 4.0));
        for (values, range) in [
            (vec![0.0, 0.0], (-1.0, 1.0)),
            (vec![f64::NAN], (0.0, 1.0)),
            (vec![f64::MAX], (-1e300, 1e300)),
        ] {
            assert_eq!(field(&values).range(), range);
        }
        let one = field(&[2.0]).with_palette(Palette::Sequential);
        assert_eq!(one.range(), (1.0, 3.0));
    }

    #[test]
    fn sizes_and_ends_that_do_not_fit_are_errors() {
        let (x, y) = ((0.0, 1.0), (0.0, 1.0));
        let values = || vec![0.0; 6];
        assert!(Field::new((2, 3), values(), x, y).is_ok());
        let error = Field::new((2, 4), values(), x, y).expect_err("two values are missing");
        assert!(
            error
                .to_string()
                .contains("2 rows and 4 columns cannot have 6 values")
        );
        assert!(Field::new((0, 3), Vec::new(), x, y).is_err());
        assert!(Field::new((usize::MAX, 2), values(), x, y).is_err());
        assert!(Field::new((2, 3), values(), (1.0, 1.0), y).is_err());
        assert!(Field::new((2, 3), values(), x, (0.0, f64::NAN)).is_err());
        assert!(Field::from_fn((0, 0), x, y, |_, _| 0.0).is_err());
    }

    #[test]
    fn the_first_row_is_the_lowest() {
        let field = Field::from_fn((2, 3), (0.0, 1.0), (0.0, 1.0), |row, column| {
            (row * 3 + column) as f64
        });
        let picture = field.expect("a field").with_range(0.0, 5.0).picture();
        let colour = |value| Palette::Diverging.colour(value, (0.0, 5.0));
        assert_eq!(picture.cells, [3.0, 4.0, 5.0, 0.0, 1.0, 2.0].map(colour));
    }

    #[test]
    fn more_columns_than_pixels_are_averaged() {
        // Neighbours cancel, apart from one that is missing and a pair that is.
        let mut values: Vec<f64> = (0..1200).map(|k| f64::from(k % 2) * 2.0 - 1.0).collect();
        values[0] = f64::NAN;
        values[2] = f64::NAN;
        values[3] = f64::INFINITY;
        let picture = field(&values).with_range(-1.0, 1.0).picture();
        assert_eq!((picture.columns, picture.rows), (600, 1));
        let colour = |value| Palette::Diverging.colour(value, (-1.0, 1.0));
        assert_eq!(picture.cells[..2], [colour(1.0), MISSING]);
        assert!(picture.cells[2..].iter().all(|c| *c == colour(0.0)));
        // A slope stays a slope where the columns do not divide.
        let slope = field(&(0..1000).map(f64::from).collect::<Vec<_>>());
        for k in 0..600 {
            let middle = (k as f64 + 0.5) * 1000.0 / 600.0 - 0.5;
            assert!((slope.mean((600, 1), k, 0) - middle).abs() < 0.2, "{k}");
        }
        // As many as there is room for are left as they are.
        assert_eq!(field(&[0.5; 599]).picture().columns, 599);
    }
}
