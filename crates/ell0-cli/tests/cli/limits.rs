//! What is too large is refused with a sentence, before memory is taken for it: in two gigabytes of it.

use crate::fixture::{Desk, lorenz, model, words};

/// Runs `ell0` where there are 2 GB and no more.
#[track_caller]
fn refused(desk: &Desk, line: &str, sentence: &str) {
    let quoted: Vec<String> = words(line).iter().map(|w| format!("\"{w}\"")).collect();
    desk.put(
        "run.sh",
        format!(
            "ulimit -v 2000000\nexec {} {}\n",
            env!("CARGO_BIN_EXE_ell0"),
            quoted.join(" ")
        ),
    );
    let done = desk.program("bash", "run.sh");
    assert!(
        matches!(done.code, Some(1 | 2)),
        "{line}: {:?} {}",
        done.code,
        done.stderr
    );
    assert!(
        done.stderr.contains(sentence),
        "{line}: no `{sentence}` in\n{}",
        done.stderr
    );
    assert!(done.stderr.len() < 2000, "{line}: {}", done.stderr);
}

#[test]
fn libraries_and_settings_beyond_all_bounds_are_refused() {
    let desk = Desk::new().with("data.csv", lorenz());
    let fit = "fit data.csv --states x,y,z --library";
    for (line, sentence) in [
        (format!("{fit} polynomial(99)"), "at most 10,000 terms"),
        (format!("{fit} polynomial(4294967295)"), "at most 100"),
        (format!("{fit} polynomial(37)"), "at most 1 GB is taken"),
        (format!("{fit} fourier(1000)"), "at most 1 GB is taken"),
        (format!("{fit} fourier(100000)"), "from 1 to 1000"),
        (
            format!("{fit} 'polynomial(30) * polynomial(30)'"),
            "at most 10,000 terms",
        ),
        (
            "train --env pendulum --episodes 18446744073709551615 --out a".into(),
            "at most 10,000,000",
        ),
        (
            "train --env pendulum --episodes 100000000 --out a".into(),
            "at most 10,000,000",
        ),
        (
            "train --env pendulum --policy network(1000000,1000000) --out a".into(),
            "from 1 to 4096",
        ),
        (
            "collect --env pendulum --episodes 18446744073709551615 --out a.csv".into(),
            "at most",
        ),
    ] {
        refused(&desk, &line, sentence);
    }
}

#[test]
fn numbers_of_a_config_are_checked() {
    let desk = Desk::new();
    desk.does("train --env pendulum(limit=5) --episodes 2 --out run");
    let config = desk.read("run/config.toml");
    for (from, to, sentence) in [
        (
            "batch = 256",
            "batch = 100000000000",
            "it must be at most 2^25",
        ),
        (
            "episodes = 2",
            "episodes = 100000000000",
            "at most 10,000,000",
        ),
        (
            "updates = 200",
            "updates = 100000000000",
            "at most 10,000,000",
        ),
        ("replay = 1000000", "replay = 100000000000000", "capacity"),
        (
            "critic_hidden = [",
            "critic_hidden = [1000000, ",
            "from 1 to 4096 wide",
        ),
        ("seeds = 1", "seeds = 100000000000", "from 1 to 1000"),
    ] {
        assert!(config.contains(from), "no `{from}` in {config}");
        desk.put("run/config.toml", config.replacen(from, to, 1));
        refused(&desk, "train --resume --out run", sentence);
    }
}

#[test]
fn models_beyond_all_bounds_are_refused_and_large_ones_analysed() {
    let many: Vec<String> = (0..1_000_000).map(|k| format!("x{k}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let nested =
        |depth: usize| (0..depth).fold("x".to_string(), |inner, _| format!("sin({inner})"));
    let law = |text: &str| model("continuous", &["x"], &[("x", text)]);
    let desk = Desk::new()
        .with("wide.json", model("continuous", &many, &[("x0", "-x0")]))
        .with("deep.json", law(&nested(101)))
        .with("long.json", law(&vec!["x"; 1_000_001].join("+")))
        .with("nested.json", law(&format!("-{}", nested(60))))
        .with(
            "product.json",
            law(&format!("-x - {}", vec!["x"; 10_001].join("*"))),
        )
        .with(
            "factors.json",
            law(&format!("-x*{}", vec!["(x^2 + 1)"; 1000].join("*"))),
        );
    for line in [
        "show",
        "analyze",
        "export --to c --out a",
        "simulate --initial x=1 --duration 1",
    ] {
        refused(
            &desk,
            &format!("{line} wide.json"),
            "at most 10,000 of them",
        );
        refused(
            &desk,
            &format!("{line} deep.json"),
            "less nesting (at most 100 levels)",
        );
        refused(
            &desk,
            &format!("{line} long.json"),
            "at most 1,000,000 parts",
        );
    }
    // Legal, if large: their derivatives were endless when written out.
    for name in ["nested", "product", "factors"] {
        let found = desk.ell0(&format!("analyze {name}.json --json")).json();
        assert_eq!(found["equilibria"][0]["state"][0], 0.0, "{name}");
    }
    let torque = nested(60).replace('x', "theta_dot");
    desk.does(&format!(
        "analyze --policy '-2*tanh({torque})' --env pendulum --prove-seconds 0.5"
    ));
}
