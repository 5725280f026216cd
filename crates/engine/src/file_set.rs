//! Targets that are sets of files: the directory that holds them, and opening one of them. A file is looked for below
//! the directory alone: no link, mount or `..` leads out of it. Which files may be written is decided elsewhere.

use std::{
    fs::{File, Metadata, OpenOptions},
    io,
    ops::Range,
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt},
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat2},
    process::{Resource, getrlimit, setrlimit},
};
use workload::FileSet;

use crate::{TargetSpec, opened::Opened};

/// Files that stay open for all threads of a target together, where the job does not say how many.
const OPEN_USUAL: u32 = 65_536;
/// Files that are looked at for what of a set is in the page cache.
const SAMPLED: u32 = 256;

/// A set of files, and how they are opened.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) set: FileSet,
    handle: File,
    flags: OFlags,
}

impl Directory {
    /// Opens the directory of a set, whose files are opened for `writes` and as a job has them `opened`. A link in its place is not
    /// followed.
    pub(crate) fn open(
        spec: &TargetSpec,
        set: &FileSet,
        writes: bool,
        opened: Opened,
    ) -> io::Result<(Self, Metadata)> {
        let handle = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_CLOEXEC | libc::O_DIRECTORY | libc::O_NOFOLLOW)
            .open(&spec.path)?;
        let found = handle.metadata()?;
        let mut flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOATIME;
        flags |= if writes { OFlags::RDWR } else { OFlags::RDONLY };
        flags |= OFlags::from_bits_retain(opened.flags() as u32);
        let mut own = Self {
            set: set.clone(),
            handle,
            flags,
        };
        // Only an owner's reads can leave the time of the last access alone.
        match own.file(0) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                own.flags &= !OFlags::NOATIME;
            }
            opened => drop(opened?),
        }
        Ok((own, found))
    }

    /// Opens file `file` of the set, from 0.
    pub(crate) fn file(&self, file: u32) -> io::Result<OwnedFd> {
        self.open_below(&self.set.path(file), self.flags)
    }

    /// Opens a directory below the set's own, or that itself where the path is empty.
    pub(crate) fn below(&self, path: &str) -> io::Result<OwnedFd> {
        let path = if path.is_empty() { "." } else { path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.open_below(path, flags)
    }

    /// Returns how a file is opened to be read.
    pub(crate) fn reading_flags(&self) -> OFlags {
        self.flags.difference(OFlags::RDWR | OFlags::WRONLY) | OFlags::RDONLY
    }

    fn open_below(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        Ok(openat2(&self.handle, path, flags, Mode::empty(), beneath)?)
    }

    /// Returns up to 256 of the files, spread evenly over the set.
    pub(crate) fn sample(&self) -> impl Iterator<Item = io::Result<File>> + '_ {
        let step = self.set.count.div_ceil(SAMPLED).max(1) as usize;
        let files = (0..self.set.count).step_by(step);
        files.map(|file| self.file(file).map(File::from))
    }
}

/// Returns how many files each of `threads` keeps open, of the `own` ones that it works on.
pub(crate) fn open_at_once(set: &FileSet, own: u32, threads: u32) -> u32 {
    let most = set.open.unwrap_or((OPEN_USUAL / threads.max(1)).max(1));
    own.min(most)
}

/// Lets this process have as many files open as it may ask for: a ring holds no more than that. A refusal shows when
/// the files are opened.
pub(crate) fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Where a thread's files lie in the space of all.
#[derive(Debug)]
pub(crate) enum Starts {
    Even { first: u32, size_bytes: u64 },
    Uneven(Box<[u64]>),
}

impl Starts {
    /// The places of a thread's `own` files.
    pub(crate) fn new(set: &FileSet, own: Range<u32>) -> Self {
        match set.only_size() {
            Some(size_bytes) => Self::Even {
                first: own.start,
                size_bytes,
            },
            None => Self::Uneven(set.starts(own).into()),
        }
    }

    /// Returns the number of the file at a place, among the thread's own, and where it begins.
    #[inline(always)]
    pub(crate) fn at(&self, offset_bytes: u64) -> (u32, u64) {
        match self {
            Self::Even { first, size_bytes } => {
                let file = offset_bytes / size_bytes;
                (file as u32 - first, file * size_bytes)
            }
            Self::Uneven(starts) => {
                let file = starts.partition_point(|&start| start <= offset_bytes) - 1;
                (file as u32, starts[file])
            }
        }
    }
}
