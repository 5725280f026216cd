//! Data that describe themselves, as a layer over a [`Protocol`]. Every 512 bytes of a write carry their place, the
//! seed, the generation of the pass that wrote them, and a checksum. Every read is checked, and each kind of error is
//! counted by itself. A sector depends only on its place and its pass, so writes that overlap in flight do no harm.
//! Nothing has to be remembered: a later pass, or one after a crash, needs the job alone. With a journal each sector
//! carries the number of its write too, and acknowledged writes go into the [`crate::write_journal`].

use io_uring::squeue::{PushError, SubmissionQueue};
use recording::Remark;
use workload::{Job, Op, Request, Verify};

use crate::{
    buffers::Buffers,
    gate::RunClock,
    protocol::Protocol,
    sector::{Accepted, Finding, KINDS, Verdict, judge, seal},
    write_journal::{Record, WriteJournal},
};

/// Result of an I/O that brought other data than were written.
pub(crate) const MISMATCH: i32 = -libc::EILSEQ;

/// Blocks that are reported one by one.
const REPORTED_MAX: usize = 4;

#[derive(Clone, Copy)]
struct Flight {
    offset_bytes: u64,
    size_bytes: u32,
    op: Op,
    /// The number of a write that a journal notes, else 0.
    number: u64,
    issued_ns: u64,
}

/// Seals what is written and checks what is read through the protocol below.
pub(crate) struct Checked<P> {
    below: P,
    thread: usize,
    expected: Verify,
    accepted: Accepted,
    flights: Box<[Flight]>,
    checked: u64,
    found: [u64; KINDS.len()],
    reported: Vec<String>,
    clock: RunClock,
    journal: Option<WriteJournal>,
}

impl<P> Checked<P> {
    /// Over `below`, for a job that has `content.verify`, with what its reads may find.
    pub(crate) fn new(
        below: P,
        job: &Job,
        accepted: Accepted,
        thread: usize,
        clock: RunClock,
        journal: Option<WriteJournal>,
    ) -> Self {
        let idle = Flight {
            offset_bytes: 0,
            size_bytes: 0,
            op: Op::Flush,
            number: 0,
            issued_ns: 0,
        };
        Self {
            below,
            thread,
            expected: job.content.verify.unwrap_or(Verify {
                generation: 1,
                seed: 0,
            }),
            accepted,
            flights: vec![idle; job.load.iodepth() as usize].into(),
            checked: 0,
            found: [0; KINDS.len()],
            reported: Vec::new(),
            clock,
            journal,
        }
    }

    /// Notes a write or flush that has succeeded.
    fn acknowledge(&mut self, flight: Flight) {
        if let Some(journal) = &mut self.journal {
            journal.note(Record {
                offset_bytes: flight.offset_bytes,
                number: flight.number,
                issued_ns: flight.issued_ns,
                acked_ns: self.clock.now_ns(),
                size_bytes: flight.size_bytes,
            });
        }
    }

    #[cold]
    fn report(&mut self, flight: Flight, verdict: Verdict, kind: usize, place: u64) {
        self.found[kind] += 1;
        if self.reported.len() >= REPORTED_MAX {
            return;
        }
        let detail = match verdict {
            Verdict::Bad(Finding::Stale(generation) | Finding::Ahead(generation)) => {
                format!(
                    "holds generation {generation}, not {}",
                    self.expected.generation
                )
            }
            Verdict::Bad(Finding::Misdirected(other)) => format!("belongs at {other}"),
            _ => format!(
                "is not generation {} of this place",
                self.expected.generation
            ),
        };
        self.reported.push(format!(
            "verify: the block of {} bytes at {} is {}: the sector at {place} {detail}",
            flight.size_bytes, flight.offset_bytes, KINDS[kind]
        ));
    }
}

impl<P: Protocol> Protocol for Checked<P> {
    type Entry = P::Entry;
    type Completion = P::Completion;

    #[inline(always)]
    fn queue(
        &mut self,
        request: &mut Request,
        slot: u16,
        buffers: &mut Buffers,
        into: &mut SubmissionQueue<'_, P::Entry>,
    ) -> Result<(), PushError> {
        let queued = self.below.queue(request, slot, buffers, into);
        let index = usize::from(slot);
        let mut flight = Flight {
            offset_bytes: request.offset_bytes,
            size_bytes: request.size_bytes,
            op: request.op,
            number: 0,
            issued_ns: 0,
        };
        let mut signature = None;
        if let Some(journal) = &mut self.journal {
            flight.issued_ns = self.clock.now_ns();
            if request.op == Op::Write {
                let signed = journal.sign();
                flight.number = signed[0];
                signature = Some(signed);
            }
        }
        if request.op == Op::Write {
            let data = buffers.data_to_write(index, request.size_bytes);
            seal(data, request.offset_bytes, self.expected, signature);
        }
        self.flights[index] = flight;
        queued
    }

    #[inline(always)]
    fn success(&self, request: &Request) -> i32 {
        self.below.success(request)
    }

    #[inline(always)]
    fn error(&self, slot: u16, result: i32) -> i32 {
        self.below.error(slot, result)
    }

    fn settle(&mut self, slot: u16, succeeded: bool, buffers: &Buffers) -> bool {
        let flight = self.flights[usize::from(slot)];
        if !self.below.settle(slot, succeeded, buffers) || !succeeded {
            return false;
        }
        if flight.op != Op::Read {
            self.acknowledge(flight);
            return true;
        }
        self.checked += 1;
        let data = buffers.data_read(usize::from(slot), flight.size_bytes);
        let (verdict, place) = judge(data, flight.offset_bytes, self.expected, self.accepted);
        let Some(kind) = verdict.kind() else {
            return true;
        };
        self.report(flight, verdict, kind, place);
        false
    }

    /// Writes that no journal holds are of no use to whoever looks for them after a crash.
    #[inline(always)]
    fn is_over(&self) -> bool {
        self.journal.as_ref().is_some_and(WriteJournal::is_broken)
    }

    fn fault(&mut self) -> Option<String> {
        self.journal.as_mut().and_then(WriteJournal::fault)
    }

    fn remarks(&mut self) -> Vec<Remark> {
        self.below.remarks()
    }

    fn notes(&mut self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.reported);
        let bad: u64 = self.found.iter().sum();
        if self.checked > 0 {
            let kinds = KINDS.iter().zip(self.found).filter(|(_, n)| *n > 0);
            let kinds: String = kinds.map(|(kind, n)| format!(", {n} {kind}")).collect();
            let (thread, checked) = (self.thread, self.checked);
            notes.push(format!(
                "verify: thread {thread}: {checked} blocks read, {bad} wrong{kinds}"
            ));
        }
        notes.extend(
            self.journal
                .as_mut()
                .into_iter()
                .flat_map(WriteJournal::finish),
        );
        notes.extend(self.below.notes());
        notes
    }
}
