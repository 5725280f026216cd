//! After a crash: every write that a journal says was acknowledged is looked for on the target.
//!
//! A sector passes if it carries the latest write to its place that the journal knows, or one of its run that may be
//! later. Such a write overlapped that one in time, or is unknown to the journal. Unknown writes were not acknowledged
//! when the crash came, or acknowledged too late for the journal. Anything else is classified as by reads under verify.
//! Reads through the page cache, which a crash has emptied.
//!
//! Journals are streamed, twice where blocks hold another write than their latest: only then it matters when that one
//! was acknowledged. What is kept in memory grows with the blocks that were written, not with the writes.

mod latest;
mod reading;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::File,
    io::{self, Seek, SeekFrom},
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, FileTypeExt},
    },
    path::{Path, PathBuf},
};

use serde::Serialize;
use workload::Verify;

use self::{
    latest::{Extent, Latest},
    reading::{Journals, refuse},
};
use crate::{
    EngineError,
    sector::{Accepted, Finding, KINDS, SECTOR_BYTES, combine, find, signature},
    write_journal::{Kind, Record},
};

/// Read at once; an error spoils no more.
const PAGE_BYTES: u64 = 4096;
/// Blocks that are reported one by one.
const REPORTED_MAX: usize = 10;

/// What became of the acknowledged writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JournalReport {
    /// The target that was read.
    pub target: PathBuf,
    /// Journal files, one per load thread.
    pub journals: usize,
    /// Acknowledged writes in them.
    pub writes: u64,
    /// Bytes of the journals that are no whole record: appends that the crash interrupted.
    pub torn_bytes: u64,
    /// When the last of the writes was acknowledged, since the start: what came after it is not looked for.
    pub last_acked_ns: u64,
    /// The longest that an acknowledged write or flush waited until it was safe in the journal, as far as the journal
    /// survived.
    pub behind_ns: u64,
    /// Blocks looked for: the latest acknowledged write of each place.
    pub blocks: u64,
    /// Blocks that are not as they must be, by kind; only those that occur.
    pub wrong: BTreeMap<String, u64>,
    /// Wrong blocks that were acknowledged before a flush that was acknowledged too: not even a volatile write
    /// cache excuses them.
    pub wrong_though_flushed: u64,
    /// The first of them by place, one line each.
    pub reported: Vec<String>,
    /// Bytes that the target lacks up to the end of the last write: no drive loses those.
    pub beyond_bytes: u64,
}

/// Looks for every write that the journals of a directory say was acknowledged, on `target` or, without one, on
/// the target that they name. Where they name several, `target` is one of them.
///
/// # Errors
/// No journal, journals that do not belong together, or a target that cannot be read, or is another than theirs.
pub fn verify_journal(
    directory: &Path,
    target: Option<&Path>,
) -> Result<JournalReport, EngineError> {
    let journals = Journals::find(directory, target)?;
    let target = target.unwrap_or(&journals.header.target).to_owned();
    let unread = |source| refuse(&target, source);
    let mut report = JournalReport {
        journals: journals.paths.len(),
        target: target.clone(),
        ..JournalReport::default()
    };
    let file = File::open(&target).map_err(unread)?;
    // SAFETY: a system call on an open descriptor. Only advice: a cached page may hide what the device lost.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    let (latest, flushed_ns) = take_in(&journals, &mut report)?;
    report.beyond_bytes = beyond(&file, &latest).map_err(unread)?;
    if report.beyond_bytes > 0 && !is_same_path(&target, &journals.header.target) {
        let reason = format!(
            "it is of {}, and this target ends {} bytes before its last write: name that target",
            journals.header.target.display(),
            report.beyond_bytes,
        );
        return Err(unread(io::Error::other(reason)));
    }
    let check = Check {
        pages: Pages::new(file),
        expected: Verify {
            generation: journals.header.generation,
            seed: journals.header.seed,
        },
        runs: &journals.runs,
        flushed_ns,
        reported: BTreeMap::new(),
        report,
    };
    check.all(&latest, &journals, unread)
}

/// Returns how many bytes a file or block device lacks up to the end of the last write.
fn beyond(file: &File, latest: &Latest) -> io::Result<u64> {
    let kind = file.metadata()?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return Ok(0);
    }
    let size_bytes = (&mut &*file).seek(SeekFrom::End(0))?;
    let reach_bytes = latest.extents().map(|(_, extent)| extent.end_bytes).max();
    Ok(reach_bytes.unwrap_or(0).saturating_sub(size_bytes))
}

fn is_same_path(one: &Path, other: &Path) -> bool {
    one == other
        || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Counts what the journals hold; the latest writes, and when the last acknowledged flush was issued, over all threads.
fn take_in(journals: &Journals, report: &mut JournalReport) -> Result<(Latest, u64), EngineError> {
    let (mut latest, mut flushed_ns) = (Latest::default(), 0);
    report.torn_bytes = journals.records(|_, record| match record.kind() {
        Kind::Write => {
            report.writes += 1;
            report.last_acked_ns = report.last_acked_ns.max(record.acked_ns);
            latest.note(record);
        }
        Kind::Flush => flushed_ns = flushed_ns.max(record.issued_ns),
        Kind::Synced => {
            let behind_ns = record.acked_ns.saturating_sub(record.issued_ns);
            report.behind_ns = report.behind_ns.max(behind_ns);
        }
    })?;
    Ok((latest, flushed_ns))
}

/// What a sector carries of its write: the number, and the run of the journal that it is in.
type Signature = [u64; 2];

/// A target being compared with its latest writes.
struct Check<'a> {
    pages: Pages,
    expected: Verify,
    runs: &'a HashSet<u64>,
    flushed_ns: u64,
    /// The lines of the first [`REPORTED_MAX`] wrong blocks, by place: verdicts come in another order.
    reported: BTreeMap<u64, String>,
    report: JournalReport,
}

impl Check<'_> {
    /// Judges every extent. One that holds other writes of this run is looked at again when it is known when those were
    /// acknowledged.
    fn all(
        mut self,
        latest: &Latest,
        journals: &Journals,
        unread: impl Fn(io::Error) -> EngineError,
    ) -> Result<JournalReport, EngineError> {
        let mut doubtful = Vec::new();
        let mut others = HashSet::new();
        for (start_bytes, extent) in latest.extents() {
            let mut doubt = false;
            let findings = self.look(start_bytes, extent, |other| {
                others.insert(other);
                doubt = true;
                true
            });
            let findings = findings.map_err(&unread)?;
            match doubt {
                true => doubtful.push(start_bytes),
                false => self.conclude(start_bytes, &extent.write, &findings),
            }
        }
        let acked_ns = match others.is_empty() {
            true => HashMap::new(),
            false => acknowledged(journals, &others)?,
        };
        for start_bytes in doubtful {
            let Some(extent) = latest.at(start_bytes) else {
                continue;
            };
            // What no journal knows may have come later: it was issued, and not acknowledged in time.
            let stands = |other| {
                let acked_ns = acked_ns.get(&other);
                acked_ns.is_none_or(|&acked_ns| acked_ns >= extent.write.issued_ns)
            };
            let findings = self.look(start_bytes, extent, stands).map_err(&unread)?;
            self.conclude(start_bytes, &extent.write, &findings);
        }
        self.report.reported = self.reported.into_values().collect();
        Ok(self.report)
    }

    /// Returns what the sectors of an extent are; `stands` says whether another write of this run may be there.
    fn look(
        &mut self,
        start_bytes: u64,
        extent: &Extent,
        mut stands: impl FnMut(Signature) -> bool,
    ) -> io::Result<Vec<Finding>> {
        let (expected, runs) = (self.expected, self.runs);
        let mut own = |[number, run]: Signature| {
            let latest = number == extent.write.number;
            runs.contains(&run) && (latest || stands([number, run]))
        };
        (start_bytes..extent.end_bytes)
            .step_by(SECTOR_BYTES)
            .map(|place| {
                Ok(match self.pages.sector(place)? {
                    None => Finding::Unreadable,
                    Some(sector) => match find(sector, place, expected, Accepted::default()) {
                        Finding::Good if !own(signature(sector)) => {
                            Finding::Stale(expected.generation)
                        }
                        finding => finding,
                    },
                })
            })
            .collect()
    }

    /// Judges the sectors of an extent together.
    fn conclude(&mut self, start_bytes: u64, write: &Record, findings: &[Finding]) {
        let report = &mut self.report;
        report.blocks += 1;
        let places = (start_bytes..).step_by(SECTOR_BYTES);
        let (verdict, place) = combine(findings.iter().copied().zip(places), start_bytes);
        let Some(kind) = verdict.kind() else { return };
        *report.wrong.entry(KINDS[kind].into()).or_default() += 1;
        let flushed = write.acked_ns <= self.flushed_ns;
        report.wrong_though_flushed += u64::from(flushed);
        let last = self.reported.last_key_value();
        if self.reported.len() < REPORTED_MAX || last.is_some_and(|(&last, _)| start_bytes < last) {
            let line = format!(
                "the write of {} bytes at {}, acknowledged {:.6} s after the start{}, is {}: see the sector at {place}",
                write.size_bytes,
                write.offset_bytes,
                write.acked_ns as f64 / 1e9,
                if flushed { " and flushed" } else { "" },
                KINDS[kind],
            );
            self.reported.insert(start_bytes, line);
        }
        if self.reported.len() > REPORTED_MAX {
            self.reported.pop_last();
        }
    }
}

/// Returns when those of the writes that the journals know were acknowledged.
fn acknowledged(
    journals: &Journals,
    writes: &HashSet<Signature>,
) -> Result<HashMap<Signature, u64>, EngineError> {
    let mut acked_ns = HashMap::new();
    journals.records(|run, record| {
        let own = [record.number, run];
        if record.kind() == Kind::Write && writes.contains(&own) {
            acked_ns.insert(own, record.acked_ns);
        }
    })?;
    Ok(acked_ns)
}

/// A target's pages; the last one read is kept.
struct Pages {
    file: File,
    number: Option<u64>,
    readable: bool,
    data: [u8; PAGE_BYTES as usize],
}

impl Pages {
    fn new(file: File) -> Self {
        Self {
            file,
            number: None,
            readable: false,
            data: [0; PAGE_BYTES as usize],
        }
    }

    /// Returns the sector at a place; `None` where it cannot be read. A sector that lost power while it was written may
    /// give an error until it is written again.
    fn sector(&mut self, place: u64) -> io::Result<Option<&[u8]>> {
        let number = place / PAGE_BYTES;
        if self.number != Some(number) {
            self.readable = read_page(&self.file, &mut self.data, number * PAGE_BYTES)?;
            self.number = Some(number);
        }
        let at = (place % PAGE_BYTES) as usize;
        Ok(self.readable.then(|| &self.data[at..at + SECTOR_BYTES]))
    }
}

/// Reads a page; behind the target's end are zeroes. Whether it can be read.
fn read_page(file: &File, data: &mut [u8], offset_bytes: u64) -> io::Result<bool> {
    data.fill(0);
    let mut done = 0;
    while done < data.len() {
        match file.read_at(&mut data[done..], offset_bytes + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.raw_os_error() == Some(libc::EIO) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
