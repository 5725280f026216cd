//! Positions that follow on from the last one: up, down, in strides, in strips, and several of them in turn. They count
//! from the region's start.

use crate::region::part_start;
use crate::{Geometry, Span};

use super::check::check_alignment;
use crate::stream::error::StreamError;

/// Moves the cursor over the next block, from the region's start again where it does not fit.
#[inline(always)]
pub(super) fn follow_on(
    region: Span,
    align_bytes: Option<u64>,
    cursor_bytes: &mut u64,
    size_bytes: u32,
) -> u64 {
    let mut at_bytes = match align_bytes {
        None => *cursor_bytes,
        Some(align) => cursor_bytes.next_multiple_of(align),
    };
    if at_bytes + u64::from(size_bytes) > region.size_bytes {
        at_bytes = 0;
    }
    *cursor_bytes = at_bytes + u64::from(size_bytes);
    region.start_bytes + at_bytes
}

/// Moves the cursor under the next block below, from `end_bytes` again where it does not fit.
#[inline(always)]
pub(super) fn lead_up(
    region: Span,
    align_bytes: Option<u64>,
    (cursor_bytes, end_bytes): (&mut u64, u64),
    size_bytes: u32,
) -> u64 {
    let size_bytes = u64::from(size_bytes);
    if *cursor_bytes < size_bytes {
        *cursor_bytes = end_bytes;
    }
    *cursor_bytes -= size_bytes;
    if let Some(align) = align_bytes {
        *cursor_bytes -= *cursor_bytes % align;
    }
    region.start_bytes + *cursor_bytes
}

/// Several positions that take turns.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    cursors_bytes: Box<[u64]>,
    turn: usize,
}

impl Turns {
    /// Returns positions that begin at `starts_bytes`. The second has the first turn.
    pub(super) fn new(starts_bytes: impl Iterator<Item = u64>) -> Self {
        Self {
            cursors_bytes: starts_bytes.collect(),
            turn: 0,
        }
    }

    /// Returns the position whose turn it is.
    #[inline(always)]
    pub(super) fn next(&mut self) -> &mut u64 {
        self.turn = if self.turn + 1 < self.cursors_bytes.len() {
            self.turn + 1
        } else {
            0
        };
        &mut self.cursors_bytes[self.turn]
    }
}

/// One block in each stride, and the next block of each in the next lap.
#[derive(Clone, Debug)]
pub(super) struct Strides {
    cursor_bytes: u64,
    /// Where this lap began.
    lap_bytes: u64,
    stride_bytes: u64,
}

impl Strides {
    /// Returns the strides of part `part` of `parts`.
    pub(super) fn new(
        stride_bytes: u64,
        region: Span,
        geometry: Geometry,
        (part, parts): (u32, u32),
    ) -> Result<Self, StreamError> {
        check_alignment(stride_bytes, geometry)?;
        let strides = region.size_bytes / stride_bytes;
        Ok(Self {
            cursor_bytes: stride_bytes * part_start(strides, part, parts),
            lap_bytes: 0,
            stride_bytes,
        })
    }

    #[inline(always)]
    pub(super) fn next(&mut self, region: Span, size_bytes: u32) -> u64 {
        let size_bytes = u64::from(size_bytes);
        if self.cursor_bytes + size_bytes > region.size_bytes {
            self.lap_bytes += size_bytes;
            let covered = self.lap_bytes + size_bytes > self.stride_bytes.min(region.size_bytes);
            self.lap_bytes = if covered { 0 } else { self.lap_bytes };
            self.cursor_bytes = self.lap_bytes;
        }
        let at_bytes = self.cursor_bytes;
        self.cursor_bytes += self.stride_bytes;
        region.start_bytes + at_bytes
    }
}

/// Strips that are written or read from end to end, with gaps between them.
#[derive(Clone, Debug)]
pub(super) struct Strips {
    cursor_bytes: u64,
    /// Where this strip begins.
    begin_bytes: u64,
    /// Where the thread's first strip begins.
    first_bytes: u64,
    strip_bytes: u64,
    gap_bytes: u64,
}

impl Strips {
    /// Returns the strips of part `part` of `parts`, for blocks of at most `largest_bytes`.
    pub(super) fn new(
        (strip_bytes, gap_bytes): (u64, u64),
        largest_bytes: u32,
        region: Span,
        geometry: Geometry,
        (part, parts): (u32, u32),
    ) -> Result<Self, StreamError> {
        check_alignment(strip_bytes, geometry)?;
        check_alignment(gap_bytes, geometry)?;
        let apart_bytes = strip_bytes + gap_bytes;
        // Those that hold a block.
        let strips = (region.size_bytes - u64::from(largest_bytes)) / apart_bytes + 1;
        let first_bytes = apart_bytes * part_start(strips, part, parts);
        Ok(Self {
            cursor_bytes: first_bytes,
            begin_bytes: first_bytes,
            first_bytes,
            strip_bytes,
            gap_bytes,
        })
    }

    #[inline(always)]
    pub(super) fn next(&mut self, region: Span, size_bytes: u32) -> u64 {
        let size_bytes = u64::from(size_bytes);
        if self.cursor_bytes + size_bytes > self.begin_bytes + self.strip_bytes {
            self.begin_bytes += self.strip_bytes + self.gap_bytes;
            self.cursor_bytes = self.begin_bytes;
        }
        if self.cursor_bytes + size_bytes > region.size_bytes {
            (self.begin_bytes, self.cursor_bytes) = (self.first_bytes, self.first_bytes);
        }
        let at_bytes = self.cursor_bytes;
        self.cursor_bytes += size_bytes;
        region.start_bytes + at_bytes
    }
}
