//! A job on twins, in virtual time: a thread per twin, which the [`Relay`] holds.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, SystemTime},
};

use recording::Recording;
use workload::Job;

use crate::{
    LoadError, TwinDevice,
    handle::{Handle, JobProgress},
    relay::{Relay, TwinSide},
};

/// Starts a job on all twins at once, each in its own virtual time and with requests of its own seed.
///
/// Given `hold_every_ns`, each twin waits after each such time for [`Handle::proceed`] or [`Handle::stop`]. Given a
/// `precision`, their windows, or rounds of `hold_every_ns`, end together, as soon as the sum of their rates is known
/// that well. With `log`, [`Handle::take_log`] has every I/O of all of them.
///
/// # Errors
/// There is not one seed per twin, or the load cannot be divided over the twins.
pub fn start_twins(
    job: &Job,
    devices: &[TwinDevice],
    seeds: &[u64],
    hold_every_ns: Option<u64>,
    precision: Option<twin::Precision>,
    log: bool,
) -> Result<Box<dyn Handle>, LoadError> {
    if seeds.len() != devices.len() {
        return Err(LoadError::Seeds {
            seeds: seeds.len(),
            twins: devices.len(),
        });
    }
    if job.files.is_some() {
        return Err(LoadError::FileSet);
    }
    let jobs = job.of_targets(devices.len())?;
    let stopping = precision.map(|rule| {
        let round_ns = hold_every_ns;
        twin::StoppingRule::new(twin::Precision { round_ns, ..rule }, devices.len())
    });
    let (count, devices, seeds) = (devices.len(), devices.to_vec(), seeds.to_vec());
    let control = if log {
        twin::Control::logging()
    } else {
        twin::Control::default()
    };
    let run = {
        let control = control.clone();
        move |side: &mut TwinSide, index: usize| {
            let stopping = stopping.as_ref();
            let deliver = &mut |interval| side.deliver(interval);
            Ok(devices[index].run(&jobs[index], seeds[index], &control, stopping, deliver)?)
        }
    };
    let handle = TwinsHandle::start(count, hold_every_ns, control, run);
    Ok(Box::new(handle))
}

type TwinThread = JoinHandle<Result<Recording, LoadError>>;

struct TwinsHandle {
    relay: Arc<Relay>,
    control: twin::Control,
    /// `None` once the result has been taken.
    threads: Mutex<Option<Vec<TwinThread>>>,
}

impl TwinsHandle {
    /// Starts one thread per twin. `run(side, index)` runs the job on twin `index`.
    fn start(
        count: usize,
        hold_every_ns: Option<u64>,
        control: twin::Control,
        run: impl Fn(&mut TwinSide, usize) -> Result<Recording, LoadError> + Send + Sync + 'static,
    ) -> Self {
        let relay = Arc::new(Relay::default());
        let sides: Vec<_> = (0..count)
            .map(|target| relay.side(target, hold_every_ns))
            .collect();
        let run = Arc::new(run);
        let threads = sides
            .into_iter()
            .enumerate()
            .map(|(index, mut side)| {
                let run = Arc::clone(&run);
                thread::spawn(move || run(&mut side, index))
            })
            .collect();
        Self {
            relay,
            control,
            threads: Mutex::new(Some(threads)),
        }
    }

    fn is_taken(&self) -> bool {
        let threads = self.threads.lock();
        threads.unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

impl Handle for TwinsHandle {
    fn take(&self, few: bool) -> JobProgress {
        if self.is_taken() {
            return JobProgress {
                intervals: Vec::new(),
                is_over: true,
            };
        }
        self.relay.take(few)
    }

    fn wait(&self, time: Duration) {
        self.relay.wait_for_news(time);
    }

    fn started_at(&self) -> Option<SystemTime> {
        None
    }

    fn is_held(&self) -> bool {
        !self.is_taken() && self.relay.is_held()
    }

    fn proceed(&self) {
        self.relay.proceed();
    }

    fn stop(&self) {
        self.control.stop();
        self.relay.stop();
    }

    fn abandon(&self) {
        self.stop();
    }

    fn is_done(&self) -> bool {
        self.is_taken() || self.relay.is_done()
    }

    fn take_log(&self) -> Vec<twin::Issued> {
        self.control.take_log()
    }

    fn result(&self) -> Result<Vec<Recording>, LoadError> {
        let threads = self
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        threads
            .ok_or(LoadError::ResultTaken)?
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Err(LoadError::Defect)))
            .collect()
    }
}

impl Drop for TwinsHandle {
    /// Twins of a job that nobody follows any more stop by themselves, and their devices are free again.
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
