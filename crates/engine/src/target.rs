//! Opened targets: poll queues, and what an operation becomes on this kind of target. Whether a target may be overwritten
//! is not decided here.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom},
    iter,
    num::NonZeroU64,
    os::{
        fd::{AsRawFd, RawFd},
        unix::fs::MetadataExt,
    },
    path::PathBuf,
    sync::Arc,
};

use workload::{Geometry, Job, Op, Pattern, name_ops};

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
        if target.file.is_none() && target.directory.is_none() && job.content.verify.is_some() {
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
            self.pollable = job.direct && self.zoned.is_none() && queue.number("io_poll") == 1;
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

    /// A job with a set of files runs on one, and no other job does. Where nothing is behind the target, none is needed.
    fn check_set(&self, job: &Job) -> Result<(), EngineError> {
        let (found, expected) = match (self.spec.kind, job.files.is_some()) {
            (TargetKind::FileSet, false) => (
                "a directory of files",
                "one file or device: give the job `files`",
            ),
            (TargetKind::File | TargetKind::BlockDevice | TargetKind::NvmeGeneric, true) => {
                ("one file or device", "a directory with the job's files")
            }
            _ => return Ok(()),
        };
        Err(EngineError::WrongKind {
            path: self.spec.path.clone(),
            found,
            expected,
        })
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
            self.pollable = queue.number("io_poll") == 1;
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
            || job.content.verify.is_some()
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

    fn check_placement(&self, job: &Job) -> Result<(), EngineError> {
        let handles = match (&self.namespace, self.write_streams) {
            (Some(_), _) => self.placement_ids.len(),
            (None, 0) => return Ok(()),
            (None, streams) => usize::from(streams).min(usize::from(u8::MAX)),
        };
        match job.placement.iter().find(|&&h| usize::from(h) >= handles) {
            Some(handle) => Err(EngineError::Placement {
                path: self.spec.path.clone(),
                handle: *handle,
                handles,
            }),
            None => Ok(()),
        }
    }

    /// What reads bring is looked at in host memory by verify, and zones have a layer of their own over the ring.
    fn check_gpu(&self, job: &Job) -> Result<(), EngineError> {
        let streams = job.streams.iter().map(|stream| &stream.job);
        let verifies = |job: &Job| job.content.verify.is_some();
        let reason = match iter::once(job).chain(streams).any(verifies) {
            _ if !job.gpu => return Ok(()),
            true => "verify looks at data in host memory: leave gpu or content.verify out",
            false if self.zoned.is_some() => {
                "reads of zoned devices end in host memory: leave gpu out"
            }
            false => return Ok(()),
        };
        Err(EngineError::Unsupported {
            path: self.spec.path.clone(),
            op: "a read to a GPU",
            reason,
        })
    }

    /// Room is reserved in files.
    fn check_allocates(&self, job: &Job) -> Result<(), EngineError> {
        let kind = self.spec.kind;
        let nothing = matches!(kind, TargetKind::Null | TargetKind::Nop);
        let file = matches!(kind, TargetKind::File | TargetKind::FileSet);
        if file || nothing || job.ops().all(|op| op != Op::Allocate) {
            return Ok(());
        }
        Err(EngineError::Unsupported {
            path: self.spec.path.clone(),
            op: Op::Allocate.name(),
            reason: "room is reserved in files, which this target is not: use file:PATH",
        })
    }

    /// Appends need a zoned namespace by passthrough, the pattern `zones` needs zones, and zones need direct I/O.
    fn check_zones(&self, job: &Job) -> Result<(), EngineError> {
        let refuse = |reason: &str| {
            Err(EngineError::Zones {
                path: self.spec.path.clone(),
                reason: reason.into(),
            })
        };
        let appends = job.mix.ops.iter().any(|block| block.op == Op::Append);
        let in_zones = matches!(job.pattern, Pattern::Zones { .. });
        if appends && (self.namespace.is_none() || self.zoned.is_none()) {
            return Err(EngineError::Unsupported {
                path: self.spec.path.clone(),
                op: Op::Append.name(),
                reason: "zone append needs the NVMe generic device (/dev/ngXnY) of a zoned namespace; write with the pattern zones instead",
            });
        }
        if appends && !in_zones {
            return refuse("append goes to zones: use the pattern { zones = N }");
        }
        if in_zones && self.zoned.is_none() {
            return refuse(
                "it is not host-managed, so the pattern zones has no meaning: use sequential",
            );
        }
        if self.zoned.is_some() && !self.direct && writes(job) {
            return refuse("the page cache does not keep the order of writes: use direct = true");
        }
        Ok(())
    }

    /// Returns the descriptor; `None` where there is nothing behind the target.
    pub(crate) fn fd(&self) -> Option<RawFd> {
        self.file.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Checks size: the bytes of the job's region must exist, or reads would be short and writes fail.
    fn check_size(&self, job: &Job) -> Result<(), EngineError> {
        let region = job
            .region
            .resolve(self.geometry)
            .map_err(|source| EngineError::Stream {
                path: self.spec.path.clone(),
                source,
            })?;
        let expected_bytes = region.start_bytes + region.size_bytes;
        let found_bytes = match (&self.namespace, &self.file) {
            (Some(namespace), _) => namespace.size_bytes,
            (None, Some(file)) => (&mut &*file)
                .seek(SeekFrom::End(0))
                .map_err(|e| open_error(&self.spec, false, e))?,
            (None, None) => u64::MAX,
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

fn writes(job: &Job) -> bool {
    job.mix.ops.iter().any(|block| block.op.is_destructive())
}

/// By passthrough a block is one command, and nothing splits it: of one `op`, at most `most_bytes(op)`.
fn check_command_size(
    spec: &TargetSpec,
    job: &Job,
    most_bytes: impl Fn(Op) -> u64,
) -> Result<(), EngineError> {
    for block in &job.mix.ops {
        let sizes = block.sizes.iter().map(|size| size.size_bytes);
        let (largest, most) = (sizes.max().unwrap_or(0), most_bytes(block.op));
        if u64::from(largest) > most {
            return Err(EngineError::Passthrough {
                path: spec.path.clone(),
                reason: format!(
                    "{} of {largest} bytes, one command carries at most {most}",
                    block.op.name()
                ),
                hint: "use smaller blocks, or the block device, where the kernel splits them",
            });
        }
    }
    Ok(())
}

/// What the kernel lets pass to the device in one command, where it has a block device of the namespace too.
#[derive(Default)]
struct KernelLimits {
    transfer_bytes: Option<NonZeroU64>,
    append_bytes: Option<NonZeroU64>,
}

impl KernelLimits {
    fn of(queue: &QueueAttributes) -> Self {
        Self {
            transfer_bytes: NonZeroU64::new(queue.number("max_hw_sectors_kb") << 10),
            append_bytes: NonZeroU64::new(queue.number("zone_append_max_bytes")),
        }
    }

    fn most_bytes(&self, op: Op) -> u64 {
        let known = match op {
            Op::Read | Op::Write => self.transfer_bytes,
            Op::Append => self.append_bytes.or(self.transfer_bytes),
            Op::Trim | Op::Flush | Op::WriteZeroes | Op::Allocate | name_ops!() => None,
        };
        known.map_or(u64::MAX, NonZeroU64::get)
    }
}
