//! Reading ahead: while nothing else is asked for, the head goes on over what follows a read. Reads that it will soon
//! come by are promised their bytes.

use std::ops::Range;

use super::Disk;
use super::work::Work;
use crate::sim::event::Event;

/// Turns that a read waits for the head to come by rather than have it sent there.
const PATIENCE_TURNS: u64 = 2;
/// How far a stream's progress is reckoned with one rate.
const REBASE_BYTES: u64 = 16 << 20;

/// Reading ahead: since `from_ns` the head passes over what follows `from`.
#[derive(Clone, Copy)]
pub(super) struct Stream {
    /// First byte held.
    pub(super) start: u64,
    pub(super) from: u64,
    pub(super) from_ns: u64,
    pub(super) from_stream_ns: u64,
    /// Where it stops by itself.
    pub(super) limit: u64,
    /// Reads are promised the bytes up to here.
    pub(super) promised: u64,
}

impl Disk {
    /// Returns when the stream has passed a range, if it soon will. A stream that others wait for goes no further
    /// than it has promised.
    #[inline]
    pub(super) fn promise(&mut self, range: &Range<u64>) -> Option<u64> {
        let &Range { start, end } = range;
        let stream = self.stream?;
        let soon_ns = self.now_ns + PATIENCE_TURNS * self.layout.turn_ns;
        let free = matches!(self.work, Work::Idle);
        // At its limit the head has come to rest; before, it goes on for whoever follows.
        let moving = free && self.passes_ns(&stream, stream.limit) > self.now_ns;
        let within = match (moving, free) {
            (true, _) => start <= stream.limit,
            (false, true) => end <= stream.limit,
            (false, false) => end <= stream.promised,
        };
        if start < stream.start || !within || self.passes_ns(&stream, start) > soon_ns {
            return None;
        }
        let ahead = self.params.read_ahead_bytes;
        let mut stream = self.rebased(stream, start);
        if moving {
            stream.limit = stream
                .limit
                .max((end + ahead).min(self.params.capacity_bytes));
        }
        stream.promised = stream.promised.max(end);
        stream.start = stream.start.max(end.saturating_sub(ahead));
        self.stream = Some(stream);
        Some(self.passes_ns(&stream, end))
    }

    /// Counts what a long stream has passed, and goes on counting from there: rates differ by zone.
    #[inline]
    fn rebased(&mut self, stream: Stream, at: u64) -> Stream {
        if at < stream.from + REBASE_BYTES {
            return stream;
        }
        let from_ns = self.passes_ns(&stream, at);
        self.media_read_bytes += at - stream.from;
        self.booked.streamed(from_ns - stream.from_ns);
        Stream {
            from: at,
            from_ns,
            from_stream_ns: self.layout.stream_ns(at),
            ..stream
        }
    }

    #[inline]
    pub(super) fn passes_ns(&self, stream: &Stream, byte: u64) -> u64 {
        match byte <= stream.from {
            true => stream.from_ns,
            false => stream.from_ns + self.layout.stream_ns(byte) - stream.from_stream_ns,
        }
    }

    /// Returns the byte that a stream has reached, and the time spent on what reads were promised.
    #[inline]
    pub(super) fn progress(&self, stream: &Stream) -> (u64, u64) {
        let elapsed_ns = self.now_ns.saturating_sub(stream.from_ns);
        let passed = self.layout.bytes_in(stream.from, elapsed_ns);
        let useful_ns = self.passes_ns(stream, stream.promised) - stream.from_ns;
        let reached = (stream.from + passed).min(stream.limit);
        (reached, elapsed_ns.min(useful_ns))
    }

    /// Has the stream answer the commands that wait for what it is about to pass.
    pub(super) fn share_stream(&mut self) {
        if self.stream.is_none() || self.queue.is_empty() {
            return;
        }
        let mut queue = std::mem::take(&mut self.queue);
        queue.retain(|waiting| {
            let inflight = self.requests[waiting.slot];
            let range = inflight.range();
            let passes_ns = match waiting.write || self.logged(range.start).is_some() {
                true => None,
                false => self.promise(&range),
            };
            if let Some(at_ns) = passes_ns {
                self.calendar
                    .push(at_ns.max(self.now_ns), Event::Sensed.with(waiting.slot));
            }
            passes_ns.is_none()
        });
        self.queue = queue;
    }

    /// Reads must not be answered with what a write has made stale.
    #[inline]
    pub(super) fn forget_read(&mut self, range: &Range<u64>) {
        self.segments.forget(range);
        if self
            .stream
            .is_some_and(|stream| range.start < stream.limit && range.end > stream.start)
        {
            self.close_stream();
            self.segments.forget(range);
        }
    }

    /// Ends reading ahead where the head is now.
    #[inline]
    pub(super) fn close_stream(&mut self) {
        let Some(stream) = self.stream.take() else {
            return;
        };
        let (reached, useful_ns) = self.progress(&stream);
        // Exactly there, lest what follows on misses by a rounding and loses a turn.
        let end = match self.passes_ns(&stream, stream.promised) < self.now_ns {
            true => reached.max(stream.promised),
            false => stream.promised,
        };
        self.media_read_bytes += end - stream.from;
        self.booked.streamed(useful_ns);
        self.booked
            .cut_short(stream.from_ns.saturating_sub(self.now_ns));
        self.segments.insert(stream.start..end);
        self.rest_at(end);
    }

    /// Goes on reading behind a request, for the next of its stream.
    #[inline]
    pub(super) fn read_on(&mut self, range: Range<u64>) {
        if self.params.read_ahead_bytes == 0 {
            return;
        }
        let Range { start, end } = range;
        let before = self.segments.take_before(start);
        self.sequential = before.is_some();
        self.stream = Some(Stream {
            start: before.map_or(start, |held| held.start),
            from: end,
            from_ns: self.now_ns,
            from_stream_ns: self.layout.stream_ns(end),
            limit: (end + self.params.read_ahead_bytes).min(self.params.capacity_bytes),
            promised: end,
        });
    }
}
