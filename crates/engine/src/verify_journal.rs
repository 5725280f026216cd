//! After a crash: every write that a journal says was acknowledged is looked for on the target.
//!
//! A sector passes if it carries the latest write to its place that the journal knows, or one of the same run that
//! may have come later: a write that overlapped that one in time, or one that the journal does not know (issued
//! but not acknowledged when the crash came, or acknowledged too late for the journal). Anything else is told apart
//! as reads under verify tell it. Reads through the page cache, which a crash has emptied.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::FileExt},
    path::{Path, PathBuf},
};

use serde::Serialize;
use workload::Verify;

use crate::{
    EngineError,
    journal::{HEADER_BYTES, Header, Kind, RECORD_BYTES, Record, SCHEMA, SUFFIX},
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

/// The journals of a directory, read.
struct Journals {
    header: Header,
    files: usize,
    writes: Vec<Record>,
    /// When the last acknowledged flush was issued, over all threads.
    flushed_ns: u64,
    torn_bytes: u64,
    behind_ns: u64,
    /// What tells the writes of these journals from those of earlier ones.
    runs: HashSet<u64>,
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

/// The journals of `target`, or of the only target that they name.
fn read(directory: &Path, target: Option<&Path>) -> Result<Journals, EngineError> {
    let mut torn_bytes = 0;
    let mut files = Vec::new();
    for path in listed(directory)? {
        let bytes = std::fs::read(&path).map_err(|error| refuse(&path, error))?;
        match bytes.iter().all(|&byte| byte == 0) {
            // The crash came before the load began: every journal is durable by then.
            true => torn_bytes += bytes.len() as u64,
            false => files.push((header(&path, &bytes)?, path, bytes)),
        }
    }
    let targets: BTreeSet<PathBuf> = files.iter().map(|file| file.0.target.clone()).collect();
    if targets.len() > 1 {
        let Some(target) = target.filter(|target| targets.contains(*target)) else {
            let names: Vec<_> = targets.iter().map(|name| name.to_string_lossy()).collect();
            let reason = format!("is of {}: name one of them behind it", names.join(" and "));
            return Err(refuse(directory, io::Error::other(reason)));
        };
        files.retain(|file| file.0.target == target);
    }
    let Some((first, ..)) = files.first() else {
        return Err(refuse(
            directory,
            io::Error::other("holds no write journal"),
        ));
    };
    let mut journals = Journals::new(first.clone());
    journals.torn_bytes = torn_bytes;
    for (header, path, bytes) in &files {
        let expected = &journals.header;
        if (header.generation, header.seed) != (expected.generation, expected.seed) {
            let reason = "is of another pass than the others: move it to a directory of its own";
            return Err(refuse(path, io::Error::other(reason)));
        }
        journals.files += 1;
        journals.runs.insert(header.run);
        journals.take(&bytes[HEADER_BYTES..]);
    }
    Ok(journals)
}

/// Journal files, by name.
fn listed(directory: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let entries = std::fs::read_dir(directory).map_err(|error| refuse(directory, error))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|suffix| suffix == SUFFIX))
        .collect();
    paths.sort();
    Ok(paths)
}

fn header(path: &Path, bytes: &[u8]) -> Result<Header, EngineError> {
    let line = bytes.get(..HEADER_BYTES).unwrap_or_default();
    serde_json::from_slice(line)
        .ok()
        .filter(|header: &Header| header.schema == SCHEMA)
        .ok_or_else(|| refuse(path, io::Error::other("is no write journal")))
}

impl Journals {
    fn new(header: Header) -> Self {
        Self {
            header,
            files: 0,
            writes: Vec::new(),
            flushed_ns: 0,
            torn_bytes: 0,
            behind_ns: 0,
            runs: HashSet::new(),
        }
    }

    /// Takes in the whole records of one file. What is torn need not be its end: a crash may keep later pages of
    /// an append and not the earlier ones.
    fn take(&mut self, bytes: &[u8]) {
        let mut whole = 0;
        for record in bytes
            .chunks_exact(RECORD_BYTES)
            .filter_map(Record::from_bytes)
        {
            whole += RECORD_BYTES;
            match record.kind() {
                Kind::Write => self.writes.push(record),
                Kind::Flush => self.flushed_ns = self.flushed_ns.max(record.issued_ns),
                Kind::Synced => {
                    let behind_ns = record.acked_ns.saturating_sub(record.issued_ns);
                    self.behind_ns = self.behind_ns.max(behind_ns);
                }
            }
        }
        self.torn_bytes += (bytes.len() - whole) as u64;
    }

    /// For every place that was written, the latest write of each of its sectors: its position, from 1.
    fn latest(&self) -> BTreeMap<u64, [u32; PLACE_SECTORS]> {
        let mut places = HashMap::<u64, [u32; PLACE_SECTORS]>::new();
        for (index, write) in self.writes.iter().enumerate() {
            let sectors = sectors(write.offset_bytes)
                ..sectors(write.offset_bytes + u64::from(write.size_bytes));
            for sector in sectors {
                let place = places.entry(sector / PLACE_SECTORS as u64).or_default();
                let latest = &mut place[sector as usize % PLACE_SECTORS];
                let before = latest
                    .checked_sub(1)
                    .map(|at| self.writes[at as usize].issued_ns);
                if before.is_none_or(|issued_ns| issued_ns < write.issued_ns) {
                    *latest = index as u32 + 1;
                }
            }
        }
        places.into_iter().collect()
    }
}

fn sectors(bytes: u64) -> u64 {
    bytes / SECTOR_BYTES as u64
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
mod tests {
    use super::*;
    use crate::{clock::Clock, journal::Journal, verify::seal};

    const PASS: Verify = Verify {
        generation: 2,
        seed: 7,
    };
    const BLOCK: u64 = 4096;

    /// A target of zeroes and the journal of a pass over it.
    struct Crash {
        directory: PathBuf,
        journal: Journal,
        data: Vec<u8>,
    }

    impl Crash {
        fn new(name: &str) -> Self {
            let name = format!("fathom-journal-{name}-{}", std::process::id());
            let directory = std::env::temp_dir().join(name);
            let _ = std::fs::remove_dir_all(&directory);
            let target = directory.join("target");
            let journal = Journal::create(&directory, &target, 0, PASS, Clock::new());
            Self {
                journal: journal.expect("made"),
                data: vec![0; 16 * BLOCK as usize],
                directory,
            }
        }

        /// Issues a write; its signature.
        fn issue(&mut self) -> [u64; 2] {
            self.journal.sign()
        }

        /// What the target holds of a write.
        fn land(&mut self, block: u64, signature: [u64; 2]) {
            let start = (block * BLOCK) as usize;
            let data = &mut self.data[start..start + BLOCK as usize];
            seal(data, block * BLOCK, PASS, Some(signature));
        }

        fn acknowledge(
            &mut self,
            block: u64,
            signature: [u64; 2],
            (issued_ns, acked_ns): (u64, u64),
        ) {
            self.journal.note(Record {
                offset_bytes: block * BLOCK,
                number: signature[0],
                issued_ns,
                acked_ns,
                size_bytes: BLOCK as u32,
            });
        }

        fn flush(&mut self, issued_ns: u64) {
            self.journal.note(Record {
                offset_bytes: 0,
                number: 0,
                issued_ns,
                acked_ns: issued_ns + 1,
                size_bytes: 0,
            });
        }

        /// The journal's file, once it is written.
        fn file(&mut self) -> PathBuf {
            self.journal.finish();
            let mut names = std::fs::read_dir(&self.directory).expect("there");
            names.next().expect("a journal").expect("listed").path()
        }

        fn verified(mut self) -> JournalReport {
            let notes = self.journal.finish();
            assert!(
                notes.iter().all(|note| note.contains("(tmpfs)")),
                "{notes:?}"
            );
            std::fs::write(self.directory.join("target"), &self.data).expect("written");
            let report = verify_journal(&self.directory, None).expect("read");
            std::fs::remove_dir_all(&self.directory).expect("removed");
            report
        }
    }

    fn wrong(report: &JournalReport) -> Vec<(&str, u64)> {
        report
            .wrong
            .iter()
            .map(|(kind, n)| (kind.as_str(), *n))
            .collect()
    }

    #[test]
    fn a_block_that_holds_an_earlier_write_of_the_same_pass_has_lost_the_later_one() {
        let mut crash = Crash::new("stale");
        let (first, second) = (crash.issue(), crash.issue());
        crash.acknowledge(3, first, (10, 20));
        crash.acknowledge(3, second, (30, 40));
        crash.land(3, first);
        let report = crash.verified();
        assert_eq!((report.writes, report.blocks), (2, 1));
        assert_eq!(wrong(&report), [("stale", 1)]);
        assert!(
            report.told[0].contains("4096 bytes at 12288"),
            "{:?}",
            report.told
        );
    }

    #[test]
    fn writes_that_overlapped_in_time_and_writes_that_were_not_acknowledged_may_stand() {
        let mut crash = Crash::new("overlap");
        let numbers: Vec<_> = (0..4).map(|_| crash.issue()).collect();
        crash.acknowledge(0, numbers[0], (10, 35));
        crash.acknowledge(0, numbers[1], (30, 40));
        crash.land(0, numbers[0]);
        crash.acknowledge(1, numbers[2], (50, 60));
        crash.land(1, numbers[3]);
        let report = crash.verified();
        assert_eq!((report.blocks, wrong(&report)), (2, vec![]));
    }

    #[test]
    fn torn_misdirected_and_missing_blocks_are_told_apart_and_a_flush_excuses_none() {
        let mut crash = Crash::new("kinds");
        for block in 0..4 {
            let number = crash.issue();
            crash.land(block, number);
            crash.acknowledge(block, number, (10 * block, 10 * block + 5));
        }
        crash.flush(20);
        crash.data[1024..2048].fill(0);
        let moved = crash.data[8192..12_288].to_vec();
        crash.data[4096..8192].copy_from_slice(&moved);
        crash.data[12_288..16_384].fill(0);
        let report = crash.verified();
        assert_eq!(
            wrong(&report),
            [("misdirected", 1), ("torn", 1), ("unwritten", 1)]
        );
        assert_eq!(report.wrong_though_flushed, 2);
    }

    #[test]
    fn what_an_earlier_run_of_the_same_pass_wrote_does_not_pass_for_a_later_write() {
        let mut earlier = Crash::new("earlier");
        let mut crash = Crash::new("run");
        for block in 0..2 {
            crash.land(block, earlier.issue());
            let signature = crash.issue();
            crash.acknowledge(block, signature, (10, 20));
        }
        let report = crash.verified();
        assert_eq!(wrong(&report), [("stale", 2)]);
        std::fs::remove_dir_all(&earlier.directory).expect("removed");
    }

    #[test]
    fn what_is_torn_in_a_journal_is_left_out_and_counted_and_the_rest_is_looked_for() {
        let mut crash = Crash::new("torn-records");
        for block in 0..3 {
            let signature = crash.issue();
            crash.acknowledge(block, signature, (10 * block, 10 * block + 5));
        }
        let file = crash.file();
        let mut bytes = std::fs::read(&file).expect("read");
        bytes[HEADER_BYTES + RECORD_BYTES] ^= 1;
        bytes.extend_from_slice(&[1; 30]);
        std::fs::write(&file, bytes).expect("written");
        std::fs::write(file.with_file_name("not-yet.journal"), "").expect("written");
        let report = crash.verified();
        assert_eq!((report.journals, report.writes), (1, 2));
        assert_eq!(report.torn_bytes, 30 + RECORD_BYTES as u64);
        assert_eq!(
            (wrong(&report), report.last_acked_ns),
            (vec![("unwritten", 2)], 25)
        );
    }

    #[test]
    fn one_write_alone_is_safe_within_milliseconds_and_the_next_tells_after_how_many() {
        let mut crash = Crash::new("alone");
        let written = |directory: &Path| read(directory, None).expect("read").writes.len();
        for block in 0..2 {
            let signature = crash.issue();
            crash.land(block, signature);
            crash.acknowledge(block, signature, (1, 2));
            let give_up = std::time::Instant::now() + std::time::Duration::from_secs(30);
            while written(&crash.directory) as u64 <= block {
                assert!(std::time::Instant::now() < give_up, "nothing was written");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        let report = crash.verified();
        assert_eq!(wrong(&report), []);
        assert!(report.behind_ns >= 5_000_000, "{report:?}");
    }
}
