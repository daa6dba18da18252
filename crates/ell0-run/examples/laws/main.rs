//! How often the right law is found, in systems whose law is known: see `benchmarks/laws/README.md`.
//!
//! `cargo run --release -p ell0-run --example laws -- textbook --criterion validation`

mod data;
mod expand;
mod export;
mod options;
mod score;
mod study;
mod systems;
mod table;

use std::{
    io::{IsTerminal, Write},
    path::Path,
    process::ExitCode,
};

use export::Export;
use options::Options;
use score::Outcome;
use study::Case;

/// Whatever went wrong, as a sentence.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("error: {error}\n\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    let systems = options.chosen(systems::read(&options.systems)?)?;
    let cases = study::cases(&systems, options)?;
    if cases.is_empty() {
        return Err("no system of this study is left: see --only, --half and --variants".into());
    }
    let mut export = options.csv.clone().map(Export::new).transpose()?;
    let mut outcomes: Vec<Outcome> = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        progress(number, cases.len(), case);
        let measured = data::measure(case)?;
        if let Some(export) = &mut export {
            export.add(case, &measured)?;
        }
        if options.data_only {
            continue;
        }
        outcomes.push(score::run(case, &measured, options)?);
        // A study takes long: what is done is saved whenever a system is.
        let next = cases.get(number + 1).map(|next| &next.system.name);
        if let Some(file) = &options.json
            && next != Some(&case.system.name)
        {
            save(file, &outcomes)?;
        }
    }
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    if let Some(export) = &export {
        export.finish()?;
    }
    if !options.data_only {
        let text = table::markdown(options.study, &outcomes);
        std::io::stdout().write_all(text.as_bytes())?;
    }
    Ok(())
}

fn save(file: &Path, outcomes: &[Outcome]) -> Result<(), Failure> {
    data::write(file, &(serde_json::to_string_pretty(outcomes)? + "\n"))
}

/// A line on stderr: it stays in its place on a terminal.
fn progress(number: usize, all: usize, case: &Case) {
    let (system, variant) = (&case.system.name, &case.variant);
    let (noise, seed) = (case.noise.level(), case.seed);
    let line = format!(
        "{}/{all}: {system}, {variant}, noise {noise}, seed {seed}",
        number + 1
    );
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{line}");
    } else {
        eprintln!("{line}");
    }
}
