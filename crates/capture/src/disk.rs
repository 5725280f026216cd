//! A disk with a trace of the kernel, which ends with it.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use crate::{CaptureError, Step, setup, source::by_cpu};

/// The disk, and the folder of its trace files. It is not held open: a replay on it needs it alone.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    folder: PathBuf,
}

impl Disk {
    /// Sets a trace up, with buffers for each CPU.
    pub(crate) fn set_up(
        path: &Path,
        debugfs: &Path,
        buffer_bytes: u32,
        buffers: u32,
    ) -> Result<Self, CaptureError> {
        let file = File::open(path).map_err(CaptureError::of(Step::Open, path))?;
        let mut asked = setup::Setup::new(buffer_bytes, buffers);
        let done = asked.set_up(&file).map_err(std::io::Error::from);
        done.map_err(CaptureError::of(Step::Setup, path))?;
        let name = asked.name();
        Ok(Self {
            path: path.into(),
            folder: debugfs.join("block").join(&name),
            name,
        })
    }

    /// Opens the trace file of each CPU, with the CPU's number.
    pub(crate) fn files(&self) -> Result<Vec<(u32, File)>, CaptureError> {
        let failed = || CaptureError::of(Step::Files, &self.folder);
        let found = by_cpu(&self.folder, "trace").map_err(failed())?;
        if found.is_empty() {
            return Err(failed()(std::io::ErrorKind::NotFound.into()));
        }
        let opened = found.into_iter().map(|(cpu, path)| {
            let file = File::open(&path).map_err(CaptureError::of(Step::Files, &path))?;
            Ok((cpu, file))
        });
        opened.collect()
    }

    pub(crate) fn start(&self) -> Result<(), CaptureError> {
        let file = File::open(&self.path).map_err(CaptureError::of(Step::Start, &self.path))?;
        let done = setup::start(&file).map_err(std::io::Error::from);
        done.map_err(CaptureError::of(Step::Start, &self.path))
    }

    pub(crate) fn stop(&self) -> Result<(), CaptureError> {
        let file = File::open(&self.path).map_err(CaptureError::of(Step::Stop, &self.path))?;
        let done = setup::stop(&file).map_err(std::io::Error::from);
        done.map_err(CaptureError::of(Step::Stop, &self.path))
    }

    /// Returns how many records found no room in the buffers.
    pub(crate) fn dropped(&self) -> Result<u64, CaptureError> {
        let path = self.folder.join("dropped");
        let text = fs::read_to_string(&path).map_err(CaptureError::of(Step::Copy, &path))?;
        let invalid =
            || CaptureError::of(Step::Copy, &path)(std::io::ErrorKind::InvalidData.into());
        text.trim().parse().map_err(|_| invalid())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A trace that was stopped refuses a second stop; nobody is left to hear of it.
        if let Ok(file) = File::open(&self.path) {
            let _ = setup::stop(&file);
            let _ = setup::tear_down(&file);
        }
    }
}

/// Ends a block trace that another process has set up, such as one that was killed.
pub(crate) fn end(path: &Path) -> Result<(), CaptureError> {
    let file = File::open(path).map_err(CaptureError::of(Step::Open, path))?;
    // It may have been stopped already.
    let _ = setup::stop(&file);
    let done = setup::tear_down(&file).map_err(std::io::Error::from);
    done.map_err(CaptureError::of(Step::Stop, path))
}
