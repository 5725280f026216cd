//! Random orders in constant memory: a bijection of `0..n`, and the walk that visits every place once
//! per pass by it.

use super::random::{Purpose, Random};
use crate::region::part_start;

/// A bijection of `0..n` that leaves no visible order. It does xor-shift and odd-multiply rounds (the shape of a 64-bit
/// hash finaliser) on the next power of two. Cycle walking leads back into the domain (Black & Rogaway, "Ciphers with
/// Arbitrary Finite Domains", 2002; under two walks expected).
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
    multipliers: [u64; 4],
}

impl Scatter {
    /// The same for every thread of a seed.
    pub(super) fn new(n: u64, seed: u64) -> Self {
        Self::keyed(n, Random::new(seed, 0, Purpose::Scatter))
    }

    pub(super) fn keyed(n: u64, mut random: Random) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        Self {
            n,
            mask: u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0),
            shift: bits.div_ceil(2).max(1),
            multipliers: [
                random.next() | 1,
                random.next() | 1,
                random.next() | 1,
                random.next() | 1,
            ],
        }
    }

    #[inline]
    pub(super) fn apply(&self, rank: u64) -> u64 {
        let mut x = rank;
        loop {
            for multiplier in self.multipliers {
                x = x.wrapping_add(multiplier >> 32).wrapping_mul(multiplier) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.n {
                return x;
            }
        }
    }
}

/// One thread's part of visiting `0..n` once per pass, each pass in an order of its own.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    order: Scatter,
    seed: u64,
    pass: u32,
    /// Whose part of the pass it goes through: another thread's in each, as a sequential thread does.
    part: u32,
    threads: u32,
    next: u64,
    end: u64,
}

impl Walk {
    /// `None`: there are fewer places than threads. The visits are divided as counts are ([`Job::limits_of`]), so that
    /// `n` requests of all threads are exactly one pass, and `k n` are `k` passes.
    ///
    /// [`Job::limits_of`]: crate::Job::limits_of
    pub(super) fn new(n: u64, seed: u64, thread: u32, threads: u32) -> Option<Self> {
        (n >= u64::from(threads)).then(|| Self {
            order: Scatter::keyed(n, Random::new(seed, 0, Purpose::Order)),
            seed,
            pass: 0,
            part: thread,
            threads,
            next: part_start(n, thread, threads),
            end: part_start(n, thread + 1, threads),
        })
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        if self.next == self.end {
            self.begin_pass();
        }
        self.next += 1;
        self.order.apply(self.next - 1)
    }

    #[cold]
    fn begin_pass(&mut self) {
        let n = self.order.n;
        self.pass = self.pass.wrapping_add(1);
        self.order = Scatter::keyed(n, Random::new(self.seed, self.pass, Purpose::Order));
        self.part = (self.part + 1) % self.threads.max(1);
        self.next = part_start(n, self.part, self.threads);
        self.end = part_start(n, self.part + 1, self.threads);
    }
}
