//! Text that others wrote, as it stands in messages: short, on one line, and without what a terminal would obey.

use std::{borrow::Cow, fmt::Write, path::Path};

/// Characters of a cell or a name that a message shows.
pub const MOST_SHOWN: usize = 80;

/// Names that a message lists.
const MOST_LISTED: usize = 20;

/// Bytes that they take together, but for a single name that takes more.
const MOST_OF_A_LIST: usize = 600;

/// Whether a character would act on a terminal, end the line, or turn the direction of what follows, instead of being seen.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A character as it is shown.
fn seen(c: char) -> String {
    if is_unseen(c) {
        c.escape_default().to_string()
    } else {
        c.to_string()
    }
}

/// A text of several lines, as a terminal shows it: what it would obey instead is escaped, but for ends of lines and tabs.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    // Joiners are part of how some scripts are written.
    let stays = |c: char| matches!(c, '\n' | '\t' | '\u{200c}' | '\u{200d}');
    if text.chars().all(|c| stays(c) || !is_unseen(c)) {
        return text.into();
    }
    let escape = |c: char| if stays(c) { c.to_string() } else { seen(c) };
    text.chars().map(escape).collect()
}

/// A text on one line, as it is seen: what would act on a terminal, ends of lines too, is escaped, and nothing is cut off.
#[must_use]
pub fn on_one_line(text: &str) -> String {
    escaped(text.chars())
}

fn escaped(characters: impl Iterator<Item = char>) -> String {
    characters.map(seen).collect()
}

/// What fits into so many characters as they are shown, and whether that is all.
fn fitting(characters: impl Iterator<Item = char>, most: usize) -> (Vec<String>, bool) {
    let (mut pieces, mut room) = (Vec::new(), most);
    for piece in characters.map(seen) {
        match room.checked_sub(piece.chars().count()) {
            Some(rest) => room = rest,
            None => return (pieces, false),
        }
        pieces.push(piece);
    }
    (pieces, true)
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

/// The part of a text around a place (in bytes), with a mark below it; further lines are indented like the first.
#[must_use]
pub fn marked(text: &str, place: usize, indent: usize) -> String {
    let whole = |at: &usize| text.is_char_boundary(*at);
    let place = (0..=place.min(text.len())).rev().find(whole).unwrap_or(0);
    let (before, after) = text.split_at(place);
    let most = MOST_SHOWN / 2;
    let (mut from, whole_before) = fitting(before.chars().rev(), most);
    from.reverse();
    let from = from.concat();
    let (to, whole_after) = fitting(after.chars(), most);
    let to = to.concat();
    let dots = |whole: bool| if whole { "" } else { "…" };
    let (left, right) = (dots(whole_before), dots(whole_after));
    let under = " ".repeat(indent + left.chars().count() + from.chars().count());
    let margin = " ".repeat(indent);
    format!("{margin}{left}{from}{to}{right}\n{under}^")
}

/// Characters of what another program, or a parser, says.
const MOST_TOLD: usize = 500;

/// What a parser says of a text that others wrote, and may quote at any length: control characters but for ends of lines escaped, cut after 500 characters.
#[must_use]
pub fn told(text: &str) -> String {
    // Escaped characters are longer than themselves: cut before, to do no more than needed, and after.
    let lines: Vec<String> = text
        .split('\n')
        .take(MOST_TOLD)
        .map(|line| escaped(line.chars().take(MOST_TOLD)))
        .collect();
    let mut told = lines.join("\n");
    if let Some((at, _)) = told.char_indices().nth(MOST_TOLD) {
        told.truncate(at);
        told.push('…');
    }
    told
}

/// The name of a file or folder: control characters escaped, nothing cut off, so that it can be found.
#[must_use]
pub fn shown_path(path: &Path) -> String {
    escaped(path.to_string_lossy().chars())
}

/// Names with commas between them: the first twenty, or fewer long ones, and how many more there are.
#[must_use]
pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let (mut list, mut count) = (String::new(), 0);
    for name in names.iter().take(MOST_LISTED) {
        let name = shown(name.as_ref());
        if count > 0 && list.len() + name.len() > MOST_OF_A_LIST {
            break;
        }
        list += if count > 0 { ", " } else { "" };
        list += &name;
        count += 1;
    }
    if names.len() > count {
        let _ = write!(list, " and {} more", names.len() - count);
    }
    list
}

/// The known name that was probably meant: the same but for capital letters, or at most one letter in three away. None if nothing is that near: of short names anyone is as good as another.
///
/// ```
/// use ell0::wording::near;
/// assert_eq!(near("teta", &["t", "theta"]), Some("theta"));
/// assert_eq!(near("w", &["t", "x"]), None);
/// ```
#[must_use]
pub fn near<'k, S: AsRef<str>>(name: &str, known: &'k [S]) -> Option<&'k str> {
    let name = name.to_lowercase();
    let length = name.chars().count();
    let away = |k: &'k str| {
        let lower = k.to_lowercase();
        let other = lower.chars().count();
        let most = length.min(other) / 3;
        // Names of other lengths are as far away, at least.
        let comparable = length.abs_diff(other) <= most;
        let distance = comparable.then(|| strsim::levenshtein(&lower, &name));
        distance.filter(|d| *d <= most).map(|d| (d, k))
    };
    let near = known.iter().map(AsRef::as_ref).filter_map(away);
    near.min_by_key(|(d, _)| *d).map(|(_, k)| k)
}

/// What is said behind a name that is not there: the one that was probably meant, else all there are of the kind (`columns`, for example).
#[must_use]
pub fn meant<S: AsRef<str>>(name: &str, kind: &str, known: &[S]) -> String {
    match near(name, known) {
        Some(near) => format!("; did you mean `{}`?", shown(near)),
        None if known.is_empty() => String::new(),
        None => format!("; the {kind} are {}", listed(known)),
    }
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
    fn the_place_of_a_mistake_is_marked() {
        assert_eq!(marked("a + b", 2, 1), " a + b\n   ^");
        assert_eq!(marked("é\t?", 3, 0), "é\\t?\n   ^");
        let long = format!("{}?{}", "x".repeat(500), "y".repeat(500));
        let shown = marked(&long, 500, 0);
        let (text, mark) = shown.split_once('\n').expect("two lines");
        let under = text.chars().nth(mark.chars().count() - 1);
        assert!(under == Some('?') && text.chars().count() < 90, "{shown}");
        assert_eq!(marked("é", 1, 0), "é\n^");
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let known = ["t", "x", "theta_dot", "Speed"];
        assert_eq!(near("w", &known), None, "any letter is one away");
        assert_eq!(near("T", &known), Some("t"));
        assert_eq!(near("speed", &known), Some("Speed"));
        assert_eq!(near("thetadot", &known), Some("theta_dot"));
        assert_eq!(near("theta", &known), None);
        assert_eq!(meant("w", "columns", &known[..2]), "; the columns are t, x");
        assert_eq!(meant("sped", "columns", &known), "; did you mean `Speed`?");
        assert_eq!(meant::<&str>("w", "columns", &[]), "");
    }

    #[test]
    fn lists_and_sizes_are_short() {
        let names: Vec<String> = (0..23).map(|k| format!("x{k}")).collect();
        assert!(listed(&names).ends_with("x19 and 3 more"));
        assert_eq!(listed(&["a", "b\n"]), "a, b\\n");
        let long = vec!["y".repeat(500); 20];
        let list = listed(&long);
        assert!(
            list.ends_with("… and 13 more") && list.len() < 700,
            "{list}"
        );
        let sizes = [512, 1 << 24, 6 << 30, (1 << 30) + (1 << 29), u64::MAX];
        let want = ["512 bytes", "16 MiB", "6 GiB", "1.5 GiB", "16 EiB"];
        assert_eq!(sizes.map(size), want);
    }
}
