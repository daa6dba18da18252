//! What is said of mistakes: the value, the place, the remedy.

use std::fmt::Write;

use ell0_data::write::{TableWriter, Values};

use crate::fixture::{Desk, model, tool};

/// x' = −0.3 x from several starts, so many rows of each; `name` labels a trajectory.
fn decays(lengths: &[u32], name: impl Fn(usize) -> String) -> String {
    let mut rows = String::new();
    for (run, length) in lengths.iter().enumerate() {
        for k in 0..*length {
            let t = 0.05 * f64::from(k);
            let x = (1.0 + run as f64) * (-0.3 * t).exp();
            writeln!(rows, "{t},{x}{}", name(run)).expect("written");
        }
    }
    rows
}

fn decay(rows: u32) -> String {
    format!("t,x\n{}", decays(&[rows], |_| String::new()))
}

#[test]
fn short_trajectories_are_named_and_left_out() {
    let runs = |lengths: &[u32]| {
        let rows = decays(lengths, |run| format!(",run{run}"));
        format!("t,x,id\n{rows}")
    };
    let desk = Desk::new()
        .with("long.csv", decay(300))
        .with("short.csv", decay(4))
        .with("runs.csv", runs(&[200, 3, 250, 4]))
        .with("all.csv", runs(&[2, 3, 4]))
        .with("law.json", model("continuous", &["x"], &[("x", "-0.3*x")]));
    desk.all_fail(
        "
        fit long.csv short.csv --states x | short.csv: its trajectory, lines 2 to 5, has only 4 rows; --derivative fd4 needs 5 (one, and 2 on either side): --drop-short leaves out what is too short, or choose another way: --derivative fd2 needs 3 rows
        fit runs.csv --states x --trajectory id | runs.csv: trajectory 2 (by `id`), lines 202 to 204, has only 3 rows; --derivative fd4 needs 5 (one, and 2 on either side), and 2 of 4 trajectories have fewer: --drop-short
        stats runs.csv --states x --trajectory id --out s | runs.csv: trajectory 2 (by `id`), lines 202 to 204, has only 3 rows
        score law.json runs.csv --trajectory id | runs.csv: trajectory 2 (by `id`), lines 202 to 204, has only 3 rows
        fit all.csv --states x --trajectory id --drop-short | all 3 trajectories are too short: the longest has 4 rows, and --derivative fd4 needs 5 (one, and 2 on either side): take longer ones
        score law.json all.csv --trajectory id --drop-short | all 3 trajectories are too short
        fit short.csv --states x --drop-short | short.csv: its trajectory, lines 2 to 5, has only 4 rows; --derivative fd4 needs 5 (one, and 2 on either side): take a longer one
    ",
    );
    let out = "2 trajectories that are too short left out";
    let line = "runs.csv --states x --trajectory id --drop-short";
    let law = desk.ell0(&format!("fit {line} --out run"));
    law.shows(&format!("450 rows in 2 trajectories, {out} | x' = -0.3*x"));
    // Settings repeat it, statistics carry it, and the page can be made of the folder.
    let again = desk.ell0("fit --config run/config.toml --out again");
    again.shows(out);
    desk.ell0(&format!("stats {line} --out s")).shows(out);
    desk.ell0("fit s")
        .shows(&format!("450 rows in 2 trajectories, {out}"));
    desk.does("report run");
    desk.ell0("fit long.csv short.csv --states x --drop-short")
        .shows("300 rows in 1 trajectory, 1 trajectory that is too short left out");
    let scored = desk.ell0("score law.json runs.csv --trajectory id --drop-short");
    scored.shows(out);
    // The law is that of the long ones alone.
    desk.put("kept.csv", runs(&[200]) + &runs(&[0, 0, 250])[7..]);
    let equations = |folder: &str| desk.read(&format!("{folder}/equations.txt"));
    desk.does("fit kept.csv --states x --trajectory id --out kept");
    assert_eq!(equations("run"), equations("kept"));
}

#[test]
fn cells_and_names_are_cut_and_escaped() {
    let long = "y".repeat(500);
    let desk = Desk::new()
        .with("cell.csv", format!("t,x\n0,1\n1,\u{1b}[31m{long}\n"))
        .with("name.csv", format!("t,\u{7}{long}\n0,1\n"))
        .with("file\u{1b}[2J.csv", "t,x\n0,one\n")
        .with("lines.csv", "t,x\n0,\"one\ntwo\"\n");
    let shown = desk.ell0("fit cell.csv --states x");
    let cut = "y".repeat(75);
    let words = format!("cell.csv: line 3, column `x` holds `\\u{{1b}}[31m{cut}…`:");
    assert!(!shown.stderr.contains('\u{1b}'), "{}", shown.stderr);
    shown.fails(1, &words);
    let shown = desk.ell0("fit name.csv --states y");
    assert!(!shown.stderr.contains('\u{7}') && shown.stderr.len() < 300);
    desk.ell0("fit file\u{1b}[2J.csv --states x")
        .fails(1, "file\\u{1b}[2J.csv: line 2, column `x` holds `one`");
    desk.ell0("fit lines.csv --states x")
        .fails(1, "holds `one\\ntwo`");
    // What a model says of itself is foreign, too.
    desk.put(
        "bad.json",
        model(
            "continuous",
            &["x"],
            &[("x", &format!("1 + \u{1b} + {long}"))],
        ),
    );
    let shown = desk.ell0("show bad.json");
    assert!(
        !shown.stderr.contains('\u{1b}') && shown.stderr.len() < 600,
        "{}",
        shown.stderr
    );
}

#[test]
fn too_few_rows_say_what_is_enough() {
    let desk = Desk::new()
        .with("seven.csv", decay(7))
        .with("forty.csv", decay(40));
    // A law of a few terms needs few rows.
    desk.does("fit seven.csv --states x");
    desk.does("fit seven.csv --inputs t --targets x --library polynomial(7)");
    desk.all_fail(
        "
        fit seven.csv --states x --method ols | no law for `x`: 7 rows of data leave 2 to learn from (others are held out, or are neighbours that fd4 needs), and 4 candidate terms need at least 5: take more data, or a library of fewer terms
        fit seven.csv --states x --derivative weak | seven.csv: its trajectory, lines 2 to 8, has only 7 rows; --derivative weak(4) needs 9 (one, and 4 on either side): take a longer one, or choose another way: --derivative weak(2) needs 5 rows, --derivative fd2 needs 3
        fit seven.csv --inputs t --targets x --library polynomial(7) --method ols | no law for `x`: 7 rows of data leave 6 to learn from (others are held out), and 8 candidate terms need at least 9
        fit forty.csv --states x --library polynomial(40) --method ols | candidate terms need at least 42
    ",
    );
}

#[test]
fn files_without_tables_say_so() {
    let desk = Desk::new()
        .with(
            "empty.npz",
            b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        )
        .with("short.npy", b"\x93NUMPY");
    let mut table =
        TableWriter::create(desk.path("brotli.parquet"), &["x".into()]).expect("a file");
    let values = (0..50).map(f64::from).collect();
    table.push(&[Values::Number(values)]).expect("rows");
    table.finish().expect("written");
    // Behind the column's name in the description stands its codec, doubled: Snappy is 1, Brotli 4.
    let mut bytes = desk.bytes("brotli.parquet");
    let name = b"\x19\x18\x01x\x15\x02";
    let at = bytes
        .windows(name.len())
        .rposition(|w| w == name)
        .expect("the codec");
    bytes[at + 5] = 8;
    desk.put("brotli.parquet", bytes);
    desk.all_fail(
        "
        fit empty.npz --states x | empty.npz: there is no array in it; expected arrays of one or more dimensions, as numpy.savez and numpy.save write them
        fit short.npy --states x | short.npy: it cannot be read as an NPZ or NPY file
        fit brotli.parquet --states x --dt 1 | brotli.parquet: column `x` is compressed with Brotli, which this program does not read; write the file again with Snappy, gzip, Zstandard, LZ4 or no compression
    ",
    );
}

/// NPY files as NumPy itself writes them: one dimension is the column `x`, two are `x_0`, `x_1`, …
#[test]
fn single_arrays_are_read() {
    let Some(python) = tool("python numpy") else {
        return;
    };
    let desk = Desk::new().with(
        "make.py",
        "import numpy as np\nt = np.arange(300) * 0.05\nx = np.exp(-0.3 * t)\nnp.save('one.npy', x)\nnp.save('two.npy', np.stack([t, x], 1))\nnp.save('columns.npy', np.asfortranarray(np.stack([t, x], 1)))\nnp.save('number.npy', np.float64(3))\nnp.savez('empty.npz')\n",
    );
    desk.run(&python, "make.py");
    desk.ell0("fit one.npy --states x --dt 0.05")
        .shows("x' = -0.3*x");
    desk.ell0("fit two.npy --states x_1 --time x_0")
        .shows("x_1' = -0.3*x_1");
    desk.all_fail(
        "
        fit two.npy --states y --dt 1 | there is no column `y`; the columns are x_0, x_1
        fit columns.npy --states x_1 --time x_0 | array `x` is stored column after column; save numpy.ascontiguousarray(x)
        fit number.npy --states x --dt 1 | number.npy: its array is no table of at least one column
        fit empty.npz --states x | empty.npz: there is no array in it
    ",
    );
}

#[test]
fn names_that_clash_are_told() {
    let rows = decays(&[300], |_| ",0".into());
    let desk = Desk::new().with("one.csv", format!("t,1,u\n{rows}")).with(
        "square.csv",
        format!("t,x,x^2\n{}", rows.replace(",0\n", ",0.5\n")),
    );
    desk.all_fail(
        "
        fit one.csv --states 1 | column `1` has the name of a candidate term (`1` is the constant): give the column another name, or take a library without the constant, such as polynomial(3, no-bias)
        fit square.csv --states x --controls x^2 | column `x^2` has the name of a candidate term: give the column another name, or leave the term out of the library
        fit square.csv --states x,x | column `x` is named twice
    ",
    );
    // Without the constant it can be told apart, and the model reads back.
    let fit = "fit one.csv --states 1 --library \"polynomial(2, no-bias)\" --out run";
    desk.ell0(fit).shows("1' = -0.3*`1`");
    desk.ell0("show run").shows("1' = -0.3*`1`");
}

#[test]
fn names_with_commas_are_quoted() {
    let desk = Desk::new().with(
        "comma.csv",
        format!("t,\"a,b\"\n{}", decays(&[300], |_| String::new())),
    );
    let fit = r#"fit comma.csv --states '"a,b"' --out run"#;
    desk.ell0(fit).shows("a,b' = -0.3*`a,b`");
    let simulation = r#"simulate run --initial '"a,b"=1' --duration 0.02"#;
    desk.ell0(simulation).shows("t,\"a,b\"\n0,1\n");
    desk.all_misused(
        "
        fit comma.csv --states '\"a,b' | a double quote is not closed; within quotes it is doubled
        fit comma.csv --states a,,b | a name is missing: expected names with commas between them, for example x,y
    ",
    );
    desk.ell0("fit --help")
        .shows("a name with a comma in it stands in");
}

#[test]
fn contradictions_are_told() {
    let desk = Desk::new().with("d.csv", decay(300)).with(
        "map.json",
        model("discrete", &["x", "u"], &[("x", "0.5*x + u")]),
    );
    desk.all_misused(
        "
        fit d.csv --states x --library 'fourier(1, interactions, published-interactions)' | only one of `interactions` and `published-interactions`
        fit d.csv --states x --terms 2 --lambda 1 | '--terms <TERMS>' cannot be used with '--lambda <LAMBDA>'
        fit d.csv --states x --dynamics discrete --derivative fd2 | --derivative says how rates of change are found, and --dynamics discrete has none: leave one of them out
        fit d.csv --inputs t --targets x --derivative fd2 | '--inputs <INPUTS>' cannot be used with '--derivative <DERIVATIVE>'
        fit d.csv --inputs t --targets x --dynamics discrete | '--inputs <INPUTS>' cannot be used with '--dynamics <DYNAMICS>'
        analyze --policy -theta_dot --env pendulum --bounds x=-1:1 | --bounds is for --model; an environment has bounds of its own: leave --bounds or --env out
        analyze map.json --bounds x=-1:1 | --bounds is for --model: name a learned transition model with it, or leave --bounds out
        analyze --policy -x --model map.json --bounds x=1:-1 | `x=1:-1`: low, 1, must be below high, -1
        analyze --policy -x --model map.json --bounds x=1:1 | `x=1:1`: low, 1, must be below high, 1
        analyze --policy -x --model map.json --bounds x=a:b | `x=a:b`: expected name=low:high, for example x=-1:1, two finite numbers
    ",
    );
    desk.all_fail(
        "
        fit d.csv --states x --library 'polynomial(3, no-interactions, interactions-only)' | polynomial = no-interactions, interactions-only is not allowed: each leaves out the other's terms
        fit d.csv --states x --library 'fourier(1, no-sin, no-cos)' | fourier = no-sin, no-cos is not allowed: sines or cosines must be left
    ",
    );
}

#[test]
fn numbers_say_what_is_allowed() {
    let desk = Desk::new().with("d.csv", decay(300));
    let seed = "invalid value '-1' for '--seed <SEED>': expected a whole number from 0 to 9223372036854775807";
    for line in [
        "fit d.csv --states x",
        "gates",
        "collect --env pendulum --out c.csv",
        "train --env pendulum",
        "tutorial figures",
    ] {
        desk.all_misused(&format!("{line} --seed -1 | {seed}"));
    }
    desk.all_misused(
        "
        collect --env pendulum --out c.csv --episodes 0 | invalid value '0' for '--episodes <EPISODES>': expected a whole number, at least 1
        train --env pendulum --episodes 0 | invalid value '0' for '--episodes <EPISODES>': expected a whole number, at least 1
        train --env pendulum --episodes -5 | invalid value '-5' for '--episodes <EPISODES>': expected a whole number, at least 1
        train --env pendulum --seeds 0 | expected a whole number from 1 to 1000
        fit d.csv --states x --terms -1 | invalid value '-1' for '--terms <TERMS>': expected a whole number, at least 0
        fit d.csv --states x --seed 18446744073709551615 | expected a whole number from 0 to 9223372036854775807
    ",
    );
}
