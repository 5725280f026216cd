//! Positions that several operations, or several threads, follow on from. Threads that share positions move them by
//! compare-and-swap: each place is given to one request, in the order in which the threads ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Op, OperationPositions, Pattern, Position};

/// One position for each operation; operations that follow each other use the same one.
#[derive(Clone, Debug)]
pub(super) enum Cursors {
    /// One thread has them to itself.
    Own([u64; Op::COUNT]),
    /// All threads of a job or stream share them.
    Shared(SharedCursors),
}

/// A handle of positions that begin at the region's start. On cache lines of their own, for every thread writes them.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedCursors(Arc<SharedPositions>);

#[derive(Debug, Default)]
#[repr(align(128))]
struct SharedPositions([AtomicU64; Op::COUNT]);

impl Cursors {
    /// Moves cursor `which`, wherever it is now, by `advance`, which returns the place that it passes over.
    #[inline(always)]
    pub(super) fn advance(&mut self, which: usize, advance: impl Fn(&mut u64) -> u64) -> u64 {
        match self {
            Self::Own(cursors_bytes) => advance(&mut cursors_bytes[which]),
            Self::Shared(SharedCursors(positions)) => {
                // Nothing else is read by way of the position, so no other memory need be in order with it.
                let cursor = &positions.0[which];
                let mut seen_bytes = cursor.load(Ordering::Relaxed);
                loop {
                    let mut moved_bytes = seen_bytes;
                    let at_bytes = advance(&mut moved_bytes);
                    let swapped = cursor.compare_exchange_weak(
                        seen_bytes,
                        moved_bytes,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    match swapped {
                        Ok(_) => return at_bytes,
                        Err(now_bytes) => seen_bytes = now_bytes,
                    }
                }
            }
        }
    }
}

/// Returns which cursor `op` uses.
pub(super) fn cursor_of(position: &Position, pattern: &Pattern, op: Op) -> usize {
    match (position.operations, pattern) {
        (Some(OperationPositions::Apart), _) => op as usize,
        (None, Pattern::Mixed { .. }) => usize::from(op != Op::Read),
        _ => 0,
    }
}
