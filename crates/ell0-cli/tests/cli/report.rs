//! Reports, in text and in a real browser.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::{Running, command, text};

fn ell0(folder: &Path, arguments: &[&str]) -> Output {
    let output = crate::ell0(folder, arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

/// A browser, if there is one.
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let found = names.into_iter().find(|name| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|o| o.status.success())
    });
    if found.is_none() {
        eprintln!("skipped: no Chromium among {names:?}, so the page is not drawn");
    }
    found
}

fn chromium(browser: &str, folder: &Path, more: &[&str]) -> Output {
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args(["--enable-logging=stderr", &profile])
        .args(more)
        .output()
        .expect("the browser runs")
}

/// Small runs of every kind, in folders named after them.
fn runs(folder: &Path) -> Vec<(&'static str, usize)> {
    let lorenz = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lorenz.csv");
    ell0(
        folder,
        &["fit", lorenz, "--states", "x,y,z", "--out", "fit"],
    );
    let train = [
        "train",
        "--env",
        "pendulum(limit=20)",
        "--episodes",
        "60",
        "--updates",
        "2",
        "--policy",
        "polynomial(2)",
        "--out",
        "train",
    ];
    ell0(folder, &train);
    let policy = "2*tanh(-8*sin_theta - 2*theta_dot)";
    ell0(
        folder,
        &[
            "analyze", "--policy", policy, "--env", "pendulum", "--out", "analyze",
        ],
    );
    let skip = "dynamics,reward,policy,analysis";
    ell0(
        folder,
        &["tutorial", "--quick", "--skip", skip, "--out", "tutorial"],
    );
    // Name, and number of charts.
    vec![("fit", 3), ("train", 3), ("analyze", 1), ("tutorial", 20)]
}

#[test]
fn every_run_has_a_page_that_a_browser_draws() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = runs(folder.path());
    ell0(
        folder.path(),
        &["report", "train", "fit", "--out", "both.html"],
    );
    let both = fs::read_to_string(folder.path().join("both.html")).expect("written");
    assert!(both.contains("2 runs compared") && both.contains("<h2>Laws</h2>"));
    let mut pages = vec![(folder.path().join("both.html"), "both", 3 + 3)];
    for (name, charts) in runs {
        let page = folder.path().join(name).join("report.html");
        let text = fs::read_to_string(&page).expect("written");
        // One file that needs nothing else, and says how it came to be.
        for outside in ["http://", "https://", "src="] {
            let ours = text.matches("http://www.w3.org/2000/svg").count();
            let found = text.matches(outside).count();
            assert_eq!(
                found,
                if outside == "http://" { ours } else { 0 },
                "{name}: {outside}"
            );
        }
        assert!(text.contains(&format!("ell0 {name} ")), "{name}");
        let ids: Vec<&str> = text
            .split(" id=\"")
            .skip(1)
            .filter_map(|t| t.split('"').next())
            .collect();
        let distinct: std::collections::HashSet<&&str> = ids.iter().collect();
        assert!(ids.len() == distinct.len(), "{name}: {ids:?}");
        pages.push((page, name, charts));
    }
    let Some(browser) = browser() else { return };
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../screenshots");
    fs::create_dir_all(&pictures).expect("a folder");
    for (page, name, charts) in pages {
        let url = format!("file://{}#point", page.display());
        let output = chromium(browser, folder.path(), &["--dump-dom", &url]);
        let dom = String::from_utf8_lossy(&output.stdout).to_string();
        let errors = String::from_utf8_lossy(&output.stderr).to_string();
        assert!(!errors.contains("CONSOLE"), "{name}: {errors}");
        assert!(
            dom.contains(&format!("data-charts=\"{charts}\"")),
            "{name}: {charts} charts"
        );
        // The value under the pointer is shown.
        let tip = dom.split("<div id=\"tip\"").nth(1).expect("a tip");
        let tip = tip.split("</div>").next().unwrap_or_default();
        assert!(!tip.contains("hidden") && tip.len() > 10, "{name}: {tip}");
        let picture = format!(
            "--screenshot={}",
            pictures.join(format!("{name}.png")).display()
        );
        let url = format!("file://{}", page.display());
        chromium(
            browser,
            folder.path(),
            &["--window-size=1000,2000", &picture, &url],
        );
        // A phone: the page is no wider than the screen; what is wider scrolls inside it.
        let small = ["--window-size=420,1600", "--dump-dom", &url];
        let dom = chromium(browser, folder.path(), &small);
        let dom = String::from_utf8_lossy(&dom.stdout).to_string();
        assert!(dom.contains("data-wide=\"false\""), "{name} is too wide");
        let picture = format!(
            "--screenshot={}",
            pictures.join(format!("{name}-phone.png")).display()
        );
        chromium(
            browser,
            folder.path(),
            &["--window-size=420,1600", &picture, &url],
        );
    }
}

/// A run under way is served, current at each request, on the loopback address only.
#[test]
fn a_run_can_be_watched() {
    let folder = tempfile::tempdir().expect("a folder");
    let train = [
        "train",
        "--env",
        "pendulum(limit=20)",
        "--episodes",
        "60",
        "--updates",
        "2",
        "--policy",
        "polynomial(1)",
        "--out",
        "train",
    ];
    ell0(folder.path(), &train);
    fs::remove_file(folder.path().join("train/results.json")).expect("there");
    let mut watch = command(folder.path(), &["watch", "train"]);
    let mut watch = Running::new(watch.stdout(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(watch.0.stdout.take().expect("piped"))
        .read_line(&mut line)
        .expect("a line");
    let address = line
        .strip_prefix("http://")
        .and_then(|l| l.split_whitespace().next())
        .expect("an address")
        .to_string();
    assert!(address.starts_with("127.0.0.1:"), "{line}");
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let page = get("/");
    assert!(
        page.starts_with("HTTP/1.1 200 OK") && page.contains("Not finished"),
        "{page}"
    );
    fs::write(folder.path().join("train/results.json"), "[]").expect("written");
    assert!(!get("/").contains("Not finished"));
    assert!(get("/../secret").starts_with("HTTP/1.1 404"));
    assert!(get("/?x=1").starts_with("HTTP/1.1 200") && get("/report.html").contains("<html"));
    assert!(get("/metrics.jsonl").contains("\"episode\":60"));
    // A client that says nothing keeps nobody waiting, and what is no request of ours is refused.
    let _silent: Vec<TcpStream> = (0..5)
        .map(|_| TcpStream::connect(&address).expect("it listens"))
        .collect();
    let raw = |request: &str| {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    let began = std::time::Instant::now();
    let head = raw("HEAD / HTTP/1.1\r\nHost: localhost:1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200") && !head.contains("<html"));
    // Silent clients are given three seconds each; this one did not wait for all of them.
    assert!(began.elapsed() < std::time::Duration::from_secs(10));
    for (request, status) in [
        ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
        ("nonsense\r\n\r\n", "400"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
        ("GET /no HTTP/1.1\r\n\r\n", "404"),
    ] {
        let answer = raw(request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{request}: {answer}"
        );
    }
    let long = raw(&format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(40_000)));
    assert!(long.starts_with("HTTP/1.1 431"), "{long}");
}

#[test]
fn a_report_replaces_only_reports() {
    let folder = tempfile::tempdir().expect("a folder");
    let lorenz = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lorenz.csv");
    let fit = ["fit", lorenz, "--states", "x,y,z", "--out", "fit"];
    ell0(folder.path(), &fit);
    let place = folder.path().join("notes.html");
    fs::write(&place, "mine").expect("written");
    let report = ["report", "fit", "--out", "notes.html"];
    let refused = crate::ell0(folder.path(), &report);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("no page of ell0; --force"));
    assert_eq!(fs::read_to_string(&place).expect("there"), "mine");
    ell0(folder.path(), &[&report[..], &["--force"]].concat());
    // Now it is one, and may be replaced.
    ell0(folder.path(), &report);
    let nowhere = crate::ell0(folder.path(), &["report", "fit", "--out", "no/page.html"]);
    let error = text(&nowhere.stderr);
    assert!(error.contains("there is no folder no"), "{error}");
    // A run that is named twice is shown once.
    let twice = ell0(folder.path(), &["report", "fit", "./fit"]);
    assert!(text(&twice.stderr).contains("named twice"));
}

#[test]
fn what_is_no_run_has_no_report() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["report", "watch"] {
        let output = crate::ell0(folder.path(), &[command, "."]);
        assert_eq!(output.status.code(), Some(1));
        let error = text(&output.stderr);
        assert!(error.contains("it holds no run"), "{error}");
    }
}

/// Files that were changed by hand give a page or an error, never a panic.
#[test]
fn damaged_runs_do_not_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = r#"{"format":"ell0-model","version":1,"inputs":["x"],"dynamics":"continuous","equations":[{"target":"x","expression":"-x"}]}"#;
    let cases: [&[(&str, &str)]; 4] = [
        &[
            ("path.csv", "a\n,true\n"),
            ("model.json", model),
            ("config.toml", ""),
        ],
        &[(
            "analysis.json",
            r#"{"gain_margin":[],"equilibria":[{"eigenvalues":[[]]}]}"#,
        )],
        &[
            ("config.toml", "[[agents]]\nname = 1\n"),
            ("metrics.jsonl", "{}\n[]\n"),
        ],
        &[("config.toml", "task = 3\n"), ("results.json", "[1, {}]")],
    ];
    for (k, files) in cases.iter().enumerate() {
        let run = folder.path().join(k.to_string());
        fs::create_dir(&run).expect("a folder");
        for (name, text) in *files {
            fs::write(run.join(name), text).expect("written");
        }
        let output = crate::ell0(&run, &["report", "."]);
        let code = output.status.code();
        assert!(code == Some(0) || code == Some(1), "case {k}: {code:?}");
    }
}
