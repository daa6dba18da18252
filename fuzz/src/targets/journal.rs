//! Rows that only grow, and episodes as lines.

use ell0::checkpoint::Journal;
use ell0_control::agent::{EpisodeRecord, Saver};

use super::{Target, samples};
use crate::{
    desk::Desk,
    dice::Dice,
    mutate::{bytes, json},
    verdict::{Fault, Outcome, Verdict, error},
};

pub struct JournalFile(Desk);

impl JournalFile {
    pub fn new() -> anyhow::Result<Self> {
        Ok(JournalFile(Desk::new()?))
    }
}

/// Numbers of a row, and rows that count.
const WIDTH: usize = 3;
const ROWS: u64 = 7;

const WORDS: [&str; 5] = ["episode", "steps", "return", "null", "-1"];

/// The file's name, and that of episodes, which are found by their stem.
const NAME: &str = "case.rows";
const STEM: &str = "case";

impl Target for JournalFile {
    fn extension(&self) -> &'static str {
        "rows"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let desk = Desk::new()?;
        let path = desk.file(NAME);
        let mut journal = Journal::create(&path, WIDTH)?;
        journal.append(&[1.0; 4 * WIDTH])?;
        journal.append(&[2.0; 3 * WIDTH])?;
        let whole = std::fs::read(&path)?;
        // The end may lie within a block.
        journal.append(&[3.0; 5 * WIDTH])?;
        let longer = std::fs::read(&path)?;
        let _ = Journal::rewrite(&path, WIDTH, &[4.0; 12 * WIDTH])?;
        let one_block = std::fs::read(&path)?;
        let _ = samples::train("polynomial(2)", &desk.file(STEM))?;
        let lines = std::fs::read(Saver::episodes_file(desk.file(STEM)))?;
        Ok(vec![whole, longer, one_block, lines])
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        let (seed, other) = (dice.pick(seeds), dice.pick(seeds));
        if seed.starts_with(b"{") {
            // A line of the episodes, as JSON.
            let mut lines: Vec<Vec<u8>> = seed.split(|b| *b == b'\n').map(Into::into).collect();
            let at = dice.below(lines.len());
            lines[at] = json::mutate(dice, &lines[at], other, &WORDS);
            return lines.join(&b'\n');
        }
        let mut out = seed.clone();
        for _ in 0..dice.size(3) {
            match dice.below(4) {
                0 => bytes::mutate_near(dice, &mut out, 0, 24),
                1 => {
                    let at = 24 + dice.below(16);
                    bytes::overwrite(dice, &mut out, at);
                }
                _ => bytes::mutate(dice, &mut out, other),
            }
        }
        out
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        // A journal that is read is cut off behind the rows that count: it need not stay as it was.
        let file = self.0.put(NAME, bytes);
        let read = Journal::read(&file, WIDTH, ROWS);
        let verdict = match &read {
            Ok((rows, journal)) => {
                if rows.len() != WIDTH * ROWS as usize || journal.rows() != ROWS {
                    return Err(Fault::wrong("as many rows as were asked for", ""));
                }
                Ok(Outcome::Valid)
            }
            Err(e) => error(e),
        }?;
        if let Ok((rows, journal)) = read {
            drop(journal);
            match Journal::read(&file, WIDTH, ROWS) {
                Ok((again, _)) if bits(&again) == bits(&rows) => {}
                _ => return Err(Fault::wrong("the same when read again", "")),
            }
        }
        let _ = std::fs::remove_file(&file);
        let name = "case.jsonl";
        self.0.put(name, bytes);
        let episodes: Result<Vec<EpisodeRecord>, _> = Saver::read_episodes(self.0.file(STEM));
        let lines = match episodes {
            Ok(_) => Outcome::Valid,
            Err(e) => error(e)?,
        };
        self.0.check(name, bytes, &[])?;
        let _ = std::fs::remove_file(self.0.file(name));
        // Lines that are no episodes are left aside, so that anything is a file of them.
        Ok(if bytes.starts_with(b"{") {
            lines
        } else {
            verdict
        })
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}
