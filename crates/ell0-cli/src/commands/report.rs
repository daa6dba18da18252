//! `ell0 report` and `ell0 watch`: runs as pages.

use std::{
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, ensure};
use clap::Args;
use ell0_data::write::write_whole;
use serde_json::Value;

use crate::report::{FILE, Report, Section, command_line, compare, html};

/// Make the page of a run, or one page that compares several
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ell0 report runs/tutorial-policy-seed0\n  ell0 report runs/train-a runs/train-b --out comparison.html"
)]
pub struct ReportCommand {
    /// Folders of runs: of fit, train, tutorial or analyze
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// The page [default: report.html in the folder; of several, report.html here]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl ReportCommand {
    pub fn run(&self) -> anyhow::Result<()> {
        for folder in &self.folders {
            ensure!(folder.is_dir(), "{} is no folder", folder.display());
        }
        let (page, place) = match self.folders.as_slice() {
            [folder] => (Report::of(folder)?.html(None), folder.join(FILE)),
            folders => (self.comparison(folders)?, PathBuf::from(FILE)),
        };
        let place = self.out.clone().unwrap_or(place);
        write_whole(&place, page.as_bytes())?;
        println!("{}", place.display());
        Ok(())
    }

    fn comparison(&self, folders: &[PathBuf]) -> anyhow::Result<String> {
        let mut all: Vec<Section> = compare(folders)?;
        for folder in folders {
            let report = Report::of(folder)?;
            let name = folder.display().to_string();
            all.extend(report.sections.into_iter().map(|s| s.under(&name)));
        }
        let title = format!("{} runs side by side", folders.len());
        Ok(html(&title, Some(&command_line()), &all, None))
    }
}

/// Show a run that is under way in the browser, always current
///
/// Serves its report on a loopback address: nobody else on the network can see it. Ctrl-C ends it.
#[derive(Args)]
pub struct Watch {
    /// Folder of the run
    folder: PathBuf,
    /// Port [default: one that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Seconds between two looks
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=3600))]
    every: u32,
}

impl Watch {
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(
            self.folder.is_dir(),
            "{} is no folder",
            self.folder.display()
        );
        // Is there anything to watch? Better to hear it now.
        Report::of(&self.folder)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).with_context(|| {
            format!("cannot listen on port {}; --port names another", self.port)
        })?;
        println!(
            "http://{} shows {}; Ctrl-C ends it",
            listener.local_addr()?,
            self.folder.display()
        );
        std::io::stdout().flush()?;
        for stream in listener.incoming().flatten() {
            // A browser that goes away is no reason to stop.
            let _ = self.answer(stream);
        }
        Ok(())
    }

    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        let mut request = String::new();
        // Requests are short; what is longer is none of ours.
        std::io::Read::take(BufReader::new(&stream), 8192).read_line(&mut request)?;
        let path = request.split_whitespace().nth(1).unwrap_or("/");
        let (status, kind, body) = match path {
            "/" => match Report::of(&self.folder) {
                Ok(report) => ("200 OK", "text/html", report.html(Some(self.every))),
                Err(error) => (
                    "500 Internal Server Error",
                    "text/plain",
                    format!("{error:#}"),
                ),
            },
            "/results.json" | "/metrics.jsonl" => file(&self.folder, &path[1..]),
            _ => ("404 Not Found", "text/plain", "there is only /\n".into()),
        };
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
            body.len()
        )?;
        stream.write_all(body.as_bytes())
    }
}

fn file(folder: &Path, name: &str) -> (&'static str, &'static str, String) {
    match std::fs::read_to_string(folder.join(name)) {
        Ok(text) => ("200 OK", "application/json", text),
        Err(_) => ("404 Not Found", "application/json", Value::Null.to_string()),
    }
}
