//! `ell0 collect` and `ell0 tutorial` as a user runs them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::fixture::{Desk, list, near, number};

#[test]
fn collected_experience_gives_the_law_of_the_pendulum() {
    let desk = Desk::new();
    let collect = |out: &str| {
        let line = format!("collect --env pendulum(g=9.81) --episodes 300 --out {out}");
        desk.does(&line);
        desk.bytes(out)
    };
    assert!(collect("data.parquet") == collect("again.parquet"));
    collect("data.csv");
    let csv = desk.read("data.csv");
    let header = "cos_theta,sin_theta,theta_dot,torque,reward,next_cos_theta,next_sin_theta,next_theta_dot,terminated,truncated,episode,step";
    assert_eq!(csv.lines().next(), Some(header));
    assert_eq!(csv.lines().count(), 1 + 300 * 200);
    let last = csv.lines().last().expect("a row");
    assert!(last.ends_with(",0,1,299,199"), "{last}");
    let line = "fit data.parquet --inputs cos_theta,sin_theta,theta_dot,torque --targets next_theta_dot --terms 3 --json";
    let object = desk.ell0(line).json();
    let terms = list(&object["equations"][0]["terms"]);
    assert_eq!(terms.len(), 3, "{terms:?}");
    // θ̇ + 0.05·(1.5·g·sin θ + 3u), but for the few rows where the speed limit binds.
    let expected = [("sin_theta", 0.73575), ("theta_dot", 1.0), ("torque", 0.15)];
    for (term, (name, value)) in terms.iter().zip(expected) {
        assert_eq!(term["feature"], name);
        near(number(&term["coefficient"]) / value, 1.0, 0.02);
    }
    desk.all_fail(
        "
        collect --env pendulm --out x.csv | there is no environment `pendulm`
        collect --env pendulum(gg=1) --out x.csv | there is no parameter `gg`; the parameters are g,
        collect --env pendulum --out no/such/x.csv | cannot write no/such/x.csv
    ",
    );
    let none = "collect --env pendulum --episodes 0 --out x.csv";
    desk.all_misused(&format!("{none} | expected a whole number, at least 1"));
}

/// The files of a run but the clocks and what says how it began, which names the folder.
fn contents(desk: &Desk, run: &str) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for path in desk.files() {
        let Some(name) = path.strip_prefix(&format!("{run}/")) else {
            continue;
        };
        let differs = ["seconds", "command.txt", "report.html"];
        if desk.path(&path).is_dir() || differs.iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let mut bytes = desk.bytes(&path);
        if name == "results.json" {
            let mut rows = desk.json(&path);
            for row in rows.as_array_mut().expect("rows") {
                row["seconds"] = Value::Null;
            }
            bytes = rows.to_string().into_bytes();
        }
        all.insert(name.to_string(), bytes);
    }
    all
}

/// Killed again and again and resumed, a run ends as if it had not been.
#[test]
fn a_killed_run_resumes_to_the_same_bits() {
    let desk = Desk::new();
    let begin = "tutorial reward --epochs 8 --seed 3 --out";
    let shown = "sparse network | polynomial+fourier, exact | published | FLOPs | reward = ";
    desk.ell0(&format!("{begin} whole")).shows(shown);
    let resume = "tutorial reward --resume --out parts";
    let mut line = &*format!("{begin} parts");
    let mut killed = 0;
    for milliseconds in [150, 1300, 1700, 2300, 900] {
        let mut run = desk.start(line);
        run.wait_for(&desk.path("parts/config.toml"));
        killed += u32::from(run.kill_after(milliseconds));
        line = resume;
    }
    assert!(killed >= 2, "killed {killed} times");
    desk.does(resume);
    let (one, other) = (contents(&desk, "whole"), contents(&desk, "parts"));
    assert!(one.keys().eq(other.keys()), "{:?}", desk.files());
    for (name, bytes) in &one {
        assert!(bytes == &other[name], "{name} differs");
    }
    // What was typed is what began the run, not what went on with it; its page shows that.
    let typed = |run: &str| desk.read(&format!("{run}/command.txt"));
    assert_eq!(typed("parts"), typed("whole").replace("whole", "parts"));
    assert!(
        desk.read("parts/report.html")
            .contains(typed("parts").trim_end())
    );
    for name in "metrics.jsonl figure.svg figure.png config.toml".split(' ') {
        assert!(one.contains_key(name), "{name}");
    }
    assert_eq!(list(&desk.json("whole/results.json")).len(), 8);
    assert_eq!(desk.read("whole/metrics.jsonl").lines().count(), 5 * 8);
    // What cannot be is said.
    desk.all_fail(
        "
        tutorial reward --out whole | `ell0 tutorial reward --resume --out whole` goes on
        tutorial reward --out nowhere --resume | holds no run to go on with
        tutorial reward --out . --force | replaces only folders of runs
        tutorial reward --out new --lambda-factor -1 | --lambda-factor -1 is not allowed
        tutorial reward --resume --out whole --seed 4 | with seed 3, not one
        tutorial dynamics --resume --out whole | holds a run of `ell0 tutorial reward`
    ",
    );
    // What belongs to another run, another model or nobody is neither used nor deleted.
    let network = "whole/checkpoints/network.safetensors";
    let sparse = desk.bytes("whole/checkpoints/sparse-network.safetensors");
    let file = "whole/config.toml";
    let config = desk.read(file);
    let epochs = |n: u32| {
        config
            .replace("epochs = 8", &format!("epochs = {n}"))
            .into_bytes()
    };
    for (file, content, words) in [
        (file, epochs(9), "delete it to train the model anew"),
        (file, epochs(0), "at least one"),
        (network, sparse, "not a checkpoint of this model"),
    ] {
        let kept = desk.bytes(file);
        assert!(content != kept, "nothing was changed in {file}");
        desk.put(file, &content);
        // The clocks of other models may go on.
        let resumed = desk.ell0("tutorial reward --resume --out whole");
        resumed.fails(1, words);
        assert!(desk.bytes(file) == content, "{file} was touched");
        desk.put(file, kept);
    }
    desk.put("whole/models/thesis.txt", "mine");
    let anew = "tutorial reward --epochs 1 --out whole --force";
    desk.all_fail(&format!("{anew} | holds thesis.txt"));
}

/// Two processes do not write into one folder, and an end by a signal says how to go on.
#[cfg(unix)]
#[test]
fn a_folder_belongs_to_one_process_at_a_time() {
    let desk = Desk::new();
    let whole = "tutorial --quick --skip figures --out all";
    let mut first = desk.start(whole);
    first.wait_for(&desk.path("all/dynamics/.lock"));
    let stage = "tutorial dynamics --resume --out all/dynamics";
    let anew = "tutorial --quick --force --out all";
    for line in [whole, stage, anew] {
        desk.ell0(line).fails(1, "another process");
    }
    // The signal reaches the first process alone; its stage ends, too.
    desk.run("kill", &format!("-INT {}", first.0.id()));
    let (code, error) = first.end();
    assert_eq!(code, Some(1), "{error}");
    let how = "interrupted in the stage dynamics; the same command goes on with it";
    assert!(error.contains(how), "{error}");
    // Nobody holds it now. What others put into it is kept, wherever it is.
    desk.put("all/dynamics/models/thesis.txt", "mine");
    desk.all_fail(&format!("{anew} | holds thesis.txt"));
}
