//! What the libraries say is wrong, with the option that mends it.

use ell0::wording::listed;
use ell0_control::Error as ControlError;
use ell0_data::Error as DataError;
use ell0_run::Error;

/// A mistake in how the command was written, as clap reports its own.
pub fn usage(message: impl std::fmt::Display) -> anyhow::Error {
    clap::Error::raw(
        clap::error::ErrorKind::MissingRequiredArgument,
        format!("{message}\n"),
    )
    .into()
}

/// The error and its causes, each said once, with the option that mends it.
pub fn explain(error: &anyhow::Error) -> String {
    let told = error
        .chain()
        .map(ToString::to_string)
        .fold(String::new(), |told, cause| match told.as_str() {
            "" => cause,
            // Some messages already hold their cause.
            told if told.contains(&cause) => told.to_string(),
            told => format!("{told}: {cause}"),
        });
    let told = told.replace(
        "only folders of runs are replaced",
        "--force replaces only folders of runs: choose another --out",
    );
    match error.downcast_ref::<Error>() {
        Some(error) => with_option(told, error.root()),
        None => told,
    }
}

/// The sentence of a library, with the option that mends what is wrong.
fn with_option(told: String, error: &Error) -> String {
    match error {
        Error::Setting {
            name,
            value,
            expected,
        } => {
            let said = format!("{name} = {value} is not allowed");
            let told = told.replace("is for the method stlsq", "is for --method stlsq");
            told.replace(&said, &format!("--{name} {value} is not allowed"))
                .replace(
                    &format!("--{name} none is not allowed: {expected}"),
                    &format!("--{name} is missing: {expected}"),
                )
        }
        Error::FolderExists(_) => told + "; choose another one, or --force to replace it",
        Error::Changed { .. } => told.replace(
            "only what a run has left is replaced",
            "--force replaces only what a run has left: choose another --out, or delete the folder yourself",
        ),
        Error::InputInside { .. } | Error::OfRun { .. } => told + "; choose another --out",
        Error::FileExists(_) => {
            told + ": choose another place, or overwrite it with --force"
        }
        Error::IsAFolder(_) => told + ": choose another --name",
        Error::NotAFolder(_) => told + "; --out needs a folder",
        Error::Io { action, .. } if action.contains("folder") => {
            told + "; --out DIR names another place"
        }
        Error::NoTime { columns } => format!(
            "no column of time: name it with --time, or give the time between rows with --dt (the columns are {}); `ell0 fit --dynamics discrete` needs none",
            listed(columns)
        ),
        Error::UnevenSteps { .. } => told.replace(
            "a discrete law needs even steps; a law of rates of change does not",
            "--dynamics discrete needs even steps, --dynamics continuous does not",
        ),
        Error::TimeTwice { .. } => told.replace("leave the latter out", "leave --dt out"),
        Error::TooShort { .. } | Error::AllShort { .. } => told
            .replace("the derivative ", "--derivative ")
            .replace("a discrete law needs", "--dynamics discrete needs")
            .replace(": leave it out", ": --drop-short leaves out what is too short"),
        Error::AlreadyKnown => told.replace(
            "leave that out",
            "leave out --states, --inputs, --library and the like",
        ),
        Error::Network(_) => told + "; `ell0 export` takes it",
        Error::NoLoop => told.replace(
            "name the environment, or a learned transition model",
            "name the environment with --env \"pendulum(g=9.81)\", or a learned transition model with --model FILE",
        ),
        Error::NoClosedForm { .. } => told.replace(
            "a learned transition model can take its place",
            "--model takes a learned one",
        ),
        Error::Settings(says) if says.starts_with("sampled gates need") => {
            told.replace("sampled gates need", "--method sampled needs")
        }
        Error::Settings(says) if says.starts_with("columns of rates of change were named") => {
            told.replace("columns of rates of change were named", "--rates was given")
        }
        Error::Settings(says) if says.starts_with("data are for laws") => {
            told.replace("data are for laws", "--data is for laws")
        }
        Error::Control(ControlError::NotALaw) => {
            told + ": a policy needs --env or --model to be analysed with; a law comes from `ell0 fit`"
        }
        Error::Control(ControlError::NotAMap) => {
            told + "; fit it with --dynamics discrete, or name an environment"
        }
        Error::Data(DataError::Cell { .. }) => {
            told + " (--drop-missing leaves out rows with empty or NaN cells)"
        }
        Error::Data(DataError::Time { .. }) => {
            told + " (several experiments need --trajectory, or a file each)"
        }
        _ => told,
    }
}
