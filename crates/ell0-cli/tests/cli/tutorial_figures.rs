//! `ell0 tutorial figures` as a user runs it.

use std::{fs, path::Path, process::Output};

use ell0::gates::HardConcrete;
use serde_json::Value;

use crate::{ell0, number, numbers, text};

const NAMES: [&str; 6] = [
    "penalties",
    "spike-and-slab",
    "gates",
    "densities",
    "estimators",
    "closing",
];

fn figures(folder: &Path, arguments: &[&str]) -> Output {
    ell0(
        folder,
        &[&["tutorial", "figures", "--quick"], arguments].concat(),
    )
}

#[test]
fn figures_are_drawn_and_say_what_theory_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = figures(folder.path(), &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    let run = folder.path().join("runs/tutorial-figures");
    for name in NAMES {
        assert!(shown.contains(&format!("\n{name}\n")), "{shown}");
        let file = |extension: &str| run.join("figures").join(name).with_extension(extension);
        let svg = fs::read_to_string(file("svg")).expect("an SVG file");
        assert!(svg.starts_with("<svg") && !svg.contains("NaN"), "{name}");
        let png = fs::read(file("png")).expect("a PNG file");
        assert!(png.starts_with(b"\x89PNG"), "{name}");
    }
    let results = fs::read(run.join("results.json")).expect("results");
    let results: Value = serde_json::from_slice(&results).expect("JSON");
    let figure = |name: &str| &results["figures"][name]["numbers"];

    // Point masses: the closed form, and the samples within five standard errors of it.
    let gate = HardConcrete::default();
    let densities = figure("densities")["gates"].as_array().expect("gates");
    assert_eq!(densities.len(), 2);
    for row in densities {
        let a = number(&row["log_alpha"]);
        for (end, exact) in [("zero", gate.prob_zero(a)), ("one", gate.prob_one(a))] {
            let mass = number(&row[format!("mass_at_{end}")]);
            assert!((mass - exact).abs() < 1e-14, "{mass} {exact}");
            let sampled = number(&row[format!("sampled_mass_at_{end}")]);
            let error = number(&row[format!("standard_error_at_{end}")]);
            assert!((sampled - mass).abs() < 5.0 * error, "{sampled} {mass}");
        }
        for (kind, deviation) in row["histogram_deviation"].as_object().expect("kinds") {
            assert!(number(deviation).abs() < 5.0, "{kind}: {deviation}");
        }
    }
    let spikes = figure("spike-and-slab");
    for kind in ["bernoulli", "hard_concrete"] {
        let (spike, sampled) = (&spikes[kind]["spike"], &spikes[kind]["sampled_spike"]);
        assert!((number(spike) - (1.0 - number(&spikes["prob_active"]))).abs() < 1e-14);
        let error = number(&spikes[kind]["standard_error"]);
        assert!((number(sampled) - number(spike)).abs() < 5.0 * error);
    }

    // argmin of ½(ξ − 2)² + ½|ξ|ᵖ in closed form.
    for norm in figure("penalties")["norms"].as_array().expect("norms") {
        let expected = match number(&norm["exponent"]) {
            0.0 => 2.0,
            1.0 => 1.5,
            2.0 => 1.0,
            _ => continue,
        };
        assert!((number(&norm["weight_left"]) - expected).abs() < 1e-6);
    }

    // Bias where there should be none, and where there should be some.
    let estimators = figure("estimators");
    let unbiased = |of: &Value| {
        let (bias, error) = (numbers(&of["bias"]), numbers(&of["standard_error"]));
        assert_eq!((bias.len(), error.len()), (4, 4));
        bias.iter().zip(error).all(|(b, e)| b.abs() < 5.0 * e)
    };
    let mut seen = 0;
    for estimator in estimators["estimators"].as_array().expect("estimators") {
        let name = estimator["name"].as_str().expect("a name");
        assert_eq!(unbiased(estimator), name.starts_with("REINFORCE"), "{name}");
        seen += 1;
    }
    assert_eq!(seen, 5);
    assert!(unbiased(
        &estimators["hard_concrete_against_its_own_objective"]
    ));

    let gates = figure("closing")["gates"].as_array().expect("gates");
    assert!(
        gates.iter().any(|g| g["needed"] == true) && gates.iter().any(|g| g["needed"] == false)
    );
    for gate in gates {
        assert_eq!(gate["open"], gate["needed"], "{gate}");
        let active = number(&gate["prob_active"]);
        assert_eq!(active > 0.5, gate["needed"] == true, "{gate}");
        if gate["needed"] == true {
            let (found, truth) = (number(&gate["coefficient"]), number(&gate["truth"]));
            assert!((found / truth - 1.0).abs() < 0.1, "{gate}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_files_and_nothing_of_others_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = |arguments: &[&str]| {
        let output = figures(folder.path(), arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        output.stdout
    };
    let first = json(&["--out", "a", "--json"]);
    assert_eq!(
        first,
        fs::read(folder.path().join("a/results.json")).expect("results")
    );
    assert_eq!(first, json(&["--out", "b", "--json"]));
    assert_ne!(first, json(&["--out", "c", "--seed", "1", "--json"]));
    for name in NAMES {
        let file = |run: &str| {
            let path = format!("{run}/figures/{name}.png");
            fs::read(folder.path().join(path)).expect("a figure")
        };
        assert!(file("a") == file("b"), "{name}");
    }
    let refused = figures(folder.path(), &["--out", "a"]);
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("--force"));
    assert_eq!(first, json(&["--out", "a", "--force", "--json"]));
    let mine = folder.path().join("a/figures/mine.txt");
    fs::write(&mine, "mine").expect("written");
    let refused = figures(folder.path(), &["--out", "a", "--force"]);
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("mine.txt"));
    assert!(mine.exists());
}

/// The whole tutorial shows its plan, does what is not skipped, makes one page, and does nothing twice.
#[test]
fn the_whole_tutorial_goes_stage_by_stage() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = || {
        let arguments = [
            "tutorial",
            "--quick",
            "--skip",
            "dynamics,reward,policy,analysis",
            "--out",
            "all",
        ];
        let output = ell0(folder.path(), &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let first = run();
    assert!(
        first.contains("The plan, about") && !first.contains(", done"),
        "{first}"
    );
    let page = std::fs::read_to_string(folder.path().join("all/report.html")).expect("written");
    assert!(page.contains(">The method</h2>") && page.contains("ell0 tutorial --quick"));
    let second = run();
    assert!(
        second.contains(", done") && !second.contains("== The method"),
        "{second}"
    );
    // Another seed, or another budget, is another tutorial: it is not done.
    for other in [&["--quick", "--seed", "1"][..], &[]] {
        let arguments = [&["tutorial", "--out", "all"], other].concat();
        let output = ell0(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("holds the tutorial with seed 0, --quick"));
    }
}

/// What cannot be done is said before anything is written.
#[test]
fn the_whole_tutorial_asks_before_it_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let mine = folder.path().join("mine");
    fs::create_dir(&mine).expect("a folder");
    fs::write(mine.join("notes.txt"), "mine").expect("written");
    let cases: [(&[&str], &str); 4] = [
        (
            &["--out", "mine"],
            "is not the folder of an `ell0 tutorial`",
        ),
        (
            &["--out", "mine", "--force"],
            "is not the folder of an `ell0 tutorial`",
        ),
        (
            &["--out", "new", "--skip", "figures,dynamics,reward,policy"],
            "the analysis needs the policies",
        ),
        (
            &[
                "--out",
                "new",
                "--skip",
                "figures,dynamics,reward,policy,analysis",
            ],
            "leaves nothing to do",
        ),
    ];
    for (options, says) in cases {
        let output = ell0(folder.path(), &[&["tutorial"], options].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(says), "{options:?}");
        assert!(!folder.path().join("new").exists());
    }
    assert_eq!(fs::read_dir(&mine).expect("a folder").count(), 1);
    let output = ell0(folder.path(), &["tutorial", "--quick", "dynamics"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`ell0 tutorial dynamics --quick`"));
}
