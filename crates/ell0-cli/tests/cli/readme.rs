//! What the README says a command prints is what it prints.

use crate::fixture::{Desk, lorenz, of_the_repository};

/// The commands of the README that are followed by what they print.
fn commands() -> Vec<(String, Vec<String>)> {
    let readme = of_the_repository("README.md");
    let mut found = Vec::new();
    let mut lines = readme.lines();
    let mut command = None;
    while let Some(line) = lines.next() {
        if let Some(line) = line.strip_prefix("    cargo run --release -- ") {
            command = Some(line.trim().to_string());
        } else if line == "```text"
            && let Some(line) = command.take()
        {
            let shown = lines.by_ref().take_while(|l| *l != "```");
            found.push((line, shown.map(String::from).collect()));
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
    let (line, shown) = commands()
        .into_iter()
        .find(|(line, _)| line.split(' ').next() == Some(name))
        .unwrap_or_else(|| panic!("the README has no example of {name}"));
    let desk = Desk::new().with("examples/lorenz.csv", lorenz()).with(
        "examples/digits.csv",
        of_the_repository("examples/digits.csv"),
    );
    compare(&shown, &desk.ell0(&line).out());
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

/// The same holds of training here.
#[test]
#[ignore = "another processor may end otherwise: cargo test --release -p ell0-cli --test cli readme -- --ignored"]
fn network_prints_what_the_readme_shows() {
    check("network");
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
