//! The documentation hangs together: links lead somewhere, the book has every page, every command has one.

use std::path::{Path, PathBuf};

use crate::fixture::{Desk, ROOT, of_the_repository, walk};

fn read(path: &Path) -> String {
    // An absolute path replaces the repository's.
    of_the_repository(path.to_str().expect("a name"))
}

/// All Markdown files of the book.
fn pages() -> Vec<PathBuf> {
    let mut paths = walk(&Path::new(ROOT).join("docs"));
    paths.retain(|path| path.extension().is_some_and(|e| e == "md"));
    paths
}

/// The targets of a page's links, outside of code.
fn links(markdown: &str) -> Vec<String> {
    let mut code = false;
    let prose = markdown.lines().filter(|line| {
        let fence = line.starts_with("```");
        code ^= fence;
        !code && !fence && !line.starts_with("    ")
    });
    let targets = |line: &str| -> Vec<String> {
        let parts = line.split("](").skip(1);
        parts
            .filter_map(|p| p.split_once(')'))
            .map(|(target, _)| target.to_string())
            .collect()
    };
    prose.flat_map(targets).collect()
}

/// The fragment by which a forge and the book know a heading.
fn anchors(markdown: &str) -> Vec<String> {
    let headings = markdown.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        words
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_somewhere() {
    let root = Path::new(ROOT);
    let mut all = pages();
    let others = "README.md CONTRIBUTING.md CHANGELOG.md benchmarks/README.md";
    all.extend(others.split(' ').map(|name| root.join(name)));
    let mut count = 0;
    for page in &all {
        let own = read(page);
        for link in links(&own) {
            if link.starts_with("http") {
                continue;
            }
            let (file, fragment) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.parent().expect("a folder").join(file)
            };
            assert!(target.exists(), "{}: {link}", page.display());
            assert!(
                fragment.is_empty() || anchors(&read(&target)).iter().any(|a| a == fragment),
                "{}: {link} has no such heading",
                page.display()
            );
            count += 1;
        }
    }
    assert!(count > 50, "only {count} links were seen");
}

#[test]
fn the_book_has_every_page_and_every_command() {
    let docs = Path::new(ROOT).join("docs");
    let summary = read(&docs.join("SUMMARY.md"));
    let listed = links(&summary);
    for page in pages() {
        let name = page
            .strip_prefix(&docs)
            .expect("under docs")
            .display()
            .to_string();
        assert!(
            name == "SUMMARY.md" || listed.contains(&name),
            "{name} is not in SUMMARY.md"
        );
    }
    let help = Desk::new().ell0("--help").out();
    let commands = help
        .lines()
        .skip_while(|l| *l != "Commands:")
        .skip(1)
        .take_while(|l| !l.is_empty());
    let mut count = 0;
    for line in commands.filter(|l| l.starts_with("  ") && !l.starts_with("   ")) {
        let name = line.split_whitespace().next().expect("a name");
        let titled = summary
            .lines()
            .any(|l| l.split(['[', ']', ' ']).any(|word| word == name));
        assert!(name == "help" || titled, "{name} has no page");
        count += 1;
    }
    assert!(count > 10, "only {count} commands were seen");
}

/// The table of the README is that of the last run of `benchmarks/run`, but for its last column.
#[test]
fn the_readme_shows_the_last_benchmark() {
    let [readme, results] = ["README.md", "benchmarks/results.md"].map(of_the_repository);
    let mut rows = 0;
    for line in results.lines().filter(|line| !line.is_empty()) {
        let shown = match line.strip_prefix('|') {
            Some(_) => {
                rows += 1;
                let cells: Vec<&str> = line.split('|').collect();
                cells[..cells.len() - 2].join("|") + "|"
            }
            None => line.to_string(),
        };
        assert!(readme.contains(&shown), "the README lacks\n{shown}");
    }
    assert!(rows > 10, "only {rows} rows");
}
