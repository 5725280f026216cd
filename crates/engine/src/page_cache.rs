//! How much of a file or block device is in the page cache: what is there already is not read from the drive.

use std::{fs::File, os::fd::AsRawFd};

use crate::{TargetSpec, file_set::Directory};

/// `cachestat` (Linux 6.5), the same number on every architecture.
const CACHESTAT: libc::c_long = 451;
/// More than this share of a file is reported.
const NOTED_SHARE: f64 = 0.01;

#[repr(C)]
#[derive(Default)]
struct Pages {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Returns its bytes in the page cache; `None` where the kernel does not report them.
fn cached_bytes(file: &File) -> Option<u64> {
    // The whole: no length is up to the end.
    let range = [0u64; 2];
    let mut pages = Pages::default();
    let fd = file.as_raw_fd();
    // SAFETY: the call reads the range, two u64, and fills the five of `pages`; the last argument is flags.
    let done = unsafe { libc::syscall(CACHESTAT, fd, range.as_ptr(), &raw mut pages, 0) };
    // SAFETY: a system call without memory.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    (done == 0).then_some(pages.cached * page_bytes as u64)
}

/// Returns what a reader must know of a buffered job on what is partly in memory.
pub(crate) fn note(file: &File, spec: &TargetSpec) -> Option<String> {
    said(cached_bytes(file)?, spec.capacity_bytes)
}

/// Returns it for a set of files, by a sample of them.
pub(crate) fn note_of_set(directory: &Directory) -> Option<String> {
    let (mut cached, mut all) = (0, 0);
    for file in directory.sample() {
        let file = file.ok()?;
        cached += cached_bytes(&file)?;
        all += file.metadata().ok()?.len();
    }
    said(cached, all)
}

fn said(cached: u64, all: u64) -> Option<String> {
    let share = cached as f64 / all.max(1) as f64;
    (share > NOTED_SHARE).then(|| {
        format!(
            "{:.0} % of the target was in the page cache before the first I/O: reads of that part do not reach the drive",
            share.min(1.0) * 100.0
        )
    })
}
