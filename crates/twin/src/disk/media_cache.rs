//! Drive-managed shingled tracks: the drive takes any write and keeps the order that shingling asks for by itself.
//! Aghayev and Desnoyers found drives to do so ("Skylight", FAST 2015). Tracks overlap within a band; a band is written
//! from its pointer on, or as a whole. Any other write goes to the end of a log, the media cache, in the innermost
//! tracks. A band is cleaned by reading it and its parts of the log, and writing it anew. Only places are kept here;
//! the arm and its time are not. Left out: the log's own table, and holes in it, whose room counts as free at once.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::DiskParams;

/// A range of the user's bytes that the log holds; its start is its key.
#[derive(Clone, Copy)]
struct Logged {
    end: u64,
    /// The byte of the log that its first one is at.
    place: u64,
}

/// A band to write anew.
#[derive(Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// Its bytes.
    pub band: Range<u64>,
    /// From its first piece in the log on, as many bytes as the log held of it.
    pub logged: Range<u64>,
}

/// What the media cache holds.
#[derive(Clone)]
pub struct MediaCache {
    band_bytes: u64,
    /// What the user sees; the log lies behind.
    capacity_bytes: u64,
    log_bytes: u64,
    /// Behind the last write to the log.
    head_bytes: u64,
    held: BTreeMap<u64, Logged>,
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

    /// Returns the bytes of a band.
    fn bounds(&self, band: u32) -> Range<u64> {
        let start = u64::from(band) * self.band_bytes;
        start..(start + self.band_bytes).min(self.capacity_bytes)
    }

    /// Returns the address behind the last byte of the band of `at`.
    pub fn band_end(&self, at: u64) -> u64 {
        self.bounds(self.band(at)).end
    }

    /// Returns what of a range can be written where it belongs: a whole band, or on from its pointer.
    pub fn in_place(&self, range: Range<u64>) -> Option<Range<u64>> {
        let Range { start, end } = range;
        let band = self.bounds(self.band(start));
        let pointer = band.start + self.written[self.band(start) as usize];
        let follows = start == pointer && start < band.end;
        let whole = start == band.start && end >= band.end;
        (follows || whole).then_some(start..end.min(band.end))
    }

    /// Returns whether a range begins a band that is full: the rest of a stream may be about to follow.
    pub fn may_grow(&self, start: u64) -> bool {
        start == self.bounds(self.band(start)).start
    }

    /// A range was written where it belongs; what the log had of it is stale.
    pub fn wrote(&mut self, range: Range<u64>) {
        self.forget(&range);
        let Range { start, end } = range;
        let band = self.band(start);
        let written = &mut self.written[band as usize];
        *written = (*written).max(end - u64::from(band) * self.band_bytes);
    }

    /// Takes a range, within one band, into the log; gives its place there.
    pub fn log(&mut self, range: Range<u64>) -> u64 {
        self.forget(&range);
        let Range { start, end } = range;
        let bytes = end - start;
        if self.head_bytes + bytes > self.log_bytes {
            self.head_bytes = 0;
        }
        let place = self.capacity_bytes + self.head_bytes;
        self.head_bytes += bytes;
        self.held.insert(start, Logged { end, place });
        self.held_bytes += bytes;
        let band = self.band(start);
        if !std::mem::replace(&mut self.queued[band as usize], true) {
            self.order.push_back(band);
        }
        place
    }

    /// Returns where the log has the first byte of a range, if it does.
    pub fn find(&self, start: u64) -> Option<u64> {
        let (&first, &Logged { end, place }) = self.held.range(..=start).next_back()?;
        (end > start).then_some(place + (start - first))
    }

    /// Takes the next band to clean out of the log.
    pub fn clean(&mut self) -> Option<Rewrite> {
        while let Some(number) = self.order.pop_front() {
            self.queued[number as usize] = false;
            let band = self.bounds(number);
            let first = self.held.range(band.clone()).next();
            let place = first.map(|(_, logged)| logged.place);
            let before_bytes = self.held_bytes;
            self.forget(&band);
            if let Some(place) = place {
                self.written[number as usize] = band.end - band.start;
                let logged = place..place + (before_bytes - self.held_bytes);
                return Some(Rewrite { band, logged });
            }
        }
        None
    }

    fn forget(&mut self, range: &Range<u64>) {
        let &Range { start, end } = range;
        while let Some((&first, &Logged { end: last, place })) = self.held.range(..end).next_back()
        {
            if last <= start {
                return;
            }
            self.held.remove(&first);
            self.held_bytes -= last - first;
            for kept in [first..start.min(last), end.max(first)..last] {
                if !kept.is_empty() {
                    self.held_bytes += kept.end - kept.start;
                    let logged = Logged {
                        end: kept.end,
                        place: place + (kept.start - first),
                    };
                    self.held.insert(kept.start, logged);
                }
            }
            if first < start {
                return;
            }
        }
    }
}
