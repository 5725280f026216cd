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

    /// Returns whether completions may be polled for. On a stack they may not: the worker of dm-crypt passes polled I/O
    /// on, and nobody polls for it. Each waits for the timeout of the drive below.
    pub(crate) fn polls(&self) -> bool {
        let stacked = std::fs::read_dir(self.0.join("../slaves"))
            .is_ok_and(|mut below| below.next().is_some());
        self.number("io_poll") == 1 && !stacked
    }

    /// Returns an attribute that is a number; 0 where there is none.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, remove_dir_all, write};

    use super::QueueAttributes;

    #[test]
    fn a_disk_with_poll_queues_is_polled_and_a_stack_on_it_is_not() {
        let disk = std::env::temp_dir().join(format!("fathom-polls-{}", std::process::id()));
        create_dir_all(disk.join("queue")).unwrap();
        create_dir_all(disk.join("slaves")).unwrap();
        let queue = QueueAttributes(disk.join("queue"));
        assert!(!queue.polls());
        write(disk.join("queue/io_poll"), "1\n").unwrap();
        assert!(queue.polls());
        write(disk.join("slaves/nvme0n1"), "").unwrap();
        assert!(!queue.polls());
        remove_dir_all(disk).unwrap();
    }
}
