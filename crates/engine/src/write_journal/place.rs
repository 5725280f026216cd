//! Where a write journal lies: a journal in memory, or on the disk that is under test, proves nothing after a
//! power cut. Knows disks, their partitions and the file systems on them; looks through no other layers.

use std::{
    fs::{FileType, Metadata},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Returns what a reader must know of the place of a journal in `directory` of writes to `target`.
pub(crate) fn caveat(directory: &Path, target: &Path) -> Option<String> {
    let (kind, journal_disk) = mount(directory.metadata().ok()?.dev())?;
    if ["tmpfs", "ramfs"].contains(&kind.as_str()) {
        return Some(format!("is in memory ({kind}), which a power cut empties"));
    }
    let disk = journal_disk.filter(|disk| disk_of(target).as_ref() == Some(disk))?;
    let name = disk.file_name()?.display();
    Some(format!(
        "is on {name}, as is the target: a disk that loses acknowledged writes may lose their journal too"
    ))
}

/// Returns the type of the file system with a device number, and the disk that it is on.
fn mount(device: u64) -> Option<(String, Option<PathBuf>)> {
    let number = format!("{}:{}", libc::major(device), libc::minor(device));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts
        .lines()
        .find(|line| line.split(' ').nth(2) == Some(&number))?;
    let (kind, rest) = line.split_once(" - ")?.1.split_once(' ')?;
    // btrfs has no device number of its own disk.
    let source = Path::new(rest.split(' ').next()?);
    let disk = disk(device).or_else(|| disk(block_device(source.metadata().ok()?)?));
    Some((kind.to_owned(), disk))
}

fn block_device(found: Metadata) -> Option<u64> {
    found.file_type().is_block_device().then(|| found.rdev())
}

fn disk_of(target: &Path) -> Option<PathBuf> {
    let found = target.metadata().ok()?;
    let kind: FileType = found.file_type();
    if kind.is_char_device() {
        // A generic NVMe device goes by the name of its block device.
        let rest = target.file_name()?.to_str()?.strip_prefix("ng")?;
        return Path::new("/sys/block")
            .join(format!("nvme{rest}"))
            .canonicalize()
            .ok();
    }
    match kind.is_block_device() {
        true => disk(found.rdev()),
        false => mount(found.dev())?.1,
    }
}

/// Returns a disk in sysfs; a partition is its disk.
fn disk(device: u64) -> Option<PathBuf> {
    let (major, minor) = (libc::major(device), libc::minor(device));
    let found = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    let found = found.canonicalize().ok()?;
    match found.join("partition").exists() {
        true => Some(found.parent()?.to_owned()),
        false => Some(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_in_memory_is_told_and_one_that_cannot_be_placed_is_not() {
        let in_memory = caveat(Path::new("/dev/shm"), Path::new("/"));
        assert!(in_memory.is_none_or(|text| text.contains("a power cut empties")));
        assert_eq!(caveat(Path::new("/proc"), Path::new("/dev/null")), None);
    }
}
