//! Stops a run that is under way, and takes its log.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::log::Issued;

/// Stops a run from another thread, and has what it issued where that was asked for. Clones share both.
#[derive(Clone, Debug, Default)]
pub struct Control {
    stopped: Arc<AtomicBool>,
    log: Option<Arc<Mutex<Vec<Issued>>>>,
}

impl Control {
    /// Returns one whose runs log every I/O: 48 bytes of memory each.
    pub fn logging() -> Self {
        Self {
            log: Some(Arc::default()),
            ..Self::default()
        }
    }

    /// Asks the run to end; it returns what it has recorded.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns whether [`Control::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Returns what has been issued by runs that ended, in the order of completion, and forgets it.
    pub fn take_log(&self) -> Vec<Issued> {
        self.log
            .as_ref()
            .map(|log| std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner)))
            .unwrap_or_default()
    }

    pub(super) fn logs(&self) -> bool {
        self.log.is_some()
    }

    pub(super) fn keep(&self, issued: Vec<Issued>) {
        if let Some(log) = &self.log {
            log.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(issued);
        }
    }
}
