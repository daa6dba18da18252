//! The runs that are killed, and how each goes on.

use crate::desk::Desk;

/// A run.
pub struct Run {
    /// What it is called.
    pub name: &'static str,
    /// Whether it needs the table, and whether it needs a policy.
    table: bool,
    policy: bool,
    /// How it begins.
    pub first: &'static [&'static str],
    /// How it goes on where it has begun; none for runs whose results appear whole, at the end.
    again: Option<&'static [&'static str]>,
    /// What it leaves.
    pub out: &'static str,
}

const TRAIN: &[&str] = &[
    "train",
    "--env",
    "pendulum(g=9.81, limit=60)",
    "--policy",
    "polynomial(2)",
    "--policy",
    "network(16)",
    "--episodes",
    "150",
    "--updates",
    "60",
    "--out",
    "out",
];

const LAW: &str = "2*tanh(-4.66*sin_theta - 0.5*theta_dot - 3.82*cos_theta*theta_dot - 12.31*cos_theta*sin_theta)";

/// All of them. Each takes a few seconds, so that trainings, which save themselves every second or two, are killed on both sides of a save.
pub const RUNS: [Run; 7] = [
    Run {
        name: "fit",
        table: true,
        policy: false,
        first: &[
            "fit",
            "table.csv",
            "--states",
            "x0,x1,x2,x3",
            "--library",
            "polynomial(3)",
            "--dt",
            "0.01",
            "--out",
            "out",
        ],
        again: None,
        out: "out",
    },
    Run {
        name: "stats",
        table: true,
        policy: false,
        first: &[
            "stats",
            "table.csv",
            "--states",
            "x0,x1,x2,x3",
            "--library",
            "polynomial(4)",
            "--dt",
            "0.01",
            "--out",
            "out.stats",
        ],
        again: None,
        out: "out.stats",
    },
    Run {
        name: "analyze",
        table: false,
        policy: true,
        first: &[
            "analyze",
            "policy.json",
            "--env",
            "pendulum(g=9.81)",
            "--prove-seconds",
            "0",
            "--out",
            "out",
        ],
        again: None,
        out: "out",
    },
    Run {
        name: "train",
        table: false,
        policy: false,
        first: TRAIN,
        again: Some(&["train", "--resume", "--out", "out"]),
        out: "out",
    },
    Run {
        name: "network",
        table: true,
        policy: false,
        first: &[
            "network",
            "table.csv",
            "--targets",
            "x3",
            "--hidden",
            "64,64",
            "--epochs",
            "150",
            "--out",
            "out",
        ],
        again: Some(&["network", "--resume", "--out", "out"]),
        out: "out",
    },
    Run {
        name: "tutorial",
        table: false,
        policy: false,
        first: &["tutorial", "dynamics", "--epochs", "3", "--out", "out"],
        again: Some(&["tutorial", "dynamics", "--resume", "--out", "out"]),
        out: "out",
    },
    Run {
        name: "figures",
        table: false,
        policy: false,
        first: &[
            "tutorial",
            "--quick",
            "--skip",
            "dynamics,reward,policy,analysis,pde",
            "--out",
            "out",
        ],
        // The same command goes on with the whole tutorial.
        again: Some(&[
            "tutorial",
            "--quick",
            "--skip",
            "dynamics,reward,policy,analysis,pde",
            "--out",
            "out",
        ]),
        out: "out",
    },
];

impl Run {
    /// Puts what the run reads into a folder.
    pub fn prepare(&self, desk: &Desk) -> anyhow::Result<()> {
        if self.table {
            desk.put("table.csv", table().as_bytes());
        }
        if self.policy {
            let inputs = ["cos_theta", "sin_theta", "theta_dot"];
            let law = ell0::equation::Expression::parse(LAW, &inputs)?;
            let inputs = inputs.map(String::from).to_vec();
            let laws = vec![("torque".to_string(), law)];
            let dynamics = ell0::equation::Dynamics::Regression;
            let model = ell0::equation::Model::new(inputs, laws, dynamics)?;
            desk.put("policy.json", model.to_json().as_bytes());
        }
        Ok(())
    }

    /// The command that comes next; none if all is done.
    pub fn next(&self, desk: &Desk) -> Option<&'static [&'static str]> {
        match self.again {
            // What exists is whole.
            None => (!desk.file(self.out).exists()).then_some(self.first),
            Some(again) => Some(if desk.file(self.out).exists() {
                again
            } else {
                self.first
            }),
        }
    }
}

/// Four coupled oscillators, long enough that reading them takes a moment.
fn table() -> String {
    use std::fmt::Write;
    let mut csv = String::from("x0,x1,x2,x3\n");
    for k in 0..60_000 {
        let t = 0.01 * f64::from(k);
        let (a, b) = ((1.3 * t).sin(), (1.3 * t).cos());
        let (c, d) = ((0.7 * t).sin() * a, (0.7 * t).cos() + 0.1 * b);
        let _ = writeln!(csv, "{a},{b},{c},{d}");
    }
    csv
}
