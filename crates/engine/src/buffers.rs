//! I/O buffers of one load thread: one mapped region, laid out and filled before the run.
//!
//! Every slot (one I/O in flight) has a read buffer and a write buffer of its own, so data read
//! never becomes data written. Write buffers are filled once with random bytes of the asked-for compressibility. Per
//! I/O only a number is stamped into each 4 KiB, at the cost of one store. So no two blocks ever written are equal, and
//! a drive that deduplicates gains nothing. Where a job asks for duplicates, that share of the 4 KiB units is copied
//! from a small pool instead. Where it asks for a pattern, blocks hold that alone, and all are equal.

use std::{fs, io, ops::Range, ptr, ptr::NonNull, slice, thread};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};
use workload::{BytePattern, Content, Job, Op};

use crate::{EngineError, watermark};

const HUGE_BYTES: usize = 2 << 20;
const PAGE_BYTES: usize = 4096;
/// Compressible data alternates random bytes and zeroes in units of this, the smallest logical block.
const CONTENT_UNIT_BYTES: usize = 512;

/// Stamps of a thread count up from its seed's low bits: four petabytes before they meet those of another seed.
pub(crate) const STAMP_SHIFT: u32 = 40;

/// Share of the buffers in huge pages from which they count as being there.
const HUGE_LEAST: f64 = 0.99;

/// How the region is backed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    Hugetlb,
    Transparent,
    Small,
}

impl Pages {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Pages::Hugetlb => "hugetlb",
            Pages::Transparent => "transparent",
            Pages::Small => "none",
        }
    }
}

/// Buffers of one thread.
#[derive(Debug)]
pub(crate) struct Buffers {
    base: NonNull<u8>,
    mapped_bytes: usize,
    stride_bytes: usize,
    write_at_bytes: usize,
    pub(crate) pages: Pages,
    stamp: u64,
    /// Bytes that blocks repeat instead, as they lie there from the start.
    pattern: Option<BytePattern>,
    duplicates: Option<Duplicates>,
}

/// Units whose copies are written: the same in every thread, target and run.
#[derive(Debug)]
struct Duplicates {
    /// A unit is a copy when the hash of its running number is at most this.
    at_most: u64,
    pool: Box<[[u8; PAGE_BYTES]]>,
}

/// Distinct units of the pool.
const POOL: usize = 256;

impl Duplicates {
    /// Returns the pool; `None`: the job asks for none.
    fn new(content: &Content) -> Option<Self> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
        (content.dedup > 0.0).then(|| Self {
            at_most: (content.dedup * 2f64.powi(64)) as u64,
            pool: (0..POOL)
                .map(|_| {
                    let mut unit = [0; PAGE_BYTES];
                    fill(&mut unit, content.compressible, &mut random);
                    unit
                })
                .collect(),
        })
    }

    /// Returns the unit that the one of this running number is a copy of, if it is one. Multiples of an
    /// irrational number spread evenly (Weyl), so any run of units has its share of copies.
    fn original(&self, number: u64) -> Option<&[u8; PAGE_BYTES]> {
        let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let pick = number.wrapping_mul(0xd1b5_4a32_d192_ed03) >> 32;
        (spread <= self.at_most).then(|| &self.pool[pick as usize % POOL])
    }
}

// SAFETY: the region is owned by this value alone; nothing else keeps its address while it moves.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Buffers for `slots` I/O in flight of `job`, write data included. Data differ by `seed`. `huge` asks
    /// for huge pages. A run that `is_stopped` writes nothing, so the rest of its data is left out.
    pub(crate) fn new(
        job: &Job,
        slots: u32,
        seed: u64,
        huge: bool,
        is_stopped: impl Fn() -> bool,
    ) -> Result<Self, EngineError> {
        let largest = |wanted: fn(Op) -> bool| {
            let ops = job.mix.ops.iter().filter(|block| wanted(block.op));
            let sizes = ops
                .flat_map(|block| &block.sizes)
                .map(|size| size.size_bytes);
            (sizes.max().unwrap_or(0) as usize).next_multiple_of(PAGE_BYTES)
        };
        let write_at_bytes = largest(|op| op == Op::Read);
        let write_bytes = largest(|op| matches!(op, Op::Write | Op::Append));
        let stride_bytes = write_at_bytes + write_bytes;
        let bytes = (stride_bytes * slots as usize).max(PAGE_BYTES);
        let (base, mapped_bytes, pages) =
            map(bytes, huge).map_err(|source| EngineError::Buffers { bytes, source })?;
        let mut buffers = Self {
            base,
            mapped_bytes,
            stride_bytes,
            write_at_bytes,
            pages,
            stamp: seed << STAMP_SHIFT,
            pattern: job.content.pattern,
            duplicates: Duplicates::new(&job.content),
        };
        for slot in 0..slots as usize {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ (slot as u64) << 32);
            let data = buffers.data_to_write(slot, write_bytes as u32);
            if is_stopped() {
                break;
            }
            match job.content.pattern {
                Some(pattern) => repeat(data, pattern.bytes()),
                None => fill(data, job.content.compressible, &mut random),
            }
        }
        Ok(buffers)
    }

    /// Returns the whole region, for registration.
    pub(crate) fn region(&self) -> libc::iovec {
        libc::iovec {
            iov_base: self.base.as_ptr().cast(),
            iov_len: self.mapped_bytes,
        }
    }

    /// Returns what the kernel gave less than was asked for, where huge pages were: the pages must have been touched or
    /// registered.
    pub(crate) fn huge_page_note(&self) -> Option<String> {
        let start = self.base.as_ptr() as usize;
        let share = match self.pages {
            Pages::Hugetlb => return None,
            Pages::Transparent => {
                let maps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
                huge_share(&maps, start..start + self.mapped_bytes)
            }
            Pages::Small => Some(0.0),
        };
        match share {
            Some(share) if share >= HUGE_LEAST => None,
            Some(share) => Some(format!(
                "{:.0} % of the I/O buffers are in huge pages, which the job asks for: reserve some (vm.nr_hugepages) or \
                 allow transparent ones (/sys/kernel/mm/transparent_hugepage/enabled)",
                100.0 * share
            )),
            None => Some(
                "the kernel does not report whether the I/O buffers are in huge pages, which the job asks for".into(),
            ),
        }
    }

    /// Returns the length of a slot's read buffer: no less than the job's largest read.
    pub(crate) fn read_bytes(&self) -> usize {
        self.write_at_bytes
    }

    /// Returns where a slot's reads land.
    #[inline]
    pub(crate) fn read_at(&self, slot: usize) -> *mut u8 {
        // SAFETY: slots are below the number the region was mapped for.
        unsafe { self.base.as_ptr().add(slot * self.stride_bytes) }
    }

    /// Returns a slot's write data, made unique. Must not be called while the slot is in flight.
    #[inline]
    pub(crate) fn write_from(&mut self, slot: usize, size_bytes: u32) -> *const u8 {
        // SAFETY: as in `read_at`; the write part of a slot follows its read part.
        let data = unsafe { self.read_at(slot).add(self.write_at_bytes) };
        if self.pattern.is_some() {
            return data;
        }
        for at in (0..size_bytes as usize).step_by(PAGE_BYTES) {
            self.stamp = self.stamp.wrapping_add(1);
            if let Some(unit) = self
                .duplicates
                .as_ref()
                .and_then(|d| d.original(self.stamp))
            {
                let bytes = PAGE_BYTES.min(size_bytes as usize - at);
                // SAFETY: the unit ends within the block; the rest as below.
                unsafe { ptr::copy_nonoverlapping(unit.as_ptr(), data.add(at), bytes) };
                continue;
            }
            // SAFETY: `at` is below the block's size and every slot is whole pages, so eight bytes fit. The slot is not
            // in flight, so nobody else reads or writes it.
            unsafe { data.add(at).cast::<u64>().write_unaligned(self.stamp) };
        }
        data
    }

    /// Returns what a slot's read brought. Must not be called while the slot is in flight.
    pub(crate) fn data_read(&self, slot: usize, size_bytes: u32) -> &[u8] {
        // SAFETY: a read part is at least one block long, and the device is done with it.
        unsafe { slice::from_raw_parts(self.read_at(slot), size_bytes as usize) }
    }

    /// Returns what a slot's write carries. Must not be called while the slot is in flight.
    pub(crate) fn data_to_write(&mut self, slot: usize, size_bytes: u32) -> &mut [u8] {
        // SAFETY: as in `write_from`: the write part is at least one block long, and the slot is not in flight.
        unsafe {
            let data = self.read_at(slot).add(self.write_at_bytes);
            slice::from_raw_parts_mut(data, size_bytes as usize)
        }
    }
}

/// The bytes again and again, from the start of the buffer.
fn repeat(data: &mut [u8], bytes: &[u8]) {
    for (byte, next) in data.iter_mut().zip(bytes.iter().cycle()) {
        *byte = *next;
    }
}

/// Random bytes, of every unit the compressible share left as it is, and the mark by which it is known again.
fn fill(data: &mut [u8], compressible: f64, random: &mut Xoshiro256PlusPlus) {
    let random_bytes = ((1.0 - compressible) * CONTENT_UNIT_BYTES as f64).round() as usize;
    for unit in data.chunks_mut(CONTENT_UNIT_BYTES) {
        random.fill_bytes(&mut unit[..random_bytes]);
        watermark::mark(unit);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // A thread that ends by a defect has waited for nothing: what it has in flight may still be written here.
        if thread::panicking() {
            return;
        }
        // SAFETY: base and length are those of the mapping; the kernel keeps pages of I/O in flight.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped_bytes) };
    }
}

/// Maps zeroed memory. Huge: reserved huge pages if there are any, else pages that the kernel may
/// make huge, aligned so that it can.
fn map(bytes: usize, huge: bool) -> io::Result<(NonNull<u8>, usize, Pages)> {
    if !huge {
        return Ok((anonymous(bytes, 0)?, bytes, Pages::Small));
    }
    let rounded = bytes.next_multiple_of(HUGE_BYTES);
    if let Ok(base) = anonymous(rounded, libc::MAP_HUGETLB) {
        return Ok((base, rounded, Pages::Hugetlb));
    }
    let base = aligned(rounded)?;
    // SAFETY: advice on memory mapped above.
    let advised = unsafe { libc::madvise(base.as_ptr().cast(), rounded, libc::MADV_HUGEPAGE) } == 0;
    let pages = if advised {
        Pages::Transparent
    } else {
        Pages::Small
    };
    Ok((base, rounded, pages))
}

/// Returns the share of the mappings that hold `range` in transparent huge pages, by `/proc/self/smaps`. The kernel
/// joins the buffers of neighbouring threads to one mapping. `None` where it does not report them.
fn huge_share(smaps: &str, range: Range<usize>) -> Option<f64> {
    let (mut bytes, mut huge) = (0, 0);
    let mut inside = false;
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        if let Some((start, end)) = first.split_once('-') {
            let (start, end) = (hex(start)?, hex(end)?);
            inside = start < range.end && range.start < end;
            if inside {
                bytes += end - start;
            }
        } else if inside && first == "AnonHugePages:" {
            huge += words.next()?.parse::<usize>().ok()? << 10;
        }
    }
    (bytes > 0).then(|| huge as f64 / bytes as f64)
}

fn hex(digits: &str) -> Option<usize> {
    usize::from_str_radix(digits, 16).ok()
}

fn anonymous(bytes: usize, flags: libc::c_int) -> io::Result<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: a fresh anonymous mapping overlaps nothing.
    let base = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        )
    };
    match NonNull::new(base.cast::<u8>()) {
        Some(mapped) if base != libc::MAP_FAILED => Ok(mapped),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Maps memory that starts on a huge-page boundary; the slack around it is given back.
fn aligned(bytes: usize) -> io::Result<NonNull<u8>> {
    let base = anonymous(bytes + HUGE_BYTES, 0)?.as_ptr();
    let before = base.align_offset(HUGE_BYTES);
    // SAFETY: both ranges lie inside the mapping just made and outside the part kept.
    unsafe {
        if before > 0 {
            libc::munmap(base.cast(), before);
        }
        libc::munmap(base.add(before + bytes).cast(), HUGE_BYTES - before);
        Ok(NonNull::new_unchecked(base.add(before)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_panics_leaves_its_buffers_mapped_for_what_is_in_flight() {
        let text = "mix = \"read\"\nblock = \"4KiB\"\npattern = \"uniform\"\nload = {}\nuntil = { count = 1 }";
        let job = Job::from_toml(text, "job.toml").unwrap();
        // No other mapping is as long by chance.
        let slots = 12_347;
        let is_mapped = |start: usize| {
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            let mut ranges = maps.lines().filter_map(|line| {
                let (start, rest) = line.split_once('-')?;
                Some(hex(start)?..hex(rest.split_once(' ')?.0)?)
            });
            ranges.any(|range| {
                range.contains(&start) && range.contains(&(start + slots * PAGE_BYTES - 1))
            })
        };
        for panics in [false, true] {
            let buffers = Buffers::new(&job, slots as u32, 1, false, || false).unwrap();
            let start = buffers.base.as_ptr() as usize;
            let ended = thread::spawn(move || {
                let _held = buffers;
                assert!(!panics, "as asked");
            });
            assert_eq!(ended.join().is_err(), panics);
            assert_eq!(is_mapped(start), panics);
        }
    }

    #[test]
    fn the_share_of_huge_pages_is_that_of_the_mappings_that_hold_the_buffers() {
        let maps = "\
1000000-1400000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      2048 kB
1400000-1600000 rw-p 00000000 00:00 0
AnonHugePages:      2048 kB
";
        assert_eq!(huge_share(maps, 0x100_0000..0x140_0000), Some(0.5));
        assert_eq!(huge_share(maps, 0x140_0000..0x150_0000), Some(1.0));
        assert_eq!(huge_share(maps, 0x900_0000..0x910_0000), None);
    }
}
