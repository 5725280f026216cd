//! A set of blocks: dirty pages, pages under write-back, pages read ahead. A bit for each block, in
//! leaves of 4 MiB that exist while they hold any, and a bit for each leaf: what is scattered costs no
//! more than what is in order.

const WORDS: usize = 16;
const LEAF: u64 = 64 * WORDS as u64;

/// The bits of `LEAF` neighbouring blocks.
#[derive(Clone, Copy, Default)]
struct Leaf([u64; WORDS]);

impl Leaf {
    fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Changes the bits `low..high`; gives how many were set.
    fn change(&mut self, low: u64, high: u64, set: bool) -> u64 {
        let mut before = 0;
        for index in low / 64..high.div_ceil(64) {
            let first = low.max(64 * index) % 64;
            let len = high.min(64 * index + 64) - low.max(64 * index);
            let mask = (u64::MAX >> (64 - len)) << first;
            let word = &mut self.0[index as usize];
            before += u64::from((*word & mask).count_ones());
            *word = if set { *word | mask } else { *word & !mask };
        }
        before
    }

    /// The first bit at or behind `from` that is as asked.
    fn find(&self, from: u64, set: bool) -> Option<u64> {
        first_bit(from, WORDS, |index| match set {
            true => self.0[index],
            false => !self.0[index],
        })
    }
}

/// The first bit at or behind `from` in so many words.
fn first_bit(from: u64, words: usize, word: impl Fn(usize) -> u64) -> Option<u64> {
    (from as usize / 64..words).find_map(|index| {
        let first = 64 * index as u64;
        let shift = from.saturating_sub(first);
        let left = word(index) >> shift << shift;
        (left != 0).then(|| first + u64::from(left.trailing_zeros()))
    })
}

/// Blocks of a file.
#[derive(Default)]
pub struct Ranges {
    /// By first block over `LEAF`; none is empty.
    leaves: Vec<Option<Box<Leaf>>>,
    /// Which of them exist.
    held: Vec<u64>,
    blocks: u64,
}

/// The leaves that `start..end` touches, each with the part of it that is touched.
fn parts(start: u64, end: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    let leaves = if start < end {
        start / LEAF..end.div_ceil(LEAF)
    } else {
        0..0
    };
    leaves.map(move |leaf| {
        let first = leaf * LEAF;
        (leaf, start.max(first) - first, (end - first).min(LEAF))
    })
}

impl Ranges {
    /// Blocks in the set.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Adds `start..end`.
    pub fn insert(&mut self, start: u64, end: u64) {
        for (leaf, low, high) in parts(start, end) {
            let leaf = leaf as usize;
            if leaf >= self.leaves.len() {
                self.leaves.resize_with(leaf + 1, || None);
                self.held.resize(leaf / 64 + 1, 0);
            }
            self.held[leaf / 64] |= 1 << (leaf % 64);
            let bits = self.leaves[leaf].get_or_insert_default();
            self.blocks += high - low - bits.change(low, high, true);
        }
    }

    /// Takes `start..end` out.
    pub fn remove(&mut self, start: u64, end: u64) {
        if self.blocks == 0 {
            return;
        }
        for (leaf, low, high) in parts(start, end) {
            let leaf = leaf as usize;
            let Some(Some(bits)) = self.leaves.get_mut(leaf) else {
                continue;
            };
            self.blocks -= bits.change(low, high, false);
            if bits.is_empty() {
                self.leaves[leaf] = None;
                self.held[leaf / 64] &= !(1 << (leaf % 64));
            }
        }
    }

    /// The first block of the set at or behind `from`.
    fn first(&self, from: u64) -> Option<u64> {
        let own = self
            .leaf(from / LEAF)
            .and_then(|bits| bits.find(from % LEAF, true));
        if let Some(found) = own {
            return Some(from / LEAF * LEAF + found);
        }
        let leaf = first_bit(from / LEAF + 1, self.held.len(), |index| self.held[index])?;
        Some(leaf * LEAF + self.leaf(leaf)?.find(0, true)?)
    }

    fn leaf(&self, leaf: u64) -> Option<&Leaf> {
        self.leaves.get(leaf as usize)?.as_deref()
    }

    /// Behind the last block of the run that `start` begins, or `limit` if that comes first.
    fn run_end(&self, start: u64, limit: u64) -> u64 {
        let mut at = start;
        while at < limit {
            let (leaf, low) = (at / LEAF, at % LEAF);
            match self.leaf(leaf).map(|bits| bits.find(low, false)) {
                None => break,
                Some(Some(end)) => {
                    at = leaf * LEAF + end;
                    break;
                }
                Some(None) => at = (leaf + 1) * LEAF,
            }
        }
        at.min(limit)
    }

    /// Takes out the first blocks at or behind `from`, at most `most` and contiguous; begins again at
    /// the front when there are none behind.
    pub fn take(&mut self, from: u64, most: u64) -> Option<(u64, u64)> {
        let start = self.first(from).or_else(|| self.first(0))?;
        let end = self.run_end(start, start.saturating_add(most));
        self.remove(start, end);
        Some((start, end))
    }

    /// The parts of `gaps` that are not in the set.
    pub fn outside(&self, gaps: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
        if self.blocks == 0 {
            return gaps;
        }
        let mut out = Vec::with_capacity(gaps.len());
        for (mut start, end) in gaps {
            while start < end {
                let held = self.first(start).map_or(end, |block| block.min(end));
                if start < held {
                    out.push((start, held));
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
                        set.remove(at, at + len);
                        flags[low..high].fill(false);
                    }
                    1 => {
                        let behind = (low..4500).chain(0..low).find(|&block| flags[block]);
                        let taken = behind.map(|first| {
                            let run = flags[first..].iter().take_while(|&&flag| flag).count();
                            (first, first + run.min(len as usize))
                        });
                        prop_assert_eq!(set.take(at, len), taken.map(|(s, e)| (s as u64, e as u64)));
                        if let Some((start, end)) = taken {
                            flags[start..end].fill(false);
                        }
                    }
                    _ => {
                        set.insert(at, at + len);
                        flags[low..high].fill(true);
                    }
                }
                let held = flags.iter().filter(|&&flag| flag).count() as u64;
                prop_assert_eq!(set.blocks(), held);
                let outside = set.outside(vec![(at, at + len)]);
                let count: u64 = outside.iter().map(|(s, e)| e - s).sum();
                prop_assert_eq!(count, flags[low..high].iter().filter(|&&flag| !flag).count() as u64);
                prop_assert!(outside.iter().all(|&(s, e)| !flags[s as usize..e as usize].contains(&true)));
            }
        }
    }
}
