//! Opens the file or device of a target: access mode, direct I/O and its alignment, and nothing but what was checked.

use std::{
    fs::{File, Metadata, OpenOptions},
    io, mem,
    os::{
        fd::AsRawFd,
        unix::fs::{FileTypeExt, OpenOptionsExt},
    },
};

use crate::{
    EngineError,
    opened::Opened,
    target_spec::{FileId, TargetKind, TargetSpec},
};

/// Opens what was checked, and nothing else that has its name by now.
pub(crate) fn open_held(
    spec: &TargetSpec,
    writes: bool,
    opened: Opened,
) -> Result<(File, Metadata), EngineError> {
    let file = open_file(spec, writes, opened)?;
    let found = file.metadata().map_err(|e| open_error(spec, writes, e))?;
    check_kind(spec, found.file_type())?;
    if spec.held.is_some_and(|held| held != FileId::of(&found)) {
        return Err(EngineError::Replaced {
            path: spec.path.clone(),
        });
    }
    Ok((file, found))
}

/// Opens a file. Reads leave the time of the last access alone where the kernel allows it (owner or root). Keeping it
/// costs each read a look and some reads a write of the inode; neither is the target's. A link put in a checked file's
/// place is not followed; those of `/proc` are descriptors, which nobody can redirect.
fn open_file(spec: &TargetSpec, writes: bool, opened: Opened) -> Result<File, EngineError> {
    let may_be_link = spec.kind != TargetKind::File || spec.path.starts_with("/proc");
    let flags = libc::O_CLOEXEC | opened.flags() | if may_be_link { 0 } else { libc::O_NOFOLLOW };
    let open = |more| {
        OpenOptions::new()
            .read(true)
            .write(writes)
            .custom_flags(flags | more)
            .open(&spec.path)
    };
    open(libc::O_NOATIME)
        .or_else(|refusal| match refusal.raw_os_error() {
            Some(libc::EPERM) => open(0),
            _ => Err(refusal),
        })
        .map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) if opened.direct => {
                wrong_kind(spec).unwrap_or_else(|| no_direct(spec))
            }
            _ => open_error(spec, writes, error),
        })
}

/// What cannot be opened for direct I/O may be a directory, or no disk.
fn wrong_kind(spec: &TargetSpec) -> Option<EngineError> {
    let found = std::fs::metadata(&spec.path).ok()?;
    check_kind(spec, found.file_type()).err()
}

pub(crate) fn no_direct(spec: &TargetSpec) -> EngineError {
    EngineError::NoDirect {
        path: spec.path.clone(),
    }
}

pub(crate) fn open_error(spec: &TargetSpec, writes: bool, source: io::Error) -> EngineError {
    let hint = match source.raw_os_error() {
        Some(libc::ENOENT) => ": check the name",
        Some(libc::EACCES | libc::EPERM) => ": run as a user who may, or change its permissions",
        Some(libc::EROFS) => ": it is read-only; only jobs that read can run on it",
        Some(libc::ELOOP) => ": it is a symbolic link: give the file itself",
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
    let expected = match spec.kind {
        TargetKind::BlockDevice => "a block device",
        TargetKind::NvmeGeneric => "a character device",
        TargetKind::File | TargetKind::FileSet | TargetKind::Null | TargetKind::Nop => {
            "a regular file"
        }
    };
    let found = match () {
        () if found.is_file() => "a regular file",
        () if found.is_block_device() => "a block device",
        () if found.is_char_device() => "a character device",
        () => "something else (a directory, a pipe or a socket)",
    };
    if found == expected {
        return Ok(());
    }
    Err(EngineError::WrongKind {
        path: spec.path.clone(),
        found,
        expected,
    })
}

/// Returns what offsets, lengths and addresses of direct I/O must be multiples of; `None`: no direct I/O. Kernels
/// before 6.1 do not report it for files: 4096 satisfies every file system.
pub(crate) fn direct_alignment(file: &File, kind: TargetKind) -> Option<u32> {
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
