//! Regions and end conditions made concrete for one target.

use crate::{Extent, FileSet, FileThreads, Geometry, Job, Region, RegionPart, StreamError, Until};

/// Part of a target in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start_bytes: u64,
    /// Length in bytes.
    pub size_bytes: u64,
}

/// Fractions of a capacity resolve to whole MiB. So steps of a method that name the same fraction touch the same bytes,
/// whatever their block size: what was filled is read.
const FRACTION_GRAIN_BYTES: u64 = 1 << 20;

impl Region {
    /// Returns the region on a target, whether or not it ends beyond it. Byte extents are rounded down to the target's
    /// block. Fractions are rounded down to 1 MiB, or to the target's block when they come to less than 1 MiB.
    pub fn span(&self, geometry: Geometry) -> Span {
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
        let whole = Span {
            start_bytes,
            size_bytes: round(self.size, left_bytes),
        };
        self.part.map_or(whole, |part| part.within(whole))
    }

    /// Returns the region as plans, progress and reports count it. It is [`span`](Self::span), but the whole of a
    /// target is its exact capacity, even where that is no whole number of MiB.
    pub fn nominal(&self, geometry: Geometry) -> Span {
        match (self.size, self.part) {
            (Extent::Fraction(1.0), None) => Span {
                start_bytes: 0,
                size_bytes: geometry.capacity_bytes,
            },
            _ => self.span(geometry),
        }
    }

    /// The region on a target, as [`span`](Self::span).
    ///
    /// # Errors
    /// The region ends beyond the target.
    pub fn resolve(&self, geometry: Geometry) -> Result<Span, StreamError> {
        let span = self.span(geometry);
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

impl RegionPart {
    /// Returns this part of a span. What is left behind the last grain belongs to the last part.
    fn within(self, whole: Span) -> Span {
        let grain_bytes = self.grain_bytes.max(1);
        let grains = whole.size_bytes / grain_bytes;
        let start = |number| part_start(grains, number, self.of) * grain_bytes;
        let start_bytes = start(self.number);
        let end_bytes = match self.number + 1 == self.of {
            true => whole.size_bytes,
            false => start(self.number + 1),
        };
        Span {
            start_bytes: whole.start_bytes + start_bytes,
            size_bytes: end_bytes - start_bytes,
        }
    }
}

/// When a thread's part of a step ends: the first limit reached.
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

/// Returns where part `part` (from 0) of `parts` of a whole begins, and the part before ends; the next whole's parts
/// follow on. Whatever is divided over threads, places or counts, is divided so: what belongs together ends together.
pub(crate) fn part_start(whole: u64, part: u32, parts: u32) -> u64 {
    (u128::from(whole) * u128::from(part) / u128::from(parts.max(1))) as u64
}

impl Job {
    /// Returns when thread `thread` (0-based) ends, in a region of `region_bytes`. Time is the same for every thread.
    /// Bytes and counts are divided and add up exactly, bytes in whole blocks where all blocks have one size. As many
    /// I/O as the region has places are one pass of it: each thread's part is then what its pattern gives it.
    pub fn limits_of(&self, thread: u32, region_bytes: u64) -> Limits {
        let (threads, block_bytes) = (self.load.threads(), self.only_size());
        let grain_bytes = block_bytes.unwrap_or(1);
        let align_bytes = self.align_bytes.unwrap_or(1).max(1);
        let places = block_bytes.map_or(u64::MAX, |size_bytes| {
            region_bytes.saturating_sub(size_bytes) / size_bytes.next_multiple_of(align_bytes) + 1
        });
        let part = |whole: u64| match whole {
            u64::MAX => u64::MAX,
            _ => part_of_passes(whole, places, thread, threads),
        };
        let whole = self
            .until
            .resolve(region_bytes - region_bytes % grain_bytes);
        let blocks = match whole.bytes {
            u64::MAX => u64::MAX,
            bytes => bytes.div_ceil(grain_bytes),
        };
        Limits {
            time_ns: whole.time_ns,
            bytes: part(blocks).saturating_mul(grain_bytes),
            count: part(whole.count),
        }
    }

    /// Returns when thread `thread` ends, in a set of files. A multiple of the set is one of the thread's own files, where
    /// it has some. So once is each of their blocks once, though other threads have larger files.
    pub(crate) fn limits_in_files(&self, set: &FileSet, thread: u32) -> Limits {
        let (threads, all_bytes) = (self.load.threads(), set.total_bytes());
        if set.threads == FileThreads::Together {
            return self.limits_of(thread, all_bytes);
        }
        let block_bytes = self.only_size().unwrap_or(1);
        let own = set.files_of(thread, threads).map(|file| {
            let size_bytes = set.size_of(file);
            size_bytes - size_bytes % block_bytes
        });
        self.limits_of_own(thread, all_bytes, own.sum())
    }

    /// Returns when thread `thread` ends, in the sequential zones of a region. A multiple of the region is one of what the
    /// thread's own zones take, which [`ZoneShare`](crate::ZoneShare) counts: here is only what no thread exceeds.
    pub(crate) fn limits_in_zones(&self, thread: u32, region_bytes: u64) -> Limits {
        self.limits_of_own(thread, region_bytes, region_bytes)
    }

    /// Returns when thread `thread` ends, a multiple being one of its `own_bytes` of `all_bytes`.
    fn limits_of_own(&self, thread: u32, all_bytes: u64, own_bytes: u64) -> Limits {
        let until = Until {
            region_multiple: None,
            ..self.until
        };
        let limits = self.with_until(until).limits_of(thread, all_bytes);
        let most = self
            .until
            .region_multiple
            .map_or(u64::MAX, |multiple| (own_bytes as f64 * multiple) as u64);
        Limits {
            bytes: limits.bytes.min(most),
            ..limits
        }
    }

    /// Returns the block size of all I/O that have one; `None`: there are several.
    pub(crate) fn only_size(&self) -> Option<u64> {
        let sizes = self.mix.ops.iter().flat_map(|block| &block.sizes);
        let mut sizes = sizes.map(|share| u64::from(share.size_bytes));
        let first = sizes.next().filter(|&size_bytes| size_bytes > 0)?;
        sizes.all(|size_bytes| size_bytes == first).then_some(first)
    }
}

/// A thread's part of `whole` visits to `places`. In each pass it goes on into the part of the next thread.
fn part_of_passes(whole: u64, places: u64, thread: u32, threads: u32) -> u64 {
    let (passes, rest) = (whole / places, whole % places);
    let threads = threads.max(1);
    let (laps, steps) = (passes / u64::from(threads), passes % u64::from(threads));
    let start = |whole, thread: u32| {
        let (laps, part) = (thread / threads, thread % threads);
        u64::from(laps) * whole + part_start(whole, part, threads)
    };
    let own = |whole, threads| start(whole, thread + threads) - start(whole, thread);
    laps * places + own(places, steps as u32) + own(rest, 1)
}

impl Until {
    /// Returns the limits of all threads of a target together, for a region of `region_bytes`.
    fn resolve(&self, region_bytes: u64) -> Limits {
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
    /// Returns whether nothing ends it.
    pub const fn is_endless(&self) -> bool {
        self.time_ns == u64::MAX && self.bytes == u64::MAX && self.count == u64::MAX
    }

    /// Returns whether its volume is used up.
    #[inline]
    pub const fn is_spent(&self) -> bool {
        self.bytes == 0 || self.count == 0
    }

    /// Takes the volume of an I/O off.
    #[inline]
    pub const fn spend(&mut self, size_bytes: u32) {
        self.bytes = self.bytes.saturating_sub(size_bytes as u64);
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_whole_of_a_target_counts_as_its_capacity_and_requests_stay_in_whole_mib() {
        let geometry = Geometry {
            capacity_bytes: 100 * MIB + 4096,
            block_bytes: 512,
        };
        let sized = |size| Region {
            start: Extent::Bytes(0),
            size,
            part: None,
        };
        let whole = sized(Extent::Fraction(1.0));
        assert_eq!(whole.span(geometry).size_bytes, 100 * MIB);
        assert_eq!(whole.nominal(geometry).size_bytes, 100 * MIB + 4096);
        for part in [
            Extent::Fraction(0.29),
            Extent::Bytes(MIB),
            Extent::UpTo(MIB),
        ] {
            assert_eq!(sized(part).nominal(geometry), sized(part).span(geometry));
        }
    }

    #[test]
    fn parts_of_a_region_follow_on_in_whole_blocks_and_are_all_of_it() {
        let text = "mix = \"write\"\nblock = \"384KiB\"\npattern = \"sequential\"\nregion = { start = \"25%\" }\n\
                    load = {}\nuntil = { written = \"1x\" }";
        let job = Job::from_toml(text, "job.toml").unwrap();
        for (of, capacity_mib) in [(1, 64), (2, 64), (3, 1001), (7, 4096), (64, 97)] {
            let geometry = Geometry {
                capacity_bytes: capacity_mib * MIB,
                block_bytes: 4096,
            };
            let whole = job.region.resolve(geometry).unwrap();
            let mut next_bytes = whole.start_bytes;
            for number in 0..of {
                let part = job.in_part(number, of).region.resolve(geometry).unwrap();
                assert_eq!(part.start_bytes, next_bytes);
                assert!(number + 1 == of || part.size_bytes.is_multiple_of(384 << 10));
                next_bytes += part.size_bytes;
            }
            assert_eq!(next_bytes, whole.start_bytes + whole.size_bytes);
        }
    }

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
                part: None,
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
