//! A running job as Python holds it: intervals out, stop and proceed in.
//!
//! A twin runs far ahead of any reader, and a decision to stop must not depend on how fast the
//! reader is. A handle therefore *holds* a twin after every `hold_every_ns` of virtual time, and at
//! the end of a round, until [`Handle::proceed`] or [`Handle::stop`]. Real devices are never held.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    results::{Interval, Recording},
    start::BackendError,
};

/// Intervals a twin may be ahead of its reader.
const QUEUE_LIMIT: usize = 1024;
/// Intervals for which a waiting reader is woken: one by one they would cost it twice as much, and the twins its turns.
const READ_AT_ONCE: usize = 32;
/// How often a waiting poll looks for signals and for intervals.
const POLL_STEP: Duration = Duration::from_millis(20);

/// What twin threads and their reader share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(usize, recording::Interval)>,
    running: usize,
    held: usize,
    released: u64,
    stopped: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(guard)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What is in the queue, unless it is `few` and more will come; and whether every twin has ended or waits at a hold.
    fn take(&self, few: bool) -> (Vec<(usize, recording::Interval)>, bool) {
        let mut state = self.lock();
        if state.awaits_more() && !few {
            return (Vec::new(), false);
        }
        let news = state.queue.drain(..).collect();
        self.changed.notify_all();
        (news, state.running <= state.held)
    }

    fn wait_for_news(&self, time: Duration) {
        let woken = self
            .changed
            .wait_timeout_while(self.lock(), time, |state| state.awaits_more());
        drop(woken.unwrap_or_else(PoisonError::into_inner));
    }
}

impl State {
    fn awaits_more(&self) -> bool {
        self.queue.len() < READ_AT_ONCE && self.running > self.held
    }
}

/// One twin thread's side of the handle.
pub struct TwinSide {
    shared: Arc<Shared>,
    target: usize,
    hold_every_ns: Option<u64>,
    held_at_ns: u64,
}

impl TwinSide {
    /// Hands an interval over, and waits where the handle holds. Returns whether to go on.
    pub fn deliver(&mut self, interval: recording::Interval) -> bool {
        let end_ns = interval.start_ns + interval.length_ns;
        let ends_round = interval.ends_round;
        let mut state = self.shared.lock();
        while state.queue.len() >= QUEUE_LIMIT && !state.stopped {
            state = self.shared.wait(state);
        }
        state.queue.push_back((self.target, interval));
        if state.queue.len() >= READ_AT_ONCE {
            self.shared.changed.notify_all();
        }
        if let Some(every_ns) = self.hold_every_ns
            && (ends_round || end_ns >= self.held_at_ns + every_ns)
        {
            self.held_at_ns = end_ns;
            let turn = state.released;
            state.held += 1;
            self.shared.changed.notify_all();
            while state.released == turn && !state.stopped {
                state = self.shared.wait(state);
            }
            state.held -= 1;
        }
        !state.stopped
    }
}

impl Drop for TwinSide {
    fn drop(&mut self) {
        self.shared.lock().running -= 1;
        self.shared.changed.notify_all();
    }
}

type TwinThread = JoinHandle<Result<recording::Recording, String>>;

/// The twins of one job.
pub struct Twins {
    shared: Arc<Shared>,
    threads: Vec<TwinThread>,
    stop: Arc<dyn Fn() + Send + Sync>,
}

impl Twins {
    /// Starts one thread per twin. `body(side, index)` runs the job on twin `index`.
    pub fn start(
        count: usize,
        hold_every_ns: Option<u64>,
        stop: Arc<dyn Fn() + Send + Sync>,
        body: impl Fn(TwinSide, usize) -> Result<recording::Recording, String> + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        shared.lock().running = count;
        let body = Arc::new(body);
        let threads = (0..count)
            .map(|target| {
                let side = TwinSide {
                    shared: Arc::clone(&shared),
                    target,
                    hold_every_ns,
                    held_at_ns: 0,
                };
                let body = Arc::clone(&body);
                std::thread::spawn(move || body(side, target))
            })
            .collect();
        Self {
            shared,
            threads,
            stop,
        }
    }

    /// No further I/O is issued; who waits at a hold goes on to its end.
    fn stopper(&self) -> Stop {
        let (shared, stop) = (Arc::clone(&self.shared), Arc::clone(&self.stop));
        Box::new(move || {
            stop();
            shared.lock().stopped = true;
            shared.changed.notify_all();
        })
    }
}

impl Drop for Twins {
    /// Twins of a job that nobody follows any more stop by themselves, and their devices are free again.
    fn drop(&mut self) {
        self.stopper()();
    }
}

enum Source {
    Engine(Box<engine::Run>),
    Twins(Twins),
    Finished,
}

type Stop = Box<dyn Fn() + Send + Sync>;

/// A running job. Made by `start_engine` and `start_twins`.
#[pyclass(frozen, module = "fathom._core")]
pub struct Handle {
    /// Locked for a moment only: another thread may ask while one waits.
    source: Mutex<Source>,
    stop: Stop,
    abandon: Stop,
}

impl Handle {
    /// A job on real targets.
    pub fn engine(run: engine::Run) -> Self {
        Self {
            stop: Box::new(run.stopper()),
            abandon: Box::new(run.abandoner()),
            source: Mutex::new(Source::Engine(Box::new(run))),
        }
    }

    /// A job on twins.
    pub fn twins(twins: Twins) -> Self {
        Self {
            stop: twins.stopper(),
            abandon: twins.stopper(),
            source: Mutex::new(Source::Twins(twins)),
        }
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Intervals finished since the last call, of twins also if `few`, and whether none will come before something else
    /// is done.
    fn take(&self, few: bool) -> (Vec<(usize, recording::Interval)>, bool) {
        match &mut *self.source() {
            Source::Engine(run) => {
                let news = run.poll();
                (news, run.is_done())
            }
            Source::Twins(twins) => twins.shared.take(few),
            Source::Finished => (Vec::new(), true),
        }
    }

    /// Waits for news, for at most `time`: of twins, which tell; real targets are slow enough to be asked again.
    fn wait(&self, time: Duration) {
        let twins = match &*self.source() {
            Source::Twins(twins) => Some(Arc::clone(&twins.shared)),
            Source::Engine(_) | Source::Finished => None,
        };
        match twins {
            Some(shared) => shared.wait_for_news(time),
            None => std::thread::sleep(time),
        }
    }
}

#[pymethods]
impl Handle {
    /// Intervals finished since the last call. Waits up to `timeout_s` for the first; of twins, which run far ahead of the
    /// clock, for some dozens.
    #[pyo3(signature = (timeout_s = 0.2))]
    fn poll(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<Interval>> {
        if timeout_s.is_nan() {
            let reason = "timeout_s is NaN, expected seconds to wait at most";
            return Err(PyValueError::new_err(reason));
        }
        let deadline = Instant::now() + Duration::from_secs_f64(timeout_s.clamp(0.0, 60.0));
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let (news, is_over) = py.detach(|| self.take(left.is_zero()));
            if !news.is_empty() || is_over || left.is_zero() {
                let new = |(target, interval)| Interval::new(target, interval);
                return Ok(news.into_iter().map(new).collect());
            }
            py.detach(|| self.wait(left.min(POLL_STEP)));
            py.check_signals()?;
        }
    }

    /// When the last load thread began, ns since 1970 by the system's clock; None for twins.
    #[getter]
    fn started_unix_ns(&self) -> Option<u64> {
        match &*self.source() {
            Source::Engine(run) => {
                let since = run.started_at()?.duration_since(SystemTime::UNIX_EPOCH);
                since.ok().map(|since| since.as_nanos() as u64)
            }
            Source::Twins(_) | Source::Finished => None,
        }
    }

    /// Whether every twin still running waits at a hold and all its intervals have been polled.
    fn held(&self) -> bool {
        match &*self.source() {
            Source::Twins(twins) => {
                let state = twins.shared.lock();
                state.running > 0 && state.held == state.running && state.queue.is_empty()
            }
            Source::Engine(_) | Source::Finished => false,
        }
    }

    /// Lets held twins go on to their next hold.
    fn proceed(&self) {
        if let Source::Twins(twins) = &*self.source() {
            twins.shared.lock().released += 1;
            twins.shared.changed.notify_all();
        }
    }

    /// Ends the job, at once and from any thread: no further I/O is issued, what is in flight completes.
    fn stop(&self) {
        (self.stop)();
    }

    /// Ends the job as `stop` does, and gives up at once what is in flight on a real target.
    fn abandon(&self) {
        (self.abandon)();
    }

    /// Whether the job has ended and all its intervals have been polled.
    fn done(&self) -> bool {
        match &*self.source() {
            Source::Engine(run) => run.is_done(),
            Source::Twins(twins) => {
                let state = twins.shared.lock();
                state.running == 0 && state.queue.is_empty()
            }
            Source::Finished => true,
        }
    }

    /// The recordings, one per target in the order given. Waits for the end; may be called once.
    fn result(&self, py: Python<'_>) -> PyResult<Vec<Recording>> {
        let recordings = py.detach(|| {
            let source = mem::replace(&mut *self.source(), Source::Finished);
            match source {
                Source::Engine(run) => run.join().map_err(|error| error.to_string()),
                Source::Twins(mut twins) => mem::take(&mut twins.threads)
                    .into_iter()
                    .map(join_twin)
                    .collect(),
                Source::Finished => Err("the result has been taken already".into()),
            }
        });
        let recordings = recordings.map_err(BackendError::new_err)?;
        Ok(recordings.into_iter().map(Recording::from).collect())
    }
}

fn join_twin(thread: TwinThread) -> Result<recording::Recording, String> {
    thread.join().unwrap_or_else(|_| {
        Err(
            "the simulation ended by a defect; please report it with the method, target and seed"
                .into(),
        )
    })
}
