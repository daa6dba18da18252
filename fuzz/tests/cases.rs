//! Every case that failed once, again; and the promise that cases are functions of their numbers.

use std::path::Path;

use ell0_fuzz::{
    cases,
    targets::{self, Cases, make},
    verdict::Outcome,
    worker::run_bytes,
};

/// In this process, within the same limits. A hang would hang the test, and a death end it: both are seen.
#[test]
fn kept_cases_stay_mended() {
    for file in cases::all(&cases::folder()).expect("the folder of kept cases") {
        let parser = cases::parser_of(&file).expect("the name of a parser");
        // Requests need the program, which tests do not build: `ell0-fuzz replay` has them.
        if targets::needs_program(&parser) {
            continue;
        }
        let bytes = std::fs::read(&file).expect("a case");
        let fault = run_bytes(&parser, &bytes, Path::new(""), false).expect("a parser");
        assert_eq!(fault, None, "{}", file.display());
    }
}

fn bytes_of(parser: &str, seed: u64) -> Vec<Vec<u8>> {
    let target = make(parser, Path::new("")).expect("a parser");
    let cases = Cases::new(parser, target.as_ref(), seed).expect("seeds");
    // Not in their order: a case depends on no other.
    let mut all: Vec<(u64, Vec<u8>)> = (0..40)
        .map(|k| (k * 7) % 40)
        .map(|k| (k, cases.bytes(target.as_ref(), k)))
        .collect();
    all.sort();
    all.into_iter().map(|(_, bytes)| bytes).collect()
}

#[test]
fn the_same_seed_makes_the_same_cases() {
    for parser in targets::names().filter(|p| !targets::needs_program(p)) {
        let first = bytes_of(parser, 3);
        assert_eq!(first, bytes_of(parser, 3), "{parser}");
        assert_ne!(first, bytes_of(parser, 4), "{parser}");
    }
}

/// A machine that refuses everything would find nothing.
#[test]
fn seeds_are_valid() {
    let mut refused = Vec::new();
    for parser in targets::names().filter(|p| !targets::needs_program(p)) {
        let mut target = make(parser, Path::new("")).expect("a parser");
        for (k, seed) in target.seeds().expect("seeds").iter().enumerate() {
            let verdict = target.run(seed);
            if verdict != Ok(Outcome::Valid) {
                refused.push(format!("seed {k} of {parser}: {verdict:?}"));
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}
