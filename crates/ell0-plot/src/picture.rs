//! Rows of coloured cells, and how many of them become few.

use crate::{base64, palette::Rgb};

/// Coloured cells, row after row from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    pub columns: usize,
    pub rows: usize,
    pub cells: Vec<Rgb>,
}

impl Picture {
    /// As a PNG file in letters, a pixel for each cell; empty if there are no cells.
    pub fn data_uri(&self) -> String {
        let mut text = String::from("data:image/png;base64,");
        base64::write(&mut text, &self.png().unwrap_or_default());
        text
    }

    fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.columns as u32, self.rows as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.cells.as_flattened())?;
        writer.finish()?;
        Ok(file)
    }

    /// The colour of one of `parts` = (across, down) equal parts of the picture: that of the cell in its middle, or the mean of the cells it covers where those are more than parts.
    pub fn part(&self, (across, down): (usize, usize), column: usize, row: usize) -> Rgb {
        let columns = || covered(self.columns, across, column);
        if across >= self.columns && down >= self.rows {
            let middle = |cells: usize, parts: usize, k: usize| (2 * k + 1) * cells / (2 * parts);
            let row = middle(self.rows, down, row);
            return self.cells[row * self.columns + middle(self.columns, across, column)];
        }
        let mut sum = [0.0; 3];
        let mut whole = 0.0;
        for (row, high) in covered(self.rows, down, row) {
            for (column, wide) in columns() {
                let cell = self.cells[row * self.columns + column];
                sum.iter_mut()
                    .zip(cell)
                    .for_each(|(s, c)| *s += high * wide * f64::from(c));
                whole += high * wide;
            }
        }
        sum.map(|s| (s / whole).round() as u8)
    }
}

/// The cells of a row that the `k`-th of so many equal parts of it covers, each with how much of it is covered.
pub(crate) fn covered(
    cells: usize,
    parts: usize,
    k: usize,
) -> impl Iterator<Item = (usize, f64)> + Clone {
    // In units of which a cell has `parts` and a part has `cells`.
    let (from, to) = (k * cells, (k + 1) * cells);
    (from / parts..to.div_ceil(parts)).map(move |cell| {
        let (start, end) = (from.max(cell * parts), to.min((cell + 1) * parts));
        (cell, (end - start) as f64 / parts as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_every_cell_once() {
        for (cells, parts) in [(1, 1), (7, 3), (3, 7), (1000, 600), (64, 64)] {
            let mut cover = vec![0.0; cells];
            for k in 0..parts {
                let whole: f64 = covered(cells, parts, k).map(|c| c.1).sum();
                assert!((whole - cells as f64 / parts as f64).abs() < 1e-12);
                covered(cells, parts, k).for_each(|(cell, share)| cover[cell] += share);
            }
            assert!(cover.iter().all(|c| (c - 1.0).abs() < 1e-12), "{cover:?}");
        }
    }

    #[test]
    fn many_parts_are_cells_and_few_are_means() {
        let picture = Picture {
            columns: 2,
            rows: 2,
            cells: vec![[0; 3], [100; 3], [200; 3], [50; 3]],
        };
        let all = |parts: (usize, usize)| -> Vec<u8> {
            let rows = 0..parts.1;
            rows.flat_map(|row| (0..parts.0).map(move |column| (column, row)))
                .map(|(column, row)| picture.part(parts, column, row)[0])
                .collect()
        };
        assert_eq!(all((2, 2)), [0, 100, 200, 50]);
        assert_eq!(all((3, 2)), [0, 100, 100, 200, 50, 50]);
        assert_eq!(all((1, 1)), [88]);
        assert_eq!(all((2, 1)), [100, 75]);
    }
}
