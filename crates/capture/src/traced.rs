//! A disk that is traced, in either of the kernel's two ways.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
};

use crate::{
    CaptureError, Step, Via, disk::Disk, instance::Instance, relay::Relay, source::Source,
};

/// A part of a buffer: small, so that a slow load is seen soon; large against a record's 48 bytes.
const PART_BYTES: u32 = 128 << 10;
const LEAST_PARTS: u32 = 4;

#[derive(Debug)]
pub(crate) enum Traced {
    BlockTrace(Disk),
    Tracepoints(Instance),
}

/// A CPU's file, and what fills it.
pub(crate) type Opened = (PathBuf, Box<dyn Source>);

impl Traced {
    pub(crate) fn set_up(path: &Path, via: &Via, buffer_bytes: u32) -> Result<Self, CaptureError> {
        match via {
            Via::BlockTrace { debugfs } => {
                let parts = (buffer_bytes / PART_BYTES).max(LEAST_PARTS);
                Disk::set_up(path, debugfs, PART_BYTES, parts).map(Self::BlockTrace)
            }
            Via::Tracepoints { tracefs } => {
                Instance::set_up(path, tracefs, buffer_bytes).map(Self::Tracepoints)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::BlockTrace(disk) => &disk.path,
            Self::Tracepoints(instance) => &instance.path,
        }
    }

    /// Opens the buffer of each CPU, and makes a file in the folder for each.
    pub(crate) fn sources(&self, folder: &Path) -> Result<Vec<Opened>, CaptureError> {
        let (name, files) = match self {
            Self::BlockTrace(disk) => (&disk.name, disk.files()?),
            Self::Tracepoints(instance) => (&instance.name, instance.files()?),
        };
        let opened = files.into_iter().map(|(cpu, from)| {
            let path = folder.join(format!("{name}.blktrace.{cpu}"));
            let to = File::create_new(&path).map_err(CaptureError::of(Step::Copy, &path))?;
            let to = BufWriter::new(to);
            let source: Box<dyn Source> = match self {
                Self::BlockTrace(_) => Box::new(Relay::new(from, to)),
                Self::Tracepoints(instance) => Box::new(instance.pipe(cpu, from, to)),
            };
            Ok((path, source))
        });
        opened.collect()
    }

    pub(crate) fn start(&self) -> Result<(), CaptureError> {
        match self {
            Self::BlockTrace(disk) => disk.start(),
            Self::Tracepoints(instance) => instance.start(),
        }
    }

    pub(crate) fn stop(&self) -> Result<(), CaptureError> {
        match self {
            Self::BlockTrace(disk) => disk.stop(),
            Self::Tracepoints(instance) => instance.stop(),
        }
    }

    /// Returns how many events found no room in the buffers.
    pub(crate) fn dropped(&self) -> Result<u64, CaptureError> {
        match self {
            Self::BlockTrace(disk) => disk.dropped(),
            Self::Tracepoints(instance) => instance.dropped(),
        }
    }
}
