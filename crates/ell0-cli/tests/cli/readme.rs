//! What the README says a command prints is what it prints.

use std::{fs, path::Path};

use crate::{ROOT, ell0, text};

/// Words of a command line; quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.trim().chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("never empty").push(c),
        }
    }
    words
}

/// The commands of the README that are followed by what they print.
fn commands() -> Vec<(Vec<String>, Vec<String>)> {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("a README");
    let mut found = Vec::new();
    let mut lines = readme.lines();
    let mut command = None;
    while let Some(line) = lines.next() {
        if let Some(arguments) = line.strip_prefix("    cargo run --release -- ") {
            command = Some(words(arguments));
        } else if line == "```text"
            && let Some(arguments) = command.take()
        {
            let shown = lines.by_ref().take_while(|l| *l != "```");
            found.push((arguments, shown.map(String::from).collect()));
        }
    }
    found
}

/// Lines agree if all their words do. Numbers may differ by 2 %, for another processor rounds otherwise; times (before an s, or in the last column of a table of which that is `timed`) may differ at will.
fn agree(shown: &str, printed: &str, timed: bool) -> bool {
    // Coefficients are numbers, too.
    let apart = |line: &str| line.replace('*', " * ");
    let (shown, printed) = (apart(shown), apart(printed));
    let shown: Vec<&str> = shown.split_whitespace().collect();
    let printed: Vec<&str> = printed.split_whitespace().collect();
    let number = |word: &str| {
        word.trim_matches(['(', ')', '[', ']', ',', ';'])
            .parse::<f64>()
    };
    let same = |k: usize| {
        let (a, b) = (shown[k], printed[k]);
        let time = shown.get(k + 1) == Some(&"s") || timed && k + 2 == shown.len();
        match (number(a), number(b)) {
            (Ok(_), Ok(_)) if time => true,
            (Ok(a), Ok(b)) => (a - b).abs() <= 0.02 * a.abs(),
            // What a folder is named after are all digits.
            _ if a.starts_with("runs/") => {
                a.rsplit_once('-').map(|r| r.0) == b.rsplit_once('-').map(|r| r.0)
            }
            _ => a == b,
        }
    };
    shown.len() == printed.len() && (0..shown.len()).all(same)
}

/// Checks that the lines shown are among those printed, in their order, and without gaps but where "…" shows one.
fn compare(shown: &[String], printed: &str) {
    let printed: Vec<&str> = printed.lines().collect();
    // The README may begin to show later than the command begins to print.
    let (mut place, mut gap) = (0, true);
    let timed = shown.iter().any(|line| line.ends_with("seconds │"));
    for line in shown {
        if line == "…" {
            gap = true;
            continue;
        }
        let rest = &printed[place..];
        let ahead = rest.iter().position(|p| agree(line, p, timed));
        match ahead {
            Some(ahead) if gap || ahead == 0 => place += ahead + 1,
            _ => panic!(
                "the README shows\n{line}\nwhere there is\n{}",
                rest.join("\n")
            ),
        }
        // An empty line is found anywhere.
        gap &= line.is_empty();
    }
}

fn check(name: &str) {
    let (arguments, shown) = commands()
        .into_iter()
        .find(|(arguments, _)| arguments[0] == name)
        .unwrap_or_else(|| panic!("the README has no example of {name}"));
    let folder = tempfile::tempdir().expect("a folder");
    let examples = folder.path().join("examples");
    fs::create_dir(&examples).expect("a folder");
    let data = Path::new(ROOT).join("examples/lorenz.csv");
    fs::copy(data, examples.join("lorenz.csv")).expect("copied");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = ell0(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    compare(&shown, &text(&output.stdout));
}

#[test]
fn fit_prints_what_the_readme_shows() {
    check("fit");
}

#[test]
fn analyze_prints_what_the_readme_shows() {
    check("analyze");
}

/// Half a minute, and training magnifies the last bit: another processor may end with another law.
#[test]
#[ignore = "half a minute: cargo test --release -p ell0-cli --test cli readme -- --ignored"]
fn train_prints_what_the_readme_shows() {
    check("train");
}

#[test]
fn the_comparison_sees_differences() {
    assert!(agree("│ 1  0.50 │", "│ 1 0.501 │", false) && agree("1.2 s", "7 s", false));
    assert!(!agree("│ 1  0.50 │", "│ 1 0.52 │", false) && agree("│ 1 5 │", "│ 1 7 │", true));
    assert!(!agree("a = 2*x", "a = 3*x", true));
    let shown = ["b", "…", "d"].map(String::from);
    compare(&shown, "a\nb\nc\nd\ne");
    for printed in ["a\nc\nd", "d\nb"] {
        let missed = std::panic::catch_unwind(|| compare(&shown, printed));
        assert!(missed.is_err(), "{printed}");
    }
}
