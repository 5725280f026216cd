//! Requests and arrivals of a recorded trace, in place of drawn ones. The file is what `fathom run replay` prepares: all
//! of it is in memory before the step begins, so that issuing waits for nothing.
//!
//! Layout, little-endian: [`MAGIC`], the count of I/Os, the bytes that the trace reaches, the time after which it starts
//! again. Then 24 bytes for each I/O: arrival in ns, offset, size (4 bytes), the operation's number, 3 bytes of 0.
//!
//! Where I/Os wait for others, the first bytes are [`WAITING_MAGIC`]. The last 3 bytes of an I/O then say how far before
//! it that one is, and its arrival counts from when that one returns.

use std::sync::Arc;

use super::error::StreamError;
use super::row::Row;
use super::share::{Share, shares};
use super::waiting::Waiting;
use crate::{Geometry, Mix, Offsets, Op, Request, Span};

/// The first bytes of a prepared trace.
const MAGIC: &[u8; 8] = b"FTHRPL1\n";
const WAITING_MAGIC: &[u8; 8] = b"FTHRPL2\n";
const HEADER_BYTES: usize = 32;
const ROW_BYTES: usize = 24;
/// An arrival that never comes: far enough for any sum with a start.
const NEVER_NS: u64 = u64::MAX / 4;

/// The trace and how far each of requests and arrivals is in it. Behind its end it begins again, unless several threads
/// divide it.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    rows: Arc<[Row]>,
    /// How far before each I/O the one is that it waits for; empty: none waits.
    behind: Arc<[u32]>,
    /// What one of several threads knows of the others' I/Os; `None`: one thread issues all.
    share: Option<Share>,
    lap_ns: u64,
    next: usize,
    next_arrival: usize,
    laps_ns: u64,
}

impl Replay {
    /// Reads a prepared trace and places its I/Os in a region of the target.
    pub(super) fn open(
        file: &str,
        offsets: Offsets,
        waits: bool,
        region: Span,
        geometry: Geometry,
        mix: &Mix,
    ) -> Result<Self, StreamError> {
        let refuse = |reason: String| StreamError::Replay {
            file: file.into(),
            reason,
        };
        let bytes = std::fs::read(file).map_err(|error| refuse(error.to_string()))?;
        let damaged = || refuse("it is no prepared trace, or a damaged one: run it anew".into());
        let Header {
            extent_bytes,
            lap_ns,
            rows,
        } = Header::of(&bytes, waits).ok_or_else(damaged)?;
        if offsets == Offsets::AsIs && extent_bytes > region.size_bytes {
            return Err(refuse(format!(
                "it reaches {extent_bytes} bytes, and the target has {}: use offsets = \"wrap\" or \"scale\"",
                region.size_bytes
            )));
        }
        let place = Placement {
            offsets,
            region,
            extent_bytes,
            block_bytes: u64::from(geometry.block_bytes.max(1)),
            largest_bytes: largest_bytes(mix),
        };
        let behind: Arc<[u32]> = match waits {
            true => rows.chunks_exact(ROW_BYTES).map(distance).collect(),
            false => Arc::default(),
        };
        if (0..).zip(&*behind).any(|(row, &behind)| behind > row) {
            return Err(damaged());
        }
        let mut before_ns = 0;
        let placed = rows.chunks_exact(ROW_BYTES).map(|row| {
            let row = place.row(row).ok_or_else(damaged)?;
            if waits {
                return Ok(row);
            }
            let ascends = row.arrival_ns >= before_ns && row.arrival_ns <= lap_ns;
            before_ns = row.arrival_ns;
            ascends.then_some(row).ok_or_else(damaged)
        });
        Ok(Self {
            rows: placed.collect::<Result<_, _>>()?,
            behind,
            share: None,
            lap_ns,
            next: 0,
            next_arrival: 0,
            laps_ns: 0,
        })
    }

    /// Divides the trace, or its first `count` I/Os, over threads that issue it once.
    pub(super) fn divided(
        self,
        threads: u32,
        count: Option<u64>,
        file: &str,
    ) -> Result<Vec<Self>, StreamError> {
        if threads == 1 {
            return Ok(vec![self]);
        }
        let all = self.rows.len();
        let count = count.unwrap_or(all as u64);
        let Some(rows) = self.rows.get(..count as usize) else {
            let reason = format!(
                "{threads} threads issue it once, and until asks for {count} of its {all} I/Os: use one thread"
            );
            return Err(StreamError::Replay {
                file: file.into(),
                reason,
            });
        };
        let part = |(rows, share)| Self {
            rows,
            share: Some(share),
            ..self.clone()
        };
        Ok(shares(rows, threads as usize)
            .into_iter()
            .map(part)
            .collect())
    }

    /// Returns how many I/Os one of several threads issues; `None`: one thread issues all, for as long as it goes on.
    pub(super) fn own_ios(&self) -> Option<u64> {
        self.share.as_ref().map(|_| self.rows.len() as u64)
    }

    /// Returns how many I/Os the thread issues where it may issue `count`.
    pub(super) fn limited(&self, count: u64) -> u64 {
        match self.own_ios() {
            Some(own) => own,
            None if self.behind.is_empty() => count,
            None => count.min(self.rows.len() as u64),
        }
    }

    /// Returns whether the next request waits for others that have not returned.
    #[inline(always)]
    pub(super) fn is_held(&self) -> bool {
        let share = self.share.as_ref();
        share.is_some_and(|share| share.holds(self.next))
    }

    /// Returns the mark of the next request, by which [`Replay::returned`] knows it.
    #[inline(always)]
    pub(super) fn next_mark(&self) -> u32 {
        let share = self.share.as_ref();
        share.map_or(0, |share| share.mark(self.next))
    }

    /// Returns when the next request may be issued at the earliest, after those that it waits for.
    #[inline(always)]
    pub(super) fn earliest_ns(&self) -> u64 {
        let share = self.share.as_ref();
        share.map_or(0, |share| share.earliest_ns(self.next))
    }

    /// Notes that a request has returned.
    #[inline(always)]
    pub(super) fn returned(&self, mark: u32, at_ns: u64) {
        if let Some(share) = &self.share {
            share.returned(mark, at_ns);
        }
    }

    /// Returns the trace as one whose I/Os wait for others; `None`: none does.
    pub(super) fn waiting(&self) -> Option<Waiting> {
        let waits = !self.behind.is_empty();
        waits.then(|| Waiting::new(Arc::clone(&self.rows), &self.behind))
    }

    #[inline]
    pub(super) fn next_request(&mut self) -> Request {
        let request = self.rows[self.next].request;
        if let Some(share) = &mut self.share {
            share.pass(self.next);
        }
        self.next += 1;
        if self.next == self.rows.len() {
            self.next = 0;
        }
        request
    }

    #[inline]
    pub(super) fn next_arrival_ns(&mut self) -> u64 {
        // One of several threads may have no I/O at all.
        let Some(row) = self.rows.get(self.next_arrival) else {
            return NEVER_NS;
        };
        let arrival_ns = self.laps_ns.saturating_add(row.arrival_ns);
        self.next_arrival += 1;
        if self.next_arrival == self.rows.len() {
            self.next_arrival = 0;
            self.laps_ns = self.laps_ns.saturating_add(self.lap_ns).min(NEVER_NS);
        }
        arrival_ns.min(NEVER_NS)
    }
}

/// What a prepared trace says of itself, and the bytes of its I/Os.
struct Header<'a> {
    extent_bytes: u64,
    lap_ns: u64,
    rows: &'a [u8],
}

impl<'a> Header<'a> {
    /// Returns the header of a whole trace of the wanted kind; `None`: the bytes are none.
    fn of(bytes: &'a [u8], waits: bool) -> Option<Self> {
        let (header, rows) = bytes.split_at_checked(HEADER_BYTES)?;
        let (count, extent_bytes, lap_ns) = (long(header, 8), long(header, 16), long(header, 24));
        let magic = if waits { WAITING_MAGIC } else { MAGIC };
        let whole =
            rows.len().is_multiple_of(ROW_BYTES) && rows.len() / ROW_BYTES == count as usize;
        let is_trace = &header[..8] == magic && whole && count > 0 && extent_bytes > 0;
        is_trace.then_some(Self {
            extent_bytes,
            lap_ns,
            rows,
        })
    }
}

/// Where I/Os go on the target.
struct Placement {
    offsets: Offsets,
    region: Span,
    extent_bytes: u64,
    block_bytes: u64,
    /// By operation, the largest that the job announces; 0: it announces none.
    largest_bytes: [u64; Op::COUNT],
}

impl Placement {
    /// Returns an I/O on whole blocks inside the region; `None`: it is none, or no such I/O is in the job's mix. Buffers,
    /// how the target is opened and what may be overwritten all go by the mix.
    fn row(&self, bytes: &[u8]) -> Option<Row> {
        let op = *Op::ALL.get(usize::from(bytes[20]))?;
        let mut request = Request {
            offset_bytes: 0,
            size_bytes: 0,
            placement: Request::NO_PLACEMENT,
            op,
        };
        if op != Op::Flush {
            let size_bytes = u64::from(word(bytes, 16)).next_multiple_of(self.block_bytes);
            if size_bytes == 0 || size_bytes > self.largest_bytes[op as usize] {
                return None;
            }
            request.offset_bytes =
                self.region.start_bytes + self.offset_bytes(long(bytes, 8), size_bytes)?;
            request.size_bytes = size_bytes as u32;
        }
        Some(Row {
            arrival_ns: long(bytes, 0),
            request,
        })
    }

    fn offset_bytes(&self, recorded: u64, size_bytes: u64) -> Option<u64> {
        let last = self.region.size_bytes.checked_sub(size_bytes)?;
        let offset = match self.offsets {
            Offsets::AsIs => recorded,
            Offsets::Wrap => recorded % self.region.size_bytes,
            Offsets::Scale => {
                let scaled = u128::from(recorded) * u128::from(self.region.size_bytes);
                (scaled / u128::from(self.extent_bytes)).min(u128::from(last)) as u64
            }
        };
        let offset = offset.min(last);
        Some(offset - offset % self.block_bytes)
    }
}

/// Returns the largest block of each operation.
fn largest_bytes(mix: &Mix) -> [u64; Op::COUNT] {
    let mut largest_bytes = [0; Op::COUNT];
    for block in &mix.ops {
        let largest = &mut largest_bytes[block.op as usize];
        let sizes = block.sizes.iter().map(|size| u64::from(size.size_bytes));
        *largest = sizes.fold(*largest, u64::max);
    }
    largest_bytes
}

fn distance(row: &[u8]) -> u32 {
    word(row, 20) >> 8
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}
