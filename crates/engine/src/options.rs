//! How to run a job, beyond what the job itself says.

use std::time::{Duration, SystemTime};

/// Which system interface issues the I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Backend {
    /// io_uring, or threads where the kernel forbids it; the setup report says which and why.
    #[default]
    Auto,
    /// io_uring or an error.
    IoUring,
    /// One thread per outstanding I/O, `pread` and `pwrite`.
    Threads,
}

/// How to run a job.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of the request streams: the first target's is this one, the others' are derived from it.
    pub seed: u64,
    /// System interface.
    pub backend: Backend,
    /// Pin each load thread to a core of its own, when there are enough cores.
    pub pin: bool,
    /// Poll for completions where the device has poll queues (`queue/io_poll`).
    pub poll: bool,
    /// Let a thread of the kernel submit (SQPOLL; fio: `sqthread_poll`): no system call per batch, for a second
    /// busy core per load thread. Refused by the kernel, the thread submits itself and a note says so.
    pub sqpoll: bool,
    /// Completions to wait for before a thread reaps (fio: `iodepth_batch_complete_min`). 1 sees
    /// every completion as soon as possible; more saves CPU and adds to the latency measured.
    pub reap_min: u32,
    /// Back the I/O buffers with huge pages. Off by default: an application's buffers are ordinary pages, and so are
    /// fio's. On devices limited by segments per request, huge pages alone raise the rate of large blocks by half.
    pub huge_pages: bool,
    /// How long the end of a run waits for I/O still in flight before it is reported as lost.
    pub drain_timeout: Duration,
    /// When to issue the first I/O; `None`: as soon as every thread is ready. Hosts that share a
    /// start time load together, each by its own clock.
    pub start_at: Option<SystemTime>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            backend: Backend::Auto,
            pin: true,
            poll: true,
            sqpoll: false,
            reap_min: 1,
            huge_pages: false,
            drain_timeout: Duration::from_secs(30),
            start_at: None,
        }
    }
}
