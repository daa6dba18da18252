//! Data at the edge of what can be used, and names that others chose: a law, or a sentence that names the place.

use std::fmt::Write;

use ell0::rng::Stream;

use crate::fixture::{Desk, list, model, number, tool};

/// A damped oscillator that is followed for so many rows, with small errors; rows for which `gone` says so have no values.
fn oscillator(rows: u32, gone: impl Fn(u32) -> bool) -> String {
    let mut table = String::from("t,x,v\n");
    let mut rng = Stream::new(3).at(0);
    for k in 0..rows {
        let t = 0.02 * f64::from(k);
        // x'' = −0.2 x' − 4 x, of frequency √(4 − 0.01), and errors of about 1 %.
        let (decay, w) = ((-0.1 * t).exp(), 3.99f64.sqrt());
        let x = decay * (w * t).cos() + 0.01 * rng.normal();
        let v = -decay * (w * (w * t).sin() + 0.1 * (w * t).cos()) + 0.02 * rng.normal();
        match gone(k) {
            true => writeln!(table, "{t:.2},,"),
            false => writeln!(table, "{t:.2},{x:.5},{v:.5}"),
        }
        .expect("written");
    }
    table
}

#[test]
fn gaps_leave_stretches_that_the_derivative_fits() {
    let desk = Desk::new()
        .with("gaps.csv", oscillator(1500, |k| k % 10 == 9))
        .with("crumbs.csv", oscillator(1500, |k| k % 3 == 2));
    let found = desk
        .ell0("fit gaps.csv --states x,v --drop-missing --json")
        .json();
    let terms = |equation: usize| -> Vec<String> {
        let terms = list(&found["equations"][equation]["terms"]);
        let names = terms.iter().map(|term| term["feature"].to_string());
        names.collect()
    };
    assert_eq!(terms(0), ["\"v\""], "{found}");
    assert_eq!(terms(1), ["\"x\"", "\"v\""], "{found}");
    // What was asked for and fits nowhere is refused with the length that there is.
    desk.all_fail(
        "
        fit crumbs.csv --states x,v --drop-missing --derivative weak(8) | no stretch of rows between gaps is long enough: the derivative weak(8) needs 17
        ",
    );
}

#[test]
fn dates_that_are_numbers_are_told() {
    let days = |first: u32, count: u32| (0..count).map(move |k| first + k);
    let dates = days(20240101, 31).chain(days(20240201, 29));
    let rows: String = dates
        .enumerate()
        .map(|(k, date)| format!("{date},{}\n", (-0.05 * k as f64).exp()))
        .collect();
    let steps: String = (0..60)
        .map(|k| format!("{},{}\n", 10_000_000 + k, (-0.05 * f64::from(k)).exp()))
        .collect();
    let desk = Desk::new()
        .with("dates.csv", format!("date,x\n{rows}"))
        .with("steps.csv", format!("t,x\n{steps}"));
    desk.all_fail(
        "
        fit dates.csv --states x --time date | column `date` seems to hold dates written as numbers: 20240201 comes after 20240131, and their difference, 70, is no number of days; give the days since the first date instead
        ",
    );
    // Large numbers that are no dates are times like any other.
    desk.ell0("fit steps.csv --states x --time t")
        .shows("x' = -0.05*x");
}

#[test]
fn spreadsheets_may_say_how_they_separate() {
    let rows = oscillator(400, |_| false).replace(',', ";");
    let desk = Desk::new()
        .with("said.csv", format!("sep=;\r\n{rows}"))
        .with("marked.csv", format!("\u{feff}\"sep=;\"\n{rows}"))
        .with("plain.csv", &rows)
        .with("wrong.csv", "sep=;\nt;x\n0;1\n1;one\n");
    let plain = desk.ell0("fit plain.csv --states x,v --out plain").out();
    let equations = |of: &str| of.lines().filter(|line| line.contains("' =")).count();
    assert_eq!(equations(&plain), 2);
    for name in ["said", "marked"] {
        desk.does(&format!("fit {name}.csv --states x,v --out {name}"));
        let law = |folder: &str| desk.read(&format!("{folder}/equations.txt"));
        assert_eq!(law(name), law("plain"));
    }
    // Lines are those of the file.
    desk.ell0("fit wrong.csv --states x")
        .fails(1, "wrong.csv: line 4, column `x` holds `one`");
}

#[test]
fn predictions_that_are_not_finite_are_refused() {
    let rows: String = (0..120)
        .map(|k| format!("{},{},{}\n", k % 11, k % 7, (k % 11) + 2 * (k % 7)))
        .collect();
    let desk = Desk::new()
        .with("rows.csv", format!("a,b,y\n{rows}"))
        .with("far.csv", "a,b\n1,2\n3,1e39\n")
        .with("large.csv", "x\n1\n1e200\n")
        .with("law.json", model("regression", &["x"], &[("y", "x*x")]));
    desk.does("network rows.csv --targets y --hidden 8 --epochs 3 --out run");
    desk.all_fail(
        "
        predict run far.csv | far.csv, line 3: `b` = 1e39 is too far from what the network was trained on
        predict run far.csv --out said.csv | far.csv, line 3: `b` = 1e39 is too far
        predict law.json large.csv | large.csv, line 3: the model has no finite value for `y` (it gives inf)
        ",
    );
}

#[test]
fn times_and_numbers_are_finite_and_written_once() {
    let desk = Desk::new()
        .with("law.json", model("continuous", &["x"], &[("x", "-x")]))
        .with("two.json", model("continuous", &["x"], &[("x", "-.5.5*x")]))
        .with("dots.json", model("continuous", &["x"], &[("x", "1..5*x")]));
    desk.all_fail(
        "
        simulate law.json --initial x=1 --duration 1 --dt inf | must be positive and finite
        simulate law.json --initial x=1 --duration inf --dt 1 | must be positive and finite
        simulate law.json --initial x=1 --duration 1 --dt nan | must be positive and finite
        show two.json | a number with one decimal point
        show dots.json | a number with one decimal point
        ",
    );
}

/// Characters that a terminal obeys: control codes, and marks that turn the direction of text.
fn obeyed(text: &str) -> Option<char> {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .find(|&c| (c.is_control() && c != '\n' && c != '\t') || turns(c))
}

#[test]
fn names_do_nothing_to_a_terminal() {
    let names = ["x\u{1b}[31m", "v\u{202e}abc"];
    let label = "run\u{9b}2J\u{2066}";
    let rows: String = oscillator(400, |_| false)
        .lines()
        .skip(1)
        .map(|row| format!("{label},{row}\n"))
        .collect();
    let folder = "run\u{1b}]0;title\u{7}";
    let desk = Desk::new()
        .with(
            "data.csv",
            format!("id\u{202d},t,{},{}\n{rows}", names[0], names[1]),
        )
        .with(
            "unit.csv",
            format!("{},{},y\u{1b}[2K\n1,2,3\n2,3,5\n", names[0], names[1]),
        );
    let states = names.join(",");
    let check = |line: &str| {
        let done = desk.ell0(line);
        let shown = format!("{}{}", done.stdout, done.stderr);
        assert_eq!(obeyed(&shown), None, "{line}: {shown:?}");
        assert!(!shown.trim().is_empty(), "{line}");
        (done.code, shown)
    };
    let fit =
        format!("fit data.csv --states '{states}' --trajectory 'id\u{202d}' --out '{folder}'");
    let (code, shown) = check(&fit);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("x\\u{1b}[31m' = "), "{shown}");
    for (line, code) in [
        (format!("show '{folder}'"), 0),
        (format!("show '{folder}' --latex"), 0),
        (
            format!(
                "simulate '{folder}' --initial '{}=1,{}=0' --duration 0.1 --dt 0.05",
                names[0], names[1]
            ),
            0,
        ),
        (
            format!("score '{folder}' data.csv --trajectory 'id\u{202d}'"),
            0,
        ),
        (format!("analyze '{folder}'"), 0),
        (format!("export '{folder}' --to c --out code"), 0),
        (format!("report '{folder}' --out page.html"), 0),
        (format!("predict '{folder}' unit.csv"), 0),
        ("fit data.csv --states nothing".into(), 1),
        (format!("fit data.csv --states 'z{}'", names[0]), 1),
        (fit.replace("data.csv", "missing\u{1b}c.csv"), 1),
        (fit, 1),
    ] {
        let (ended, shown) = check(&line);
        assert_eq!(ended, Some(code), "{line}: {shown}");
    }
}

#[test]
fn inputs_may_be_called_as_the_constants_of_a_header() {
    let names = [
        "MODEL_IN_V",
        "MODEL_INPUTS",
        "MODEL_OUTPUTS",
        "MODEL_H",
        "M_PI",
        "NAN",
        "INFINITY",
        "restrict",
        "nullptr",
        "co_await",
        "char8_t",
        "end_try_catch",
    ];
    let sum = names.join(" + ");
    let desk = Desk::new().with("law.json", model("regression", &names, &[("y", &sum)]));
    desk.does("export law.json --to c --name model");
    let strict = "-Wall -Wextra -pedantic -Werror -DMODEL_SELF_TEST";
    for (compiler, language) in [("gcc", "-std=c99"), ("gcc", "-x c++ -std=c++20")] {
        let Some(compiler) = tool(compiler) else {
            continue;
        };
        desk.run(
            &compiler,
            &format!("{language} {strict} model.c -o self -lm"),
        );
        assert_eq!(desk.run("./self", ""), "model: 8 pairs, 0 wrong\n");
    }
}

/// Walks of many states have no law, and a search for one that is bounded as a whole.
#[test]
fn many_states_end_with_a_law_or_a_word() {
    let states = 24;
    let mut rng = Stream::new(1).at(0);
    let mut at = vec![0.0; states];
    let mut table: String = (0..states).map(|k| format!(",x{k}")).collect();
    table.insert(0, 't');
    for k in 0..400 {
        write!(table, "\n{k}").expect("written");
        for x in &mut at {
            *x += rng.normal();
            write!(table, ",{x:.6}").expect("written");
        }
    }
    let desk = Desk::new().with("walks.csv", table + "\n");
    let names: Vec<String> = (0..states).map(|k| format!("x{k}")).collect();
    let found = desk
        .ell0(&format!(
            "fit walks.csv --states {} --library polynomial(2) --json",
            names.join(",")
        ))
        .json();
    assert_eq!(list(&found["equations"]).len(), states);
    let verdicts = list(&found["judgement"]["equations"]);
    let explained = verdicts
        .iter()
        .filter(|judged| judged["verdict"] == "explained");
    assert_eq!(explained.count(), 0, "{}", found["judgement"]);
    assert!(number(&found["data"]["rows"]) == 400.0);
}
