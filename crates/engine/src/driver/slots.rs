//! The requests in flight, each in a slot, and the slots that are free.

use std::mem;

use workload::{Op, Request};

/// One I/O in flight.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub(super) issued_ns: u64,
    pub(super) arrival_ns: u64,
    /// As it was queued.
    pub(super) request: Request,
}

// Half a cache line: two slots share one, none straddles two.
const _: () = assert!(mem::size_of::<Slot>() == 32);

const IDLE: Slot = Slot {
    issued_ns: 0,
    arrival_ns: 0,
    request: Request {
        offset_bytes: 0,
        size_bytes: 0,
        placement: 0,
        op: Op::Read,
    },
};

/// The slots of a thread, by their index.
pub(super) struct Slots {
    slots: Box<[Slot]>,
    /// Free slots, a stack of `free_len`. What lies above was handed out last.
    free: Box<[u16]>,
    free_len: usize,
}

impl Slots {
    /// Returns `iodepth` slots, all free.
    pub(super) fn new(iodepth: u16) -> Self {
        Self {
            slots: vec![IDLE; usize::from(iodepth)].into(),
            free: (0..iodepth).rev().collect(),
            free_len: usize::from(iodepth),
        }
    }

    /// Returns how many there are, free or not.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns how many are free.
    #[inline(always)]
    pub(super) fn free(&self) -> usize {
        self.free_len
    }

    #[inline(always)]
    pub(super) fn in_flight(&self) -> usize {
        self.slots.len() - self.free_len
    }

    /// Returns the slot that is handed out next. At least one must be free.
    #[inline(always)]
    pub(super) fn next_free(&self) -> u16 {
        self.free[self.free_len - 1]
    }

    /// Hands out a slot.
    #[inline(always)]
    pub(super) fn take(&mut self) -> u16 {
        self.free_len -= 1;
        self.free[self.free_len]
    }

    /// Notes what is in a slot that was handed out.
    #[inline(always)]
    pub(super) fn fill(&mut self, index: u16, request: Request, arrival_ns: u64) {
        let slot = &mut self.slots[usize::from(index)];
        slot.arrival_ns = arrival_ns;
        slot.request = request;
    }

    /// Takes a slot back. It keeps its content until it is handed out again.
    #[inline(always)]
    pub(super) fn free_up(&mut self, index: u16) {
        self.free[self.free_len] = index;
        self.free_len += 1;
    }

    /// Returns a slot's content.
    #[inline(always)]
    pub(super) fn get(&self, index: u16) -> &Slot {
        &self.slots[usize::from(index)]
    }

    /// Returns the slots that were taken back since `free_before` were free.
    #[inline(always)]
    pub(super) fn freed_since(&self, free_before: usize) -> &[u16] {
        &self.free[free_before..self.free_len]
    }

    /// Stamps the `n` slots handed out last with the time of issue; the operation of the last of them.
    #[inline(always)]
    pub(super) fn stamp(&mut self, n: usize, issued_ns: u64) -> Option<Op> {
        for &index in &self.free[self.free_len..][..n] {
            self.slots[usize::from(index)].issued_ns = issued_ns;
        }
        match n {
            0 => None,
            _ => Some(self.get(self.free[self.free_len]).request.op),
        }
    }

    /// Returns the slots of I/O in flight.
    pub(super) fn busy(&self) -> impl Iterator<Item = &Slot> {
        let mut busy = vec![true; self.slots.len()];
        for &index in &self.free[..self.free_len] {
            busy[usize::from(index)] = false;
        }
        let each = self.slots.iter().zip(busy);
        each.filter(|(_, busy)| *busy).map(|(slot, _)| slot)
    }

    /// Returns the I/O in flight that was issued first.
    pub(super) fn oldest(&self) -> Option<&Slot> {
        self.busy().min_by_key(|slot| slot.issued_ns)
    }

    /// Returns the summed age at `at_ns` of the I/O in flight, ns: of all slots less that of the free ones.
    pub(super) fn age_ns(&self, at_ns: u64) -> u64 {
        let age = |slot: &Slot| at_ns.saturating_sub(slot.issued_ns);
        let all: u64 = self.slots.iter().map(age).sum();
        let free = &self.free[..self.free_len];
        let idle: u64 = free.iter().map(|&index| age(self.get(index))).sum();
        all - idle
    }
}
