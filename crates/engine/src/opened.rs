//! The flags of `open` that a job asks for.

use workload::{Job, Sync};

/// How a job has its target opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opened {
    pub(crate) direct: bool,
    sync: Sync,
}

impl Opened {
    pub(crate) fn of(job: &Job) -> Self {
        Self {
            direct: job.direct,
            sync: job.sync,
        }
    }

    /// Returns the flags of `open` for that.
    pub(crate) fn flags(self) -> i32 {
        let direct = if self.direct { libc::O_DIRECT } else { 0 };
        direct
            | match self.sync {
                Sync::None => 0,
                Sync::Data => libc::O_DSYNC,
                Sync::All => libc::O_SYNC,
            }
    }
}
