//! `ell0 watch`: the page of a run that is under way, on a loopback address.

use crate::screen;
use ell0::wording::shown_path;
use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
    io::{ErrorKind, Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use clap::Args;
use ell0_run::{PAGE, Page};

/// Show a run that is under way in the browser, always current
///
/// Serves its report on a loopback address: nobody else on the network can see it. The address has a token, so that other users of this machine do not read along. Ctrl-C ends it.
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
    /// Without a token: every user of this machine may look
    #[arg(long)]
    open_to_all: bool,
}

/// A request must be here within this time, however slowly it comes.
const DEADLINE: Duration = Duration::from_secs(3);

/// The longest request, in bytes: those of browsers are much shorter.
const LONGEST: usize = 16_384;

/// Connections that may keep silent at a time.
const MOST: usize = 32;

/// Connections whose request is not here yet, the oldest first. Those that keep silent are hung up on when others come.
#[derive(Default)]
struct Waiting(Mutex<VecDeque<(u64, TcpStream)>>);

impl Waiting {
    fn all(&self) -> MutexGuard<'_, VecDeque<(u64, TcpStream)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more, in place of the oldest where there are many.
    fn add(&self, number: u64, stream: &TcpStream) -> std::io::Result<()> {
        let mut all = self.all();
        if all.len() >= MOST
            && let Some((_, oldest)) = all.pop_front()
        {
            let _ = oldest.shutdown(Shutdown::Both);
        }
        all.push_back((number, stream.try_clone()?));
        Ok(())
    }

    /// Its request is here, or it is gone.
    fn remove(&self, number: u64) {
        self.all().retain(|(n, _)| *n != number);
    }
}

/// What nobody can guess: the keys of the standard library's hashes come from the system's randomness.
fn token() -> String {
    let word = |k: u64| RandomState::new().hash_one(k);
    format!("{:016x}{:016x}", word(1), word(2))
}

struct Answer {
    status: &'static str,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn text(status: &'static str, body: impl Into<String>) -> Self {
        Answer {
            status,
            kind: "text/plain",
            body: body.into() + "\n",
        }
    }
}

impl Watch {
    pub fn run(&self) -> anyhow::Result<()> {
        ensure!(
            self.folder.is_dir(),
            "{} is no folder",
            shown_path(&self.folder)
        );
        // Is there anything to watch? Better to hear it now.
        let _ = Page::of(&self.folder)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).with_context(|| {
            format!("cannot listen on port {}; --port names another", self.port)
        })?;
        let token = (!self.open_to_all).then(token);
        let path = token
            .as_ref()
            .map_or(String::new(), |t| format!("/?token={t}"));
        writeln!(
            screen::out(),
            "http://{}{path} shows {}; Ctrl-C ends it",
            listener.local_addr()?,
            shown_path(&self.folder)
        )?;
        screen::out().flush()?;
        // Each request has a thread: a client that is slow keeps no other waiting.
        let (waiting, token) = (Waiting::default(), token.as_deref());
        std::thread::scope(|scope| {
            for (number, stream) in (0..).zip(listener.incoming().flatten()) {
                if waiting.add(number, &stream).is_ok() {
                    let waiting = &waiting;
                    scope.spawn(move || {
                        // A browser that goes away is no reason to stop.
                        let _ = self.serve(stream, token, || waiting.remove(number));
                        waiting.remove(number);
                    });
                }
            }
        });
        Ok(())
    }

    fn serve(
        &self,
        mut stream: TcpStream,
        token: Option<&str>,
        heard: impl FnOnce(),
    ) -> std::io::Result<()> {
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        let request = read_request(&mut stream)?;
        heard();
        let answer = match &request {
            Request::Whole(request) => self.answer(request, token),
            Request::Broken => Answer::text("400 Bad Request", "this is no request"),
            Request::TooLong => Answer::text("431 Request Header Fields Too Large", "too long"),
        };
        write!(
            stream,
            "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
            answer.status,
            answer.kind,
            answer.body.len()
        )?;
        if !matches!(&request, Request::Whole(r) if r.starts_with("HEAD ")) {
            stream.write_all(answer.body.as_bytes())?;
        }
        // What is left of a request that was too long must be read, or the answer is lost with the connection.
        stream.shutdown(Shutdown::Write)?;
        if matches!(request, Request::TooLong) {
            stream.set_read_timeout(Some(Duration::from_millis(200)))?;
            let mut rest = [0; 4096];
            for _ in 0..256 {
                if stream.read(&mut rest)? == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    fn answer(&self, request: &str, token: Option<&str>) -> Answer {
        let mut lines = request.lines();
        let words: Vec<&str> = lines.next().unwrap_or("").split(' ').collect();
        let [method, target, version] = words[..] else {
            return Answer::text("400 Bad Request", "this is no request");
        };
        if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return Answer::text("400 Bad Request", "this is no request");
        }
        // A page of elsewhere whose name was made to lead here must not read the run.
        let host = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim())
        });
        let host = host.map(|h| h.rsplit_once(':').map_or(h, |(name, _)| name));
        let ours = |host: &str| host == "127.0.0.1" || host.eq_ignore_ascii_case("localhost");
        if !host.is_some_and(ours) {
            return Answer::text("403 Forbidden", "this is for 127.0.0.1 alone");
        }
        if !matches!(method, "GET" | "HEAD") {
            return Answer::text("405 Method Not Allowed", "there is only GET");
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let given = query
            .split(['&', '#'])
            .find_map(|q| q.strip_prefix("token="));
        if token.is_some() && given != token {
            let words = "the address that `ell0 watch` printed has a token";
            return Answer::text("403 Forbidden", words);
        }
        let path = path.split('#').next().unwrap_or("/");
        match path.trim_start_matches('/') {
            "" | PAGE => match Page::of(&self.folder) {
                Ok(page) => Answer {
                    status: "200 OK",
                    kind: "text/html",
                    body: page.html(Some(self.every)),
                },
                Err(error) => Answer::text("500 Internal Server Error", format!("{error:#}")),
            },
            name @ ("results.json" | "metrics.jsonl") => {
                match ell0::input::read_text(self.folder.join(name)) {
                    Ok(body) => Answer {
                        status: "200 OK",
                        kind: "application/json",
                        body,
                    },
                    Err(_) => Answer::text("404 Not Found", format!("{name} is not there yet")),
                }
            }
            _ => Answer::text("404 Not Found", "there is only /"),
        }
    }
}

enum Request {
    /// Up to the empty line that ends its head.
    Whole(String),
    /// It ended before that.
    Broken,
    TooLong,
}

fn read_request(stream: &mut TcpStream) -> std::io::Result<Request> {
    let until = Instant::now() + DEADLINE;
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let n = stream.read(&mut part)?;
        bytes.extend_from_slice(&part[..n]);
        if bytes.windows(4).any(|w| w == b"\r\n\r\n") {
            return Ok(Request::Whole(String::from_utf8_lossy(&bytes).into_owned()));
        }
        if n == 0 {
            return Ok(Request::Broken);
        }
        if bytes.len() > LONGEST {
            return Ok(Request::TooLong);
        }
    }
}
