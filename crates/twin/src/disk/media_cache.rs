//! Drive-managed shingled tracks: the drive takes any write and keeps the order that shingling asks for by itself.
//! Aghayev and Desnoyers found drives to do so ("Skylight", FAST 2015). Tracks overlap within a band; a band is written
//! from its pointer on, or as a whole. Any other write goes to the end of a log, the media cache, in the innermost
//! tracks. A band is cleaned by reading it and its parts of the log, and writing it anew. Only places are kept here;
//! the arm and its time are not. Left out: the log's own table, and holes in it, whose room counts as free at once.

use std::collections::{BTreeMap, VecDeque};

use super::DiskParams;

/// What the media cache holds.
#[derive(Clone)]
pub struct MediaCache {
    band_bytes: u64,
    /// What the user sees; the log lies behind.
    capacity_bytes: u64,
    log_bytes: u64,
    /// Behind the last write to the log.
    head_bytes: u64,
    /// First byte of what the log holds, to its end and its place.
    held: BTreeMap<u64, (u64, u64)>,
    held_bytes: u64,
    /// Bands with anything in the log, the one that was first there in front.
    order: VecDeque<u32>,
    queued: Vec<bool>,
    /// Bytes written in each band, from its start.
    written: Vec<u64>,
}

impl MediaCache {
    /// Returns an empty cache, over bands never written.
    pub fn new(params: &DiskParams) -> Self {
        let bands = params.capacity_bytes.div_ceil(params.zone_bytes);
        Self {
            band_bytes: params.zone_bytes,
            capacity_bytes: params.capacity_bytes,
            log_bytes: params.media_cache_bytes,
            head_bytes: 0,
            held: BTreeMap::new(),
            held_bytes: 0,
            order: VecDeque::new(),
            queued: vec![false; bands as usize],
            written: vec![0; bands as usize],
        }
    }

    /// Returns whether there is nothing to clean.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Returns whether the log takes `bytes` more.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.held_bytes + bytes <= self.log_bytes
    }

    fn band(&self, at: u64) -> u32 {
        (at / self.band_bytes) as u32
    }

    /// Returns the first byte of a band and behind its last.
    pub fn bounds(&self, band: u32) -> (u64, u64) {
        let start = u64::from(band) * self.band_bytes;
        (start, (start + self.band_bytes).min(self.capacity_bytes))
    }

    /// Returns the address behind the last byte of the band of `at`.
    pub fn band_end(&self, at: u64) -> u64 {
        self.bounds(self.band(at)).1
    }

    /// Returns how far `start..end` can be written where it belongs: a whole band, or on from its pointer.
    pub fn in_place(&self, start: u64, end: u64) -> Option<u64> {
        let (first, last) = self.bounds(self.band(start));
        let follows = start == first + self.written[self.band(start) as usize] && start < last;
        let whole = start == first && end >= last;
        (follows || whole).then_some(end.min(last))
    }

    /// Returns whether a range begins a band that is full: the rest of a stream may be about to follow.
    pub fn may_grow(&self, start: u64) -> bool {
        start == self.bounds(self.band(start)).0
    }

    /// `start..end` was written where it belongs; what the log had of it is stale.
    pub fn wrote(&mut self, start: u64, end: u64) {
        self.forget(start, end);
        let band = self.band(start);
        let written = &mut self.written[band as usize];
        *written = (*written).max(end - u64::from(band) * self.band_bytes);
    }

    /// Takes a range, within one band, into the log; gives its place there.
    pub fn log(&mut self, start: u64, end: u64) -> u64 {
        self.forget(start, end);
        let bytes = end - start;
        if self.head_bytes + bytes > self.log_bytes {
            self.head_bytes = 0;
        }
        let place = self.capacity_bytes + self.head_bytes;
        self.head_bytes += bytes;
        self.held.insert(start, (end, place));
        self.held_bytes += bytes;
        let band = self.band(start);
        if !std::mem::replace(&mut self.queued[band as usize], true) {
            self.order.push_back(band);
        }
        place
    }

    /// Returns where the log has the first byte of a range, if it does.
    pub fn find(&self, start: u64) -> Option<u64> {
        let (&first, &(end, place)) = self.held.range(..=start).next_back()?;
        (end > start).then_some(place + (start - first))
    }

    /// Takes the next band to clean out of the log: its number, and where its first piece is and how
    /// many bytes there are.
    pub fn clean(&mut self) -> Option<(u32, u64, u64)> {
        while let Some(band) = self.order.pop_front() {
            self.queued[band as usize] = false;
            let (start, end) = self.bounds(band);
            let place = self
                .held
                .range(start..end)
                .next()
                .map(|(_, &(_, place))| place);
            let before_bytes = self.held_bytes;
            self.forget(start, end);
            if let Some(place) = place {
                self.written[band as usize] = end - start;
                return Some((band, place, before_bytes - self.held_bytes));
            }
        }
        None
    }

    fn forget(&mut self, start: u64, end: u64) {
        while let Some((&first, &(last, place))) = self.held.range(..end).next_back() {
            if last <= start {
                return;
            }
            self.held.remove(&first);
            self.held_bytes -= last - first;
            for (low, high) in [(first, start.min(last)), (end.max(first), last)] {
                if low < high {
                    self.held.insert(low, (high, place + (low - first)));
                    self.held_bytes += high - low;
                }
            }
            if first < start {
                return;
            }
        }
    }
}
