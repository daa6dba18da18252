//! A world of one's own, trained in, stopped, resumed, exported, with its page: `cargo run --release --example own_world`

use std::{ops::ControlFlow, path::Path};

use ell0::rng::Generator;
use ell0_control::{agent::TrainConfig, environment::*};
use ell0_run::*;

/// A balloon: its height, how fast it climbs (without bound), its drift; a burner and a fan. It is lost if it goes too far.
#[derive(Clone)]
struct Balloon([f64; 3], Space, Space);

impl Environment for Balloon {
    fn text(&self) -> String {
        "balloon".into()
    }
    fn observation_space(&self) -> &Space {
        &self.1
    }
    fn action_space(&self) -> &Space {
        &self.2
    }
    fn reset(&mut self, rng: &mut Generator) {
        self.0 = [0.0; 3].map(|_| rng.uniform() - 0.5);
    }
    fn observe(&self, observation: &mut [f32]) {
        (0..3).for_each(|k| observation[k] = self.0[k] as f32);
    }
    fn step(&mut self, action: &[f64]) -> ell0_control::Result<Step> {
        let ([height, climb, drift], [burner, fan]) = (self.0, [action[0], action[1]]);
        let climb = climb + 0.1 * (burner - 1.0);
        self.0 = [height + 0.1 * climb, climb, drift + 0.1 * fan];
        let terminated = height.abs() > 2.0 || drift.abs() > 2.0;
        let lost = if terminated { 100.0 } else { 0.0 };
        let reward = -height.powi(2) - 0.1 * climb.powi(2) - drift.powi(2) - lost;
        Ok(Step::goes_on(reward).ends_if(terminated))
    }
    fn copy(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }
}

/// Everything, in a folder.
pub fn run(folder: &Path) -> ell0_run::Result<()> {
    let seen = [("height", 2.0), ("climb", f64::INFINITY), ("drift", 2.0)];
    let acts = Space::default().with("burner", 0.0, 3.0);
    let acts = acts.with("fan", -0.5, 0.5);
    let world = Balloon([0.0; 3], Space::symmetric(&seen), acts);
    let world = TimeLimit::new(world, 100);
    let mut config = TrainConfig::default();
    (config.episodes, config.updates) = (80, 60);
    (config.environment, config.policy) = (world.text(), "polynomial(1)".into());
    (config.random_episodes, config.updates_after) = (5, 5);
    let settings = TrainSettings::new(config);
    let whole = settings.run_in(&world, None, &Silent)?;

    let site = Site::new(folder.join("training"));
    let stop = |event: Event| match event {
        Event::Reached { step: 40, .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let stopped = settings.run_in(&world, Some(&site), &stop);
    println!("{}", stopped.expect_err("it was stopped in the middle"));
    let resumed = TrainSettings::resume_in(&world, &site, None, &Silent)?;
    assert_eq!(resumed, whole, "the same bits as without a stop");

    let policy = &resumed.policies[0].actor;
    let result = measure(&world, policy)?;
    println!("{:?}", resumed.rows()[0].equation);
    println!("return {:.2} ± {:.2}", result.worth.mean, result.worth.ci95);
    let exportable = Exportable::of_actor(policy)?;
    let exported = ExportSettings::default().run(&exportable, folder.join("c"))?;
    println!("{:?}, {:?}", exported.files, site.folder.join(PAGE));
    Ok(())
}

#[allow(dead_code, reason = "the test calls `run` in a folder of its own")]
fn main() -> ell0_run::Result<()> {
    run(Path::new("runs/own-world"))
}
