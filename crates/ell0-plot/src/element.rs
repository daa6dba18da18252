//! What a drawing is made of, before it is SVG or pixels.

use crate::picture::Picture;

/// A colour, as SVG writes it: `#rrggbb`.
pub(crate) type Colour = &'static str;

/// The colour of letters.
pub(crate) const INK: Colour = "#1f2937";
/// The colour of grids.
pub(crate) const GRID: Colour = "#e5e7eb";
/// The colour of axes.
pub(crate) const FRAME: Colour = "#6b7280";

/// A place, in units of the SVG.
pub(crate) type Place = (f64, f64);

/// A part of a drawing.
#[derive(Clone, Debug)]
pub(crate) enum Element {
    Text(Text),
    /// Straight lines through corners; several of them where a line is interrupted.
    Line(Line),
    /// What lies between corners.
    Area {
        corners: Vec<Place>,
        colour: Colour,
        opacity: f64,
    },
    /// Rectangles of one colour: left, top, right, bottom. Their edges are those of pixels, so that neighbours neither overlap nor leave gaps.
    Cells {
        boxes: Vec<[f64; 4]>,
        colour: Colour,
        opacity: f64,
    },
    /// Coloured cells that fill a rectangle, with sharp edges.
    Picture {
        place: Place,
        size: (f64, f64),
        picture: Picture,
    },
    /// A rectangle that can be pointed at.
    Bar {
        place: Place,
        size: (f64, f64),
        /// How round its corners are.
        round: f64,
        colour: Colour,
        title: Option<String>,
    },
    /// A dot that can be pointed at.
    Dot {
        place: Place,
        radius: f64,
        colour: Colour,
        title: String,
    },
    /// Many small dots.
    Points {
        places: Vec<Place>,
        radius: f64,
        colour: Colour,
        opacity: f64,
    },
    /// A circle.
    Ring {
        place: Place,
        radius: f64,
        colour: Colour,
    },
}

/// Where letters stand by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Letters.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub place: Place,
    pub size: f64,
    pub anchor: Anchor,
    pub colour: Colour,
    /// Read from below.
    pub turned: bool,
    pub words: String,
    /// A small number behind the words, set higher.
    pub power: Option<i32>,
}

/// How much higher a power stands, and its size.
pub(crate) const POWER: (f64, f64) = (5.0, 9.0);

impl Text {
    pub fn new(place: Place, size: f64, anchor: Anchor, words: impl Into<String>) -> Self {
        Text {
            place,
            size,
            anchor,
            colour: INK,
            turned: false,
            words: words.into(),
            power: None,
        }
    }
}

/// A line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub parts: Vec<Vec<Place>>,
    pub colour: Colour,
    pub width: f64,
    pub opacity: f64,
    /// What a page calls it.
    pub class: Option<&'static str>,
    /// Its name and the values at its corners, for pages that tell them.
    pub told: Option<(String, Vec<(f64, f64)>)>,
}

impl Line {
    /// A line without interruption.
    pub fn through(corners: Vec<Place>, colour: Colour, width: f64) -> Self {
        Line {
            parts: vec![corners],
            colour,
            width,
            opacity: 1.0,
            class: None,
            told: None,
        }
    }
}

/// A chart as elements: those behind its data, the data, which end at the edge of the plot, and what stands in front of them.
#[derive(Clone, Debug)]
pub(crate) struct Sheet {
    pub size: (f64, f64),
    pub behind: Vec<Element>,
    /// The plot: left, top, width, height.
    pub plot: [f64; 4],
    pub data: Vec<Element>,
    pub front: Vec<Element>,
}
