//! What exists only to reproduce the published code of Botteghi and Fasel (2024), with what it gets wrong.

use ell0::{
    features::Library,
    network::NoisePer,
    rng::{Generator, Stream},
};

use crate::{
    agent::{ActorKind, AlgorithmConfig, Td3Config, TrainConfig},
    environment::{
        ClosedForm, Environment, GridConfig, Optimum, Situation, SmoothStep, Space, Start, Step,
        Tied,
    },
    error::Result,
};

impl TrainConfig {
    /// The settings of the published code for this environment, policy and seed: targets are not smoothed and their gates are drawn (once for the batch), observations are not scaled, the price is not related to
    /// Q, products of a Fourier library are paired by its mistake. Its world is a [`LimitEnds`].
    pub fn published(self) -> Result<Self> {
        let mut kind: ActorKind = self.policy.parse()?;
        let mut lambda = 0.005;
        let mut actor_rate = 3e-4;
        if let ActorKind::Dictionary { library, .. } = &mut kind {
            if matches!(library, Library::Sum(_)) {
                lambda = 0.01;
            }
            actor_rate = 1e-3;
            *library = library.clone().published();
        }
        Ok(TrainConfig {
            policy: kind.to_string(),
            updates: 100,
            lambda,
            lambda_from: 0,
            lambda_full: 0,
            relative_lambda: false,
            ease_lambda: false,
            keep_best: false,
            scale_inputs: false,
            gates: NoisePer::Batch,
            agent: AlgorithmConfig::Td3(Td3Config {
                smoothing: 0.0,
                actor_rate,
                sampled_targets: true,
                ..Td3Config::default()
            }),
            ..self
        })
    }
}

/// A world whose time limit ends an episode for good: what is cut off is called terminated, too, so that the bootstrap is cut there.
#[derive(Clone, Debug)]
pub struct LimitEnds<E>(pub E);

impl<E: Environment> Environment for LimitEnds<E> {
    fn text(&self) -> String {
        format!("{}, its time limit an end", self.0.text())
    }

    fn observation_space(&self) -> &Space {
        self.0.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.0.action_space()
    }

    fn reset(&mut self, rng: &mut Generator) {
        self.0.reset(rng);
    }

    fn observe(&self, observation: &mut [f32]) {
        self.0.observe(observation);
    }

    fn step(&mut self, action: &[f64]) -> Result<Step> {
        let step = self.0.step(action)?;
        Ok(Step {
            terminated: step.terminated || step.truncated,
            ..step
        })
    }

    fn copy(&self) -> Box<dyn Environment> {
        Box::new(LimitEnds(self.0.copy()))
    }

    fn state_names(&self) -> Vec<String> {
        self.0.state_names()
    }

    fn state(&self) -> &[f64] {
        self.0.state()
    }

    fn reset_to(&mut self, state: &[f64]) -> Result<()> {
        self.0.reset_to(state)
    }

    fn time_limit(&self) -> Option<u32> {
        self.0.time_limit()
    }

    fn evaluation_starts(&self) -> Vec<Start> {
        self.0.evaluation_starts()
    }

    fn usual_start(&self) -> Start {
        self.0.usual_start()
    }

    fn training_starts(&self, stream: &Stream, count: u64) -> Vec<Start> {
        self.0.training_starts(stream, count)
    }

    fn evaluation_grid(&self) -> Vec<Situation> {
        self.0.evaluation_grid()
    }

    fn tied(&self) -> Option<Tied> {
        self.0.tied()
    }

    fn smooth(&self) -> Option<&dyn SmoothStep> {
        self.0.smooth()
    }

    fn closed_form(&self) -> Option<&dyn ClosedForm> {
        self.0.closed_form()
    }

    fn optimum(&self, steps: u32, starts: &[Start], grid: GridConfig) -> Result<Option<Optimum>> {
        self.0.optimum(steps, starts, grid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::make;

    #[test]
    fn the_limit_is_an_end() {
        let mut world = LimitEnds(make("pendulum(limit=3)").expect("a world"));
        let ends: Vec<bool> = (0..3)
            .map(|_| world.step(&[0.0]).expect("a step").terminated)
            .collect();
        assert_eq!(ends, [false, false, true]);
    }

    #[test]
    fn the_settings_are_a_readable_policy() {
        let config = TrainConfig {
            policy: "polynomial(3) + fourier(1, interactions)".into(),
            ..TrainConfig::default()
        };
        let config = config.published().expect("settings");
        assert_eq!((config.lambda, config.updates), (0.01, 100));
        config.kind().expect("a policy");
    }
}
