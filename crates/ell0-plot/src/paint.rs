//! A drawing as pixels.
//!
//! Elements are painted directly, not by way of SVG: a reader of SVG would parse what was just written, shape its text by the rules of every script, and give each clip a layer of its own.

use std::ops::Range;

use tiny_skia::{Color, FillRule, Paint, Path, PathBuilder, Pixmap, Rect, Transform};

use crate::{
    Error,
    element::{Anchor, Colour, Element, Line, POWER, Place, Sheet, Text},
    letters::Letters,
    picture::Picture,
};

/// Pixels in the making.
pub(crate) struct Painting {
    pixels: Pixmap,
    zoom: f32,
    letters: Letters,
}

/// Where strokes go: the pixels, and how places become theirs.
struct Canvas<'a> {
    pixels: &'a mut Pixmap,
    transform: Transform,
    /// The pixels that lines and points may cover: columns and rows.
    clip: (Range<usize>, Range<usize>),
}

/// Red, green and blue.
fn rgb(colour: Colour) -> [u8; 3] {
    [1, 3, 5].map(|at| {
        let digits = colour.get(at..at + 2).unwrap_or("00");
        u8::from_str_radix(digits, 16).unwrap_or(0)
    })
}

fn paint(colour: Colour, opacity: f64) -> Paint<'static> {
    let [red, green, blue] = rgb(colour);
    let alpha = (255.0 * opacity.clamp(0.0, 1.0)).round() as u8;
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, alpha);
    paint
}

impl Canvas<'_> {
    fn fill(&mut self, path: Option<Path>, colour: Colour, opacity: f64) {
        if let Some(path) = path {
            let paint = paint(colour, opacity);
            let (rule, transform) = (FillRule::Winding, self.transform);
            self.pixels.fill_path(&path, &paint, rule, transform, None);
        }
    }

    fn place(&self, (x, y): Place) -> (f32, f32) {
        let Transform { sx, sy, tx, ty, .. } = self.transform;
        (x as f32 * sx + tx, y as f32 * sy + ty)
    }

    /// The pixels from here to there, of those that may be covered.
    fn columns(&self, from: f32, to: f32) -> Range<usize> {
        within(&self.clip.0, from, to)
    }

    fn rows(&self, from: f32, to: f32) -> Range<usize> {
        within(&self.clip.1, from, to)
    }

    /// Mixes a colour into a pixel.
    fn mix(&mut self, row: usize, column: usize, colour: [u8; 3], share: f32) {
        let at = 4 * (row * self.pixels.width() as usize + column);
        let pixel = &mut self.pixels.data_mut()[at..at + 3];
        for (value, colour) in pixel.iter_mut().zip(colour) {
            let before = f32::from(*value);
            *value = (before + share * (f32::from(colour) - before) + 0.5) as u8;
        }
    }
}

/// The pixels from here to there within a range.
fn within(range: &Range<usize>, from: f32, to: f32) -> Range<usize> {
    let edge = |at: f32| (at.max(0.0) as usize).clamp(range.start, range.end);
    edge(from.floor())..edge(to.ceil())
}

impl Canvas<'_> {
    /// Dots, each pixel covered by its distance from the centre: filling circles by their outlines takes far longer, and there are thousands.
    fn stamp(&mut self, places: &[Place], radius: f64, colour: Colour, opacity: f64) {
        let reach = radius as f32 * self.transform.sx + 0.5;
        let colour = rgb(colour);
        for place in places {
            let (x, y) = self.place(*place);
            for row in self.rows(y - reach, y + reach) {
                for column in self.columns(x - reach, x + reach) {
                    let (dx, dy) = (column as f32 + 0.5 - x, row as f32 + 0.5 - y);
                    let covered = (reach - (dx * dx + dy * dy).sqrt()).clamp(0.0, 1.0);
                    self.mix(row, column, colour, covered * opacity as f32);
                }
            }
        }
    }

    /// Coloured cells, from whole pixels to whole pixels.
    fn put(&mut self, picture: &Picture, (x, y): Place, (width, height): (f64, f64)) {
        let ends = [self.place((x, y)), self.place((x + width, y + height))];
        // Far enough for any paper, and products of it are still numbers.
        let edge = |at: f32| at.round().clamp(-1e9, 1e9) as i64;
        let [(left, top), (right, foot)] = ends.map(|(x, y)| (edge(x), edge(y)));
        let parts = ((right - left) as usize, (foot - top) as usize);
        let (columns, rows) = self.clip.clone();
        let seen = |range: Range<usize>, from: i64, to: i64| {
            let end = |at: i64| (at.max(0) as usize).clamp(range.start, range.end);
            end(from)..end(to)
        };
        let columns = seen(columns, left, right);
        for row in seen(rows, top, foot) {
            for column in columns.clone() {
                let at = ((column as i64 - left) as usize, (row as i64 - top) as usize);
                self.mix(row, column, picture.part(parts, at.0, at.1), 1.0);
            }
        }
    }

    /// Lines through corners, each pixel covered by its distance from the nearest: an outline around a line that crosses itself a hundred times has as many edges in each row, and filling it takes ten times as long.
    fn stroke(&mut self, parts: &[Vec<Place>], width: f64, colour: Colour, opacity: f64) {
        let reach = 0.5 * width as f32 * self.transform.sx + 0.5;
        let corners = || parts.iter().flatten().map(|p| self.place(*p));
        let extent = |values: &mut dyn Iterator<Item = f32>| {
            let ends = (f32::INFINITY, f32::NEG_INFINITY);
            let (low, high) = values.fold(ends, |(low, high), v| (low.min(v), high.max(v)));
            (low - reach, high + reach)
        };
        let (left, right) = extent(&mut corners().map(|c| c.0));
        let (top, bottom) = extent(&mut corners().map(|c| c.1));
        let (columns, rows) = (self.columns(left, right), self.rows(top, bottom));
        // How far each pixel is covered, from 0 to 255.
        let mut cover = vec![0u8; columns.len() * rows.len()];
        for part in parts {
            for ends in part.windows(2) {
                let [(ax, ay), (bx, by)] = [self.place(ends[0]), self.place(ends[1])];
                let (dx, dy) = (bx - ax, by - ay);
                let length = (dx * dx + dy * dy).sqrt().max(1e-6);
                let (from, to) = (ax.min(bx) - reach, ax.max(bx) + reach);
                for row in self.rows(ay.min(by) - reach, ay.max(by) + reach) {
                    let y = row as f32 + 0.5;
                    // Where a steep line is in this row; a flat one may be anywhere.
                    let (mut from, mut to) = (from, to);
                    if dy.abs() > 0.01 * length {
                        let (centre, half) = (ax + (y - ay) * dx / dy, reach * length / dy.abs());
                        (from, to) = (from.max(centre - half), to.min(centre + half));
                    }
                    let line = (row - rows.start) * columns.len();
                    for column in self.columns(from, to) {
                        let x = column as f32 + 0.5;
                        let along = ((x - ax) * dx + (y - ay) * dy) / (length * length);
                        let along = along.clamp(0.0, 1.0);
                        let (ox, oy) = (x - ax - along * dx, y - ay - along * dy);
                        let covered = (reach - (ox * ox + oy * oy).sqrt()).clamp(0.0, 1.0);
                        let pixel = &mut cover[line + column - columns.start];
                        *pixel = (*pixel).max((255.0 * covered) as u8);
                    }
                }
            }
        }
        let (colour, width) = (rgb(colour), columns.len());
        for (k, covered) in cover.iter().enumerate().filter(|(_, c)| **c > 0) {
            let (row, column) = (rows.start + k / width, columns.start + k % width);
            let share = f32::from(*covered) / 255.0 * opacity as f32;
            self.mix(row, column, colour, share);
        }
    }
}

fn corners(path: &mut PathBuilder, corners: &[Place]) {
    for (k, (x, y)) in corners.iter().enumerate() {
        let (x, y) = (*x as f32, *y as f32);
        match k {
            0 => path.move_to(x, y),
            _ => path.line_to(x, y),
        }
    }
}

/// A circle by its corners.
fn circle((x, y): Place, radius: f64) -> Vec<Place> {
    let corner = |k: u32| {
        let angle = f64::from(k) / 32.0 * std::f64::consts::TAU;
        (x + radius * angle.cos(), y + radius * angle.sin())
    };
    (0..=32).map(corner).collect()
}

/// A rectangle with round corners.
fn rounded((x, y): Place, (width, height): (f64, f64), round: f64) -> Option<Path> {
    let r = round.min(0.5 * width).min(0.5 * height).max(0.0) as f32;
    let rect = Rect::from_xywh(x as f32, y as f32, width as f32, height as f32)?;
    let (left, top, right, bottom) = (rect.left(), rect.top(), rect.right(), rect.bottom());
    let mut path = PathBuilder::new();
    path.move_to(left + r, top);
    path.line_to(right - r, top);
    path.quad_to(right, top, right, top + r);
    path.line_to(right, bottom - r);
    path.quad_to(right, bottom, right - r, bottom);
    path.line_to(left + r, bottom);
    path.quad_to(left, bottom, left, bottom - r);
    path.line_to(left, top + r);
    path.quad_to(left, top, left + r, top);
    path.close();
    path.finish()
}

impl Element {
    /// Whether it lies within a rectangle, or is painted nowhere else anyway.
    fn is_within(&self, [left, top, width, height]: [f64; 4]) -> bool {
        let inside =
            |(x, y): Place| x >= left && x <= left + width && y >= top && y <= top + height;
        match self {
            Element::Text(_) | Element::Cells { .. } => false,
            Element::Line(_)
            | Element::Picture { .. }
            | Element::Points { .. }
            | Element::Dot { .. }
            | Element::Ring { .. } => true,
            Element::Area { corners, .. } => corners.iter().all(|p| inside(*p)),
            Element::Bar { place, size, .. } => {
                inside(*place) && inside((place.0 + size.0, place.1 + size.1))
            }
        }
    }

    fn paint(&self, on: &mut Canvas, letters: &mut Letters) {
        match self {
            Element::Text(text) => text.paint(on, letters),
            Element::Line(line) => line.paint(on),
            Element::Area {
                corners: edge,
                colour,
                opacity,
            } => {
                let mut path = PathBuilder::new();
                corners(&mut path, edge);
                path.close();
                on.fill(path.finish(), colour, *opacity);
            }
            Element::Cells {
                boxes,
                colour,
                opacity,
            } => {
                let mut paint = paint(colour, *opacity);
                paint.anti_alias = false;
                for [left, top, right, foot] in boxes.iter().map(|b| b.map(|v| v as f32)) {
                    if let Some(cell) = Rect::from_ltrb(left, top, right, foot) {
                        on.pixels.fill_rect(cell, &paint, on.transform, None);
                    }
                }
            }
            Element::Picture {
                place,
                size,
                picture,
            } => on.put(picture, *place, *size),
            Element::Bar {
                place,
                size,
                round,
                colour,
                ..
            } => on.fill(rounded(*place, *size, *round), colour, 1.0),
            Element::Dot {
                place,
                radius,
                colour,
                ..
            } => on.stamp(&[*place], *radius, colour, 1.0),
            Element::Points {
                places,
                radius,
                colour,
                opacity,
            } => on.stamp(places, *radius, colour, *opacity),
            Element::Ring {
                place,
                radius,
                colour,
            } => on.stroke(&[circle(*place, *radius)], 2.0, colour, 1.0),
        }
    }
}

impl Line {
    /// Where a line lies if it is one that goes straight across or down and is as thin as those of a grid: those are many, and sharp on whole pixels.
    fn rule(&self, on: &Canvas) -> Option<Rect> {
        let [part] = self.parts.as_slice() else {
            return None;
        };
        let [(ax, ay), (bx, by)] = part.as_slice() else {
            return None;
        };
        if self.width > 1.0 || (ax != bx && ay != by) {
            return None;
        }
        let Transform { sx, sy, tx, ty, .. } = on.transform;
        let place = |x: f64, y: f64| (x as f32 * sx + tx, y as f32 * sy + ty);
        let ((left, top), (right, bottom)) = (place(*ax, *ay), place(*bx, *by));
        let wide = (self.width as f32 * sx).floor().max(1.0);
        let edge = |at: f32| (at - 0.5 * wide).round();
        match ax == bx {
            true => Rect::from_ltrb(
                edge(left),
                top.min(bottom),
                edge(left) + wide,
                top.max(bottom),
            ),
            false => Rect::from_ltrb(
                left.min(right),
                edge(top),
                left.max(right),
                edge(top) + wide,
            ),
        }
    }

    fn paint(&self, on: &mut Canvas) {
        if let Some(rule) = self.rule(on) {
            let mut paint = paint(self.colour, self.opacity);
            paint.anti_alias = false;
            on.pixels
                .fill_rect(rule, &paint, Transform::identity(), None);
            return;
        }
        on.stroke(&self.parts, self.width, self.colour, self.opacity);
    }
}

impl Text {
    fn paint(&self, on: &mut Canvas, letters: &mut Letters) {
        let (size, (higher, small)) = (self.size as f32, (POWER.0 as f32, POWER.1 as f32));
        let power = self.power.map(|k| k.to_string().replace('-', "−"));
        let power = power.unwrap_or_default();
        let words = letters.width(&self.words, size);
        let whole = words + letters.width(&power, small);
        let start = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -0.5 * whole,
            Anchor::End => -whole,
        };
        let mut path = PathBuilder::new();
        letters.add(&mut path, &self.words, size, (start, 0.0));
        letters.add(&mut path, &power, small, (start + words, -higher));
        let mut place = Transform::from_translate(self.place.0 as f32, self.place.1 as f32);
        if self.turned {
            place = place.pre_rotate(-90.0);
        }
        let path = path.finish().and_then(|path| path.transform(place));
        on.fill(path, self.colour, 1.0);
    }
}

impl Painting {
    /// White paper of a size in units of the SVG, `zoom` pixels for each.
    pub fn new((width, height): (f64, f64), zoom: f32) -> Result<Self, Error> {
        let pixels = |length: f64| (length * f64::from(zoom)).round() as u32;
        let mut pixels = Pixmap::new(pixels(width), pixels(height))
            .ok_or_else(|| Error("its size is not positive, or too large".into()))?;
        pixels.fill(Color::WHITE);
        Ok(Painting {
            pixels,
            zoom,
            letters: Letters::new(),
        })
    }

    /// Paints a chart with its upper left corner at a place.
    pub fn paint(&mut self, sheet: &Sheet, (x, y): Place) {
        let zoom = self.zoom;
        let transform = Transform::from_translate(x as f32, y as f32).post_scale(zoom, zoom);
        let whole = || {
            let (width, height) = (self.pixels.width(), self.pixels.height());
            (0..width as usize, 0..height as usize)
        };
        let (whole, plot) = (whole(), self.plot(sheet.plot, transform));
        let paint =
            |painting: &mut Self, element: &Element, clip: &(Range<usize>, Range<usize>)| {
                let mut canvas = Canvas {
                    pixels: &mut painting.pixels,
                    transform,
                    clip: clip.clone(),
                };
                element.paint(&mut canvas, &mut painting.letters);
            };
        for element in &sheet.behind {
            paint(self, element, &whole);
        }
        for element in &sheet.data {
            if element.is_within(sheet.plot) {
                paint(self, element, &plot);
            } else {
                paint_within(&mut self.pixels, &plot, |part| {
                    let (left, top) = (plot.0.start as f32, plot.1.start as f32);
                    let mut canvas = Canvas {
                        clip: (0..plot.0.len(), 0..plot.1.len()),
                        transform: transform.post_translate(-left, -top),
                        pixels: part,
                    };
                    element.paint(&mut canvas, &mut self.letters);
                });
            }
        }
        for element in &sheet.front {
            paint(self, element, &whole);
        }
    }

    /// The pixels of a plot: columns and rows.
    fn plot(&self, plot: [f64; 4], transform: Transform) -> (Range<usize>, Range<usize>) {
        let [left, top, width, height] = plot.map(|v| v as f32 * self.zoom);
        let edge = |at: f32, most: u32| (at.round().max(0.0) as usize).min(most as usize);
        let (left, top) = (left + transform.tx, top + transform.ty);
        let (across, down) = (self.pixels.width(), self.pixels.height());
        (
            edge(left, across)..edge(left + width, across),
            edge(top, down)..edge(top + height, down),
        )
    }

    /// The pixels as a PNG file.
    pub fn png(self) -> Result<Vec<u8>, Error> {
        let failed = |e: png::EncodingError| Error(e.to_string());
        let (width, height) = (self.pixels.width(), self.pixels.height());
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_deflate_compression(png::DeflateCompression::FdeflateUltraFast);
        encoder.set_filter(png::Filter::Up);
        let mut writer = encoder.write_header().map_err(failed)?;
        // Nothing shines through white paper: multiplied by its opacity or not, a colour is the same.
        writer
            .write_image_data(self.pixels.data())
            .map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(file)
    }
}

/// Paints what must end at the edge of a plot: on a copy of its pixels, which are put back.
fn paint_within(
    pixels: &mut Pixmap,
    (columns, rows): &(Range<usize>, Range<usize>),
    paint: impl FnOnce(&mut Pixmap),
) {
    let Some(mut part) = Pixmap::new(columns.len() as u32, rows.len() as u32) else {
        return;
    };
    let (wide, narrow) = (4 * pixels.width() as usize, 4 * columns.len());
    let start = 4 * columns.start;
    let lines = pixels.data().chunks_exact(wide).skip(rows.start);
    for (copy, line) in part.data_mut().chunks_exact_mut(narrow).zip(lines) {
        copy.copy_from_slice(&line[start..start + narrow]);
    }
    paint(&mut part);
    let lines = pixels.data_mut().chunks_exact_mut(wide).skip(rows.start);
    for (line, copy) in lines.zip(part.data().chunks_exact(narrow)) {
        line[start..start + narrow].copy_from_slice(copy);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Axis, Chart, Field, Figure, Palette, Series, palette::MISSING};

    /// The colours of a PNG file, and its width.
    fn decoded(file: &[u8]) -> (Vec<[u8; 3]>, usize) {
        let decoder = png::Decoder::new(std::io::Cursor::new(file));
        let mut reader = decoder.read_info().expect("a PNG file");
        let mut data = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut data).expect("a picture");
        let pixels = data[..info.buffer_size()].chunks_exact(info.color_type.samples());
        let colours = pixels.map(|p| [p[0], p[1], p[2]]).collect();
        (colours, info.width as usize)
    }

    /// How many pixels are nearly of the colour of a first series, and where the outermost of them are.
    fn blue(figure: &Figure) -> (usize, usize, usize) {
        let (colours, width) = decoded(&figure.png(1.0).expect("painted"));
        let near = |c: &[u8; 3]| {
            c.iter()
                .zip([0x2a, 0x6f, 0xbb])
                .all(|(a, b)| a.abs_diff(b) < 60)
        };
        let columns = colours.iter().enumerate().filter(|(_, c)| near(c));
        let columns: Vec<usize> = columns.map(|(k, _)| k % width).collect();
        let (low, high) = (columns.iter().min(), columns.iter().max());
        (columns.len(), *low.unwrap_or(&0), *high.unwrap_or(&0))
    }

    fn chart(series: Series) -> Figure {
        let axis = |name: &str| Axis::linear(name).within(0.0, 1.0);
        Figure::new(vec![Chart::new("", axis("x"), axis("y")).with(series)])
    }

    #[test]
    fn lines_points_and_bands_are_painted_where_they_belong() {
        // From the left edge of the plot to its middle.
        let (count, low, high) = blue(&chart(Series::line("", [(0.0, 0.5), (0.5, 0.5)])));
        assert!((150..600).contains(&count), "{count}");
        assert!(
            (70..80).contains(&low) && (240..250).contains(&high),
            "{low} {high}"
        );
        let (count, low, high) = blue(&chart(Series::points("", [(0.5, 0.5)])));
        assert!((2..20).contains(&count), "{count}");
        assert!((240..250).contains(&low) && high < 252, "{low} {high}");
    }

    #[test]
    fn what_lies_outside_the_plot_is_not_painted() {
        let inside = |figure: &Figure| {
            let (count, low, high) = blue(figure);
            assert!(
                count > 0 && low >= 70 && high <= 414,
                "{count} {low} {high}"
            );
        };
        inside(&chart(Series::line("", [(-5.0, 0.2), (5.0, 0.8)])));
        inside(&chart(Series::points(
            "",
            [(-0.1, 0.5), (0.0, 0.5), (1.0, 0.1), (1.2, 2.0)],
        )));
        // Nothing at all is no reason to fail.
        assert_eq!(blue(&chart(Series::points("", [(7.0, 7.0)]))).0, 0);
        assert_eq!(blue(&chart(Series::line("", []))).0, 0);
    }

    /// A line that is interrupted, and the band around it.
    #[test]
    fn gaps_are_gaps() {
        let gap = (f64::NAN, f64::NAN);
        let line = Series::line("", [(0.0, 0.1), (0.2, 0.1), gap, (0.8, 0.1), (1.0, 0.1)]);
        let whole = Series::line("", [(0.0, 0.1), (1.0, 0.1)]);
        assert!(2 * blue(&chart(line)).0 < blue(&chart(whole)).0);
        let band = [
            (0.0, 0.1, 0.2),
            (0.3, 0.1, 0.2),
            (f64::NAN, 0.0, 0.0),
            (0.6, 0.1, 0.2),
            (0.9, 0.1, 0.2),
        ];
        let svg = chart(Series::band("", band)).svg();
        assert_eq!(svg.matches("<polygon").count(), 2);
    }

    /// A picture of an SVG file: where it stands, its colours, and its columns.
    struct Embedded {
        place: [f64; 4],
        colours: Vec<[u8; 3]>,
        columns: usize,
    }

    fn embedded(svg: &str) -> Vec<Embedded> {
        let read = |image: &str| {
            let after = |start: &str| {
                let rest = image.split_once(start).expect("written").1;
                rest.split_once('"').expect("quoted").0.to_owned()
            };
            let number = |name| after(&format!(" {name}=\"")).parse().expect("a number");
            let (colours, columns) = decoded(&bytes(&after("data:image/png;base64,")));
            Embedded {
                place: ["x", "y", "width", "height"].map(number),
                colours,
                columns,
            }
        };
        svg.split("<image").skip(1).map(read).collect()
    }

    /// What base 64 stands for.
    fn bytes(letters: &str) -> Vec<u8> {
        let value = |letter: u8| match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let letters = letters.trim_end_matches('=').as_bytes().chunks(4);
        let three = |four: &[u8]| {
            let bits = four.iter().fold(0, |b, l| b << 6 | u32::from(value(*l)));
            let bits = bits << (6 * (4 - four.len()));
            bits.to_be_bytes()[1..four.len()].to_vec()
        };
        letters.flat_map(three).collect()
    }

    fn field(value: impl FnMut(usize, usize) -> f64) -> Field {
        let field = Field::from_fn((5, 40), (0.0, 4.0), (-1.0, 1.0), value);
        field
            .expect("a field")
            .with_range(-2.0, 2.0)
            .with_label("u")
    }

    fn shown(field: Field) -> Chart {
        Chart::new("", Axis::linear("t"), Axis::linear("x")).with_field(field)
    }

    #[test]
    fn fields_have_the_same_colours_as_svg_and_as_png() {
        let value = |row: usize, column: usize| match (row, column) {
            (4, 39) => f64::NAN,
            _ => row as f64 - 0.1 * column as f64,
        };
        let figure = Figure::new(vec![shown(field(value))]).with_size(600.0, 300.0);
        let svg = embedded(&figure.svg());
        let [field, bar] = svg.as_slice() else {
            panic!("a field and its colours");
        };
        assert_eq!((field.columns, field.colours.len()), (40, 200));
        assert_eq!((bar.columns, bar.colours.len()), (1, 256));
        for zoom in [1.0, 1.7, 2.0] {
            let (painted, width) = decoded(&figure.png(zoom).expect("painted"));
            let at = |x: f64, y: f64| {
                // The chart stands at (8, 8).
                let pixel = |v: f64| ((v + 8.0) * f64::from(zoom)) as usize;
                painted[pixel(y) * width + pixel(x)]
            };
            let [left, top, wide, high] = field.place;
            for row in 0..5 {
                for column in 0..40 {
                    let x = left + (column as f64 + 0.5) / 40.0 * wide;
                    let y = top + (row as f64 + 0.5) / 5.0 * high;
                    let colour = Palette::Diverging.colour(value(4 - row, column), (-2.0, 2.0));
                    assert_eq!(at(x, y), colour, "{row} {column}");
                    assert_eq!(field.colours[row * 40 + column], colour, "{row} {column}");
                }
            }
            assert_eq!(field.colours[39], MISSING);
            // From the greatest value at the top to the least, white in between.
            let [left, top, wide, high] = bar.place;
            let near = |a: [u8; 3], value: f64| {
                let b = Palette::Diverging.colour(value, (-2.0, 2.0));
                assert!(
                    a.iter().zip(b).all(|(a, b)| a.abs_diff(b) < 8),
                    "{a:?} {b:?}"
                );
            };
            for k in 1..16 {
                let share = f64::from(k) / 16.0;
                let value = 2.0 - 4.0 * share;
                near(at(left + 0.5 * wide, top + share * high), value);
                near(bar.colours[16 * k as usize], value);
            }
        }
    }

    #[test]
    fn charts_of_one_range_have_one_scale() {
        let charts = [1.0, 3.0].map(|most| shown(field(|_, column| most * column as f64 / 39.0)));
        let svg = Figure::new(charts.into()).svg();
        let all = embedded(&svg);
        assert_eq!(all.len(), 4);
        assert_eq!(all[1].colours, all[3].colours);
        assert_ne!(all[0].colours, all[2].colours);
        // The same numbers beside both, and the label.
        for words in [">−2</text>", ">u</text>"] {
            assert_eq!(svg.matches(words).count(), 2, "{words}");
        }
    }

    #[test]
    fn large_fields_are_small_files_and_end_at_the_plot() {
        let value = |row: usize, column: usize| (0.1 * (row + column) as f64).sin();
        let large = Field::from_fn((64, 5000), (0.0, 4.0), (0.0, 1.0), value).expect("a field");
        let svg = Figure::new(vec![shown(large)]).svg();
        assert_eq!(embedded(&svg)[0].columns, 600);
        assert!(svg.len() < 200_000, "{}", svg.len());
        // A part of a field, seen closely: red where the plot is, and nowhere at its left or below.
        let mut chart = shown(field(|_, _| 2.0));
        chart.x = chart.x.within(1.0, 1.0 + 1e-9);
        chart.y = chart.y.within(0.5, 0.5 + 1e-9);
        let (painted, width) = decoded(&Figure::new(vec![chart]).png(1.0).expect("painted"));
        let red = painted.iter().enumerate();
        let red = red.filter(|(_, c)| **c == Palette::Diverging.colour(2.0, (-2.0, 2.0)));
        let places: Vec<_> = red.map(|(k, _)| (k % width, k / width)).collect();
        assert!(places.len() > 20_000, "{}", places.len());
        assert!(places.iter().all(|(x, y)| *x >= 70 && *y < 8 + 320 - 50));
    }
}
