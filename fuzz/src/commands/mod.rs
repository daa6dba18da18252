//! Short sequences of real commands in one folder, right ones and wrong ones.

mod bench;
mod grammar;
mod lines;
mod picture;

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Serialize;

use self::{
    grammar::Line,
    picture::{Picture, check_changes},
};
use crate::{
    desk::Desk,
    dice::Dice,
    verdict::{Fault, Kind, check_message},
};

/// What is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Sequences.
    pub cases: u64,
    /// The first of them.
    pub first: u64,
    /// The seed of all of them.
    pub seed: u64,
    /// The program.
    pub binary: PathBuf,
    /// Sequences at a time.
    pub jobs: usize,
    /// Whether to print every command and how it ended.
    pub verbose: bool,
}

/// The longest that a command may take.
const TIME: Duration = Duration::from_secs(20);

/// The most memory that a command may have, in kilobytes.
const MEMORY: u64 = 4 << 20;

/// A fault, and what led to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// The sequence.
    pub case: u64,
    /// The commands, the last of which has the fault.
    pub commands: Vec<String>,
    /// What is wrong.
    pub fault: Fault,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Sequences.
    pub cases: u64,
    /// Commands.
    pub commands: u64,
    /// Those that ended with 0, 1 and 2.
    pub exits: [u64; 3],
    /// The longest time of a command, in milliseconds.
    pub slowest_ms: u64,
    /// That command.
    pub slowest: String,
    /// What went wrong.
    pub failures: Vec<Failure>,
    /// Time in all.
    pub seconds: f64,
}

/// Runs all sequences.
pub fn run(settings: &Settings) -> anyhow::Result<Report> {
    let began = Instant::now();
    let report = Mutex::new(Report::default());
    let next = AtomicU64::new(settings.first);
    let end = settings.first + settings.cases;
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs {
            scope.spawn(|| {
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    if case >= end {
                        return;
                    }
                    if let Err(error) = sequence(settings, case, &report) {
                        next.store(end, Ordering::Relaxed);
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                }
            });
        }
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.failures.sort_by_key(|f| f.case);
    report.seconds = began.elapsed().as_secs_f64();
    Ok(report)
}

/// One sequence; it ends with the first fault.
fn sequence(settings: &Settings, case: u64, report: &Mutex<Report>) -> anyhow::Result<()> {
    let mut dice = Dice::of(settings.seed, "commands", case);
    // What goes to `..` is still within the desk.
    let desk = Desk::new()?;
    let folder = desk.file("work");
    std::fs::create_dir(&folder)?;
    bench::prepare(&folder)?;
    let mut said = Vec::new();
    let count = dice.between(2, 6);
    {
        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
        report.cases += 1;
    }
    for _ in 0..count {
        if dice.one_in(4) {
            bench::spoil(&mut dice, &folder)?;
        }
        let line = grammar::line(&mut dice, &folder)?;
        said.push(line.text());
        let before = Picture::of(desk.path())?;
        let began = Instant::now();
        let done = execute(&settings.binary, &folder, &line)?;
        let time = began.elapsed();
        let after = Picture::of(desk.path())?;
        let fault = judge(&line, &done, &before, &after, &folder).err();
        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
        report.commands += 1;
        if let Some(code @ 0..=2) = done.status.and_then(|s| s.code()) {
            report.exits[code as usize] += 1;
        }
        if time.as_millis() as u64 > report.slowest_ms {
            report.slowest_ms = time.as_millis() as u64;
            report.slowest = line.text();
        }
        if settings.verbose {
            let first = done.stderr.lines().next().unwrap_or("");
            println!("{case} [{}] {} | {first}", done.code(), line.text());
        }
        if let Some(fault) = fault {
            report.failures.push(Failure {
                case,
                commands: said,
                fault,
            });
            return Ok(());
        }
    }
    Ok(())
}

/// How a command ended; no status if it did not.
struct Done {
    status: Option<ExitStatus>,
    stdout: String,
    stderr: String,
}

impl Done {
    fn code(&self) -> String {
        let status = self
            .status
            .map(|s| s.code().map_or(s.to_string(), |c| c.to_string()));
        status.unwrap_or("no end".into())
    }
}

fn execute(binary: &Path, folder: &Path, line: &Line) -> anyhow::Result<Done> {
    let mut command = if cfg!(unix) {
        // A command that wants all memory must not get it.
        let mut command = Command::new("sh");
        let limit = format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"");
        command.arg("-c").arg(limit).arg(binary);
        command
    } else {
        Command::new(binary)
    };
    let mut child = command
        .args(&line.words)
        .current_dir(folder)
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // Both pipes are emptied while it runs, or it might wait for us.
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let read = |pipe: Option<&mut dyn Read>| {
            let mut bytes = Vec::new();
            if let Some(pipe) = pipe {
                let _ = pipe.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let stdout = scope.spawn(move || read(out.as_mut().map(|o| o as &mut dyn Read)));
        let stderr = scope.spawn(move || read(err.as_mut().map(|e| e as &mut dyn Read)));
        let until = Instant::now() + TIME;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if Instant::now() > until {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        Ok(Done {
            status,
            stdout: stdout.join().unwrap_or_default(),
            stderr: stderr.join().unwrap_or_default(),
        })
    })
}

/// Holds a command to what all commands promise.
fn judge(
    line: &Line,
    done: &Done,
    before: &Picture,
    after: &Picture,
    folder: &Path,
) -> Result<(), Fault> {
    let command = line.words.first().map_or("", String::as_str);
    let Some(status) = done.status else {
        return Err(Fault::new(Kind::Slow, command, "longer than 20 s"));
    };
    let start: String = done.stderr.chars().take(400).collect();
    if done.stderr.contains("panicked") {
        return Err(Fault::new(Kind::Panic, command, start));
    }
    let code = status.code();
    if !matches!(code, Some(0..=2)) {
        let what = format!("{status}: {start}");
        return Err(Fault::new(Kind::Died, command, what));
    }
    if code == Some(1) {
        if !done.stderr.contains("error: ") {
            return Err(Fault::new(Kind::Message, "no reason", start));
        }
        check_message(&done.stderr)?;
    }
    let json = line.words.iter().any(|w| w == "--json");
    if json && code == Some(0) && serde_json::from_str::<serde_json::Value>(&done.stdout).is_err() {
        let out: String = done.stdout.chars().take(200).collect();
        return Err(Fault::wrong("--json prints JSON", out));
    }
    check_changes(line, code == Some(0), before, after, folder)
}

impl Report {
    /// What came out, for people.
    #[must_use]
    pub fn text(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        for failure in &self.failures {
            let _ = writeln!(out, "case {}: {}", failure.case, failure.fault.signature());
            let _ = writeln!(out, "    {}", failure.fault.what.replace('\n', "\n    "));
            for command in &failure.commands {
                let _ = writeln!(out, "    $ {command}");
            }
        }
        let [well, refused, usage] = self.exits;
        let _ = writeln!(
            out,
            "{} sequences of {} commands in {:.0} s: {well} ended with 0, {refused} with 1, {usage} with 2; {} failures; the slowest took {} ms: {}",
            self.cases,
            self.commands,
            self.seconds,
            self.failures.len(),
            self.slowest_ms,
            self.slowest
        );
        out
    }
}
