//! Records what the kernel's block layer does to disks, into the files that `blktrace` writes: with the kernel's own
//! block trace, or with tracepoints. Sources: include/uapi/linux/blktrace_api.h, kernel/trace/blktrace.c and
//! kernel/relay.c of Linux.

mod disk;
mod events;
mod instance;
mod page;
mod relay;
mod session;
mod setup;
mod source;
mod traced;

pub use session::{Capture, Options, Recorded, Via, end};

/// What was done when the kernel refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Opening the disk.
    Open,
    /// Setting the trace up.
    Setup,
    /// Opening the kernel's trace files.
    Files,
    /// Starting it.
    Start,
    /// Reading the kernel's trace files, or writing them on.
    Copy,
    /// Stopping it.
    Stop,
}

/// Why there is no capture, or none any more.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct CaptureError {
    /// What was done.
    pub step: Step,
    /// With which file.
    pub path: std::path::PathBuf,
    /// What the kernel said.
    pub source: std::io::Error,
}

impl CaptureError {
    fn of(
        step: Step,
        path: &std::path::Path,
    ) -> impl FnOnce(std::io::Error) -> CaptureError + use<> {
        let path = path.to_path_buf();
        move |source| CaptureError { step, path, source }
    }
}
