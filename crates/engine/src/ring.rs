//! Setting up one thread's ring, with one registered file and one registered buffer region. It takes the newest
//! features that the kernel accepts, tried one rung after the other.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

use io_uring::{Builder, IoUring, Submitter, cqueue, squeue};

use crate::{buffers::Buffers, file_set::raise_open_files, protocol::Protocol};

/// Most submission entries the kernel accepts.
const MOST_ENTRIES: u32 = 32_768;
/// Most I/O that one load thread keeps in flight: a ring holds one entry more, for the tick.
pub const IODEPTH_MAX: u32 = MOST_ENTRIES - 1;
/// A registered buffer is at most this long.
const MOST_REGISTERED_BYTES: usize = 1 << 30;

/// Rungs of features, by the kernel that brought them: Linux 6.6, 6.1, 5.19, 5.1.
const LADDER: [&[&str]; 4] = [
    &["single-issuer", "defer-taskrun", "no-sqarray"],
    &["single-issuer", "defer-taskrun"],
    &["coop-taskrun"],
    &[],
];
/// The same where a thread of the kernel submits; task work is its own then.
const SQPOLL_LADDER: [&[&str]; 3] = [
    &["sqpoll", "single-issuer", "no-sqarray"],
    &["sqpoll", "single-issuer"],
    &["sqpoll"],
];
/// How long the kernel's thread polls an empty queue before it sleeps.
const SQPOLL_IDLE_MS: u32 = 10;

fn ask<S: squeue::EntryMarker, C: cqueue::EntryMarker>(setup: &mut Builder<S, C>, feature: &str) {
    match feature {
        "sqpoll" => setup.setup_sqpoll(SQPOLL_IDLE_MS),
        "single-issuer" => setup.setup_single_issuer(),
        "defer-taskrun" => setup.setup_defer_taskrun(),
        "no-sqarray" => setup.setup_no_sqarray(),
        _ => setup.setup_coop_taskrun(),
    };
}

/// What a ring shall do besides.
#[derive(Clone, Copy)]
pub(crate) struct RingOptions {
    /// Busy-poll the device for completions.
    pub(crate) poll: bool,
    /// Serve a thread that looks for completions between arrivals.
    pub(crate) spin: bool,
    /// Let a thread of the kernel submit.
    pub(crate) sqpoll: bool,
}

/// A ring and what it has.
pub(crate) struct Ring<P: Protocol> {
    pub(crate) io: IoUring<P::Entry, P::Completion>,
    pub(crate) features: Vec<String>,
    pub(crate) polls: bool,
    /// Whether a thread of the kernel submits.
    pub(crate) sqpoll: bool,
    /// Whether the kernel flags completions that wait to be run, so that a spinning thread sees
    /// them without a system call.
    pub(crate) flags_taskrun: bool,
    pub(crate) registered_buffers: bool,
    pub(crate) notes: Vec<String>,
}

impl<P: Protocol> Ring<P> {
    /// Returns a ring for `iodepth` I/O in flight on the calling thread.
    pub(crate) fn new(iodepth: u32, options: RingOptions) -> io::Result<Self> {
        if !options.sqpoll {
            return Self::climb(&LADDER, iodepth, options);
        }
        Self::climb(&SQPOLL_LADDER, iodepth, options).or_else(|refusal| {
            let without = RingOptions { sqpoll: false, ..options };
            let mut ring = Self::climb(&LADDER, iodepth, without)?;
            ring.notes.push(format!(
                "the load threads submit themselves: SQPOLL was asked for and refused ({refusal}); it needs Linux 5.11 or root, and the kernel's leave"
            ));
            Ok(ring)
        })
    }

    /// Sets up a ring with the features of the first rung that the kernel takes.
    fn climb(ladder: &[&[&str]], iodepth: u32, options: RingOptions) -> io::Result<Self> {
        let RingOptions { poll, spin, sqpoll } = options;
        let mut refusal = io::Error::from_raw_os_error(libc::EINVAL);
        for rung in ladder {
            let mut setup = IoUring::<P::Entry, P::Completion>::builder();
            for feature in *rung {
                ask(&mut setup, feature);
            }
            setup.setup_clamp();
            let flags_taskrun = spin && !sqpoll && !rung.is_empty();
            if flags_taskrun {
                setup.setup_taskrun_flag();
            }
            if poll {
                setup.setup_iopoll();
            }
            // One entry more than I/O in flight, for the tick.
            match setup.build((iodepth + 1).next_power_of_two()) {
                Ok(io) => {
                    return Ok(Self {
                        io,
                        features: rung.iter().map(ToString::to_string).collect(),
                        polls: poll,
                        sqpoll,
                        flags_taskrun,
                        registered_buffers: false,
                        notes: Vec::new(),
                    });
                }
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refusal = error,
                Err(error) => return Err(error),
            }
        }
        Err(refusal)
    }

    /// Registers the target's descriptor and the buffers. A refused buffer registration (usually
    /// RLIMIT_MEMLOCK) costs speed only and becomes a note.
    pub(crate) fn register(&mut self, fd: Option<RawFd>, buffers: &Buffers) -> io::Result<()> {
        let Some(fd) = fd else { return Ok(()) };
        self.io.submitter().register_files(&[fd])?;
        self.register_buffers(buffers);
        Ok(())
    }

    /// Registers a table for `len` files at once, and the buffers.
    pub(crate) fn register_table(&mut self, len: u32, buffers: &Buffers) -> io::Result<()> {
        raise_open_files();
        let empty = vec![-1; len as usize];
        self.io.submitter().register_files(&empty)?;
        self.register_buffers(buffers);
        Ok(())
    }

    /// Returns the registered table of `len` files, which is empty.
    pub(crate) fn table(&self, len: u32) -> FileTable {
        FileTable {
            ring: self.io.as_raw_fd(),
            len,
            free: (0..len).rev().collect(),
        }
    }

    fn register_buffers(&mut self, buffers: &Buffers) {
        let submitter = self.io.submitter();
        let region = buffers.region();
        let registered = match region.iov_len {
            ..=MOST_REGISTERED_BYTES => {
                // SAFETY: the region stays mapped while I/O can be in flight; see `uring::run`.
                unsafe { submitter.register_buffers(&[region]) }
            }
            _ => Err(io::Error::other("more than 1 GiB per thread")),
        };
        match registered {
            Ok(()) => self.registered_buffers = true,
            Err(error) => self.notes.push(format!(
                "I/O buffers are not registered ({error}); each I/O pins its own pages, which costs CPU: raise RLIMIT_MEMLOCK"
            )),
        }
    }

    /// Lets go of the target's descriptor now. Closing the ring would do so some time later, and the target could not
    /// be unmounted or opened exclusively until then.
    pub(crate) fn unregister(&self) {
        let submitter = self.io.submitter();
        // For empty operations nothing is registered; there is nothing to undo then.
        let _ = submitter.unregister_files();
        let _ = submitter.unregister_buffers();
    }
}

/// The number of a file that a table does not hold.
pub(crate) const NO_FILE: u32 = u32::MAX;

/// The files that a ring holds open, by their numbers. Usable only while the ring is there, and on its thread.
#[derive(Debug)]
pub(crate) struct FileTable {
    ring: RawFd,
    len: u32,
    free: Vec<u32>,
}

/// `struct io_uring_files_update` of `linux/io_uring.h`.
#[repr(C)]
struct FilesUpdate {
    offset: u32,
    reserved: u32,
    fds: u64,
}

/// `IORING_REGISTER_FILES_UPDATE` of `linux/io_uring.h` (Linux 5.5).
const REGISTER_FILES_UPDATE: libc::c_uint = 6;

impl FileTable {
    /// Returns how many files it takes.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Returns a number that was never used or was given back.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Gives a number back.
    pub(crate) fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Puts a file in the place of what had its number. The ring keeps it open from then on.
    pub(crate) fn put(&self, number: u32, file: &OwnedFd) -> io::Result<()> {
        let fd = file.as_raw_fd();
        let update = FilesUpdate {
            offset: number,
            reserved: 0,
            fds: &raw const fd as u64,
        };
        // SAFETY: the kernel reads the update and the one descriptor that it points to; both outlive the call.
        let done = unsafe {
            libc::syscall(
                libc::SYS_io_uring_register,
                self.ring,
                REGISTER_FILES_UPDATE,
                &raw const update,
                1,
            )
        };
        match done {
            1 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Lets system calls name the ring by index instead of descriptor; saves a look-up in each.
pub(crate) fn register_ring_fd(submitter: &mut Submitter<'_>) -> bool {
    submitter.register_ring_fd().is_ok()
}

/// Returns why io_uring cannot be used here; `None` when it can.
pub(crate) fn refusal() -> Option<String> {
    IoUring::new(2).err().as_ref().map(describe)
}

/// Returns why there is no ring, and what to do where something can be done.
pub(crate) fn describe(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => "the kernel or its seccomp filter does not know io_uring".into(),
        Some(libc::EPERM | libc::EACCES) => "io_uring is forbidden here".into(),
        Some(libc::ENOMEM) => {
            "there is no memory for io_uring's queues, which count as locked: raise RLIMIT_MEMLOCK (ulimit -l) or use fewer threads or a lower iodepth".into()
        }
        _ => format!("io_uring set-up failed: {error}"),
    }
}
