//! The write journal: which writes were acknowledged, on another device than the target, so that after a crash
//! each of them can be looked for. A load thread notes its writes; a thread of their own gathers them for a few
//! milliseconds, appends and syncs. The load waits for it only when it is a million writes behind. What is in the
//! journal was acknowledged. Writes acknowledged but not yet synced when the crash came are not looked for; the journal
//! holds the longest such delay.
//!
//! A file is a line of JSON padded to 512 bytes, then records of 48 bytes. Each record has a checksum, so that a torn
//! end is seen. [`crate::verify_journal`] reads it back.

mod file;
mod place;
mod record;
#[cfg(test)]
mod tests;
mod writing;

use std::{
    fs,
    hash::{BuildHasher, Hasher, RandomState},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
};

use workload::Verify;

use self::writing::JournalQueue;
pub(crate) use self::{
    file::{HEADER_BYTES, Header, SCHEMA, SUFFIX},
    record::{Kind, RECORD_BYTES, Record},
};
use crate::{EngineError, gate::RunClock};

/// Position of the thread in the number of a write.
const THREAD_SHIFT: u32 = 48;

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
    /// Why later writes are not in it.
    failure: Option<io::Error>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl WriteJournal {
    /// Returns a new journal of a thread of `target` in a directory, which is made if it is not there.
    pub(crate) fn create(
        directory: &Path,
        target: &Path,
        thread: usize,
        verify: Verify,
        clock: RunClock,
    ) -> Result<Self, EngineError> {
        let path = directory.join(format!("{}.{thread}.{SUFFIX}", file::name(target)));
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
        let file = file::begin(directory, &path, &header, file::sync_directory).map_err(refuse)?;
        let queue = Arc::new(JournalQueue::default());
        let write = move |queue: &JournalQueue| writing::write(file, queue, &clock);
        let writer = writing::spawn(&queue, write).map_err(refuse)?;
        Ok(Self {
            writer: Some(writer),
            caveat: place::caveat(directory, target),
            failure: None,
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
        self.waits += self.queue.add(record);
    }

    /// Returns whether its writer has ended by a defect, so that nothing more comes into it.
    pub(crate) fn is_broken(&self) -> bool {
        self.queue.is_broken()
    }

    /// Writes what is left, and returns why the run has failed where the writer has ended by a defect.
    pub(crate) fn fault(&mut self) -> Option<String> {
        self.end();
        self.is_broken().then(|| {
            format!(
                "the writer of the write journal {} ended by a defect of the engine, so later writes are not in it; \
                 please report it with the method and the target",
                self.path.display()
            )
        })
    }

    /// Writes what is left; what a reader must know.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        self.end();
        let path = self.path.display();
        let failed = self.failure.take();
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

    fn end(&mut self) {
        self.queue.end();
        if let Some(writer) = self.writer.take() {
            // Whether it has panicked is in the queue.
            self.failure = writer.join().ok().and_then(Result::err);
        }
    }
}

impl Drop for WriteJournal {
    /// One whose load never began is of no pass: it goes, so that it stands in the way of none and of no verification.
    fn drop(&mut self) {
        let began = self.writer.is_none() || self.numbers > 0 || thread::panicking();
        self.end();
        if !began {
            let _ = fs::remove_file(&self.path);
        }
    }
}
