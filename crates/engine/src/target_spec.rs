//! What a target is: kind, place, size, and which file or device was checked for it.

use std::{fs::Metadata, os::unix::fs::MetadataExt, path::PathBuf};

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A directory with the job's set of files.
    FileSet,
    /// A block device or partition.
    BlockDevice,
    /// An NVMe namespace's generic character device (`/dev/ngXnY`), by passthrough.
    NvmeGeneric,
    /// Nothing: requests complete within the process. Shows what the load loop itself costs.
    Null,
    /// Nothing, by way of the kernel: requests become empty operations (`IORING_OP_NOP`) of a ring. Shows what the
    /// loop, the ring and its system calls cost.
    Nop,
}

/// A target to run a job on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetSpec {
    /// Where it is; for [`TargetKind::Null`] and [`TargetKind::Nop`] only a name.
    pub path: PathBuf,
    /// What it is.
    pub kind: TargetKind,
    /// Bytes from its start that jobs may touch.
    pub capacity_bytes: u64,
    /// Which file or device was checked and is held meanwhile; what else has taken its name is not used. `None`: any.
    pub held: Option<FileId>,
}

/// Which file, directory or device a path leads to: no other has it while this one is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    /// Number of the device that a file is on; of a device's node, the number of that device.
    pub device: u64,
    /// Number of the file there; 0 for a device.
    pub inode: u64,
}

impl FileId {
    pub(crate) fn of(found: &Metadata) -> Self {
        match found.is_file() || found.is_dir() {
            true => Self {
                device: found.dev(),
                inode: found.ino(),
            },
            false => Self {
                device: found.rdev(),
                inode: 0,
            },
        }
    }
}
