//! A non-operational power state that the drive goes to by itself (NVMe autonomous power state transitions). After the
//! idle time ITPT without a command it takes the entry latency (ENLAT) to get there, and draws less. It takes the exit
//! latency (EXLAT) to come back before it takes a command. A transition that has begun is completed first. Pure
//! bookkeeping, from command to command; what the dies are still doing goes on meanwhile and is paid for.

use crate::sim::event::us_to_ns;
use crate::ssd::params::SsdParams;

/// Where the drive is between two commands, and what that has saved.
#[derive(Clone)]
pub struct Rest {
    after_ns: u64,
    entry_ns: u64,
    exit_ns: u64,
    /// Power below that of an idle drive.
    saved_w: f64,
    /// When the last command ended; `None` while there is one.
    idle_since_ns: Option<u64>,
    /// From when on it takes commands.
    awake_ns: u64,
    saved_j: f64,
}

impl Rest {
    /// Returns the state; `None` for a drive that stays in the state in force.
    pub fn new(params: &SsdParams) -> Option<Self> {
        (params.idle_state_after_us > 0.0).then(|| Self {
            after_ns: us_to_ns(params.idle_state_after_us),
            entry_ns: us_to_ns(params.idle_state_entry_us),
            exit_ns: us_to_ns(params.idle_state_exit_us),
            saved_w: params.idle_w - params.idle_state_w,
            idle_since_ns: Some(0),
            awake_ns: 0,
            saved_j: 0.0,
        })
    }

    /// The last command has ended.
    pub fn command_gone(&mut self, now_ns: u64) {
        self.idle_since_ns = Some(now_ns);
    }

    /// Notes that a command comes. Returns whether there was none.
    pub fn command_comes(&mut self, now_ns: u64) -> bool {
        self.saved_j = self.saved_j(now_ns);
        let Some(since_ns) = self.idle_since_ns.take() else {
            return false;
        };
        if now_ns >= since_ns + self.after_ns {
            self.awake_ns = now_ns.max(self.at_rest_ns(since_ns)) + self.exit_ns;
        }
        true
    }

    /// Returns from when on the drive takes commands.
    pub fn awake_ns(&self) -> u64 {
        self.awake_ns
    }

    /// Returns the energy below that of an idle drive so far.
    pub fn saved_j(&self, now_ns: u64) -> f64 {
        let since_ns = self.idle_since_ns.unwrap_or(now_ns);
        let rested_ns = now_ns.saturating_sub(self.at_rest_ns(since_ns));
        self.saved_j + self.saved_w * rested_ns as f64 * 1e-9
    }

    fn at_rest_ns(&self, since_ns: u64) -> u64 {
        since_ns + self.after_ns + self.entry_ns
    }
}
