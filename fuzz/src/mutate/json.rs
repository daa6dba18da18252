//! JSON and TOML: mostly changes of the tree, else of the text.

use serde_json::Value;

use super::{bytes, tokens, tree};
use crate::dice::Dice;

const BRACKETS: [(&str, &str); 3] = [("[", "]"), ("{\"a\":", "}"), ("[[", "]]")];

/// A changed JSON text.
pub fn mutate(dice: &mut Dice, seed: &[u8], other: &[u8], words: &[&str]) -> Vec<u8> {
    let tree: Option<Value> = serde_json::from_slice(seed).ok();
    if let (Some(mut tree), false) = (tree, dice.one_in(4)) {
        for _ in 0..dice.size(6) {
            tree::mutate(dice, &mut tree, words);
        }
        return tree.to_string().into_bytes();
    }
    as_text(dice, seed, other, words)
}

/// A changed TOML text.
pub fn mutate_toml(dice: &mut Dice, seed: &[u8], other: &[u8], words: &[&str]) -> Vec<u8> {
    let tree: Option<Value> = toml::from_slice(seed).ok();
    if let (Some(mut tree), false) = (tree, dice.one_in(3)) {
        for _ in 0..dice.size(6) {
            tree::mutate(dice, &mut tree, words);
        }
        drop_nulls(&mut tree);
        if let Ok(text) = toml::to_string(&tree) {
            return text.into_bytes();
        }
    }
    as_text(dice, seed, other, words)
}

/// TOML has no null.
fn drop_nulls(node: &mut Value) {
    match node {
        Value::Array(items) => {
            items.retain(|v| !v.is_null());
            items.iter_mut().for_each(drop_nulls);
        }
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        _ => {}
    }
}

fn as_text(dice: &mut Dice, seed: &[u8], other: &[u8], words: &[&str]) -> Vec<u8> {
    if dice.one_in(2) {
        let mut out = seed.to_vec();
        for _ in 0..dice.size(4) {
            bytes::mutate(dice, &mut out, other);
        }
        return out;
    }
    let other = String::from_utf8_lossy(other);
    let mut text = String::from_utf8_lossy(seed).into_owned();
    for _ in 0..dice.size(4) {
        text = tokens::mutate(dice, &text, &other, words, &BRACKETS);
    }
    text.into_bytes()
}
