//! The log-linear latency histogram.
//!
//! Values are nanoseconds. Below 256 ns a bin is 1 ns wide; above, every power of two is split in 128 bins. So a bin is
//! at most 1/128 of its lower edge (0.78 %) wide. Its middle is at most 0.4 % from any value in it. The last bin counts
//! everything from 2^47 ns (39 h) up: an overloaded open load's responses are as late as the run is long.

use serde::{Deserialize, Serialize};

const SUB_BITS: u32 = 7;
const MAX_BITS: u32 = 47;
/// Number of bins, the overflow bin included.
pub const BINS: usize = (((MAX_BITS - SUB_BITS) << SUB_BITS) + (1 << SUB_BITS)) as usize + 1;
const OVERFLOW: usize = BINS - 1;

/// Returns the bin of a value; values from 2^47 ns up share the last bin.
#[inline]
pub const fn bin_index(value_ns: u64) -> usize {
    if value_ns >> MAX_BITS != 0 {
        return OVERFLOW;
    }
    let shift = (u64::BITS - (value_ns | 0xff).leading_zeros()) - (SUB_BITS + 1);
    ((shift as usize) << SUB_BITS) + (value_ns >> shift) as usize
}

/// Returns the half-open range `[low, high)` of a bin, in ns. The overflow bin reaches to `u64::MAX`.
pub const fn bin_bounds_ns(bin: usize) -> (u64, u64) {
    if bin >= OVERFLOW {
        return (1 << MAX_BITS, u64::MAX);
    }
    let sub = 1usize << SUB_BITS;
    if bin < 2 * sub {
        return (bin as u64, bin as u64 + 1);
    }
    let shift = bin / sub - 1;
    let low = ((bin - shift * sub) as u64) << shift;
    (low, low + (1 << shift))
}

/// A histogram being counted into: fixed size, no allocation after construction.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u32; BINS]>,
    count: u64,
    /// A second of a million responses, each five hours late, is beyond 2^64.
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: Box::new([0; BINS]),
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }
}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Counts `n` equal values.
    #[inline]
    pub fn record_n(&mut self, value_ns: u64, n: u32) {
        self.counts[bin_index(value_ns)] += n;
        self.count += u64::from(n);
        self.sum_ns += u128::from(value_ns) * u128::from(n);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// Values counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of the values.
    #[inline]
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Returns what is counted so far.
    pub fn bins(&self) -> Bins {
        if self.count == 0 {
            return Bins::default();
        }
        let (first, last) = (bin_index(self.min_ns), bin_index(self.max_ns));
        let counts = (first..).zip(&self.counts[first..=last]);
        let occupied = counts.filter(|(_, n)| **n > 0);
        Bins(
            occupied
                .map(|(bin, n)| (bin as u16, u64::from(*n)))
                .collect(),
        )
    }

    /// Takes the counts out and leaves the histogram empty.
    pub fn take(&mut self) -> SparseHistogram {
        let mut bins = Vec::new();
        if self.count > 0 {
            let (first, last) = (bin_index(self.min_ns), bin_index(self.max_ns));
            for (bin, n) in (first..).zip(&mut self.counts[first..=last]) {
                if *n > 0 {
                    bins.push((bin as u16, u64::from(std::mem::take(n))));
                }
            }
        }
        let out = SparseHistogram {
            bins: Bins(bins),
            count: self.count,
            sum_ns: self.sum_ns,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
        };
        self.count = 0;
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
        out
    }
}

/// Occupied bins in ascending order with their counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bins(Vec<(u16, u64)>);

impl Bins {
    /// Returns each bin with its count.
    pub fn as_slice(&self) -> &[(u16, u64)] {
        &self.0
    }

    /// Returns what was counted after `earlier`, whose bins are all among these.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut before = earlier.0.iter().peekable();
        let each = self.0.iter().map(|&(bin, n)| {
            let seen = before.next_if(|(other, _)| *other == bin);
            (bin, n - seen.map_or(0, |&(_, seen)| seen))
        });
        Self(each.filter(|(_, n)| *n > 0).collect())
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Self) {
        let mut merged = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            match (a.peek(), b.peek()) {
                (Some(&&(x, n)), Some(&&(y, m))) => match x.cmp(&y) {
                    std::cmp::Ordering::Less => {
                        merged.push((x, n));
                        a.next();
                    }
                    std::cmp::Ordering::Greater => {
                        merged.push((y, m));
                        b.next();
                    }
                    std::cmp::Ordering::Equal => {
                        merged.push((x, n + m));
                        a.next();
                        b.next();
                    }
                },
                (Some(&&x), None) => {
                    merged.push(x);
                    a.next();
                }
                (None, Some(&&y)) => {
                    merged.push(y);
                    b.next();
                }
                (None, None) => break,
            }
        }
        self.0 = merged;
    }
}

/// Fewest values above a percentile for it to be reported: n (1 - p) >= 100.
const SAMPLES_ABOVE: u64 = 100;

/// Counts at rest: the occupied bins in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SparseHistogram {
    bins: Bins,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for SparseHistogram {
    fn default() -> Self {
        Self {
            bins: Bins::default(),
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }
}

impl SparseHistogram {
    /// Returns the occupied bins in ascending order with their counts.
    pub fn bins(&self) -> &[(u16, u64)] {
        self.bins.as_slice()
    }

    /// Values counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact mean of the values, ns; `None` when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Returns the exact sum of the values, ns.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Returns the exact smallest value, ns.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_ns)
    }

    /// Returns the exact largest value, ns.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// Returns the value at quantile `q` in 0..=1: the middle of the bin that holds the value of rank `ceil(q n)`. It
    /// is never above the largest value seen; the last bin gives its lower edge. `None` when empty.
    pub fn quantile_ns(&self, q: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        for &(bin, n) in self.bins.as_slice() {
            seen += n;
            if seen >= rank {
                let (low, high) = bin_bounds_ns(usize::from(bin));
                let middle = if usize::from(bin) == OVERFLOW {
                    low as f64
                } else {
                    (low + high - 1) as f64 / 2.0
                };
                return Some(middle.clamp(self.min_ns as f64, self.max_ns as f64));
            }
        }
        Some(self.max_ns as f64)
    }

    /// Returns the quantile `parts / 100_000`, us; `None` where fewer than [`SAMPLES_ABOVE`] values lie above it.
    pub fn percentile_us(&self, parts: u64) -> Option<f64> {
        let above = u128::from(self.count) * u128::from(100_000 - parts);
        let enough = above >= u128::from(SAMPLES_ABOVE) * 100_000;
        let quantile_ns = self.quantile_ns(parts as f64 / 100_000.0);
        quantile_ns.filter(|_| enough).map(|ns| ns / 1e3)
    }

    /// Adds another histogram's counts.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.bins.merge(&other.bins);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

impl Bins {
    /// Returns whether somebody can have counted this: bins that exist, in ascending order, of at most `most` each.
    pub(crate) fn is_sound(&self, most: u64) -> bool {
        let exist = self
            .0
            .iter()
            .all(|&(bin, n)| usize::from(bin) < BINS && (1..=most).contains(&n));
        exist && self.0.windows(2).all(|pair| pair[0].0 < pair[1].0)
    }
}

impl SparseHistogram {
    /// Returns whether somebody can have counted this: the bins add up to the count, and hold the extremes and the sum.
    pub(crate) fn is_sound(&self, most: u64) -> bool {
        let bins = self.bins();
        let (Some(&(first, _)), Some(&(last, _))) = (bins.first(), bins.last()) else {
            return self.count == 0 && self.sum_ns == 0;
        };
        let count: u128 = bins.iter().map(|&(_, n)| u128::from(n)).sum();
        let sums = u128::from(self.min_ns) * count..=u128::from(self.max_ns) * count;
        self.bins.is_sound(most)
            && self.count <= most
            && count == u128::from(self.count)
            && bin_index(self.min_ns) == usize::from(first)
            && bin_index(self.max_ns) == usize::from(last)
            && sums.contains(&self.sum_ns)
    }
}
