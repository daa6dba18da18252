//! Certificates of proofs of arrival, each with a right sum: what somebody who knows the format would hand over.

use ell0_check::check;

use super::text::{self, Grammar};
use crate::verdict::{Fault, Outcome, Verdict};

pub const TARGET: Grammar = Grammar {
    seeds: &SEEDS,
    words: &WORDS,
    run,
};

const SEEDS: [&str; 4] = [
    "state `x` -1 1\nvalue `z` = 0.5*x\nnext `z`\ncentre 0\np 1\nlevel 0.26\nshear 0\nodd\ncells\n0 0/0 1/1\n",
    "state `a` -3.2 3.2 period 6.283185307179586\nstate `v` -1 1\nparameter `g` 0.9 1.1\ndisturbance `w` -0.001 0.001\nvalue `u` -2 2 = -g*sin(a)\nvalue `s` = 0.5*v + 0.1*u + w\nvalue `n` = a + 0.1*s - 0.1*sin(a)\nnext `n`\nnext `s`\ncentre 0 0\np 1 0.1\np 0.1 1\nlevel 0.1\ninner 0.01\nshear 0 0.1\nshear 0 0\ncells\n0 . 0 0 0 0 1 . 1 1 1 0/0 3/3 . . . . . .\n",
    "state `x` -1 1\nstate `y` -1 1\nvalue `f` = 0.8*x + 0.1*y\nvalue `h` = 0.7*y - 0.1*x\nnext `f`\nnext `h`\ncentre 0 0\np 1 0\np 0 1\nlevel 0.2\nstay -1 1 -inf inf\navoid 0.9 1 0.9 1\nshear 0 0\nshear 0 0\ncells\n0 . 0 1 . 1 3/3 . .\n",
    "state `x` -1 1\nstate `y` -1 1\nstate `z` -1 1\nvalue `f` = 0.8*x + 0.1*y*z\nvalue `h` = 0.7*y - 0.1*x\nvalue `k` = 0.6*z + 0.1*x^2\nnext `f`\nnext `h`\nnext `k`\ncentre 0 0 0\np 1 0 0\np 0 1 0\np 0 0 1\nlevel 0.1\nshear 0 0 0\nshear 0 0 0\nshear 0 0 0\ncells\n2 . 1 . 0 . 9/9\n",
];

const WORDS: [&str; 38] = [
    "state",
    "parameter",
    "disturbance",
    "value",
    "next",
    "centre",
    "p",
    "level",
    "inner",
    "stay",
    "avoid",
    "shear",
    "odd",
    "cells",
    "period",
    "`x`",
    "`z`",
    "x",
    "\n",
    " = ",
    ".",
    "0",
    "1",
    "2",
    "1/1",
    "0/0",
    "9/9",
    "-1",
    "1e308",
    "1e-308",
    "inf",
    "-inf",
    "nan",
    "0.5",
    "log(x)",
    "sign(x)",
    "sqrt(x)",
    "1/x",
];

fn run(bytes: &[u8]) -> Verdict {
    let checked = |body: &str| {
        let text = format!("ell0 certificate 1\n{body}");
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let text = text + end;
        let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        check(&format!("{text}sum {sum:016x}\n"))
    };
    text::read(bytes, checked, |verified| {
        let sane = (0.0..=1.0 + 1e-9).contains(&verified.share) && verified.inner_radius >= 0.0;
        if !sane {
            let what = format!("{verified:?}");
            return Err(Fault::wrong("a share of the box is verified", what));
        }
        Ok(Outcome::Valid)
    })
}
