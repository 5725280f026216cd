//! What the writes of a job carry.

use serde::{Deserialize, Serialize};

use crate::BytePattern;

/// What writes carry. Data is prepared before the run; see `docs/explanation/engine.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Share of each block that compresses away, 0..=1. 0 is incompressible random data.
    pub compressible: f64,
    /// Share of the 4 KiB units written that are copies of others, 0..=1. 0: no two are equal.
    #[serde(default)]
    pub dedup: f64,
    /// Bytes that every block repeats from its start. `None`: random ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<BytePattern>,
    /// Writes describe themselves and reads are checked. `None`: neither.
    #[serde(default)]
    pub verify: Option<Verify>,
}

/// What blocks say of themselves, beside their place, and what reads expect of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Which pass wrote them; each pass over old data takes a higher one, so that a lost write is seen.
    pub generation: u32,
    /// Distinguishes these data from those of others.
    pub seed: u64,
}
