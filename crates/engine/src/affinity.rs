//! Cores: which of them this process may use, and pinning a thread to one. Also how long a thread has run on them and
//! waited for them.

use std::{fs::File, io, mem, os::unix::fs::FileExt};

/// Cores this process may use, ascending.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    // SAFETY: a zeroed cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: `set` is valid for writes of its own size.
    if unsafe { libc::sched_getaffinity(0, mem::size_of_val(&set), &mut set) } != 0 {
        return Vec::new();
    }
    (0..libc::CPU_SETSIZE as usize)
        // SAFETY: the index is below CPU_SETSIZE.
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect()
}

/// Pins the calling thread.
pub(crate) fn pin_to(cpu: usize) -> io::Result<()> {
    // SAFETY: as in `allowed_cpus`; the index came from there.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: `cpu` is below CPU_SETSIZE.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` is valid for reads of its own size.
    match unsafe { libc::sched_setaffinity(0, mem::size_of_val(&set), &set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Moves the calling thread to its core, if it has one: that core where it worked, else a note.
pub(crate) fn pinned(cpu: Option<usize>, notes: &mut Vec<String>) -> Vec<usize> {
    let Some(cpu) = cpu else { return Vec::new() };
    match pin_to(cpu) {
        Ok(()) => vec![cpu],
        Err(error) => {
            notes.push(format!(
                "a load thread could not be pinned to core {cpu}: {error}"
            ));
            Vec::new()
        }
    }
}

/// Lets the calling thread run wherever the process may, though it was made by a pinned one.
pub(crate) fn unpin() {
    // SAFETY: a zeroed cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: a system call without arguments. The process's id is that of its first thread, which is never pinned.
    let first = unsafe { libc::getpid() };
    // SAFETY: `set` is valid for writes, then for reads, of its own size.
    unsafe {
        if libc::sched_getaffinity(first, mem::size_of_val(&set), &mut set) == 0 {
            libc::sched_setaffinity(0, mem::size_of_val(&set), &set);
        }
    }
}

/// CPU time of one thread, ns since it began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuTime {
    pub(crate) user_ns: u64,
    pub(crate) sys_ns: u64,
    /// Ready to run, but something else had the core. 0 where the kernel does not report it.
    pub(crate) waiting_ns: u64,
}

/// Reads the CPU time of the thread that made it.
#[derive(Debug)]
pub(crate) struct CpuMeter {
    schedstat: Option<File>,
}

impl CpuMeter {
    pub(crate) fn new() -> Self {
        Self {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
        }
    }

    pub(crate) fn read(&self) -> CpuTime {
        // SAFETY: a zeroed rusage is a valid value.
        let mut usage: libc::rusage = unsafe { mem::zeroed() };
        // SAFETY: `usage` is valid for the call to fill.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000;
        CpuTime {
            user_ns: ns(usage.ru_utime),
            sys_ns: ns(usage.ru_stime),
            waiting_ns: self.waiting_ns().unwrap_or(0),
        }
    }

    /// Returns the second field of `/proc/PID/schedstat` (kernel documentation, scheduler/sched-stats).
    fn waiting_ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let length = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length])
            .ok()?
            .split_ascii_whitespace()
            .nth(1)?
            .parse()
            .ok()
    }
}
