//! The event queue. Events come out in time order. At the same time, those of one kind come in the order they went in,
//! those of several kinds always in the same order.
//!
//! Most kinds of event follow their cause after a fixed time, or come from a server that takes one after the other.
//! They are pushed in order, and wait in a ring of their kind. What does not fit behind its ring tries four that all
//! kinds share. Else it goes to a calendar of 256 ns buckets over a horizon of 4.2 ms, with a heap for what lies
//! beyond. There is one alarm besides, which can be moved. The earliest event is the least of the alarm and the first
//! events of the rings and the calendar, found without a branch. The kinds' own are compared each time; for the others,
//! only the least is compared, which is kept. Nothing is allocated once rings and calendar have grown.
//!
//! A bucket is a sorted list, a bitmap finds the next one that is not empty. Narrower buckets would save a step in a list
//! and cost a cache miss: time runs through the whole ring.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::sim::event::INDEX_BITS;

/// The alarm, rings, and last the calendar. What did not fit behind a ring found a later event there, which is still
/// there when the time comes. So at equal times nothing of its kind passes it if the places further on come later.
const PLACES: usize = 13;
const PLACE_BITS: u32 = 4;
/// The alarm's place, before all others at equal times.
const ALARM: usize = 0;
/// The first of the places that are no kind's own. Kind `k` has the place `k + 1`.
const SHARED: usize = 8;
const CALENDAR: usize = PLACES - 1;
/// The end of time: 36 years.
const END_NS: u64 = (1 << (u64::BITS - PLACE_BITS)) - 2;
/// The first of a place that has none, and the time of what will not happen.
pub const NEVER: u64 = u64::MAX;

const WIDTH_BITS: u32 = 8;
const RING_BITS: u32 = 14;
const RING: u64 = 1 << RING_BITS;
const NIL: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Pending {
    at_ns: u64,
    payload: u32,
}

/// Pending events with a 32-bit payload each, whose top bits are their kind.
#[derive(Clone)]
pub struct Calendar {
    /// The alarm, the first of each kind's own ring, and last the least of the shared ones. Each is a time, with the place
    /// in the low bits.
    firsts: [u64; SHARED + 1],
    /// Likewise the first of each shared place.
    shared: [u64; PLACES - SHARED],
    payloads: [u32; PLACES],
    /// The time of each ring's last event.
    lasts_ns: [u64; CALENDAR],
    /// What follows each ring's first.
    rings: [EventRing; CALENDAR],
    ring: Ring,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            firsts: [NEVER; SHARED + 1],
            shared: [NEVER; PLACES - SHARED],
            payloads: [0; PLACES],
            lasts_ns: [0; CALENDAR],
            rings: std::array::from_fn(|_| EventRing::default()),
            ring: Ring::default(),
        }
    }
}

impl Pending {
    /// As the first of a place.
    #[inline]
    const fn first(self, place: usize) -> u64 {
        self.at_ns << PLACE_BITS | place as u64
    }
}

impl Calendar {
    /// Adds an event. `at_ns` must not lie before the event popped last.
    #[inline]
    pub fn push(&mut self, at_ns: u64, payload: u32) {
        let event = Pending {
            at_ns: at_ns.min(END_NS),
            payload,
        };
        let place = (payload >> INDEX_BITS) as usize + 1;
        if place >= SHARED {
            self.push_shared(event);
        } else if self.firsts[place] == NEVER {
            self.firsts[place] = event.first(place);
            self.payloads[place] = payload;
            self.lasts_ns[place] = event.at_ns;
        } else if !self.follow(place, event) {
            self.push_shared(event);
        }
    }

    /// Sets the only alarm, in the place of the one before. It comes before all else at its time, which must not lie
    /// before the event popped last.
    #[inline]
    pub fn set_alarm(&mut self, at_ns: u64, payload: u32) {
        let event = Pending {
            at_ns: at_ns.min(END_NS),
            payload,
        };
        self.firsts[ALARM] = event.first(ALARM);
        self.payloads[ALARM] = payload;
    }

    /// Takes the alarm back, if there is one.
    #[inline]
    pub fn clear_alarm(&mut self) {
        self.firsts[ALARM] = NEVER;
    }

    /// Adds an event to a ring that has a first, if it fits behind its last.
    #[inline]
    fn follow(&mut self, place: usize, event: Pending) -> bool {
        let fits = event.at_ns >= self.lasts_ns[place];
        if fits {
            self.rings[place].push(event);
            self.lasts_ns[place] = event.at_ns;
        }
        fits
    }

    #[inline(never)]
    fn push_shared(&mut self, event: Pending) {
        for place in SHARED..CALENDAR {
            if self.shared[place - SHARED] == NEVER {
                self.lasts_ns[place] = event.at_ns;
                return self.set_shared(place, event);
            }
            if self.follow(place, event) {
                return;
            }
        }
        self.ring.push(event.at_ns, event.payload);
        if event.at_ns < self.shared[CALENDAR - SHARED] >> PLACE_BITS {
            self.set_shared(CALENDAR, event);
        }
    }

    fn set_shared(&mut self, place: usize, event: Pending) {
        self.shared[place - SHARED] = event.first(place);
        self.payloads[place] = event.payload;
        self.find_least_shared();
    }

    fn find_least_shared(&mut self) {
        self.firsts[SHARED] = self.shared.into_iter().fold(NEVER, u64::min);
    }

    /// Takes the earliest event due at or before `limit_ns` and moves `now_ns` to it; to the limit, where there is one,
    /// when nothing is due.
    #[inline]
    pub fn advance(&mut self, now_ns: &mut u64, limit_ns: u64) -> Option<u32> {
        if let Some((at_ns, payload)) = self.pop(limit_ns) {
            *now_ns = at_ns;
            return Some(payload);
        }
        if limit_ns != u64::MAX {
            *now_ns = (*now_ns).max(limit_ns);
        }
        None
    }

    /// Takes the earliest event if it is due at or before `limit_ns`.
    #[inline]
    fn pop(&mut self, limit_ns: u64) -> Option<(u64, u32)> {
        let least = |a: usize, b: usize| self.firsts[a].min(self.firsts[b]);
        let first = (least(0, 1).min(least(2, 3)))
            .min(least(4, 5).min(least(6, 7)))
            .min(self.firsts[SHARED]);
        let at_ns = first >> PLACE_BITS;
        if at_ns > limit_ns.min(END_NS) {
            return None;
        }
        let place = first as usize % (1 << PLACE_BITS);
        let payload = self.payloads[place];
        if place >= SHARED {
            self.pop_shared(place);
        } else if let Some(next) = self.rings[place].pop() {
            self.firsts[place] = next.first(place);
            self.payloads[place] = next.payload;
        } else {
            self.firsts[place] = NEVER;
        }
        Some((at_ns, payload))
    }

    #[inline(never)]
    fn pop_shared(&mut self, place: usize) {
        let next = if place == CALENDAR {
            self.ring.pop();
            self.ring.first()
        } else {
            self.rings[place].pop()
        };
        match next {
            Some(next) => self.set_shared(place, next),
            None => {
                self.shared[place - SHARED] = NEVER;
                self.find_least_shared();
            }
        }
    }

    /// Returns when the earliest event is due; [`NEVER`] without one.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        match self.firsts.into_iter().fold(NEVER, u64::min) {
            NEVER => NEVER,
            first => first >> PLACE_BITS,
        }
    }

    /// Returns whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.firsts.iter().all(|&first| first == NEVER)
    }
}

/// Events in the order they come out, in a ring whose length is a power of two.
#[derive(Clone)]
struct EventRing {
    events: Box<[Pending]>,
    first: usize,
    count: usize,
}

impl Default for EventRing {
    fn default() -> Self {
        let none = Pending {
            at_ns: 0,
            payload: 0,
        };
        Self {
            events: vec![none; 64].into_boxed_slice(),
            first: 0,
            count: 0,
        }
    }
}

impl EventRing {
    #[inline]
    fn push(&mut self, event: Pending) {
        if self.count == self.events.len() {
            self.grow();
        }
        let end = (self.first + self.count) & (self.events.len() - 1);
        self.events[end] = event;
        self.count += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<Pending> {
        if self.count == 0 {
            return None;
        }
        let event = self.events[self.first];
        self.first = (self.first + 1) & (self.events.len() - 1);
        self.count -= 1;
        Some(event)
    }

    #[cold]
    fn grow(&mut self) {
        self.events.rotate_left(self.first);
        self.first = 0;
        self.events = [&*self.events, &*self.events].concat().into_boxed_slice();
    }
}

#[derive(Clone, Copy)]
struct Node {
    at_ns: u64,
    payload: u32,
    next: u32,
}

/// First and last node of a list; the last is meaningful where there is a first.
#[derive(Clone, Copy)]
struct Bucket {
    head: u32,
    tail: u32,
}

/// The calendar proper: equal times come out in the order they went in.
#[derive(Clone)]
struct Ring {
    buckets: Box<[Bucket]>,
    occupied: Box<[u64]>,
    nodes: Vec<Node>,
    free: u32,
    /// Bucket number (time >> WIDTH_BITS) of the event popped last; nothing pending is earlier.
    cursor: u64,
    in_ring: usize,
    far: BinaryHeap<Reverse<(u64, u64, u32)>>,
    far_sequence: u64,
}

impl Default for Ring {
    fn default() -> Self {
        let empty = Bucket {
            head: NIL,
            tail: NIL,
        };
        Self {
            buckets: vec![empty; RING as usize].into_boxed_slice(),
            occupied: vec![0; (RING / 64) as usize].into_boxed_slice(),
            nodes: Vec::with_capacity(1024),
            free: NIL,
            cursor: 0,
            in_ring: 0,
            far: BinaryHeap::new(),
            far_sequence: 0,
        }
    }
}

impl Ring {
    fn push(&mut self, at_ns: u64, payload: u32) {
        let bucket = at_ns >> WIDTH_BITS;
        debug_assert!(bucket >= self.cursor, "event in the past");
        if bucket >= self.cursor + RING {
            self.far.push(Reverse((at_ns, self.far_sequence, payload)));
            self.far_sequence += 1;
            return;
        }
        let slot = (bucket & (RING - 1)) as usize;
        let Bucket { head, tail } = self.buckets[slot];
        if head == NIL {
            let node = self.node(at_ns, payload, NIL);
            self.buckets[slot] = Bucket {
                head: node,
                tail: node,
            };
            self.occupied[slot >> 6] |= 1 << (slot & 63);
        } else if at_ns >= self.nodes[tail as usize].at_ns {
            let node = self.node(at_ns, payload, NIL);
            self.buckets[slot].tail = node;
            self.nodes[tail as usize].next = node;
        } else if at_ns < self.nodes[head as usize].at_ns {
            self.buckets[slot].head = self.node(at_ns, payload, head);
        } else {
            self.insert(head, at_ns, payload);
        }
        self.in_ring += 1;
    }

    /// Puts an event between two others of its bucket, after those of its own time.
    fn insert(&mut self, head: u32, at_ns: u64, payload: u32) {
        let mut before = head;
        loop {
            let next = self.nodes[before as usize].next;
            if at_ns < self.nodes[next as usize].at_ns {
                let node = self.node(at_ns, payload, next);
                self.nodes[before as usize].next = node;
                return;
            }
            before = next;
        }
    }

    #[inline]
    fn node(&mut self, at_ns: u64, payload: u32, next: u32) -> u32 {
        let node = Node {
            at_ns,
            payload,
            next,
        };
        if self.free == NIL {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        }
    }

    /// Returns the earliest event. At equal times the far one went in first: the horizon only moves on.
    fn first(&self) -> Option<Pending> {
        let far = self
            .far
            .peek()
            .map(|&Reverse((at_ns, _, payload))| Pending { at_ns, payload });
        let Some(slot) = self.seek() else {
            return far;
        };
        let Node { at_ns, payload, .. } = self.nodes[self.buckets[slot].head as usize];
        far.filter(|far| far.at_ns <= at_ns)
            .or(Some(Pending { at_ns, payload }))
    }

    /// Drops the earliest event.
    fn pop(&mut self) {
        let slot = self.seek();
        let near_ns = slot.map_or(u64::MAX, |slot| {
            self.nodes[self.buckets[slot].head as usize].at_ns
        });
        if let Some(&Reverse((at_ns, ..))) = self.far.peek()
            && at_ns <= near_ns
        {
            self.far.pop();
            self.cursor = at_ns >> WIDTH_BITS;
            return;
        }
        let Some(slot) = slot else {
            return;
        };
        let index = self.buckets[slot].head;
        let next = std::mem::replace(&mut self.nodes[index as usize].next, self.free);
        self.free = index;
        self.buckets[slot].head = next;
        if next == NIL {
            self.occupied[slot >> 6] &= !(1 << (slot & 63));
        }
        self.in_ring -= 1;
        self.cursor = near_ns >> WIDTH_BITS;
    }

    /// Returns the slot of the first occupied bucket. Every ring event lies in `[cursor, cursor + RING)`, so
    /// the first occupied slot from the cursor's on, going round once, is the earliest.
    #[inline]
    fn seek(&self) -> Option<usize> {
        if self.in_ring == 0 {
            return None;
        }
        let start = (self.cursor & (RING - 1)) as usize;
        let mut word = start >> 6;
        let mut bits = self.occupied[word] & (u64::MAX << (start & 63));
        while bits == 0 {
            word = (word + 1) & (self.occupied.len() - 1);
            bits = self.occupied[word];
        }
        Some((word << 6) | bits.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list: events of all kinds, near, far and at equal times, pushed while popping.
        #[test]
        fn events_come_out_in_time_order_and_equal_times_of_a_kind_in_push_order(
            delays in proptest::collection::vec((0u64..4, 0u64..12_000_000, 0u32..9), 1..400)
        ) {
            let mut calendar = Calendar::default();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            let mut now_ns = 0;
            for (number, (scale, delay_ns, kind)) in (0u32..).zip(delays) {
                let at_ns = now_ns + [0, delay_ns % 3, delay_ns % 5_000, delay_ns][scale as usize];
                let payload = kind << INDEX_BITS | number;
                calendar.push(at_ns, payload);
                expected.push((at_ns, payload));
                if number % 3 == 0 {
                    now_ns = pop_and_check(&mut calendar, &mut expected);
                }
            }
            while !expected.is_empty() {
                pop_and_check(&mut calendar, &mut expected);
            }
            prop_assert!(calendar.is_empty());
            prop_assert_eq!(calendar.pop(u64::MAX), None);
        }
    }

    #[test]
    fn the_alarm_comes_before_all_else_at_its_time_and_can_be_moved_and_taken_back() {
        let mut calendar = Calendar::default();
        for kind in 0..9 {
            calendar.push(100, kind << INDEX_BITS);
        }
        let alarm = 5;
        calendar.set_alarm(200, alarm);
        calendar.set_alarm(100, alarm);
        assert_eq!(calendar.pop(99), None);
        assert_eq!(calendar.pop(100), Some((100, alarm)));
        calendar.set_alarm(100, alarm);
        calendar.clear_alarm();
        for kind in 0..9 {
            assert_eq!(calendar.pop(100), Some((100, kind << INDEX_BITS)));
        }
        assert!(calendar.is_empty());
    }

    /// Pops one event, which must be the first pushed among those expected of its kind and the earliest time.
    fn pop_and_check(calendar: &mut Calendar, expected: &mut Vec<(u64, u32)>) -> u64 {
        let first_ns = expected
            .iter()
            .map(|event| event.0)
            .min()
            .expect("one is left");
        if first_ns > 0 {
            assert_eq!(calendar.pop(first_ns - 1), None);
        }
        let event = calendar.pop(u64::MAX).expect("one is left");
        assert_eq!(event.0, first_ns);
        let same = |other: &(u64, u32)| {
            other.0 == first_ns && other.1 >> INDEX_BITS == event.1 >> INDEX_BITS
        };
        let at = expected.iter().position(same).expect("it was pushed");
        assert_eq!(expected.remove(at), event);
        first_ns
    }
}
