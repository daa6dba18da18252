//! Random command lines, most of them nearly right.

use std::path::Path;

use super::bench::paths;
use crate::dice::Dice;

/// A command without the program.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its words.
    pub words: Vec<String>,
}

impl Line {
    /// As one would type it.
    pub fn text(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:".contains(c);
        let quoted = self.words.iter().map(|word| {
            if !word.is_empty() && word.chars().all(plain) {
                word.clone()
            } else {
                format!("'{}'", word.replace('\'', "'\\''").escape_debug())
            }
        });
        format!("ell0 {}", quoted.collect::<Vec<_>>().join(" "))
    }

    /// Where its results go, if it says so.
    pub fn out(&self) -> Option<&str> {
        let at = self.words.iter().rposition(|w| w == "--out")?;
        self.words.get(at + 1).map(String::as_str)
    }
}

/// Names that are hardly any.
const ODD: [&str; 10] = [
    "",
    ".",
    "..",
    "none.csv",
    "none",
    "-",
    "é ü",
    "a/b/c",
    "\u{1b}[31m",
    "data.csv/x",
];

/// A line in the making.
pub(super) struct Words<'a> {
    pub(super) dice: &'a mut Dice,
    there: Vec<String>,
    words: Vec<String>,
}

/// A command line for what is in the folder.
pub fn line(dice: &mut Dice, folder: &Path) -> anyhow::Result<Line> {
    let there = paths(folder)?;
    let there = there.iter().map(|p| p.display().to_string()).collect();
    let mut words = Words {
        dice,
        there,
        words: Vec::new(),
    };
    words.command();
    words.wrong();
    Ok(Line { words: words.words })
}

impl Words<'_> {
    pub(super) fn say(&mut self, words: &[&str]) {
        self.words.extend(words.iter().map(ToString::to_string));
    }

    /// An option with one of some values, half of the time.
    pub(super) fn maybe(&mut self, option: &str, values: &[&str]) {
        if self.dice.one_in(2) {
            let value = self.one_of(values);
            self.say(&[option, value]);
        }
    }

    /// One of some values, mostly the first, which should be right.
    pub(super) fn one_of<'v>(&mut self, values: &[&'v str]) -> &'v str {
        if self.dice.one_in(4) {
            self.dice.pick::<&str>(values)
        } else {
            values[0]
        }
    }

    pub(super) fn flag(&mut self, option: &str, one_in: usize) {
        if self.dice.one_in(one_in) {
            self.say(&[option]);
        }
    }

    /// Something that is there and ends so, mostly; else anything.
    pub(super) fn path(&mut self, endings: &[&str]) {
        let ends = |p: &&String| endings.iter().any(|e| p.ends_with(e));
        let fitting: Vec<String> = self.there.iter().filter(ends).cloned().collect();
        let word = match self.dice.below(24) {
            0 => self.dice.pick(&ODD).to_string(),
            1 if !self.there.is_empty() => self.dice.pick(&self.there).clone(),
            _ if !fitting.is_empty() => self.dice.pick(&fitting).clone(),
            _ => "none".into(),
        };
        self.words.push(word);
    }

    /// A folder, or what is named like a file.
    pub(super) fn out(&mut self, ending: &str, one_in: usize) {
        if !self.dice.one_in(one_in) {
            return;
        }
        let name = match self.dice.below(10) {
            0 => self.dice.pick(&ODD).to_string(),
            1 if !self.there.is_empty() => self.dice.pick(&self.there).clone(),
            2 => format!("sub/out{ending}"),
            k => format!("out{}{ending}", k % 3),
        };
        self.say(&["--out", &name]);
        self.flag("--force", 3);
    }

    /// Now and then a word too many, too few, or in another place.
    fn wrong(&mut self) {
        if !self.dice.one_in(12) || self.words.is_empty() {
            return;
        }
        let at = self.dice.below(self.words.len());
        match self.dice.below(4) {
            0 => {
                self.words.remove(at);
            }
            1 => self.words.insert(at, "--wrong".into()),
            2 => {
                let word = self.words[at].clone();
                self.words.push(word);
            }
            _ => {
                let to = self.dice.below(self.words.len());
                self.words.swap(at, to);
            }
        }
        // A run without a budget of its own would take as long as it likes.
        let long = ["train", "collect", "tutorial", "gates"];
        let first = self.words.first().map_or("", String::as_str);
        let has = |o: &str| self.words.iter().any(|w| w == o);
        if long.contains(&first) && !has("--episodes") && !has("--repeats") && !has("--resume") {
            self.words = vec![first.to_string(), "--help".into()];
        }
    }
}
