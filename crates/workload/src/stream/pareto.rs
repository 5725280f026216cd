//! Self-similar ranks in O(1) memory.

use super::random::Random;

/// Ranks `0..n`. The first share h gets 1 - h of all draws; within it, the first share h gets 1 - h again, and so on. A
/// rank is n u^(ln h / ln(1 - h)) for uniform u (J. Gray et al., "Quickly generating billion-record synthetic
/// databases", SIGMOD 1994). It is what fio calls `pareto:h`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pareto {
    n: u64,
    power: f64,
}

impl Pareto {
    /// `share` is h, above 0 and below 1/2.
    pub(super) fn new(n: u64, share: f64) -> Self {
        Self {
            n,
            power: libm::log(share) / libm::log1p(-share),
        }
    }

    /// Returns the next rank, 0-based; rank 0 is the most frequent.
    #[inline]
    pub(super) fn next(&self, random: &mut Random) -> u64 {
        let rank = self.n as f64 * libm::pow(random.unit(), self.power);
        (rank as u64).min(self.n - 1)
    }
}
