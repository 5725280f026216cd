//! A capture of several disks: a thread copies the kernel's trace files into others.

use std::{
    fs::File,
    io::{self, BufWriter},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::thread::{MembarrierCommand, membarrier};

use crate::{CaptureError, Step, disk::Disk, relay::Relay};

/// A part of a buffer: small, so that a slow load is seen soon; large against a record's 48 bytes.
const PART_BYTES: u32 = 128 << 10;
const LEAST_PARTS: u32 = 4;
const COPY_BYTES: usize = 1 << 20;
/// A CPU that is always busy fills 8 MiB in some 30 ms.
const TICK: Duration = Duration::from_millis(5);
/// Where the kernel cannot wait for its CPUs: none is interrupted within a record for as long.
const SETTLE: Duration = Duration::from_millis(200);
/// Bytes of the smallest record.
const RECORD_BYTES: u64 = 48;

/// Where a capture looks, and what it keeps.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where debugfs is mounted.
    pub debugfs: PathBuf,
    /// Where the files `NAME.blktrace.CPU` are written.
    pub folder: PathBuf,
    /// The kernel's buffer of each CPU and disk.
    pub buffer_bytes: u32,
}

/// A disk after its capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The disk.
    pub path: PathBuf,
    /// A file for each CPU.
    pub files: Vec<PathBuf>,
    /// Records for which the kernel had no room, and those that it passed over when a buffer ran over.
    pub lost: u64,
}

type Copied = Relay<File, BufWriter<File>>;

/// What the thread shares with others.
#[derive(Debug, Default)]
struct Shared {
    ending: AtomicBool,
    copied_bytes: AtomicU64,
}

/// A capture that goes on. Dropped, it ends.
#[derive(Debug)]
pub struct Capture {
    disks: Vec<(Disk, Vec<PathBuf>)>,
    shared: Arc<Shared>,
    worker: Option<JoinHandle<io::Result<Vec<Vec<Copied>>>>>,
    folder: PathBuf,
}

impl Capture {
    /// Starts a capture of disks.
    ///
    /// # Errors
    /// The kernel refuses a trace, or a file cannot be opened. No trace is left behind.
    pub fn start(paths: &[PathBuf], options: &Options) -> Result<Self, CaptureError> {
        let parts = (options.buffer_bytes / PART_BYTES).max(LEAST_PARTS);
        let mut disks = Vec::new();
        let mut relays = Vec::new();
        for path in paths {
            let disk = Disk::set_up(path, &options.debugfs, PART_BYTES, parts)?;
            let mut files = Vec::new();
            let mut own = Vec::new();
            for (cpu, from) in disk.files()? {
                let path = options.folder.join(format!("{}.blktrace.{cpu}", disk.name));
                let to = File::create_new(&path).map_err(CaptureError::of(Step::Copy, &path))?;
                own.push(Relay::new(from, BufWriter::new(to)));
                files.push(path);
            }
            disks.push((disk, files));
            relays.push(own);
        }
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let worker = thread::Builder::new().name("capture".into());
        let worker = worker
            .spawn(move || copy(relays, &theirs))
            .map_err(CaptureError::of(Step::Start, Path::new("thread")))?;
        let capture = Self {
            disks,
            shared,
            worker: Some(worker),
            folder: options.folder.clone(),
        };
        for (disk, _) in &capture.disks {
            disk.start()?;
        }
        Ok(capture)
    }

    /// Returns how many bytes have been copied.
    pub fn copied_bytes(&self) -> u64 {
        self.shared.copied_bytes.load(Ordering::Relaxed)
    }

    /// Returns whether copying has ended early; `stop` says why.
    pub fn failed(&self) -> bool {
        self.worker.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops the capture and writes the rest.
    ///
    /// # Errors
    /// A file could not be written or read. What was written before is whole.
    pub fn stop(mut self) -> Result<Vec<Recorded>, CaptureError> {
        let failed = CaptureError::of(Step::Copy, &self.folder);
        let Some(copied) = self.join() else {
            return Err(failed(io::ErrorKind::Other.into()));
        };
        for (disk, _) in &self.disks {
            disk.stop()?;
        }
        settle();
        let mut relays = copied.map_err(failed)?;
        let buffer = &mut vec![0; COPY_BYTES];
        let mut recorded = Vec::new();
        for ((disk, files), relays) in self.disks.iter().zip(&mut relays) {
            let mut lost = disk.dropped()?;
            for (relay, file) in relays.iter_mut().zip(files) {
                let passed = relay.rest(buffer);
                let passed = passed.map_err(CaptureError::of(Step::Copy, file))?;
                lost += passed.div_ceil(RECORD_BYTES);
            }
            recorded.push(Recorded {
                path: disk.path.clone(),
                files: files.clone(),
                lost,
            });
        }
        Ok(recorded)
    }

    /// Ends the thread; `None`: it has ended before, or panicked.
    fn join(&mut self) -> Option<io::Result<Vec<Vec<Copied>>>> {
        self.shared.ending.store(true, Ordering::Relaxed);
        self.worker.take()?.join().ok()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.join();
    }
}

/// Waits until no CPU is within a record that it began before the stop. A record is written with interrupts off, which
/// the kernel's grace period waits for (`synchronize_rcu` in kernel/sched/membarrier.c).
fn settle() {
    if membarrier(MembarrierCommand::Global).is_err() {
        thread::sleep(SETTLE);
    }
}

fn copy(mut relays: Vec<Vec<Copied>>, shared: &Shared) -> io::Result<Vec<Vec<Copied>>> {
    let buffer = &mut vec![0; COPY_BYTES];
    while !shared.ending.load(Ordering::Relaxed) {
        for relay in relays.iter_mut().flatten() {
            let found = relay.look(buffer)?;
            shared.copied_bytes.fetch_add(found, Ordering::Relaxed);
        }
        thread::sleep(TICK);
    }
    Ok(relays)
}
