//! Random bits for the stream: xoshiro256++ (Blackman & Vigna, "Scrambled Linear Pseudorandom Number
//! Generators", 2021), one generator per (seed, thread, purpose), and integer-only range reduction.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// What a generator is for. Generators of different purposes are independent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Operations, block sizes and addresses.
    Requests = 1,
    /// Arrival times.
    Arrivals = 2,
    /// Where a region's hot blocks lie; the same for every thread.
    Scatter = 3,
    /// The order in which a pass of exact-once coverage visits its places; the same for every thread.
    Order = 4,
    /// Which blocks of a pass are written again.
    Again = 5,
    /// Which I/O has which priority.
    Priorities = 6,
}

/// A generator of uniform `u64`.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn new(seed: u64, thread: u32, purpose: Purpose) -> Self {
        let stream = u64::from(thread) << 8 | purpose as u64;
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(seed ^ mix(stream))))
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on `0..n` by multiply-shift (Lemire, "Fast Random Integer Generation in an Interval",
    /// 2019, without the rejection step: the bias is below n / 2^64).
    #[inline(always)]
    pub(super) fn below(&mut self, n: u64) -> u64 {
        scaled(self.next(), n)
    }

    /// Uniform on (0, 1], 53 bits.
    #[inline(always)]
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// A uniform `u64` as one on `0..n`.
#[inline(always)]
pub(crate) fn scaled(draw: u64, n: u64) -> u64 {
    ((u128::from(draw) * u128::from(n)) >> 64) as u64
}

/// Returns the cumulative share `share` on the scale of a `u64` draw. Saturates at 1.
pub(super) fn threshold(share: f64) -> u64 {
    (share * 2f64.powi(64)) as u64
}

/// The output function of SplitMix64 (Steele, Lea & Flood, 2014) after one step.
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
