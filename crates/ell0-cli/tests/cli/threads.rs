//! The same bits on any number of threads, as files have them.

use crate::fixture::{Desk, lorenz};

#[test]
fn any_number_of_threads_leaves_the_same_files() {
    let desk = Desk::new().with("data.csv", lorenz());
    for threads in [1, 3] {
        let lines = [
            format!("fit data.csv --states x,y,z --out fit{threads}"),
            format!("stats data.csv --states x,y,z --out stats{threads}.json"),
            format!(
                "train --env pendulum(limit=20) --policy polynomial(2) --episodes 4 --seeds 2 --out train{threads}"
            ),
            format!("collect --env pendulum --episodes 9 --out collect{threads}.csv"),
        ];
        let script = lines.map(|line| {
            let words: Vec<String> = line.split(' ').map(|w| format!("'{w}'")).collect();
            format!("'{}' {}\n", env!("CARGO_BIN_EXE_ell0"), words.join(" "))
        });
        desk.put(
            "run.sh",
            format!(
                "set -e\nexport RAYON_NUM_THREADS={threads}\n{}",
                script.concat()
            ),
        );
        desk.run("bash", "run.sh");
    }
    let names = desk.files();
    let of_one: Vec<&String> = names
        .iter()
        .filter(|n| {
            ["model.json", "path.csv", "path.svg", "trajectories.csv"]
                .contains(&n.rsplit('/').next().unwrap_or(n))
                || n.contains("policies/")
                || n.starts_with("stats")
                || n.starts_with("collect")
        })
        .filter(|n| n.split('/').next().is_some_and(|top| top.contains('1')))
        .collect();
    assert!(of_one.len() >= 7, "{of_one:?} of {names:?}");
    for name in of_one {
        let of_three = name.replacen('1', "3", 1);
        assert!(
            desk.bytes(name) == desk.bytes(&of_three),
            "{name} and {of_three} differ"
        );
    }
}
