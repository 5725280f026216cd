//! Non-operational power states that the drive goes to by itself (NVMe autonomous power state transitions). After the
//! idle time ITPT without a command it takes the entry latency (ENLAT) to get to the first, and draws less. After that
//! one's own idle time there it goes on to the next deeper one. It takes the exit latency (EXLAT) of the state it is in
//! to come back before it takes a command. A transition that has begun is completed first. On its way down the drive
//! draws the power of the state that it leaves; with a command waiting, that of an idle drive. Pure bookkeeping, from
//! command to command; what the dies are still doing goes on meanwhile and is paid for.

use crate::sim::event::us_to_ns;
use crate::ssd::params::SsdParams;

/// An idle state, its times counted from the end of the last command.
#[derive(Clone, Copy)]
struct State {
    begins_ns: u64,
    reached_ns: u64,
    exit_ns: u64,
    /// Power below that of the state above it.
    saved_w: f64,
}

/// Where the drive is between two commands, and what that has saved.
#[derive(Clone)]
pub struct Rest {
    /// The shallowest first.
    states: Box<[State]>,
    /// When the last command ended; `None` while there is one.
    idle_since_ns: Option<u64>,
    /// From when on it takes commands.
    awake_ns: u64,
    saved_j: f64,
}

impl Rest {
    /// Returns the states; `None` for a drive that stays in the state in force.
    pub fn new(params: &SsdParams) -> Option<Self> {
        let mut above = (0, params.idle_w);
        let states: Box<[State]> = params
            .idle_states()
            .iter()
            .map(|state| {
                let begins_ns = above.0 + us_to_ns(state.after_us);
                let reached_ns = begins_ns + us_to_ns(state.entry_us);
                let saved_w = above.1 - state.power_w;
                above = (reached_ns, state.power_w);
                State {
                    begins_ns,
                    reached_ns,
                    exit_ns: us_to_ns(state.exit_us),
                    saved_w,
                }
            })
            .collect();
        (!states.is_empty()).then_some(Self {
            states,
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
        let begun = |state: &&State| now_ns >= since_ns + state.begins_ns;
        if let Some(deepest) = self.states.iter().rfind(begun) {
            self.awake_ns = now_ns.max(since_ns + deepest.reached_ns) + deepest.exit_ns;
        }
        true
    }

    /// Returns from when on the drive takes commands.
    pub fn awake_ns(&self) -> u64 {
        self.awake_ns
    }

    /// Returns the energy below that of an idle drive so far. Each state saves on top of those above it.
    pub fn saved_j(&self, now_ns: u64) -> f64 {
        let since_ns = self.idle_since_ns.unwrap_or(now_ns);
        self.states.iter().fold(self.saved_j, |saved_j, state| {
            let rested_ns = now_ns.saturating_sub(since_ns + state.reached_ns);
            saved_j + state.saved_w * rested_ns as f64 * 1e-9
        })
    }
}
