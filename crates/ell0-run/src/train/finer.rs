//! Settings of a training by their names, for what is seldom said.

use std::collections::BTreeMap;

use ell0::wording::{meant, shown, told};
use ell0_control::agent::TrainConfig;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// What a [`TrainPlan`](super::TrainPlan) says in words of its own, or with its algorithm.
const SAID: [&str; 10] = [
    "environment",
    "policy",
    "episodes",
    "updates",
    "lambda",
    "penalty",
    "terms",
    "worlds",
    "seed",
    "agent.algorithm",
];

/// The settings with others in their place.
pub(super) fn finer(config: TrainConfig, others: &BTreeMap<String, Value>) -> Result<TrainConfig> {
    let mut config = config;
    for (name, value) in others {
        let wrong = |reason: String| {
            Error::Unsuitable(format!(
                "the setting `{}` = {} is not allowed{reason}",
                shown(name),
                told(&value.to_string())
            ))
        };
        let unread = |e: serde_json::Error| wrong(format!(": {}", told(&e.to_string())));
        let mut whole = serde_json::to_value(&config).map_err(unread)?;
        let known = names(&whole);
        if !known.contains(name) {
            return Err(wrong(match SAID.contains(&name.as_str()) {
                true => ": a training says it in words of its own".into(),
                false => meant(name, "settings", &known),
            }));
        }
        if let Some(place) = whole.pointer_mut(&format!("/{}", name.replace('.', "/"))) {
            *place = value.clone();
        }
        config = serde_json::from_value(whole).map_err(unread)?;
    }
    Ok(config)
}

/// Names of all that can be set, those of the algorithm behind `agent.`.
fn names(whole: &Value) -> Vec<String> {
    let empty = Map::new();
    let of = |value: &Value| value.as_object().unwrap_or(&empty).clone();
    let outer = of(whole).into_iter().flat_map(|(name, value)| match value {
        Value::Object(inner) => inner.keys().map(|k| format!("{name}.{k}")).collect(),
        _ => vec![name],
    });
    outer
        .filter(|name| !SAID.contains(&name.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use ell0_control::agent::AlgorithmConfig;
    use serde_json::json;

    use super::*;

    fn set(name: &str, value: Value) -> Result<TrainConfig> {
        let others = BTreeMap::from([(name.to_string(), value)]);
        finer(TrainConfig::default(), &others)
    }

    #[test]
    fn settings_by_name() {
        let usual = TrainConfig::default();
        assert_eq!(
            finer(usual.clone(), &BTreeMap::new()).expect("the same"),
            usual
        );
        assert_eq!(set("hold", json!(10)).expect("held").hold, 10);
        let AlgorithmConfig::Td3(agent) = set("agent.critic_hidden", json!([8, 9]))
            .expect("other critics")
            .agent;
        assert_eq!(agent.critic_hidden, [8, 9]);
        for (name, value, words) in [
            ("holt", json!(10), "did you mean `hold`"),
            ("nothing", json!(1), "exploration"),
            (
                "hold",
                json!("long"),
                "`hold` = \"long\" is not allowed: invalid type",
            ),
            ("hold", json!(-1), "-1"),
            ("agent", json!({}), "is not allowed"),
            ("episodes", json!(3), "words of its own"),
            ("agent.algorithm", json!("x"), "words of its own"),
            ("agent/discount", json!(1), "did you mean `agent.discount`"),
        ] {
            let said = set(name, value).expect_err("refused").to_string();
            assert!(said.contains(words), "{said}");
        }
    }
}
