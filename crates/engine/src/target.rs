//! Opening targets: access mode, direct I/O and its alignment, poll queues, what an operation
//! becomes on this kind of target. Whether a target may be overwritten is not decided here.

use std::{
    fs::{File, OpenOptions},
    io::{self, Seek, SeekFrom},
    mem,
    os::{
        fd::{AsRawFd, RawFd},
        unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
    },
    path::PathBuf,
};

use workload::{Geometry, Job, Op};

use crate::EngineError;

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A block device or partition.
    BlockDevice,
    /// Nothing: requests complete at once. Shows what the engine itself costs.
    Null,
}

/// A target to run a job on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetSpec {
    /// Where it is; for [`TargetKind::Null`] only a name.
    pub path: PathBuf,
    /// What it is.
    pub kind: TargetKind,
    /// Bytes from its start that jobs may touch.
    pub capacity_bytes: u64,
}

/// An opened target.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) spec: TargetSpec,
    pub(crate) geometry: Geometry,
    pub(crate) direct: bool,
    /// Whether its queue can be polled for completions.
    pub(crate) pollable: bool,
    file: Option<File>,
}

impl Target {
    /// Opens a target as `job` needs it.
    pub(crate) fn open(spec: &TargetSpec, job: &Job) -> Result<Self, EngineError> {
        let job_ops = || job.mix.ops.iter().map(|block| block.op);
        if job_ops().any(|op| op == Op::Append) {
            return Err(EngineError::Unsupported {
                path: spec.path.clone(),
                op: Op::Append.name(),
                reason: "zone append needs an NVMe generic device (/dev/ngXnY); write at the zone's write pointer instead",
            });
        }
        if spec.kind == TargetKind::Null {
            return Ok(Self {
                spec: spec.clone(),
                geometry: geometry(spec, 1),
                direct: false,
                pollable: false,
                file: None,
            });
        }
        let writes = job_ops().any(Op::is_destructive);
        let file = open_file(spec, writes, job.direct)?;
        let found = file.metadata().map_err(|e| open_error(spec, writes, e))?;
        check_kind(spec, found.file_type())?;
        let block_bytes = match job.direct {
            true => direct_alignment(&file, spec.kind).ok_or_else(|| no_direct(spec))?,
            false => 1,
        };
        let target = Self {
            geometry: geometry(spec, block_bytes),
            direct: job.direct,
            pollable: job.direct
                && spec.kind == TargetKind::BlockDevice
                && has_poll_queues(found.rdev()),
            spec: spec.clone(),
            file: Some(file),
        };
        let may_grow = spec.kind == TargetKind::File && !job_ops().any(|op| op == Op::Read);
        if !may_grow {
            target.check_size(job)?;
        }
        Ok(target)
    }

    /// The descriptor; `None` for the null target.
    pub(crate) fn fd(&self) -> Option<RawFd> {
        self.file.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// The bytes of the job's region must exist, or reads would be short and writes fail.
    fn check_size(&self, job: &Job) -> Result<(), EngineError> {
        let region = job
            .region
            .resolve(self.geometry)
            .map_err(|source| EngineError::Stream {
                path: self.spec.path.clone(),
                source,
            })?;
        let expected_bytes = region.start_bytes + region.size_bytes;
        let found_bytes = match &self.file {
            Some(file) => (&mut &*file)
                .seek(SeekFrom::End(0))
                .map_err(|e| open_error(&self.spec, false, e))?,
            None => u64::MAX,
        };
        if found_bytes < expected_bytes {
            return Err(EngineError::TooSmall {
                path: self.spec.path.clone(),
                found_bytes,
                expected_bytes,
            });
        }
        Ok(())
    }
}

fn geometry(spec: &TargetSpec, block_bytes: u32) -> Geometry {
    Geometry {
        capacity_bytes: spec.capacity_bytes,
        block_bytes,
    }
}

fn open_file(spec: &TargetSpec, writes: bool, direct: bool) -> Result<File, EngineError> {
    let flags = libc::O_CLOEXEC | if direct { libc::O_DIRECT } else { 0 };
    OpenOptions::new()
        .read(true)
        .write(writes)
        .custom_flags(flags)
        .open(&spec.path)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) if direct => no_direct(spec),
            _ => open_error(spec, writes, error),
        })
}

fn no_direct(spec: &TargetSpec) -> EngineError {
    EngineError::NoDirect {
        path: spec.path.clone(),
    }
}

fn open_error(spec: &TargetSpec, writes: bool, source: io::Error) -> EngineError {
    let hint = match source.raw_os_error() {
        Some(libc::ENOENT) => ": check the name",
        Some(libc::EACCES | libc::EPERM) => ": run as a user who may, or change its permissions",
        Some(libc::EROFS) => ": it is read-only; only jobs that read can run on it",
        Some(libc::EBUSY) => ": something else holds it exclusively",
        _ => "",
    };
    EngineError::Open {
        path: spec.path.clone(),
        access: if writes {
            "reading and writing"
        } else {
            "reading"
        },
        source,
        hint,
    }
}

fn check_kind(spec: &TargetSpec, found: std::fs::FileType) -> Result<(), EngineError> {
    let name = |is_file, is_block| match (is_file, is_block) {
        (true, _) => "a regular file",
        (_, true) => "a block device",
        _ => "something else (a directory, a pipe or a character device)",
    };
    let wants_file = spec.kind == TargetKind::File;
    if found.is_file() == wants_file && found.is_block_device() != wants_file {
        return Ok(());
    }
    Err(EngineError::WrongKind {
        path: spec.path.clone(),
        found: name(found.is_file(), found.is_block_device()),
        expected: name(wants_file, !wants_file),
    })
}

/// What offsets, lengths and addresses of direct I/O must be multiples of; `None`: no direct I/O.
/// Kernels before 6.1 do not tell for files: 4096 satisfies every file system.
fn direct_alignment(file: &File, kind: TargetKind) -> Option<u32> {
    if kind == TargetKind::BlockDevice {
        let mut block_bytes: libc::c_int = 0;
        // SAFETY: BLKSSZGET writes one int.
        let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::BLKSSZGET as _, &mut block_bytes) };
        return Some(if done == 0 { block_bytes as u32 } else { 4096 });
    }
    // SAFETY: a zeroed statx is a valid value.
    let mut found: libc::statx = unsafe { mem::zeroed() };
    // SAFETY: an empty path with AT_EMPTY_PATH means the descriptor; `found` is valid for writes.
    let done = unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &mut found,
        )
    };
    if done != 0 || found.stx_mask & libc::STATX_DIOALIGN == 0 {
        return Some(4096);
    }
    let align = found.stx_dio_offset_align.max(found.stx_dio_mem_align);
    (found.stx_dio_offset_align > 0).then_some(align)
}

/// Poll queues exist only where the administrator configured them (`nvme.poll_queues=`).
fn has_poll_queues(device: u64) -> bool {
    let queue = |prefix: &str| {
        let (major, minor) = (libc::major(device), libc::minor(device));
        std::fs::read_to_string(format!(
            "/sys/dev/block/{major}:{minor}/{prefix}queue/io_poll"
        ))
    };
    queue("")
        .or_else(|_| queue("../"))
        .is_ok_and(|text| text.trim() == "1")
}
