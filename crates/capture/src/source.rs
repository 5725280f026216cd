//! What the capturing thread copies from: a CPU's part of a disk's trace.

use std::io;

/// One CPU's events, and the file that they go to.
pub(crate) trait Source: Send {
    /// Copies what is there while the trace goes on. Returns the bytes written.
    fn look(&mut self, buffer: &mut [u8]) -> io::Result<u64>;

    /// Copies the rest, once the trace has stopped. Returns the records that were passed over.
    fn rest(&mut self, buffer: &mut [u8]) -> io::Result<u64>;
}
