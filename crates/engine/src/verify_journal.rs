//! After a crash: every write that a journal says was acknowledged is looked for on the target.
//!
//! A sector passes if it carries the latest write to its place that the journal knows, or one of the same run that
//! may have come later: a write that overlapped that one in time, or one that the journal does not know (issued
//! but not acknowledged when the crash came, or acknowledged too late for the journal). Anything else is told apart
//! as reads under verify tell it. Reads through the page cache, which a crash has emptied.

mod reading;

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::FileExt},
    path::{Path, PathBuf},
};

use serde::Serialize;
use workload::Verify;

use self::reading::{Journals, read};
use crate::{
    EngineError,
    verify::{Finding, KINDS, SECTOR_BYTES, combine, find, signature},
};

/// Sectors of one place in the map.
const PLACE_SECTORS: usize = 8;
const PLACE_BYTES: u64 = (PLACE_SECTORS * SECTOR_BYTES) as u64;
/// Blocks that are told one by one.
const TOLD: usize = 10;

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
    /// lived to tell.
    pub behind_ns: u64,
    /// Blocks looked for: the latest acknowledged write of each place.
    pub blocks: u64,
    /// Blocks that are not as they must be, by kind; only those that occur.
    pub wrong: BTreeMap<String, u64>,
    /// Of those, how many were acknowledged before a flush that was acknowledged too: not even a volatile write
    /// cache excuses them.
    pub wrong_though_flushed: u64,
    /// The first of them, one line each.
    pub told: Vec<String>,
}

/// Looks for every write that the journals of a directory say was acknowledged, on `target` or, without one, on
/// the target that they name. Where they name several, `target` is one of them.
///
/// # Errors
/// No journal, journals that do not belong together, or a target that cannot be read.
pub fn verify_journal(
    directory: &Path,
    target: Option<&Path>,
) -> Result<JournalReport, EngineError> {
    let journals = read(directory, target)?;
    let target = target.unwrap_or(&journals.header.target).to_owned();
    let unread = |source| refuse(&target, source);
    let mut report = JournalReport {
        journals: journals.files,
        writes: journals.writes.len() as u64,
        torn_bytes: journals.torn_bytes,
        last_acked_ns: journals
            .writes
            .iter()
            .map(|write| write.acked_ns)
            .max()
            .unwrap_or(0),
        behind_ns: journals.behind_ns,
        target: target.clone(),
        ..JournalReport::default()
    };
    let file = File::open(&target).map_err(unread)?;
    // SAFETY: a system call on an open descriptor. Only advice: a cached page may hide what the device lost.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    check(&file, &journals, &mut report).map_err(unread)?;
    Ok(report)
}

fn refuse(path: &Path, source: io::Error) -> EngineError {
    EngineError::Journal {
        path: path.into(),
        source,
    }
}

fn check(file: &File, journals: &Journals, report: &mut JournalReport) -> io::Result<()> {
    let acked_ns: HashMap<u64, u64> = journals
        .writes
        .iter()
        .map(|write| (write.number, write.acked_ns))
        .collect();
    let expected = Verify {
        generation: journals.header.generation,
        seed: journals.header.seed,
    };
    let mut run = Run::default();
    let mut data = [0; PLACE_BYTES as usize];
    for (place, latest) in journals.latest() {
        let readable = read_place(file, &mut data, place * PLACE_BYTES)?;
        for (index, sector) in data.chunks_exact(SECTOR_BYTES).enumerate() {
            let Some(at) = latest[index].checked_sub(1) else {
                run.end(journals, report);
                continue;
            };
            let write = &journals.writes[at as usize];
            let offset_bytes = place * PLACE_BYTES + (index * SECTOR_BYTES) as u64;
            let later = |[number, run]: [u64; 2]| {
                let acked_ns = acked_ns.get(&number);
                journals.runs.contains(&run)
                    && acked_ns.is_none_or(|&acked_ns| acked_ns >= write.issued_ns)
            };
            let finding = match find(sector, offset_bytes, expected, true) {
                _ if !readable => Finding::Unreadable,
                Finding::Good if !later(signature(sector)) => Finding::Stale(expected.generation),
                finding => finding,
            };
            if run.write != Some(at) || run.end_bytes() != offset_bytes {
                run.end(journals, report);
                run.write = Some(at);
                run.start_bytes = offset_bytes;
            }
            run.findings.push(finding);
        }
    }
    run.end(journals, report);
    Ok(())
}

/// Neighbouring sectors of which the same write is the latest.
#[derive(Default)]
struct Run {
    write: Option<u32>,
    start_bytes: u64,
    findings: Vec<Finding>,
}

impl Run {
    fn end_bytes(&self) -> u64 {
        self.start_bytes + (self.findings.len() * SECTOR_BYTES) as u64
    }

    /// Judges them and starts anew.
    fn end(&mut self, journals: &Journals, report: &mut JournalReport) {
        let Run {
            write,
            start_bytes,
            findings,
        } = std::mem::take(self);
        let Some(at) = write else { return };
        report.blocks += 1;
        let places = (start_bytes..).step_by(SECTOR_BYTES);
        let (verdict, place) = combine(findings.iter().copied().zip(places), start_bytes);
        let Some(kind) = verdict.kind() else { return };
        let write = &journals.writes[at as usize];
        *report.wrong.entry(KINDS[kind].into()).or_default() += 1;
        let flushed = write.acked_ns <= journals.flushed_ns;
        report.wrong_though_flushed += u64::from(flushed);
        if report.told.len() < TOLD {
            report.told.push(format!(
                "the write of {} bytes at {}, acknowledged {:.6} s after the start{}, is {}: see the sector at {place}",
                write.size_bytes,
                write.offset_bytes,
                write.acked_ns as f64 / 1e9,
                if flushed { " and flushed" } else { "" },
                KINDS[kind],
            ));
        }
    }
}

/// Reads a place; behind the target's end are zeroes. Whether it can be read: a sector that lost power while it was
/// written may give an error until it is written again.
fn read_place(file: &File, data: &mut [u8], offset_bytes: u64) -> io::Result<bool> {
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
