//! A drive inside a system: dies that serve reads before programs, and a buffer that makes writes
//! wait when the dies cannot keep up. It knows no addresses; jobs are numbers to it.

use std::collections::VecDeque;

use super::die::{Begun, Die, Ended, Times};
use super::params::DriveParams;
use crate::sim::event::us_to_ns;
use crate::sim::server::{Fifo, Waits};

const NS_PER_S: f64 = 1e9;
/// What an entry of a drive's map stands for.
const MAP_ENTRY_BYTES: f64 = 4096.0;

/// One drive.
pub struct Drive {
    params: DriveParams,
    times: Times,
    dies: Vec<Die>,
    pub(super) to_host: Fifo,
    pub(super) to_drive: Fifo,
    /// The firmware that walks the map of a trim.
    pub(super) map: Fifo,
    buffered: f64,
    debt_bytes: f64,
    waiting: VecDeque<(u32, u64, f64)>,
    /// Reads that wait for their die, and writes for room in the buffer, which the dies make.
    waits: Waits,
    next_die: usize,
}

/// What a read, a write or a die's event led to.
#[derive(Default)]
pub struct Outcome {
    /// A read that has its page.
    pub read: Option<u32>,
    /// Writes that have room in the buffer now.
    pub admitted: Vec<u32>,
    /// Dies whose work has a new end, with that end.
    pub started: Vec<(u32, u64)>,
}

impl Drive {
    pub(super) fn new(params: &DriveParams) -> Self {
        let slices_per_program = (params.program_us / params.suspend_us.max(1e-3))
            .ceil()
            .max(1.0);
        Self {
            times: Times {
                read_ns: us_to_ns(params.read_sense_us),
                slice_ns: (params.program_us * 1e3 / slices_per_program) as u64,
                slices_per_program: slices_per_program as u64,
            },
            dies: vec![Die::default(); params.dies as usize],
            to_host: Fifo::new(1),
            to_drive: Fifo::new(1),
            map: Fifo::new(1),
            buffered: 0.0,
            debt_bytes: 0.0,
            waiting: VecDeque::new(),
            waits: Waits::default(),
            next_die: 0,
            params: params.clone(),
        }
    }

    pub(super) fn params(&self) -> &DriveParams {
        &self.params
    }

    /// Returns the busy time summed over the dies, per die.
    pub(super) fn busy_ns(&self, now_ns: u64) -> u64 {
        let busy = self.dies.iter().map(|die| die.busy_ns(now_ns, &self.times));
        busy.sum::<u64>() / self.dies.len() as u64
    }

    /// Returns the time that I/O waited for the dies, summed over it.
    pub(super) fn waited_ns(&self, now_ns: u64) -> u64 {
        self.waits.total_ns(now_ns)
    }

    pub(super) fn send_ps(&self, bytes: u32) -> u64 {
        (f64::from(bytes) / (self.params.read_mbps * 1e6) * NS_PER_S * 1e3) as u64
    }

    pub(super) fn take_ps(&self, bytes: u32) -> u64 {
        (f64::from(bytes) / (self.params.write_mbps * 1e6) * NS_PER_S * 1e3) as u64
    }

    /// Returns how long the map is walked for a trim.
    pub(super) fn trim_ps(&self, bytes: f64) -> u64 {
        ((bytes / MAP_ENTRY_BYTES).ceil() * self.params.trim_entry_ns * 1e3) as u64
    }

    /// A read reaches a die.
    pub(super) fn read(&mut self, die: u32, job: u32, now_ns: u64, outcome: &mut Outcome) {
        self.waits.begin(now_ns, Waits::WHOLE);
        match self.dies[die as usize].read(job, now_ns, &self.times) {
            Some(end_ns) => outcome.started.push((die, end_ns)),
            None => self.start(die as usize, now_ns, outcome),
        }
    }

    /// A write reaches the buffer; `amplification` programmed bytes follow per byte.
    pub(super) fn write(
        &mut self,
        job: u32,
        bytes: u64,
        amplification: f64,
        now_ns: u64,
        outcome: &mut Outcome,
    ) {
        self.waiting.push_back((job, bytes, amplification));
        self.waits.begin(now_ns, Waits::WHOLE);
        self.admit(now_ns, outcome);
    }

    /// A die may have ended what it did.
    pub(super) fn ended(&mut self, die: u32, now_ns: u64, outcome: &mut Outcome) {
        match self.dies[die as usize].end(now_ns, &self.times) {
            None => return,
            Some(Ended::Read(job)) => outcome.read = Some(job),
            Some(Ended::Program) => {
                self.buffered -= self.params.program_bytes as f64;
                self.admit(now_ns, outcome);
            }
            Some(Ended::Slices) => {}
        }
        self.start(die as usize, now_ns, outcome);
    }

    /// Takes writes in while the buffer, which holds what has yet to be programmed, has room. One that is larger than
    /// the buffer goes in alone, once nothing is being programmed: less than a program's worth then stays behind.
    fn admit(&mut self, now_ns: u64, outcome: &mut Outcome) {
        while let Some(&(job, bytes, amplification)) = self.waiting.front() {
            let programmed = bytes as f64 * amplification;
            let room = self.params.buffer_bytes as f64 - self.buffered;
            let in_programs = self.buffered - self.debt_bytes;
            if programmed > room && in_programs >= self.params.program_bytes as f64 / 2.0 {
                return;
            }
            self.waiting.pop_front();
            self.waits.end(now_ns, Waits::WHOLE);
            outcome.admitted.push(job);
            self.buffered += programmed;
            self.debt_bytes += programmed;
            while self.debt_bytes >= self.params.program_bytes as f64 {
                self.debt_bytes -= self.params.program_bytes as f64;
                self.program(now_ns, outcome);
            }
        }
    }

    /// Programs go to the dies in turn, as superblocks are written.
    fn program(&mut self, now_ns: u64, outcome: &mut Outcome) {
        let die = self.next_die;
        self.next_die = (die + 1) % self.dies.len();
        self.dies[die].program(&self.times);
        self.start(die, now_ns, outcome);
    }

    fn start(&mut self, die: usize, now_ns: u64, outcome: &mut Outcome) {
        let end_ns = match self.dies[die].begin(now_ns, &self.times) {
            None => return,
            Some(Begun::Read(end_ns)) => {
                self.waits.end(now_ns, Waits::WHOLE);
                end_ns
            }
            Some(Begun::Slices(end_ns)) => end_ns,
        };
        outcome.started.push((die as u32, end_ns));
    }
}
