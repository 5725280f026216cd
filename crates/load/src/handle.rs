//! A running job, whatever it runs on.

use std::time::{Duration, Instant, SystemTime};

use recording::{Interval, Recording};

use crate::LoadError;

/// How often a poll that waits asks whether it was interrupted.
const POLL_STEP: Duration = Duration::from_millis(20);

/// What a job has finished since it was asked last.
#[derive(Debug, Default)]
pub struct JobProgress {
    /// Intervals with the number of their target, in order per target.
    pub intervals: Vec<(usize, Interval)>,
    /// Whether no further interval comes by itself: the job has ended, or waits for its reader.
    pub is_over: bool,
}

/// A running job. Its methods may be called from any thread; none but `wait` and `result` waits.
pub trait Handle: Send + Sync {
    /// Returns the intervals that have been finished since the last call. A job that runs far ahead of the clock
    /// returns them by the dozen, unless `few` are enough.
    fn take(&self, few: bool) -> JobProgress;

    /// Waits until `take` may return something, for at most `time`.
    fn wait(&self, time: Duration);

    /// Returns when the last load thread began, by the system's clock; `None` in virtual time.
    fn started_at(&self) -> Option<SystemTime>;

    /// Returns whether every target that still runs waits for its reader, and all its intervals have been taken.
    fn is_held(&self) -> bool;

    /// Lets targets that wait run on to their next hold.
    fn proceed(&self);

    /// Ends the job: no further I/O is issued, what is in flight completes. Returns at once.
    fn stop(&self);

    /// Ends the job as `stop` does, and gives up what is in flight on a real target. Returns at once.
    fn abandon(&self);

    /// Returns whether the job has ended and all its intervals have been taken.
    fn is_done(&self) -> bool;

    /// Returns every I/O of twins that were asked to log them and have ended, and forgets them; nothing of others.
    fn take_log(&self) -> Vec<twin::Issued> {
        Vec::new()
    }

    /// Waits for the end and returns one recording per target, in the order given.
    ///
    /// # Errors
    /// A target failed, or the recordings were taken before.
    fn result(&self) -> Result<Vec<Recording>, LoadError>;
}

impl dyn Handle + '_ {
    /// Returns the intervals that have been finished since the last call. Waits for at most `most`, and meanwhile asks
    /// `check` every 20 ms whether to go on.
    ///
    /// # Errors
    /// What `check` returns.
    pub fn poll<E>(
        &self,
        most: Duration,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<(usize, Interval)>, E> {
        let deadline = Instant::now() + most;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let news = self.take(left.is_zero());
            if !news.intervals.is_empty() || news.is_over || left.is_zero() {
                return Ok(news.intervals);
            }
            self.wait(left.min(POLL_STEP));
            check()?;
        }
    }
}
