//! What the arm may be doing, and the sums of its time.

/// What the arm is doing.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Nothing that anybody waits for; it may read ahead.
    Idle,
    /// A read, or a write that is acknowledged from the medium.
    Command { slot: u32 },
    /// Writes from the cache.
    Destage { start: u64, end: u64 },
    /// Reads ahead up to the point that was promised.
    Ahead,
    /// Writes a band of shingled tracks anew.
    Clean,
}

/// Time of the arm, by what it was spent on.
#[derive(Clone, Default)]
pub(super) struct Spent {
    pub(super) busy_ns: u64,
    pub(super) seek_ns: u64,
    pub(super) wait_ns: u64,
    pub(super) transfer_ns: u64,
}
