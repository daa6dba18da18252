//! Every step that an environment takes is reported, and where training has been best it ends.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ell0::rng::{Generator, Stream};
use ell0_control::{
    Result,
    agent::EnvironmentSteps,
    environment::{Environment, Space, Start, Step, make},
};
use ell0_run::{Event, Silent, Site, TrainPlan, TrainSettings};

/// An environment, and the steps that it and its copies have taken.
struct Counting {
    inner: Box<dyn Environment>,
    taken: Arc<AtomicU64>,
}

impl Counting {
    fn new() -> Self {
        Counting {
            inner: make("pendulum(g=9.81, limit=12)").expect("an environment"),
            taken: Arc::default(),
        }
    }

    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Environment for Counting {
    fn text(&self) -> String {
        self.inner.text()
    }

    fn observation_space(&self) -> &Space {
        self.inner.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.inner.action_space()
    }

    fn reset(&mut self, rng: &mut Generator) {
        self.inner.reset(rng);
    }

    fn observe(&self, observation: &mut [f32]) {
        self.inner.observe(observation);
    }

    fn step(&mut self, action: &[f64]) -> Result<Step> {
        self.taken.fetch_add(1, Ordering::Relaxed);
        self.inner.step(action)
    }

    fn copy(&self) -> Box<dyn Environment> {
        Box::new(Counting {
            inner: self.inner.copy(),
            taken: self.taken.clone(),
        })
    }

    fn time_limit(&self) -> Option<u32> {
        self.inner.time_limit()
    }

    fn evaluation_starts(&self) -> Vec<Start> {
        Start::seeds(40)
    }

    fn training_starts(&self, stream: &Stream, count: u64) -> Vec<Start> {
        Start::drawn(stream, count.min(20))
    }
}

fn plan() -> TrainPlan {
    TrainPlan {
        policies: vec!["polynomial(2)".into()],
        episodes: Some(34),
        worlds: Some(2),
        updates: Some(3),
        seeds: 2,
        terms: Some(3),
        fine_tune: true,
        exchange: true,
        ..TrainPlan::default()
    }
}

fn settings(plan: &TrainPlan) -> TrainSettings {
    let counting = Counting::new();
    plan.settings(&counting.text(), &counting)
        .expect("settings")
}

/// All stages, two environments side by side, two seeds: what is reported is what was taken.
#[test]
fn every_step_is_reported() {
    let network = TrainPlan {
        policies: vec!["sparse-network(4)".into()],
        terms: None,
        fine_tune: false,
        exchange: false,
        ..plan()
    };
    for (plan, refined) in [(plan(), true), (network, false)] {
        let counting = Counting::new();
        let run = settings(&plan)
            .run_in(&counting, None, &Silent)
            .expect("trained");
        let mut reported = EnvironmentSteps::default();
        run.rows()
            .iter()
            .for_each(|r| reported += r.environment_steps);
        assert_eq!(reported.total(), counting.taken(), "{reported:?}");
        assert_eq!(reported.learning, 2 * 34 * 2 * 12);
        // Three times on the way and once after the last episode from 20 starts, the end from 40.
        assert_eq!(reported.evaluation, 2 * (4 * 20 + 40) * 12);
        assert_eq!(reported.pruning > 0 && reported.tuning > 0, refined);
    }
}

/// Stopped in the middle of learning and again while terms are dropped, it reports the same, from the same policies.
#[test]
fn an_interrupted_run_reports_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plan, world) = (plan(), Counting::new());
    let whole = settings(&plan)
        .run_in(&world, None, &Silent)
        .expect("trained");
    let site = Site::new(folder.path().join("run"));
    let stopping = |at: u64| {
        move |event: Event| match event {
            Event::Reached { step, .. } if step >= at => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let begun = settings(&plan).run_in(&world, Some(&site), &stopping(17));
    begun.expect_err("stopped");
    // The last episode is told of, then each kind of refinement.
    let again = TrainSettings::resume_in(&world, &site, None, &stopping(34));
    again.expect_err("stopped");
    let resumed = TrainSettings::resume_in(&world, &site, None, &Silent).expect("trained");
    assert_eq!(resumed, whole);
}
