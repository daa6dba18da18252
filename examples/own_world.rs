//! A world of one's own: trained in, stopped, resumed to the same bits, exported, with its page. `cargo run --release --example own_world`

use std::{ops::ControlFlow, path::Path};

use ell0::rng::Generator;
use ell0_control::{
    agent::TrainConfig,
    environment::{Environment, Space, Step},
};
use ell0_run::{
    Event, ExportSettings, Exportable, Observer, Result, Silent, Site, TrainSettings, measure,
};

/// A balloon: how high it is, how fast it climbs and how far it drifted, by a burner and a fan. It is lost if it goes too far.
#[derive(Clone)]
struct Balloon {
    state: [f64; 3],
    seen: Space,
    acts: Space,
}

impl Environment for Balloon {
    fn text(&self) -> String {
        "balloon".into()
    }
    fn observation_space(&self) -> &Space {
        &self.seen
    }
    fn action_space(&self) -> &Space {
        &self.acts
    }
    fn time_limit(&self) -> Option<u32> {
        Some(100)
    }
    fn reset(&mut self, rng: &mut Generator) {
        self.state = [0.0; 3].map(|_| rng.uniform() - 0.5);
    }
    fn observe(&self, observation: &mut [f32]) {
        (0..3).for_each(|k| observation[k] = self.state[k] as f32);
    }
    fn step(&mut self, action: &[f64]) -> ell0_control::Result<Step> {
        let (burner, fan) = (action[0].clamp(0.0, 3.0), action[1].clamp(-0.5, 0.5));
        let [height, climb, drift] = self.state;
        self.state = [
            height + 0.1 * climb,
            climb + 0.1 * (burner - 1.0),
            drift + 0.1 * fan,
        ];
        let terminated = height.abs() > 2.0 || drift.abs() > 2.0;
        let cost = height.powi(2) + 0.1 * climb.powi(2) + drift.powi(2);
        let reward = -cost - if terminated { 100.0 } else { 0.0 };
        Ok(Step {
            reward,
            terminated,
            truncated: false,
        })
    }
    fn copy(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }
}

/// Stops the training after an episode.
struct StopAfter(u64);

impl Observer for StopAfter {
    fn hear(&self, event: Event) -> ControlFlow<()> {
        match event {
            Event::Reached { step, .. } if step >= self.0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Everything, in a folder; the number of episodes is small, for a look.
pub fn run(folder: &Path) -> Result<()> {
    let seen = Space::default()
        .with("height", -2.0, 2.0)
        .unbounded("climb")
        .with("drift", -2.0, 2.0);
    let acts = Space::default()
        .with("burner", 0.0, 3.0)
        .with("fan", -0.5, 0.5);
    let world = Balloon {
        state: [0.0; 3],
        seen,
        acts,
    };
    let config = TrainConfig {
        environment: world.text(),
        policy: "polynomial(1)".into(),
        episodes: 80,
        random_episodes: 5,
        updates_after: 5,
        updates: 60,
        ..TrainConfig::default()
    };
    let settings = TrainSettings::new(config);
    let whole = settings.run_in(&world, Some(&Site::new(folder.join("whole"))), &Silent)?;
    let site = Site::new(folder.join("in-two-parts"));
    let stopped = settings.run_in(&world, Some(&site), &StopAfter(40));
    println!("{}", stopped.expect_err("it was stopped in the middle"));
    let resumed = TrainSettings::resume_in(&world, &site, &Silent)?;
    assert_eq!(resumed, whole, "the same bits");
    let policy = &resumed.policies[0];
    let result = measure(&world, &policy.actor)?;
    println!(
        "{}\nreturn {:.2} ± {:.2}",
        resumed.rows()[0].equation.as_deref().unwrap_or(""),
        result.worth.mean,
        result.worth.ci95
    );
    let exported =
        ExportSettings::default().run(&Exportable::of_actor(&policy.actor)?, folder.join("c"))?;
    println!(
        "{}\n{}",
        exported.files[0].display(),
        site.folder.join(ell0_run::PAGE).display()
    );
    Ok(())
}

#[allow(dead_code, reason = "the test calls `run` in a folder of its own")]
fn main() -> Result<()> {
    run(Path::new("runs/own-world"))
}
