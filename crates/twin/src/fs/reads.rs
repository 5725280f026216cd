//! Reads: from pages that are in memory, from reads already under way, and from the device.

use std::ops::Range;

use crate::device::Device;

use super::extents::Piece;
use super::{BLOCK_BYTES, DeviceTag, FileSystem, HostRequest};
use workload::Op;

/// A read of the device.
#[derive(Clone)]
pub struct DeviceRead {
    /// Blocks of the file.
    file: Range<u64>,
    /// Its first block on the device.
    device: u64,
    /// Requests that need it.
    waiting: Vec<u32>,
    /// Blocks from here on are for later readers.
    ahead_from: u64,
    /// Its data is to be written somewhere else.
    moves: bool,
}

impl<D: Device> FileSystem<D> {
    /// Goes on with a read: what is in memory, then a window at most, as the page cache does. Starts what is worth
    /// reading ahead of it.
    pub(super) fn read(&mut self, slot: u32) {
        let HostRequest { request, at, .. } = self.requests[slot];
        let (mut start, end) = (at, Self::blocks_of(&request).end);
        let io = self.params.io_bytes / BLOCK_BYTES;
        let window = (self.params.read_ahead_bytes / BLOCK_BYTES).max(io.min(end - start));
        while start < end && self.requests[slot].errno == 0 {
            let stop = end.min(start + window);
            self.requests[slot].at = stop;
            if self.read_window(slot, start..stop) {
                return;
            }
            start = stop;
        }
        self.copy(slot);
    }

    /// Reads one window or less; whether there is anything to wait for.
    fn read_window(&mut self, slot: u32, blocks: Range<u64>) -> bool {
        let end = blocks.end;
        let window = self.params.read_ahead_bytes / BLOCK_BYTES;
        let ahead = self.readers.read(blocks.clone(), window);
        if let Some(dropped) = ahead.dropped {
            self.read_ahead.remove(dropped);
        }
        if ahead.window.is_none() && self.read_ahead.covers(blocks.clone()) {
            self.read_ahead.remove(blocks);
            return false;
        }
        self.read_missing(blocks.clone(), end);
        if let Some(window) = ahead.window {
            self.read_missing(window.start..window.end.min(self.file_blocks), end);
        }
        self.read_ahead.remove(blocks.clone());
        let waits_for = self.under_way(blocks);
        self.requests[slot].parts = waits_for.len() as u32;
        for &number in &waits_for {
            let read = &mut self.device_reads[number];
            read.waiting.push(slot);
            read.ahead_from = read.ahead_from.max(end);
        }
        !waits_for.is_empty()
    }

    /// Reads what is neither in memory nor on its way; `needed` is the block behind what is wanted now.
    fn read_missing(&mut self, blocks: Range<u64>, needed: u64) {
        for gap in self.missing(blocks) {
            let pieces: Vec<Piece> = self.extents.pieces(gap).collect();
            for piece in pieces {
                match piece.device {
                    Some(device) => self.read_device(piece, device, needed, false),
                    None if piece.file < needed => self.unmapped_reads += 1,
                    None => {}
                }
            }
        }
    }

    /// Reads a zone's data in order to write it elsewhere.
    pub(super) fn relocate(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            if let Some(device) = piece.device {
                self.read_device(*piece, device, piece.blocks().end, true);
            }
        }
    }

    /// Returns the parts of some blocks that are neither in memory nor on their way.
    fn missing(&self, blocks: Range<u64>) -> Vec<Range<u64>> {
        if blocks.is_empty() {
            return Vec::new();
        }
        let mut gaps = Vec::from([blocks.clone()]);
        for pages in [&self.dirty, &self.writing, &self.read_ahead] {
            gaps = pages.outside(gaps);
        }
        for number in self.under_way(blocks) {
            let read = &self.device_reads[number].file;
            gaps = gaps
                .into_iter()
                .flat_map(|gap| {
                    [
                        gap.start..gap.end.min(read.start),
                        gap.start.max(read.end)..gap.end,
                    ]
                })
                .filter(|gap| !gap.is_empty())
                .collect();
        }
        gaps
    }

    /// Returns the reads of the device that overlap some blocks, in order; they do not overlap each other.
    fn under_way(&self, blocks: Range<u64>) -> Vec<u32> {
        let reaches = |number: &u32| self.device_reads[*number].file.end > blocks.start;
        let before = self.fetching.range(..blocks.start).next_back();
        let before = before.map(|(_, &number)| number).filter(reaches);
        let inside = self
            .fetching
            .range(blocks.clone())
            .map(|(_, &number)| number);
        before.into_iter().chain(inside).collect()
    }

    fn read_device(&mut self, piece: Piece, device: u64, ahead_from: u64, moves: bool) {
        let most = self.params.io_bytes / BLOCK_BYTES;
        let mut done = 0;
        while done < piece.len {
            let len = (piece.len - done).min(most);
            let start = piece.file + done;
            let number = self.device_reads.add(DeviceRead {
                file: start..start + len,
                device: device + done,
                waiting: Vec::new(),
                ahead_from,
                moves,
            });
            if moves {
                self.write_back.moves_out += 1;
            } else {
                self.fetching.insert(start, number);
            }
            self.reads.push_back(number);
            done += len;
        }
    }

    /// Sends the next read to the device.
    pub(super) fn send_read(&mut self) -> bool {
        let Some(number) = self.reads.pop_front() else {
            return false;
        };
        let DeviceRead { file, device, .. } = &self.device_reads[number];
        let blocks = *device..device + (file.end - file.start);
        self.send(Op::Read, blocks, DeviceTag::Read(number));
        true
    }

    /// A read is back.
    pub(super) fn finish_device_read(&mut self, number: u32, errno: i32) {
        let read = &mut self.device_reads[number];
        let (file, moves) = (read.file.clone(), read.moves);
        let ahead_from = read.ahead_from.max(file.start);
        let waiting = std::mem::take(&mut read.waiting);
        self.device_reads.release(number);
        if moves {
            self.write_back.moves_out -= 1;
            self.move_on(file);
        } else {
            self.fetching.remove(&file.start);
            self.read_ahead.insert(ahead_from.min(file.end)..file.end);
        }
        for slot in waiting {
            let held = &mut self.requests[slot];
            held.parts -= 1;
            held.errno = held.errno.max(errno);
            if held.parts == 0 {
                self.read(slot);
            }
        }
    }
}
