//! The process that runs the cases of one parser. It may die: its parent knows at which case.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    limits::{Measured, TIME, Watchdog, measured, on_usual_stack},
    targets::{Cases, make},
    verdict::{Fault, Kind, Outcome},
};

/// The exit code of a worker whose case does not end.
pub const HANGS: i32 = 86;

/// The exit code of a worker that cannot begin.
pub const UNABLE: i32 = 3;

/// Some cases of a parser.
#[derive(Clone, Debug)]
pub struct Work {
    /// The parser.
    pub parser: String,
    /// The seed of all cases.
    pub seed: u64,
    /// The first case.
    pub from: u64,
    /// The one behind the last.
    pub to: u64,
    /// Where the present case is noted.
    pub status: PathBuf,
    /// The program, for those who need it.
    pub binary: PathBuf,
}

/// How far a worker has come; written before each case, so that it is true whenever the worker dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The case that begins.
    pub case: u64,
    /// Valid ones before it.
    pub valid: u64,
    /// Errors before it.
    pub errors: u64,
    /// The longest time of them, in microseconds, and which it was.
    pub slowest: u64,
    /// Its number.
    pub slowest_case: u64,
    /// The most memory, in bytes.
    pub memory: u64,
}

impl Status {
    fn words(self) -> [u64; 6] {
        let Status {
            case,
            valid,
            errors,
            slowest,
            slowest_case,
            memory,
        } = self;
        [case, valid, errors, slowest, slowest_case, memory]
    }

    fn write(self, file: &File) {
        let bytes = self.words().map(u64::to_le_bytes).concat();
        #[cfg(unix)]
        let _ = std::os::unix::fs::FileExt::write_all_at(file, &bytes, 0);
        #[cfg(not(unix))]
        let _ = {
            use std::io::{Seek, SeekFrom};
            let mut file = file;
            file.seek(SeekFrom::Start(0))
                .and_then(|_| file.write_all(&bytes))
        };
    }

    /// What a worker noted last.
    #[must_use]
    pub fn read(path: &Path) -> Option<Status> {
        let bytes = std::fs::read(path).ok()?;
        let (words, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|w| u64::from_le_bytes(*w)).collect();
        let [case, valid, errors, slowest, slowest_case, memory] = words[..] else {
            return None;
        };
        Some(Status {
            case,
            valid,
            errors,
            slowest,
            slowest_case,
            memory,
        })
    }

    fn note(&mut self, case: u64, measured: &Measured) {
        match &measured.verdict {
            Ok(Outcome::Valid) => self.valid += 1,
            Ok(Outcome::Error(_)) => self.errors += 1,
            Err(_) => {}
        }
        let time = measured.time.as_micros() as u64;
        if time > self.slowest {
            (self.slowest, self.slowest_case) = (time, case);
        }
        self.memory = self.memory.max(measured.memory as u64);
    }
}

/// A fault that a worker found and survived: a line of its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The case.
    pub case: u64,
    /// What is wrong.
    pub fault: Fault,
}

/// Runs the cases and prints the faults, a line of JSON each.
pub fn work(work: &Work) -> anyhow::Result<()> {
    let Work { from, to, .. } = *work;
    let file = File::create(&work.status)?;
    on_usual_stack(|| -> anyhow::Result<()> {
        let mut target = make(&work.parser, &work.binary)?;
        let cases = Cases::new(&work.parser, target.as_ref(), work.seed)?;
        // A case that is measured may be a little late; the dog bites only what does not end.
        let watchdog = Watchdog::start(TIME + Duration::from_millis(500), || {
            std::process::exit(HANGS)
        });
        let mut status = Status::default();
        let mut out = std::io::stdout();
        for case in from..to {
            status.case = case;
            status.write(&file);
            let bytes = cases.bytes(target.as_ref(), case);
            watchdog.begin();
            let measured = measured(|| target.run(&bytes));
            watchdog.end();
            status.note(case, &measured);
            if let Err(fault) = measured.verdict {
                writeln!(out, "{}", serde_json::to_string(&Found { case, fault })?)?;
                out.flush()?;
            }
        }
        status.case = to;
        status.write(&file);
        Ok(())
    })?
}

/// Runs the bytes of one case alone and prints what is wrong with them, if anything is.
pub fn try_one(parser: &str, bytes: &[u8], binary: &Path) -> anyhow::Result<()> {
    let fault = run_bytes(parser, bytes, binary, true)?;
    if let Some(fault) = fault {
        println!("{}", serde_json::to_string(&Found { case: 0, fault })?);
    }
    Ok(())
}

/// What is wrong with some bytes, found in this process. `guarded`: a hang ends the process, as does whatever else cannot be survived.
pub fn run_bytes(
    parser: &str,
    bytes: &[u8],
    binary: &Path,
    guarded: bool,
) -> anyhow::Result<Option<Fault>> {
    on_usual_stack(|| {
        let mut target = make(parser, binary)?;
        let watchdog = guarded.then(|| {
            Watchdog::start(TIME + Duration::from_millis(500), || {
                std::process::exit(HANGS)
            })
        });
        if let Some(dog) = &watchdog {
            dog.begin();
        }
        let measured = measured(|| target.run(bytes));
        if let Some(dog) = &watchdog {
            dog.end();
        }
        Ok(measured.verdict.err())
    })?
}

/// What the end of a process says of its case.
#[must_use]
pub fn death(status: std::process::ExitStatus, stderr: &str) -> Fault {
    if status.code() == Some(HANGS) {
        return Fault::new(Kind::Slow, "", "it did not end");
    }
    let line = |words: &str| stderr.lines().find(|l| l.contains(words));
    if line("has overflowed its stack").is_some() {
        return Fault::new(Kind::Died, "stack overflow", "the stack overflowed");
    }
    if let Some(line) = line("memory allocation of") {
        return Fault::new(Kind::Memory, whose(stderr), line);
    }
    let last = stderr.lines().last().unwrap_or("");
    Fault::new(Kind::Died, status.to_string(), last)
}

/// The innermost function of ell0 in a backtrace, where there is one.
fn whose(stderr: &str) -> String {
    let frames = stderr
        .lines()
        .filter_map(|l| l.split_once(": ").map(|(_, f)| f));
    let ours = |f: &&str| f.contains("ell0") && !f.contains("ell0_fuzz");
    frames
        .filter(|f| !f.is_empty())
        .find(ours)
        .unwrap_or("")
        .trim()
        .into()
}
