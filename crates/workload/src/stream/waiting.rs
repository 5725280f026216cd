//! I/Os of a recorded trace that wait for those that they waited for when they were recorded. One is due when the I/O
//! before it has returned and the time that passed between the two has passed again. One that waited for none is due
//! at its recorded time. Allocates only where more I/Os are due than ever before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::row::Row;
use crate::Request;

const NONE: u32 = u32::MAX;

/// A trace whose I/Os wait for others. Each comes once.
#[derive(Clone, Debug)]
pub struct Waiting {
    rows: Arc<[Row]>,
    /// The first I/O that waits for each, and the next one that waits for the same; `NONE`: there is none.
    first: Box<[u32]>,
    next: Box<[u32]>,
    /// When and which, the earliest first.
    due: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Waiting {
    /// `behind` says of each I/O how far before it in the trace that is which it waits for; 0: for none.
    pub(super) fn new(rows: Arc<[Row]>, behind: &[u32]) -> Self {
        let mut first = vec![NONE; rows.len()].into_boxed_slice();
        let mut next = first.clone();
        let mut due = BinaryHeap::new();
        // From the end, so that those that wait for the same stand in the order of the trace.
        for (row, &behind) in behind.iter().enumerate().rev() {
            if behind == 0 {
                due.push(Reverse((rows[row].arrival_ns, row as u32)));
            } else {
                let head = &mut first[row - behind as usize];
                next[row] = *head;
                *head = row as u32;
            }
        }
        Self {
            rows,
            first,
            next,
            due,
        }
    }

    /// Returns when the next I/O is due, ns since the start; `None`: all that are left wait for others.
    #[inline]
    pub fn next_due_ns(&self) -> Option<u64> {
        self.due.peek().map(|&Reverse((due_ns, _))| due_ns)
    }

    /// Returns the I/O that has been due for longest by `now_ns`: its number in the trace, since when, and what it is.
    #[inline]
    pub fn take_due(&mut self, now_ns: u64) -> Option<(u32, u64, Request)> {
        if self.next_due_ns()? > now_ns {
            return None;
        }
        let Reverse((due_ns, row)) = self.due.pop()?;
        Some((row, due_ns, self.rows[row as usize].request))
    }

    /// Notes that an I/O has returned; gives `each` the time at which one that waited for it is due.
    #[inline]
    pub fn returned(&mut self, row: u32, now_ns: u64, mut each: impl FnMut(u64)) {
        let mut waiting = self.first[row as usize];
        while waiting != NONE {
            let due_ns = now_ns.saturating_add(self.rows[waiting as usize].arrival_ns);
            self.due.push(Reverse((due_ns, waiting)));
            each(due_ns);
            waiting = self.next[waiting as usize];
        }
    }

    /// Gives `each` the time of every I/O that is due so far.
    pub fn each_due(&self, mut each: impl FnMut(u64)) {
        for &Reverse((due_ns, _)) in &self.due {
            each(due_ns);
        }
    }
}
