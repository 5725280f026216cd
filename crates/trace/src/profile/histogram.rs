//! Counts of values on a logarithmic scale: eight buckets per doubling, so that a quantile is within 6 % of its value.

/// Buckets per doubling, as a power of two.
const BITS: u32 = 3;
const SUB: u64 = 1 << BITS;
const BUCKETS: usize = ((64 - BITS as usize) << BITS) + SUB as usize;

/// The counts.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    counts: Box<[f64]>,
    /// Values counted.
    pub(super) count: f64,
    /// Their sum.
    pub(super) sum: f64,
    /// The largest.
    pub(super) most: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0.0; BUCKETS].into_boxed_slice(),
            count: 0.0,
            sum: 0.0,
            most: 0,
        }
    }
}

impl Histogram {
    #[inline]
    pub(super) fn add(&mut self, value: u64) {
        self.add_times(value, 1);
    }

    #[inline]
    pub(super) fn add_times(&mut self, value: u64, times: u64) {
        self.add_weighted(value, times as f64);
    }

    /// Counts a value that stands for `weight` of them.
    #[inline]
    pub(super) fn add_weighted(&mut self, value: u64, weight: f64) {
        self.counts[bucket(value)] += weight;
        self.count += weight;
        self.sum += value as f64 * weight;
        self.most = self.most.max(value);
    }

    /// Returns the value that a share of all does not exceed: the middle of the whole numbers of its bucket. `None`:
    /// nothing was counted.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count;
        let mut below = 0.0;
        let found = self.counts.iter().position(|&count| {
            below += count;
            count > 0.0 && below >= wanted
        });
        // Rounded weights may sum up to a little less.
        let last = || self.counts.iter().rposition(|&count| count > 0.0);
        let place = found.or_else(last)?;
        let (low, high) = bounds(place);
        Some(((low + high - 1.0) / 2.0).min(self.most as f64))
    }

    /// Returns every bucket that has counts, as (its least value, counts).
    pub(super) fn buckets(&self) -> Vec<(f64, u64)> {
        let all = self.counts.iter().enumerate();
        let full = all.filter(|&(_, &count)| count > 0.0);
        full.map(|(place, &count)| (bounds(place).0, count.round() as u64))
            .collect()
    }
}

#[inline]
fn bucket(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let doubling = 63 - value.leading_zeros() - BITS;
    ((u64::from(doubling) + 1) * SUB + (value >> doubling) - SUB) as usize
}

/// Returns the least value of a bucket, and that of the next.
fn bounds(place: usize) -> (f64, f64) {
    let least = |place: u64| match place {
        place if place < SUB => place as f64,
        place => {
            let (doubling, sub) = (place / SUB - 1, place % SUB);
            (SUB + sub) as f64 * 2_f64.powi(doubling as i32)
        }
    };
    (least(place as u64), least(place as u64 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_the_bucket_whose_bounds_hold_it() {
        for value in [0, 1, 7, 8, 9, 15, 16, 17, 1000, 4096, 1 << 40, u64::MAX] {
            let (low, high) = bounds(bucket(value));
            assert!(
                low <= value as f64 && value as f64 <= high,
                "{value}: {low} {high}"
            );
        }
    }

    #[test]
    fn a_quantile_of_values_with_a_bucket_of_their_own_is_exact() {
        let mut histogram = Histogram::default();
        for value in [1, 2, 2, 2, 9] {
            histogram.add(value);
        }
        assert_eq!(
            [0.2, 0.5, 1.0].map(|share| histogram.quantile(share)),
            [Some(1.0), Some(2.0), Some(9.0)]
        );
    }

    #[test]
    fn a_quantile_is_within_six_percent() {
        let mut histogram = Histogram::default();
        (1..=100_000).for_each(|value| histogram.add(value));
        for share in [0.01, 0.5, 0.99, 0.999] {
            let found = histogram.quantile(share).unwrap();
            assert!(
                (found / (share * 1e5) - 1.0).abs() < 0.0625,
                "{share}: {found}"
            );
        }
    }
}
