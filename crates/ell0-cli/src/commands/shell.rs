//! `ell0 completions` and `ell0 man`: for shells and for `man`.

use crate::screen;
use ell0::wording::shown_path;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;

/// Print the completions of a shell
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ell0 completions bash > ~/.local/share/bash-completion/completions/ell0\n  ell0 completions zsh > ~/.zfunc/_ell0"
)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(&self, mut command: Command) -> anyhow::Result<()> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command, "ell0", &mut text);
        Ok(screen::out().write_all(&text)?)
    }
}

/// Write the manual pages into a folder
#[derive(Args)]
pub struct Man {
    /// The folder, for example ~/.local/share/man/man1
    folder: PathBuf,
}

impl Man {
    pub fn run(&self, command: Command) -> anyhow::Result<()> {
        let cannot = || format!("cannot write to {}", shown_path(&self.folder));
        std::fs::create_dir_all(&self.folder).with_context(cannot)?;
        clap_mangen::generate_to(command, &self.folder).with_context(cannot)?;
        writeln!(
            screen::out(),
            "The manual pages are in {}",
            shown_path(&self.folder)
        )?;
        Ok(())
    }
}
