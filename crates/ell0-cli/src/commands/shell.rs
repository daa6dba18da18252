//! `ell0 completions` and `ell0 man`: for shells and for `man`.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;
use ell0::{input, wording::shown_path};
use ell0_run::OutFile;

use crate::screen;

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
        let mut command = command.disable_help_subcommand(true);
        command.build();
        let cannot = || format!("cannot write to {}", shown_path(&self.folder));
        let mut pages = Vec::new();
        render(command, &mut pages).with_context(cannot)?;
        std::fs::create_dir_all(&self.folder).with_context(cannot)?;
        let place = |name: &str| {
            let path = self.folder.join(name);
            let ours = is_page(&path);
            OutFile::new(path).replacing(ours)
        };
        for (name, _) in &pages {
            place(name).check::<&Path>(&[])?;
        }
        for (name, page) in &pages {
            place(name).write(page)?;
        }
        writeln!(
            screen::out(),
            "The manual pages are in {}",
            shown_path(&self.folder)
        )?;
        Ok(())
    }
}

/// How every page begins that is made here.
const BEGINNING: &[u8] = b".ie \\n(.g .ds Aq";

fn is_page(path: &Path) -> bool {
    input::read(path, input::MOST_TEXT).is_ok_and(|page| page.starts_with(BEGINNING))
}

/// The pages of a command and of those in it, by their files.
fn render(command: Command, pages: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    let inner: Vec<Command> = command.get_subcommands().cloned().collect();
    for inner in inner.into_iter().filter(|inner| !inner.is_hide_set()) {
        render(inner, pages)?;
    }
    let man = clap_mangen::Man::new(command);
    let mut page = Vec::new();
    man.render(&mut page)?;
    pages.push((man.get_filename(), page));
    Ok(())
}
