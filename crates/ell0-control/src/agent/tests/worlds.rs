//! A world that a caller wrote, from beginning to end; worlds that break.

use ell0::rng::{Generator, Stream};

use super::{super::*, quick};
use crate::{
    Error, Result,
    analysis::on,
    environment::{Environment, Space, Start, Step, check, make},
    episode::Recorder,
    evaluation::evaluate,
    policy::{LawPolicy, Random},
    rollout::{End, rollout},
    testing::Cart,
};

fn train(policy: &str) -> Training {
    let mut training = Training::new(quick(policy), Box::new(Cart::new())).expect("a training");
    while !training.is_over() {
        training.episode().expect("finite");
    }
    training
}

#[test]
fn a_world_of_ones_own_is_trained_in_evaluated_refined_and_written_down() {
    let cart = Cart::new();
    check(&cart).expect("a world");
    for policy in ["polynomial(2)", "network(6)", "sparse-network(6, 5)"] {
        let training = train(policy);
        let history = training.history();
        assert_eq!(history.len(), 10);
        assert!(
            history[4..]
                .iter()
                .all(|r| r.critic_loss.is_some_and(f64::is_finite))
        );
        let actor = training.actor();
        let starts = cart.evaluation_starts();
        assert_eq!(starts.len(), 200);
        let result = evaluate(&cart, &actor, &starts).expect("a return");
        assert!(result.mean.is_finite() && result.episodes == 200);
        assert!(
            result.steps < 200 * u64::from(Cart::LIMIT),
            "some episodes end at a wall"
        );
        let stream = Stream::new(1).split("refine");
        let prune_config = PruneConfig {
            starts: 20,
            ..PruneConfig::default()
        };
        let pruned = prune(&actor, &cart, &prune_config, &stream, &on).expect("pruned");
        let tune_config = FineTuneConfig {
            generations: 2,
            starts: 10,
        };
        let tuned = fine_tune(&pruned.actor, &cart, &tune_config, &stream, &on)
            .expect("tuned")
            .actor;
        let dictionary = policy.starts_with("poly");
        assert_eq!(tuned.model().expect("finite").is_some(), dictionary);
        assert_eq!(tuned.network().expect("finite").is_some(), !dictionary);
        let path = rollout(&cart, &tuned, &starts[0]).expect("a rollout");
        assert_eq!(path.action_names, ["push", "brake"]);
        assert!(path.states.is_empty() && path.steps() <= Cart::LIMIT as usize);
        if let Some(model) = tuned.model().expect("finite") {
            let (seen, chosen) = (cart.observation_space(), cart.action_space());
            let law = LawPolicy::new(&model, seen, chosen).expect("a policy");
            let direct = evaluate(&cart, &tuned, &starts).expect("a return").mean;
            let written = evaluate(&cart, &law, &starts).expect("a return").mean;
            assert!(
                (direct - written).abs() < 1e-3 * direct.abs().max(1.0),
                "{direct} {written}"
            );
            assert!(path.total().is_finite());
        }
        if let Some(network) = tuned.network().expect("finite") {
            assert_eq!(network.outputs(), ["push", "brake"]);
        }
    }
}

/// DDPG from beginning to end, in a world that ends: the ends are where the walls are.
#[test]
fn ddpg_learns_in_a_world_that_ends() {
    let mut config = quick("network(8)");
    let AlgorithmConfig::Td3(td3) = &mut config.agent;
    *td3 = Td3Config {
        critic_hidden: vec![8],
        batch: 16,
        ..Td3Config::ddpg()
    };
    let mut training = Training::new(config, Box::new(Cart::new())).expect("a training");
    let before = training.actor();
    while !training.is_over() {
        training.episode().expect("finite");
    }
    assert_ne!(before, training.actor());
    assert!(
        training
            .agent
            .memory()
            .tensors
            .keys()
            .all(|n| !n.contains("critic1"))
    );
}

/// Every step of an episode but the last goes on; the last is terminated at a wall, else truncated by the limit.
#[test]
fn ends_are_where_the_world_says() {
    let cart = Cart::new();
    let random = Random(cart.action_space().clone());
    let mut recorder = Recorder::new(&cart, &random).expect("a recorder");
    for episode in 0..30 {
        recorder.run(&Stream::new(1), episode).expect("finite");
    }
    let columns = recorder.take();
    let (mut crashed, mut cut) = (0, 0);
    for row in 0..columns.rows() {
        let last = columns.step.get(row + 1).is_none_or(|s| *s == 0);
        let at = columns.next_observation[0][row];
        let out = !(Cart::WALLS.0..=Cart::WALLS.1).contains(&at);
        assert_eq!(columns.terminated[row], out, "{at}");
        assert_eq!(
            columns.truncated[row],
            columns.step[row] + 1 == i64::from(Cart::LIMIT)
        );
        assert_eq!(last, columns.terminated[row] || columns.truncated[row]);
        assert!(
            (-1.0..=3.0).contains(&columns.action[0][row])
                && (0.0..=0.5).contains(&columns.action[1][row])
        );
        crashed += u32::from(columns.terminated[row]);
        cut += u32::from(columns.truncated[row] && !columns.terminated[row]);
    }
    assert!(
        crashed > 0 && cut > 0 && crashed + cut == 30,
        "{crashed} {cut}"
    );
    let fast = Start::Seed(3);
    let path = rollout(&cart, &random, &fast).expect("a rollout");
    assert_eq!(
        path.end == End::Truncated,
        path.steps() == Cart::LIMIT as usize
    );
    // It cannot be put into a state, and says so.
    let error = rollout(&cart, &random, &Start::State(vec![0.0])).expect_err("no state");
    assert!(matches!(error, Error::NoState { .. }));
}

/// How a world may break.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Reward(f64),
    Observation(f32),
    Short,
}

/// A pendulum that breaks from some step on.
#[derive(Clone)]
struct Broken {
    pendulum: crate::environment::Pendulum,
    steps: u64,
    good: u64,
    fault: Fault,
}

impl Broken {
    fn new(good: u64, fault: Fault) -> Self {
        let pendulum = crate::environment::Pendulum::new(Default::default()).expect("a pendulum");
        Broken {
            pendulum,
            steps: 0,
            good,
            fault,
        }
    }

    fn is_broken(&self) -> bool {
        self.steps >= self.good
    }
}

impl Environment for Broken {
    fn text(&self) -> String {
        "broken".into()
    }

    fn observation_space(&self) -> &Space {
        self.pendulum.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.pendulum.action_space()
    }

    fn reset(&mut self, rng: &mut Generator) {
        self.pendulum.reset(rng);
    }

    fn observe(&self, observation: &mut [f32]) {
        match self.fault {
            Fault::Short if self.is_broken() => self.pendulum.observe(&mut observation[..2]),
            Fault::Observation(value) if self.is_broken() => {
                self.pendulum.observe(observation);
                observation[1] = value;
            }
            _ => self.pendulum.observe(observation),
        }
    }

    fn step(&mut self, action: &[f64]) -> Result<Step> {
        let mut step = self.pendulum.step(action)?;
        self.steps += 1;
        if let Fault::Reward(value) = self.fault
            && self.is_broken()
        {
            step.reward = value;
        }
        Ok(step)
    }

    fn copy(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    fn time_limit(&self) -> Option<u32> {
        Some(40)
    }
}

/// The error names the place, and training is what it was before the episode, to the bit.
#[test]
fn a_world_that_breaks_down_costs_no_training() {
    for (fault, words) in [
        (Fault::Reward(f64::NAN), "the reward NaN"),
        (Fault::Reward(f64::INFINITY), "the reward inf"),
        (Fault::Reward(1e300), "the reward 1000"),
        (
            Fault::Observation(f32::NAN),
            "the observation `sin_theta` NaN",
        ),
        (Fault::Short, "the observation `theta_dot` NaN"),
    ] {
        let config = TrainConfig {
            environment: "broken".into(),
            replay: 90,
            ..quick("polynomial(2)")
        };
        let world = Broken::new(5 * 40 + 17, fault);
        let mut training = Training::new(config, Box::new(world)).expect("a training");
        for _ in 0..5 {
            training.episode().expect("finite");
        }
        let (memory, replay) = (training.agent.memory(), training.replay.clone());
        let error = training.episode().expect_err("broken");
        assert!(
            matches!(
                error,
                Error::World {
                    episode: 6,
                    step: 17,
                    ..
                }
            ),
            "{error:?}"
        );
        let error = error.to_string();
        assert!(
            error.contains(words) && error.contains("step 17 of episode 6"),
            "{error}"
        );
        assert!(memory == training.agent.memory() && replay == training.replay);
        assert_eq!(
            (
                training.episode,
                training.steps.learning,
                training.history().len()
            ),
            (5, 200, 5)
        );
        // The same in a recording and in an evaluation.
        let world = Broken::new(60, fault);
        let random = Random(world.action_space().clone());
        let mut recorder = Recorder::new(&world, &random).expect("a recorder");
        recorder.run(&Stream::new(0), 0).expect("finite");
        // A copy for each episode: this one breaks in its second.
        let broke = recorder.run(&Stream::new(0), 1);
        if fault != Fault::Reward(1e300) {
            assert!(
                matches!(
                    broke,
                    Err(Error::World {
                        episode: 2,
                        step: 20,
                        ..
                    })
                ),
                "{broke:?}"
            );
            assert_eq!(recorder.columns().rows(), 40);
            let world = Broken::new(20, fault);
            let result = evaluate(&world, &random, &Start::seeds(3));
            assert!(
                matches!(
                    result,
                    Err(Error::World {
                        episode: 1,
                        step: 20,
                        ..
                    })
                ),
                "{result:?}"
            );
        }
    }
}

/// A policy that asks for what is no number.
#[test]
fn a_policy_that_breaks_down_is_named() {
    let world = make("pendulum").expect("a world");
    let names = world.observation_space().names();
    let model = crate::policy::policy_from_text("sqrt(-2 - cos_theta)", names, &["torque".into()])
        .expect("a law");
    let law =
        LawPolicy::new(&model, world.observation_space(), world.action_space()).expect("a policy");
    let error = evaluate(world.as_ref(), &law, &Start::seeds(2)).expect_err("no number");
    assert!(matches!(error, Error::Action { step: 1, .. }), "{error}");
}

#[test]
fn an_action_of_the_wrong_size_is_an_error() {
    let mut world = make("pendulum").expect("an environment");
    for action in [&[][..], &[1.0, 2.0]] {
        let error = world.step(action).expect_err("the wrong size").to_string();
        assert!(error.contains("1 are needed"), "{error}");
    }
    assert!(world.step(&[f64::NAN]).is_err());
}

/// What cannot be worked with is said before anything is done.
#[test]
fn worlds_are_checked_once() {
    type Change = fn(&mut Odd);
    let mistakes: [(Change, &str); 7] = [
        (|w| w.actions = Space::default(), "the actions has 0 values"),
        (
            |w| w.observations = Space::default().with("x", 1.0, -1.0),
            "least value",
        ),
        (
            |w| w.observations = Space::default().unbounded("u"),
            "name of an observation",
        ),
        (
            |w| w.actions = Space::default().with("", 0.0, 1.0),
            "needs a name",
        ),
        (
            |w| w.names = vec!["x".into()],
            "the state of a world has 0 values",
        ),
        (
            |w| w.value = f32::INFINITY,
            "the observation `x` inf in step 0",
        ),
        (|w| w.liar = true, "a copy of odd differs"),
    ];
    let good = Odd {
        observations: Space::default().unbounded("x"),
        actions: Space::default().with("u", 0.0, 1.0),
        names: Vec::new(),
        value: 1.0,
        liar: false,
    };
    check(&good).expect("a world");
    for (change, words) in mistakes {
        let mut world = good.clone();
        change(&mut world);
        let error = check(&world).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
        assert!(Training::new(quick("polynomial(1)"), Box::new(world)).is_err());
    }
    // It never ends: it is cut off, not run for ever.
    let random = Random(good.actions.clone());
    let path = rollout(&good, &random, &Start::Seed(0)).expect("a rollout");
    assert_eq!(
        (path.steps() as u32, path.end),
        (crate::rollout::MOST_STEPS, End::Truncated)
    );
}

#[derive(Clone)]
struct Odd {
    observations: Space,
    actions: Space,
    names: Vec<String>,
    value: f32,
    liar: bool,
}

impl Environment for Odd {
    fn text(&self) -> String {
        "odd".into()
    }

    fn observation_space(&self) -> &Space {
        &self.observations
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn reset(&mut self, _: &mut Generator) {}

    fn observe(&self, observation: &mut [f32]) {
        observation.fill(self.value);
    }

    fn step(&mut self, _: &[f64]) -> Result<Step> {
        Ok(Step::goes_on(0.0))
    }

    fn state_names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn copy(&self) -> Box<dyn Environment> {
        let mut copy = self.clone();
        if self.liar {
            copy.observations = Space::default().unbounded("y");
        }
        Box::new(copy)
    }
}
