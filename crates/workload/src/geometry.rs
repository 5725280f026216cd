//! The sizes of a target.

/// What a stream must know of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Usable bytes.
    pub capacity_bytes: u64,
    /// Smallest addressable unit (logical block, or the file system's direct-I/O alignment).
    pub block_bytes: u32,
}
