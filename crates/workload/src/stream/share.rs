//! The part of a trace that one of several threads issues. Every thread issues its I/Os in the order of the trace, at
//! their own times. One that conflicts with an I/O of before is held until that one has returned, whoever issued it.
//!
//! The conflicts are found before the step begins. While it runs, an I/O that is held looks at when those returned that it
//! waits for. No lock is taken, and I/Os without conflicts cost a comparison.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::conflicts::Conflicts;
use super::row::Row;
use crate::Op;

/// The mark of an I/O that nothing waits for.
const NONE: u32 = u32::MAX;
/// The time of an I/O that has not returned.
const OUT: u64 = u64::MAX;
/// An I/O goes to the thread of the one that it waits for, where that is at most this far before it. That one may still
/// be out, and a thread knows of its own I/Os first.
const NEAR: usize = 256;
/// That thread may have this many I/Os more than its equal part: a trace full of conflicts is divided too.
const AHEAD: usize = 256;

/// What a thread of several knows of the trace that they share.
#[derive(Clone, Debug)]
pub(super) struct Share {
    /// Its I/Os that wait, in order.
    holds: Arc<[Hold]>,
    /// Marks of what they wait for.
    waits_for: Arc<[u32]>,
    /// Where each of its I/Os notes when it returned; `NONE`: nothing waits for it.
    marks: Arc<[u32]>,
    /// When each has returned, of all threads; `OUT`: it has not.
    returned_ns: Arc<[AtomicU64]>,
    next_hold: usize,
}

/// An I/O that waits.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// Its number among those of its thread.
    row: usize,
    /// Where what it waits for ends in the list. It begins at the end of the hold before.
    end: usize,
}

impl Share {
    /// Returns whether the I/O of that number waits for others that have not returned.
    #[inline(always)]
    pub(super) fn holds(&self, row: usize) -> bool {
        self.waits(row) && self.free_ns() == OUT
    }

    /// Returns when the I/O of that number may be issued at the earliest, after those that it waits for; 0: at any time.
    #[inline(always)]
    pub(super) fn earliest_ns(&self, row: usize) -> u64 {
        if self.waits(row) { self.free_ns() } else { 0 }
    }

    #[inline(always)]
    fn waits(&self, row: usize) -> bool {
        (self.holds.get(self.next_hold)).is_some_and(|hold| hold.row == row)
    }

    /// Returns when the last of those has returned that the next hold waits for.
    fn free_ns(&self) -> u64 {
        let end = |hold: usize| self.holds[hold].end;
        let begin = self.next_hold.checked_sub(1).map_or(0, end);
        let returned_ns = |&mark: &u32| self.returned_ns[mark as usize].load(Ordering::Acquire);
        let all = self.waits_for[begin..end(self.next_hold)].iter();
        all.map(returned_ns).max().unwrap_or_default()
    }

    /// Goes on behind the I/O of that number.
    #[inline(always)]
    pub(super) fn pass(&mut self, row: usize) {
        self.next_hold += usize::from(self.waits(row));
    }

    /// Returns the mark of the I/O of that number, by which [`Share::returned`] knows it.
    #[inline(always)]
    pub(super) fn mark(&self, row: usize) -> u32 {
        self.marks[row]
    }

    /// Notes that an I/O has returned.
    #[inline(always)]
    pub(super) fn returned(&self, mark: u32, at_ns: u64) {
        if mark != NONE {
            self.returned_ns[mark as usize].store(at_ns, Ordering::Release);
        }
    }
}

/// Divides a trace over threads; the I/Os of each and what it knows of the others'.
pub(super) fn shares(rows: &[Row], threads: usize) -> Vec<(Arc<[Row]>, Share)> {
    let mut parts = vec![Parts::default(); threads];
    let mut conflicts = Conflicts::default();
    let mut places: Vec<(u32, u32)> = Vec::with_capacity(rows.len());
    let mut awaited = 0;
    let (mut found, mut last) = (Vec::new(), 0);
    for (number, row) in rows.iter().enumerate() {
        let request = row.request;
        let start = request.offset_bytes;
        let range = (start, start + u64::from(request.size_bytes));
        found.clear();
        conflicts.touch(number as u32, range, request.op != Op::Read, &mut found);
        found.sort_unstable();
        found.dedup();
        let near = found
            .last()
            .filter(|&&other| number - other as usize <= NEAR);
        let thread = near.map(|&other| places[other as usize].0 as usize);
        let thread = match thread.filter(|&of| parts[of].rows.len() <= number / threads + AHEAD) {
            Some(thread) => thread,
            // A flush stays with the I/O before it.
            None if request.op == Op::Flush => last,
            None => number % threads,
        };
        last = thread;
        for &other in &found {
            let (of, at) = places[other as usize];
            let mark = parts[of as usize].mark(at as usize, &mut awaited);
            parts[thread].waits_for.push(mark);
        }
        places.push((thread as u32, parts[thread].rows.len() as u32));
        parts[thread].add(*row, !found.is_empty());
    }
    let returned_ns: Arc<[AtomicU64]> = (0..awaited).map(|_| AtomicU64::new(OUT)).collect();
    let share = |part: Parts| {
        let share = Share {
            holds: part.holds.into(),
            waits_for: part.waits_for.into(),
            marks: part.marks.into(),
            returned_ns: Arc::clone(&returned_ns),
            next_hold: 0,
        };
        (part.rows.into(), share)
    };
    parts.into_iter().map(share).collect()
}

/// What a thread gets, as far as the trace has been divided.
#[derive(Clone, Debug, Default)]
struct Parts {
    rows: Vec<Row>,
    holds: Vec<Hold>,
    waits_for: Vec<u32>,
    marks: Vec<u32>,
}

impl Parts {
    /// Returns the mark of one of its I/Os, the next free one if none waited for it before.
    fn mark(&mut self, at: usize, awaited: &mut u32) -> u32 {
        let mark = &mut self.marks[at];
        if *mark == NONE {
            *mark = *awaited;
            *awaited += 1;
        }
        *mark
    }

    /// Takes an I/O; `is_held`: it waits for all that was added to `waits_for` since the last that did.
    fn add(&mut self, row: Row, is_held: bool) {
        if is_held {
            self.holds.push(Hold {
                row: self.rows.len(),
                end: self.waits_for.len(),
            });
        }
        self.rows.push(row);
        self.marks.push(NONE);
    }
}

#[cfg(test)]
mod tests;
