//! The bar at the right of a field that says which colour is which value.

use crate::{
    Axis, Field,
    axis::{Ruler, Tick},
    element::{Anchor, Element, FRAME, Line, Text},
    frame::{Frame, length},
    picture::Picture,
};

/// Between the plot and the bar, its width, and that of the marks beside it.
const GAP: f64 = 12.0;
const WIDTH: f64 = 12.0;
const MARK: f64 = 4.0;
/// Between marks, numbers and the label; and to the edge of the chart, where the next one begins with its label.
const SPACE: f64 = 4.0;
const EDGE: f64 = 12.0;
/// Height of the label, which is read from below.
const LABEL: f64 = 14.0;

/// Colours that the bar shows.
const SHADES: usize = 256;

/// The numbers along a bar of some height.
fn ticks(field: &Field, height: f64) -> (Ruler, Vec<(f64, Tick)>) {
    let (low, high) = field.range();
    let ruler = Ruler::new(&Axis::linear("").within(low, high), std::iter::empty());
    let ticks = ruler.ticks((height / 36.0).max(4.0) as usize);
    (ruler, ticks)
}

fn longest(ticks: &[(f64, Tick)]) -> f64 {
    ticks.iter().map(|t| length(&t.1)).fold(0.0, f64::max)
}

/// How much room it takes at the right of a plot of about some height.
pub(crate) fn room(field: &Field, height: f64) -> f64 {
    let numbers = longest(&ticks(field, height).1);
    let label = if field.label().is_empty() {
        0.0
    } else {
        SPACE + LABEL
    };
    GAP + WIDTH + MARK + SPACE + numbers + label + EDGE
}

/// Draws the bar of a field beside its plot.
pub(crate) fn draw(front: &mut Vec<Element>, field: &Field, frame: &Frame) {
    let (low, high) = field.range();
    let (left, top, bottom) = (frame.left + frame.width + GAP, frame.top, frame.bottom());
    let right = left + WIDTH;
    let shade = |k: usize| {
        let at = (k as f64 + 0.5) / SHADES as f64;
        field
            .palette()
            .colour(high + at * (low - high), (low, high))
    };
    front.push(Element::Picture {
        place: (left, top),
        size: (WIDTH, frame.height),
        picture: Picture {
            columns: 1,
            rows: SHADES,
            cells: (0..SHADES).map(shade).collect(),
        },
    });
    front.push(outline([left, top, right, bottom]));
    let (ruler, ticks) = ticks(field, frame.height);
    for (value, tick) in &ticks {
        let Some(at) = ruler.at(*value) else { continue };
        let y = top + (1.0 - at) * frame.height;
        front.push(mark([(right, y), (right + MARK, y)]));
        front.push(tick.label((right + MARK + SPACE, y + 4.0), Anchor::Start));
    }
    let place = (
        right + MARK + SPACE + longest(&ticks) + SPACE + LABEL - 3.0,
        top + 0.5 * frame.height,
    );
    let label = Text::new(place, 12.0, Anchor::Middle, field.label());
    front.push(Element::Text(Text {
        turned: true,
        ..label
    }));
}

/// The edge of a rectangle: left, top, right, bottom.
pub(crate) fn outline([left, top, right, bottom]: [f64; 4]) -> Element {
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
    let corners = corners.into_iter().chain([(left, top)]);
    framing(corners.collect())
}

/// A mark beside an axis.
pub(crate) fn mark(ends: [(f64, f64); 2]) -> Element {
    framing(ends.into())
}

fn framing(corners: Vec<(f64, f64)>) -> Element {
    Element::Line(Line {
        class: Some("frame"),
        ..Line::through(corners, FRAME, 1.0)
    })
}
