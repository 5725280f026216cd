//! What the capturing thread copies from: a CPU's part of a disk's trace.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// One CPU's events, and the file that they go to.
pub(crate) trait Source: Send {
    /// Copies what is there while the trace goes on. Returns the bytes written.
    fn look(&mut self, buffer: &mut [u8]) -> io::Result<u64>;

    /// Copies the rest, once the trace has stopped. Returns the records that were passed over.
    fn rest(&mut self, buffer: &mut [u8]) -> io::Result<u64>;
}

/// Returns what a folder has for each CPU, such as `cpu0`: the CPU's number and the path, in order.
pub(crate) fn by_cpu(folder: &Path, prefix: &str) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
        if let Some(cpu) = number.and_then(|number| number.parse().ok()) {
            found.push((cpu, entry.path()));
        }
    }
    found.sort_by_key(|&(cpu, _)| cpu);
    Ok(found)
}
