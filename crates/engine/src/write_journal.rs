//! The write journal: which writes were acknowledged, on another device than the target, so that after a crash
//! each of them can be looked for. A load thread notes its writes; a thread of their own gathers them for a few
//! milliseconds, appends and syncs. The load waits for it only when it is a million writes behind. What is in the
//! journal was acknowledged. Writes acknowledged but not yet synced when the crash came are not looked for; the journal
//! holds the longest such delay.
//!
//! A file is a line of JSON padded to 512 bytes, then records of 48 bytes. Each record has a checksum, so that a torn
//! end is seen. [`crate::verify_journal`] reads it back.

mod place;

use std::{
    fs::{File, OpenOptions},
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use workload::Verify;
use xxhash_rust::xxh3::xxh3_64;

use crate::{EngineError, affinity::unpin, clock::Clock};

pub(crate) const SCHEMA: &str = "fathom-journal/2";
pub(crate) const SUFFIX: &str = "journal";
pub(crate) const HEADER_BYTES: usize = 512;
pub(crate) const RECORD_BYTES: usize = 48;
/// Records are gathered for so long before they are synced together.
const GATHER: Duration = Duration::from_millis(5);
/// Records that may wait for a slow journal before the load does: 48 MiB.
const MOST_WAITING: usize = 1 << 20;
/// Position of the thread in the number of a write.
const THREAD_SHIFT: u32 = 48;
/// The number of a record that is of the journal itself.
const SYNCED: u64 = u64::MAX;

/// What a journal is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) schema: String,
    pub(crate) target: PathBuf,
    pub(crate) thread: usize,
    pub(crate) generation: u32,
    pub(crate) seed: u64,
    /// Random: distinguishes the writes of this journal from those of an earlier one that used the same numbers.
    pub(crate) run: u64,
}

/// An acknowledged write, or flush: that has no size and the number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) offset_bytes: u64,
    /// Unique among the writes of all threads; the sectors written carry it.
    pub(crate) number: u64,
    /// Not later than the write was issued.
    pub(crate) issued_ns: u64,
    /// Not earlier than it was acknowledged.
    pub(crate) acked_ns: u64,
    pub(crate) size_bytes: u32,
}

/// What a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Write,
    Flush,
    /// The records before it were synced: the first was acknowledged at `issued_ns`, all durable at `acked_ns`.
    Synced,
}

impl Record {
    pub(crate) fn kind(self) -> Kind {
        match (self.size_bytes, self.number) {
            (0, SYNCED) => Kind::Synced,
            (0, _) => Kind::Flush,
            _ => Kind::Write,
        }
    }

    fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        let size = u64::from(self.size_bytes);
        let words = [
            self.offset_bytes,
            self.number,
            self.issued_ns,
            self.acked_ns,
            size,
        ];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let checksum = xxh3_64(&bytes[..RECORD_BYTES - 8]);
        bytes[RECORD_BYTES - 8..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a record; `None`: torn, or not written at all.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = [0; RECORD_BYTES / 8];
        for (word, place) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(place.try_into().ok()?);
        }
        let [offset_bytes, number, issued_ns, acked_ns, size, checksum] = words;
        (xxh3_64(&bytes[..RECORD_BYTES - 8]) == checksum).then_some(Self {
            offset_bytes,
            number,
            issued_ns,
            acked_ns,
            size_bytes: size as u32,
        })
    }
}

/// What the load thread and the writer share.
#[derive(Debug, Default)]
struct JournalQueue {
    waiting: Mutex<Waiting>,
    /// There are records, or there will be no more.
    noted: Condvar,
    /// There is room again.
    taken: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    records: Vec<u8>,
    /// When the first of them was acknowledged.
    since_ns: u64,
    /// No more will come: the load thread is done, or the writer has failed.
    ended: bool,
}

impl JournalQueue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        self.waiting().ended = true;
        self.noted.notify_all();
        self.taken.notify_all();
    }
}

/// One load thread's journal being written.
#[derive(Debug)]
pub(crate) struct WriteJournal {
    path: PathBuf,
    thread: usize,
    run: u64,
    numbers: u64,
    queue: Arc<JournalQueue>,
    /// Times that the load waited for the journal.
    waits: u64,
    caveat: Option<String>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl WriteJournal {
    /// Returns a new journal of a thread of `target` in a directory, which is made if it is not there.
    pub(crate) fn create(
        directory: &Path,
        target: &Path,
        thread: usize,
        verify: Verify,
        clock: Clock,
    ) -> Result<Self, EngineError> {
        let path = directory.join(format!("{}.{thread}.{SUFFIX}", name(target)));
        let refuse = |source| EngineError::Journal {
            path: path.clone(),
            source,
        };
        let header = Header {
            schema: SCHEMA.into(),
            target: target.into(),
            thread,
            generation: verify.generation,
            seed: verify.seed,
            run: RandomState::new().build_hasher().finish(),
        };
        let file = begin(directory, &path, &header, sync_directory).map_err(refuse)?;
        let queue = Arc::new(JournalQueue::default());
        let theirs = Arc::clone(&queue);
        let writer = thread::Builder::new()
            .name("journal".into())
            .spawn(move || {
                unpin();
                let ended = write(file, &theirs, clock);
                theirs.end();
                ended
            });
        Ok(Self {
            writer: Some(writer.map_err(refuse)?),
            caveat: place::caveat(directory, target),
            path,
            thread,
            run: header.run,
            numbers: 0,
            queue,
            waits: 0,
        })
    }

    /// Returns what the sectors of the next write carry: its number, and the journal it is in.
    pub(crate) fn sign(&mut self) -> [u64; 2] {
        self.numbers += 1;
        [
            (self.thread as u64) << THREAD_SHIFT | self.numbers,
            self.run,
        ]
    }

    /// Notes what was acknowledged.
    pub(crate) fn note(&mut self, record: Record) {
        let mut waiting = self.queue.waiting();
        while waiting.records.len() >= MOST_WAITING * RECORD_BYTES && !waiting.ended {
            self.waits += 1;
            let woken = self.queue.taken.wait(waiting);
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
        }
        // `finish` reports a writer that has failed.
        if waiting.ended {
            return;
        }
        let first = waiting.records.is_empty();
        if first {
            waiting.since_ns = record.acked_ns;
        }
        waiting.records.extend_from_slice(&record.to_bytes());
        drop(waiting);
        if first {
            self.queue.noted.notify_one();
        }
    }

    /// Writes what is left; what a reader must know.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        let Some(writer) = self.writer.take() else {
            return Vec::new();
        };
        self.queue.end();
        let path = self.path.display();
        let failed = writer.join().ok().and_then(Result::err);
        let failed = failed.map(|error| format!("{error}; later writes are not in it"));
        let waits = (self.waits > 0).then(|| {
            format!(
                "the load waited for it {} times: its device is too slow for this load",
                self.waits
            )
        });
        [self.caveat.take(), waits, failed]
            .into_iter()
            .flatten()
            .map(|text| format!("journal: {path}: {text}"))
            .collect()
    }
}

impl Drop for WriteJournal {
    /// One whose load never began is of no pass: it goes, so that it stands in the way of none and of no verification.
    fn drop(&mut self) {
        let began = self.writer.is_none() || self.numbers > 0 || thread::panicking();
        self.finish();
        if !began {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Appends and syncs until there is no more.
fn write(mut file: File, queue: &JournalQueue, clock: Clock) -> io::Result<()> {
    let mut records = Vec::new();
    let mut synced: Option<Record> = None;
    loop {
        let mut waiting = queue.waiting();
        while waiting.records.is_empty() && !waiting.ended {
            let woken = queue.noted.wait(waiting);
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
        }
        if waiting.records.is_empty() {
            return Ok(());
        }
        if !waiting.ended {
            let woken = queue.noted.wait_timeout(waiting, GATHER);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut waiting.records, &mut records);
        let since_ns = waiting.since_ns;
        drop(waiting);
        queue.taken.notify_one();
        records.extend(synced.iter().flat_map(|record| record.to_bytes()));
        file.write_all(&records)?;
        file.sync_data()?;
        records.clear();
        synced = Some(Record {
            offset_bytes: 0,
            number: SYNCED,
            issued_ns: since_ns,
            acked_ns: clock.now_ns(),
            size_bytes: 0,
        });
    }
}

/// Returns what a target's journals are called, unlike those of any other: `/` becomes `_`, and what would then be
/// taken for it, as all that a name may not show, is `%` and two hexadecimal digits. Readers go by the header.
fn name(target: &Path) -> String {
    let absolute = std::path::absolute(target);
    let path = absolute.as_deref().unwrap_or(target).as_os_str();
    let path = path
        .as_bytes()
        .strip_prefix(b"/")
        .unwrap_or(path.as_bytes());
    let shown = |byte: &u8| match byte {
        b'/' => "_".into(),
        b'.' | b'-' | b':' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
            char::from(*byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    path.iter().map(shown).collect()
}

/// Makes the names in a directory durable.
fn sync_directory(directory: &Path) -> io::Result<()> {
    let directory = match directory == Path::new("") {
        true => Path::new("."),
        false => directory,
    };
    File::open(directory)?.sync_all()
}

/// Returns the file with its header, durable by name as well: `sync` is called for every directory that got an entry.
fn begin(
    directory: &Path,
    path: &Path,
    header: &Header,
    sync: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<File> {
    let mut line = serde_json::to_vec(header)?;
    if line.len() >= HEADER_BYTES {
        return Err(io::Error::other("the target's path is too long"));
    }
    line.resize(HEADER_BYTES - 1, b' ');
    line.push(b'\n');
    let missing = directory.ancestors().take_while(|path| !path.exists());
    let missing: Vec<&Path> = missing.collect();
    std::fs::create_dir_all(directory)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(&line)?;
    file.sync_all()?;
    let parents = missing.iter().filter_map(|made| made.parent());
    std::iter::once(directory)
        .chain(parents)
        .try_for_each(sync)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::HashSet, ffi::OsStr, time::Instant};

    use super::*;
    use crate::affinity::{allowed_cpus, pin_to};

    const RECORD: Record = Record {
        offset_bytes: 1 << 40,
        number: 3 << THREAD_SHIFT | 7,
        issued_ns: 1,
        acked_ns: 2,
        size_bytes: 4096,
    };
    const VERIFY: Verify = Verify {
        generation: 1,
        seed: 0,
    };

    /// A directory of the test's own, which is not there yet.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let own = format!("fathom-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(own))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn wait_until(what: impl Fn() -> bool) {
        let give_up = Instant::now() + Duration::from_secs(20);
        while !what() {
            assert!(Instant::now() < give_up, "waited in vain");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn no_two_targets_journals_have_one_name_and_that_of_a_device_reads_as_its_path() {
        assert_eq!(name(Path::new("/dev/nvme0n1")), "dev_nvme0n1");
        let paths = [
            "/a_b", "/a/b", "/a%5Fb", "/a//_b", "/a/%5Fb", "/a_/b", "/\u{e9}",
        ];
        let raw = [b"/\xff".as_slice(), b"/\xfe"].map(OsStr::from_bytes);
        let paths = paths.iter().map(Path::new).chain(raw.map(Path::new));
        let names: HashSet<String> = paths.clone().map(name).collect();
        assert_eq!(names.len(), paths.count(), "{names:?}");
        let plain = |name: &String| name.is_ascii() && !name.contains('/');
        assert!(names.iter().all(plain), "{names:?}");
    }

    #[test]
    fn a_record_reads_back_as_written_and_a_torn_one_not_at_all() {
        let mut bytes = RECORD.to_bytes();
        assert_eq!(Record::from_bytes(&bytes), Some(RECORD));
        bytes[9] ^= 1;
        assert_eq!(Record::from_bytes(&bytes), None);
        assert_eq!(Record::from_bytes(&[0; RECORD_BYTES]), None);
    }

    #[test]
    fn the_load_waits_when_a_journal_does_not_keep_up_so_that_its_memory_is_bounded() {
        let queue = Arc::new(JournalQueue::default());
        // Nobody writes: the test takes the records.
        let mut journal = WriteJournal {
            path: PathBuf::new(),
            thread: 0,
            run: 0,
            numbers: 0,
            queue: Arc::clone(&queue),
            waits: 0,
            caveat: None,
            writer: None,
        };
        let most_bytes = MOST_WAITING * RECORD_BYTES;
        let load = thread::spawn(move || {
            (0..MOST_WAITING + 1).for_each(|_| journal.note(RECORD));
            journal.waits
        });
        wait_until(|| queue.waiting().records.len() == most_bytes);
        thread::sleep(Duration::from_millis(20));
        assert!(!load.is_finished());
        queue.waiting().records.clear();
        queue.taken.notify_one();
        assert_eq!(load.join().unwrap(), 1);
        assert_eq!(queue.waiting().records.len(), RECORD_BYTES);
    }

    #[test]
    fn the_writer_runs_on_any_core_though_a_pinned_thread_made_it() {
        let (directory, all) = (Scratch::new("unpinned"), allowed_cpus());
        let Some(last) = all.last().copied().filter(|_| all.len() > 1) else {
            return;
        };
        let cores = |task: &Path| {
            let name = std::fs::read_to_string(task.join("comm")).ok()?;
            let status = std::fs::read_to_string(task.join("status")).ok()?;
            let list = status
                .lines()
                .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            (name.trim() == "journal").then(|| list.map(|list| list.trim().to_owned()))?
        };
        let of_writers = || -> Vec<String> {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap();
            tasks.filter_map(|task| cores(&task.ok()?.path())).collect()
        };
        thread::scope(|pinned| {
            pinned.spawn(|| {
                pin_to(last).unwrap();
                let target = Path::new("/dev/null");
                let journal = WriteJournal::create(&directory.0, target, 0, VERIFY, Clock::new());
                // Writers of other tests are none that this one has to find.
                wait_until(|| {
                    let writers = of_writers();
                    !writers.is_empty() && writers.iter().all(|list| *list != last.to_string())
                });
                drop(journal.unwrap());
            });
        });
    }

    #[test]
    fn every_directory_that_got_an_entry_is_synced_the_existing_one_included() {
        let root = Scratch::new("durable");
        std::fs::create_dir(&root.0).unwrap();
        let directory = root.0.join("made/for/it");
        let header = Header {
            schema: SCHEMA.into(),
            target: "/dev/null".into(),
            thread: 0,
            generation: 1,
            seed: 0,
            run: 0,
        };
        let synced = RefCell::new(Vec::new());
        let sync = |holder: &Path| {
            synced.borrow_mut().push(holder.to_owned());
            sync_directory(holder)
        };
        begin(&directory, &directory.join("x"), &header, sync).unwrap();
        synced.borrow_mut().sort();
        let expected = ["", "made", "made/for", "made/for/it"].map(|end| root.0.join(end));
        assert_eq!(*synced.borrow(), expected);
    }
}
