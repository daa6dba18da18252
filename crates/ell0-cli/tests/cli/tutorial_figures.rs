//! `ell0 tutorial figures` as a user runs it.

use std::fs;

use serde_json::Value;

use crate::fixture::{Desk, list, near, number, numbers, prob_above};

const NAMES: [&str; 6] = [
    "penalties",
    "spike-and-slab",
    "gates",
    "densities",
    "estimators",
    "closing",
];

#[test]
fn figures_are_drawn_and_say_what_theory_says() {
    let desk = Desk::new();
    let shown = desk.ell0("tutorial figures --quick").out();
    let run = "runs/tutorial-figures";
    for name in NAMES {
        assert!(shown.contains(&format!("\n{name}\n")), "{shown}");
        let svg = desk.read(&format!("{run}/figures/{name}.svg"));
        assert!(svg.starts_with("<svg") && !svg.contains("NaN"), "{name}");
        let png = desk.bytes(&format!("{run}/figures/{name}.png"));
        assert!(png.starts_with(b"\x89PNG"), "{name}");
    }
    let results = desk.json(&format!("{run}/results.json"));
    let figure = |name: &str| &results["figures"][name]["numbers"];

    // Point masses: the closed form, and the samples within five standard errors of it.
    let above = |t: f64, a: f64| prob_above(t, a, [2.0 / 3.0, -0.1, 1.1]);
    let densities = list(&figure("densities")["gates"]);
    assert_eq!(densities.len(), 2);
    for row in densities {
        let a = number(&row["log_alpha"]);
        for (end, exact) in [("zero", 1.0 - above(0.0, a)), ("one", above(1.0, a))] {
            let mass = number(&row[format!("mass_at_{end}")]);
            near(mass, exact, 1e-13);
            let sampled = number(&row[format!("sampled_mass_at_{end}")]);
            let error = number(&row[format!("standard_error_at_{end}")]);
            near(sampled, mass, 5.0 * error);
        }
        let deviations = row["histogram_deviation"].as_object().expect("kinds");
        assert!(!deviations.is_empty());
        for (kind, deviation) in deviations {
            assert!(number(deviation).abs() < 5.0, "{kind}: {deviation}");
        }
    }
    let spikes = figure("spike-and-slab");
    for kind in ["bernoulli", "hard_concrete"] {
        let of = |name: &str| number(&spikes[kind][name]);
        near(of("spike"), 1.0 - number(&spikes["prob_active"]), 1e-14);
        near(of("sampled_spike"), of("spike"), 5.0 * of("standard_error"));
    }

    // argmin of ½(ξ − 2)² + ½|ξ|ᵖ in closed form.
    let norms = list(&figure("penalties")["norms"]);
    for (exponent, left) in [(0.0, 2.0), (1.0, 1.5), (2.0, 1.0)] {
        let norm = norms.iter().find(|n| number(&n["exponent"]) == exponent);
        near(number(&norm.expect("the norm")["weight_left"]), left, 1e-6);
    }

    // Bias where there should be none, and where there should be some.
    let estimators = figure("estimators");
    let unbiased = |of: &Value| {
        let (bias, error) = (numbers(&of["bias"]), numbers(&of["standard_error"]));
        assert_eq!((bias.len(), error.len()), (4, 4));
        bias.iter().zip(error).all(|(b, e)| b.abs() < 5.0 * e)
    };
    assert_eq!(list(&estimators["estimators"]).len(), 5);
    for estimator in list(&estimators["estimators"]) {
        let name = estimator["name"].as_str().expect("a name");
        assert_eq!(unbiased(estimator), name.starts_with("REINFORCE"), "{name}");
    }
    let own = &estimators["hard_concrete_against_its_own_objective"];
    assert!(unbiased(own), "{own}");

    let gates = list(&figure("closing")["gates"]);
    for needed in [true, false] {
        assert!(gates.iter().any(|g| g["needed"] == needed));
    }
    for gate in gates {
        assert_eq!(gate["open"], gate["needed"], "{gate}");
        let active = number(&gate["prob_active"]);
        assert_eq!(active > 0.5, gate["needed"] == true, "{gate}");
        if gate["needed"] == true {
            let (found, truth) = (number(&gate["coefficient"]), number(&gate["truth"]));
            near(found / truth, 1.0, 0.1);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_files_and_nothing_of_others_is_replaced() {
    let desk = Desk::new();
    let json = |more: &str| {
        let line = format!("tutorial figures --quick --json --out {more}");
        desk.ell0(&line).out()
    };
    let first = json("a");
    assert_eq!(first, desk.read("a/results.json"));
    assert_eq!(first, json("b"));
    assert_ne!(first, json("c --seed 1"));
    for name in NAMES {
        let file = |run: &str| desk.bytes(&format!("{run}/figures/{name}.png"));
        assert!(file("a") == file("b"), "{name}");
    }
    let line = "tutorial figures --quick --out a";
    desk.all_fail(&format!("{line} | --force"));
    assert_eq!(first, json("a --force"));
    desk.put("a/figures/mine.txt", "mine");
    desk.all_fail(&format!("{line} --force | mine.txt"));
}

/// The whole tutorial shows its plan, does what is not skipped, makes one page, and does nothing twice.
#[test]
fn the_whole_tutorial_goes_stage_by_stage() {
    let desk = Desk::new();
    let line = "tutorial --quick --skip dynamics,reward,policy,analysis,pde --out all";
    let first = desk.ell0(line).shows("The plan, about");
    assert!(!first.contains(", done"), "{first}");
    let page = desk.read("all/report.html");
    assert!(page.contains(">The method</h2>") && page.contains("ell0 tutorial --quick"));
    // Killed in the midst of writing, before the page: what is half-written goes, the page comes.
    desk.put("all/.ell0-killed123456/.lock", "");
    desk.put("all/.ell0-killed123456/figures/gates.svg", "half");
    fs::remove_file(desk.path("all/report.html")).expect("there");
    let second = desk.ell0(line).shows(", done");
    assert!(!second.contains("== The method"), "{second}");
    assert_eq!(desk.read("all/report.html"), page);
    assert!(!desk.exists("all/.ell0-killed123456"));
    // Another seed, or another budget, is another tutorial: it is not done.
    let held = "holds the tutorial with seed 0, --quick";
    desk.all_fail(&format!(
        "
        tutorial --out all --quick --seed 1 | {held}
        tutorial --out all | {held}
    "
    ));
}

/// What cannot be done is said before anything is written.
#[test]
fn the_whole_tutorial_asks_before_it_writes() {
    let desk = Desk::new().with("mine/notes.txt", "mine");
    desk.does("tutorial figures --quick --out figures");
    let foreign = "is not the folder of an `ell0 tutorial`";
    desk.all_fail(&format!(
        "
        tutorial --out mine | {foreign}
        tutorial --out figures --force | another kind (figures)
        tutorial --out mine --force | holds notes.txt, which the manifest of no run names
        tutorial --out new --skip figures,dynamics,reward,policy | the analysis needs the policies
        tutorial --out new --skip figures,dynamics,reward,policy,analysis,pde | leaves nothing to do
    "
    ));
    desk.all_misused("tutorial --quick dynamics | `ell0 tutorial dynamics --quick`");
}
