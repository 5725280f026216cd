//! The state of a die: the reads and background jobs that it has and those that wait.

use std::collections::VecDeque;

/// A job of a die other than host reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Program(u32),
    Erase,
    Cleaning(CleaningJob),
}

/// A read of cleaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleaningJob {
    /// The caller's identifier.
    pub id: u32,
    /// Page groups that the pages lie on, one page of every plane each, and whether these are in SLC mode.
    pub senses: u32,
    pub is_slc: bool,
    /// 4 KiB units.
    pub units: u32,
}

/// State of a die's background job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Background {
    /// There is none.
    Idle,
    /// It waits for reads, which may start until `window_end_ns`.
    Pending,
    /// It runs until `end_ns`.
    Running,
    /// It is being suspended until `end_ns`.
    Suspending,
}

#[derive(Clone)]
pub(super) struct Die {
    pub(super) channel: u32,
    pub(super) background: Background,
    pub(super) job: Job,
    pub(super) remaining_ns: u64,
    pub(super) end_ns: u64,
    pub(super) hold_until_ns: u64,
    pub(super) window_end_ns: u64,
    /// Servers that sense or hold data.
    pub(super) active: u32,
    /// Reads in the servers' queues.
    pub(super) waiting: u32,
    pub(super) loading: bool,
    pub(super) loaded: bool,
    pub(super) awaits_budget: bool,
    pub(super) programs: VecDeque<u32>,
    pub(super) cleaning: VecDeque<CleaningJob>,
    pub(super) programmed_bytes: u64,
    pub(super) busy_server_ns: u64,
    pub(super) busy_changed_ns: u64,
}

impl Die {
    pub(super) fn new(channel: u32, programmed_bytes: u64) -> Self {
        Self {
            channel,
            background: Background::Idle,
            job: Job::Erase,
            remaining_ns: 0,
            end_ns: 0,
            hold_until_ns: 0,
            window_end_ns: 0,
            active: 0,
            waiting: 0,
            loading: false,
            loaded: false,
            awaits_budget: false,
            programs: VecDeque::new(),
            cleaning: VecDeque::new(),
            programmed_bytes,
            busy_server_ns: 0,
            busy_changed_ns: 0,
        }
    }

    /// Servers in use.
    #[inline]
    pub(super) fn level(&self, servers: u32) -> u32 {
        match self.background {
            Background::Running | Background::Suspending => servers,
            Background::Idle | Background::Pending => self.active,
        }
    }

    /// Adds the time since the last change; call before a change.
    #[inline]
    pub(super) fn account(&mut self, now_ns: u64, servers: u32) {
        let level = self.level(servers);
        self.busy_server_ns += u64::from(level) * (now_ns - self.busy_changed_ns);
        self.busy_changed_ns = now_ns;
    }
}
