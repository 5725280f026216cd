//! Commands that wait for the arm, and which of them is next. It is the one with the shortest positioning time, seek
//! and rotation together, less an allowance for its age. Without that a far request starves while near ones keep
//! coming. Sources: Seltzer, Chen and Ousterhout, "Disk scheduling revisited", 1990; Jacobson and Wilkes, "Disk
//! scheduling algorithms based on rotational position", 1991.
//!
//! A run of commands that follow each other on the medium begins at its first. An arm that began in its middle would
//! lose a turn to come back.

use super::layout::{Layout, Place};
use super::params::Scheduling;
use super::seek::Seek;

/// A command that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Its request.
    pub slot: u32,
    /// First byte on the medium.
    pub start: u64,
    /// The byte behind its last.
    pub end: u64,
    /// Where it starts.
    pub place: Place,
    /// Since when it waits.
    pub since_ns: u64,
    /// It writes.
    pub write: bool,
}

/// Where the arm is, and what positioning it costs.
pub struct Arm<'a> {
    /// Where it is.
    pub at: Place,
    /// Streaming time of the byte that follows the last one it passed.
    pub next_stream_ns: u64,
    /// The present.
    pub now_ns: u64,
    /// Its remainder by the turn.
    pub angle_ns: u64,
    /// From the choice of a command to the start of its seek.
    pub setup_ns: u64,
    /// The address map.
    pub layout: &'a Layout,
    /// The times of the arm.
    pub seek: &'a Seek,
}

/// The parts of a positioning time, ns.
#[derive(Clone, Copy, Debug)]
pub struct Positioning {
    pub setup_ns: u64,
    pub seek_ns: u64,
    pub wait_ns: u64,
}

impl Positioning {
    /// Returns the whole time.
    #[inline]
    pub const fn total_ns(self) -> u64 {
        self.setup_ns + self.seek_ns + self.wait_ns
    }
}

impl Arm<'_> {
    /// Returns what it takes to be over a place. Going on where the head is costs neither setup nor seek, only
    /// what has turned past meanwhile.
    #[inline]
    pub fn position(&self, to: &Place, write: bool) -> Positioning {
        let (setup_ns, seek_ns) = if to.stream_ns == self.next_stream_ns {
            (0, 0)
        } else {
            (self.setup_ns, self.seek.time_ns(&self.at, to, write))
        };
        Positioning {
            setup_ns,
            seek_ns,
            wait_ns: self.layout.wait_ns(self.angle_ns + setup_ns + seek_ns, to),
        }
    }
}

/// Commands that wait for the arm.
#[derive(Clone, Default)]
pub struct Queue {
    waiting: Vec<Waiting>,
    scheduling: Scheduling,
    ageing: f64,
}

impl Queue {
    /// Returns an empty queue.
    pub fn new(scheduling: Scheduling, ageing: f64) -> Self {
        Self {
            waiting: Vec::new(),
            scheduling,
            ageing,
        }
    }

    /// Adds a command.
    #[inline]
    pub fn push(&mut self, waiting: Waiting) {
        self.waiting.push(waiting);
    }

    /// Returns whether nobody waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Keeps the commands for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&Waiting) -> bool) {
        self.waiting.retain(keep);
    }

    /// Takes the next command.
    #[inline]
    pub fn next(&mut self, arm: &Arm) -> Option<Waiting> {
        match self.scheduling {
            Scheduling::Fcfs => (!self.waiting.is_empty()).then(|| self.waiting.remove(0)),
            Scheduling::Sptf => {
                let mut best = None;
                for (index, waiting) in self.waiting.iter().enumerate() {
                    let positioning = arm.position(&waiting.place, waiting.write);
                    let age_ns = arm.now_ns.saturating_sub(waiting.since_ns) as f64;
                    let cost = positioning.total_ns() as f64 - self.ageing * age_ns;
                    if best.is_none_or(|(least, _)| cost < least) && !self.follows(waiting) {
                        best = Some((cost, index));
                    }
                }
                best.map(|(_, index)| self.waiting.swap_remove(index))
            }
        }
    }

    /// Returns whether the command before it on the medium waits too.
    fn follows(&self, waiting: &Waiting) -> bool {
        self.waiting
            .iter()
            .any(|other| other.end == waiting.start && other.write == waiting.write)
    }
}
