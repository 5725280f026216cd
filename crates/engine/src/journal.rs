//! The write journal: which writes were acknowledged, on another device than the target, so that after a crash
//! each of them can be looked for. A load thread notes its writes and hands them to a thread of their own, which
//! appends and syncs; the load never waits for it. What a crash keeps from the journal is not looked for, what
//! is in it was acknowledged.
//!
//! A file is a line of JSON padded to 512 bytes, then records of 48 bytes, each with a checksum, so that a torn
//! end is seen. [`crate::verify_journal`] reads it back.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::mpsc::{self, Sender},
    thread::JoinHandle,
};

use serde::{Deserialize, Serialize};
use workload::Verify;
use xxhash_rust::xxh3::xxh3_64;

use crate::EngineError;

pub(crate) const SCHEMA: &str = "fathom-journal/1";
pub(crate) const SUFFIX: &str = "journal";
pub(crate) const HEADER_BYTES: usize = 512;
pub(crate) const RECORD_BYTES: usize = 48;
/// Records are handed on when there are so many, or the first is so old.
const BATCH: usize = 4096;
const BATCH_NS: u64 = 5_000_000;
/// Position of the thread in the number of a write.
const THREAD_SHIFT: u32 = 48;

/// What a journal is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) schema: String,
    pub(crate) target: PathBuf,
    pub(crate) thread: usize,
    pub(crate) generation: u32,
    pub(crate) seed: u64,
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

impl Record {
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

    /// `None`: torn, or not written at all.
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

/// One load thread's journal being written.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    thread: usize,
    numbers: u64,
    batch: Vec<u8>,
    batch_since_ns: u64,
    sender: Option<Sender<Vec<u8>>>,
    writer: Option<JoinHandle<std::io::Result<()>>>,
}

impl Journal {
    /// A new journal of a thread of `target` in a directory, which is made if it is not there.
    pub(crate) fn create(
        directory: &Path,
        target: &Path,
        thread: usize,
        verify: Verify,
    ) -> Result<Self, EngineError> {
        let name = target.to_string_lossy().replace('/', "_");
        let path = directory.join(format!(
            "{}.{thread}.{SUFFIX}",
            name.trim_start_matches('_')
        ));
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
        };
        let file = begin(directory, &path, &header).map_err(refuse)?;
        let (sender, receiver) = mpsc::channel::<Vec<u8>>();
        let write = move || {
            for batch in receiver {
                (&file).write_all(&batch)?;
                file.sync_data()?;
            }
            Ok(())
        };
        let writer = std::thread::Builder::new()
            .name("journal".into())
            .spawn(write);
        Ok(Self {
            writer: Some(writer.map_err(refuse)?),
            path,
            thread,
            numbers: 0,
            batch: Vec::with_capacity(BATCH * RECORD_BYTES),
            batch_since_ns: 0,
            sender: Some(sender),
        })
    }

    /// The number of the next write.
    pub(crate) fn number(&mut self) -> u64 {
        self.numbers += 1;
        (self.thread as u64) << THREAD_SHIFT | self.numbers
    }

    /// Notes what was acknowledged.
    pub(crate) fn note(&mut self, record: Record) {
        if self.batch.is_empty() {
            self.batch_since_ns = record.acked_ns;
        }
        self.batch.extend_from_slice(&record.to_bytes());
        let old = record.acked_ns - self.batch_since_ns >= BATCH_NS;
        if old || self.batch.len() >= BATCH * RECORD_BYTES {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        let next = Vec::with_capacity(BATCH * RECORD_BYTES);
        let batch = std::mem::replace(&mut self.batch, next);
        if let Some(sender) = &self.sender {
            // A writer that has failed no longer listens; `finish` tells why.
            let _ = sender.send(batch);
        }
    }

    /// Writes what is left; what a reader must know.
    pub(crate) fn finish(&mut self) -> Option<String> {
        self.hand_on();
        self.sender = None;
        let ended = self.writer.take()?.join();
        let path = self.path.display();
        let error = ended.ok()?.err()?;
        Some(format!(
            "journal: {path}: {error}; later writes are not in it"
        ))
    }
}

fn begin(directory: &Path, path: &Path, header: &Header) -> std::io::Result<File> {
    std::fs::create_dir_all(directory)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let mut line = serde_json::to_vec(header)?;
    if line.len() >= HEADER_BYTES {
        return Err(std::io::Error::other("the target's path is too long"));
    }
    line.resize(HEADER_BYTES - 1, b' ');
    line.push(b'\n');
    file.write_all(&line)?;
    file.sync_all()?;
    // The name itself must outlive the crash, too.
    File::open(directory)?.sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_as_written_and_a_torn_one_not_at_all() {
        let record = Record {
            offset_bytes: 1 << 40,
            number: 3 << THREAD_SHIFT | 7,
            issued_ns: 1,
            acked_ns: 2,
            size_bytes: 4096,
        };
        let mut bytes = record.to_bytes();
        assert_eq!(Record::from_bytes(&bytes), Some(record));
        bytes[9] ^= 1;
        assert_eq!(Record::from_bytes(&bytes), None);
        assert_eq!(Record::from_bytes(&[0; RECORD_BYTES]), None);
    }
}
