//! A load thread that works on names and attributes of files: one system call at a time, and each in its own row. Calls
//! are made from the open directory that holds the file, by the name in it, so that no link leads elsewhere.
//!
//! Before the start the thread makes the state that its job begins with. After the end it makes all files again, so that
//! every step finds the whole set.

use std::{
    collections::{BTreeMap, VecDeque},
    io, mem,
    os::fd::{IntoRawFd, OwnedFd},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::fs::{
    AtFlags, FallocateFlags, Mode, OFlags, RenameFlags, fallocate, ftruncate, mkdirat, openat,
    renameat_with, statat, unlinkat,
};
use workload::{FileSet, Job, Op, Request};

use crate::{
    EngineError, TargetSetup,
    affinity::pinned,
    buffers::Pages,
    clock::Clock,
    driver::{self, ThreadSpec},
    file_set::{Directory, Starts, raise_open_files},
    message::ThreadContext,
    queue_pair::{QueuePair, wait_until},
};

const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
const DIRECTORY_MODE: Mode = Mode::RWXU;
/// How often a thread that makes files says so: one that says nothing for long is taken to be stuck in an I/O.
const WORD_EVERY: Duration = Duration::from_millis(100);

/// The body of a load thread: makes the first state, waits for the start, runs, makes the last state, reports.
pub(crate) fn run(spec: ThreadSpec) {
    let mut notes = Vec::new();
    let cpus = pinned(spec.cpu, &mut notes);
    let names = match Names::new(&spec) {
        Ok(names) => names,
        Err(source) => return spec.context.ready(Err(files_error(&spec, source))),
    };
    spec.context.ready(Ok(TargetSetup {
        backend: "system calls".into(),
        huge_pages: Pages::Small.name().into(),
        cpus,
        notes,
        ..TargetSetup::default()
    }));
    let Some(clock) = spec.context.shared.wait_for_start(spec.clock) else {
        // Whoever gave the start up reports why; the next step finds the set as this one did.
        let _ = names.make_whole(&spec.context);
        return;
    };
    let (mut meter, calls) = driver::drive(&spec, Calls::new(names, clock), clock);
    if let Err(error) = calls.names.make_whole(&spec.context) {
        meter.give_up(format!("the files could not be made again: {error}"));
    }
    meter.finish();
}

fn files_error(spec: &ThreadSpec, source: io::Error) -> EngineError {
    EngineError::Files {
        path: spec.target.spec.path.clone(),
        source,
    }
}

/// The thread's own files and the directories that hold them.
struct Names {
    job: Arc<Job>,
    set: FileSet,
    first: u32,
    starts: Starts,
    /// By their numbers among the lowest directories.
    leaves: BTreeMap<u32, OwnedFd>,
    /// Which files have their other name.
    renamed: Box<[bool]>,
    flags: OFlags,
}

impl Names {
    fn new(spec: &ThreadSpec) -> io::Result<Self> {
        let (job, target) = (&spec.job, &spec.target);
        let (Some(directory), Some(set)) = (&target.directory, &job.files) else {
            return Err(io::Error::other("the target is no set of files"));
        };
        let own = set.files_of(spec.number, job.load.threads());
        let made = Self {
            job: Arc::clone(job),
            set: set.clone(),
            first: own.start,
            starts: Starts::new(set, own.clone()),
            leaves: open_leaves(directory, set, own.clone())?,
            renamed: vec![false; own.len()].into(),
            flags: directory.reading_flags(),
        };
        // What may only be read is whole already.
        if made.makes_names()
            && let Err(error) = made.make_first(&spec.context)
        {
            // The reason is the first error: what is whole again or not is the next step's to say.
            let _ = made.make_whole(&spec.context);
            return Err(error);
        }
        Ok(made)
    }

    /// Returns whether its job begins or ends with other names than a set has by itself.
    fn makes_names(&self) -> bool {
        self.job.is_destructive() || self.job.ops().any(|op| op == Op::StatDirectory)
    }

    fn count(&self) -> u32 {
        self.renamed.len() as u32
    }

    fn leaf(&self, file: u32) -> io::Result<&OwnedFd> {
        let leaf = self.leaves.get(&self.set.leaf_of(self.first + file));
        leaf.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// Returns the name that a file has now.
    fn name(&self, file: u32) -> String {
        match self.renamed[file as usize] {
            false => FileSet::name(self.first + file),
            true => FileSet::other_name(self.first + file),
        }
    }

    /// Makes what the job begins with: its share of files, under their first names, and of directories.
    fn make_first(&self, context: &ThreadContext) -> io::Result<()> {
        let (set, job, count) = (&self.set, &*self.job, self.count());
        self.make(
            set.files_present(job, count),
            set.directories_present(job, count),
            context,
            || context.shared.stopped(),
        )
    }

    /// Makes all files again, under their first names, and leaves no directory.
    fn make_whole(&self, context: &ThreadContext) -> io::Result<()> {
        match self.makes_names() {
            true => self.make(self.count(), 0, context, || false),
            false => Ok(()),
        }
    }

    /// Makes the first `files` of the thread's files, and the first `directories` of its directories, and no others. Leaves
    /// the rest once it `is_needless`. Says meanwhile that it is at work.
    fn make(
        &self,
        files: u32,
        directories: u32,
        context: &ThreadContext,
        is_needless: impl Fn() -> bool,
    ) -> io::Result<()> {
        let mut said = Instant::now();
        for file in 0..self.count() {
            if said.elapsed() > WORD_EVERY {
                if context.shared.is_abandoned() {
                    return Err(io::Error::other("the run was abandoned"));
                }
                if is_needless() {
                    return Ok(());
                }
                context.at_work();
                said = Instant::now();
            }
            let (leaf, number) = (self.leaf(file)?, self.first + file);
            gone(unlinkat(
                leaf,
                FileSet::other_name(number),
                AtFlags::empty(),
            ))?;
            let name = FileSet::name(number);
            match file < files {
                true => self.make_file(leaf, &name, number)?,
                false => gone(unlinkat(leaf, name, AtFlags::empty()))?,
            }
            let directory = FileSet::directory_name(number);
            match file < directories {
                true => there(mkdirat(leaf, directory, DIRECTORY_MODE))?,
                false => gone(unlinkat(leaf, directory, AtFlags::REMOVEDIR))?,
            }
        }
        Ok(())
    }

    /// Makes a file with its room reserved, where there is none of its size.
    fn make_file(&self, leaf: &OwnedFd, name: &str, number: u32) -> io::Result<()> {
        let size_bytes = self.set.size_of(number);
        let found = statat(leaf, name, AtFlags::SYMLINK_NOFOLLOW);
        if found.is_ok_and(|found| found.st_size as u64 == size_bytes) {
            return Ok(());
        }
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(leaf, name, flags, FILE_MODE)?;
        match fallocate(&file, FallocateFlags::empty(), 0, size_bytes) {
            Err(rustix::io::Errno::OPNOTSUPP) => Ok(ftruncate(&file, size_bytes)?),
            reserved => Ok(reserved?),
        }
    }
}

/// What was to be removed may be gone already.
fn gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Err(rustix::io::Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

/// What was to be made may be there already.
fn there(made: rustix::io::Result<()>) -> io::Result<()> {
    match made {
        Err(rustix::io::Errno::EXIST) => Ok(()),
        other => Ok(other?),
    }
}

fn open_leaves(
    directory: &Directory,
    set: &FileSet,
    own: std::ops::Range<u32>,
) -> io::Result<BTreeMap<u32, OwnedFd>> {
    raise_open_files();
    let leaves = set.leaf_of(own.start)..=set.leaf_of(own.end.saturating_sub(1));
    let open = |leaf| Ok((leaf, directory.below(&set.leaf_path(leaf))?));
    leaves.map(open).collect()
}

/// An operation that was asked for: its slot, the file and the names, which were found beforehand.
struct Call {
    slot: u16,
    op: Op,
    file: u32,
    name: String,
    other: String,
}

/// Slots whose operations are done when they are submitted.
struct Calls {
    names: Names,
    queued: VecDeque<Call>,
    done: VecDeque<(u16, i32)>,
    /// What the next close is of, or the errno with which it was not opened.
    open: Result<OwnedFd, i32>,
    clock: Clock,
    idle_ns: u64,
}

impl Calls {
    fn new(names: Names, clock: Clock) -> Self {
        Self {
            names,
            queued: VecDeque::new(),
            done: VecDeque::new(),
            open: Err(libc::EBADF),
            clock,
            idle_ns: 0,
        }
    }

    fn do_all(&mut self) {
        while let Some(call) = self.queued.pop_front() {
            let result = match self.call(&call) {
                Ok(()) => 0,
                Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
            };
            self.done.push_back((call.slot, result));
        }
    }

    fn call(&mut self, call: &Call) -> io::Result<()> {
        let flags = self.names.flags;
        let leaf = self.names.leaf(call.file)?;
        let name = call.name.as_str();
        match call.op {
            Op::Create => {
                let made = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
                let made = made | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let opened = openat(leaf, name, made, FILE_MODE);
                self.open = opened.map_err(rustix::io::Errno::raw_os_error);
                as_opened(&self.open)?;
                self.names.renamed[call.file as usize] = false;
            }
            Op::Open => {
                let opened = openat(leaf, name, flags, Mode::empty());
                self.open = opened.map_err(rustix::io::Errno::raw_os_error);
                as_opened(&self.open)?;
            }
            Op::Close => close(mem::replace(&mut self.open, Err(libc::EBADF)))?,
            Op::Stat | Op::StatDirectory => drop(statat(leaf, name, AtFlags::SYMLINK_NOFOLLOW)?),
            Op::Rename => {
                renameat_with(
                    leaf,
                    name,
                    leaf,
                    call.other.as_str(),
                    RenameFlags::NOREPLACE,
                )?;
                self.names.renamed[call.file as usize] ^= true;
            }
            Op::Delete => unlinkat(leaf, name, AtFlags::empty())?,
            Op::Mkdir => mkdirat(leaf, name, DIRECTORY_MODE)?,
            Op::Rmdir => unlinkat(leaf, name, AtFlags::REMOVEDIR)?,
            _ => return Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
        Ok(())
    }
}

fn as_opened(opened: &Result<OwnedFd, i32>) -> io::Result<()> {
    match opened {
        Ok(_) => Ok(()),
        Err(errno) => Err(io::Error::from_raw_os_error(*errno)),
    }
}

/// Closes what was opened. What was not cannot be closed, and fails as the opening did.
fn close(opened: Result<OwnedFd, i32>) -> io::Result<()> {
    let file = opened.map_err(io::Error::from_raw_os_error)?;
    // SAFETY: the descriptor is this call's alone, and is gone whatever the result.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl QueuePair for Calls {
    fn queue(&mut self, request: &mut Request, slot: u16) -> io::Result<()> {
        let (file, _) = self.names.starts.at(request.offset_bytes);
        let number = self.names.first + file;
        let name = match request.op {
            Op::Create => FileSet::name(number),
            Op::Mkdir | Op::Rmdir | Op::StatDirectory => FileSet::directory_name(number),
            _ => self.names.name(file),
        };
        let other = match self.names.renamed[file as usize] {
            true => FileSet::name(number),
            false => FileSet::other_name(number),
        };
        self.queued.push_back(Call {
            slot,
            op: request.op,
            file,
            name,
            other,
        });
        Ok(())
    }

    fn send(&mut self) -> io::Result<usize> {
        self.do_all();
        Ok(self.done.len())
    }

    fn submit(&mut self, _want: usize) -> io::Result<bool> {
        self.do_all();
        Ok(true)
    }

    fn submit_until(&mut self, until_ns: u64) -> io::Result<()> {
        self.do_all();
        if self.done.is_empty() {
            self.idle_ns += wait_until(&self.clock, until_ns);
        }
        Ok(())
    }

    fn next(&mut self) -> Option<(u16, i32)> {
        self.done.pop_front()
    }

    fn settle(&mut self, _slot: u16, _request: &Request, result: i32) -> Result<(), i32> {
        match result {
            0 => Ok(()),
            error => Err(error),
        }
    }

    fn idle_ns(&self) -> Option<u64> {
        Some(self.idle_ns)
    }

    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}
