//! Text that others wrote, as it stands in messages: short, on one line, and without what a terminal would obey.

use std::{fmt::Write, path::Path};

/// Characters of a cell or a name that a message shows.
pub const MOST_SHOWN: usize = 80;

/// Names that a message lists.
const MOST_LISTED: usize = 20;

/// Whether a character would act on a terminal, end the line, or turn the direction of what follows, instead of being seen.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn escaped(characters: impl Iterator<Item = char>) -> String {
    characters.fold(String::new(), |mut text, c| {
        if is_unseen(c) {
            // Writing to a String cannot fail.
            let _ = write!(text, "{}", c.escape_default());
        } else {
            text.push(c);
        }
        text
    })
}

/// A cell, a name or a label: control characters escaped, cut after [`MOST_SHOWN`] characters.
///
/// ```
/// use ell0::wording::shown;
/// assert_eq!(shown("θ [rad]"), "θ [rad]");
/// assert_eq!(shown("\u{1b}[31mred\n"), "\\u{1b}[31mred\\n");
/// assert_eq!(shown(&"x".repeat(500)).chars().count(), 81);
/// ```
#[must_use]
pub fn shown(text: &str) -> String {
    let mut short = escaped(text.chars().take(MOST_SHOWN));
    if text.chars().nth(MOST_SHOWN).is_some() {
        short.push('…');
    }
    short
}

/// The name of a file or folder: control characters escaped, nothing cut off, so that it can be found.
#[must_use]
pub fn shown_path(path: &Path) -> String {
    escaped(path.to_string_lossy().chars())
}

/// A part of a message that may hold what others wrote among words of our own: control characters escaped, cut only where it is very long.
#[must_use]
pub fn told(text: &str) -> String {
    const MOST_TOLD: usize = 500;
    let mut short = escaped(text.chars().take(MOST_TOLD));
    if text.chars().nth(MOST_TOLD).is_some() {
        short.push('…');
    }
    short
}

/// A text with a sign below the place, in bytes, where it goes wrong; of a long one, what is around that place.
///
/// ```
/// assert_eq!(ell0::wording::pointed("2*+x", 2), "2*+x\n  ^");
/// ```
#[must_use]
pub fn pointed(text: &str, place: usize) -> String {
    let boundary = |p: &usize| text.is_char_boundary(*p);
    let place = (0..=place.min(text.len()))
        .rev()
        .find(boundary)
        .unwrap_or(0);
    let (before, after) = text.split_at(place);
    let (mut from, mut more) = (0, after.chars().count());
    let length = before.chars().count();
    if length + more > MOST_SHOWN {
        from = length.saturating_sub(MOST_SHOWN / 2);
        more = more.min(MOST_SHOWN / 2);
    }
    let cut = |c: bool| if c { "…" } else { "" };
    let before = cut(from > 0).to_string() + &escaped(before.chars().skip(from));
    let rest = cut(after.chars().nth(more).is_some());
    let after = escaped(after.chars().take(more)) + rest;
    let marker = " ".repeat(before.chars().count());
    format!("{before}{after}\n{marker}^")
}

/// Names with commas between them: the first twenty, and how many more there are.
#[must_use]
pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let first = names.iter().take(MOST_LISTED).map(|n| shown(n.as_ref()));
    let mut list = first.collect::<Vec<_>>().join(", ");
    if names.len() > MOST_LISTED {
        let _ = write!(list, " and {} more", names.len() - MOST_LISTED);
    }
    list
}

/// A number of bytes for a reader: 512 bytes, 16 MiB, 6.0 GiB.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract() == 0.0 {
        format!("{value} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_cut_and_escaped() {
        let long = "é".repeat(MOST_SHOWN);
        assert_eq!(shown(&long), long, "what fits is left alone");
        assert_eq!(shown(&(long.clone() + "!")), long + "…");
        assert_eq!(shown("a\tb\r\n\u{7f}"), "a\\tb\\r\\n\\u{7f}");
        assert_eq!(shown("abc\u{202e}cba"), "abc\\u{202e}cba");
        assert_eq!(shown_path(Path::new("a\nb.csv")), "a\\nb.csv");
    }

    #[test]
    fn places_are_pointed_at_in_long_texts() {
        assert_eq!(pointed("a + \tb", 5), "a + \\tb\n      ^");
        let long = "x + ".repeat(1000) + "?" + &" + y".repeat(1000);
        let shown = pointed(&long, 4000);
        let (text, marker) = shown.split_once('\n').expect("two lines");
        assert!(text.chars().count() <= MOST_SHOWN + 2, "{shown}");
        assert_eq!(text.chars().nth(marker.chars().count() - 1), Some('?'));
        // Neither beyond the end nor within a letter.
        assert_eq!(pointed("é", 7), "é\n ^");
        assert_eq!(pointed("é", 1), "é\n^");
        assert_eq!(told(&"z".repeat(501)).chars().count(), 501);
    }

    #[test]
    fn lists_and_sizes_are_short() {
        let names: Vec<String> = (0..23).map(|k| format!("x{k}")).collect();
        assert!(listed(&names).ends_with("x19 and 3 more"));
        assert_eq!(listed(&["a", "b\n"]), "a, b\\n");
        let sizes = [512, 1 << 24, 6 << 30, (1 << 30) + (1 << 29), u64::MAX];
        let want = ["512 bytes", "16 MiB", "6 GiB", "1.5 GiB", "16 EiB"];
        assert_eq!(sizes.map(size), want);
    }
}
