//! Acting in a world: environments, policies, experience, control laws that are learned, and what can be said of them.
//!
//! - [`environment`]: what can be reset and stepped, the pendulum of Gymnasium among them; worlds of your own; worlds by name.
//! - [`policy`]: what chooses actions. [`rollout`](mod@rollout): the one loop that acts.
//! - [`agent`]: policies with parameters, how they learn, how they are saved and refined.
//! - [`evaluation`]: returns from fixed starts. [`episode`]: experience as columns of a table. [`replay`]: experience in a ring.
//! - [`analysis`]: equilibria, margins, regions that are proved, robustness.
//! - [`published`]: what exists only to reproduce the published code.
//!
//! A world is a value. Here is one, a point that is pushed towards 0, and a law for it that is learned, measured and written down:
//!
//! ```
//! use ell0::rng::Generator;
//! use ell0_control::{
//!     agent::{TrainConfig, Training},
//!     environment::{Environment, Space, Step},
//!     evaluation::evaluate,
//! };
//!
//! #[derive(Clone)]
//! struct Point {
//!     x: f64,
//!     seen: Space,
//!     chosen: Space,
//! }
//!
//! impl Environment for Point {
//!     fn text(&self) -> String {
//!         "point".into()
//!     }
//!     fn observation_space(&self) -> &Space {
//!         &self.seen
//!     }
//!     fn action_space(&self) -> &Space {
//!         &self.chosen
//!     }
//!     fn reset(&mut self, rng: &mut Generator) {
//!         self.x = 2.0 * rng.uniform() - 1.0;
//!     }
//!     fn observe(&self, observation: &mut [f32]) {
//!         observation[0] = self.x as f32;
//!     }
//!     fn step(&mut self, action: &[f64]) -> ell0_control::Result<Step> {
//!         self.x += 0.2 * self.chosen.clamp(0, action[0]);
//!         Ok(Step::goes_on(-self.x.powi(2)))
//!     }
//!     fn copy(&self) -> Box<dyn Environment> {
//!         Box::new(self.clone())
//!     }
//!     fn time_limit(&self) -> Option<u32> {
//!         Some(20)
//!     }
//! }
//!
//! let world = Point {
//!     x: 0.0,
//!     seen: Space::default().unbounded("x"),
//!     chosen: Space::default().with("push", -1.0, 1.0),
//! };
//! let config = TrainConfig {
//!     environment: world.text(),
//!     policy: "polynomial(1)".into(),
//!     episodes: 20,
//!     random_episodes: 5,
//!     updates_after: 5,
//!     updates: 20,
//!     ..TrainConfig::default()
//! };
//! let mut training = Training::new(config, world.copy())?;
//! while !training.is_over() {
//!     training.episode()?;
//! }
//! let actor = training.actor();
//! let result = evaluate(&world, &actor, &world.evaluation_starts())?;
//! assert!(result.mean < 0.0);
//! let law = actor.model()?.expect("a dictionary has a closed form");
//! // push = tanh(0.05 - 1.2*x), or so
//! println!("{} with a mean return of {:.1}", law.text(3), result.mean);
//! # Ok::<(), ell0_control::Error>(())
//! ```

pub mod agent;
pub mod analysis;
pub mod environment;
pub mod episode;
pub mod error;
pub mod evaluation;
pub mod policy;
pub mod published;
pub mod replay;
pub mod rollout;

pub use error::{Error, Result};

#[cfg(test)]
mod testing;
