//! A job on files and devices, in real time. It never waits for its reader.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, SystemTime},
};

use recording::Recording;
use workload::Job;

use crate::{
    LoadError,
    handle::{Handle, JobProgress},
};

/// Starts a job on every target at once. While it is set up, asks `is_stopped` several times a second whether it is to
/// end without any I/O.
///
/// # Errors
/// The job does not fit a target, or a target cannot be opened.
pub fn start_engine(
    job: &Job,
    targets: &[engine::TargetSpec],
    options: &engine::Options,
    is_stopped: impl FnMut() -> bool,
) -> Result<Box<dyn Handle>, LoadError> {
    let run = engine::start_unless(job, targets, options, is_stopped)?;
    Ok(Box::new(RealHandle {
        stop: Box::new(run.stopper()),
        abandon: Box::new(run.abandoner()),
        run: Mutex::new(Some(run)),
    }))
}

struct RealHandle {
    /// Locked for a moment only: another thread may ask while one waits. `None` once the result has been taken.
    run: Mutex<Option<engine::Run>>,
    stop: Box<dyn Fn() + Send + Sync>,
    abandon: Box<dyn Fn() + Send + Sync>,
}

impl RealHandle {
    fn run(&self) -> MutexGuard<'_, Option<engine::Run>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handle for RealHandle {
    fn take(&self, _few: bool) -> JobProgress {
        match &mut *self.run() {
            Some(run) => JobProgress {
                intervals: run.poll(),
                is_over: run.is_done(),
            },
            None => JobProgress {
                intervals: Vec::new(),
                is_over: true,
            },
        }
    }

    /// A device ends an interval per second: asking again is soon enough.
    fn wait(&self, time: Duration) {
        thread::sleep(time);
    }

    fn started_at(&self) -> Option<SystemTime> {
        self.run().as_ref()?.started_at()
    }

    fn is_held(&self) -> bool {
        false
    }

    fn proceed(&self) {}

    fn stop(&self) {
        (self.stop)();
    }

    fn abandon(&self) {
        (self.abandon)();
    }

    fn is_done(&self) -> bool {
        self.run().as_ref().is_none_or(engine::Run::is_done)
    }

    fn result(&self) -> Result<Vec<Recording>, LoadError> {
        let run = self.run().take();
        Ok(run.ok_or(LoadError::ResultTaken)?.join()?)
    }
}
