//! Regions and end conditions made concrete for one target.

use crate::{Extent, Geometry, Region, StreamError, Until};

/// Part of a target in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start_bytes: u64,
    /// Length in bytes.
    pub size_bytes: u64,
}

/// Fractions of a capacity resolve to whole MiB, so that every step of a method that names the same
/// fraction touches the same bytes whatever its block size: what was filled is what is read.
const FRACTION_GRAIN_BYTES: u64 = 1 << 20;

impl Region {
    /// The region on a target. Byte extents are rounded down to the target's block; fractions to
    /// 1 MiB, or to the target's block when they come to less than 1 MiB.
    ///
    /// # Errors
    /// The region ends beyond the target.
    pub fn resolve(&self, geometry: Geometry) -> Result<Span, StreamError> {
        let block_bytes = u64::from(geometry.block_bytes.max(1));
        let round = |extent, left_bytes: u64| match extent {
            Extent::Bytes(bytes) => bytes - bytes % block_bytes,
            Extent::UpTo(bytes) => {
                let bytes = bytes.min(left_bytes);
                bytes - bytes % block_bytes
            }
            Extent::Fraction(fraction) => {
                // To the nearest byte first: 29 % of 100 MiB is 29 MiB, and a product of floats just below it.
                let bytes = (geometry.capacity_bytes as f64 * fraction).round() as u64;
                let grain_bytes = match bytes >= FRACTION_GRAIN_BYTES {
                    true => FRACTION_GRAIN_BYTES.next_multiple_of(block_bytes),
                    false => block_bytes,
                };
                (bytes - bytes % grain_bytes).min(left_bytes)
            }
        };
        let start_bytes = round(self.start, geometry.capacity_bytes);
        let left_bytes = geometry.capacity_bytes.saturating_sub(start_bytes);
        let span = Span {
            start_bytes,
            size_bytes: round(self.size, left_bytes),
        };
        match span.start_bytes.checked_add(span.size_bytes) {
            Some(end_bytes) if end_bytes <= geometry.capacity_bytes => Ok(span),
            _ => Err(StreamError::RegionBeyondTarget {
                start_bytes: span.start_bytes,
                size_bytes: span.size_bytes,
                capacity_bytes: geometry.capacity_bytes,
            }),
        }
    }
}

/// When a step ends on one target, or a thread's part of it: the first limit reached.
/// `u64::MAX` means no limit, so a driver compares without looking at options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Elapsed time, ns.
    pub time_ns: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Number of I/Os.
    pub count: u64,
}

impl Until {
    /// The limits of all threads of a target together, for a region of `region_bytes`.
    pub fn resolve(&self, region_bytes: u64) -> Limits {
        let multiple_bytes = self
            .region_multiple
            .map(|multiple| (region_bytes as f64 * multiple) as u64);
        Limits {
            time_ns: self.time_ns.unwrap_or(u64::MAX),
            bytes: [self.bytes, multiple_bytes]
                .into_iter()
                .flatten()
                .min()
                .unwrap_or(u64::MAX),
            count: self.count.unwrap_or(u64::MAX),
        }
    }
}

impl Limits {
    /// The part of thread `thread` (0-based) of `threads`: time is the same for every thread, bytes
    /// and counts are divided and add up exactly.
    #[must_use]
    pub fn of_thread(&self, thread: u32, threads: u32) -> Limits {
        let part = |whole: u64| {
            let (thread, threads) = (u64::from(thread), u64::from(threads.max(1)));
            match whole {
                u64::MAX => u64::MAX,
                _ => whole / threads + u64::from(thread < whole % threads),
            }
        };
        Limits {
            time_ns: self.time_ns,
            bytes: part(self.bytes),
            count: part(self.count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn every_whole_percent_of_a_hundred_mib_is_so_many_mib_and_two_halves_make_the_whole() {
        let geometry = Geometry {
            capacity_bytes: 100 * MIB,
            block_bytes: 512,
        };
        for percent in 1..100_u32 {
            let start = f64::from(percent) / 100.0;
            let region = Region {
                start: Extent::Fraction(start),
                size: Extent::Fraction(1.0 - start),
            };
            let span = region.resolve(geometry).unwrap();
            let start_bytes = u64::from(percent) * MIB;
            let size_bytes = 100 * MIB - start_bytes;
            assert_eq!(
                (span.start_bytes, span.size_bytes),
                (start_bytes, size_bytes)
            );
        }
    }
}
