//! The end of a start: waits until every thread is set up and releases them together, or gives up.

use std::{
    mem, thread,
    time::{Duration, Instant, SystemTime},
};

use super::Starter;
use crate::{
    EngineError, Run, SetupReport, TargetSetup, TargetSpec,
    aggregator::Aggregator,
    gate::{HEAD_START, RunClock, left_until},
    message::Message,
    run::{LoadThread, Timeouts, Timing},
};

/// How often a start that waits for its threads looks whether it was stopped.
const LOOK: Duration = Duration::from_millis(100);

impl Starter<'_> {
    /// Waits until every thread is set up, then has them start together: now, or at the time asked for.
    pub(super) fn release(
        mut self,
        targets: &[TargetSpec],
        mut is_stopped: impl FnMut() -> bool,
    ) -> Result<Run, EngineError> {
        for _ in 0..self.threads.len() {
            match self.next_ready(&mut is_stopped) {
                Ok((target, setup)) => absorb(&mut self.setups[target], setup),
                Err(error) => {
                    self.abort();
                    return Err(error);
                }
            }
        }
        let start = Instant::now() + self.open_gate();
        self.unpark();
        self.threads
            .iter_mut()
            .for_each(|member| member.heard = start);
        let setup = SetupReport {
            clock: self.clock.name().into(),
            clock_error_ppm: self.clock.error_ppm(),
            targets: self.setups,
        };
        let mut aggregators: Vec<Aggregator> = targets
            .iter()
            .zip(&setup.targets)
            .map(|(spec, target)| Aggregator::new(spec, target, setup.in_words(target, spec.kind)))
            .collect();
        for member in &self.threads {
            aggregators[member.target].add_member();
        }
        let stuck_ns = self.jobs.iter().map(|job| job.errors.stuck_ns).max();
        let own_end = Duration::from_nanos(self.end_ns);
        let clock = RunClock::new(&self.shared, self.clock);
        Ok(Run::new(
            self.threads,
            self.shared,
            self.receiver,
            aggregators,
            setup,
            Timeouts {
                drain: self.options.drain_timeout,
                stuck: Duration::from_nanos(stuck_ns.unwrap_or(u64::MAX)),
            },
            Timing {
                clock,
                end: start.checked_add(own_end),
            },
        ))
    }

    /// Gives up, and waits for what the threads hold: a start that failed leaves nothing open, and makes nothing any more.
    pub(super) fn abort(&self) {
        self.shared.abort();
        self.unpark();
        let give_up = Instant::now().checked_add(self.options.drain_timeout);
        let waits = || give_up.is_none_or(|give_up| Instant::now() < give_up);
        let ended = |member: &LoadThread| member.handle.is_finished();
        while !self.threads.iter().all(ended) && waits() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn unpark(&self) {
        for member in &self.threads {
            member.handle.thread().unpark();
        }
    }

    /// Returns the next thread's set-up. Buffers may take long to fill, so the wait ends only with the run.
    fn next_ready(
        &self,
        is_stopped: &mut impl FnMut() -> bool,
    ) -> Result<(usize, TargetSetup), EngineError> {
        loop {
            if !self.shared.stopped() && is_stopped() {
                self.shared.stop();
            }
            match self.receiver.recv_timeout(LOOK) {
                Ok(Message::Ready { target, setup }) => return setup.map(|setup| (target, setup)),
                Ok(_) => {}
                Err(_) => {
                    if let Some(dead) = self.threads.iter().find(|m| m.handle.is_finished()) {
                        return Err(EngineError::Defect {
                            thread: dead.member as u32,
                        });
                    }
                }
            }
        }
    }

    /// Releases all threads and returns how long it is until they start: the time asked for, or now where that has
    /// passed.
    fn open_gate(&self) -> Duration {
        if let Some(at) = self.options.start_at {
            self.shared.release_at(at);
            return left_until(at);
        }
        let start_ns = self.clock.now_ns() + HEAD_START.as_nanos() as u64;
        self.shared
            .release(start_ns, SystemTime::now() + HEAD_START);
        HEAD_START
    }
}

/// Takes over what a thread achieved; threads of a target agree but for their cores and notes.
fn absorb(ours: &mut TargetSetup, theirs: TargetSetup) {
    let (mut cpus, mut notes) = (mem::take(&mut ours.cpus), mem::take(&mut ours.notes));
    for note in &theirs.notes {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    cpus.extend(&theirs.cpus);
    cpus.sort_unstable();
    cpus.dedup();
    *ours = TargetSetup {
        cpus,
        notes,
        ..theirs
    };
}
