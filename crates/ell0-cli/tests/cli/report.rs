//! Reports, in text and in a real browser.

use std::{
    collections::HashSet,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    time::{Duration, Instant},
};

use crate::fixture::{Desk, Done, lorenz, model, tool};

const FIT: &str = "fit lorenz.csv --states x,y,z --out fit";
const TRAIN: &str =
    "train --env pendulum(limit=20) --episodes 60 --updates 2 --policy polynomial(2) --out train";
const ANALYZE: &str = "analyze --policy '2*tanh(-8*sin_theta - 2*theta_dot)' --env pendulum --prove-seconds 0.5 --out analyze";
const TUTORIAL: &str = "tutorial --quick --skip dynamics,reward,policy,analysis,pde --out tutorial";

#[test]
fn every_run_has_a_page_that_a_browser_draws() {
    let desk = Desk::new().with("lorenz.csv", lorenz());
    // Page, and number of charts.
    let mut pages = Vec::new();
    for (line, charts) in [(FIT, 15), (TRAIN, 3), (ANALYZE, 2), (TUTORIAL, 20)] {
        desk.does(line);
        let name = line.split(' ').next().expect("a command");
        let page = format!("{name}/report.html");
        let text = desk.read(&page);
        // One file that needs nothing else, and says how it came to be.
        let text = text.replace("http://www.w3.org/2000/svg", "");
        for outside in ["http://", "https://", "src="] {
            assert!(!text.contains(outside), "{name}: {outside}");
        }
        assert!(text.contains(&format!("ell0 {name} ")), "{name}");
        let ids = text.split(" id=\"").skip(1);
        let mut seen = HashSet::new();
        for id in ids.filter_map(|t| t.split('"').next()) {
            assert!(seen.insert(id), "{name}: {id} twice");
        }
        pages.push((page, name, charts));
    }
    // What people look for first stands first.
    let page = desk.read("fit/report.html");
    let headings: Vec<&str> = page.split("<h2>").skip(1).collect();
    let order = [
        "The law<",
        "The measurements and the law<",
        "What the law leaves<",
        "Error against number of terms<",
        "Settings<",
    ];
    assert_eq!(headings.len(), order.len());
    for (heading, begins) in headings.iter().zip(order) {
        assert!(heading.starts_with(begins), "{begins}");
    }
    assert!(page.contains("<th>contribution</th>"));
    assert!(page.contains("It is started anew every"));
    desk.does("report train fit --out both.html");
    let both = desk.read("both.html");
    assert!(both.contains("2 runs compared") && both.contains("<h2>Laws</h2>"));
    pages.push(("both.html".into(), "both", 15 + 3));
    let Some(browser) = tool("chromium") else {
        return;
    };
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../screenshots");
    fs::create_dir_all(&pictures).expect("a folder");
    for (page, name, charts) in pages {
        let url = format!("file://{}", desk.path(&page).display());
        let draw = |more: &str| {
            let options =
                "--headless --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr";
            let profile = desk.path("profile");
            let line = format!("{options} '--user-data-dir={}' {more}", profile.display());
            desk.program(&browser, &line)
        };
        let Done { stdout, stderr, .. } = draw(&format!("--dump-dom '{url}#point'"));
        assert!(!stderr.contains("CONSOLE"), "{name}: {stderr}");
        let drawn = format!("data-charts=\"{charts}\"");
        assert!(stdout.contains(&drawn), "{name}: {charts} charts");
        // The value under the pointer is shown.
        let tip = stdout.split("<div id=\"tip\"").nth(1).expect("a tip");
        let tip = tip.split("</div>").next().unwrap_or_default();
        assert!(!tip.contains("hidden") && tip.len() > 10, "{name}: {tip}");
        // A phone: the page is no wider than the screen; what is wider scrolls inside it.
        let phone = draw(&format!("--window-size=420,1600 --dump-dom '{url}'"));
        let narrow = phone.stdout.contains("data-wide=\"false\"");
        assert!(narrow, "{name} is too wide");
        // For people to look at.
        for (size, kind) in [("1000,2000", ""), ("420,1600", "-phone")] {
            let picture = pictures.join(format!("{name}{kind}.png"));
            let options = format!("--window-size={size} '--screenshot={}'", picture.display());
            let _ = draw(&format!("{options} '{url}'"));
        }
    }
}

/// A run under way is served, current at each request, on the loopback address only.
#[test]
fn a_run_can_be_watched() {
    let desk = Desk::new();
    desk.does(TRAIN);
    fs::remove_file(desk.path("train/results.json")).expect("there");
    let mut watch = desk.start("watch train");
    let mut line = String::new();
    let mut shown = BufReader::new(watch.0.stdout.take().expect("a pipe"));
    shown.read_line(&mut line).expect("a line");
    let address = line.strip_prefix("http://");
    let address = address.and_then(|l| l.split_whitespace().next());
    let (address, token) = address
        .expect("an address")
        .split_once("/?")
        .expect("a token");
    assert!(address.starts_with("127.0.0.1:"), "{line}");
    assert_eq!(token.len(), "token=".len() + 32, "{line}");
    let connect = || TcpStream::connect(address).expect("it listens");
    let raw = |request: &str| {
        let mut stream = connect();
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        // It may hang up on what it refuses.
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    let ask = |target: &str| raw(&format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    let get = |path: &str| ask(&format!("{path}?{token}"));
    let page = get("/");
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
    assert!(page.contains("Not finished"), "{page}");
    desk.put("train/results.json", "[]");
    let page = get("/");
    assert!(page.contains("<html") && !page.contains("Not finished"));
    assert!(ask(&format!("/?x=1&{token}")).starts_with("HTTP/1.1 200"));
    // Without the token, or with another, nobody reads along.
    for target in [
        "/",
        "/metrics.jsonl",
        "/?token=",
        "/?token=0123456789abcdef",
    ] {
        assert!(ask(target).starts_with("HTTP/1.1 403"), "{target}");
    }
    assert!(get("/report.html").contains("<html"));
    assert!(get("/metrics.jsonl").contains("\"episode\":60"));
    // A client that says nothing keeps nobody waiting, and what is no request of ours is refused.
    let _silent: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    let began = Instant::now();
    let head = raw(&format!(
        "HEAD /?{token} HTTP/1.1\r\nHost: localhost:1\r\n\r\n"
    ));
    assert!(head.starts_with("HTTP/1.1 200") && !head.contains("<html"));
    // Silent clients are given three seconds each; this one did not wait for all of them, though they are more than there are places.
    assert!(began.elapsed() < Duration::from_secs(10));
    let there = |path: &str| format!("GET {path}?{token} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(40_000));
    for (request, status) in [
        ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
        ("nonsense\r\n\r\n", "400"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
        ("GET / HTTP/1.1\r\n\r\n", "403"),
        (&there("/no"), "404"),
        (&there("/../secret"), "404"),
        (&long, "431"),
    ] {
        let answer = raw(request);
        let refused = answer.starts_with(&format!("HTTP/1.1 {status}"));
        assert!(refused, "{status} to {request}: {answer}");
    }
}

#[test]
fn a_report_replaces_only_reports() {
    let desk = Desk::new().with("lorenz.csv", lorenz());
    desk.does(FIT);
    desk.put("notes.html", "mine");
    let report = "report fit --out notes.html";
    desk.all_fail(&format!(
        "
        {report} | no page of ell0; --force
        report fit --out no/page.html | there is no folder no
    "
    ));
    assert_eq!(desk.read("notes.html"), "mine");
    desk.does(&format!("{report} --force"));
    assert!(desk.read("notes.html").contains("<html"));
    // Now it is one, and may be replaced.
    desk.does(report);
    // A run that is named twice is shown once.
    let twice = desk.ell0("report fit ./fit").ok();
    assert!(twice.stderr.contains("named twice"), "{}", twice.stderr);
}

#[test]
fn what_is_no_run_has_no_report() {
    let words = "holds no run";
    Desk::new().all_fail(&format!(
        "
        report . | {words}
        watch . | {words}
    "
    ));
}

/// Files that were changed by hand give a page or an error, never a panic.
#[test]
fn damaged_runs_do_not_panic() {
    let model = model("continuous", &["x"], &[("x", "-x")]);
    let analysis = r#"{"gain_margin":[],"equilibria":[{"eigenvalues":[[]]}]}"#;
    let agents = "[[agents]]\nname = 1\n";
    let cases: [&[(&str, &str)]; 4] = [
        &[
            ("path.csv", "a\n,true\n"),
            ("model.json", &model),
            ("config.toml", ""),
        ],
        &[("analysis.json", analysis)],
        &[("config.toml", agents), ("metrics.jsonl", "{}\n[]\n")],
        &[("config.toml", "task = 3\n"), ("results.json", "[1, {}]")],
    ];
    for files in cases {
        let desk = Desk::new();
        for (name, text) in files {
            desk.put(name, text);
        }
        let done = desk.ell0("report .");
        match done.code {
            Some(0) => assert!(desk.read("report.html").contains("<html"), "{files:?}"),
            _ => assert_eq!(done.fails(1, "error"), ""),
        }
    }
}
