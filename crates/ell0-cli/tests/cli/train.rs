//! `ell0 train`, `evaluate`, `rollout` and `optimum` as a user runs them.

use serde_json::Value;

use crate::fixture::{Desk, LAW, list, near, number, policy};

#[test]
fn a_known_law_has_its_known_return() {
    let desk = Desk::new().with("law.json", policy(LAW));
    let object = desk
        .ell0("evaluate law.json --env pendulum(g=9.81) --json")
        .json();
    near(number(&object["return"]["mean"]), -148.94, 0.05);
    assert_eq!(object["episodes"], 2000);
    let line = "rollout law.json --env pendulum(g=9.81) --state 3.14159,0 --out swing.csv";
    desk.does(line);
    let csv = desk.read("swing.csv");
    let begin = "step,theta,theta_dot,torque,reward\n0,3.14159,0,";
    assert!(csv.starts_with(begin), "{csv}");
    assert_eq!(csv.lines().count(), 201);
    // It ends upright: the last reward is next to nothing.
    let last = csv.trim_end().rsplit(',').next().expect("a cell");
    near(last.parse().expect("a number"), 0.0, 0.01);
}

#[test]
fn mistakes_are_explained() {
    let desk = Desk::new()
        .with("law.json", policy(LAW))
        .with("other.json", policy(LAW).replace("\"torque\"", "\"force\""));
    desk.all_fail(
        "
        evaluate other.json --env pendulum | action `torque` is not there
        evaluate law.json --env cartpole | there is no environment `cartpole`
        rollout law.json --env pendulum --state 1 --out x.csv | 1 values, but 2 are needed
        train --env pendulum --policy network(0) | widths of the hidden layers
        train --env pendulum --policy polynom(3) | polynomial
        train --env pendulum --lambda -1 | lambda = -1 is not allowed
        train --env pendulum --set holt=3 | did you mean `hold`
        train --env pendulum --set hold=0 | hold = 0 is not allowed: from 1
        train --env pendulum --set gates=never | `gates` = \"never\" is not allowed
    ",
    );
}

/// A setting that has no option of its own stands in the file that repeats the run.
#[test]
fn settings_by_name_are_kept() {
    let desk = Desk::new();
    let settings = "--set hold=7 --set agent.critic_hidden=[8,8] --set gates=batch";
    let options = "--env pendulum(limit=10) --episodes 2 --updates 1 --out run";
    let _done = desk.ell0(&format!("train {options} {settings}")).ok();
    let config = desk.read("run/config.toml");
    for line in [
        "hold = 7\n",
        "critic_hidden = [8, 8]\n",
        "gates = \"batch\"\n",
    ] {
        assert!(config.contains(line), "{config}");
    }
}

/// No policy is better than optimal control, and a finer grid comes closer to it.
#[test]
fn optimal_control_is_the_best() {
    let desk = Desk::new();
    let optimum = |points: u32| {
        let line = format!("optimum --env pendulum(g=9.81) --points {points} --actions 21 --json");
        number(&desk.ell0(&line).json()["return"]["mean"])
    };
    let (coarse, fine) = (optimum(61), optimum(121));
    assert!(
        coarse > -160.0 && fine > coarse && fine < -134.0,
        "{coarse} {fine}"
    );
}

#[test]
fn a_short_training_repeats_and_leaves_its_policy() {
    let desk = Desk::new();
    let base = "train --env pendulum(g=9.81) --policy polynomial(2) --episodes 56 --updates 20 --seeds 2 --optimum --out";
    let train = |out: &str| {
        let mut rows = desk.ell0(&format!("{base} {out} --json")).json();
        for row in rows.as_array_mut().expect("rows") {
            row["seconds"] = Value::Null;
        }
        rows
    };
    let one = train("one");
    assert_eq!(one, train("other"));
    assert_eq!(list(&one).len(), 2);
    // Evaluated five times and at the end from 250 starts, then from the 2000 that policies are compared on.
    let steps = &one[0]["environment_steps"];
    assert_eq!(steps["learning"], 56 * 200);
    assert_eq!(steps["evaluation"], (6 * 250 + 2000) * 200);
    let pruning = steps["pruning"].as_u64().expect("a number");
    assert!(pruning > 0 && pruning.is_multiple_of(250 * 200) && steps["tuning"] == 0);
    // Nobody is better than optimal control.
    assert!(number(&one[0]["gap"]) > 0.0);
    let same = |other: &str, more: &[&str]| {
        let always = [
            "metrics.jsonl",
            "policies/seed0.json",
            "policies/seed1.json",
        ];
        for name in always.iter().chain(more) {
            let read = |out: &str| desk.bytes(&format!("{out}/{name}"));
            assert!(read("one") == read(other), "{name} of {other}");
        }
    };
    same("other", &["config.toml", "returns.png"]);
    // Killed and resumed, it ends the same.
    let mut killed = desk.start(&format!("{base} killed"));
    killed.wait_for(&desk.path("killed/config.toml"));
    assert!(killed.kill_after(250), "it was too fast to be killed");
    desk.does("train --resume --out killed");
    same("killed", &["checkpoints/seed0.safetensors"]);
    // The written policy is the one that was evaluated.
    let line = "evaluate one/policies/seed1.json --env pendulum(g=9.81) --json";
    let mean = number(&desk.ell0(line).json()["return"]["mean"]);
    near(mean / number(&one[1]["return_mean"]), 1.0, 1e-3);
    desk.all_fail(
        "
        train --env pendulum --out one | `ell0 train --resume --out one` goes on
        train --resume --out nowhere | holds no run to go on with
        train --env pendulum(g=1) --resume --out one | holds a run in pendulum(g=9.81)
    ",
    );
    desk.put("one/checkpoints/seed0.safetensors", "no");
    let resumed = desk.ell0("train --resume --out one");
    resumed.fails(1, "delete it to train the seed anew");
}

/// A finished run goes on to more episodes, to the bits of one that had so many from the beginning.
#[test]
fn a_finished_run_goes_on_to_more_episodes() {
    let desk = Desk::new();
    let settings = "random_episodes=3 updates_after=5 lambda_from=8 lambda_full=12";
    let settings = settings.replace(' ', " --set ");
    let base = format!(
        "train --env pendulum(limit=20) --policy polynomial(1) --updates 3 --set {settings}"
    );
    desk.does(&format!("{base} --episodes 30 --out long"));
    let short = desk
        .ell0(&format!("{base} --episodes 20 --out short"))
        .out();
    assert!(
        short.contains("steps of the environment: 400 learning, "),
        "{short}"
    );
    let fewer = desk.ell0("train --resume --out short --episodes 10");
    fewer.fails(1, "--episodes 10 is not allowed: the run has 20");
    desk.does("train --resume --out short --episodes 30");
    for file in [
        "config.toml",
        "metrics.jsonl",
        "policies/seed0.json",
        "checkpoints/seed0.safetensors",
    ] {
        assert!(
            desk.bytes(&format!("short/{file}")) == desk.bytes(&format!("long/{file}")),
            "{file}"
        );
    }
    let steps =
        |folder: &str| desk.json(&format!("{folder}/results.json"))[0]["environment_steps"].clone();
    assert_eq!(steps("short"), steps("long"));
    // There is nothing to compare with unless it is wanted.
    assert!(desk.json("long/results.json")[0]["gap"].is_null());
}

/// Two policies at two prices: a row, a policy and an event file for each.
#[test]
fn several_agents_are_trained_side_by_side() {
    let desk = Desk::new();
    let base = "train --env pendulum(limit=20) --episodes 53 --out both";
    let both = "--policy polynomial(1) --policy 'fourier(1, interactions)' --lambda 0.001,0.1";
    let rows = desk
        .ell0(&format!("{base} {both} --updates 2 --json"))
        .json();
    assert_eq!(list(&rows).len(), 4);
    assert_eq!(rows[3]["agent"], "fourier-1-interactions-lambda0.1");
    assert_eq!(rows[3]["lambda"], 0.1);
    assert_eq!(desk.json("both/results.json"), rows);
    assert_eq!(desk.read("both/metrics.jsonl").lines().count(), 4 * 53);
    for row in list(&rows) {
        let name = format!("{}-seed0", row["agent"].as_str().expect("a name"));
        assert!(desk.exists(&format!("both/policies/{name}.json")), "{name}");
        let events = format!("both/events/{name}/events.out.tfevents.ell0");
        assert_eq!(records(&desk.bytes(&events)), 1 + 53);
    }
    assert!(desk.exists("both/frontier.png"));
    // Begun anew only in the place of a run.
    let again = format!("{base} --force --updates 1");
    desk.does(&again);
    desk.put("both/mine.txt", "mine");
    desk.all_fail(&format!("{again} | holds mine.txt"));
}

#[test]
fn the_published_behaviour_is_an_option() {
    let desk = Desk::new();
    let base = "train --env pendulum(limit=20) --episodes 53 --updates 1 --out run";
    let line = format!("{base} --policy 'fourier(1, interactions)' --reference");
    desk.does(&line);
    let config = desk.read("run/config.toml");
    for line in [
        "policy = \"fourier(1, published-interactions)\"",
        "relative_lambda = false",
        "scale_inputs = false",
        "gates = \"batch\"",
        "as_published = true",
        "sampled_targets = true",
        "smoothing = 0.0",
        "prune = false",
    ] {
        assert!(config.lines().any(|l| l == line), "{line}:\n{config}");
    }
}

/// Number of records of an event file; a length that does not lead to the next record panics.
fn records(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while !bytes.is_empty() {
        let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
        bytes = &bytes[8 + 4 + length + 4..];
        count += 1;
    }
    count
}

#[test]
fn the_tutorial_compares_four_agents() {
    let desk = Desk::new();
    let shown = "network(64, 64) | about -1100 | gap | fourier, seed 0: torque = 2*tanh(";
    desk.ell0("tutorial policy --episodes 52 --out run")
        .shows(shown);
    let rows = desk.json("run/results.json");
    assert_eq!(list(&rows).len(), 4);
    let columns =
        "policy seed return_mean return_ci95 gap terms equation environment_steps seconds";
    for name in columns.split(' ') {
        assert!(!rows[1][name].is_null(), "{name}");
    }
    let other = "holds a run of `ell0 tutorial policy`";
    desk.all_fail(&format!("train --resume --out run | {other}"));
}

/// The other algorithm, and networks with gates, from the command line to C.
#[test]
fn ddpg_trains_a_network_with_gates_that_is_exported() {
    let desk = Desk::new();
    let line = "train --env pendulum(limit=40) --algorithm ddpg --policy 'sparse-network(8, 8)' --episodes 60 --updates 5 --out run --json";
    let rows = desk.ell0(line).json();
    assert!(rows[0]["terms"].is_null() && number(&rows[0]["return_mean"]) < 0.0);
    let config = desk.read("run/config.toml");
    assert!(config.contains("twin = false") && config.contains("policy_delay = 1"));
    desk.does("export run/policies/seed0.safetensors --to c --out c");
    assert!(desk.read("c/policy.c").contains("A network of widths"));
    // What is saved of the training leads to the same policy.
    desk.does("export run/checkpoints/seed0.safetensors --to c --out again");
    assert_eq!(desk.read("again/policy.c"), desk.read("c/policy.c"));
    desk.all_misused("train --env pendulum --algorithm sac | td3, ddpg");
}

/// Updates that blow up are an error, now and when it is gone on with; what was saved before can be read.
#[test]
fn updates_that_blow_up_leave_what_was_before() {
    let desk = Desk::new();
    let train = "train --env pendulum(limit=20) --policy polynomial(1) --episodes 103 --updates 2";
    let dear = desk.ell0(&format!("{train} --lambda 1e308 --out dear"));
    dear.fails(1, "the policy's loss, or its gradient,");
    // Critics that learn much too fast.
    desk.put("fast/config.toml", {
        desk.does(&format!("{train} --out usual"));
        let config = desk.read("usual/config.toml");
        config.replace("critic_rate = 0.0003", "critic_rate = 1e30")
    });
    for (folder, words) in [("dear", "the policy's loss"), ("fast", "loss")] {
        for _ in 0..2 {
            let again = desk.ell0(&format!("train --resume --out {folder}"));
            again.fails(1, words);
        }
        desk.does(&format!("report {folder}"));
    }
    // Numbers that a file of settings cannot hold are found before anything is done, or replaced.
    desk.all_misused(&format!(
        "{train} --seed 9300000000000000000 --out usual --force | expected a whole number from 0 to 9223372036854775807"
    ));
    let train = train.replace("--updates 2", "--updates 9300000000000000000");
    desk.all_fail(&format!("{train} --out usual --force | at most 10,000,000"));
}
