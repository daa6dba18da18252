//! The parent of the workers: deals out cases, outlives deaths, and makes small what fails.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    alone::{confirmed, make_small},
    desk::Desk,
    summary::{Report, Row},
    worker::{Found, Status, UNABLE, death},
};

/// What is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The parsers.
    pub parsers: Vec<String>,
    /// The first case of each.
    pub first: u64,
    /// How many cases of each.
    pub cases: u64,
    /// The seed of all cases.
    pub seed: u64,
    /// The program, for parsers that are within it.
    pub binary: PathBuf,
    /// Where cases that fail are kept; none: nowhere.
    pub keep: Option<PathBuf>,
    /// Workers at a time.
    pub jobs: usize,
    /// Whether to say how it goes.
    pub progress: bool,
}

/// A worker that dies more often than this is given up.
const MOST_DEATHS: usize = 20;

/// Deaths of one kind that are looked at twice: those after them hardly need it.
const LOOKED_AT: u64 = 2;

/// Faults that are told apart for one parser.
const MOST_DEFECTS: usize = 20;

/// Some cases of a parser.
#[derive(Clone, Debug)]
struct Unit {
    parser: String,
    from: u64,
    to: u64,
}

/// What has come out so far.
#[derive(Default)]
struct Gathered {
    rows: BTreeMap<String, Row>,
    /// By parser and signature: the first case and how many there are.
    faults: BTreeMap<(String, String), (Found, u64)>,
    notes: Vec<String>,
}

impl Gathered {
    fn add(&mut self, parser: &str, found: Found) {
        let key = (parser.to_string(), found.fault.signature());
        let (first, times) = self.faults.entry(key).or_insert((found.clone(), 0));
        *times += 1;
        if found.case < first.case {
            *first = found;
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs all cases.
pub fn run(settings: &Settings) -> anyhow::Result<Report> {
    let began = Instant::now();
    let piece = settings
        .cases
        .div_ceil(2 * settings.jobs.max(1) as u64)
        .max(250);
    let end = settings.first + settings.cases;
    let mut units = VecDeque::new();
    for parser in &settings.parsers {
        let mut from = settings.first;
        while from < end {
            let to = (from + piece).min(end);
            let parser = parser.clone();
            units.push_back(Unit { parser, from, to });
            from = to;
        }
    }
    let (units, gathered) = (Mutex::new(units), Mutex::new(Gathered::default()));
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs {
            scope.spawn(|| {
                loop {
                    let Some(unit) = locked(&units).pop_front() else {
                        return;
                    };
                    if settings.progress {
                        eprintln!("{} {}..{}", unit.parser, unit.from, unit.to);
                    }
                    if let Err(error) = run_unit(settings, &unit, &gathered) {
                        *locked(&failed) = Some(error);
                        locked(&units).clear();
                    }
                }
            });
        }
    });
    if let Some(error) = locked(&failed).take() {
        return Err(error);
    }
    let gathered = gathered
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let mut rows: Vec<Row> = gathered.rows.into_values().collect();
    rows.sort_by_key(|row| settings.parsers.iter().position(|p| *p == row.parser));
    let mut report = Report {
        rows,
        defects: Vec::new(),
        notes: gathered.notes,
        seconds: 0.0,
    };
    let defects = Mutex::new(Vec::new());
    let faults = Mutex::new(limited(gathered.faults));
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs {
            scope.spawn(|| {
                loop {
                    let Some((parser, found, times)) = locked(&faults).pop_front() else {
                        return;
                    };
                    match make_small(settings, &parser, &found, times) {
                        Ok(defect) => locked(&defects).push(defect),
                        Err(error) => eprintln!("{parser} {}: {error:#}", found.case),
                    }
                }
            });
        }
    });
    report.defects = defects.into_inner().unwrap_or_else(PoisonError::into_inner);
    report
        .defects
        .sort_by(|a, b| (&a.parser, a.case).cmp(&(&b.parser, b.case)));
    for row in &mut report.rows {
        let of_it = report.defects.iter().filter(|d| d.parser == row.parser);
        row.defects = of_it.count();
    }
    report.seconds = began.elapsed().as_secs_f64();
    Ok(report)
}

/// The faults to be looked at: not all of a parser that fails everywhere.
fn limited(faults: BTreeMap<(String, String), (Found, u64)>) -> VecDeque<(String, Found, u64)> {
    let mut of_parser: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = VecDeque::new();
    for ((parser, _), (found, times)) in faults {
        let count = of_parser.entry(parser.clone()).or_default();
        *count += 1;
        if *count <= MOST_DEFECTS {
            all.push_back((parser, found, times));
        }
    }
    all
}

/// Runs the cases of a unit, with another worker whenever one dies.
fn run_unit(settings: &Settings, unit: &Unit, gathered: &Mutex<Gathered>) -> anyhow::Result<()> {
    let desk = Desk::new()?;
    let note = desk.file("status");
    let mut from = unit.from;
    let mut deaths = 0;
    while from < unit.to {
        let began = Instant::now();
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["work", &unit.parser])
            .env("RUST_BACKTRACE", "1")
            .args(["--seed", &settings.seed.to_string()])
            .args(["--from", &from.to_string(), "--to", &unit.to.to_string()])
            .arg("--status")
            .arg(&note);
        if !settings.binary.as_os_str().is_empty() {
            command.arg("--binary").arg(&settings.binary);
        }
        let errors = std::fs::File::create(desk.file("stderr"))?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()?;
        if let Some(out) = child.stdout.take() {
            for line in BufReader::new(out).lines() {
                if let Ok(found) = serde_json::from_str(&line?) {
                    locked(gathered).add(&unit.parser, found);
                }
            }
        }
        let ended = child.wait()?;
        let stderr = std::fs::read_to_string(desk.file("stderr")).unwrap_or_default();
        if ended.code() == Some(UNABLE) {
            anyhow::bail!("{} cannot begin: {}", unit.parser, stderr.trim());
        }
        let Some(status) = Status::read(&note) else {
            anyhow::bail!(
                "{} died before its first case: {}",
                unit.parser,
                stderr.trim()
            );
        };
        let died = status.case < unit.to;
        let done = status.case - from + u64::from(died);
        let mut all = locked(gathered);
        let row = all
            .rows
            .entry(unit.parser.clone())
            .or_insert_with(|| Row::new(&unit.parser));
        row.add(status, done, began.elapsed());
        drop(all);
        if !died {
            break;
        }
        let fault = death(ended, &stderr);
        let key = (unit.parser.clone(), fault.signature());
        let known = locked(gathered).faults.get(&key).map_or(0, |(_, n)| *n);
        let fault_again = if known < LOOKED_AT {
            confirmed(settings, &unit.parser, status.case, &fault)?
        } else {
            Some(fault.clone())
        };
        let case = status.case;
        if let Some(fault) = fault_again {
            locked(gathered).add(&unit.parser, Found { case, fault });
        } else {
            let words = format!(
                "{} {}: {} once, but not when it ran alone",
                unit.parser, status.case, fault.what
            );
            locked(gathered).notes.push(words);
        }
        deaths += 1;
        if deaths >= MOST_DEATHS {
            let words = format!("{}: given up at case {}", unit.parser, status.case);
            locked(gathered).notes.push(words);
            break;
        }
        from = status.case + 1;
    }
    Ok(())
}

/// Workers at a time, if nothing else is said: as many as there are cores.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Cases a second.
#[must_use]
pub fn rate(cases: u64, time: Duration) -> f64 {
    cases as f64 / time.as_secs_f64().max(1e-9)
}
