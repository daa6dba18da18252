//! Requests to `ell0 watch`. Its parser is within the program, so a real one is asked over a loopback address.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use ell0_run::{FitSettings, Place};

use super::{Target, samples, text};
use crate::{
    desk::Desk,
    dice::Dice,
    mutate::bytes,
    verdict::{Fault, Kind, Outcome, Verdict},
};

pub struct Http {
    server: Child,
    port: String,
    token: String,
    /// What is watched.
    _desk: Desk,
}

/// What stands for the token and the port in the bytes of a case: both are new each time.
const TOKEN: &str = "@TOKEN@";
const PORT: &str = "@PORT@";

const SEEDS: [&str; 6] = [
    "GET /?token=@TOKEN@ HTTP/1.1\r\nHost: 127.0.0.1:@PORT@\r\nUser-Agent: a browser\r\nAccept: */*\r\n\r\n",
    "GET /results.json?token=@TOKEN@ HTTP/1.1\r\nHost: localhost:@PORT@\r\n\r\n",
    "HEAD /report.html?token=@TOKEN@ HTTP/1.1\r\nhost: LOCALHOST\r\nConnection: close\r\n\r\n",
    "GET /metrics.jsonl?x=1&token=@TOKEN@#end HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1:@PORT@\r\n\r\n",
    "POST /?token=@TOKEN@ HTTP/1.1\r\nHost: 127.0.0.1:@PORT@\r\nContent-Length: 5\r\n\r\nhello",
];

const WORDS: [&str; 35] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "OPTIONS",
    " ",
    "/",
    "//",
    "/../../../../etc/passwd",
    "/%2e%2e/config.toml",
    "/config.toml",
    "/..",
    "?",
    "&",
    "#",
    "token",
    "=",
    "@TOKEN@",
    "token=@TOKEN@",
    "HTTP/1.1",
    "HTTP/2",
    "HTTP/1.",
    "\r\n",
    "\r\n\r\n",
    "\n\n",
    "Host: 127.0.0.1\r\n",
    "Host: evil.example\r\n",
    "Host:\r\n",
    "Content-Length: 99999999999\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Expect: 100-continue\r\n",
    ":",
    "http://127.0.0.1/",
    "*",
    "report.html",
];

impl Http {
    pub fn new(binary: &Path) -> anyhow::Result<Self> {
        let desk = Desk::new()?;
        let folder = desk.file("run");
        let settings = FitSettings {
            data: samples::question(),
            ..FitSettings::default()
        };
        let found = settings.run_on(&[samples::oscillator(60)], &ell0_run::Silent)?;
        found.write(&settings, &Place::new(&folder), None)?;
        let mut server = Command::new(binary)
            .arg("watch")
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        if let Some(out) = server.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let address = line.split_once("http://127.0.0.1:").map(|(_, rest)| rest);
        let parts = address.and_then(|a| a.split_once("/?token="));
        let Some((port, rest)) = parts else {
            let _ = server.kill();
            anyhow::bail!("`ell0 watch` printed no address: {line:?}");
        };
        let token = rest.split(' ').next().unwrap_or("");
        Ok(Http {
            port: port.into(),
            token: token.into(),
            server,
            _desk: desk,
        })
    }

    fn ask(&self, request: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.set_write_timeout(Some(Duration::from_secs(2)))?;
        // Whoever is sent away early need not listen to the rest.
        let _ = stream.write_all(request);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            // Hung up on before all of a long request was read.
            Err(e) if e.kind() != std::io::ErrorKind::ConnectionReset => Err(e),
            _ => Ok(answer),
        }
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Target for Http {
    fn extension(&self) -> &'static str {
        "http"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        Ok(text::seeds(&SEEDS))
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        match dice.below(12) {
            0 => {
                // A header that does not end, or one of many.
                let long = "X: ".to_string() + &"a".repeat(dice.size(40_000));
                let seed: &Vec<u8> = dice.pick(seeds);
                let seed = String::from_utf8_lossy(seed).into_owned();
                let long = "\r\n".to_string() + &long + "\r\n";
                seed.replacen("\r\n", &long, 1).into_bytes()
            }
            // Several in a row.
            1 => [dice.pick(seeds).clone(), dice.pick(seeds).clone()].concat(),
            2 => {
                let mut out = dice.pick(seeds).clone();
                bytes::mutate(dice, &mut out, &seeds[0]);
                out
            }
            _ => text::mutate(dice, seeds, &WORDS),
        }
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        let mut request = replace(bytes, TOKEN, &self.token);
        request = replace(&request, PORT, &self.port);
        let answer = match self.ask(&request) {
            Ok(answer) => answer,
            Err(e) => return Err(Fault::wrong("every request has an answer", e.to_string())),
        };
        if let Ok(Some(status)) = self.server.try_wait() {
            return Err(Fault::new(Kind::Died, "watch", status.to_string()));
        }
        judge(bytes, &request, &answer)
    }
}

fn replace(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(byte) = rest.first() {
        if let Some(after) = rest.strip_prefix(from.as_bytes()) {
            out.extend_from_slice(to.as_bytes());
            rest = after;
        } else {
            out.push(*byte);
            rest = &rest[1..];
        }
    }
    out
}

/// Whether an answer is one, and whether it may be given.
fn judge(case: &[u8], request: &[u8], answer: &[u8]) -> Verdict {
    // Hung up on: a request that was too long.
    if answer.is_empty() && request.len() > 16_000 {
        return Ok(Outcome::Error("hung up".into()));
    }
    let text = String::from_utf8_lossy(answer);
    let start: String = text.chars().take(120).collect();
    let wrong = |promise: &str| Err(Fault::wrong(promise, format!("{start:?}")));
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return wrong("an answer has a head");
    };
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|h| h.get(..3));
    let length = head
        .lines()
        .find_map(|l| l.strip_prefix("Content-Length: "))
        .and_then(|l| l.parse::<usize>().ok());
    let method = request.starts_with(b"HEAD ");
    if length != Some(body.len()) && !(method && body.is_empty()) {
        return wrong("an answer is as long as it says");
    }
    match status {
        Some("200") => {
            let line = String::from_utf8_lossy(case);
            let line = line.lines().next().unwrap_or("");
            if !line.contains(TOKEN) {
                return wrong("nobody reads without the token");
            }
            if body.contains("root:") || body.contains("Made by ell0") && !body.contains("<html") {
                return wrong("only the page and its numbers are shown");
            }
            Ok(Outcome::Valid)
        }
        Some("400" | "403" | "404" | "405" | "431") => Ok(Outcome::Error(start)),
        _ => wrong("a known status"),
    }
}
