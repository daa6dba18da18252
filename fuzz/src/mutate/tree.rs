//! Changes of a tree of objects, lists and values, as JSON and TOML have them.

use serde_json::{Map, Number, Value, json};

use crate::dice::Dice;

/// A tree does not grow beyond this, in characters.
const LONGEST: usize = 200_000;

/// One change of one node; `words` are texts that mean something somewhere.
pub fn mutate(dice: &mut Dice, root: &mut Value, words: &[&str]) {
    let count = size(root);
    let at = dice.below(count);
    let other = dice.below(count);
    let other = nth(root, &mut other.clone()).cloned();
    let other = other.unwrap_or(Value::Null);
    if length(&other) > LONGEST {
        return;
    }
    if let Some(node) = nth(root, &mut at.clone()) {
        change(dice, node, other, words);
    }
}

/// About how long a tree is as text.
fn length(node: &Value) -> usize {
    2 + match node {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(length).sum::<usize>(),
        Value::Object(map) => map.iter().map(|(k, v)| k.len() + length(v)).sum(),
        _ => 8,
    }
}

/// Nodes of a tree.
fn size(node: &Value) -> usize {
    1 + match node {
        Value::Array(items) => items.iter().map(size).sum::<usize>(),
        Value::Object(map) => map.values().map(size).sum(),
        _ => 0,
    }
}

/// The node of a number, in the order of the text.
fn nth<'a>(node: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(node);
    }
    *left -= 1;
    match node {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(map) => map.values_mut().find_map(|item| nth(item, left)),
        _ => None,
    }
}

fn change(dice: &mut Dice, node: &mut Value, other: Value, words: &[&str]) {
    // What suits the kind of the node, mostly.
    if !dice.one_in(6) {
        match node {
            Value::Number(_) => {
                *node = number(dice);
                return;
            }
            Value::String(text) => {
                *text = string(dice, text, words);
                return;
            }
            Value::Bool(flag) => {
                *flag = !*flag;
                return;
            }
            Value::Array(items) => {
                list(dice, items, other);
                return;
            }
            Value::Object(map) => {
                object(dice, map, other, words);
                return;
            }
            Value::Null => {}
        }
    }
    *node = match dice.below(8) {
        0 => Value::Null,
        1 => json!([]),
        2 => json!({}),
        3 => number(dice),
        4 => json!(dice.one_in(2)),
        5 => json!(dice.pick(words)),
        6 => {
            let depth = dice.size(200);
            (0..depth).fold(other, |inner, _| json!([inner]))
        }
        _ => other,
    };
}

fn number(dice: &mut Dice) -> Value {
    let float = |x: f64| Number::from_f64(x).map_or(Value::Null, Value::Number);
    match dice.below(20) {
        0 => json!(0),
        1 => json!(-1),
        2 => json!(1),
        3 => json!(2),
        4 => json!(dice.below(100)),
        5 => json!(1000),
        6 => json!(65_536),
        7 => json!(100_000_000_000u64),
        8 => json!(u64::MAX),
        9 => json!(i64::MAX),
        10 => json!(i64::MIN),
        11 => json!(1u64 << 53),
        12 => float(1e308),
        13 => float(-1e308),
        14 => float(5e-324),
        15 => float(0.5),
        16 => float(1e100),
        17 => float(-0.0),
        18 => json!(u32::MAX),
        _ => float((dice.share() - 0.5) * 20.0),
    }
}

fn string(dice: &mut Dice, text: &str, words: &[&str]) -> String {
    match dice.below(9) {
        0 => String::new(),
        1 => dice.pick(words).to_string(),
        2 => {
            let times = dice.size(4000);
            text.repeat(times).chars().take(20_000).collect()
        }
        3 => format!("{text}\u{0}"),
        4 => format!("\u{1b}[2J{text}"),
        5 => "nan".into(),
        6 => text.chars().rev().collect(),
        _ => {
            let brackets = [("(", ")"), ("[", "]"), ("{", "}")];
            super::tokens::mutate(dice, text, text, words, &brackets)
        }
    }
}

fn list(dice: &mut Dice, items: &mut Vec<Value>, other: Value) {
    let at = dice.below(items.len().max(1)).min(items.len());
    match dice.below(6) {
        0 if at < items.len() => {
            items.remove(at);
        }
        1 if at < items.len() => {
            let copy = items[at].clone();
            items.insert(at, copy);
        }
        2 => items.clear(),
        3 => items.insert(at, other),
        4 if !items.is_empty() => {
            // Very many of the same.
            let item = items[at].clone();
            let most = (200_000 / length(&item)).max(1);
            let times = dice.size(most);
            if length(&item) * (items.len() + times) > LONGEST {
                return;
            }
            items.extend(std::iter::repeat_n(item, times));
        }
        _ if !items.is_empty() => {
            let to = dice.below(items.len());
            items.swap(at, to);
        }
        _ => items.push(other),
    }
}

fn object(dice: &mut Dice, map: &mut Map<String, Value>, other: Value, words: &[&str]) {
    let keys: Vec<String> = map.keys().cloned().collect();
    if keys.is_empty() {
        map.insert(dice.pick(words).to_string(), other);
        return;
    }
    let key = dice.pick(&keys).clone();
    match dice.below(5) {
        0 => {
            map.remove(&key);
        }
        1 => {
            map.insert(dice.pick(words).to_string(), other);
        }
        2 => {
            if let Some(value) = map.remove(&key) {
                map.insert(string(dice, &key, words), value);
            }
        }
        3 => {
            map.insert(key, other);
        }
        _ => {
            let second = dice.pick(&keys).clone();
            let (a, b) = (map.get(&key).cloned(), map.get(&second).cloned());
            if let (Some(a), Some(b)) = (a, b) {
                map.insert(key, b);
                map.insert(second, a);
            }
        }
    }
}
