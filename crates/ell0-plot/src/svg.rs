//! A drawing as SVG.

use std::fmt::{self, Write};

use crate::element::{Anchor, Element, INK, Line, POWER, Place, Sheet, Text};

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

/// Writes a number with at most so many places behind the point, where `unit` is ten to their power. Whole numbers are printed far faster than others, and drawings have thousands of numbers.
fn write_fixed(f: &mut fmt::Formatter, value: f64, places: usize, unit: u32) -> fmt::Result {
    let units = (value * f64::from(unit)).round().clamp(-1e15, 1e15) as i64;
    if units < 0 {
        f.write_char('-')?;
    }
    let (whole, part) = (
        units.unsigned_abs() / u64::from(unit),
        units.unsigned_abs() % u64::from(unit),
    );
    write!(f, "{whole}")?;
    if part == 0 {
        return Ok(());
    }
    let (mut part, mut places) = (part, places);
    while part.is_multiple_of(10) {
        (part, places) = (part / 10, places - 1);
    }
    write!(f, ".{part:0places$}")
}

/// A length with at most two places behind the point.
struct Length(f64);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write_fixed(f, self.0, 2, 100)
    }
}

/// A number as a person would say it.
pub(crate) struct Short(pub f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let size = self.0.abs();
        if self.0 == self.0.round() && size < 1e9 {
            write!(f, "{}", self.0)
        } else if (1e-2..1e5).contains(&size) {
            write_fixed(f, self.0, 4, 10_000)
        } else {
            write!(f, "{:.3e}", self.0)
        }
    }
}

impl Sheet {
    /// Adds the chart to an SVG file, with its upper left corner at a place. The name of the clip must be the chart's own.
    pub(crate) fn write_svg(&self, svg: &mut String, clip: &str, place: Place) {
        // Writing to a string does not fail.
        let _ = self.write(svg, clip, place);
    }

    fn write(&self, svg: &mut String, clip: &str, place: Place) -> fmt::Result {
        let (width, height) = (Length(self.size.0), Length(self.size.1));
        writeln!(
            svg,
            "<svg class=\"chart\" x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">",
            Length(place.0),
            Length(place.1)
        )?;
        self.behind.iter().try_for_each(|e| e.write(svg))?;
        let [x, y, width, height] = self.plot.map(Length);
        writeln!(
            svg,
            "<clipPath id=\"{clip}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/></clipPath>\n<g clip-path=\"url(#{clip})\">"
        )?;
        self.data.iter().try_for_each(|e| e.write(svg))?;
        svg.push_str("</g>\n");
        self.front.iter().try_for_each(|e| e.write(svg))?;
        svg.push_str("</svg>\n");
        Ok(())
    }
}

impl Element {
    fn write(&self, svg: &mut String) -> fmt::Result {
        match self {
            Element::Text(text) => return text.write(svg),
            Element::Line(line) => return line.write(svg),
            Element::Area {
                corners,
                colour,
                opacity,
            } => {
                svg.push_str("<polygon points=\"");
                for (k, (x, y)) in corners.iter().enumerate() {
                    let space = if k > 0 { " " } else { "" };
                    write!(svg, "{space}{},{}", Length(*x), Length(*y))?;
                }
                write!(svg, "\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>")?;
            }
            Element::Cells {
                boxes,
                colour,
                opacity,
            } => {
                svg.push_str("<path class=\"cells\" d=\"");
                for [left, top, right, foot] in boxes.iter().map(|b| b.map(Length)) {
                    write!(svg, "M{left} {top}H{right}V{foot}H{left}Z")?;
                }
                write!(
                    svg,
                    "\" fill=\"{colour}\" fill-opacity=\"{opacity}\" shape-rendering=\"crispEdges\"/>"
                )?;
            }
            Element::Picture {
                place,
                size,
                picture,
            } => write!(
                svg,
                "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"{}\"/>",
                Length(place.0),
                Length(place.1),
                Length(size.0),
                Length(size.1),
                picture.data_uri()
            )?,
            Element::Bar {
                place,
                size,
                round,
                colour,
                title,
            } => {
                let class = title.as_ref().map_or("", |_| " class=\"datum\"");
                write!(
                    svg,
                    "<rect{class} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"{colour}\"",
                    Length(place.0),
                    Length(place.1),
                    Length(size.0),
                    Length(size.1),
                    Length(*round)
                )?;
                match title {
                    Some(title) => write!(svg, "><title>{}</title></rect>", escaped(title))?,
                    None => svg.push_str("/>"),
                }
            }
            Element::Dot {
                place,
                radius,
                colour,
                title,
            } => write!(
                svg,
                "<circle class=\"datum\" cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{colour}\"><title>{}</title></circle>",
                Length(place.0),
                Length(place.1),
                Length(*radius),
                escaped(title)
            )?,
            Element::Points {
                places,
                radius,
                colour,
                opacity,
            } => {
                // Lines of no length with round ends: a dot takes a dozen letters.
                svg.push_str("<path class=\"points\" d=\"");
                for (x, y) in places {
                    write!(svg, "M{} {}h0", Length(*x), Length(*y))?;
                }
                write!(
                    svg,
                    "\" fill=\"none\" stroke=\"{colour}\" stroke-opacity=\"{opacity}\" stroke-width=\"{}\" stroke-linecap=\"round\"/>",
                    Length(2.0 * radius)
                )?;
            }
            Element::Ring {
                place,
                radius,
                colour,
            } => write!(
                svg,
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                Length(place.0),
                Length(place.1),
                Length(*radius)
            )?,
        }
        svg.push('\n');
        Ok(())
    }
}

impl Text {
    fn write(&self, svg: &mut String) -> fmt::Result {
        if self.words.is_empty() {
            return Ok(());
        }
        let (x, y) = (Length(self.place.0), Length(self.place.1));
        if self.turned {
            write!(svg, "<text transform=\"translate({x} {y}) rotate(-90)\"")?;
        } else {
            write!(svg, "<text x=\"{x}\" y=\"{y}\"")?;
        }
        svg.push_str(match self.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        });
        if self.colour != INK {
            write!(svg, " fill=\"{}\"", self.colour)?;
        }
        write!(
            svg,
            " font-size=\"{:.1}\">{}",
            self.size,
            escaped(&self.words)
        )?;
        if let Some(power) = self.power {
            let (higher, size) = POWER;
            let power = power.to_string().replace('-', "−");
            write!(
                svg,
                "<tspan dy=\"-{higher}\" font-size=\"{size}\">{power}</tspan>"
            )?;
        }
        svg.push_str("</text>\n");
        Ok(())
    }
}

impl Line {
    fn write(&self, svg: &mut String) -> fmt::Result {
        svg.push_str("<path");
        if let Some(class) = self.class {
            write!(svg, " class=\"{class}\"")?;
        }
        if let Some((name, values)) = &self.told {
            write!(svg, " data-name=\"{}\" data-values=\"", escaped(name))?;
            for (k, (x, y)) in values.iter().enumerate() {
                let space = if k > 0 { " " } else { "" };
                write!(svg, "{space}{}:{}", Short(*x), Short(*y))?;
            }
            svg.push('"');
        }
        svg.push_str(" d=\"");
        for part in &self.parts {
            for (k, (x, y)) in part.iter().enumerate() {
                let step = if k == 0 { 'M' } else { 'L' };
                write!(svg, "{step}{} {}", Length(*x), Length(*y))?;
            }
        }
        write!(svg, "\" fill=\"none\" stroke=\"{}\"", self.colour)?;
        if self.opacity != 1.0 {
            write!(svg, " stroke-opacity=\"{}\"", self.opacity)?;
        }
        if self.width != 1.0 {
            write!(svg, " stroke-width=\"{}\"", self.width)?;
        }
        svg.push_str(" stroke-linejoin=\"round\"/>\n");
        Ok(())
    }
}
