//! Worlds by name.

use ell0_control::environment::{check, make};

use super::text::{self, Grammar};
use crate::verdict::{Fault, Outcome, Verdict, error};

pub const TARGET: Grammar = Grammar {
    seeds: &SEEDS,
    words: &WORDS,
    run,
};

const SEEDS: [&str; 10] = [
    "pendulum",
    "pendulum()",
    "pendulum(g=9.81)",
    "ks(mu=[-0.1, 0.1], warmup=3, points=16)",
    "cdr(nu=0.001..0.002, noise=0.1, sensors=4)",
    "heat(kappa=0.01, hidden=true)",
    "burgers(nu=0.1, force=0, substeps=2)",
    "cartpole-swingup(g=9.81)",
    "pendulum(g=9.81, mass=1, length=1, limit=200)",
    " pendulum( g = 9.81 , limit=50)",
];

const WORDS: [&str; 15] = [
    "pendulum", "g", "mass", "length", "limit", "=", "(", ")", ",", "9.81", "1e-300", "-1", "1e6",
    "nan", " ",
];

fn run(bytes: &[u8]) -> Verdict {
    text::read(bytes, make, |world| {
        let said = world.text();
        let again = |text: &str| make(text).map(|w| w.text());
        text::same_again(&said, &said, again)?;
        if let Err(e) = check(world.as_ref()) {
            return error(e);
        }
        let mut world = world.copy();
        world.reset(&mut ell0::rng::Stream::new(0).at(0));
        let action = vec![0.5; world.action_space().names().len()];
        match world.step(&action) {
            Ok(step) if step.reward.is_nan() => Err(Fault::wrong("the reward is a number", said)),
            Ok(_) => Ok(Outcome::Valid),
            Err(e) => error(e),
        }
    })
}
