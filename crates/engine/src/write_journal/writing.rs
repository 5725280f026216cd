//! Records on their way from the load thread to the file: the thread that gathers, appends and syncs them.

use std::{
    fs::File,
    io::{self, Write},
    mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use super::record::{RECORD_BYTES, Record};
use crate::{affinity::unpin, gate::RunClock};

/// Records are gathered for so long before they are synced together.
const GATHER: Duration = Duration::from_millis(5);
/// Records that may wait for a slow journal before the load does: 48 MiB.
const MOST_WAITING: usize = 1 << 20;

/// What the load thread and the writer share.
#[derive(Debug, Default)]
pub(super) struct JournalQueue {
    waiting: Mutex<Waiting>,
    /// There are records, or there will be no more.
    noted: Condvar,
    /// There is room again.
    taken: Condvar,
    /// The writer has panicked.
    broken: AtomicBool,
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

    /// Adds a record, once there is room for it; how often the load waited for that.
    pub(super) fn add(&self, record: Record) -> u64 {
        let mut waits = 0;
        let mut waiting = self.waiting();
        while waiting.records.len() >= MOST_WAITING * RECORD_BYTES && !waiting.ended {
            waits += 1;
            let woken = self.taken.wait(waiting);
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
        }
        // The writer has failed; who joins it reports that.
        if waiting.ended {
            return waits;
        }
        let first = waiting.records.is_empty();
        if first {
            waiting.since_ns = record.acked_ns;
        }
        waiting.records.extend_from_slice(&record.to_bytes());
        drop(waiting);
        if first {
            self.noted.notify_one();
        }
        waits
    }

    /// Moves what has gathered into `records`, which are empty; when the first was acknowledged. `None`: no more comes.
    fn take(&self, records: &mut Vec<u8>) -> Option<u64> {
        let mut waiting = self.waiting();
        while waiting.records.is_empty() && !waiting.ended {
            let woken = self.noted.wait(waiting);
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
        }
        if waiting.records.is_empty() {
            return None;
        }
        if !waiting.ended {
            let woken = self.noted.wait_timeout(waiting, GATHER);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        mem::swap(&mut waiting.records, records);
        let since_ns = waiting.since_ns;
        drop(waiting);
        self.taken.notify_one();
        Some(since_ns)
    }

    /// No more will come, from either side.
    pub(super) fn end(&self) {
        self.waiting().ended = true;
        self.noted.notify_all();
        self.taken.notify_all();
    }

    /// Returns whether the writer has panicked.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

/// Ends a queue when the writer does, by a panic too: the load would wait for room for ever.
struct Ending<'q>(&'q JournalQueue);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.broken.store(thread::panicking(), Ordering::Relaxed);
        self.0.end();
    }
}

/// Starts the thread that writes what is in a queue by `write`.
pub(super) fn spawn(
    queue: &Arc<JournalQueue>,
    write: impl FnOnce(&JournalQueue) -> io::Result<()> + Send + 'static,
) -> io::Result<JoinHandle<io::Result<()>>> {
    let queue = Arc::clone(queue);
    thread::Builder::new()
        .name("journal".into())
        .spawn(move || {
            unpin();
            let _ending = Ending(&queue);
            write(&queue)
        })
}

/// Appends and syncs until there is no more.
pub(super) fn write(mut file: File, queue: &JournalQueue, clock: &RunClock) -> io::Result<()> {
    let mut records = Vec::new();
    let mut synced: Option<Record> = None;
    while let Some(since_ns) = queue.take(&mut records) {
        records.extend(synced.iter().flat_map(|record| record.to_bytes()));
        file.write_all(&records)?;
        file.sync_data()?;
        records.clear();
        synced = Some(Record::synced(since_ns, clock.now_ns()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_load_does_not_wait_for_a_writer_that_panicked() {
        let queue = Arc::new(JournalQueue::default());
        let record = Record::synced(1, 2);
        let waits: u64 = (0..MOST_WAITING).map(|_| queue.add(record)).sum();
        assert_eq!(waits, 0);
        let load = thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.add(record)
        });
        let writer = spawn(&queue, |_| panic!("a defect that the test makes")).unwrap();
        assert!(writer.join().is_err());
        let give_up = Instant::now() + Duration::from_secs(20);
        while !load.is_finished() {
            assert!(Instant::now() < give_up, "the load waits for ever");
            thread::sleep(Duration::from_millis(1));
        }
        assert!(queue.is_broken());
    }

    #[test]
    fn the_load_waits_when_a_journal_does_not_keep_up_so_that_its_memory_is_bounded() {
        let record = Record::synced(1, 2);
        let queue = Arc::new(JournalQueue::default());
        let most_bytes = MOST_WAITING * RECORD_BYTES;
        // Nobody writes: the test takes the records.
        let load = thread::spawn({
            let queue = Arc::clone(&queue);
            move || {
                (0..MOST_WAITING + 1)
                    .map(|_| queue.add(record))
                    .sum::<u64>()
            }
        });
        let give_up = Instant::now() + Duration::from_secs(20);
        while queue.waiting().records.len() < most_bytes {
            assert!(Instant::now() < give_up, "waited in vain");
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(20));
        assert!(!load.is_finished());
        assert_eq!(queue.take(&mut Vec::new()), Some(record.acked_ns));
        assert_eq!(load.join().unwrap(), 1);
        assert_eq!(queue.waiting().records.len(), RECORD_BYTES);
    }
}
