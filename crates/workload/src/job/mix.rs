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
