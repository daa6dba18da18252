mod actor;
mod best;
mod checkpoint;
mod refine;
mod tied;
mod update;
mod worlds;

use super::{AlgorithmConfig, Td3Config, TrainConfig};

/// Settings that learn in a moment.
fn quick(policy: &str) -> TrainConfig {
    TrainConfig {
        environment: "cart of the tests".into(),
        policy: policy.into(),
        episodes: 10,
        random_episodes: 2,
        updates_after: 3,
        updates: 5,
        lambda_from: 4,
        lambda_full: 6,
        replay: 100,
        agent: AlgorithmConfig::Td3(Td3Config {
            critic_hidden: vec![8],
            batch: 16,
            ..Td3Config::default()
        }),
        ..TrainConfig::default()
    }
}
