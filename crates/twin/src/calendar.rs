//! The event queue: a calendar of 256 ns buckets over a horizon of 4.2 ms, with a heap for what lies
//! beyond. Events come out in time order, equal times in the order they went in. Pushing and
//! popping cost a few nanoseconds and allocate nothing once the node pool has grown.
//!
//! Simulated drives hold a few hundred pending events 0.1 to 1 us apart, so a bucket rarely holds more
//! than three; a bucket is a sorted list, a bitmap finds the next one that is not empty. Narrower
//! buckets would save a step in a list and cost a cache miss: time runs through the whole ring.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const WIDTH_BITS: u32 = 8;
const RING_BITS: u32 = 14;
const RING: u64 = 1 << RING_BITS;
const NIL: u32 = u32::MAX;

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

/// Pending events with a 32-bit payload each.
pub struct Calendar {
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

impl Default for Calendar {
    fn default() -> Self {
        Self {
            buckets: vec![
                Bucket {
                    head: NIL,
                    tail: NIL
                };
                RING as usize
            ]
            .into_boxed_slice(),
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

impl Calendar {
    /// Adds an event. `at_ns` must not lie before the event popped last.
    #[inline]
    pub fn push(&mut self, at_ns: u64, payload: u32) {
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
        let slot = self.seek();
        if !self.far.is_empty()
            && let Some(event) = self.pop_far(slot, limit_ns)
        {
            return Some(event);
        }
        let slot = slot?;
        let index = self.buckets[slot].head;
        let Node {
            at_ns,
            payload,
            next,
        } = self.nodes[index as usize];
        if at_ns > limit_ns {
            return None;
        }
        self.buckets[slot].head = next;
        if next == NIL {
            self.occupied[slot >> 6] &= !(1 << (slot & 63));
        }
        self.nodes[index as usize].next = self.free;
        self.free = index;
        self.in_ring -= 1;
        self.cursor = at_ns >> WIDTH_BITS;
        Some((at_ns, payload))
    }

    /// The far event if it comes before everything in the ring.
    #[cold]
    fn pop_far(&mut self, slot: Option<usize>, limit_ns: u64) -> Option<(u64, u32)> {
        let Reverse((at_ns, _, payload)) = *self.far.peek()?;
        let near = slot.map_or(u64::MAX, |s| {
            self.nodes[self.buckets[s].head as usize].at_ns
        });
        if at_ns > near || at_ns > limit_ns {
            return None;
        }
        self.far.pop();
        self.cursor = at_ns >> WIDTH_BITS;
        Some((at_ns, payload))
    }

    /// Slot of the first occupied bucket. Every ring event lies in `[cursor, cursor + RING)`, so
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

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.in_ring == 0 && self.far.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list: near, far and equal times, pushed while popping.
        #[test]
        fn events_come_out_in_time_order_and_equal_times_in_push_order(
            delays in proptest::collection::vec((0u64..4, 0u64..12_000_000), 1..400)
        ) {
            let mut calendar = Calendar::default();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            let mut now_ns = 0;
            for (payload, (scale, delay_ns)) in (0u32..).zip(delays) {
                let at_ns = now_ns + [0, delay_ns % 3, delay_ns % 5_000, delay_ns][scale as usize];
                calendar.push(at_ns, payload);
                expected.push((at_ns, payload));
                if payload % 3 == 0 {
                    expected.sort_by_key(|&(at_ns, payload)| (at_ns, payload));
                    let first = expected.remove(0);
                    if first.0 > 0 {
                        prop_assert_eq!(calendar.pop(first.0 - 1), None);
                    }
                    prop_assert_eq!(calendar.pop(u64::MAX), Some(first));
                    now_ns = first.0;
                }
            }
            expected.sort_by_key(|&(at_ns, payload)| (at_ns, payload));
            for event in expected {
                prop_assert_eq!(calendar.pop(u64::MAX), Some(event));
            }
            prop_assert!(calendar.is_empty());
        }
    }
}
