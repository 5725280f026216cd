//! The journal's file: its name, its first line, and that both survive a crash.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    iter,
    os::unix::ffi::OsStrExt,
    path::{self, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

pub(crate) const SCHEMA: &str = "fathom-journal/2";
pub(crate) const SUFFIX: &str = "journal";
pub(crate) const HEADER_BYTES: usize = 512;

/// What a journal is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) schema: String,
    pub(crate) target: PathBuf,
    pub(crate) thread: usize,
    pub(crate) generation: u32,
    pub(crate) seed: u64,
    /// Random: distinguishes the writes of this journal from those of an earlier one that used the same numbers.
    pub(crate) run: u64,
}

/// Returns what a target's journals are called, unlike those of any other: `/` becomes `_`, and what would then be
/// taken for it, as all that a name may not show, is `%` and two hexadecimal digits. Readers go by the header.
pub(super) fn name(target: &Path) -> String {
    let absolute = path::absolute(target);
    let path = absolute.as_deref().unwrap_or(target).as_os_str();
    let path = path
        .as_bytes()
        .strip_prefix(b"/")
        .unwrap_or(path.as_bytes());
    let shown = |byte: &u8| match byte {
        b'/' => "_".into(),
        b'.' | b'-' | b':' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
            char::from(*byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    path.iter().map(shown).collect()
}

/// Makes the names in a directory durable.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    let directory = match directory == Path::new("") {
        true => Path::new("."),
        false => directory,
    };
    File::open(directory)?.sync_all()
}

/// Returns the file with its header, durable by name as well: `sync` is called for every directory that got an entry.
pub(super) fn begin(
    directory: &Path,
    path: &Path,
    header: &Header,
    sync: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<File> {
    let mut line = serde_json::to_vec(header)?;
    if line.len() >= HEADER_BYTES {
        return Err(io::Error::other("the target's path is too long"));
    }
    line.resize(HEADER_BYTES - 1, b' ');
    line.push(b'\n');
    let missing = directory.ancestors().take_while(|path| !path.exists());
    let missing: Vec<&Path> = missing.collect();
    fs::create_dir_all(directory)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(&line)?;
    file.sync_all()?;
    let parents = missing.iter().filter_map(|made| made.parent());
    iter::once(directory).chain(parents).try_for_each(sync)?;
    Ok(file)
}
