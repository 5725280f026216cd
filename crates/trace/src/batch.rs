//! I/Os as columns: what a reader hands over at a time.

use crate::Io;

/// Columns of equal length. `NONE_TIME` and `NONE_NAME` stand for what is not recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Nanoseconds since the trace's first I/O.
    pub issue_ns: Vec<u64>,
    /// From issue to completion.
    pub latency_ns: Vec<u64>,
    /// First byte.
    pub offset_bytes: Vec<u64>,
    /// Length.
    pub size_bytes: Vec<u64>,
    /// The operation's number.
    pub op: Vec<u8>,
    /// The flags' bits.
    pub flags: Vec<u8>,
    /// Number of the device's name.
    pub device: Vec<u32>,
    /// Number of the process's name.
    pub process: Vec<u32>,
    /// Number of the thread that asked.
    pub pid: Vec<u32>,
    /// CPU of the issue.
    pub cpu: Vec<u32>,
}

impl Batch {
    /// A latency that is not recorded.
    pub const NONE_TIME: u64 = u64::MAX;
    /// A process, thread or CPU that is not recorded.
    pub const NONE_NAME: u32 = u32::MAX;

    /// Returns the number of I/Os.
    pub fn len(&self) -> usize {
        self.issue_ns.len()
    }

    /// Returns whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.issue_ns.is_empty()
    }

    /// Adds an I/O whose trace began at `base_ns`.
    pub(crate) fn push(&mut self, io: &Io, base_ns: u64) {
        self.issue_ns.push(io.issue_ns.saturating_sub(base_ns));
        self.latency_ns
            .push(io.latency_ns.unwrap_or(Self::NONE_TIME));
        self.offset_bytes.push(io.offset_bytes);
        self.size_bytes.push(io.size_bytes);
        self.op.push(io.op as u8);
        self.flags.push(io.flags.0);
        self.device.push(io.device);
        self.process.push(io.process.unwrap_or(Self::NONE_NAME));
        // Linux has no greater ones; a damaged record may.
        let small = |number: Option<u32>| number.filter(|&number| number <= i32::MAX as u32);
        self.pid.push(small(io.pid).unwrap_or(Self::NONE_NAME));
        self.cpu.push(small(io.cpu).unwrap_or(Self::NONE_NAME));
    }
}
