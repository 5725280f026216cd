//! Makes I/Os of events: a request is queued, issued and completed at different times and in different lines. I/Os come
//! out in the order of their issue, each as soon as it and all before it are complete.

use std::collections::VecDeque;

use crate::{
    Flags, Io, Operation,
    hash::{Map, mix},
};

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The block layer got it.
    Queue,
    /// The device got it.
    Issue,
    /// It is done.
    Complete,
}

/// One event of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) step: Step,
    pub(crate) time_ns: u64,
    pub(crate) offset_bytes: u64,
    pub(crate) size_bytes: u64,
    pub(crate) op: Operation,
    pub(crate) flags: Flags,
    pub(crate) device: u32,
    pub(crate) process: Option<u32>,
}

impl Event {
    /// A request keeps its device, place and operation until it completes.
    fn key(&self) -> u64 {
        let own = u64::from(self.device) << 2 | self.op as u64;
        mix(self.offset_bytes) ^ own.rotate_left(40)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Queued,
    Issued,
    Done,
    /// Another event of the same request stands for it.
    Replaced,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    io: Io,
    key: u64,
    state: State,
}

/// Requests that wait for their completion. One whose completion never comes holds up this many others at most.
const MOST_OPEN: usize = 1 << 20;

/// Requests in the order of their first event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairing {
    slots: VecDeque<Slot>,
    /// Number of the first slot.
    first: u64,
    open: Map<u64>,
    /// Devices whose trace has issues: a queued request without one never reached the device as itself.
    issues: Map<()>,
    /// I/Os without a completion, and completions without an I/O.
    pub(crate) unfinished: u64,
    pub(crate) unknown: u64,
}

impl Pairing {
    /// Takes an event.
    pub(crate) fn push(&mut self, event: &Event) {
        match event.step {
            Step::Queue => self.begin(event, State::Queued, event.process),
            Step::Issue => {
                self.issues.insert(u64::from(event.device), ());
                let queued = self.replace(event.key());
                self.begin(event, State::Issued, queued.or(event.process));
            }
            Step::Complete => self.complete(event),
        }
    }

    fn begin(&mut self, event: &Event, state: State, process: Option<u32>) {
        let key = event.key();
        if state == State::Queued {
            self.replace(key);
        }
        self.open.insert(key, self.first + self.slots.len() as u64);
        let io = Io {
            issue_ns: event.time_ns,
            latency_ns: None,
            offset_bytes: event.offset_bytes,
            size_bytes: event.size_bytes,
            op: event.op,
            flags: event.flags,
            device: event.device,
            process,
        };
        self.slots.push_back(Slot { io, key, state });
    }

    /// Lets the open request of a key stand no longer for itself, and returns its process.
    fn replace(&mut self, key: u64) -> Option<u32> {
        let number = self.open.remove(&key)?;
        let slot = &mut self.slots[(number - self.first) as usize];
        let queued = slot.state == State::Queued;
        slot.state = State::Replaced;
        slot.io.process.filter(|_| queued)
    }

    fn complete(&mut self, event: &Event) {
        let Some(number) = self.open.remove(&event.key()) else {
            self.unknown += 1;
            return;
        };
        let slot = &mut self.slots[(number - self.first) as usize];
        slot.io.latency_ns = event.time_ns.checked_sub(slot.io.issue_ns);
        slot.state = State::Done;
    }

    /// Returns the next I/O, if all before it are complete.
    pub(crate) fn pop(&mut self) -> Option<Io> {
        self.next(false)
    }

    /// Returns the next I/O at the end of the trace, complete or not.
    pub(crate) fn pop_rest(&mut self) -> Option<Io> {
        self.next(true)
    }

    fn next(&mut self, all: bool) -> Option<Io> {
        loop {
            let front = *self.slots.front()?;
            let passed_by = front.state == State::Queued
                && self.issues.contains_key(&u64::from(front.io.device));
            let waits = matches!(front.state, State::Queued | State::Issued);
            if waits && !passed_by && !all && self.slots.len() <= MOST_OPEN {
                return None;
            }
            if waits {
                self.open.remove(&front.key);
            }
            self.slots.pop_front();
            self.first += 1;
            if front.state == State::Replaced || passed_by {
                continue;
            }
            self.unfinished += u64::from(waits);
            return Some(front.io);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(step: Step, time_ns: u64, offset_bytes: u64) -> Event {
        Event {
            step,
            time_ns,
            offset_bytes,
            size_bytes: 4096,
            op: Operation::Write,
            flags: Flags::default(),
            device: 0,
            process: (step == Step::Queue).then_some(7),
        }
    }

    /// Issue, latency and process of an I/O.
    type Seen = (u64, Option<u64>, Option<u32>);

    fn all(events: &[Event]) -> (Vec<Seen>, Pairing) {
        let mut pairing = Pairing::default();
        let mut ios = Vec::new();
        for event in events {
            pairing.push(event);
            ios.extend(std::iter::from_fn(|| pairing.pop()));
        }
        ios.extend(std::iter::from_fn(|| pairing.pop_rest()));
        let seen = ios
            .iter()
            .map(|io| (io.issue_ns, io.latency_ns, io.process));
        (seen.collect(), pairing)
    }

    #[test]
    fn an_issue_stands_for_its_queueing_and_keeps_who_queued_it() {
        use Step::{Complete, Issue, Queue};
        let (ios, _) = all(&[
            event(Queue, 10, 0),
            event(Queue, 11, 4096),
            event(Issue, 20, 0),
            event(Complete, 50, 0),
        ]);
        // The second was merged into the first: it was never issued.
        assert_eq!(ios, [(20, Some(30), Some(7))]);
    }

    #[test]
    fn a_device_without_issues_counts_from_the_queueing() {
        use Step::{Complete, Queue};
        let (ios, _) = all(&[event(Queue, 10, 0), event(Complete, 50, 0)]);
        assert_eq!(ios, [(10, Some(40), Some(7))]);
    }

    #[test]
    fn ios_come_in_the_order_of_their_issue_and_the_unfinished_are_counted() {
        use Step::{Complete, Issue};
        let (ios, pairing) = all(&[
            event(Issue, 1, 0),
            event(Issue, 2, 4096),
            event(Issue, 3, 8192),
            event(Complete, 4, 8192),
            event(Complete, 5, 0),
            event(Complete, 6, 1 << 20),
        ]);
        assert_eq!(
            ios,
            [(1, Some(4), None), (2, None, None), (3, Some(1), None)]
        );
        assert_eq!((pairing.unfinished, pairing.unknown), (1, 1));
    }
}
