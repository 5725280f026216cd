//! What can go wrong, each as one line that says where and what to do next.

use std::{
    io,
    path::{Path, PathBuf},
};

use recording::Recording;
use workload::{SplitError, StreamError};

/// A job that could not start, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Nothing to do.
    #[error("no target given: name at least one file or device")]
    NoTarget,
    /// Zero threads or zero iodepth, or more than a ring holds.
    #[error(
        "threads {threads} x iodepth {iodepth}: both must be at least 1 and iodepth at most {most}"
    )]
    BadLoad {
        /// Threads asked for.
        threads: u32,
        /// I/O per thread asked for.
        iodepth: u32,
        /// Most a ring takes.
        most: u32,
    },
    /// `open` failed.
    #[error("{path}: cannot open for {access}: {source}{hint}")]
    Open {
        /// The target.
        path: PathBuf,
        /// `reading` or `reading and writing`.
        access: &'static str,
        /// What the kernel said.
        source: io::Error,
        /// What to do, with its separator, or empty.
        hint: &'static str,
    },
    /// The kernel gives no such I/O priority.
    #[error(
        "{path}: the I/O priority {class} is not given: {source}: run as root, or take best-effort or idle"
    )]
    Priority {
        /// The target.
        path: PathBuf,
        /// The class asked for.
        class: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file system cannot bypass the page cache.
    #[error(
        "{path}: this file system has no direct I/O (O_DIRECT): put the file on another one (ext4, xfs, btrfs), or set direct = false to measure through the page cache"
    )]
    NoDirect {
        /// The target.
        path: PathBuf,
    },
    /// The path leads elsewhere than when it was checked.
    #[error(
        "{path}: another file or device has taken its place since it was checked, so it was left alone: start a new run"
    )]
    Replaced {
        /// The target.
        path: PathBuf,
    },
    /// The path is neither a regular file nor a block device, or not the kind named.
    #[error("{path}: is {found}, not {expected}")]
    WrongKind {
        /// The target.
        path: PathBuf,
        /// What it is.
        found: &'static str,
        /// What was asked for.
        expected: &'static str,
    },
    /// Reads would run past the end.
    #[error(
        "{path}: holds {found_bytes} bytes but the job reads {expected_bytes}: fill it first, or use a smaller size"
    )]
    TooSmall {
        /// The target.
        path: PathBuf,
        /// Its size.
        found_bytes: u64,
        /// What the job needs.
        expected_bytes: u64,
    },
    /// The job does not fit the target.
    #[error("{path}: {source}")]
    Stream {
        /// The target.
        path: PathBuf,
        /// Why.
        source: StreamError,
    },
    /// The load cannot be divided over the targets.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// An operation that this kind of target cannot do.
    #[error("{path}: {op} is not possible here: {reason}")]
    Unsupported {
        /// The target.
        path: PathBuf,
        /// The operation.
        op: &'static str,
        /// Why, and what to use instead.
        reason: &'static str,
    },
    /// NVMe passthrough is not possible.
    #[error("{path}: no NVMe passthrough: {reason}: {hint}")]
    Passthrough {
        /// The generic device.
        path: PathBuf,
        /// What failed.
        reason: String,
        /// What to do.
        hint: &'static str,
    },
    /// A block that is more than one command: nothing splits it by passthrough.
    #[error(
        "{path}: {op} of {block_bytes} bytes, one command carries at most {most_bytes}: use smaller blocks, or the \
         block device, where the kernel splits them"
    )]
    CommandSize {
        /// The generic device.
        path: PathBuf,
        /// The operation.
        op: &'static str,
        /// The job's largest block of the operation.
        block_bytes: u32,
        /// What the device or the kernel takes.
        most_bytes: u64,
    },
    /// A placement handle that the device does not have.
    #[error(
        "{path}: placement handle {handle}: the device gives this namespace {handles}, numbered from 0 (0: FDP is off)"
    )]
    Placement {
        /// The target.
        path: PathBuf,
        /// The job's.
        handle: u16,
        /// How many there are.
        handles: usize,
    },
    /// Data cannot be verified on what keeps none.
    #[error("{path}: verify needs a target that keeps what is written: use a file or a device")]
    NothingKept {
        /// The target.
        path: PathBuf,
    },
    /// A write journal cannot be made or read.
    #[error("{path}: write journal: {source}{}", journal_hint(source))]
    Journal {
        /// The journal, its directory, or the target it is of.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The job does not fit the zones, or they cannot be managed.
    #[error("{path}: zoned device: {reason}")]
    Zones {
        /// The target.
        path: PathBuf,
        /// Why, and what to use instead.
        reason: String,
    },
    /// Memory for the buffers could not be had.
    #[error(
        "cannot map {bytes} bytes of I/O buffers: {source}: use fewer threads, a lower iodepth or smaller blocks"
    )]
    Buffers {
        /// Bytes asked for.
        bytes: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// Files of a set cannot be opened or held.
    #[error(
        "{path}: its files cannot be held open: {source}: set files = {{ ..., open = N }}, or raise RLIMIT_NOFILE (ulimit -n)"
    )]
    Files {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// io_uring was asked for and cannot be had.
    #[error(
        "io_uring cannot be used: {reason}: allow it (sysctl kernel.io_uring_disabled=0, or the container's seccomp profile) or use the threads backend"
    )]
    NoRing {
        /// What failed.
        reason: String,
    },
    /// A thread could not be started or set up.
    #[error("cannot start load thread {thread} of {path}: {source}")]
    Thread {
        /// The target.
        path: PathBuf,
        /// 0-based thread.
        thread: u32,
        /// What the system said.
        source: io::Error,
    },
    /// A load thread panicked.
    #[error(
        "load thread {thread} ended by a defect of the engine; please report it with the method and the target"
    )]
    Defect {
        /// 0-based thread.
        thread: u32,
    },
    /// The target failed during the run; what was measured before is kept.
    #[error("{path}: {reason}; the run was ended, what was measured before is kept")]
    TargetFailed {
        /// The target.
        path: PathBuf,
        /// What happened.
        reason: String,
        /// One per target, up to the failure.
        recordings: Vec<Recording>,
    },
}

impl EngineError {
    /// Returns the path that the message names: that of a target, or of its journal.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Open { path, .. }
            | Self::Priority { path, .. }
            | Self::NoDirect { path }
            | Self::Replaced { path }
            | Self::WrongKind { path, .. }
            | Self::TooSmall { path, .. }
            | Self::Stream { path, .. }
            | Self::Unsupported { path, .. }
            | Self::Passthrough { path, .. }
            | Self::CommandSize { path, .. }
            | Self::Placement { path, .. }
            | Self::NothingKept { path }
            | Self::Journal { path, .. }
            | Self::Zones { path, .. }
            | Self::Files { path, .. }
            | Self::Thread { path, .. }
            | Self::TargetFailed { path, .. } => Some(path),
            Self::NoTarget
            | Self::BadLoad { .. }
            | Self::Split(_)
            | Self::Buffers { .. }
            | Self::NoRing { .. }
            | Self::Defect { .. } => None,
        }
    }
}

fn journal_hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AlreadyExists => {
            ": an earlier pass left it; verify it (fathom verify DIRECTORY) and remove it, or name another directory"
        }
        io::ErrorKind::NotFound => ": check the name",
        io::ErrorKind::NotADirectory => ": name the directory that the job's `journal` names",
        _ => "",
    }
}
