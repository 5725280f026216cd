//! The state of a channel: what it carries, and what waits for it.

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Load(u32),
    Cleaning(u32),
}

#[derive(Clone)]
pub(super) struct Transfer {
    pub(super) payload: Payload,
    pub(super) remaining_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrying {
    Nothing,
    Read(u32),
    Background,
}

#[derive(Clone)]
pub(super) struct Channel {
    pub(super) carrying: Carrying,
    /// May lie ahead: a read whose page is still being sensed, and that nothing will pass.
    pub(super) started_ns: u64,
    pub(super) until_ns: u64,
    pub(super) reads: VecDeque<u32>,
    /// Reads that follow those, by when their pages are sensed. While there is no background transfer, the
    /// order of reads is known when they start, and [`Event::Sensed`] is not needed.
    pub(super) ahead: VecDeque<(u64, u32)>,
    /// Reads that have such an event.
    pub(super) sensing: u32,
    pub(super) background: VecDeque<Transfer>,
    /// Loads that are booked: no event marks their end, and their dies are busy until then. While any are under way the
    /// channel carries nothing else; what follows begins when the last has ended.
    pub(super) booked: VecDeque<Booked>,
    pub(super) reads_in_a_row: u32,
    pub(super) busy_ns: u64,
}

/// A load of a die that ends before the die can use it.
#[derive(Clone, Copy)]
pub(super) struct Booked {
    pub(super) die: u32,
    pub(super) started_ns: u64,
    pub(super) until_ns: u64,
}

impl Channel {
    /// Returns whether reads that are not sensed yet have their places already.
    #[inline]
    pub(super) fn has_foreseen(&self) -> bool {
        self.background.is_empty()
            && (!self.ahead.is_empty() || matches!(self.carrying, Carrying::Read(_)))
    }

    pub(super) fn new() -> Self {
        Self {
            carrying: Carrying::Nothing,
            started_ns: 0,
            until_ns: 0,
            reads: VecDeque::with_capacity(64),
            ahead: VecDeque::with_capacity(64),
            sensing: 0,
            background: VecDeque::with_capacity(64),
            booked: VecDeque::with_capacity(8),
            reads_in_a_row: 0,
            busy_ns: 0,
        }
    }
}
