//! Writes: into the page cache, from there to the device, and the commits that make them last.

use std::collections::VecDeque;
use std::ops::Range;

use workload::Op;

use crate::device::Device;
use crate::sim::slab::Slab;

use super::extents::Piece;
use super::metadata::{NODE_BYTES, commit_bytes};
use super::params::{FsParams, Placement};
use super::ranges::Ranges;
use super::{BLOCK_BYTES, DeviceTag, ENOSPC, FileSystem};

/// Reads that go before a waiting write (mq-deadline: `writes_starved` 2 batches of `fifo_batch` 16).
const READS_FIRST: u32 = 32;

/// A write to the device.
#[derive(Clone, Default)]
pub struct Write {
    /// Blocks of the device.
    device: Range<u64>,
    /// The blocks of the file in it.
    parts: Vec<Range<u64>>,
}

impl Write {
    /// Returns the number of its blocks.
    fn len(&self) -> u64 {
        self.device.end - self.device.start
    }
}

/// The page cache's flusher.
#[derive(Clone)]
pub struct WriteBack {
    /// Blocks that may be dirty before writers wait, and before write-back begins.
    limit: u64,
    background: u64,
    writes: Slab<Write>,
    /// Empty lists of parts, for the next writes.
    spare: Vec<Vec<Range<u64>>>,
    /// Allocated, not sent; the last one may still grow.
    planned: VecDeque<u32>,
    writes_in_flight: u32,
    /// Where in the file the next round begins.
    cursor: u64,
    /// Blocks to write although they are few: they are old, or asked for.
    due: u64,
    /// Read from a zone that is to be emptied; written before anything else.
    moving: Ranges,
    /// The zone that is being emptied, and the reads that are out for it.
    emptying: Option<Range<u64>>,
    pub moves_out: u32,
    /// No space before the next commit.
    starved: bool,
    /// No space, and the last commit gave none: writes fail until one does.
    full: bool,
    dirty_since_ns: u64,
    /// Writers that wait, in order.
    pub throttled: VecDeque<u32>,
    /// Blocks written so far; who waits for which.
    done: u64,
    syncs: VecDeque<(u64, u32)>,
}

impl WriteBack {
    /// Returns the number of dirty blocks above which writers wait.
    pub fn limit_blocks(&self) -> u64 {
        self.limit
    }

    /// Returns a clean cache; memory is scaled as the device is.
    pub fn new(params: &FsParams, scale: f64) -> Self {
        let blocks = |share: f64| {
            let bytes = params.memory_bytes as f64 * scale * share;
            (bytes / BLOCK_BYTES as f64).max(1.0) as u64
        };
        // Linux `balance_dirty_pages`: writers run freely up to the middle of both limits.
        let free_run = (params.dirty_ratio + params.dirty_background_ratio) / 2.0;
        Self {
            limit: blocks(free_run),
            background: blocks(params.dirty_background_ratio),
            writes: Slab::default(),
            spare: Vec::new(),
            planned: VecDeque::new(),
            writes_in_flight: 0,
            cursor: 0,
            due: 0,
            moving: Ranges::default(),
            emptying: None,
            moves_out: 0,
            starved: false,
            full: false,
            dirty_since_ns: 0,
            throttled: VecDeque::new(),
            done: 0,
            syncs: VecDeque::new(),
        }
    }
}

/// What the next commit has to do, and the one under way.
#[derive(Clone)]
pub struct Commit {
    /// Extents written since the last one.
    pub changes: u64,
    /// Blocks that are free after the next one.
    pub pinned: Vec<Range<u64>>,
    /// The blocks that the commit under way frees.
    freeing: Vec<Range<u64>>,
    running: bool,
    /// Asked for before its time.
    wanted: bool,
    /// What it still has to send.
    queue: VecDeque<(Op, Range<u64>)>,
    left: u32,
    /// Metadata goes round in `0..blocks` of the device.
    blocks: u64,
    cursor: u64,
    last_ns: u64,
    /// What a write failed with; the next `fsync` says it, as the kernel does.
    errno: i32,
    /// Requests that this one lets end, and the next one.
    serving: Vec<u32>,
    waiting: Vec<u32>,
}

impl Commit {
    /// Returns write-back with nothing to do yet.
    pub fn new(blocks: u64, now_ns: u64) -> Self {
        Self {
            changes: 0,
            pinned: Vec::new(),
            freeing: Vec::new(),
            running: false,
            wanted: false,
            queue: VecDeque::new(),
            left: 0,
            blocks,
            cursor: 0,
            last_ns: now_ns,
            errno: 0,
            serving: Vec::new(),
            waiting: Vec::new(),
        }
    }
}

fn s_to_ns(s: f64) -> u64 {
    (s * 1e9) as u64
}

impl<D: Device> FileSystem<D> {
    /// Takes a write in, or lets it wait.
    pub(super) fn write(&mut self, slot: u32) {
        if self.write_back.full {
            self.end(slot, ENOSPC);
        } else if self.write_back.throttled.is_empty() && self.has_room() {
            self.accept(slot);
        } else {
            self.write_back.throttled.push_back(slot);
        }
    }

    fn has_room(&self) -> bool {
        self.dirty.blocks() + self.writing.blocks() < self.write_back.limit
    }

    fn accept(&mut self, slot: u32) {
        let request = self.requests[slot].request;
        let blocks = Self::blocks_of(&request);
        self.read_ahead.remove(blocks.clone());
        self.make_dirty(blocks);
        self.copy(slot);
    }

    fn make_dirty(&mut self, blocks: Range<u64>) {
        if self.dirty.blocks() == 0 {
            self.write_back.dirty_since_ns = self.device.now_ns();
        }
        self.dirty.insert(blocks);
    }

    /// What was read for relocation is written elsewhere.
    pub(super) fn move_on(&mut self, file: Range<u64>) {
        for piece in self.extents.pieces(file) {
            if piece.device.is_some() {
                self.write_back.moving.insert(piece.blocks());
            }
        }
    }

    /// `fsync`: all that is dirty now is written, then committed, then the device's cache is flushed.
    pub(super) fn sync(&mut self, slot: u32) {
        self.write_back.due = self.dirty.blocks();
        let until = self.write_back.done + self.dirty.blocks() + self.writing.blocks();
        self.write_back.syncs.push_back((until, slot));
        self.end_syncs();
    }

    fn end_syncs(&mut self) {
        let clean = self.dirty.blocks() + self.writing.blocks() == 0;
        while let Some(&(until, slot)) = self.write_back.syncs.front()
            && (clean || self.write_back.done >= until)
        {
            self.write_back.syncs.pop_front();
            self.commit.waiting.push(slot);
            self.commit.wanted = true;
        }
        self.begin_commit();
    }

    /// The cache looks at the age of what is dirty, and at the time of the last commit.
    pub(super) fn look(&mut self) {
        self.timer_is_set = false;
        let now_ns = self.device.now_ns();
        let old_ns = self.write_back.dirty_since_ns + s_to_ns(self.params.dirty_expire_s);
        if self.dirty.blocks() > 0 && now_ns >= old_ns {
            self.write_back.due = self.dirty.blocks();
            self.write_back.dirty_since_ns = now_ns;
        }
        if self.commit.changes > 0 && now_ns >= self.commit.last_ns + s_to_ns(self.params.commit_s)
        {
            self.commit.wanted = true;
        }
        self.begin_commit();
    }

    /// Looks again later while there is anything to look at.
    pub(super) fn set_timer(&mut self) {
        let idle = self.dirty.blocks() + self.writing.blocks() == 0 && self.commit.changes == 0;
        if !idle && !self.timer_is_set {
            self.timer_is_set = true;
            let every_ns = s_to_ns(self.params.dirty_writeback_s.min(self.params.commit_s));
            self.wake_at(self.device.now_ns() + every_ns, DeviceTag::Timer);
        }
    }

    /// Keeps the device's queue full, reads first.
    pub(super) fn dispatch(&mut self) {
        while self.in_flight < self.params.queue_depth {
            if self.reads_in_turn < READS_FIRST && self.send_read() {
                self.reads_in_turn += 1;
            } else if self.send_write() {
                self.reads_in_turn = 0;
            } else if !self.send_read() {
                return;
            }
        }
    }

    fn send_write(&mut self) -> bool {
        // Host-managed zones take one write at a time: the block layer locks the zone.
        if self.params.zone_bytes > 0 && self.write_back.writes_in_flight > 0 {
            return false;
        }
        self.plan();
        if let Some((op, blocks)) = self.commit.queue.pop_front() {
            self.write_back.writes_in_flight += 1;
            self.send(op, blocks, DeviceTag::Commit);
            return true;
        }
        let Some(number) = self.write_back.planned.pop_front() else {
            return false;
        };
        let blocks = self.write_back.writes[number].device.clone();
        self.write_back.writes_in_flight += 1;
        self.send(Op::Write, blocks, DeviceTag::Data(number));
        true
    }

    /// Allocates dirty ranges until the first write cannot grow any more.
    fn plan(&mut self) {
        while self.write_back.planned.len() < 2 {
            if let Some(moved) = self.write_back.moving.take(0, u64::MAX) {
                self.place(moved, true);
                continue;
            }
            if self.write_back.starved {
                return;
            }
            let pages = self.dirty.blocks() + self.writing.blocks();
            if self.write_back.due == 0 && pages <= self.write_back.background {
                return;
            }
            let most = self.params.extent_bytes / BLOCK_BYTES;
            let Some(Range { start, end }) = self.dirty.take(self.write_back.cursor, most) else {
                self.write_back.due = 0;
                return;
            };
            self.write_back.cursor = end;
            if let Some(next) = self.dirty.first(end) {
                self.extents.prefetch(next);
            }
            let placed = self.place(start..end, false);
            self.write_back.due = self.write_back.due.saturating_sub(placed - start);
            if placed < end {
                self.dirty.insert(placed..end);
                self.write_back.starved = true;
                self.commit.wanted = true;
                self.begin_commit();
            }
        }
    }

    /// Finds places for blocks of the file and plans the writes; gives the block up to which it came. What empties a
    /// zone may use the `reserve`.
    fn place(&mut self, file: Range<u64>, reserve: bool) -> u64 {
        if self.params.placement == Placement::InPlace {
            return self.place_in_place(file);
        }
        let Range { start: mut at, end } = file;
        let mut hint = self.extents.device(at).or_else(|| self.behind(at));
        while at < end {
            let Some(device) = self.space.allocate(end - at, hint, reserve) else {
                break;
            };
            let placed = at..at + (device.end - device.start);
            self.extents
                .set(placed.clone(), Some(device.start), &mut self.commit.pinned);
            at = placed.end;
            hint = Some(device.end);
            self.plan_write(device.start, placed);
        }
        at
    }

    /// As [`Self::place`], where the data was; what is new is placed behind what is before it in the file.
    fn place_in_place(&mut self, file: Range<u64>) -> u64 {
        let end = file.end;
        let pieces: Vec<Piece> = self.extents.pieces(file).collect();
        for piece in pieces {
            let Range { start: mut at, end } = piece.blocks();
            if let Some(device) = piece.device {
                self.plan_write(device, at..end);
                continue;
            }
            while at < end {
                let Some(device) = self.space.allocate(end - at, self.behind(at), false) else {
                    return at;
                };
                let placed = at..at + (device.end - device.start);
                self.extents
                    .set(placed.clone(), Some(device.start), &mut self.commit.pinned);
                at = placed.end;
                self.plan_write(device.start, placed);
            }
        }
        end
    }

    /// Returns the block behind the extent that ends where `file` begins.
    fn behind(&self, file: u64) -> Option<u64> {
        let before = self.extents.device(file.checked_sub(1)?)?;
        Some(before + 1)
    }

    /// Plans to write blocks of the file from `device` on, in one extent; joins them to the write planned last.
    fn plan_write(&mut self, device: u64, file: Range<u64>) {
        self.commit.changes += 1;
        self.writing.insert(file.clone());
        let most = self.params.io_bytes / BLOCK_BYTES;
        let zone = match self.params.zone_bytes {
            0 => u64::MAX,
            bytes => bytes / BLOCK_BYTES,
        };
        let mut at = file.start;
        while at < file.end {
            let place = device + (at - file.start);
            let left = file.end - at;
            let last = self.write_back.planned.back().copied();
            let joined = last
                .map(|number| &mut self.write_back.writes[number])
                .filter(|write| {
                    write.device.end == place
                        && write.len() < most
                        && write.device.start / zone == place / zone
                });
            let take;
            if let Some(write) = joined {
                take = left.min(most - write.len());
                write.device.end += take;
                write.parts.push(at..at + take);
            } else {
                take = left.min(most);
                let mut parts = self.write_back.spare.pop().unwrap_or_default();
                parts.push(at..at + take);
                let number = self.write_back.writes.add(Write {
                    device: place..place + take,
                    parts,
                });
                self.write_back.planned.push_back(number);
            }
            at += take;
        }
    }

    /// Written-back data is on the device.
    pub(super) fn written(&mut self, number: u32, errno: i32) {
        self.commit.errno = self.commit.errno.max(errno);
        let mut write = std::mem::take(&mut self.write_back.writes[number]);
        self.write_back.writes.release(number);
        self.write_back.writes_in_flight -= 1;
        self.write_back.done += write.len();
        for part in write.parts.drain(..) {
            self.writing.remove(part);
        }
        self.write_back.spare.push(write.parts);
        while self.has_room()
            && let Some(slot) = self.write_back.throttled.pop_front()
        {
            self.accept(slot);
        }
        self.end_syncs();
    }

    /// Gives up what is dirty and the writers that wait: there is no space for either.
    fn give_up(&mut self) {
        while let Some(lost) = self.dirty.take(0, u64::MAX) {
            self.commit.errno = self.commit.errno.max(ENOSPC);
            self.write_back.done += lost.end - lost.start;
        }
        self.write_back.due = 0;
        for slot in std::mem::take(&mut self.write_back.throttled) {
            self.end(slot, ENOSPC);
        }
        self.end_syncs();
    }

    /// Starts a commit that is wanted, unless one is under way.
    fn begin_commit(&mut self) {
        if self.commit.running || !self.commit.wanted {
            return;
        }
        let data_bytes = self.file_blocks.min(self.extents.end()) * BLOCK_BYTES;
        let bytes = commit_bytes(
            &self.params,
            self.commit.changes,
            self.extents.count(),
            data_bytes,
        );
        self.commit.running = true;
        self.commit.wanted = false;
        self.commit.changes = 0;
        self.commit.last_ns = self.device.now_ns();
        self.commit.freeing = std::mem::take(&mut self.commit.pinned);
        self.commit.serving = std::mem::take(&mut self.commit.waiting);
        self.queue_metadata(bytes.max(NODE_BYTES).div_ceil(BLOCK_BYTES));
    }

    /// Metadata is written in order, round its part of the device; a zone is reset before it.
    fn queue_metadata(&mut self, mut blocks: u64) {
        let zone = self.params.zone_bytes / BLOCK_BYTES;
        let most = self.params.io_bytes / BLOCK_BYTES;
        let commit = &mut self.commit;
        while blocks > 0 {
            if commit.cursor == commit.blocks {
                commit.cursor = 0;
            }
            let mut room = commit.blocks - commit.cursor;
            if zone > 0 {
                if commit.cursor.is_multiple_of(zone) && self.params.conventional_bytes == 0 {
                    let zone = commit.cursor..commit.cursor + zone;
                    commit.queue.push_back((Op::Trim, zone));
                    commit.left += 1;
                }
                room = zone - commit.cursor % zone;
            }
            let len = blocks.min(most).min(room);
            let written = commit.cursor..commit.cursor + len;
            commit.cursor = written.end;
            commit.queue.push_back((Op::Write, written));
            commit.left += 1;
            blocks -= len;
        }
    }

    pub(super) fn commit_written(&mut self, errno: i32) {
        self.commit.errno = self.commit.errno.max(errno);
        self.write_back.writes_in_flight -= 1;
        self.commit.left -= 1;
        if self.commit.left == 0 {
            self.send(Op::Flush, 0..0, DeviceTag::Barrier);
        }
    }

    /// The commit lasts: what it replaced is free, who waited for it goes on.
    pub(super) fn committed(&mut self) {
        self.commit.running = false;
        let freeing = std::mem::take(&mut self.commit.freeing);
        let frees = !freeing.is_empty();
        for blocks in freeing {
            self.release(blocks);
        }
        let serving = std::mem::take(&mut self.commit.serving);
        if !serving.is_empty() {
            let errno = std::mem::take(&mut self.commit.errno);
            serving.into_iter().for_each(|slot| self.end(slot, errno));
        }
        let starved = std::mem::take(&mut self.write_back.starved);
        self.empty_a_zone();
        // A zone that is being emptied gives space later.
        let hopes = frees || !self.commit.pinned.is_empty() || self.write_back.emptying.is_some();
        self.write_back.full = !hopes && (starved || self.write_back.full);
        if self.write_back.full {
            self.give_up();
        }
        self.begin_commit();
    }

    /// Moves the data of the zone that is worth it most, one zone at a time: the reserve has room for one.
    fn empty_a_zone(&mut self) {
        let moving = self.write_back.moving.blocks() > 0 || self.write_back.moves_out > 0;
        if moving {
            return;
        }
        let emptying = self.write_back.emptying.take();
        let Some(zone) = emptying.or_else(|| self.space.victim()) else {
            return;
        };
        let pieces = self.extents.within(&zone);
        let start = zone.start;
        self.write_back.emptying = Some(zone);
        self.relocate(&pieces);
        if pieces.is_empty() {
            // Nothing is given back, but the zone is looked at and reset.
            self.release(start..start);
        }
    }

    fn release(&mut self, blocks: Range<u64>) {
        for emptied in self.space.free(blocks) {
            self.write_back.emptying.take_if(|zone| *zone == emptied);
            self.send(Op::Trim, emptied, DeviceTag::Reset);
        }
    }
}
