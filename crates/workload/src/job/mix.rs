//! Which operations a job has, in which shares and block sizes.

use serde::{Deserialize, Serialize};

use crate::Op;

/// Operation mix: for each operation a relative weight and its block sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// At least one entry; weights are relative and need not sum to 100.
    pub ops: Vec<Block>,
}

/// One operation of a [`Mix`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The operation.
    pub op: Op,
    /// Relative weight, > 0.
    pub weight: f64,
    /// Block sizes of this operation; at least one entry unless the operation is a flush.
    pub sizes: Vec<BlockShare>,
    /// Alignment of its offsets in bytes, in place of the job's. `None`: as the job has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align_bytes: Option<u64>,
}

/// One block size with its share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockShare {
    /// Block size in bytes.
    pub size_bytes: u32,
    /// Relative weight, > 0.
    pub weight: f64,
}
