//! Puts I/Os into the order of their issue. Most traces are nearly in order: a window of them is held back, and each
//! newcomer takes its place from the end.

use std::collections::VecDeque;

use crate::Io;

/// I/Os that are held back.
const WINDOW: usize = 1 << 16;

/// The window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    held: VecDeque<Io>,
    given_ns: u64,
    /// I/Os that came too late for their place.
    pub(crate) late: u64,
}

impl Order {
    /// Takes an I/O and returns the earliest of those held, once the window is full.
    #[inline]
    pub(crate) fn push(&mut self, io: Io) -> Option<Io> {
        match self.held.back() {
            Some(last) if last.issue_ns > io.issue_ns => {
                let place = self
                    .held
                    .partition_point(|held| held.issue_ns <= io.issue_ns);
                self.held.insert(place, io);
            }
            _ => self.held.push_back(io),
        }
        if self.held.len() > WINDOW {
            self.pop()
        } else {
            None
        }
    }

    /// Returns the earliest I/O that is held.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Io> {
        let io = self.held.pop_front()?;
        if io.issue_ns < self.given_ns {
            self.late += 1;
        }
        self.given_ns = self.given_ns.max(io.issue_ns);
        Some(io)
    }
}
