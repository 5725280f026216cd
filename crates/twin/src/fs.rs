//! A file system with its page cache over a device: itself a [`Device`], whose bytes are those of one
//! file that takes all the space.
//!
//! A write is done when it is in the page cache; above the dirty limit it waits for write-back. Write-back goes through
//! the file in order, allocates, and merges what is contiguous on the device. A read is served from dirty pages, from
//! what was read ahead, or from the device, extent by extent. Clean pages are dropped once they are read. The cache is
//! for writing and reading ahead, as after fio's `invalidate=1`. A file that fits in memory is not what is measured
//! here.
//!
//! Left out: CPU time beyond the host's own per I/O and the copy; directories, compression, RAID;
//! direct I/O. See `docs/explanation/file-system.md`.

mod extents;
mod metadata;
mod params;
mod ranges;
mod readers;
mod reads;
mod space;
mod write_back;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use workload::{Op, Request, name_ops};

use crate::device::params::{HostParams, ParamError, fail};
use crate::device::{Account, Completion, CompletionKind, Device};
use crate::sim::server::Fifo;
use crate::sim::slab::Slab;
use extents::Extents;
pub use params::{FsParams, Placement};
use ranges::Ranges;
use readers::Readers;
use reads::DeviceRead;
use space::{Groups, Space, Zones};
use write_back::{Commit, WriteBack};

/// Page, and file system block.
pub const BLOCK_BYTES: u64 = 4096;
/// Share of the device kept for metadata, in front, and for what copy-on-write cannot use at once.
const METADATA_SHARE: f64 = 0.02;
const RESERVE_SHARE: f64 = 0.10;
/// Fewest zones or groups of a device.
const LEAST_GROUPS: u64 = 10;
const ENOSPC: i32 = 28;
/// What a device without zones and without discard says to a reset, which then has nothing to do.
const EOPNOTSUPP: i32 = 95;
const EINVAL: i32 = 22;

/// What an I/O or a wake-up of the device below stands for; its index is the tag there.
#[derive(Clone, Copy)]
enum DeviceTag {
    /// The driver's own wake-up.
    Wake(u32),
    /// A request reaches the file system.
    Arrive(u32),
    /// A request is done, its data copied.
    Copied(u32),
    /// A read, by its number in `device_reads`.
    Read(u32),
    /// Written-back data, by its number in `write_back.writes`.
    Data(u32),
    /// A write or reset of the commit, or its barrier.
    Commit,
    Barrier,
    /// A zone is empty again.
    Reset,
    /// The page cache looks at its age.
    Timer,
}

/// A request of the host.
#[derive(Clone, Copy)]
struct HostRequest {
    request: Request,
    tag: u32,
    /// A read's first block that it has not come to yet, and the reads of the device that it waits for.
    at: u64,
    parts: u32,
    errno: i32,
}

/// A file system over a device.
#[derive(Clone)]
pub struct FileSystem<D> {
    device: D,
    params: FsParams,
    below: Slab<DeviceTag>,
    requests: Slab<HostRequest>,

    extents: Extents,
    space: Space,
    file_blocks: u64,

    dirty: Ranges,
    /// Pages on their way to the device.
    writing: Ranges,
    /// Pages that were read ahead and not used yet.
    read_ahead: Ranges,
    readers: Readers,
    device_reads: Slab<DeviceRead>,
    /// By first block.
    fetching: BTreeMap<u64, u32>,
    reads: VecDeque<u32>,

    write_back: WriteBack,
    commit: Commit,
    /// The lock of the file, which a hole takes for itself.
    holes: Fifo,
    in_flight: u32,
    reads_in_turn: u32,
    timer_is_set: bool,
    unmapped_reads: u64,
}

impl<D: Device> FileSystem<D> {
    /// Returns a file system just made, over a device that nothing else uses.
    ///
    /// # Errors
    /// A parameter that cannot be simulated, or a device with too little room for it.
    pub fn new(device: D, params: &FsParams) -> Result<Self, ParamError> {
        params.check()?;
        let blocks = device.capacity_bytes() / BLOCK_BYTES;
        let zone = params.zone_bytes / BLOCK_BYTES;
        let metadata = match params.conventional_bytes / BLOCK_BYTES {
            0 => ((blocks as f64 * METADATA_SHARE) as u64).next_multiple_of(zone.max(1)),
            conventional => conventional,
        };
        let most = blocks.saturating_sub(metadata) / LEAST_GROUPS;
        if most == 0 || zone > most {
            return fail(
                "zone_bytes",
                format!(
                    "a device of {} bytes has no room for {LEAST_GROUPS} zones of {} and metadata",
                    device.capacity_bytes(),
                    params.zone_bytes.max(BLOCK_BYTES)
                ),
            );
        }
        let group = (params.group_bytes / BLOCK_BYTES).min(most);
        let mut file_blocks = ((blocks - metadata) as f64 * (1.0 - RESERVE_SHARE)) as u64;
        let space = if zone > 0 {
            let zones = Zones::new(metadata..blocks, zone);
            file_blocks = file_blocks.min(zones.data_blocks());
            Space::Zones(zones)
        } else {
            let grows = params.placement == Placement::InPlace;
            Space::Groups(Groups::new(metadata..blocks, group, grows))
        };
        let now_ns = device.now_ns();
        Ok(Self {
            below: Slab::default(),
            requests: Slab::default(),
            extents: Extents::default(),
            space,
            file_blocks,
            dirty: Ranges::default(),
            writing: Ranges::default(),
            read_ahead: Ranges::default(),
            readers: Readers::default(),
            device_reads: Slab::default(),
            fetching: BTreeMap::new(),
            reads: VecDeque::new(),
            write_back: WriteBack::new(params, device.scale()),
            commit: Commit::new(metadata, now_ns),
            holes: Fifo::new(1),
            in_flight: 0,
            reads_in_turn: 0,
            timer_is_set: false,
            unmapped_reads: 0,
            params: params.clone(),
            device,
        })
    }

    /// Returns the device below.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Makes the file longer than its space.
    #[cfg(test)]
    pub(crate) fn stretch(&mut self, blocks: u64) {
        self.file_blocks = blocks;
    }

    /// Extents of the file.
    pub fn extents(&self) -> u64 {
        self.extents.count()
    }

    /// Bytes of pages that differ from the device.
    pub fn dirty_bytes(&self) -> u64 {
        (self.dirty.blocks() + self.writing.blocks()) * BLOCK_BYTES
    }

    /// Returns the dirty bytes above which writers wait for the device.
    pub fn dirty_limit_bytes(&self) -> u64 {
        self.write_back.limit_blocks() * BLOCK_BYTES
    }

    /// Returns the blocks of the file that a request touches.
    fn blocks_of(request: &Request) -> Range<u64> {
        let end = request.offset_bytes + u64::from(request.size_bytes);
        request.offset_bytes / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES)
    }

    fn wake_at(&mut self, at_ns: u64, what: DeviceTag) {
        let tag = self.below.add(what);
        self.device.wake(at_ns, tag);
    }

    fn send(&mut self, op: Op, blocks: Range<u64>, what: DeviceTag) {
        let tag = self.below.add(what);
        let request = Request {
            offset_bytes: blocks.start * BLOCK_BYTES,
            size_bytes: ((blocks.end - blocks.start) * BLOCK_BYTES) as u32,
            placement: Request::NO_PLACEMENT,
            op,
        };
        self.in_flight += 1;
        self.device.submit(self.device.now_ns(), tag, request);
    }

    fn arrive(&mut self, slot: u32) {
        let request = self.requests[slot].request;
        let blocks = Self::blocks_of(&request);
        if blocks.end > self.file_blocks {
            return self.end(slot, EINVAL);
        }
        match request.op {
            Op::Read => self.read(slot),
            Op::Write => self.write(slot),
            Op::Flush => self.sync(slot),
            Op::Trim | Op::WriteZeroes => {
                let pages = (blocks.end - blocks.start) as f64;
                self.dirty.remove(blocks.clone());
                self.read_ahead.remove(blocks.clone());
                self.extents.set(blocks, None, &mut self.commit.pinned);
                self.commit.changes += 1;
                let service_ps = (pages * self.params.hole_page_ns * 1e3) as u64;
                let done_ns = self.holes.finish_ns(self.device.now_ns(), service_ps);
                self.wake_at(done_ns, DeviceTag::Copied(slot));
            }
            Op::Append | Op::Allocate => self.end(slot, EOPNOTSUPP),
            name_ops!() => self.end(slot, EOPNOTSUPP),
        }
    }

    /// Ends a request, now.
    fn end(&mut self, slot: u32, errno: i32) {
        self.requests[slot].errno = errno;
        self.wake_at(self.device.now_ns(), DeviceTag::Copied(slot));
    }

    /// Ends a request when its data has been copied between user and page cache.
    fn copy(&mut self, slot: u32) {
        let bytes = self.requests[slot].request.size_bytes;
        let copy_ns = (f64::from(bytes) * 1e3 / self.params.copy_mbps + 0.5) as u64;
        self.wake_at(self.device.now_ns() + copy_ns, DeviceTag::Copied(slot));
    }

    /// Takes what the device below has to say; gives what the host gets to know of it.
    fn handle(&mut self, completion: Completion) -> Option<Completion> {
        let Completion { at_ns, tag, kind } = completion;
        let what = self.below[tag];
        self.below.release(tag);
        let errno = match kind {
            CompletionKind::Failed(errno) if errno != EOPNOTSUPP => errno,
            _ => 0,
        };
        match what {
            DeviceTag::Wake(tag) => {
                return Some(Completion { at_ns, tag, kind });
            }
            DeviceTag::Copied(slot) => {
                let HostRequest { tag, errno, .. } = self.requests[slot];
                self.requests.release(slot);
                let kind = match errno {
                    0 => CompletionKind::Done,
                    errno => CompletionKind::Failed(errno),
                };
                return Some(Completion { at_ns, tag, kind });
            }
            DeviceTag::Arrive(slot) => self.arrive(slot),
            DeviceTag::Timer => self.look(),
            DeviceTag::Read(number) => self.finish_device_read(number, errno),
            DeviceTag::Data(number) => self.written(number, errno),
            DeviceTag::Commit => self.commit_written(errno),
            DeviceTag::Barrier => self.committed(),
            DeviceTag::Reset => {}
        }
        if !matches!(what, DeviceTag::Arrive(_) | DeviceTag::Timer) {
            self.in_flight -= 1;
        }
        self.dispatch();
        self.set_timer();
        None
    }
}

impl<D: Device> Device for FileSystem<D> {
    fn capacity_bytes(&self) -> u64 {
        self.file_blocks * BLOCK_BYTES
    }

    fn block_bytes(&self) -> u32 {
        BLOCK_BYTES as u32
    }

    fn scale(&self) -> f64 {
        self.device.scale()
    }

    fn host(&self) -> &HostParams {
        self.device.host()
    }

    fn now_ns(&self) -> u64 {
        self.device.now_ns()
    }

    #[inline]
    fn prefetch(&self, request: &Request) {
        self.dirty.prefetch(request.offset_bytes / BLOCK_BYTES);
    }

    fn submit(&mut self, at_ns: u64, tag: u32, request: Request) {
        let slot = self.requests.add(HostRequest {
            request,
            tag,
            at: request.offset_bytes / BLOCK_BYTES,
            parts: 0,
            errno: 0,
        });
        self.wake_at(at_ns, DeviceTag::Arrive(slot));
    }

    fn wake(&mut self, at_ns: u64, tag: u32) {
        self.wake_at(at_ns, DeviceTag::Wake(tag));
    }

    fn advance(&mut self, limit_ns: u64) -> Option<Completion> {
        loop {
            let below = self.device.advance(limit_ns)?;
            if let Some(completion) = self.handle(below) {
                return Some(completion);
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.device.is_busy()
    }

    fn account(&mut self, into: &mut Account) {
        self.device.account(into);
        into.unmapped_reads += self.unmapped_reads;
    }
}
