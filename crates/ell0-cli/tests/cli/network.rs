//! `ell0 network` as a user runs it, on the digits that are shipped.

use crate::fixture::{Desk, list, number, of_the_repository, tool};

/// A desk with the digits, and tables that are wrong in some way.
fn desk() -> Desk {
    let digits = of_the_repository("examples/digits.csv");
    let rows = |text: &dyn Fn(usize) -> String| -> String { (0..60).map(text).collect() };
    Desk::new()
        .with("digits.csv", digits)
        .with(
            "numbers.csv",
            format!(
                "x,z,y\n{}",
                rows(&|k| format!("{k},{},{}\n", k * k % 17, 2 * k))
            ),
        )
        .with(
            "quantity.csv",
            format!("x,y\n{}", rows(&|k| format!("{k},0.{k}1\n"))),
        )
        .with("one.csv", "x,y\n1,a\n2,a\n3,a\n")
        .with("still.csv", "x,z,y\n1,2,a\n1,2,b\n1,2,a\n")
        .with("hole.csv", "x,y\n1,a\nNaN,b\n3,a\n")
        .with("words.csv", "x,y\n1,a\nred,b\n3,a\n")
        .with("images", idx(&[3, 2, 2], 12))
        .with("larger", idx(&[3, 3, 3], 27))
        .with("labels", idx(&[3], 3))
        .with("cut", idx(&[3, 2, 2], 7))
}

/// An IDX file of bytes 0, 1, ….
fn idx(shape: &[u8], values: u8) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, shape.len() as u8];
    bytes.extend(shape.iter().flat_map(|n| [0, 0, 0, *n]));
    bytes.extend(0..values);
    bytes
}

#[test]
fn digits_become_a_small_network_that_predicts_scores_and_is_exported() {
    let desk = desk();
    let told = desk
        .ell0("network digits.csv --class digit --lambda 0.3 --epochs 100 --out run --json")
        .json();
    assert!(number(&told["accuracy"]) > 0.94, "{told}");
    assert!(list(&told["inputs_read"]).len() < 50, "{told}");
    assert!(number(&told["compaction_error"]) < 1e-6, "{told}");
    assert!(number(&told["parameters"]) < 0.7 * number(&told["parameters_before"]));
    assert!(
        desk.read("run/report.html")
            .contains("Which classes are taken for which")
    );
    let score = desk.ell0("score run digits.csv --json").json();
    assert!(number(&score["accuracy"]) > 0.96, "{score}");
    let said = desk.ell0("predict run digits.csv").out();
    let mut lines = said.lines();
    assert!(
        lines
            .next()
            .is_some_and(|head| head.starts_with("digit,p(0),p(1),"))
    );
    assert_eq!(lines.next().and_then(|row| row.chars().next()), Some('0'));
    desk.does("predict run/network.safetensors digits.csv --out said.parquet");
    // What is exported tests itself, and its constants take the room that it states.
    let Some(gcc) = tool("gcc") else { return };
    let header = desk.read("run/export/network.h");
    let stated: usize = header
        .split_once("weights and biases take ")
        .and_then(|(_, rest)| rest.split_once(" bytes"))
        .map(|(bytes, _)| bytes.parse().expect("a number"))
        .expect("a size");
    desk.run(
        &gcc,
        "-std=c99 -O2 -DNETWORK_SELF_TEST run/export/network.c -o self -lm",
    );
    let _ = desk.program("./self", "").ok();
    desk.run(&gcc, "-std=c99 -Os -c run/export/network.c -o network.o");
    let sections = desk.run("size", "-A network.o");
    let constants: usize = sections
        .lines()
        .filter(|line| line.starts_with(".rodata"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok())
        .sum();
    assert!(
        (stated..stated + 1024).contains(&constants),
        "{constants} bytes, {stated} stated"
    );
}

#[test]
fn a_path_of_prices_ends_with_one_that_is_chosen() {
    let desk = desk();
    let shown = desk
        .ell0("network numbers.csv --targets y --hidden 8 --epochs 5 --path=0.1,1 --out run")
        .shows("Chosen (←)");
    assert!(shown.contains("R²") && shown.contains("│ 0.01"), "{shown}");
    assert!(!shown.contains("0.0100"), "{shown}");
    desk.does("report run");
    // The last column is the time that it took.
    let timeless = |shown: &str| -> Vec<String> {
        let rows = shown
            .lines()
            .map(|line| match line.trim_end_matches(" │").rsplit_once(' ') {
                Some((row, _)) if line.starts_with('│') => row.trim_end().to_string(),
                _ => line.to_string(),
            });
        rows.collect()
    };
    let again = desk.ell0("network --resume --out run").out();
    assert_eq!(timeless(&again), timeless(&shown));
    desk.does("predict run numbers.csv");
    desk.ell0("network numbers.csv --targets y --out run")
        .fails(1, "--force");
}

#[test]
fn mistakes_are_sentences() {
    let desk = desk();
    desk.all_fail(
        "network quantity.csv --class y | 60 different values in 60 rows: that is a quantity
        network one.csv --class y | only one class, `a`
        network still.csv --class y | every input is the same in all 3 rows
        network hole.csv --class y | line 3, column `x`
        network words.csv --class y | `red`
        network numbers.csv --class w | no column `w`
        network cut --labels labels | truncated
        network images --labels labels --test larger --test-labels labels | images of another size
        network images --labels images | a file of labels has one
        network numbers.csv --targets y --lambda -1 | not negative
        network numbers.csv --targets y --hidden 8 --lambda 1,2,3 | one for each of the 2
        network digits.csv --class digit --class-weights 17=2 | no class `17`
        network missing.csv --class y | missing.csv
        score digits.csv digits.csv | digits.csv",
    );
    desk.all_misused(
        "network digits.csv | --class
        network digits.csv --class digit --targets digit | --targets
        network digits.csv --class digit --hidden 3,x | whole numbers
        network digits.csv --class digit --gates none --path | --path
        network digits.csv --class digit --class-weights heavy | balanced",
    );
}
