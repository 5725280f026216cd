//! What the kernel publishes on the request queue of a disk.

use std::path::{Path, PathBuf};

/// The `queue` directory of a disk in sysfs; a partition has its disk's. Poll queues, for one, exist only
/// where the administrator configured them (`nvme.poll_queues=`).
pub(crate) struct QueueAttributes(PathBuf);

impl QueueAttributes {
    pub(crate) fn of(device: u64) -> Self {
        let (major, minor) = (libc::major(device), libc::minor(device));
        let directory = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        let own = directory.join("queue");
        Self(match own.exists() {
            true => own,
            false => directory.join("../queue"),
        })
    }

    pub(crate) fn named(disk: &Path) -> Self {
        Self(Path::new("/sys/block").join(disk).join("queue"))
    }

    /// Returns an attribute; empty where there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.0.join(name)).unwrap_or_default();
        text.trim().to_owned()
    }

    /// Returns an attribute that is a number; 0 where there is none.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }
}
