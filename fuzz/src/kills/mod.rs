//! Runs that are killed at random moments and go on: the bits must be those of a run that nobody disturbed.

mod runs;
mod same;

use std::{
    io,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Serialize;

use self::runs::{RUNS, Run};
use crate::{desk::Desk, dice::Dice};

/// What is killed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often each.
    pub times: u64,
    /// These runs alone; all, if there are none.
    pub only: Vec<String>,
    /// The seed of all moments.
    pub seed: u64,
    /// This attempt alone.
    pub case: Option<u64>,
    /// The program.
    pub binary: std::path::PathBuf,
    /// Runs at a time.
    pub jobs: usize,
    /// Whether to say how it goes.
    pub progress: bool,
}

/// What came of one kind of run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// The run.
    pub run: String,
    /// Attempts.
    pub times: u64,
    /// Signals that met a process at work.
    pub kills: u64,
    /// Attempts that ended with the same bits.
    pub same: u64,
    /// Attempts that left nothing half-written.
    pub clean: u64,
    /// Time of a run that nobody disturbs, in seconds.
    pub seconds: f64,
    /// What went wrong, and in which attempt.
    pub faults: Vec<String>,
}

impl Row {
    /// Whether all attempts ended well.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.same == self.times && self.clean == self.times
    }
}

/// A run that is not done by then hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// The names of all runs.
pub fn names() -> impl Iterator<Item = &'static str> {
    RUNS.iter().map(|run| run.name)
}

/// Kills all of them.
pub fn run(settings: &Settings) -> anyhow::Result<Vec<Row>> {
    if let Some(unknown) = settings.only.iter().find(|o| !names().any(|n| n == *o)) {
        let all = names().collect::<Vec<_>>().join(", ");
        anyhow::bail!("there is no run `{unknown}`; there are {all}");
    }
    let wanted =
        |run: &&Run| settings.only.is_empty() || settings.only.iter().any(|name| name == run.name);
    RUNS.iter()
        .filter(wanted)
        .map(|run| kill_often(settings, run))
        .collect()
}

fn kill_often(settings: &Settings, run: &Run) -> anyhow::Result<Row> {
    let whole = Desk::new()?;
    run.prepare(&whole)?;
    let began = Instant::now();
    let mut child = start(settings, whole.path(), run.first)?;
    let ended = wait(&mut child, PATIENCE)?;
    anyhow::ensure!(
        ended.is_some_and(|s| s.success()),
        "`ell0 {}` does not succeed even if nobody kills it",
        run.first.join(" ")
    );
    let time = began.elapsed();
    let (first, end) = match settings.case {
        Some(case) => (case, case + 1),
        None => (0, settings.times),
    };
    let row = Mutex::new(Row {
        run: run.name.into(),
        times: end - first,
        seconds: time.as_secs_f64(),
        ..Row::default()
    });
    let next = AtomicU64::new(first);
    let expected = same::Picture::of(&whole.file(run.out))?;
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs {
            scope.spawn(|| {
                loop {
                    let attempt = next.fetch_add(1, Ordering::Relaxed);
                    if attempt >= end {
                        return;
                    }
                    let came = one(settings, run, attempt, time, &expected);
                    let mut row = row.lock().unwrap_or_else(PoisonError::into_inner);
                    match came {
                        Ok(came) => {
                            row.kills += came.kills;
                            row.same += u64::from(came.wrong.is_none());
                            row.clean += u64::from(came.left.is_empty());
                            let left = came.left.iter().map(|l| format!("{l} is left"));
                            let all = came.wrong.into_iter().chain(left);
                            row.faults.extend(all.map(|f| format!("{attempt}: {f}")));
                        }
                        Err(error) => row.faults.push(format!("{attempt}: {error:#}")),
                    }
                    if settings.progress {
                        eprintln!("{} {attempt}", run.name);
                    }
                }
            });
        }
    });
    Ok(row.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// What came of one attempt.
#[derive(Debug, Default)]
struct Came {
    kills: u64,
    wrong: Option<String>,
    left: Vec<String>,
}

/// Begins a run, kills it once or several times, and lets it go on to its end.
fn one(
    settings: &Settings,
    run: &Run,
    attempt: u64,
    time: Duration,
    expected: &same::Picture,
) -> anyhow::Result<Came> {
    let mut dice = Dice::of(settings.seed, run.name, attempt);
    let desk = Desk::new()?;
    run.prepare(&desk)?;
    let mut came = Came::default();
    let signals = *dice.pick(&[1, 1, 1, 2, 2, 3]);
    for _ in 0..signals {
        let moment = time.mul_f64(dice.share());
        let signal = *dice.pick(&["KILL", "KILL", "KILL", "TERM", "INT"]);
        let Some(arguments) = run.next(&desk) else {
            break;
        };
        let mut child = start(settings, desk.path(), arguments)?;
        std::thread::sleep(moment);
        // One that has ended is not there any more to be signalled; its number may be another's.
        if child.try_wait()?.is_none() {
            came.kills += 1;
            send(&mut child, signal)?;
        }
        match wait(&mut child, PATIENCE)? {
            None => {
                came.wrong = Some(format!("SIG{signal} does not end it"));
                return Ok(came);
            }
            // Killed, done before, stopped (1) or stopped at once (130).
            Some(ended) => {
                if !matches!(ended.code(), None | Some(0 | 1 | 130)) {
                    came.wrong = Some(format!("{ended} after SIG{signal}"));
                    return Ok(came);
                }
            }
        }
    }
    if let Some(arguments) = run.next(&desk) {
        let mut child = start(settings, desk.path(), arguments)?;
        let ended = wait(&mut child, PATIENCE)?;
        if !ended.is_some_and(|s| s.success()) {
            let ended = ended.map_or("no end".into(), |s| s.to_string());
            let said = std::fs::read_to_string(desk.file(STDERR)).unwrap_or_default();
            let words = format!("`ell0 {}`: {ended}: {}", arguments.join(" "), said.trim());
            came.wrong = Some(words);
        }
    }
    if came.wrong.is_none() {
        let found = same::Picture::of(&desk.file(run.out))?;
        came.wrong = expected.difference(&found);
    }
    came.left = same::left_behind(desk.path())?;
    Ok(came)
}

/// What the last command said.
const STDERR: &str = "stderr.txt";

fn start(settings: &Settings, folder: &Path, arguments: &[&str]) -> io::Result<Child> {
    let said = std::fs::File::create(folder.join(STDERR))?;
    Command::new(&settings.binary)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        .spawn()
}

/// The standard library can only kill; what is more polite does the program of that name.
fn send(child: &mut Child, signal: &str) -> io::Result<()> {
    if signal == "KILL" || cfg!(not(unix)) {
        return child.kill();
    }
    let id = child.id().to_string();
    let mut kill = Command::new("kill");
    // It may have ended meanwhile.
    let kill = kill
        .args([&format!("-{signal}"), &id])
        .stderr(Stdio::null());
    kill.status().map(drop)
}

/// How a process ended, if it did in time; else it is killed.
fn wait(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > until {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What came out, as a table.
#[must_use]
pub fn text(rows: &[Row]) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    for row in rows {
        let Row {
            run,
            times,
            kills,
            same,
            clean,
            seconds,
            ..
        } = row;
        let _ = writeln!(
            out,
            "{run}: the same bits {same} of {times}, nothing left behind {clean} of {times} ({kills} signals; {seconds:.1} s undisturbed)"
        );
        for fault in &row.faults {
            let _ = writeln!(out, "    attempt {fault}");
        }
    }
    out
}
