//! I/O buffers of one load thread: one mapped region, laid out and filled before the run.
//!
//! Every slot (one I/O in flight) has a read buffer and a write buffer of its own, so data read
//! never becomes data written. Write buffers are filled once with random bytes of the asked-for
//! compressibility; per I/O only a number is stamped into each 4 KiB, so that no two blocks ever
//! written are equal (a drive that deduplicates gains nothing) at the cost of one store.

use std::{io, ptr, ptr::NonNull, slice};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};
use workload::{Job, Op};

use crate::EngineError;

const HUGE_BYTES: usize = 2 << 20;
const PAGE_BYTES: usize = 4096;
/// Compressible data alternates random bytes and zeroes in units of this, the smallest logical block.
const CONTENT_UNIT_BYTES: usize = 512;

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
}

// SAFETY: the region is owned by this value alone; nothing else keeps its address while it moves.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Buffers for `slots` I/O in flight of `job`, write data included. Data differ by `seed`. `huge` asks
    /// for huge pages.
    pub(crate) fn new(job: &Job, slots: u32, seed: u64, huge: bool) -> Result<Self, EngineError> {
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
            stamp: seed << 40,
        };
        for slot in 0..slots as usize {
            buffers.fill(slot, write_bytes, job.content.compressible, seed);
        }
        Ok(buffers)
    }

    /// The whole region, for registration.
    pub(crate) fn region(&self) -> libc::iovec {
        libc::iovec {
            iov_base: self.base.as_ptr().cast(),
            iov_len: self.mapped_bytes,
        }
    }

    /// Where a slot's reads land.
    #[inline]
    pub(crate) fn read_at(&self, slot: usize) -> *mut u8 {
        // SAFETY: slots are below the number the region was mapped for.
        unsafe { self.base.as_ptr().add(slot * self.stride_bytes) }
    }

    /// A slot's write data, made unique. Must not be called while the slot is in flight.
    #[inline]
    pub(crate) fn write_from(&mut self, slot: usize, size_bytes: u32) -> *const u8 {
        // SAFETY: as in `read_at`; the write part of a slot follows its read part.
        let data = unsafe { self.read_at(slot).add(self.write_at_bytes) };
        for at in (0..size_bytes as usize).step_by(PAGE_BYTES) {
            self.stamp = self.stamp.wrapping_add(1);
            // SAFETY: `at` is below the block's size and every slot is whole pages, so eight bytes
            // fit; the slot is not in flight, so nobody else reads or writes it.
            unsafe { data.add(at).cast::<u64>().write_unaligned(self.stamp) };
        }
        data
    }

    /// What a slot's read brought. Must not be called while the slot is in flight.
    pub(crate) fn data_read(&self, slot: usize, size_bytes: u32) -> &[u8] {
        // SAFETY: a read part is at least one block long, and the device is done with it.
        unsafe { slice::from_raw_parts(self.read_at(slot), size_bytes as usize) }
    }

    /// What a slot's write carries. Must not be called while the slot is in flight.
    pub(crate) fn data_to_write(&mut self, slot: usize, size_bytes: u32) -> &mut [u8] {
        // SAFETY: as in `write_from`: the write part is at least one block long, and the slot is not in flight.
        unsafe {
            let data = self.read_at(slot).add(self.write_at_bytes);
            slice::from_raw_parts_mut(data, size_bytes as usize)
        }
    }

    fn fill(&mut self, slot: usize, bytes: usize, compressible: f64, seed: u64) {
        // SAFETY: the slot's write part is `bytes` long, mapped, and nothing else refers to it.
        let data = unsafe {
            slice::from_raw_parts_mut(self.read_at(slot).add(self.write_at_bytes), bytes)
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ (slot as u64) << 32);
        let random_bytes = ((1.0 - compressible) * CONTENT_UNIT_BYTES as f64).round() as usize;
        for unit in data.chunks_mut(CONTENT_UNIT_BYTES) {
            random.fill_bytes(&mut unit[..random_bytes]);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
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

/// A mapping that starts on a huge-page boundary; the slack around it is given back.
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
