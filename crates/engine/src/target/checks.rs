//! Why a job is refused on an opened target: what this target cannot do, or what would not fit.

use std::io::{Seek, SeekFrom};

use workload::{Job, Op, Pattern};

use super::{Target, verifies, writes};
use crate::{EngineError, open_file::open_error, target_spec::TargetKind};

impl Target {
    /// A job with a set of files runs on one, and no other job does. Where nothing is behind the target, none is needed.
    pub(super) fn check_set(&self, job: &Job) -> Result<(), EngineError> {
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

    pub(super) fn check_placement(&self, job: &Job) -> Result<(), EngineError> {
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
    pub(super) fn check_gpu(&self, job: &Job) -> Result<(), EngineError> {
        let reason = match verifies(job) {
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
    pub(super) fn check_allocates(&self, job: &Job) -> Result<(), EngineError> {
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
    pub(super) fn check_zones(&self, job: &Job) -> Result<(), EngineError> {
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

    /// Checks size: the bytes of the job's region must exist, or reads would be short and writes fail.
    pub(super) fn check_size(&self, job: &Job) -> Result<(), EngineError> {
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
