//! How much metadata a commit writes.

use super::params::{FsParams, Placement};

/// Tree node (btrfs default).
pub const NODE_BYTES: u64 = 16 << 10;
/// Items of the file and extent trees in a node: key and pointer 25 bytes, item 53.
const ITEMS: f64 = (NODE_BYTES / 78) as f64;
/// Data that one checksum leaf covers: 4 bytes for each 4 KiB.
const CHECKSUM_BYTES: f64 = (NODE_BYTES / 4 * 4096) as f64;

/// Returns the distinct leaves among `leaves` that `touches` uniform touches hit: L (1 - e^(-k/L)).
fn distinct(leaves: f64, touches: f64) -> f64 {
    let leaves = leaves.max(1.0);
    leaves * -(-touches / leaves).exp_m1()
}

/// Returns the bytes that a commit writes after `changes` extents were written, with `extents` in the file and
/// `data_bytes` of data. Copy-on-write rewrites every touched leaf in the trees of files, of extents (a reference
/// added, one dropped) and of checksums. The few nodes above them are left out.
pub fn commit_bytes(params: &FsParams, changes: u64, extents: u64, data_bytes: u64) -> u64 {
    if params.placement == Placement::InPlace {
        return params.journal_bytes;
    }
    let (changes, leaves) = (changes as f64, extents as f64 / ITEMS);
    let nodes = distinct(leaves, changes)
        + distinct(leaves, 2.0 * changes)
        + distinct(data_bytes as f64 / CHECKSUM_BYTES, changes);
    nodes.ceil() as u64 * NODE_BYTES * u64::from(params.metadata_copies)
}
