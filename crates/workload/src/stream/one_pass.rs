//! Writes that leave a drive as long random writing would, after one pass of its flash. The pass goes through the flash
//! in stretches of equal size. A stretch first writes again some blocks of the one before, then new ones in random order.
//! Each is then as invalid as in a steady state: validity times the space with that validity is constant. Source:
//! Desnoyers, "Analytic Models of SSD Write Performance", ACM TOS 8(2), 2012. Order and shares are those of fio's
//! `sprandom.c`. It keeps 8 bytes for each block that is to be written again in the next stretch.

use std::collections::VecDeque;

use super::permutation::Scatter;
use super::random::{Purpose, Random, threshold};

#[derive(Clone, Debug)]
pub(super) struct OnePass {
    blocks: u64,
    seed: u64,
    pass: u32,
    random: Random,
    /// For each stretch, below which draw a block will be written again in the next.
    again_below: Box<[u64]>,
    stretch_writes: u64,
    order: Scatter,
    /// New blocks of this pass so far.
    next: u64,
    stretch: usize,
    /// New blocks that this stretch still writes.
    left: u64,
    /// Blocks that this stretch writes again, and those that the next one will.
    due: VecDeque<u64>,
    marked: VecDeque<u64>,
}

impl OnePass {
    /// Over `blocks` blocks, of a drive with `spare` times as much flash more, in as many `stretches`.
    pub(super) fn new(blocks: u64, spare: f64, stretches: u32, seed: u64, thread: u32) -> Self {
        let flash = blocks + (blocks as f64 * spare).ceil() as u64;
        let shares = invalid_shares(stretches as usize, spare);
        let stretch_writes = (flash / u64::from(stretches)).max(1);
        Self {
            blocks,
            seed,
            pass: 0,
            random: Random::new(seed, thread, Purpose::Again),
            again_below: shares.into_iter().map(threshold).collect(),
            stretch_writes,
            order: order_of(blocks, seed, 0),
            next: 0,
            stretch: 0,
            left: stretch_writes,
            due: VecDeque::new(),
            marked: VecDeque::new(),
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        let block = match self.due.pop_front() {
            Some(block) => block,
            None => self.next_new(),
        };
        if self.random.next() < self.again_below[self.stretch] {
            self.marked.push_back(block);
        }
        block
    }

    fn next_new(&mut self) -> u64 {
        if self.left == 0 {
            self.begin_stretch();
        }
        if self.next == self.blocks {
            self.begin_pass();
        }
        self.left -= 1;
        self.next += 1;
        self.order.apply(self.next - 1)
    }

    #[cold]
    fn begin_stretch(&mut self) {
        if self.stretch + 1 < self.again_below.len() {
            self.stretch += 1;
        }
        self.due = std::mem::take(&mut self.marked);
        let new = self.stretch_writes.saturating_sub(self.due.len() as u64);
        self.left = new.max(1);
    }

    /// Begins again, in another order: all blocks were written.
    #[cold]
    fn begin_pass(&mut self) {
        self.pass = self.pass.wrapping_add(1);
        self.order = order_of(self.blocks, self.seed, self.pass);
        (self.next, self.stretch, self.left) = (0, 0, self.stretch_writes);
        self.marked.clear();
    }
}

fn order_of(blocks: u64, seed: u64, pass: u32) -> Scatter {
    Scatter::keyed(blocks, Random::new(seed, pass, Purpose::Order))
}

/// Returns which share of each stretch is invalid when the pass is over: most in the first, none in the last.
///
/// Validity runs from that of what is cleaned, 1 - 1 / WAF, up to 1; WAF is about 0.5 / spare + 0.7. Stretches of one
/// validity take space in proportion to its inverse; the curve is read off at equal distances.
fn invalid_shares(stretches: usize, spare: f64) -> Vec<f64> {
    let cleaned = 1.0 - 1.0 / (0.5 / spare + 0.7);
    let steps = (stretches - 1) as f64;
    let validity: Vec<f64> = (0..stretches)
        .map(|step| 1.0 + step as f64 * (cleaned - 1.0) / steps)
        .collect();
    let mut space = 0.0;
    let behind: Vec<f64> = validity
        .iter()
        .map(|one| {
            space += 1.0 / one;
            space
        })
        .collect();
    let (first, last) = (behind[0], behind[stretches - 1]);
    let read_off = |step: usize| {
        let at = first + step as f64 * (last - first) / steps;
        let above = behind
            .partition_point(|&one| one < at)
            .clamp(1, stretches - 1);
        let share = (at - behind[above - 1]) / (behind[above] - behind[above - 1]);
        let valid = validity[above - 1] + (validity[above] - validity[above - 1]) * share;
        (1.0 - valid).max(0.0)
    };
    (0..stretches).rev().map(read_off).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: u64 = 40_000;

    fn writes(spare: f64, stretches: u32, count: u64) -> Vec<u64> {
        let mut pass = OnePass::new(BLOCKS, spare, stretches, 7, 0);
        (0..count).map(|_| pass.next()).collect()
    }

    /// Places of the list whose block is not written later.
    fn valid(writes: &[u64]) -> Vec<bool> {
        let mut last = vec![0; BLOCKS as usize];
        for (at, &block) in writes.iter().enumerate() {
            last[block as usize] = at;
        }
        (0..writes.len())
            .map(|at| last[writes[at] as usize] == at)
            .collect()
    }

    #[test]
    fn one_pass_of_the_flash_writes_each_block_and_fills_the_spare_area_with_what_is_invalid() {
        for spare in [0.07, 0.15, 0.28] {
            let flash = (BLOCKS as f64 * (1.0 + spare)) as u64;
            let valid = valid(&writes(spare, 50, flash));
            let written = valid.iter().filter(|&&valid| valid).count() as f64;
            assert!(
                (written / BLOCKS as f64 - 1.0).abs() < 0.005,
                "{spare}: {written}"
            );
        }
    }

    #[test]
    fn stretches_are_as_invalid_as_a_steady_state_has_them() {
        let (spare, stretches) = (0.15, 20);
        let shares = invalid_shares(stretches, spare);
        let length = (BLOCKS as f64 * (1.0 + spare)) as usize / stretches;
        let valid = valid(&writes(spare, 20, (length * stretches) as u64));
        for (stretch, share) in valid.chunks(length).zip(&shares) {
            let invalid = stretch.iter().filter(|&&valid| !valid).count() as f64;
            let found = invalid / length as f64;
            assert!((found - share).abs() < 0.03, "{found} for {share}");
        }
        // WAF of 4.03: what is cleaned is 75 % valid.
        assert!((shares[0] - 1.0 / (0.5 / spare + 0.7)).abs() < 1e-9);
        assert!(shares[stretches - 1].abs() < 1e-9);
        assert!(shares.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn when_all_blocks_are_written_it_begins_again_in_another_order() {
        let two = writes(0.15, 10, 3 * BLOCKS);
        let counts = |writes: &[u64]| {
            let mut seen = vec![0_u32; BLOCKS as usize];
            writes.iter().for_each(|&block| seen[block as usize] += 1);
            seen
        };
        assert!(counts(&two).iter().all(|&count| count >= 2));
        assert_ne!(two[..100], two[46_000..46_100]);
    }
}
