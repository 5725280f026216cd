//! When reads are complete that end elsewhere, and what becomes of everything else.

use std::{cell::Cell, collections::BTreeSet};

use super::*;

/// What a read brings.
const SIZE_BYTES: u32 = 1 << 20;

/// Completes requests in the order in which they were queued, with the results given, when it is submitted to.
#[derive(Default)]
struct Below {
    queued: VecDeque<u16>,
    results: VecDeque<i32>,
    arrived: VecDeque<(u16, i32)>,
    waited: usize,
}

impl QueuePair for Below {
    fn queue(&mut self, _request: &mut Request, slot: u16) -> io::Result<()> {
        self.queued.push_back(slot);
        Ok(())
    }

    fn send(&mut self) -> io::Result<usize> {
        let results = &mut self.results;
        let arrived = self
            .queued
            .drain(..)
            .map(|slot| (slot, results.pop_front().unwrap_or(0)));
        self.arrived.extend(arrived);
        Ok(self.arrived.len())
    }

    fn submit(&mut self, want: usize) -> io::Result<bool> {
        self.waited += 1;
        Ok(self.send()? >= want)
    }

    fn submit_until(&mut self, _until_ns: u64) -> io::Result<()> {
        self.send().map(drop)
    }

    fn next(&mut self) -> Option<(u16, i32)> {
        self.arrived.pop_front()
    }

    fn settle(&mut self, _slot: u16, _request: &Request, _result: i32) -> Result<(), i32> {
        Ok(())
    }

    fn idle_ns(&self) -> Option<u64> {
        Some(0)
    }

    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Completes a copy when it has been looked at some times.
#[derive(Default)]
struct Copies {
    begun: Vec<(u16, u32)>,
    looks: Cell<usize>,
    looks_needed: usize,
    fails: bool,
}

impl Destination for Copies {
    fn begin(&mut self, slot: u16, size_bytes: u32) -> io::Result<()> {
        self.begun.push((slot, size_bytes));
        self.looks.set(0);
        Ok(())
    }

    fn is_complete(&self, _slot: u16) -> io::Result<bool> {
        if self.fails {
            return Err(io::Error::other("the GPU is gone"));
        }
        self.looks.set(self.looks.get() + 1);
        Ok(self.looks.get() > self.looks_needed)
    }
}

fn queue(results: &[i32], copies: Copies) -> CopyingQueue<Below, Copies> {
    let below = Below {
        results: results.iter().copied().collect(),
        ..Below::default()
    };
    CopyingQueue::new(below, copies, 4, Clock::new())
}

fn request(op: Op) -> Request {
    Request {
        offset_bytes: 0,
        size_bytes: SIZE_BYTES,
        placement: 0,
        op,
    }
}

fn complete(queue: &mut CopyingQueue<Below, Copies>) -> BTreeSet<(u16, i32)> {
    std::iter::from_fn(|| queue.next()).collect()
}

#[test]
fn a_read_is_complete_when_its_copy_is_and_not_when_it_has_arrived() {
    let copies = Copies {
        looks_needed: 2,
        ..Copies::default()
    };
    let mut queue = queue(&[], copies);
    queue.queue(&mut request(Op::Read), 3).expect("room");
    queue.submit_until(0).expect("no error");
    assert_eq!(queue.destination.begun, [(3, SIZE_BYTES)]);
    assert_eq!(queue.next(), None);
    assert_eq!(queue.send().expect("no error"), 1, "its data have come");
    queue.submit_until(0).expect("no error");
    assert_eq!(queue.next(), Some((3, 0)));
}

#[test]
fn a_thread_whose_reads_are_all_being_copied_waits_for_the_copies_and_not_for_the_target() {
    let copies = Copies {
        looks_needed: 50,
        ..Copies::default()
    };
    let mut queue = queue(&[], copies);
    for slot in 0..4 {
        queue.queue(&mut request(Op::Read), slot).expect("room");
    }
    assert!(queue.submit(4).expect("no error"), "all are there");
    assert_eq!(queue.below.waited, 0);
    assert_eq!(complete(&mut queue).len(), 4);
}

#[test]
fn a_wait_for_copies_that_do_not_end_is_given_up_after_a_tick() {
    let copies = Copies {
        looks_needed: usize::MAX,
        ..Copies::default()
    };
    let mut queue = queue(&[], copies);
    queue.queue(&mut request(Op::Read), 0).expect("room");
    assert!(!queue.submit(1).expect("no error"));
    assert_eq!(complete(&mut queue).len(), 0);
}

#[test]
fn writes_and_reads_that_failed_bring_nothing_to_copy() {
    let mut queue = queue(
        &[SIZE_BYTES as i32, -5, SIZE_BYTES as i32],
        Copies::default(),
    );
    for (slot, op) in [(0, Op::Write), (1, Op::Read), (2, Op::Read)] {
        queue.queue(&mut request(op), slot).expect("room");
    }
    assert!(queue.submit(3).expect("no error"));
    assert_eq!(queue.destination.begun, [(2, SIZE_BYTES)]);
    let all = [(0, SIZE_BYTES as i32), (1, -5), (2, SIZE_BYTES as i32)];
    assert_eq!(complete(&mut queue), BTreeSet::from(all));
}

#[test]
fn a_gpu_that_fails_is_an_error_of_the_pair_and_not_of_a_request() {
    let copies = Copies {
        fails: true,
        ..Copies::default()
    };
    let mut queue = queue(&[], copies);
    queue.queue(&mut request(Op::Read), 0).expect("room");
    let error = queue.submit(1).expect_err("a failed copy");
    assert_eq!(error.to_string(), "the GPU is gone");
}
