//! What the driver starts itself with: the processes that may die.

use std::{path::PathBuf, process::ExitCode};

use ell0_fuzz::worker::{self, UNABLE, Work};

/// Runs some cases of a parser.
#[derive(clap::Args)]
pub struct Worker {
    parser: String,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    from: u64,
    #[arg(long)]
    to: u64,
    #[arg(long)]
    status: PathBuf,
    /// The program, where it is needed
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Runs the bytes of one case.
#[derive(clap::Args)]
pub struct Try {
    parser: String,
    file: PathBuf,
    /// The program, where it is needed
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// A worker that cannot do its work says so by its exit code.
fn unable(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(UNABLE as u8)
        }
    }
}

impl Worker {
    pub fn run(self) -> ExitCode {
        unable(worker::work(&Work {
            parser: self.parser,
            seed: self.seed,
            from: self.from,
            to: self.to,
            status: self.status,
            binary: self.binary.unwrap_or_default(),
        }))
    }
}

impl Try {
    pub fn run(self) -> ExitCode {
        let bytes = std::fs::read(&self.file).map_err(anyhow::Error::from);
        let binary = self.binary.unwrap_or_default();
        unable(bytes.and_then(|bytes| worker::try_one(&self.parser, &bytes, &binary)))
    }
}
