//! Running the binary and the tools of other languages. A tool that is not there is no failure; the reason is printed.

use std::{
    io::{ErrorKind, Write},
    path::Path,
    process::{Command, Output, Stdio},
};

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a program prints; None, with a reason, if there is no such program.
///
/// # Panics
/// If the program fails.
pub fn run(
    folder: &Path,
    program: &str,
    arguments: &[&str],
    input: Option<&[u8]>,
) -> Option<String> {
    // A program of the folder itself is looked for there, on every system.
    let place = match program.strip_prefix("./") {
        Some(name) => folder.join(name),
        None => program.into(),
    };
    let child = Command::new(place)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("skipped: {program} is not installed");
            return None;
        }
        Err(error) => panic!("{program}: {error}"),
    };
    let mut pipe = child.stdin.take().expect("a pipe");
    let text = input.unwrap_or_default().to_vec();
    // From another thread: a program that prints much before it has read all would wait for ever.
    let writer = std::thread::spawn(move || {
        let _ = pipe.write_all(&text);
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("written");
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}{}",
        stdout(&output),
        stderr(&output)
    );
    Some(stdout(&output))
}

/// What a Python program prints; None, with a reason, if there is no Python (`$ELL0_PYTHON`, else `python3`) with the module.
pub fn python(folder: &Path, module: &str, program: &str) -> Option<String> {
    let python = std::env::var("ELL0_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = Command::new(&python)
        .args(["-c", &format!("import numpy, {module}")])
        .output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!(
            "skipped: {python} has no numpy or no {module}; ELL0_PYTHON may name one that has"
        );
        return None;
    }
    run(folder, &python, &["-c", program], None)
}

/// Rows as text.
pub fn table(rows: &[Vec<f64>]) -> String {
    let line = |row: &Vec<f64>| {
        row.iter()
            .map(|v| format!("{v:?}"))
            .collect::<Vec<_>>()
            .join(" ")
            + "\n"
    };
    rows.iter().map(line).collect()
}

/// Text as rows.
pub fn rows(text: &str) -> Vec<Vec<f64>> {
    let number = |v: &str| v.parse().unwrap_or_else(|_| panic!("no number: {v}"));
    text.lines()
        .map(|line| line.split_whitespace().map(number).collect())
        .collect()
}

/// Checks that |got − want| ≤ tolerance · (1 + |want|) throughout.
pub fn compare(want: &[Vec<f64>], got: &[Vec<f64>], tolerance: f64, what: &str) {
    assert_eq!(want.len(), got.len(), "{what}: rows");
    for (row, (want, got)) in want.iter().zip(got).enumerate() {
        assert_eq!(want.len(), got.len(), "{what}: outputs of row {row}");
        for (want, got) in want.iter().zip(got) {
            assert!(
                (want - got).abs() <= tolerance * (1.0 + want.abs()),
                "{what}, row {row}: {got} instead of {want}"
            );
        }
    }
}
