//! From the cache to the medium: writes where they belong, the log of shingled tracks, and the bands that are written
//! anew from it.

use std::ops::Range;

use super::media_cache::{MediaCache, Rewrite};
use super::work::{Spent, Work};
use super::{Disk, QUIET};
use crate::sim::event::{Event, us_to_ns};

/// Most bytes that one visit of the arm writes from the cache: about a track. So reads wait no longer than a turn, and
/// room is given back as steadily as the medium takes data.
const DESTAGE_BYTES: u64 = 2 << 20;
/// Turns to rewrite a track whose neighbours were written too often: read it, write it.
const REFRESH_TURNS: u64 = 2;

impl Disk {
    /// Writes the range of the cache that the arm reaches first.
    pub(super) fn destage(&mut self) {
        let arm = self.arm_at(self.now_ns);
        let window = self.params.destage_window as usize;
        let mut best = None;
        for (start, place) in self.cache.places_from(self.at_byte).take(window) {
            let cost_ns = arm.position(&place, true).total_ns();
            if best.is_none_or(|(least_ns, _, _)| cost_ns < least_ns) {
                best = Some((cost_ns, start, place));
            }
        }
        let Some((_, start, place)) = best else {
            return;
        };
        let follows = start == self.at_byte;
        let taken = self.cache.take(start, DESTAGE_BYTES, &self.layout);
        let bytes = taken.end - taken.start;
        let mut end_ns = self.visit(self.now_ns, taken, &place, true);
        if !follows && self.params.refresh_after_writes > 0 {
            self.random_writes += 1;
            if self.random_writes == self.params.refresh_after_writes {
                self.random_writes = 0;
                let refresh_ns = REFRESH_TURNS * self.layout.turn_ns;
                end_ns += refresh_ns;
                self.booked.visit(end_ns, Spent::of_transfer(refresh_ns));
            }
        }
        self.begin(Work::Destage { bytes }, end_ns);
    }

    /// Shingled tracks: writes what can be written where it belongs, and logs the rest. What may become a
    /// whole band stays in memory while there is room and no quiet.
    pub(super) fn destage_shingled(&mut self, pressed: bool) {
        let Some(media) = &mut self.media_cache else {
            return;
        };
        let near = || {
            self.cache
                .from(self.at_byte)
                .take(self.params.destage_window as usize)
        };
        let direct = near().find_map(|dirty| media.in_place(dirty));
        if let Some(Range { start, end }) = direct {
            let taken = self.cache.take(start, end - start, &self.layout);
            let bytes = taken.end - taken.start;
            media.wrote(taken.clone());
            let place = self.layout.place(start);
            let end_ns = self.visit(self.now_ns, taken, &place, true);
            return self.begin(Work::Destage { bytes }, end_ns);
        }
        let waits = !pressed && !self.quiet;
        let mut pieces = Vec::new();
        let mut bytes = 0;
        for Range { start, end } in self.cache.from(self.at_byte) {
            let end = end.min(media.band_end(start));
            if bytes + (end - start) > DESTAGE_BYTES.max(end - start) {
                break;
            }
            if !(waits && media.may_grow(start)) {
                pieces.push(start..end);
                bytes += end - start;
            }
        }
        if pieces.is_empty() {
            return self.watch();
        }
        if !media.has_room(bytes) {
            return self.clean();
        }
        let mut first = None;
        for piece in pieces {
            let len = piece.end - piece.start;
            self.cache.take(piece.start, len, &self.layout);
            let place = media.log(piece);
            first.get_or_insert(place);
        }
        let start = first.unwrap_or(self.at_byte);
        // Where the log begins anew within a batch, the few pieces behind are taken to follow too.
        let end = (start + bytes).min(self.last_byte() + 1);
        let place = self.layout.place(start);
        let end_ns = self.visit(self.now_ns, start..end, &place, true);
        self.begin(Work::Destage { bytes }, end_ns);
    }

    /// Nothing to do: bands of shingled tracks are cleaned once it has been quiet for a while.
    pub(super) fn rest(&mut self) {
        if self.quiet {
            self.clean();
        } else if self
            .media_cache
            .as_ref()
            .is_some_and(|media| !media.is_empty())
        {
            self.watch();
        }
    }

    pub(super) fn watch(&mut self) {
        if self.watching {
            return;
        }
        let idle_ns = us_to_ns(self.params.media_cache_idle_ms * 1e3);
        let due_ns = self.last_command_ns + idle_ns;
        if due_ns <= self.now_ns && self.inside > 0 {
            self.awaits_quiet = true;
            return;
        }
        self.watching = true;
        let at_ns = due_ns.max(self.now_ns + 1);
        self.calendar.push(at_ns, Event::Die.with(QUIET));
    }

    pub(super) fn look_for_quiet(&mut self) {
        self.watching = false;
        let idle_ns = us_to_ns(self.params.media_cache_idle_ms * 1e3);
        if self.now_ns >= self.last_command_ns + idle_ns && self.inside == 0 {
            self.quiet = true;
        }
        self.start_work();
    }

    /// Reads the next band and what the log has of it, and writes it anew.
    pub(super) fn clean(&mut self) {
        let media = self.media_cache.as_mut();
        let Some(Rewrite { band, logged }) = media.and_then(MediaCache::clean) else {
            return;
        };
        if self.stream.is_some() {
            self.close_stream();
        }
        let band_place = self.layout.place(band.start);
        let log_place = self.layout.place(logged.start);
        let logged = logged.start..logged.end.min(self.last_byte() + 1);
        let mut at_ns = self.visit(self.now_ns, logged, &log_place, false);
        at_ns = self.visit(at_ns, band.clone(), &band_place, false);
        at_ns = self.visit(at_ns, band, &band_place, true);
        self.begin(Work::Clean, at_ns);
    }

    /// Lets writes in that fit now, and answers flushes when all is on the medium.
    pub(super) fn make_use_of_room(&mut self) {
        if !self.flushes.is_empty() {
            if !self.cache.is_clean() {
                return;
            }
            for slot in std::mem::take(&mut self.flushes) {
                self.answer(slot, 0);
            }
        }
        while let Some(&slot) = self.shut_out.front() {
            let bytes = u64::from(self.requests[slot].request.size_bytes);
            if !self.cache.has_room(bytes) {
                return;
            }
            self.shut_out.pop_front();
            self.let_in(slot, bytes);
        }
    }
}
