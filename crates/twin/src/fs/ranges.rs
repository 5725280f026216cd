//! A set of blocks: dirty pages, pages under write-back, pages read ahead, free space. It has a bit for each block, in
//! leaves of 4 MiB that take memory while they hold some blocks but not all. Each leaf that holds any has a bit too. So
//! what is scattered costs no more than what is in order.

use std::ops::Range;

use prefetch_index::prefetch_index;

const WORDS: usize = 16;
const WORD: u64 = 64;
const LEAF: u64 = WORD * WORDS as u64;

/// The bits of `LEAF` neighbouring blocks.
type Bits = [u64; WORDS];
const NONE: Bits = [0; WORDS];
const ALL: Bits = [u64::MAX; WORDS];

#[derive(Clone, Default)]
enum Leaf {
    #[default]
    Empty,
    Full,
    Some(Box<Bits>),
}

impl Leaf {
    #[inline]
    fn bits(&self) -> &Bits {
        match self {
            Self::Empty => &NONE,
            Self::Full => &ALL,
            Self::Some(bits) => bits,
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Changes bits; gives how many of them were set.
    #[inline]
    fn change(&mut self, bits: Range<u64>, set: bool) -> u64 {
        let (alike, other) = match set {
            true => (Self::Full, NONE),
            false => (Self::Empty, ALL),
        };
        let (len, first_word) = (bits.end - bits.start, (bits.start / WORD) as usize);
        let before = match self {
            Self::Some(words) => change(words, bits, set),
            Self::Empty | Self::Full if set == matches!(self, Self::Full) => {
                return if set { len } else { 0 };
            }
            Self::Empty | Self::Full => {
                if len < LEAF {
                    let mut words = Box::new(other);
                    change(&mut words, bits, set);
                    *self = Self::Some(words);
                } else {
                    *self = alike;
                }
                return if set { 0 } else { len };
            }
        };
        let (words, alike_word) = (self.bits(), if set { u64::MAX } else { 0 });
        // The word just changed first: it is in the processor's cache.
        if words[first_word] == alike_word && words.iter().all(|&word| word == alike_word) {
            *self = alike;
        }
        before
    }

    /// Returns the first bit at or behind `from` that is as asked.
    #[inline]
    fn find(&self, from: u64, set: bool) -> Option<u64> {
        match self {
            Self::Empty | Self::Full => (set == matches!(self, Self::Full)).then_some(from),
            Self::Some(bits) if set => first_bit(from, WORDS, |index| bits[index]),
            Self::Some(bits) => first_bit(from, WORDS, |index| !bits[index]),
        }
    }
}

/// Changes bits; gives how many of them were set.
#[inline]
fn change(words: &mut Bits, bits: Range<u64>, set: bool) -> u64 {
    let mut before = 0;
    for index in bits.start / WORD..bits.end.div_ceil(WORD) {
        let word = &mut words[index as usize];
        let mask = mask(WORD * index, &bits);
        before += u64::from((*word & mask).count_ones());
        *word = if set { *word | mask } else { *word & !mask };
    }
    before
}

/// Returns which bits of the word that begins at `first` are among `bits`.
#[inline]
fn mask(first: u64, bits: &Range<u64>) -> u64 {
    let (low, high) = (
        bits.start.max(first) - first,
        bits.end.min(first + WORD) - first,
    );
    (u64::MAX >> (WORD - (high - low))) << low
}

/// Returns the first bit at or behind `from` in `words` words.
#[inline]
fn first_bit(from: u64, words: usize, word: impl Fn(usize) -> u64) -> Option<u64> {
    (from as usize / 64..words).find_map(|index| {
        let first = WORD * index as u64;
        let shift = from.saturating_sub(first);
        let left = word(index) >> shift << shift;
        (left != 0).then(|| first + u64::from(left.trailing_zeros()))
    })
}

/// Returns the bits of a word at which `len` set ones begin.
#[inline]
fn runs(mut word: u64, len: u64) -> u64 {
    if len > WORD {
        return 0;
    }
    let mut known = 1;
    while known < len && word != 0 {
        let step = known.min(len - known);
        word &= word >> step;
        known += step;
    }
    word
}

/// Blocks of a file.
#[derive(Clone, Default)]
pub struct Ranges {
    /// By first block over `LEAF`.
    leaves: Vec<Leaf>,
    /// Which of them are not empty.
    held: Vec<u64>,
    blocks: u64,
}

/// Returns the leaves that blocks touch, each with its bits that they touch.
#[inline]
fn parts(blocks: Range<u64>) -> impl Iterator<Item = (usize, Range<u64>)> {
    let leaves = if blocks.is_empty() {
        0..0
    } else {
        blocks.start / LEAF..blocks.end.div_ceil(LEAF)
    };
    leaves.map(move |leaf| {
        let first = leaf * LEAF;
        let bits = blocks.start.max(first) - first..(blocks.end - first).min(LEAF);
        (leaf as usize, bits)
    })
}

impl Ranges {
    /// Blocks in the set.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Adds blocks.
    pub fn insert(&mut self, blocks: Range<u64>) {
        for (leaf, bits) in parts(blocks) {
            if leaf >= self.leaves.len() {
                self.leaves.resize_with(leaf + 1, Leaf::default);
                self.held.resize(leaf / 64 + 1, 0);
            }
            self.held[leaf / 64] |= 1 << (leaf % 64);
            let len = bits.end - bits.start;
            self.blocks += len - self.leaves[leaf].change(bits, true);
        }
    }

    /// Takes blocks out.
    pub fn remove(&mut self, blocks: Range<u64>) {
        if self.blocks == 0 {
            return;
        }
        for (leaf, bits) in parts(blocks) {
            let Some(held) = self.leaves.get_mut(leaf) else {
                return;
            };
            self.blocks -= held.change(bits, false);
            if held.is_empty() {
                self.held[leaf / 64] &= !(1 << (leaf % 64));
            }
        }
    }

    /// Returns the first block of the set at or behind `from`.
    pub fn first(&self, from: u64) -> Option<u64> {
        let own = self.leaf(from / LEAF).find(from % LEAF, true);
        if let Some(found) = own {
            return Some(from / LEAF * LEAF + found);
        }
        let leaf = first_bit(from / LEAF + 1, self.held.len(), |index| self.held[index])?;
        Some(leaf * LEAF + self.leaf(leaf).find(0, true)?)
    }

    #[inline]
    fn leaf(&self, leaf: u64) -> &Leaf {
        self.leaves.get(leaf as usize).unwrap_or(&Leaf::Empty)
    }

    /// Returns whether a block is in the set.
    #[inline]
    pub fn contains(&self, block: u64) -> bool {
        let word = self.leaf(block / LEAF).bits()[(block % LEAF / WORD) as usize];
        word >> (block % WORD) & 1 == 1
    }

    /// Has the processor fetch what is known of a block.
    #[inline]
    pub fn prefetch(&self, block: u64) {
        if let Leaf::Some(bits) = self.leaf(block / LEAF) {
            prefetch_index(&bits[..], (block % LEAF / WORD) as usize);
        }
    }

    /// Returns whether all of some blocks are in the set.
    #[inline]
    pub fn covers(&self, blocks: Range<u64>) -> bool {
        self.run_end(blocks.start, blocks.end) == blocks.end
    }

    /// Returns the block behind the last block of the run that `start` begins, or `limit` if that comes first.
    pub fn run_end(&self, start: u64, limit: u64) -> u64 {
        let mut at = start;
        while at < limit {
            let (leaf, low) = (at / LEAF, at % LEAF);
            if let Some(end) = self.leaf(leaf).find(low, false) {
                at = leaf * LEAF + end;
                break;
            }
            at = (leaf + 1) * LEAF;
        }
        at.min(limit)
    }

    /// Returns where the first run of `len` blocks or more begins, if it begins `within` these blocks; runs end at
    /// `limit` at the latest.
    pub fn run_of(&self, len: u64, within: Range<u64>, limit: u64) -> Option<u64> {
        let mut at = within.start;
        let mut run = 0;
        while at - run < within.end {
            let leaf = self.leaf(at / LEAF);
            if run == 0 && leaf.is_empty() {
                at = self.first(at)?;
                continue;
            }
            if at >= limit {
                return None;
            }
            let first = at / WORD * WORD;
            let word = leaf.bits()[(first % LEAF / WORD) as usize] & mask(first, &(at..limit));
            // What went before this word goes on in it, from its first bit.
            let goes_on = u64::from((word >> (at - first)).trailing_ones());
            if run + goes_on >= len {
                return Some(at - run);
            }
            let inside = runs(word, len);
            if inside != 0 {
                let found = first + u64::from(inside.trailing_zeros());
                return (found < within.end).then_some(found);
            }
            run = match word {
                u64::MAX => run + WORD,
                _ => u64::from(word.leading_ones()),
            };
            at = first + WORD;
        }
        None
    }

    /// Takes out the first blocks at or behind `from`, at most `most` and contiguous; begins again at
    /// the front when there are none behind.
    pub fn take(&mut self, from: u64, most: u64) -> Option<Range<u64>> {
        let start = self.first(from).or_else(|| self.first(0))?;
        let end = self.run_end(start, start.saturating_add(most));
        self.remove(start..end);
        Some(start..end)
    }

    /// Returns the parts of `gaps` that are not in the set.
    pub fn outside(&self, gaps: Vec<Range<u64>>) -> Vec<Range<u64>> {
        if self.blocks == 0 {
            return gaps;
        }
        let mut out = Vec::with_capacity(gaps.len());
        for Range { mut start, end } in gaps {
            while start < end {
                let held = self.first(start).map_or(end, |block| block.min(end));
                if start < held {
                    out.push(start..held);
                }
                start = self.run_end(held, end);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against one flag per block.
        #[test]
        fn the_set_holds_what_was_put_in_and_not_taken_out(
            steps in proptest::collection::vec((0u64..3000, 1u64..1500, 0u8..4), 1..60)
        ) {
            let mut set = Ranges::default();
            let mut flags = [false; 4500];
            for (at, len, what) in steps {
                let (low, high) = (at as usize, (at + len) as usize);
                match what {
                    0 => {
                        set.remove(at..at + len);
                        flags[low..high].fill(false);
                    }
                    1 => {
                        let behind = (low..4500).chain(0..low).find(|&block| flags[block]);
                        let taken = behind.map(|first| {
                            let run = flags[first..].iter().take_while(|&&flag| flag).count();
                            first..first + run.min(len as usize)
                        });
                        prop_assert_eq!(set.take(at, len), taken.clone().map(|run| run.start as u64..run.end as u64));
                        if let Some(run) = taken {
                            flags[run].fill(false);
                        }
                    }
                    _ => {
                        set.insert(at..at + len);
                        flags[low..high].fill(true);
                    }
                }
                let held = flags.iter().filter(|&&flag| flag).count() as u64;
                prop_assert_eq!(set.blocks(), held);
                let outside = set.outside(std::iter::once(at..at + len).collect());
                let count: u64 = outside.iter().map(|gap| gap.end - gap.start).sum();
                prop_assert_eq!(count, flags[low..high].iter().filter(|&&flag| !flag).count() as u64);
                prop_assert!(outside.iter().all(|gap| !flags[gap.start as usize..gap.end as usize].contains(&true)));
                let (until, limit) = (low + 700, high + 500);
                let run = |first: usize| flags[first..limit.min(4500)].iter().take_while(|&&flag| flag).count();
                let found = (low..until.min(limit)).find(|&first| {
                    (first == low || !flags[first - 1]) && run(first) as u64 >= len
                });
                let found = found.map(|first| first as u64);
                prop_assert_eq!(set.run_of(len, at..until as u64, limit as u64), found);
            }
        }
    }
}
