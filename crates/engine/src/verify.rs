//! Data that describe themselves, as a layer over a [`Protocol`]. Every 512 bytes of a write carry their place, the
//! seed, the generation of the pass that wrote them, and a checksum. Every read is checked, and each kind of error is
//! counted by itself. A sector depends only on its place and its pass, so writes that overlap in flight do no harm.
//! Nothing has to be remembered: a later pass, or one after a crash, needs the job alone. With a journal each sector
//! carries the number of its write too, and acknowledged writes go into the [`crate::write_journal`].

use std::mem::discriminant;

use io_uring::squeue::{PushError, SubmissionQueue};
use recording::Remark;
use workload::{Job, Op, Request, Verify};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    buffers::Buffers,
    clock::Clock,
    protocol::Protocol,
    write_journal::{Record, WriteJournal},
};

/// Result of an I/O that brought other data than were written.
pub(crate) const MISMATCH: i32 = -libc::EILSEQ;

/// Every device writes at least this much or nothing of it.
pub(crate) const SECTOR_BYTES: usize = 512;
/// Words at a sector's start: magic, place, seed, generation. The checksum is its last word.
const HEADER_WORDS: usize = 4;
/// Behind them, with a journal: the number of the write, and the journal that it is in.
const SIGNATURE_AT: usize = HEADER_WORDS * 8;
const CHECKSUM_AT: usize = SECTOR_BYTES - 8;
const MAGIC: u64 = u64::from_le_bytes(*b"fathom\0\x01");
/// Blocks that are reported one by one.
const TOLD: usize = 4;

/// What a sector turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Finding {
    /// What was expected.
    Good,
    /// Zeroes.
    Unwritten,
    /// Right but of an earlier pass: a later write was lost.
    Stale(u32),
    /// Right but of a pass that is yet to come.
    Ahead(u32),
    /// Of this seed, whole, and of another place.
    Misdirected(u64),
    /// Of another seed, or no data of this kind at all.
    Foreign,
    /// Of this kind, with a wrong checksum.
    Corrupt,
    /// The device gives an error instead.
    Unreadable,
}

/// What a block turned out to be, its sectors together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    /// All, or the worst, of its sectors.
    Bad(Finding),
    /// Whole sectors of several passes: a write that was done in part.
    Torn,
}

pub(crate) const KINDS: [&str; 8] = [
    "unwritten",
    "stale",
    "of a later generation",
    "misdirected",
    "foreign",
    "corrupt",
    "torn",
    "unreadable",
];

impl Verdict {
    pub(crate) fn kind(self) -> Option<usize> {
        match self {
            Verdict::Good | Verdict::Bad(Finding::Good) => None,
            Verdict::Bad(Finding::Unwritten) => Some(0),
            Verdict::Bad(Finding::Stale(_)) => Some(1),
            Verdict::Bad(Finding::Ahead(_)) => Some(2),
            Verdict::Bad(Finding::Misdirected(_)) => Some(3),
            Verdict::Bad(Finding::Foreign) => Some(4),
            Verdict::Bad(Finding::Corrupt) => Some(5),
            Verdict::Torn => Some(6),
            Verdict::Bad(Finding::Unreadable) => Some(7),
        }
    }
}

fn word(sector: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&sector[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// Returns the number of the write that a sector is of, and the journal that it is in; only with a journal.
pub(crate) fn signature(sector: &[u8]) -> [u64; 2] {
    [word(sector, SIGNATURE_AT), word(sector, SIGNATURE_AT + 8)]
}

/// Makes a block describe itself.
pub(crate) fn seal(
    data: &mut [u8],
    offset_bytes: u64,
    expected: Verify,
    signature: Option<[u64; 2]>,
) {
    let places = (offset_bytes..).step_by(SECTOR_BYTES);
    for (sector, place) in data.chunks_exact_mut(SECTOR_BYTES).zip(places) {
        let header: [u64; HEADER_WORDS] =
            [MAGIC, place, expected.seed, u64::from(expected.generation)];
        let words = header.into_iter().chain(signature.into_iter().flatten());
        for (bytes, value) in sector.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        let checksum = xxh3_64(&sector[..CHECKSUM_AT]);
        sector[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// Returns whether a sector is whole and describes itself, whatever its place, seed and generation.
pub(crate) fn is_sealed(sector: &[u8]) -> bool {
    word(sector, 0) == MAGIC && word(sector, CHECKSUM_AT) == xxh3_64(&sector[..CHECKSUM_AT])
}

/// `latest_only`: data of earlier generations are wrong.
pub(crate) fn find(sector: &[u8], place: u64, expected: Verify, latest_only: bool) -> Finding {
    if word(sector, 0) != MAGIC {
        return match sector.iter().all(|&byte| byte == 0) {
            true => Finding::Unwritten,
            false => Finding::Foreign,
        };
    }
    if word(sector, CHECKSUM_AT) != xxh3_64(&sector[..CHECKSUM_AT]) {
        return Finding::Corrupt;
    }
    let generation = word(sector, 24) as u32;
    match word(sector, 8) {
        _ if word(sector, 16) != expected.seed => Finding::Foreign,
        other if other != place => Finding::Misdirected(other),
        _ if generation > expected.generation => Finding::Ahead(generation),
        _ if generation < expected.generation && latest_only => Finding::Stale(generation),
        _ => Finding::Good,
    }
}

/// Returns the verdict on a block, and the place of the first sector that is not as expected.
fn judge(data: &[u8], offset_bytes: u64, expected: Verify, latest_only: bool) -> (Verdict, u64) {
    let places = (offset_bytes..).step_by(SECTOR_BYTES);
    let sectors = data.chunks_exact(SECTOR_BYTES).zip(places);
    let found = |(sector, place)| (find(sector, place, expected, latest_only), place);
    combine(sectors.map(found), offset_bytes)
}

/// Returns the verdict on sectors that belong together.
pub(crate) fn combine(
    findings: impl Iterator<Item = (Finding, u64)> + Clone,
    offset_bytes: u64,
) -> (Verdict, u64) {
    let mut bad = findings
        .clone()
        .filter(|(finding, _)| *finding != Finding::Good);
    let Some((first, place)) = bad.next() else {
        return (Verdict::Good, offset_bytes);
    };
    let worst = findings
        .clone()
        .map(|(finding, _)| finding)
        .max()
        .unwrap_or(first);
    let mixed = findings.clone().any(|(finding, _)| finding != worst);
    let whole = matches!(
        worst,
        Finding::Unwritten | Finding::Stale(_) | Finding::Ahead(_)
    );
    if mixed && whole {
        return (Verdict::Torn, place);
    }
    let alike = |finding: &Finding| discriminant(finding) == discriminant(&worst);
    let (shown, place) = findings
        .into_iter()
        .find(|(finding, _)| alike(finding))
        .unwrap_or((worst, place));
    (Verdict::Bad(shown), place)
}

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
    latest_only: bool,
    flights: Box<[Flight]>,
    checked: u64,
    found: [u64; KINDS.len()],
    told: Vec<String>,
    clock: Clock,
    journal: Option<WriteJournal>,
}

impl<P> Checked<P> {
    /// Over `below`, for a job that has `content.verify`. While a job writes, its reads may find what it has
    /// not overwritten yet, so only jobs that write nothing report stale blocks.
    pub(crate) fn new(
        below: P,
        job: &Job,
        thread: usize,
        clock: Clock,
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
            latest_only: !job.mix.ops.iter().any(|block| block.op.is_destructive()),
            flights: vec![idle; job.load.iodepth() as usize].into(),
            checked: 0,
            found: [0; KINDS.len()],
            told: Vec::new(),
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
    fn tell(&mut self, flight: Flight, verdict: Verdict, kind: usize, place: u64) {
        self.found[kind] += 1;
        if self.told.len() >= TOLD {
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
        self.told.push(format!(
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
    fn outcome(completion: &P::Completion) -> (u64, i32) {
        P::outcome(completion)
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
        let (verdict, place) = judge(data, flight.offset_bytes, self.expected, self.latest_only);
        let Some(kind) = verdict.kind() else {
            return true;
        };
        self.tell(flight, verdict, kind, place);
        false
    }

    fn remarks(&mut self) -> Vec<Remark> {
        self.below.remarks()
    }

    fn notes(&mut self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.told);
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
