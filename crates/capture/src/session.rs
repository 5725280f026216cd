//! A capture of several disks: a thread copies the kernel's trace files into others.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::thread::{MembarrierCommand, membarrier};

use crate::{CaptureError, Step, disk, instance, source::Source, traced::Traced};

const COPY_BYTES: usize = 1 << 20;
/// A CPU that is always busy fills 8 MiB in some 30 ms.
const TICK: Duration = Duration::from_millis(5);
/// Where the kernel cannot wait for its CPUs: none is interrupted within a record for as long.
const SETTLE: Duration = Duration::from_millis(200);

/// Which of the kernel's traces is used. Both end as the same files.
#[derive(Clone, Debug)]
pub enum Via {
    /// The block trace, by its ioctls.
    BlockTrace {
        /// Where debugfs is mounted, which has the trace's files.
        debugfs: PathBuf,
    },
    /// The tracepoints of the block layer. A kernel that is locked down for integrity (Secure Boot) allows them too.
    Tracepoints {
        /// Where tracefs is mounted.
        tracefs: PathBuf,
    },
}

/// Where a capture looks, and what it keeps.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which trace is used.
    pub via: Via,
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

type Sources = Vec<Vec<Box<dyn Source>>>;

/// What the thread shares with others.
#[derive(Debug, Default)]
struct Shared {
    ending: AtomicBool,
    copied_bytes: AtomicU64,
}

/// A capture that goes on. Dropped, it ends.
#[derive(Debug)]
pub struct Capture {
    disks: Vec<(Traced, Vec<PathBuf>)>,
    shared: Arc<Shared>,
    worker: Option<JoinHandle<io::Result<Sources>>>,
    folder: PathBuf,
}

impl Capture {
    /// Starts a capture of disks.
    ///
    /// # Errors
    /// The kernel refuses a trace, or a file cannot be opened. No trace is left behind.
    pub fn start(paths: &[PathBuf], options: &Options) -> Result<Self, CaptureError> {
        let mut disks = Vec::new();
        let mut sources = Vec::new();
        for path in paths {
            let disk = Traced::set_up(path, &options.via, options.buffer_bytes)?;
            let (files, own) = disk.sources(&options.folder)?.into_iter().unzip();
            disks.push((disk, files));
            sources.push(own);
        }
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let worker = thread::Builder::new().name("capture".into());
        let worker = worker
            .spawn(move || copy(sources, &theirs))
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
        let mut sources = copied.map_err(failed)?;
        let buffer = &mut vec![0; COPY_BYTES];
        let mut recorded = Vec::new();
        for ((disk, files), own) in self.disks.iter().zip(&mut sources) {
            let mut lost = disk.dropped()?;
            for (source, file) in own.iter_mut().zip(files) {
                let passed = source.rest(buffer);
                lost += passed.map_err(CaptureError::of(Step::Copy, file))?;
            }
            recorded.push(Recorded {
                path: disk.path().into(),
                files: files.clone(),
                lost,
            });
        }
        Ok(recorded)
    }

    /// Ends the thread; `None`: it has ended before, or panicked.
    fn join(&mut self) -> Option<io::Result<Sources>> {
        self.shared.ending.store(true, Ordering::Relaxed);
        self.worker.take()?.join().ok()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.join();
    }
}

/// Ends a trace that another process has left behind, such as one that was killed.
///
/// # Errors
/// The disk cannot be opened, or has no trace.
pub fn end(path: &Path, tracefs: &Path) -> Result<(), CaptureError> {
    match instance::end(path, tracefs)? {
        true => Ok(()),
        false => disk::end(path),
    }
}

/// Waits until no CPU is within a record that it began before the stop. A record is written with interrupts off, which
/// the kernel's grace period waits for (`synchronize_rcu` in kernel/sched/membarrier.c).
fn settle() {
    if membarrier(MembarrierCommand::Global).is_err() {
        thread::sleep(SETTLE);
    }
}

fn copy(mut sources: Sources, shared: &Shared) -> io::Result<Sources> {
    let buffer = &mut vec![0; COPY_BYTES];
    while !shared.ending.load(Ordering::Relaxed) {
        for source in sources.iter_mut().flatten() {
            let found = source.look(buffer)?;
            shared.copied_bytes.fetch_add(found, Ordering::Relaxed);
        }
        thread::sleep(TICK);
    }
    Ok(sources)
}
