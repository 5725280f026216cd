//! Dies and channels: queues, read priority, program and erase suspension, transfers.
//!
//! A die serves host reads, one at a time, or one at a time per plane if planes are independent. Beside them it serves
//! one background job: a program, an erase, or the sensing of pages for cleaning. Reads come first. They suspend a
//! running program or erase, but not before it has run `program_min_run_us`. They hold a waiting job back, but not for
//! longer than `program_max_wait_us`. A plane keeps its data register until the channel has taken the data. The next
//! program's data is loaded while the current one runs. A channel carries one transfer at a time, reads first. A
//! background transfer gives way at the next NAND-page boundary, and gets a turn after four reads.
//!
//! Every queue is served in time order. Nothing is booked ahead but the transfers of a channel that carries reads only.
//! Their order is that of their senses: whatever is sensed sooner is put before the others.

mod background;
mod channel;
mod die;
mod reads;
#[cfg(test)]
mod tests;
mod times;
mod transfers;

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use self::channel::{Carrying, Channel};
pub use self::die::CleaningJob;
use self::die::Die;
use self::reads::{ReadOp, ReadServer};
use self::times::Times;
use crate::sim::calendar::Calendar;
use crate::sim::event::us_to_ns;
use crate::sim::server::Waits;
use crate::ssd::params::SsdParams;

const NONE: u32 = u32::MAX;

/// Bit of a unit's number that says it is programmed in SLC mode.
const SLC: u32 = 1 << 31;
/// Bit of a unit's number that says it is programmed with padding only, which takes no room in the buffer.
pub const PADDING: u32 = 1 << 30;

/// A finished flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Data of a host read is in the controller: (request, 4 KiB units).
    Read(u32, u32),
    /// A unit is programmed.
    Program(u32),
    /// Pages for cleaning are in the controller: the caller's identifier.
    CleaningRead(u32),
    /// A die has erased an erase unit.
    Erase(u32),
}

/// Operations counted for energy and media bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashCounts {
    /// Page senses, one plane each.
    pub senses: u64,
    /// Those in SLC mode, where it has a time of its own.
    pub slc_senses: u64,
    /// 4 KiB units moved out of dies.
    pub units_out: u64,
    /// Units programmed.
    pub programs: u64,
    /// Units programmed in SLC mode, to a fraction of what they could hold.
    pub slc_programs: u64,
    /// Erases of one die's erase unit.
    pub erases: u64,
}

impl FlashCounts {
    /// Counts senses of pages in one of the two modes.
    #[inline]
    fn add_senses(&mut self, senses: u64, is_slc: bool) {
        match is_slc {
            false => self.senses += senses,
            true => self.slc_senses += senses,
        }
    }
}

/// All dies and channels of a drive.
#[derive(Clone)]
pub struct Flash {
    dies: Vec<Die>,
    servers: Vec<ReadServer>,
    servers_per_die: u32,
    channels: Vec<Channel>,
    ops: Vec<ReadOp>,
    free_op: u32,
    times: Times,
    may_suspend: bool,
    /// Jobs that may still be taken up within the power budget, and all that may be at once.
    budget: u32,
    budget_jobs: u32,
    budget_waiters: VecDeque<u32>,
    /// Time for which jobs have held a place in the budget.
    held: Waits,
    /// Reads that wait for their plane, and for the channel.
    die_waits: Waits,
    channel_waits: Waits,
    /// What a program adds to the erases that are due: nothing where they are asked for.
    due_bytes: u64,
    erase_unit_bytes: u64,
    planes: u32,
    /// Duration of a transfer by its 4 KiB units.
    transfers_ns: [u64; Self::READ_UNITS_MAX as usize + 1],
    rng: Xoshiro256PlusPlus,
    /// A random number below which a read needs `retries` more senses: its share of all numbers.
    retry_below: u64,
    retries: u32,
    /// Time that decoding takes after a read.
    pub ecc_ns: u64,
    /// What was done.
    pub counts: FlashCounts,
}

impl Flash {
    /// Returns flash whose dies are idle.
    pub fn new(params: &SsdParams, seed: u64) -> Self {
        let times = Times::new(params);
        let servers_per_die = if params.independent_plane_reads {
            params.planes_per_die
        } else {
            1
        };
        let dies = params.dies();
        let zoned = params.zone_bytes > 0;
        Self {
            // Erases are spread over time: no two dies have programmed the same share of a unit.
            dies: (0..dies)
                .map(|die| {
                    let programmed = match zoned {
                        true => 0,
                        false => params.erase_unit_bytes * u64::from(die) / u64::from(dies),
                    };
                    Die::new(die % params.channels, programmed)
                })
                .collect(),
            servers: vec![
                ReadServer {
                    busy: false,
                    head: NONE,
                    tail: NONE
                };
                (dies * servers_per_die) as usize
            ],
            servers_per_die,
            channels: (0..params.channels).map(|_| Channel::new()).collect(),
            ops: Vec::with_capacity(4096),
            free_op: NONE,
            may_suspend: params.program_suspend,
            budget: params.programming_dies_max.min(dies),
            budget_jobs: params.programming_dies_max.min(dies),
            budget_waiters: VecDeque::with_capacity(dies as usize),
            held: Waits::default(),
            die_waits: Waits::default(),
            channel_waits: Waits::default(),
            due_bytes: if zoned { 0 } else { params.program_bytes() },
            erase_unit_bytes: params.erase_unit_bytes,
            planes: params.planes_per_die,
            transfers_ns: std::array::from_fn(|units| times.transfer_ns(units as u32)),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            retry_below: (params.read_retry_share * 2f64.powi(64)) as u64,
            retries: params.read_retries,
            ecc_ns: us_to_ns(params.ecc_us),
            counts: FlashCounts::default(),
            times,
        }
    }

    /// Most 4 KiB units that one read operation can carry.
    pub const READ_UNITS_MAX: u32 = 64;

    /// A filled unit may be programmed.
    pub fn program(&mut self, now_ns: u64, calendar: &mut Calendar, unit: u32, die: u32) {
        self.enqueue_program(now_ns, calendar, unit, die);
    }

    /// Asks for a program in SLC mode of a unit with one page per plane filled.
    pub fn program_slc(&mut self, now_ns: u64, calendar: &mut Calendar, unit: u32, die: u32) {
        self.enqueue_program(now_ns, calendar, unit | SLC, die);
    }

    fn enqueue_program(&mut self, now_ns: u64, calendar: &mut Calendar, unit: u32, die: u32) {
        self.dies[die as usize].programs.push_back(unit);
        self.load_next(now_ns, calendar, die);
        self.start_background(now_ns, calendar, die);
    }

    /// Has a die of a zoned drive erase `erase_units` erase units before it programs again.
    pub fn erase(&mut self, now_ns: u64, calendar: &mut Calendar, die: u32, erase_units: u32) {
        let due_bytes = u64::from(erase_units) * self.erase_unit_bytes;
        self.dies[die as usize].programmed_bytes += due_bytes;
        self.start_background(now_ns, calendar, die);
    }

    /// Cleaning wants pages of a die.
    pub fn cleaning_read(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        die: u32,
        job: CleaningJob,
    ) {
        self.dies[die as usize].cleaning.push_back(job);
        self.start_background(now_ns, calendar, die);
    }

    /// Returns the busy time of each channel.
    pub fn channels_busy_ns(&self, now_ns: u64) -> impl Iterator<Item = u64> {
        self.channels.iter().map(move |channel| {
            let running = channel.carrying != Carrying::Nothing;
            let booked_until_ns = channel.booked.back().map_or(0, |load| load.until_ns);
            channel.busy_ns - booked_until_ns.saturating_sub(now_ns)
                + if running {
                    now_ns.saturating_sub(channel.started_ns)
                } else {
                    0
                }
        })
    }

    /// Returns the busy time of each die: the mean over its planes where these are independent.
    pub fn dies_busy_ns(&self, now_ns: u64) -> impl Iterator<Item = u64> {
        let servers = self.servers_per_die;
        self.dies.iter().map(move |die| {
            let level = u64::from(die.level(servers));
            (die.busy_server_ns + level * (now_ns - die.busy_changed_ns)) / u64::from(servers)
        })
    }

    /// Returns the time for which programs and erases held a place in the power budget, per place. It counts from when
    /// they are taken up until they end, while they wait for reads or are suspended too.
    pub fn budget_held_ns(&self, now_ns: u64) -> u64 {
        self.held.total_ns(now_ns) / u64::from(self.budget_jobs)
    }

    /// Returns the time that host reads waited for a channel and for a plane, summed over them.
    pub fn reads_waited_ns(&self, now_ns: u64) -> (u64, u64) {
        let (channels, dies) = (&self.channel_waits, &self.die_waits);
        (channels.total_ns(now_ns), dies.total_ns(now_ns))
    }
}
