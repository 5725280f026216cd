//! A drive inside a system: dies that serve reads before programs, and a buffer that makes writes
//! wait when the dies cannot keep up. It knows no addresses; jobs are numbers to it.

use std::collections::VecDeque;

use super::params::DriveParams;
use crate::sim::event::us_to_ns;
use crate::sim::server::{Fifo, Waits};

const NS_PER_S: f64 = 1e9;
/// What an entry of a drive's map stands for.
const MAP_ENTRY_BYTES: f64 = 4096.0;

#[derive(Clone, Default)]
struct Die {
    busy: bool,
    /// The read being served; `None` while a slice of a program runs.
    reading: Option<u32>,
    reads: VecDeque<u32>,
    /// Slices of programs left, the running one included.
    slices: u64,
    /// Slices left of the program at hand.
    slices_of_program: u64,
}

/// One drive.
pub struct Drive {
    params: DriveParams,
    read_ns: u64,
    slice_ns: u64,
    slices_per_program: u64,
    dies: Vec<Die>,
    pub(super) to_host: Fifo,
    pub(super) to_drive: Fifo,
    /// The firmware that walks the map of a trim.
    pub(super) map: Fifo,
    busy_ns: u64,
    buffered: f64,
    debt_bytes: f64,
    waiting: VecDeque<(u32, u64, f64)>,
    /// Reads that wait for their die, and writes for room in the buffer, which the dies make.
    waits: Waits,
    next_die: usize,
}

/// What a die's event led to.
#[derive(Default)]
pub struct Outcome {
    /// A read that has its page.
    pub read: Option<u32>,
    /// Writes that have room in the buffer now.
    pub admitted: Vec<u32>,
    /// Dies that work from now on, with the end of what they do.
    pub started: Vec<(u32, u64)>,
}

impl Drive {
    pub(super) fn new(params: &DriveParams) -> Self {
        let slices_per_program = (params.program_us / params.suspend_us.max(1e-3))
            .ceil()
            .max(1.0);
        Self {
            read_ns: us_to_ns(params.read_sense_us),
            slice_ns: (params.program_us * 1e3 / slices_per_program) as u64,
            slices_per_program: slices_per_program as u64,
            dies: vec![Die::default(); params.dies as usize],
            to_host: Fifo::new(1),
            to_drive: Fifo::new(1),
            map: Fifo::new(1),
            busy_ns: 0,
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
    pub(super) fn busy_ns(&self) -> u64 {
        self.busy_ns / self.dies.len() as u64
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
    pub(super) fn read(&mut self, die: u32, job: u32, now_ns: u64) -> Outcome {
        self.dies[die as usize].reads.push_back(job);
        self.waits.begin(now_ns, Waits::WHOLE);
        let mut outcome = Outcome::default();
        self.start(die as usize, now_ns, &mut outcome);
        outcome
    }

    /// A write reaches the buffer; `amplification` programmed bytes follow per byte.
    pub(super) fn write(
        &mut self,
        job: u32,
        bytes: u64,
        amplification: f64,
        now_ns: u64,
    ) -> Outcome {
        self.waiting.push_back((job, bytes, amplification));
        self.waits.begin(now_ns, Waits::WHOLE);
        let mut outcome = Outcome::default();
        self.admit(now_ns, &mut outcome);
        outcome
    }

    /// A die has ended what it did.
    pub(super) fn ended(&mut self, die: u32, now_ns: u64) -> Outcome {
        let mut outcome = Outcome::default();
        let state = &mut self.dies[die as usize];
        state.busy = false;
        if let Some(job) = state.reading.take() {
            outcome.read = Some(job);
        } else {
            state.slices -= 1;
            state.slices_of_program -= 1;
            if state.slices_of_program == 0 {
                state.slices_of_program = self.slices_per_program;
                self.buffered -= self.params.program_bytes as f64;
                self.admit(now_ns, &mut outcome);
            }
        }
        self.start(die as usize, now_ns, &mut outcome);
        outcome
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
        let state = &mut self.dies[die];
        if state.slices == 0 {
            state.slices_of_program = self.slices_per_program;
        }
        state.slices += self.slices_per_program;
        self.start(die, now_ns, outcome);
    }

    fn start(&mut self, die: usize, now_ns: u64, outcome: &mut Outcome) {
        let state = &mut self.dies[die];
        if state.busy {
            return;
        }
        let length_ns = if let Some(job) = state.reads.pop_front() {
            state.reading = Some(job);
            self.waits.end(now_ns, Waits::WHOLE);
            self.read_ns
        } else if state.slices > 0 {
            self.slice_ns
        } else {
            return;
        };
        state.busy = true;
        self.busy_ns += length_ns;
        outcome.started.push((die as u32, now_ns + length_ns));
    }
}
