//! `ell0 show`, `predict`, `score` and `simulate` as a user runs them.

use crate::fixture::{Desk, model, near, number};

/// A desk with models and tables.
fn desk() -> Desk {
    let oscillator = [("x", "v"), ("v", "-x + u")];
    let henon = [("x", "1 - 1.4*x^2 + y"), ("y", "0.3*x")];
    Desk::new()
        .with(
            "oscillator.json",
            model("continuous", &["x", "v", "u"], &oscillator),
        )
        .with("henon.json", model("discrete", &["x", "y"], &henon))
        .with(
            "plain.json",
            model("regression", &["a"], &[("b", "2*a + 1")]),
        )
        .with("burst.json", model("continuous", &["x"], &[("x", "x^2")]))
        .with("data.csv", "a,b,x,y\n1,3,0,0\n2,5,1,0\n3,8,-0.4,0.3\n")
        .with("unsorted.csv", "time,u\n0,0\n5,1\n2,3\n")
        .with("controls.csv", "t,u\n0,0\n1,2\n")
        .with("bad.json", "{\"format\": 3}")
}

#[test]
fn models_are_shown_and_predict() {
    let desk = desk();
    let ell0 = |line: &str| desk.ell0(line).out();
    let law = "x[k+1] = 1 - 1.4*x^2 + y\ny[k+1] = 0.3*x\n";
    assert_eq!(ell0("show henon.json"), law);
    assert!(ell0("show oscillator.json --latex").contains("\\begin{align*}"));
    let table = "b\n3\n5\n7\n";
    assert_eq!(ell0("predict plain.json data.csv"), table);
    assert_eq!(ell0("predict plain.json data.csv --out p.csv"), "");
    assert_eq!(desk.read("p.csv"), table);
}

#[test]
fn models_are_scored() {
    // x' = v, v' = −x + u: a cosine without control.
    let row = |k: i32| {
        let (sin, cos) = (f64::from(k) * 0.01).sin_cos();
        format!("{},{cos},{},0\n", f64::from(k) * 0.01, -sin)
    };
    let cosine = String::from("t,x,v,u\n") + &(0..400).map(row).collect::<String>();
    let desk = desk().with("cosine.csv", cosine);
    let score = |files: &str| desk.ell0(&format!("score {files} --json")).json();
    let mse = |of: &serde_json::Value| number(&of["scores"][0]["mse"]);
    near(mse(&score("plain.json data.csv")), 1.0 / 3.0, 1e-12);
    let shown = desk.ell0("score henon.json data.csv").out();
    assert!(shown.starts_with("x: mean squared error"), "{shown}");
    let object = score("oscillator.json cosine.csv");
    assert_eq!(object["derivative"], "fd4");
    assert!(mse(&object) < 1e-12, "{object}");
}

#[test]
fn models_are_simulated() {
    let desk = desk();
    let simulate = |line: &str| desk.ell0(&format!("simulate {line}")).out();
    let henon = "henon.json --initial x=0,y=0 --steps";
    let two = "k,x,y\n0,0,0\n1,1,0\n2,-0.3999999999999999,0.3\n";
    assert_eq!(simulate(&format!("{henon} 2")), two);
    // Controls that a law does not have do no harm; a duration that is no multiple of the step is kept.
    let one = simulate(&format!("{henon} 1 --controls-from data.csv"));
    assert_eq!(one, "k,x,y\n0,0,0\n1,1,0\n");
    let shown = simulate("burst.json --initial x=0.1 --duration 1 --dt 0.4");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.len() == 5 && lines[4].starts_with("1,"), "{shown}");
    let controlled = "--initial x=1,v=0 --duration 1 --dt 0.5 --controls-from controls.csv";
    let shown = simulate(&format!("oscillator.json {controlled}"));
    let x = shown.lines().nth(3).and_then(|l| l.split(',').nth(1));
    let x: f64 = x.expect("a cell").parse().expect("a number");
    near(x, 1f64.cos(), 1e-7);
    // What blows up gives its rows, an error, and an exit code.
    let burst = desk.ell0("simulate burst.json --initial x=1 --duration 3");
    let burst = burst.fails(1, "the simulation ended early");
    assert!(burst.lines().count() > 50, "{burst}");
}

#[test]
fn mistakes_are_explained() {
    desk().all_fail("
        show none.json | cannot read none.json
        show bad.json | bad.json is not a model
        predict oscillator.json data.csv | there is no column `v`
        predict plain.json data.csv --out p.npz | not as .npz
        score burst.json data.csv | no column of time: name it with --time
        simulate henon.json --initial x=0 --steps 2 | says nothing of `y`
        simulate henon.json --initial x=0,y=0,z=1 --steps 2 | `z` is no state
        simulate henon.json --initial x=0,y=0,x=1 --steps 4 | gives `x` twice
        simulate henon.json --initial x=0,y=0 | --steps is missing
        simulate henon.json --initial x=0,y=0 --steps 4000000000 | at most 10 million
        simulate oscillator.json --initial x=0,v=0 --duration 1 | this law has controls (u)
        simulate oscillator.json --initial x=0,v=0 --duration 4 --controls-from unsorted.csv | time goes from 5 to 2
        simulate plain.json --initial b=0 --steps 2 | plain regression
        simulate burst.json --initial x=1 --duration -1 | must be positive
    ");
}
