//! Positions of patterns that go through a region in order: where each thread begins, and which requests follow on
//! from the same position. Other patterns draw every place anew and have none.

use serde::{Deserialize, Serialize};

/// Whose the positions of an ordered pattern are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Position {
    /// Over the threads of a job or stream.
    pub threads: ThreadPositions,
    /// Over the operations of a mix. `None`: as the pattern has it, which is together for `sequential`. Where a part of
    /// the requests is random, reads follow reads and everything else follows writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationPositions>,
    /// How much further on every position begins, counted round the region's end. A job that
    /// [goes on](crate::Job::continued) where another ended has it; method files do not.
    #[serde(skip_serializing_if = "is_zero")]
    pub ahead_bytes: u64,
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// Where each thread begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadPositions {
    /// Thread `i` of `n` at `i/n` of the region, with a position of its own.
    #[default]
    Part,
    /// Every thread where a single one begins, with a position of its own.
    Start,
    /// One position for all: the next request, whichever thread issues it, follows the one before.
    Shared,
}

/// Which operations of a mix follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationPositions {
    /// All from one position.
    Together,
    /// Each operation from a position of its own.
    Apart,
}

impl Position {
    /// Returns whether it is what every pattern has by itself.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether all threads follow on from the same positions.
    pub fn is_shared(&self) -> bool {
        self.threads == ThreadPositions::Shared
    }

    /// Returns which part of how many the positions of thread `thread` of `threads` begin at.
    pub(crate) fn part_of(&self, thread: u32, threads: u32) -> (u32, u32) {
        match self.threads {
            ThreadPositions::Part => (thread, threads),
            ThreadPositions::Start | ThreadPositions::Shared => (0, 1),
        }
    }
}
