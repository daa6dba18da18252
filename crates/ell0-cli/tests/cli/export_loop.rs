//! An exported law of eight actions, compiled, in the loop with its world for a whole episode.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use ell0_control::{
    Result,
    environment::{Environment, make},
    policy::{Act, LawPolicy, Policy, policy_from_text},
    rollout::rollout,
};

use crate::fixture::{Desk, tool};

/// A policy in another process: it is told what is seen, and says what is done.
struct Process(std::path::PathBuf);

struct Talking {
    child: std::process::Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Policy for Process {
    fn start(&self, _: usize) -> Result<Box<dyn Act + '_>> {
        let mut child = Command::new(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the compiled law runs");
        let answers = BufReader::new(child.stdout.take().expect("its output"));
        Ok(Box::new(Talking { child, answers }))
    }
}

impl Act for Talking {
    fn act(
        &mut self,
        observation: &[f32],
        rows: usize,
        _: &mut [ell0::rng::Generator],
        action: &mut [f64],
    ) -> Result<()> {
        assert_eq!(rows, 1);
        let line: Vec<String> = observation.iter().map(ToString::to_string).collect();
        let to = self.child.stdin.as_mut().expect("its input");
        writeln!(to, "{}", line.join(" ")).expect("told");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        let values: Vec<f64> = line
            .split_whitespace()
            .map(|v| v.parse().expect("a number"))
            .collect();
        action.copy_from_slice(&values);
        Ok(())
    }
}

impl Drop for Talking {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

const PROGRAM: &str = r#"#include <stdio.h>
#include "law.h"
int main(void) {
  REAL x[LAW_INPUTS], y[LAW_OUTPUTS]; double v;
  for (;;) {
    for (int k = 0; k < LAW_INPUTS; ++k) { if (scanf("%lf", &v) != 1) return 0; x[k] = (REAL)v; }
    if (law(x, y) != 0) return 1;
    for (int k = 0; k < LAW_OUTPUTS; ++k) printf("%.17g ", (double)y[k]);
    printf("\n");
    fflush(stdout);
  }
}
"#;

fn laws(law: &str) -> String {
    let of = |k: usize| {
        let left = (k + 6) % 8 + 1;
        let law = law
            .replace("LEFT", &format!("m{left}"))
            .replace('#', &k.to_string());
        format!("a{k} = {law}")
    };
    (1..=8).map(of).collect::<Vec<_>>().join("; ")
}

/// The episode with the compiled law is that with the law itself: the same return, and the same field at the end. In single precision, too, as a microcontroller computes. What is seen is rounded to single precision: where the last
/// bits of an action differ, so may that rounding, and the field by as much.
#[test]
fn c_controls_fields_for_a_whole_episode() {
    let Some(gcc) = tool("gcc") else { return };
    for (world, law, steps) in [
        (
            "ks(mu=0.1)",
            "tanh(-0.69*LEFT - 5.3*m# - 0.5*mu10*m#^2)",
            999,
        ),
        (
            "cdr(nu=0.008, c=0.313, r=0.303)",
            "0.25*tanh(-1.5*m# - 9.7*m#*c - 3.9*LEFT^3)",
            50,
        ),
    ] {
        let world = make(world).expect("a world");
        let (seen, chosen) = (world.observation_space(), world.action_space());
        let model = policy_from_text(&laws(law), seen.names(), chosen.names()).expect("laws");
        let start = world.usual_start();
        let law = LawPolicy::new(&model, seen, chosen).expect("a policy");
        let expected = rollout(world.as_ref(), &law, &start).expect("an episode");
        assert_eq!(expected.steps(), steps);
        for (flag, real, tolerance) in [("", "double", 1e-6), (" --float", "float", 1e-3)] {
            let desk = Desk::new().with("law.json", model.to_json());
            desk.does(&format!("export law.json --to c --name law{flag}"));
            desk.put("run.c", PROGRAM.replace("REAL", real));
            desk.run(
                &gcc,
                "-std=c99 -Wall -Wextra -pedantic -Werror -O2 run.c law.c -o run -lm",
            );
            let process = Process(desk.path("run"));
            let found = rollout(world.as_ref(), &process, &start).expect("an episode");
            assert_eq!(found.steps(), steps);
            let (a, b) = (found.total(), expected.total());
            assert!((a / b - 1.0).abs() < tolerance, "{real}: {a} {b}");
            for (a, b) in found.states.iter().zip(&expected.states) {
                let (a, b) = (a[steps - 1], b[steps - 1]);
                assert!((a - b).abs() < tolerance, "{real}: {a} {b}");
            }
        }
    }
}
