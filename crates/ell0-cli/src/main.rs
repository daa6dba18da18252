//! `ell0`: sparse, closed-form models and control laws from the command line.

mod commands;
mod hint;
mod options;
mod progress;
mod screen;
mod table;
mod values;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// ell0 (ℓ₀) turns data, or a world to act in, into a sparse, closed-form model or control law.
///
/// Every parameter of a model gets a gate between 0 and 1 that can be exactly zero; training pays for each open gate, and what stays open is the model.
#[derive(Parser)]
#[command(
    name = "ell0",
    version,
    arg_required_else_help = true,
    after_help = "What to type next:\n  ell0 tutorial --quick                     everything, on one page, in minutes\n  ell0 fit DATA.csv --states x,y            the law behind a file of measurements\n  ell0 train --env \"pendulum(g=9.81)\"       a control law, learned by acting\n  ell0 network DATA.csv --class label       a sparse network for a table\n  ell0 analyze POLICY.json --env pendulum   what can be said of it before it is put to work\n`ell0 COMMAND --help` tells the rest."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Fit(Box<commands::fit::Fit>),
    Stats(Box<commands::stats::Stats>),
    Show(commands::model::Show),
    Predict(commands::model::Predict),
    Score(commands::score::Score),
    Simulate(commands::simulate::Simulate),
    Export(commands::export::Export),
    Collect(commands::collect::Collect),
    Network(Box<commands::network::Network>),
    Train(Box<commands::train::Train>),
    Evaluate(commands::control::Evaluate),
    Rollout(commands::control::Rollout),
    Optimum(commands::control::Optimum),
    Analyze(Box<commands::analyze::Analyze>),
    Tutorial(commands::tutorial::Tutorial),
    Report(commands::report::ReportCommand),
    Watch(commands::watch::Watch),
    Completions(commands::shell::Completions),
    Man(commands::shell::Man),
    Gates(commands::gates::Gates),
}

fn main() -> ExitCode {
    quiet_panics();
    progress::obey_signals();
    let result = match Cli::parse().command {
        Command::Fit(command) => command.run(),
        Command::Stats(command) => command.run(),
        Command::Show(command) => command.run(),
        Command::Predict(command) => command.run(),
        Command::Score(command) => command.run(),
        Command::Simulate(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Collect(command) => command.run(),
        Command::Network(command) => command.run(),
        Command::Train(command) => command.run(),
        Command::Evaluate(command) => command.run(),
        Command::Rollout(command) => command.run(),
        Command::Optimum(command) => command.run(),
        Command::Analyze(command) => command.run(),
        Command::Tutorial(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Watch(command) => command.run(),
        Command::Completions(command) => command.run(Cli::command()),
        Command::Man(command) => command.run(Cli::command()),
        Command::Gates(command) => command.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output may close it early, as `head` does: that is not a failure of ours.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // A mistake in how the command was written.
            if let Some(usage) = error.downcast_ref::<clap::Error>() {
                let _ = usage.print();
                return ExitCode::from(2);
            }
            screen::say(format!("error: {}", hint::explain(&error)));
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Does not report panics that become errors.
fn quiet_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !ell0_data::table::panics_are_errors() {
            report(info);
        }
    }));
}
