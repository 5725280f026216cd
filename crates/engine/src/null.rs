//! A load thread on the null target: requests complete within the process, at the next reap and in the order in
//! which they were submitted. No system call and no ring, so what is left is the cost of the load loop itself.

use std::{collections::VecDeque, io};

use workload::Request;

use crate::{
    TargetSetup,
    affinity::pinned,
    buffers::Pages,
    clock::Clock,
    driver::{self, ThreadSpec},
    queue_pair::{QueuePair, wait_until},
};

/// The body of a load thread: waits for the start, runs, reports.
pub(crate) fn run(spec: ThreadSpec) {
    let mut notes = Vec::new();
    let cpus = pinned(spec.cpu, &mut notes);
    notes.extend(spec.target.placement_note(&spec.job));
    if spec.sqpoll {
        notes.push("SQPOLL was asked for and has no effect: null: has no ring, nop: has".into());
    }
    if spec.huge_pages {
        notes.push("huge pages were asked for and have no effect: null: has no buffers".into());
    }
    if spec.gpu {
        notes.push("a GPU was asked for and has no effect: null: has no buffers".into());
    }
    spec.context.ready(Ok(TargetSetup {
        backend: "in-process".into(),
        huge_pages: Pages::Small.name().into(),
        cpus,
        notes,
        ..TargetSetup::default()
    }));
    let Some(clock) = spec.context.shared.wait_for_start(spec.clock) else {
        return;
    };
    let queue = InProcess {
        queued: VecDeque::with_capacity(spec.job.load.iodepth() as usize),
        clock,
        idle_ns: 0,
    };
    let (meter, _) = driver::drive(&spec, queue, clock);
    meter.finish();
}

/// Slots whose requests are complete as soon as they are looked for.
struct InProcess {
    queued: VecDeque<u16>,
    clock: Clock,
    idle_ns: u64,
}

impl QueuePair for InProcess {
    #[inline(always)]
    fn queue(&mut self, _request: &mut Request, slot: u16) -> io::Result<()> {
        self.queued.push_back(slot);
        Ok(())
    }

    fn send(&mut self) -> io::Result<usize> {
        Ok(self.queued.len())
    }

    #[inline(always)]
    fn submit(&mut self, _want: usize) -> io::Result<bool> {
        Ok(true)
    }

    fn submit_until(&mut self, until_ns: u64) -> io::Result<()> {
        if !self.queued.is_empty() {
            return Ok(());
        }
        self.idle_ns += wait_until(&self.clock, until_ns);
        Ok(())
    }

    #[inline(always)]
    fn next(&mut self) -> Option<(u16, i32)> {
        self.queued.pop_front().map(|slot| (slot, 0))
    }

    #[inline(always)]
    fn settle(&mut self, _slot: u16, _request: &Request, _result: i32) -> Result<(), i32> {
        Ok(())
    }

    fn idle_ns(&self) -> Option<u64> {
        Some(self.idle_ns)
    }

    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}
