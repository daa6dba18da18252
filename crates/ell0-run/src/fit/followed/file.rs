//! The measurements that are shown, with the law through them, as a table that other programs read, too.
//!
//! | column | |
//! | --- | --- |
//! | `run` | number of the run, from 1 |
//! | `start` | 1 where the law is started anew, else 0 |
//! | `t` | time |
//! | `x measured`, `x law`, `x low`, `x high` | for each target `x`: what was measured, what the law says, and the edges of its band of 95 %; empty where there is none |

use std::{fmt::Write, path::Path};

use super::{Course, Followed, FollowedRun, FollowedTarget};
use crate::{
    error::{Error, Result},
    files,
};

/// The file of the runs.
pub(in crate::fit) const FILE: &str = "trajectories.csv";

fn header(targets: &[FollowedTarget]) -> String {
    let mut line = String::from("run,start,t");
    for target in targets {
        for what in ["measured", "law", "low", "high"] {
            line += ",";
            line += &files::quoted(&format!("{} {what}", target.target));
        }
    }
    line + "\n"
}

impl Followed {
    /// The runs as the text of their file.
    pub(in crate::fit) fn table(&self) -> String {
        let mut text = header(&self.targets);
        // Writing to a string does not fail. Numbers are as short as they can be and still the same.
        let put = |text: &mut String, value: Option<f64>| {
            let _ = match value {
                Some(value) => write!(text, ",{value:?}"),
                None => write!(text, ","),
            };
        };
        for (number, run) in self.runs.iter().enumerate() {
            let mut starts = run.starts.iter().peekable();
            for (k, time) in run.time.iter().enumerate() {
                let start = starts.next_if_eq(&&k).is_some();
                let _ = write!(text, "{},{},{time:?}", number + 1, u8::from(start));
                for course in &run.courses {
                    put(&mut text, Some(course.measured[k]));
                    put(&mut text, course.law[k]);
                    put(&mut text, course.band[k].map(|b| b.0));
                    put(&mut text, course.band[k].map(|b| b.1));
                }
                text += "\n";
            }
        }
        text
    }

    /// Reads the runs from their file.
    pub(in crate::fit) fn read_runs(&mut self, file: &Path) -> Result<()> {
        let text = files::read(file)?;
        let damaged = |reason: &str| Error::damaged(file, reason);
        let rows = text.strip_prefix(&header(&self.targets));
        let rows = rows.ok_or_else(|| damaged("its columns are not those of the law"))?;
        for (k, line) in rows.lines().enumerate() {
            let row = self.read_row(line);
            row.ok_or_else(|| damaged(&format!("its row {} does not fit the others", k + 1)))?;
        }
        Ok(())
    }

    fn read_row(&mut self, line: &str) -> Option<()> {
        let mut cells = line.split(',');
        let number: usize = cells.next()?.parse().ok()?;
        let start = match cells.next()? {
            "0" => false,
            "1" => true,
            _ => return None,
        };
        if number == self.runs.len() + 1 {
            let course = Course {
                measured: Vec::new(),
                law: Vec::new(),
                band: Vec::new(),
            };
            self.runs.push(FollowedRun {
                time: Vec::new(),
                starts: Vec::new(),
                courses: vec![course; self.targets.len()],
            });
        }
        if number != self.runs.len() {
            return None;
        }
        let run = self.runs.last_mut()?;
        if start {
            run.starts.push(run.time.len());
        }
        let value = |cell: &str| cell.parse::<f64>().ok().filter(|v| v.is_finite());
        run.time.push(value(cells.next()?)?);
        for course in &mut run.courses {
            course.measured.push(value(cells.next()?)?);
            // An empty cell is no number; anything else must be one.
            let mut maybe = || match cells.next()? {
                "" => Some(None),
                cell => value(cell).map(Some),
            };
            course.law.push(maybe()?);
            let (low, high) = (maybe()?, maybe()?);
            course.band.push(low.zip(high));
        }
        cells.next().is_none().then_some(())
    }
}
