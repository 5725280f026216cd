//! Makes I/Os of events: a request is queued, issued and completed at different times and in different lines. I/Os come
//! out in the order of their issue, each as soon as it and all before it are complete.

use std::collections::VecDeque;

use crate::{
    Flags, Io, Operation,
    hash::{Map, mix},
};

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The block layer got it.
    Queue,
    /// The device got it.
    Issue,
    /// The device gave it back undone; it is issued again later.
    Requeue,
    /// It is done.
    Complete,
    /// It found no room and may not wait (EAGAIN): whoever asked asks again, which has events of its own.
    Refused,
}

/// Who asked for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asker {
    /// Number of the process's name.
    pub(crate) process: Option<u32>,
    /// Number of the thread.
    pub(crate) pid: Option<u32>,
}

/// One event of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) stage: Stage,
    pub(crate) time_ns: u64,
    pub(crate) offset_bytes: u64,
    pub(crate) size_bytes: u64,
    pub(crate) op: Operation,
    pub(crate) flags: Flags,
    pub(crate) device: u32,
    pub(crate) asker: Asker,
    pub(crate) cpu: Option<u32>,
}

impl Event {
    /// Returns whether this only asks for a flush: a write of nothing, which the kernel completes once the device has
    /// done the flush. That one has events of its own.
    fn only_asks_for_a_flush(&self) -> bool {
        self.op == Operation::Write && self.size_bytes == 0
    }

    /// Returns whether a request begins that moves nothing and asks for no flush. Its completion may have no length: the
    /// kernel counts down what is left of a request.
    pub(crate) fn lacks_size(&self) -> bool {
        let begins = matches!(self.stage, Stage::Queue | Stage::Issue);
        let moves = matches!(self.op, Operation::Read | Operation::Discard);
        begins && moves && self.size_bytes == 0
    }

    /// A request keeps its device, place and operation until it completes. Its size may grow by merges.
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
    /// Number of the next open slot with this key, `NONE` behind the last.
    next: u64,
}

/// The open slots of one key, in the order of their first event.
#[derive(Clone, Copy, Debug)]
struct Chain {
    head: u64,
    tail: u64,
}

/// Requests that wait for their completion. One whose completion never comes holds up this many others at most.
const MOST_OPEN: usize = 1 << 20;
/// Open requests of one place that are looked at for the best match: more than any device has in flight.
const MOST_TRIED: usize = 1 << 10;
/// Queued requests whose asker is kept until their issue.
const MOST_ASKERS: usize = 1 << 16;
const NONE: u64 = u64::MAX;

/// Requests in the order of their first event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairing {
    slots: VecDeque<Slot>,
    /// Number of the first slot.
    first: u64,
    open: Map<Chain>,
    /// Devices whose trace has issues: a queued request without one never reached the device as itself.
    issues: Map<()>,
    /// Who queued requests that left the slots before their issue: the newer and the older half.
    askers: [Map<Asker>; 2],
    /// I/Os without a completion, and completions without an I/O.
    pub(crate) unfinished: u64,
    pub(crate) unknown: u64,
}

impl Pairing {
    /// Takes an event.
    pub(crate) fn push(&mut self, event: &Event) {
        match event.stage {
            Stage::Queue | Stage::Issue if event.only_asks_for_a_flush() => {}
            Stage::Queue => self.begin(event, State::Queued, event.asker),
            Stage::Issue => {
                self.issues.insert(u64::from(event.device), ());
                let asker = self.queued(event).unwrap_or(event.asker);
                self.begin(event, State::Issued, asker);
            }
            Stage::Requeue => {
                let wanted = [(State::Issued, true), (State::Issued, false)];
                if let Some(number) = self.find(event, &wanted) {
                    self.slot(number).state = State::Queued;
                }
            }
            Stage::Complete => self.complete(event),
            Stage::Refused => {
                let wanted = [(State::Queued, true), (State::Queued, false)];
                match self.take(event, &wanted) {
                    Some(number) => self.slot(number).state = State::Replaced,
                    // The device itself may say so, of what it was given.
                    None => self.complete(event),
                }
            }
        }
    }

    fn slot(&mut self, number: u64) -> &mut Slot {
        &mut self.slots[(number - self.first) as usize]
    }

    fn begin(&mut self, event: &Event, state: State, asker: Asker) {
        let key = event.key();
        let number = self.first + self.slots.len() as u64;
        let chain = self.open.entry(key).or_insert(Chain {
            head: number,
            tail: number,
        });
        let last = std::mem::replace(&mut chain.tail, number);
        if last != number {
            self.slot(last).next = number;
        }
        let io = Io {
            issue_ns: event.time_ns,
            latency_ns: None,
            offset_bytes: event.offset_bytes,
            size_bytes: event.size_bytes,
            op: event.op,
            flags: event.flags,
            device: event.device,
            process: asker.process,
            pid: asker.pid,
            cpu: event.cpu,
        };
        self.slots.push_back(Slot {
            io,
            key,
            state,
            next: NONE,
        });
    }

    /// Takes the queued request that an issue stands for, and returns who asked for it.
    fn queued(&mut self, event: &Event) -> Option<Asker> {
        let key = event.key();
        let wanted = [(State::Queued, true), (State::Queued, false)];
        if let Some(number) = self.take(event, &wanted) {
            let slot = self.slot(number);
            slot.state = State::Replaced;
            let (process, pid) = (slot.io.process, slot.io.pid);
            return Some(Asker { process, pid });
        }
        let [newer, older] = &mut self.askers;
        newer.remove(&key).or_else(|| older.remove(&key))
    }

    fn complete(&mut self, event: &Event) {
        let wanted = [
            (State::Issued, true),
            (State::Issued, false),
            (State::Queued, true),
            (State::Queued, false),
        ];
        let Some(number) = self.take(event, &wanted) else {
            self.unknown += u64::from(!event.only_asks_for_a_flush());
            return;
        };
        let slot = self.slot(number);
        slot.io.latency_ns = event.time_ns.checked_sub(slot.io.issue_ns);
        slot.state = State::Done;
    }

    /// Returns the open request at an event's place that is wanted most, the oldest of equals. `wanted` names states, and
    /// whether the size must be the event's.
    fn find(&mut self, event: &Event, wanted: &[(State, bool)]) -> Option<u64> {
        let mut number = self.open.get(&event.key())?.head;
        let mut best = (wanted.len(), NONE);
        for _ in 0..MOST_TRIED {
            if number == NONE || best.0 == 0 {
                break;
            }
            let slot = self.slot(number);
            let own_size = slot.io.size_bytes == event.size_bytes;
            let fits =
                |&(state, sized): &(State, bool)| slot.state == state && (own_size || !sized);
            let rank = wanted.iter().position(fits).unwrap_or(wanted.len());
            if rank < best.0 {
                best = (rank, number);
            }
            number = slot.next;
        }
        (best.1 != NONE).then_some(best.1)
    }

    /// Like `find`; the request is then open no longer.
    fn take(&mut self, event: &Event, wanted: &[(State, bool)]) -> Option<u64> {
        let number = self.find(event, wanted)?;
        self.close(event.key(), number);
        Some(number)
    }

    /// Takes a request out of the chain of its key.
    fn close(&mut self, key: u64, number: u64) {
        let Some(&Chain { head, tail }) = self.open.get(&key) else {
            return;
        };
        let next = self.slot(number).next;
        let mut before = NONE;
        let mut at = head;
        while at != number {
            before = at;
            at = self.slot(at).next;
        }
        if before != NONE {
            self.slot(before).next = next;
        }
        let head = if before == NONE { next } else { head };
        let tail = if tail == number { before } else { tail };
        if head == NONE {
            self.open.remove(&key);
        } else {
            self.open.insert(key, Chain { head, tail });
        }
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
                self.close(front.key, self.first);
            }
            if passed_by {
                self.keep_asker(&front);
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

    /// Keeps who queued a request. Merged ones are never issued, so the oldest are forgotten.
    fn keep_asker(&mut self, slot: &Slot) {
        let (process, pid) = (slot.io.process, slot.io.pid);
        if self.askers[0].len() == MOST_ASKERS {
            self.askers.swap(0, 1);
            self.askers[0].clear();
        }
        self.askers[0].insert(slot.key, Asker { process, pid });
    }
}

#[cfg(test)]
mod tests;
