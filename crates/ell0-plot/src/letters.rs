//! The shapes of letters.

use std::collections::HashMap;

use skrifa::{
    FontRef, GlyphId, MetadataProvider,
    instance::{LocationRef, Size},
    outline::{DrawSettings, OutlinePen},
};
use tiny_skia::{Path, PathBuilder, PathSegment, Point};

/// Fonts, the one that is used where it has a letter first.
const FONTS: [&[u8]; 2] = [
    epaint_default_fonts::UBUNTU_LIGHT,
    epaint_default_fonts::HACK_REGULAR,
];

/// A letter of size 1, its foot at 0, and the room it takes.
struct Letter {
    shape: Option<Path>,
    advance: f32,
}

/// Letters that were looked up once.
pub(crate) struct Letters {
    fonts: Vec<FontRef<'static>>,
    known: HashMap<char, Letter>,
}

impl Letters {
    pub fn new() -> Self {
        let fonts = FONTS.iter();
        Letters {
            fonts: fonts.filter_map(|font| FontRef::new(font).ok()).collect(),
            known: HashMap::new(),
        }
    }

    fn letter(&mut self, letter: char) -> &Letter {
        let fonts = &self.fonts;
        self.known
            .entry(letter)
            .or_insert_with(|| Letter::of(fonts, letter))
    }

    /// Width of words of a size.
    pub fn width(&mut self, words: &str, size: f32) -> f32 {
        let advances = words.chars().map(|c| self.letter(c).advance);
        size * advances.sum::<f32>()
    }

    /// Adds words of a size, with their left foot at a place.
    pub fn add(&mut self, to: &mut PathBuilder, words: &str, size: f32, (mut x, y): (f32, f32)) {
        for c in words.chars() {
            let letter = self.letter(c);
            let at = |p: Point| (x + size * p.x, y - size * p.y);
            for segment in letter.shape.iter().flat_map(Path::segments) {
                match segment {
                    PathSegment::MoveTo(p) => {
                        let (x, y) = at(p);
                        to.move_to(x, y);
                    }
                    PathSegment::LineTo(p) => {
                        let (x, y) = at(p);
                        to.line_to(x, y);
                    }
                    PathSegment::QuadTo(a, p) => {
                        let ((ax, ay), (x, y)) = (at(a), at(p));
                        to.quad_to(ax, ay, x, y);
                    }
                    PathSegment::CubicTo(a, b, p) => {
                        let ((ax, ay), (bx, by), (x, y)) = (at(a), at(b), at(p));
                        to.cubic_to(ax, ay, bx, by, x, y);
                    }
                    PathSegment::Close => to.close(),
                }
            }
            x += size * letter.advance;
        }
    }
}

impl Letter {
    fn of(fonts: &[FontRef], letter: char) -> Self {
        let has = |font: &&FontRef| font.charmap().map(letter).is_some();
        // What no font has is an empty box of the first.
        let Some(font) = fonts.iter().find(has).or(fonts.first()) else {
            return Letter {
                shape: None,
                advance: 0.5,
            };
        };
        let glyph = font.charmap().map(letter).unwrap_or(GlyphId::NOTDEF);
        let (size, location) = (Size::new(1.0), LocationRef::default());
        let metrics = font.glyph_metrics(size, location);
        let mut pen = Pen(PathBuilder::new());
        let outline = font.outline_glyphs().get(glyph);
        let drawn = outline.map(|o| o.draw(DrawSettings::unhinted(size, location), &mut pen));
        Letter {
            shape: match drawn {
                Some(Ok(_)) => pen.0.finish(),
                _ => None,
            },
            advance: metrics.advance_width(glyph).unwrap_or(0.5),
        }
    }
}

struct Pen(PathBuilder);

impl OutlinePen for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        self.0.quad_to(cx, cy, x, y);
    }

    fn curve_to(&mut self, ax: f32, ay: f32, bx: f32, by: f32, x: f32, y: f32) {
        self.0.cubic_to(ax, ay, bx, by, x, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}
