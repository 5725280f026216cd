//! The GPU in whose memory the reads of a real load end.

use serde::{Deserialize, Serialize};

/// A GPU that reads are copied to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// As its maker calls it.
    pub name: String,
    /// Speed of its link to the host, `32.0 GT/s x16`; `None`: the kernel does not report it.
    pub link: Option<String>,
    /// What copies from host memory reach alone, bytes per second.
    pub copy_bytes_per_s: f64,
}
