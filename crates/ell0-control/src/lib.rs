//! Acting in a world: environments, policies, experience.
//!
//! - [`environment`]: what can be reset and stepped; [`Pendulum`](environment::Pendulum) as in Gymnasium; time limits; environments from text such as `pendulum(g=9.81)`.
//! - [`agent`]: actors, critics, TD3.
//! - [`evaluation`]: returns on a fixed grid of initial states. [`optimum`]: what optimal control would reach.
//! - [`policy`]: what chooses actions.
//! - [`replay`]: experience, in a ring. [`episode`]: experience as columns of a table.
//!
//! ```
//! use ell0::rng::Stream;
//! use ell0_control::{environment::make, episode::Recorder, policy::Random};
//!
//! let mut pendulum = make("pendulum(g=9.81)")?;
//! let mut recorder = Recorder::new(pendulum.as_ref());
//! recorder.run(pendulum.as_mut(), &mut Random, &Stream::new(0), 0)?;
//! assert_eq!(recorder.columns().rows(), 200);
//! # Ok::<(), ell0_control::Error>(())
//! ```

pub mod agent;
pub mod analysis;
pub mod environment;
pub mod episode;
pub mod error;
pub mod evaluation;
pub mod optimum;
pub mod policy;
pub mod replay;

pub use error::{Error, Result};
