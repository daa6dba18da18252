//! Changes that know nothing of what the bytes mean.

use crate::dice::Dice;

/// Sizes and counts that programs stumble over.
pub const EXTREMES: [u64; 20] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    100_000_000_000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fff0,
    u64::MAX,
];

/// Longer than this nothing grows by chance.
const LONGEST: usize = 1 << 17;

/// One change somewhere.
pub fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>, other: &[u8]) {
    let length = bytes.len();
    let range = dice.range(length);
    mutate_in(dice, bytes, other, range);
}

/// One change near a place.
pub fn mutate_near(dice: &mut Dice, bytes: &mut Vec<u8>, place: usize, reach: usize) {
    let start = (place + dice.below(reach)).min(bytes.len());
    let end = (start + dice.size(16)).min(bytes.len());
    mutate_in(dice, bytes, &[], start..end);
}

fn mutate_in(dice: &mut Dice, bytes: &mut Vec<u8>, other: &[u8], range: std::ops::Range<usize>) {
    let at = range.start;
    if bytes.is_empty() {
        bytes.push(dice.byte());
        return;
    }
    match dice.below(11) {
        0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        1 if at < bytes.len() => bytes[at] = dice.byte(),
        2 if at < bytes.len() => bytes[at] = *dice.pick(&[0, 0xff, 0x7f, 0x80, b'\n', b' ', b'"']),
        3 => {
            bytes.drain(range);
        }
        4 => {
            let copy = bytes[range].to_vec();
            let times = dice.size(8);
            if bytes.len() + times * copy.len() < LONGEST {
                bytes.splice(at..at, copy.repeat(times));
            }
        }
        5 => bytes.truncate(at),
        6 => overwrite(dice, bytes, at),
        7 => {
            let fresh: Vec<u8> = (0..dice.size(32)).map(|_| dice.byte()).collect();
            bytes.splice(at..at, fresh);
        }
        8 => {
            // Two halves of two things.
            let from = dice.below(other.len().max(1)).min(other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        9 => {
            let value = *dice.pick(&EXTREMES);
            let end = (at + 1).min(bytes.len());
            bytes.splice(at..end, varint(value));
        }
        _ => {
            let to = dice.below(bytes.len());
            let piece: Vec<u8> = bytes.drain(range).collect();
            let to = to.min(bytes.len());
            bytes.splice(to..to, piece);
        }
    }
}

/// An extreme number over the bytes at a place, in one of the usual forms.
pub fn overwrite(dice: &mut Dice, bytes: &mut [u8], at: usize) {
    let value = *dice.pick(&EXTREMES);
    let width = *dice.pick(&[1, 2, 4, 8]);
    let little = value.to_le_bytes();
    let mut form = little[..width].to_vec();
    if dice.one_in(4) {
        form.reverse();
    }
    for (byte, new) in bytes.iter_mut().skip(at).zip(form) {
        *byte = new;
    }
}

/// A number as Thrift and protocol buffers write it: seven bits a byte.
pub fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
