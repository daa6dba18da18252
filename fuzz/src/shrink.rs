//! From a case that fails to a small one that fails in the same way.

use std::time::{Duration, Instant};

/// How long one case is shrunk.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The smallest bytes found within the time of which `fails` still holds: pieces are left out, from halves to single bytes, then bytes are made plain.
pub fn shrink(bytes: &[u8], patience: Duration, mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let until = Instant::now() + patience;
    let mut best = bytes.to_vec();
    loop {
        let before = best.len();
        remove_lines(&mut best, until, &mut fails);
        remove_pieces(&mut best, until, &mut fails);
        if best.len() == before || Instant::now() > until {
            break;
        }
    }
    plain(&mut best, until, &mut fails);
    best
}

fn remove_lines(best: &mut Vec<u8>, until: Instant, fails: &mut impl FnMut(&[u8]) -> bool) {
    let mut lines: Vec<Vec<u8>> = best
        .split_inclusive(|b| *b == b'\n')
        .map(Into::into)
        .collect();
    let mut size = lines.len() / 2;
    while size > 0 && lines.len() > 1 {
        let mut at = 0;
        while at < lines.len() && Instant::now() < until {
            let end = (at + size).min(lines.len());
            let shorter = [&lines[..at], &lines[end..]].concat();
            if fails(&shorter.concat()) {
                lines = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    *best = lines.concat();
}

fn remove_pieces(best: &mut Vec<u8>, until: Instant, fails: &mut impl FnMut(&[u8]) -> bool) {
    let mut size = best.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < best.len() && Instant::now() < until {
            let end = (at + size).min(best.len());
            let shorter = [&best[..at], &best[end..]].concat();
            if fails(&shorter) {
                *best = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
}

/// What is left is easier to read if it consists of few different bytes.
fn plain(best: &mut [u8], until: Instant, fails: &mut impl FnMut(&[u8]) -> bool) {
    // A long one would not get far.
    if best.len() > 2000 {
        return;
    }
    for at in 0..best.len() {
        let was = best[at];
        for simple in *b"0a " {
            if Instant::now() > until || was == simple || was == b'\n' {
                break;
            }
            best[at] = simple;
            if fails(best) {
                break;
            }
            best[at] = was;
        }
    }
}
