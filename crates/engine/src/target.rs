//! Opened targets: poll queues, and what an operation becomes on this kind of target. Whether a target may be overwritten
//! is not decided here.

mod checks;
mod command_size;

use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd, RawFd},
        unix::fs::MetadataExt,
    },
    path::PathBuf,
    sync::Arc,
};

use workload::{Geometry, Job, Op, Pattern};

use self::command_size::{KernelLimits, check_command_size};
use crate::{
    EngineError,
    file_set::Directory,
    nvme::{self, Namespace},
    open_file::{direct_alignment, no_direct, open_error, open_held},
    opened::Opened,
    page_cache,
    queue_attributes::QueueAttributes,
    target_spec::{FileId, TargetKind, TargetSpec},
    zones::Zoned,
};

/// An opened target.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) spec: TargetSpec,
    pub(crate) geometry: Geometry,
    pub(crate) direct: bool,
    /// Whether its queue can be polled for completions.
    pub(crate) pollable: bool,
    /// NVMe passthrough: the namespace.
    pub(crate) namespace: Option<Namespace>,
    /// NVMe passthrough: placement identifier of each handle, where the job names any.
    pub(crate) placement_ids: Vec<u16>,
    /// Host-managed zoned devices.
    pub(crate) zoned: Option<Arc<Zoned>>,
    /// Sets of files: the directory that holds them.
    pub(crate) directory: Option<Arc<Directory>>,
    /// Write streams of a block device (Linux 6.16); 0: none.
    write_streams: u16,
    /// What of a buffered job's file was in memory before.
    pub(crate) cached_note: Option<String>,
    file: Option<File>,
}

impl Target {
    /// Opens a target as `job` needs it.
    pub(crate) fn open(spec: &TargetSpec, job: &Job) -> Result<Self, EngineError> {
        let job_ops = || job.mix.ops.iter().map(|block| block.op);
        let target = Self {
            geometry: geometry(spec, 1),
            direct: false,
            pollable: false,
            namespace: None,
            placement_ids: Vec::new(),
            zoned: None,
            directory: None,
            write_streams: 0,
            cached_note: None,
            file: None,
            spec: spec.clone(),
        };
        let target = match spec.kind {
            TargetKind::Null | TargetKind::Nop => target,
            TargetKind::NvmeGeneric => target.open_generic(job)?,
            TargetKind::File | TargetKind::BlockDevice => target.open_block_or_file(job)?,
            TargetKind::FileSet => target.open_set(job)?,
        };
        target.check_set(job)?;
        if target.file.is_none() && target.directory.is_none() && verifies(job) {
            return Err(EngineError::NothingKept {
                path: spec.path.clone(),
            });
        }
        target.check_zones(job)?;
        target.check_allocates(job)?;
        target.check_gpu(job)?;
        target.check_placement(job)?;
        if target.directory.is_some() {
            return Ok(target);
        }
        let may_grow = spec.kind == TargetKind::File && !job_ops().any(|op| op == Op::Read);
        if !may_grow {
            target.check_size(job)?;
        }
        Ok(target)
    }

    fn open_block_or_file(mut self, job: &Job) -> Result<Self, EngineError> {
        let spec = &self.spec;
        let writes = writes(job);
        let (file, found) = open_held(spec, writes, Opened::of(job))?;
        let block_bytes = match job.direct {
            true => direct_alignment(&file, spec.kind).ok_or_else(|| no_direct(spec))?,
            false => 1,
        };
        self.geometry = geometry(spec, block_bytes);
        self.direct = job.direct;
        let reads = job.mix.ops.iter().any(|block| block.op == Op::Read);
        if !job.direct && reads {
            self.cached_note = page_cache::note(&file, spec);
        }
        if spec.kind == TargetKind::BlockDevice {
            let queue = QueueAttributes::of(found.rdev());
            self.write_streams = queue.number("max_write_streams") as u16;
            self.zoned = Zoned::open(&spec.path, &queue, writes)?.map(Arc::new);
            // Polled writes to zones crashed Linux 7.2 (`nvme_poll`) in the test guest; the cause is not known.
            self.pollable = job.direct && self.zoned.is_none() && queue.polls();
        }
        self.file = Some(file);
        Ok(self)
    }

    fn open_set(mut self, job: &Job) -> Result<Self, EngineError> {
        let Some(set) = &job.files else {
            return Ok(self);
        };
        let (spec, writes) = (&self.spec, writes(job));
        let failed = |error: io::Error| match error.raw_os_error() {
            Some(libc::EINVAL) if job.direct => no_direct(spec),
            _ => open_error(spec, writes, error),
        };
        let (directory, found) =
            Directory::open(spec, set, writes, Opened::of(job)).map_err(failed)?;
        if spec.held.is_some_and(|held| held != FileId::of(&found)) {
            return Err(EngineError::Replaced {
                path: spec.path.clone(),
            });
        }
        let first = directory.file(0).map_err(failed)?.into();
        let block_bytes = match job.direct {
            true => direct_alignment(&first, spec.kind).ok_or_else(|| no_direct(spec))?,
            false => 1,
        };
        if !job.direct && job.mix.ops.iter().any(|block| block.op == Op::Read) {
            self.cached_note = page_cache::note_of_set(&directory);
        }
        self.geometry = geometry(spec, block_bytes);
        self.direct = job.direct;
        self.directory = Some(Arc::new(directory));
        Ok(self)
    }

    fn open_generic(mut self, job: &Job) -> Result<Self, EngineError> {
        let spec = &self.spec;
        let writes = writes(job);
        if writes && !job.sync.is_none() {
            return Err(EngineError::Unsupported {
                path: spec.path.clone(),
                op: "a write with sync",
                reason: "passthrough has no flags of an open file: use the block device, /dev/nvmeXnY",
            });
        }
        if job.has_priority() {
            return Err(EngineError::Unsupported {
                path: spec.path.clone(),
                op: "I/O with a priority",
                reason: "passthrough goes by no I/O scheduler: use the block device, /dev/nvmeXnY",
            });
        }
        let (file, _) = open_held(spec, writes, Opened::default())?;
        let namespace = Namespace::identify(&file, &spec.path)?;
        self.geometry = geometry(spec, namespace.block_bytes);
        self.direct = true;
        if !job.placement.is_empty() {
            self.placement_ids = namespace.placement_ids(&file, &spec.path)?;
        }
        let mut by_kernel = KernelLimits::default();
        if let Some(sibling) = nvme::block_sibling(&spec.path) {
            let queue = QueueAttributes::named(&sibling);
            by_kernel = KernelLimits::of(&queue);
            self.pollable = queue.polls();
            self.zoned =
                Zoned::open(&PathBuf::from("/dev").join(sibling), &queue, writes)?.map(Arc::new);
        }
        check_command_size(spec, job, |op| {
            namespace.most_bytes(op).min(by_kernel.most_bytes(op))
        })?;
        self.namespace = Some(namespace);
        self.file = Some(file);
        Ok(self)
    }

    /// Returns whether only io_uring can run `job` on it.
    pub(crate) fn needs_ring(&self, job: &Job) -> bool {
        self.namespace.is_some()
            || matches!(self.spec.kind, TargetKind::Nop | TargetKind::FileSet)
            || matches!(job.pattern, Pattern::Zones { .. })
            || verifies(job)
            || job.has_priority_shares()
    }

    /// Returns whether writes carry placement handles as write streams.
    pub(crate) fn sends_write_streams(&self, job: &Job) -> bool {
        self.write_streams > 0 && !job.placement.is_empty()
    }

    /// Returns why the job's placement handles have no effect here.
    pub(crate) fn placement_note(&self, job: &Job) -> Option<String> {
        let sent = job.placement.is_empty() || self.namespace.is_some() || self.write_streams > 0;
        (!sent).then(|| match self.spec.kind {
            TargetKind::BlockDevice => {
                "placement handles are not sent: the device has no write streams (Linux 6.16 and FDP); by passthrough (/dev/ngXnY) older kernels send them".into()
            }
            _ => "placement handles are not sent: this target takes none".into(),
        })
    }

    /// Returns the descriptor; `None` where there is nothing behind the target.
    pub(crate) fn fd(&self) -> Option<RawFd> {
        self.file.as_ref().map(AsRawFd::as_raw_fd)
    }
}

fn geometry(spec: &TargetSpec, block_bytes: u32) -> Geometry {
    Geometry {
        capacity_bytes: spec.capacity_bytes,
        block_bytes,
    }
}

/// Returns whether the job, or a stream of it, verifies what it reads.
fn verifies(job: &Job) -> bool {
    job.workloads().any(|job| job.content.verify.is_some())
}

fn writes(job: &Job) -> bool {
    job.mix.ops.iter().any(|block| block.op.is_destructive())
}
