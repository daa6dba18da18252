//! Nothing that somebody made is destroyed, whatever is forced: every command that writes, with every kind of input, to every kind of place.

use std::fs;

use crate::fixture::{Desk, LAW, lorenz, model, policy};

/// Runs of each kind that leave a folder, small ones: the name of the folder, and the command without `--out`.
const RUNS: [(&str, &str); 6] = [
    ("fit", "fit data.csv --states x,y,z"),
    ("analysis", "analyze law.json --prove-seconds 0"),
    ("training", "train --env pendulum(limit=5) --episodes 2"),
    (
        "networks",
        "network data.csv --targets z --inputs x,y --hidden 4 --epochs 2",
    ),
    ("figures", "tutorial figures --quick"),
    ("models", "tutorial reward --epochs 1"),
];

/// Of each command that replaces a folder and reads files: the folder, what is read, and the command with `IN` for it.
const READERS: [(&str, &str, &str); 11] = [
    ("fit", "data.csv", "fit IN --states x,y,z"),
    ("fit", "data.csv", "fit data2.csv IN --states x,y,z"),
    ("fit", "part.json", "fit IN"),
    ("fit", "config.toml", "fit --config IN"),
    ("analysis", "law.json", "analyze IN --prove-seconds 0"),
    ("analysis", "data.csv", "analyze law.json --data IN"),
    (
        "analysis",
        "step.json",
        "analyze --policy 'u = -x' --model IN --prove-seconds 0",
    ),
    (
        "networks",
        "data.csv",
        "network IN --targets z --inputs x,y --hidden 4 --epochs 2",
    ),
    (
        "networks",
        "data.csv",
        "network data2.csv --targets z --inputs x,y --test IN --hidden 4 --epochs 2",
    ),
    (
        "networks",
        "labels",
        "network images --labels IN --hidden 4 --epochs 2",
    ),
    (
        "networks",
        "labels",
        "network images --labels labels2 --test images2 --test-labels IN --hidden 4 --epochs 2",
    ),
];

/// A desk with what the commands read, and a run of each kind.
fn desk() -> Desk {
    let laws = [("x", "-x"), ("y", "-y"), ("z", "-z")];
    let idx = |shape: &[u8], values: std::ops::Range<u8>| {
        let mut bytes = vec![0, 0, 8, shape.len() as u8];
        bytes.extend(shape.iter().flat_map(|n| [0, 0, 0, *n]));
        bytes.extend(values);
        bytes
    };
    let short: String = lorenz().lines().take(300).flat_map(|l| [l, "\n"]).collect();
    let desk = Desk::new()
        .with("data.csv", &short)
        .with("data2.csv", short.replace("0.0", "0.1"))
        .with("images", idx(&[8, 2, 2], 0..32))
        .with("images2", idx(&[8, 2, 2], 100..132))
        .with("labels", idx(&[8], 0..8))
        .with("labels2", idx(&[8], 0..8))
        .with("law.json", model("continuous", &["x", "y", "z"], &laws))
        .with(
            "step.json",
            model("discrete", &["x", "u"], &[("x", "0.5*x + u")]),
        )
        .with("policy.json", policy(LAW));
    for (folder, line) in RUNS {
        desk.does(&format!("{line} --out {folder}"));
    }
    desk.does("stats data.csv --states x,y,z --out part.json");
    desk.put("config.toml", desk.bytes("fit/config.toml"));
    desk
}

#[test]
fn a_folder_with_an_input_in_it_is_never_replaced() {
    let desk = desk();
    for (folder, read, line) in READERS {
        let content = desk.bytes(read);
        let refused = |input: &str, words: &str| {
            let line = line.replace("IN", input);
            desk.all_fail(&format!("{line} --out {folder} --force | {words}"));
        };
        let inside = "lies in the folder";
        // In the place of a file of the run, by its name and by others.
        for name in ["config.toml", "report.html", "trajectories.csv"] {
            let place = format!("{folder}/{name}");
            let kept = desk.exists(&place).then(|| desk.bytes(&place));
            desk.put(&place, &content);
            refused(&place, inside);
            refused(&format!("./{folder}/../{place}"), inside);
            #[cfg(unix)]
            {
                use std::os::unix::fs::symlink;
                symlink(desk.path(&place), desk.path("link")).expect("a link");
                symlink(desk.path(folder), desk.path("alias")).expect("a link");
                refused("link", inside);
                refused(&format!("alias/{name}"), inside);
                fs::remove_file(desk.path("link")).expect("gone");
                fs::remove_file(desk.path("alias")).expect("gone");
            }
            match kept {
                Some(kept) => desk.put(&place, kept),
                None => fs::remove_file(desk.path(&place)).expect("gone"),
            }
        }
        // A link in the folder to what is read elsewhere would be lost, too.
        #[cfg(unix)]
        {
            let link = desk.path(&format!("{folder}/mine"));
            std::os::unix::fs::symlink(desk.path(read), &link).expect("a link");
            refused(&format!("{folder}/mine"), inside);
            refused(read, "mine");
            fs::remove_file(link).expect("gone");
        }
    }
    // The folder itself as what is read.
    desk.all_fail("analyze fit --out fit --force | lies in the folder");
    for (folder, line) in RUNS {
        desk.does(&format!("{line} --out {folder} --force"));
    }
}

/// A folder is a run because of what it says, not because of the names in it.
#[test]
fn a_folder_that_only_looks_like_a_run_is_never_replaced() {
    let desk = desk();
    for (folder, line) in RUNS {
        let force = |place: &str| format!("{line} --out {place} --force");
        // A file of one's own under the name of one of the run's, all alone.
        for name in [
            "trajectories.csv",
            "model.json",
            "config.toml",
            "results.json",
        ] {
            let place = format!("mine-{folder}-{name}");
            desk.put(&format!("{place}/{name}"), desk.bytes("part.json"));
            desk.all_fail(&format!("{} | holds {name}", force(&place)));
        }
        // Beside a run.
        desk.put(&format!("{folder}/thesis.txt"), "mine");
        desk.all_fail(&format!("{} | thesis.txt", force(folder)));
        fs::remove_file(desk.path(&format!("{folder}/thesis.txt"))).expect("gone");
        desk.put(&format!("{folder}/deep/er/thesis.txt"), "mine");
        desk.all_fail(&format!("{} | deep", force(folder)));
        fs::remove_dir_all(desk.path(&format!("{folder}/deep"))).expect("gone");
        // A run of another kind.
        let other = match folder {
            "fit" => "analysis",
            _ => "fit",
        };
        desk.all_fail(&format!("{} | another kind", force(other)));
        // Without what says that it is a run.
        let manifest = format!("{folder}/manifest.json");
        let kept = desk.bytes(&manifest);
        desk.put(&manifest, "{}");
        desk.all_fail(&format!(
            "{} | which the manifest of no run names",
            force(folder)
        ));
        desk.put(&manifest, kept);
        desk.does(&force(folder));
    }
    // In the place of a file that was written once and for all.
    for (folder, name, line) in [
        ("fit", "path.csv", RUNS[0].1),
        ("fit", "equations.txt", RUNS[0].1),
        ("analysis", "model.json", RUNS[1].1),
        ("figures", "figures/gates.svg", RUNS[4].1),
    ] {
        let place = format!("{folder}/{name}");
        let kept = desk.bytes(&place);
        desk.put(&place, desk.bytes("data.csv"));
        let words = format!("{name} in the folder {folder} is not as the run has left it");
        desk.all_fail(&format!("{line} --out {folder} --force | {words}"));
        desk.put(&place, kept);
    }
    // What ell0 itself makes anew there is its own.
    desk.does("report fit");
    desk.does(&format!("{} --out fit --force", RUNS[0].1));
}

#[test]
fn no_output_goes_over_a_file_of_a_run_or_one_that_is_read() {
    let desk = desk();
    desk.put("bare/model.json", desk.bytes("fit/model.json"));
    desk.put("bare/predicted.csv", "old");
    let writers = [
        "predict fit data.csv",
        "predict fit/model.json data.csv",
        "predict networks data.csv",
        "predict networks/network.safetensors data.csv",
        "simulate fit --initial x=1,y=1,z=1 --duration 0.1",
        "rollout policy.json --env pendulum(limit=5)",
        "collect --env pendulum(limit=5) --episodes 1",
        "stats data.csv --states x,y,z",
        "report analysis training",
        "report figures",
    ];
    let places = [
        "fit/model.json",
        "fit/discovery.json",
        "fit/config.toml",
        "fit/path.csv",
        "fit/report.html",
        "fit/manifest.json",
        // It would be read in the place of the model.
        "fit/network.safetensors",
        "networks/network.safetensors",
        "networks/results.json",
        "networks/metrics.jsonl",
        "networks/model.json",
        "analysis/analysis.json",
        "training/config.toml",
        "models/models/dictionary.json",
    ];
    // One file of each folder inside.
    let mut inside = Vec::new();
    for folder in [
        "training/policies",
        "training/checkpoints",
        "networks/export",
        "figures/figures",
    ] {
        let files = fs::read_dir(desk.path(folder)).expect("a folder");
        let mut names: Vec<_> = files.map(|f| f.expect("a file").file_name()).collect();
        names.sort();
        let name = names.first().expect("a file").to_string_lossy();
        inside.push(format!("{folder}/{name}"));
    }
    let places: Vec<&str> = places
        .into_iter()
        .chain(inside.iter().map(String::as_str))
        .collect();
    for line in writers {
        for place in &places {
            if place.starts_with("models/") && !desk.exists(place) {
                continue;
            }
            let done = desk.ell0(&format!("{line} --out {place} --force"));
            let kept =
                done.stderr.contains("belongs to the run") || done.stderr.contains("is being read");
            assert!(
                kept && done.code == Some(1),
                "{line} --out {place}: {}",
                done.stderr
            );
        }
    }
    desk.all_fail(
        "
        predict bare data.csv --out bare/model.json --force | is being read
        simulate bare --initial x=1,y=1,z=1 --duration 0.1 --out bare/model.json --force | is being read
        export fit --to json --name model --out fit --force | is being read
        export fit/model.json --to json --name discovery --out fit --force | belongs to the run
        export law.json --to json --name law --out . --force | is being read
        export policy.json --to c --name network --out networks/export --force | belongs to the run
        report analysis --out fit/report.html | belongs to the run
    ",
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(desk.path("fit/path.csv"), desk.path("link.csv")).expect("a link");
        symlink(desk.path("fit"), desk.path("alias")).expect("a link");
        desk.all_fail(
            "
            collect --env pendulum(limit=5) --episodes 1 --out link.csv --force | belongs to the run
            collect --env pendulum(limit=5) --episodes 1 --out alias/path.csv --force | belongs to the run
            collect --env pendulum(limit=5) --episodes 1 --out alias/model.json --force | belongs to the run
        ",
        );
    }
    // Beside the files of a run there is room, and a folder that is no run is one's own.
    desk.does("predict fit data.csv --out fit/predicted.csv");
    desk.does("predict bare data.csv --out bare/predicted.csv --force");
    desk.does("report fit --out fit/report.html");
}

/// Several processes that replace the same folder at the same time: each succeeds or says that another is at work, and one run is left whole.
#[test]
fn several_may_replace_one_folder_at_once() {
    let desk = desk();
    for (folder, line) in &RUNS[..4] {
        for _ in 0..4 {
            let line = format!("{line} --out {folder} --force");
            let all: Vec<_> = (0..3).map(|_| desk.start(&line)).collect();
            let ended: Vec<_> = all.into_iter().map(crate::fixture::Running::end).collect();
            assert!(ended.iter().any(|(code, _)| *code == Some(0)), "{ended:?}");
            for (code, error) in ended {
                let held = error.contains("another process is writing");
                assert!(code == Some(0) || held, "{line}: {error}");
            }
        }
        desk.does(&format!("report {folder}"));
        let left = desk.files().into_iter().find(|f| f.contains(".ell0-"));
        assert_eq!(left, None, "{line}");
    }
}

/// A limit on the size of files is an error like a full disk: said, and nothing half-written stays.
#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_is_an_error() {
    let desk = desk();
    let before = desk.files();
    let ell0 = env!("CARGO_BIN_EXE_ell0");
    for line in [
        "fit data.csv --states x,y,z --out limited",
        "collect --env pendulum --episodes 20 --out limited.csv",
        "collect --env pendulum --episodes 20 --out limited.parquet",
        "predict fit data.csv --out limited.csv",
        "simulate fit --initial x=1,y=1,z=1 --duration 100 --out limited.csv",
        "stats data.csv --states x,y,z --out limited.json",
        "report fit --out limited.html",
        "tutorial figures --quick --out limited",
    ] {
        let limited = format!("-c \"ulimit -f 4; exec {ell0} {line}\"");
        let shown = desk.program("bash", &limited).fails(1, "File too large");
        assert_eq!(shown, "", "{line} prints");
        assert_eq!(desk.files(), before, "{line}");
    }
}

/// Ctrl-C ends what cannot be gone on with by the code that shells expect.
#[cfg(unix)]
#[test]
fn an_interrupted_recording_leaves_nothing() {
    let desk = Desk::new();
    let line = "collect --env pendulum --episodes 1000000 --out rows.csv";
    let mut recording = desk.start(line);
    let id = recording.0.id().to_string();
    // It has begun when its unfinished file is there.
    let began = std::time::Instant::now();
    while desk.files().is_empty() {
        assert!(began.elapsed().as_secs() < 120, "it does not begin");
        assert!(
            recording.0.try_wait().expect("a status").is_none(),
            "it ended"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    desk.run("kill", &format!("-INT {id}"));
    assert_eq!(recording.end().0, Some(130));
    assert_eq!(desk.files(), Vec::<String>::new());
}

/// The folder in which a command works may be the one that it replaces, and be named by a path from there.
#[test]
#[cfg(unix)]
fn a_run_is_replaced_from_inside() {
    let desk = Desk::new().with("data.csv", lorenz());
    desk.does("fit data.csv --states x,y,z --out run");
    let law = desk.bytes("run/model.json");
    for (line, folder) in [
        ("fit ../data.csv --states x,y,z --out ../run --force", "run"),
        ("fit ../data.csv --states x,y,z --out . --force", "run"),
        (
            "fit ../data.csv --states x,y,z --out ../run/ --force",
            "run",
        ),
    ] {
        // What was moved aside is no place to work in any more.
        let done = desk.within(folder, line);
        let left = desk.files().into_iter().find(|f| f.contains(".ell0-"));
        assert_eq!(left, None, "{line}");
        assert_eq!(desk.bytes("run/model.json"), law, "{line}: {}", done.stderr);
        let _ = done.ok();
    }
    desk.does("train --env pendulum(limit=5) --episodes 1 --out trained");
    let again = desk.within(
        "trained",
        "train --env pendulum(limit=5) --episodes 1 --out ../trained --force",
    );
    again.fails(
        1,
        "the folder that it would replace: give it from elsewhere",
    );
    assert!(desk.exists("trained/results.json"));
    std::os::unix::fs::symlink("run", desk.path("link")).expect("a link");
    desk.does("fit data.csv --states x,y,z --out link/ --force");
    assert_eq!(desk.bytes("link/model.json"), law);
    assert_eq!(desk.bytes("run/model.json"), law);
}

/// What somebody calls as ell0 calls what it has not finished is not ell0's.
#[test]
fn hidden_files_of_others_stay() {
    let desk = Desk::new()
        .with(".ell0-data.csv", lorenz())
        .with(".ell0-notes.txt", "mine")
        .with(".ell0-tries/.lock", "")
        .with(".ell0-tries/results.csv", "mine");
    desk.does("fit .ell0-data.csv --states x,y,z --out run");
    desk.does("simulate run --initial x=1,y=1,z=1 --duration 0.1 --dt 0.05 --out rows.csv");
    for name in [
        ".ell0-data.csv",
        ".ell0-notes.txt",
        ".ell0-tries/results.csv",
    ] {
        assert!(desk.exists(name), "{name}");
    }
    // Inside a run they are somebody's, too.
    desk.put("run/.ell0-notes.txt", "mine");
    desk.all_fail("fit .ell0-data.csv --states x,y,z --out run --force | holds .ell0-notes.txt");
}

#[test]
fn manual_pages_replace_nothing_but_manual_pages() {
    let desk = Desk::new().with("mine/ell0-fit.1", "my own");
    desk.all_fail("man mine | mine/ell0-fit.1 exists");
    desk.does("man pages");
    let page = desk.read("pages/ell0-fit.1");
    assert!(page.contains("ell0") && page.contains("SYNOPSIS"), "{page}");
    desk.does("man pages");
    assert_eq!(desk.read("pages/ell0-fit.1"), page);
}
