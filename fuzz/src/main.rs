//! `ell0-fuzz`: looks for inputs that ell0 does not survive.

mod hidden;

use std::{
    io::{IsTerminal, stderr},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use ell0_fuzz::{
    alone, cases, commands,
    desk::Desk,
    kills,
    parsers::{self, Settings},
    targets,
};

/// Looks for inputs that ell0 does not survive
///
/// Everything is a function of the seed: a case can be made again by its number. The exit code is 1 if something is wrong.
#[derive(Parser)]
#[command(name = "ell0-fuzz", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Parsers(Parsers),
    Commands(Commands),
    Kills(Kills),
    Replay(Replay),
    #[command(hide = true)]
    Work(hidden::Worker),
    #[command(hide = true)]
    Try(hidden::Try),
}

/// Spoilt files, texts and requests: no panic, no hang, no flood of memory, an error or a valid result
#[derive(clap::Args)]
struct Parsers {
    /// Cases of each parser
    #[arg(long, default_value_t = 20_000)]
    cases: u64,
    /// Seed of all cases
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// These parsers alone, with commas between them
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// This case alone
    #[arg(long)]
    case: Option<u64>,
    /// Workers at a time [default: one for each core]
    #[arg(long)]
    jobs: Option<usize>,
    /// Where cases that fail are kept [default: fuzz/cases]
    #[arg(long)]
    keep: Option<PathBuf>,
    /// The program [default: the one beside this]
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Short sequences of real commands, right ones and wrong ones: exit codes, messages, files
#[derive(clap::Args)]
struct Commands {
    /// Sequences
    #[arg(long, default_value_t = 60)]
    cases: u64,
    /// Seed of all sequences
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// This sequence alone
    #[arg(long)]
    case: Option<u64>,
    /// Sequences at a time [default: one for each core]
    #[arg(long)]
    jobs: Option<usize>,
    /// The program [default: the one beside this]
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Print every command
    #[arg(long)]
    verbose: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "verbose")]
    json: bool,
}

/// Runs that are killed at random moments and go on: the same bits as without
#[derive(clap::Args)]
struct Kills {
    /// How often each run is killed
    #[arg(long, default_value_t = 100)]
    times: u64,
    /// Seed of the moments
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// These runs alone, with commas between them: fit, stats, analyze, train, tutorial, figures
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// This attempt alone
    #[arg(long)]
    case: Option<u64>,
    /// Runs at a time [default: one for each core]
    #[arg(long)]
    jobs: Option<usize>,
    /// The program [default: the one beside this]
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Kept cases again
#[derive(clap::Args)]
struct Replay {
    /// The cases [default: all of fuzz/cases]
    files: Vec<PathBuf>,
    /// The program [default: the one beside this]
    #[arg(long)]
    binary: Option<PathBuf>,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Parsers(command) => command.run(),
        Command::Commands(command) => command.run(),
        Command::Kills(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Work(command) => return command.run(),
        Command::Try(command) => return command.run(),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The program: the one named, or the one beside this, if it is needed.
fn program(named: Option<&PathBuf>, needed: bool) -> anyhow::Result<PathBuf> {
    match named {
        Some(binary) => Ok(std::path::absolute(binary)?),
        None if needed => targets::program_beside(),
        None => Ok(PathBuf::new()),
    }
}

impl Parsers {
    fn run(&self) -> anyhow::Result<bool> {
        let all = targets::names().map(String::from);
        let parsers: Vec<String> = if self.only.is_empty() {
            all.collect()
        } else {
            self.only.clone()
        };
        let needed = parsers.iter().any(|p| targets::needs_program(p));
        let settings = Settings {
            first: self.case.unwrap_or(0),
            cases: if self.case.is_some() { 1 } else { self.cases },
            seed: self.seed,
            binary: program(self.binary.as_ref(), needed)?,
            keep: Some(self.keep.clone().unwrap_or_else(cases::folder)),
            jobs: self.jobs.unwrap_or_else(parsers::cores).max(1),
            progress: stderr().is_terminal(),
            parsers,
        };
        let report = parsers::run(&settings)?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            print!("{}", report.text());
        }
        Ok(report.defects.is_empty())
    }
}

impl Commands {
    fn run(&self) -> anyhow::Result<bool> {
        let report = commands::run(&commands::Settings {
            first: self.case.unwrap_or(0),
            cases: if self.case.is_some() { 1 } else { self.cases },
            seed: self.seed,
            binary: program(self.binary.as_ref(), true)?,
            jobs: self.jobs.unwrap_or_else(parsers::cores).max(1),
            verbose: self.verbose,
        })?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            print!("{}", report.text());
        }
        Ok(report.failures.is_empty())
    }
}

impl Kills {
    fn run(&self) -> anyhow::Result<bool> {
        let rows = kills::run(&kills::Settings {
            times: self.times,
            only: self.only.clone(),
            seed: self.seed,
            case: self.case,
            binary: program(self.binary.as_ref(), true)?,
            jobs: self.jobs.unwrap_or_else(parsers::cores).max(1),
            progress: stderr().is_terminal(),
        })?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&rows)?);
        } else {
            print!("{}", kills::text(&rows));
        }
        Ok(rows.iter().all(kills::Row::is_well))
    }
}

impl Replay {
    fn run(&self) -> anyhow::Result<bool> {
        let files = if self.files.is_empty() {
            cases::all(&cases::folder())?
        } else {
            self.files.clone()
        };
        let desk = Desk::new()?;
        let mut well = true;
        for file in &files {
            let Some(parser) = cases::parser_of(file) else {
                anyhow::bail!("{} is not named after a parser", file.display());
            };
            let binary = program(self.binary.as_ref(), targets::needs_program(&parser))?;
            let bytes = std::fs::read(file)?;
            match alone::alone(&desk, &parser, &bytes, &binary)? {
                None => println!("{}: well", file.display()),
                Some(fault) => {
                    println!("{}: {}: {}", file.display(), fault.signature(), fault.what);
                    well = false;
                }
            }
        }
        println!("{} cases", files.len());
        Ok(well)
    }
}
