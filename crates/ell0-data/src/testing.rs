//! What the tests of all modules share.

use proptest::{
    prelude::ProptestConfig,
    test_runner::{Config, RngSeed},
};

/// Property tests draw the same cases every time, `cases` of them or as many as the variable `PROPTEST_CASES` says; `PROPTEST_RNG_SEED` chooses others.
pub(crate) fn proptest_config(cases: u32) -> ProptestConfig {
    let asked = |name: &str| std::env::var(name).ok()?.parse().ok();
    Config {
        cases: asked("PROPTEST_CASES").map_or(cases, |n: u64| n.try_into().unwrap_or(u32::MAX)),
        rng_seed: RngSeed::Fixed(asked("PROPTEST_RNG_SEED").unwrap_or(0)),
        // The seed is fixed: a failure comes again by itself.
        failure_persistence: None,
        ..Config::default()
    }
}
