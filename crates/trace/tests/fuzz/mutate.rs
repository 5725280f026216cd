//! Makes hostile traces of good ones. The same seed and number give the same bytes on every machine.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

/// Numbers at which parsers break, as text.
const EXTREMES: [&str; 24] = [
    "",
    "-",
    "0",
    "-0",
    "-1",
    "1",
    "1e999",
    "1e3",
    "NaN",
    "inf",
    "-inf",
    "0x10",
    ".",
    "1.",
    ".5",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18014398509481984",
    "18446744073709551615",
    "18446744073709551616",
    "0.0000000000000000000001",
];
/// The same in binary records, cut to the width of a field.
const WORDS: [u64; 12] = [
    0,
    1,
    47,
    48,
    0x7f,
    0xffff,
    1 << 17,
    1 << 26,
    u32::MAX as u64,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];
/// What stands between fields and lines, and what no text holds.
const SEPARATORS: [&[u8]; 12] = [
    b",",
    b";",
    b"\t",
    b" ",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff\xfe",
    b"\xc3\x28",
    b": ",
    b" + ",
    b"()",
];
/// Bytes of the longest input, but for one in `LARGE_ONE_IN`.
const LONGEST: usize = 1 << 14;
/// Bytes of the longest input.
const LONGEST_LARGE: usize = 1 << 19;
const LARGE_ONE_IN: u64 = 256;
const MOST_CHANGES: u64 = 6;

/// A source of chance for one input.
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// Returns the chance of input `number`.
    pub fn new(seed: u64, number: u64) -> Self {
        let own = seed.rotate_left(32) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(Xoshiro256PlusPlus::seed_from_u64(own))
    }

    /// Returns a number below `end`, 0 where `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % (end.max(1) as u64)) as usize
    }

    /// Returns whether one case in `cases` has come.
    pub fn one_in(&mut self, cases: u64) -> bool {
        self.0.next_u64().is_multiple_of(cases)
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Returns a part of `0..length`, short more often than long.
    fn part(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let most = if self.one_in(4) { length } else { 16 };
        start..length.min(start + self.below(most + 1))
    }
}

/// Returns a sample after a few changes. `samples` are good traces; a part of another one may come in.
pub fn mutated(samples: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = chance.of(samples).clone();
    let large = chance.one_in(LARGE_ONE_IN);
    let longest = if large { LONGEST_LARGE } else { LONGEST };
    let changes = 1 + chance.0.next_u64() % MOST_CHANGES;
    for _ in 0..changes {
        change(&mut bytes, samples, chance);
        bytes.truncate(longest);
    }
    if large {
        enlarge(&mut bytes, chance);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, samples: &[Vec<u8>], chance: &mut Chance) {
    match chance.below(14) {
        0 => flip(bytes, chance),
        1 => overwrite(bytes, chance),
        2 => binary_extreme(bytes, chance),
        3 | 4 => text_extreme(bytes, chance),
        5 => bytes.truncate(chance.below(bytes.len() + 1)),
        6 => {
            let part = chance.part(bytes.len());
            bytes.drain(part);
        }
        7 => {
            let part = chance.part(bytes.len());
            let copied = bytes[part.clone()].repeat(1 + chance.below(8));
            bytes.splice(part.end..part.end, copied);
        }
        8 => {
            let at = chance.below(bytes.len() + 1);
            bytes.splice(at..at, chance.of(&SEPARATORS).iter().copied());
        }
        9 => {
            let other = chance.of(samples);
            splice(bytes, other, chance);
        }
        10 => repeat_line(bytes, chance),
        11 => swap_lines(bytes, chance),
        12 => swap_fields(bytes, chance),
        _ => long_field(bytes, chance),
    }
}

fn flip(bytes: &mut [u8], chance: &mut Chance) {
    let at = chance.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << chance.below(8);
    }
}

fn overwrite(bytes: &mut [u8], chance: &mut Chance) {
    let part = chance.part(bytes.len());
    for byte in &mut bytes[part] {
        *byte = chance.0.next_u64() as u8;
    }
}

/// Writes an extreme into a field of 1 to 8 bytes, at its own alignment.
fn binary_extreme(bytes: &mut [u8], chance: &mut Chance) {
    let width = 1 << chance.below(4);
    let at = chance.below(bytes.len() / width) * width;
    let value = chance.of(&WORDS).to_le_bytes();
    if let Some(field) = bytes.get_mut(at..at + width) {
        field.copy_from_slice(&value[..width]);
    }
}

/// Puts an extreme, or many digits, in the place of a number.
fn text_extreme(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let from = chance.below(bytes.len());
    let digit = |&byte: &u8| byte.is_ascii_digit();
    let Some(start) = bytes[from..].iter().position(digit) else {
        return;
    };
    let start = from + start;
    let length = bytes[start..].iter().take_while(|byte| digit(byte)).count();
    let value = if chance.one_in(8) {
        b"9".repeat(chance.below(400))
    } else {
        chance.of(&EXTREMES).as_bytes().to_vec()
    };
    bytes.splice(start..start + length, value);
}

/// Puts a part of another trace in the place of a part.
fn splice(bytes: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let part = chance.part(bytes.len());
    let theirs = chance.part(other.len());
    bytes.splice(part, other[theirs].iter().copied());
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

fn repeat_line(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let mut all = lines(bytes);
    if all.is_empty() {
        return;
    }
    let at = chance.below(all.len());
    let line = all[at].clone();
    let times = 1 + chance.below(32);
    all.splice(at..at, std::iter::repeat_n(line, times));
    *bytes = all.concat();
}

fn swap_lines(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let mut all = lines(bytes);
    let (one, other) = (chance.below(all.len()), chance.below(all.len()));
    if one != other {
        all.swap(one, other);
    }
    *bytes = all.concat();
}

/// Swaps two words, wherever they are.
fn swap_fields(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let between = |&byte: &u8| matches!(byte, b',' | b' ' | b'\t' | b'\n');
    let mut fields: Vec<Vec<u8>> = bytes.split_inclusive(between).map(<[u8]>::to_vec).collect();
    let (one, other) = (chance.below(fields.len()), chance.below(fields.len()));
    if one != other {
        fields.swap(one, other);
    }
    *bytes = fields.concat();
}

fn long_field(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(bytes.len() + 1);
    let byte = *chance.of(b"0A, \"(\xff");
    let count = chance.below(1 << 10);
    bytes.splice(at..at, std::iter::repeat_n(byte, count));
}

/// Repeats all of it, or makes one line longer than any may be.
fn enlarge(bytes: &mut Vec<u8>, chance: &mut Chance) {
    if chance.one_in(2) {
        let times = LONGEST_LARGE / bytes.len().max(64);
        *bytes = bytes.repeat(1 + chance.below(times));
    } else {
        let at = chance.below(bytes.len() + 1);
        let count = chance.below(1 << 18);
        bytes.splice(at..at, std::iter::repeat_n(b'7', count));
    }
}
