//! Whether a world that somebody wrote can be worked with.

use ell0::rng::Stream;

use super::{Environment, Space};
use crate::error::{Error, Result, require_size};

/// Random beginnings that are looked at.
const TRIED: u64 = 3;

/// Checks a world once, before it is worked with: spaces that make sense, names that differ, a copy that is like it, observations that are written whole and finite. What it does in a step is checked in every
/// step.
pub fn check(world: &dyn Environment) -> Result<()> {
    let (observation, action) = (world.observation_space(), world.action_space());
    for (what, space) in [("the observations", observation), ("the actions", action)] {
        if space.is_empty() {
            return Err(Error::Size {
                what,
                found: 0,
                expected: 1,
            });
        }
        space.check()?;
    }
    unique(observation, action)?;
    let names = world.state_names();
    require_size("the state of a world", world.state().len(), names.len())?;
    if world.time_limit() == Some(0) {
        return Err(Error::Parameter {
            name: "time limit".into(),
            value: 0.0,
            expected: "an episode has at least one step",
        });
    }
    let mut copy = world.copy();
    if copy.text() != world.text()
        || copy.observation_space() != observation
        || copy.action_space() != action
        || copy.state_names() != names
        || copy.time_limit() != world.time_limit()
    {
        return Err(Error::Copy {
            environment: world.text(),
        });
    }
    let mut seen = vec![0f32; observation.len()];
    for k in 0..TRIED {
        copy.reset(&mut Stream::new(0).split("check").at(k));
        look(copy.as_ref(), &mut seen, k + 1, 0)?;
        require_size("the state of a world", copy.state().len(), names.len())?;
    }
    Ok(())
}

/// An observation and an action of the same name could not be told apart in a table or a law.
fn unique(observation: &Space, action: &Space) -> Result<()> {
    let both = (0..action.len()).find(|&k| observation.names().contains(&action.names()[k]));
    match both {
        None => Ok(()),
        Some(k) => Err(Error::Space {
            component: action.names()[k].clone(),
            low: action.low(k),
            high: action.high(k),
            expected: "an action may not have the name of an observation",
        }),
    }
}

/// What a world shows, checked: an error names the first component that is not finite, or that the world did not write.
pub(crate) fn look(
    world: &dyn Environment,
    seen: &mut [f32],
    episode: u64,
    step: u64,
) -> Result<()> {
    seen.fill(f32::NAN);
    world.observe(seen);
    match seen.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(k) => Err(Error::World {
            environment: world.text(),
            episode,
            step,
            what: format!("the observation `{}`", world.observation_space().names()[k]),
            value: f64::from(seen[k]),
        }),
    }
}
