//! Dies and channels: queues, read priority, program and erase suspension, transfers.
//!
//! A die serves host reads (one at a time per plane if planes are independent, else one at a time)
//! and one background job: a program, an erase, or the sensing of pages for cleaning. Reads come
//! first: they suspend a running program or erase (not before it has run `program_min_run_us`) and
//! hold a waiting job back, but not for longer than `program_max_wait_us`. A plane keeps its data
//! register until the channel has taken the data. The next program's data is loaded while the
//! current one runs. A channel carries one transfer at a time, reads first; a background transfer
//! gives way at the next NAND-page boundary, and gets a turn after four reads.
//!
//! Every queue is served in time order. Nothing is booked ahead but the transfers of a channel that carries
//! reads only: their order is that of their senses, and whoever is sensed sooner is put before the others.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use crate::calendar::Calendar;
use crate::event::{Event, us_to_ns};
use crate::geometry::Place;
use crate::params::{SenseTime, SsdParams, UNIT_BYTES};

const NONE: u32 = u32::MAX;
/// Reads in a row after which a waiting background transfer gets a turn.
const READ_TURNS: u32 = 4;

/// Bit of a unit's number that says it is programmed in SLC mode.
const SLC: u32 = 1 << 31;

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

#[derive(Clone, Copy, Default)]
struct ReadOp {
    request: u32,
    die: u32,
    server: u32,
    units: u32,
    sense_ns: u32,
    next: u32,
}

/// A job of a die other than host reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Program(u32),
    Erase,
    Cleaning(CleaningJob),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CleaningJob {
    id: u32,
    senses: u32,
    units: u32,
}

/// State of a die's background job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Background {
    /// There is none.
    Idle,
    /// It waits for reads, which may start until `window_end_ns`.
    Pending,
    /// It runs until `end_ns`.
    Running,
    /// It is being suspended until `end_ns`.
    Suspending,
}

struct Die {
    channel: u32,
    background: Background,
    job: Job,
    remaining_ns: u64,
    end_ns: u64,
    hold_until_ns: u64,
    window_end_ns: u64,
    /// Servers that sense or hold data.
    active: u32,
    /// Reads in the servers' queues.
    waiting: u32,
    loading: bool,
    loaded: bool,
    awaits_budget: bool,
    programs: VecDeque<u32>,
    cleaning: VecDeque<CleaningJob>,
    programmed_bytes: u64,
    busy_server_ns: u64,
    busy_changed_ns: u64,
}

#[derive(Clone, Copy, Default)]
struct ReadServer {
    busy: bool,
    head: u32,
    tail: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Payload {
    Load(u32),
    Cleaning(u32),
}

struct Transfer {
    payload: Payload,
    remaining_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrying {
    Nothing,
    Read(u32),
    Background,
}

struct Channel {
    carrying: Carrying,
    /// May lie ahead: a read whose page is still being sensed, and that nothing will pass.
    started_ns: u64,
    until_ns: u64,
    reads: VecDeque<u32>,
    /// Reads that follow those, by when their pages are sensed. While there is no background transfer, the
    /// order of reads is known when they start, and [`Event::Sensed`] is not needed.
    ahead: VecDeque<(u64, u32)>,
    /// Reads that have such an event.
    sensing: u32,
    background: VecDeque<Transfer>,
    reads_in_a_row: u32,
    busy_ns: u64,
}

/// Operations counted for energy and media bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashCounts {
    /// Page senses, one plane each.
    pub senses: u64,
    /// 4 KiB units moved out of dies.
    pub units_out: u64,
    /// Units programmed.
    pub programs: u64,
    /// Units programmed in SLC mode, to a fraction of what they could hold.
    pub slc_programs: u64,
    /// Erases of one die's erase unit.
    pub erases: u64,
}

/// Durations in ns.
struct Times {
    sense: [u32; 4],
    cleaning_sense: u64,
    exponential: bool,
    program: u64,
    slc_program: u64,
    slc_load: u64,
    erase: u64,
    suspend: u64,
    min_run: u64,
    max_wait: u64,
    load: u64,
    chunk: u64,
    command: f64,
    unit: f64,
}

/// All dies and channels of a drive.
pub struct Flash {
    dies: Vec<Die>,
    servers: Vec<ReadServer>,
    servers_per_die: u32,
    channels: Vec<Channel>,
    ops: Vec<ReadOp>,
    free_op: u32,
    times: Times,
    may_suspend: bool,
    budget: u32,
    budget_waiters: VecDeque<u32>,
    program_running_ns: u64,
    /// What a program adds to the erases that are due: nothing where they are asked for.
    due_bytes: u64,
    erase_unit_bytes: u64,
    planes: u32,
    /// Duration of a transfer by its 4 KiB units.
    transfers_ns: [u64; Self::READ_UNITS_MAX as usize + 1],
    rng: Xoshiro256PlusPlus,
    /// What was done.
    pub counts: FlashCounts,
}

impl Flash {
    /// Idle dies.
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
            budget_waiters: VecDeque::with_capacity(dies as usize),
            program_running_ns: 0,
            due_bytes: if zoned { 0 } else { params.program_bytes() },
            erase_unit_bytes: params.erase_unit_bytes,
            planes: params.planes_per_die,
            transfers_ns: std::array::from_fn(|units| times.transfer_ns(units as u32)),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            counts: FlashCounts::default(),
            times,
        }
    }

    /// Most 4 KiB units that one read operation can carry.
    pub const READ_UNITS_MAX: u32 = 64;

    /// A host read of `units` neighbouring units of one NAND page (or of one page on every plane,
    /// if planes are not independent) reaches its die.
    #[inline]
    pub fn read(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        request: u32,
        place: Place,
        units: u32,
    ) {
        let plane = if self.servers_per_die == 1 {
            0
        } else {
            place.plane
        };
        let sense_ns = self.sense_ns(place.page_type);
        let op = self.allocate(ReadOp {
            request,
            die: place.die,
            server: place.die * self.servers_per_die + plane,
            units,
            sense_ns,
            next: NONE,
        });
        self.counts.units_out += u64::from(units);
        let server = self.ops[op as usize].server as usize;
        let die = &mut self.dies[place.die as usize];
        let admitted = match die.background {
            Background::Idle => true,
            Background::Pending => now_ns < die.window_end_ns,
            Background::Running | Background::Suspending => false,
        };
        if admitted && !self.servers[server].busy {
            self.start_read(now_ns, calendar, op);
            return;
        }
        self.enqueue_read(op);
        let die = &mut self.dies[place.die as usize];
        die.waiting += 1;
        if die.background == Background::Running && self.may_suspend {
            if now_ns >= die.hold_until_ns {
                self.suspend(now_ns, calendar, place.die);
            } else if die.waiting == 1 && die.hold_until_ns < die.end_ns {
                calendar.push(die.hold_until_ns, Event::Die.with(place.die));
            }
        }
    }

    /// A filled unit may be programmed.
    pub fn program(&mut self, now_ns: u64, calendar: &mut Calendar, unit: u32, die: u32) {
        self.enqueue_program(now_ns, calendar, unit, die);
    }

    /// A unit of which one page per plane is filled may be programmed in SLC mode.
    pub fn program_slc(&mut self, now_ns: u64, calendar: &mut Calendar, unit: u32, die: u32) {
        self.enqueue_program(now_ns, calendar, unit | SLC, die);
    }

    fn enqueue_program(&mut self, now_ns: u64, calendar: &mut Calendar, unit: u32, die: u32) {
        self.dies[die as usize].programs.push_back(unit);
        self.load_next(now_ns, calendar, die);
        self.start_background(now_ns, calendar, die);
    }

    /// A die of a zoned drive is to erase so many erase units, before it programs again.
    pub fn erase(&mut self, now_ns: u64, calendar: &mut Calendar, die: u32, erase_units: u32) {
        let due_bytes = u64::from(erase_units) * self.erase_unit_bytes;
        self.dies[die as usize].programmed_bytes += due_bytes;
        self.start_background(now_ns, calendar, die);
    }

    /// Cleaning wants `units` units that lie on `senses` page groups of a die.
    pub fn cleaning_read(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        die: u32,
        id: u32,
        senses: u32,
        units: u32,
    ) {
        let job = CleaningJob { id, senses, units };
        self.dies[die as usize].cleaning.push_back(job);
        self.start_background(now_ns, calendar, die);
    }

    /// [`Event::Sensed`]: the page is in the register and goes to the channel.
    #[inline]
    pub fn sensed(&mut self, now_ns: u64, calendar: &mut Calendar, op: u32) {
        let index = self.dies[self.ops[op as usize].die as usize].channel;
        let channel = &mut self.channels[index as usize];
        channel.sensing -= 1;
        channel.reads.push_back(op);
        match channel.carrying {
            Carrying::Nothing => self.carry_next(now_ns, calendar, index),
            Carrying::Read(_) => {}
            Carrying::Background => {
                let chunks = (now_ns - channel.started_ns)
                    .div_ceil(self.times.chunk)
                    .max(1);
                let boundary_ns = channel.started_ns + chunks * self.times.chunk;
                if boundary_ns < channel.until_ns {
                    channel.until_ns = boundary_ns;
                    calendar.push(boundary_ns, Event::Channel.with(index));
                }
            }
        }
    }

    /// [`Event::Channel`]: a transfer, or a part of a background transfer, has ended.
    #[inline]
    pub fn channel_event(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        index: u32,
    ) -> Option<Finished> {
        let channel = &mut self.channels[index as usize];
        if channel.carrying == Carrying::Nothing || channel.until_ns != now_ns {
            return None;
        }
        let elapsed_ns = now_ns - channel.started_ns;
        channel.busy_ns += elapsed_ns;
        let carried = std::mem::replace(&mut channel.carrying, Carrying::Nothing);
        if let Carrying::Read(op) = carried {
            let ReadOp { request, units, .. } = self.ops[op as usize];
            self.carry_next(now_ns, calendar, index);
            self.read_left(now_ns, calendar, op);
            return Some(Finished::Read(request, units));
        }
        let transfer = channel.background.front_mut()?;
        transfer.remaining_ns -= elapsed_ns;
        let payload = transfer.payload;
        let ended = transfer.remaining_ns == 0;
        if ended {
            channel.background.pop_front();
        }
        self.carry_next(now_ns, calendar, index);
        match (ended, payload) {
            (false, _) => None,
            (true, Payload::Cleaning(id)) => Some(Finished::CleaningRead(id)),
            (true, Payload::Load(die)) => {
                let state = &mut self.dies[die as usize];
                state.loading = false;
                state.loaded = true;
                self.start_background(now_ns, calendar, die);
                None
            }
        }
    }

    /// [`Event::Die`]: a background job ends, may be suspended, or has been.
    pub fn die_event(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        index: u32,
    ) -> Option<Finished> {
        let die = &mut self.dies[index as usize];
        match die.background {
            Background::Running if now_ns == die.end_ns => {
                return self.finish_background(now_ns, calendar, index);
            }
            Background::Running
                if self.may_suspend && die.waiting > 0 && now_ns >= die.hold_until_ns =>
            {
                self.suspend(now_ns, calendar, index);
            }
            Background::Suspending if now_ns == die.end_ns => {
                die.account(now_ns, self.servers_per_die);
                die.background = Background::Pending;
                die.window_end_ns = now_ns + self.times.max_wait;
                self.start_waiting_reads(now_ns, calendar, index);
            }
            _ => {}
        }
        None
    }

    /// Busy time of each channel.
    pub fn channels_busy_ns(&self, now_ns: u64) -> impl Iterator<Item = u64> {
        self.channels.iter().map(move |channel| {
            let running = channel.carrying != Carrying::Nothing;
            channel.busy_ns
                + if running {
                    now_ns.saturating_sub(channel.started_ns)
                } else {
                    0
                }
        })
    }

    /// Busy time of each die: the mean over its planes where these are independent.
    pub fn dies_busy_ns(&self, now_ns: u64) -> impl Iterator<Item = u64> {
        let servers = self.servers_per_die;
        self.dies.iter().map(move |die| {
            let level = u64::from(die.level(servers));
            (die.busy_server_ns + level * (now_ns - die.busy_changed_ns)) / u64::from(servers)
        })
    }

    /// Time spent programming and erasing, summed over dies, per die that the power budget allows.
    pub fn budget_busy_ns(&self, now_ns: u64) -> u64 {
        let running: u64 = self
            .dies
            .iter()
            .filter(|die| die.background == Background::Running && die.spends_budget())
            .map(|die| now_ns - (die.end_ns - die.remaining_ns))
            .sum();
        (self.program_running_ns + running) / u64::from(self.budget_total())
    }

    fn budget_total(&self) -> u32 {
        let held = self.dies.iter().filter(|die| die.spends_budget()).count() as u32;
        self.budget + held
    }

    fn sense_ns(&mut self, page_type: u32) -> u32 {
        let mean = self.times.sense[page_type as usize & 3];
        if !self.times.exponential {
            return mean;
        }
        let uniform = (self.rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        (-f64::from(mean) * (1.0 - uniform).ln()).round() as u32
    }

    #[inline]
    fn allocate(&mut self, op: ReadOp) -> u32 {
        if self.free_op == NONE {
            self.ops.push(op);
            return (self.ops.len() - 1) as u32;
        }
        let index = self.free_op;
        self.free_op = self.ops[index as usize].next;
        self.ops[index as usize] = op;
        index
    }

    #[inline]
    fn start_read(&mut self, now_ns: u64, calendar: &mut Calendar, op: u32) {
        let ReadOp {
            server,
            die,
            sense_ns,
            units,
            ..
        } = self.ops[op as usize];
        self.servers[server as usize].busy = true;
        let state = &mut self.dies[die as usize];
        state.account(now_ns, self.servers_per_die);
        state.active += 1;
        self.counts.senses += if self.servers_per_die == 1 && units > 4 {
            u64::from(self.planes)
        } else {
            1
        };
        let channel = state.channel;
        self.foresee(calendar, channel, now_ns + u64::from(sense_ns), op);
    }

    /// A page will be sensed at `sensed_ns`: its read gets its place among the channel's, or an event.
    #[inline]
    fn foresee(&mut self, calendar: &mut Calendar, index: u32, sensed_ns: u64, op: u32) {
        let channel = &mut self.channels[index as usize];
        if channel.sensing > 0 || !channel.background.is_empty() {
            channel.sensing += 1;
            return calendar.push(sensed_ns, Event::Sensed.with(op));
        }
        match channel.carrying {
            Carrying::Nothing => self.carry_read(calendar, index, sensed_ns, op),
            Carrying::Read(later) if sensed_ns < channel.started_ns => {
                channel.ahead.push_front((channel.started_ns, later));
                channel.reads_in_a_row -= 1;
                self.carry_read(calendar, index, sensed_ns, op);
            }
            _ => {
                let mut place = channel.ahead.len();
                channel.ahead.push_back((sensed_ns, op));
                while place > 0 && channel.ahead[place - 1].0 > sensed_ns {
                    channel.ahead.swap(place - 1, place);
                    place -= 1;
                }
            }
        }
    }

    /// The channel gets a background transfer, so that reads still being sensed may find it in their way.
    #[cold]
    fn wait_for_senses(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let channel = &mut self.channels[index as usize];
        if let Carrying::Read(op) = channel.carrying
            && channel.started_ns > now_ns
        {
            channel.ahead.push_front((channel.started_ns, op));
            channel.reads_in_a_row -= 1;
            channel.carrying = Carrying::Nothing;
        }
        while let Some((sensed_ns, op)) = channel.ahead.pop_front() {
            if sensed_ns <= now_ns {
                channel.reads.push_back(op);
            } else {
                channel.sensing += 1;
                calendar.push(sensed_ns, Event::Sensed.with(op));
            }
        }
    }

    #[inline]
    fn enqueue_read(&mut self, op: u32) {
        let server = self.ops[op as usize].server as usize;
        let tail = std::mem::replace(&mut self.servers[server].tail, op);
        if tail == NONE {
            self.servers[server].head = op;
        } else {
            self.ops[tail as usize].next = op;
        }
    }

    #[inline]
    fn dequeue_read(&mut self, server: u32) -> Option<u32> {
        let state = &mut self.servers[server as usize];
        let op = state.head;
        if op == NONE {
            return None;
        }
        state.head = self.ops[op as usize].next;
        if state.head == NONE {
            state.tail = NONE;
        }
        Some(op)
    }

    /// The channel has taken a read's data: its plane is free.
    #[inline]
    fn read_left(&mut self, now_ns: u64, calendar: &mut Calendar, op: u32) {
        let ReadOp {
            server, die: index, ..
        } = self.ops[op as usize];
        self.ops[op as usize].next = self.free_op;
        self.free_op = op;
        self.servers[server as usize].busy = false;
        let die = &mut self.dies[index as usize];
        die.account(now_ns, self.servers_per_die);
        die.active -= 1;
        let open = match die.background {
            Background::Idle => true,
            Background::Pending => now_ns < die.window_end_ns,
            Background::Running | Background::Suspending => false,
        };
        if open
            && die.waiting > 0
            && let Some(next) = self.dequeue_read(server)
        {
            self.dies[index as usize].waiting -= 1;
            self.start_read(now_ns, calendar, next);
        }
        if self.dies[index as usize].background == Background::Pending {
            self.settle(now_ns, calendar, index);
        }
    }

    /// The die has time for reads, until its next job may start.
    #[inline]
    fn resume_reads(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &self.dies[index as usize];
        if die.waiting > 0 || die.background == Background::Pending {
            self.start_waiting_reads(now_ns, calendar, index);
        }
    }

    fn start_waiting_reads(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        for server in index * self.servers_per_die..(index + 1) * self.servers_per_die {
            if self.dies[index as usize].waiting == 0 {
                break;
            }
            if !self.servers[server as usize].busy
                && let Some(op) = self.dequeue_read(server)
            {
                self.dies[index as usize].waiting -= 1;
                self.start_read(now_ns, calendar, op);
            }
        }
        if self.dies[index as usize].background == Background::Pending {
            self.settle(now_ns, calendar, index);
        }
    }

    /// Runs a pending job if no read stands in its way.
    #[inline(always)]
    fn settle(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &mut self.dies[index as usize];
        if die.active > 0 || (die.waiting > 0 && now_ns < die.window_end_ns) {
            return;
        }
        die.account(now_ns, self.servers_per_die);
        die.background = Background::Running;
        die.end_ns = now_ns + die.remaining_ns;
        die.hold_until_ns = match die.job {
            Job::Program(_) | Job::Erase => now_ns + self.times.min_run,
            Job::Cleaning(_) => u64::MAX,
        };
        calendar.push(die.end_ns, Event::Die.with(index));
        if die.waiting > 0 && self.may_suspend && die.hold_until_ns < die.end_ns {
            calendar.push(die.hold_until_ns, Event::Die.with(index));
        }
    }

    fn suspend(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &mut self.dies[index as usize];
        die.background = Background::Suspending;
        self.program_running_ns += die.remaining_ns - (die.end_ns - now_ns);
        die.remaining_ns = die.end_ns - now_ns;
        die.end_ns = now_ns + self.times.suspend;
        calendar.push(die.end_ns, Event::Die.with(index));
    }

    /// Takes up the die's next job if it has none.
    #[inline]
    fn start_background(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &self.dies[index as usize];
        if die.background == Background::Idle
            && (die.loaded
                || !die.cleaning.is_empty()
                || die.programmed_bytes >= self.erase_unit_bytes)
        {
            self.take_up_job(now_ns, calendar, index);
        }
    }

    fn take_up_job(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &mut self.dies[index as usize];
        let erase_due = die.programmed_bytes >= self.erase_unit_bytes;
        if !erase_due && let Some(job) = die.cleaning.pop_front() {
            die.job = Job::Cleaning(job);
            die.remaining_ns = self.times.cleaning_sense;
        } else {
            if self.budget == 0 {
                if !std::mem::replace(&mut die.awaits_budget, true) {
                    self.budget_waiters.push_back(index);
                }
                return;
            }
            if erase_due {
                die.programmed_bytes -= self.erase_unit_bytes;
                die.job = Job::Erase;
                die.remaining_ns = self.times.erase;
            } else if let Some(unit) = die.programs.pop_front() {
                die.loaded = false;
                die.job = Job::Program(unit);
                die.remaining_ns = match unit & SLC {
                    0 => self.times.program,
                    _ => self.times.slc_program,
                };
            }
            self.budget -= 1;
        }
        let die = &mut self.dies[index as usize];
        die.background = Background::Pending;
        die.window_end_ns = now_ns + self.times.max_wait;
        self.load_next(now_ns, calendar, index);
        self.settle(now_ns, calendar, index);
    }

    fn finish_background(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        index: u32,
    ) -> Option<Finished> {
        let die = &mut self.dies[index as usize];
        die.account(now_ns, self.servers_per_die);
        die.background = Background::Idle;
        let mut finished = None;
        match die.job {
            Job::Program(unit) => {
                self.program_running_ns += die.remaining_ns;
                die.programmed_bytes += self.due_bytes;
                match unit & SLC {
                    0 => self.counts.programs += 1,
                    _ => self.counts.slc_programs += 1,
                }
                finished = Some(Finished::Program(unit & !SLC));
                self.release_budget(now_ns, calendar);
            }
            Job::Erase => {
                self.program_running_ns += die.remaining_ns;
                self.counts.erases += 1;
                finished = Some(Finished::Erase(index));
                self.release_budget(now_ns, calendar);
            }
            Job::Cleaning(job) => {
                self.counts.senses += u64::from(self.planes);
                if job.senses > 1 {
                    die.job = Job::Cleaning(CleaningJob {
                        senses: job.senses - 1,
                        ..job
                    });
                    die.background = Background::Pending;
                    die.window_end_ns = now_ns + self.times.max_wait;
                    die.remaining_ns = self.times.cleaning_sense;
                } else {
                    self.counts.units_out += u64::from(job.units);
                    let channel = die.channel;
                    let known = self.transfers_ns.get(job.units as usize).copied();
                    let transfer_ns = known.unwrap_or_else(|| self.times.transfer_ns(job.units));
                    let payload = Payload::Cleaning(job.id);
                    self.send(now_ns, calendar, channel, payload, transfer_ns);
                }
            }
        }
        self.resume_reads(now_ns, calendar, index);
        self.start_background(now_ns, calendar, index);
        finished
    }

    fn release_budget(&mut self, now_ns: u64, calendar: &mut Calendar) {
        self.budget += 1;
        // A waiter may be busy with cleaning by now; it asks again when that ends.
        while self.budget > 0
            && let Some(waiter) = self.budget_waiters.pop_front()
        {
            self.dies[waiter as usize].awaits_budget = false;
            self.start_background(now_ns, calendar, waiter);
        }
    }

    /// Brings the next program's data to the die.
    fn load_next(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &mut self.dies[index as usize];
        if die.loading || die.loaded {
            return;
        }
        let Some(unit) = die.programs.front() else {
            return;
        };
        let load_ns = match unit & SLC {
            0 => self.times.load,
            _ => self.times.slc_load,
        };
        die.loading = true;
        let channel = die.channel;
        self.send(now_ns, calendar, channel, Payload::Load(index), load_ns);
    }

    fn send(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        index: u32,
        payload: Payload,
        ns: u64,
    ) {
        if self.channels[index as usize].has_foreseen() {
            self.wait_for_senses(now_ns, calendar, index);
        }
        let channel = &mut self.channels[index as usize];
        channel.background.push_back(Transfer {
            payload,
            remaining_ns: ns.max(1),
        });
        if channel.carrying == Carrying::Nothing {
            self.carry_next(now_ns, calendar, index);
        }
    }

    /// Starts the channel's next transfer.
    #[inline]
    fn carry_next(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let channel = &mut self.channels[index as usize];
        let turn = channel.background.is_empty() || channel.reads_in_a_row < READ_TURNS;
        if turn && let Some(op) = channel.reads.pop_front() {
            return self.carry_read(calendar, index, now_ns, op);
        }
        let duration_ns = if let Some(transfer) = channel.background.front() {
            channel.carrying = Carrying::Background;
            channel.reads_in_a_row = 0;
            if channel.reads.is_empty() {
                transfer.remaining_ns
            } else {
                transfer.remaining_ns.min(self.times.chunk)
            }
        } else if let Some((sensed_ns, op)) = channel.ahead.pop_front() {
            return self.carry_read(calendar, index, sensed_ns.max(now_ns), op);
        } else {
            return;
        };
        channel.started_ns = now_ns;
        channel.until_ns = now_ns + duration_ns;
        calendar.push(channel.until_ns, Event::Channel.with(index));
    }

    /// The channel's next transfer is a read's.
    #[inline]
    fn carry_read(&mut self, calendar: &mut Calendar, index: u32, start_ns: u64, op: u32) {
        let channel = &mut self.channels[index as usize];
        channel.carrying = Carrying::Read(op);
        channel.reads_in_a_row += 1;
        channel.started_ns = start_ns;
        channel.until_ns = start_ns + self.transfers_ns[self.ops[op as usize].units as usize];
        calendar.push(channel.until_ns, Event::Channel.with(index));
    }
}

impl Die {
    fn new(channel: u32, programmed_bytes: u64) -> Self {
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
    fn level(&self, servers: u32) -> u32 {
        match self.background {
            Background::Running | Background::Suspending => servers,
            Background::Idle | Background::Pending => self.active,
        }
    }

    /// Adds the time since the last change; call before a change.
    #[inline]
    fn account(&mut self, now_ns: u64, servers: u32) {
        let level = self.level(servers);
        self.busy_server_ns += u64::from(level) * (now_ns - self.busy_changed_ns);
        self.busy_changed_ns = now_ns;
    }

    fn spends_budget(&self) -> bool {
        self.background != Background::Idle && !matches!(self.job, Job::Cleaning(_))
    }
}

impl Channel {
    /// Whether reads that are not sensed yet have their places already.
    #[inline]
    fn has_foreseen(&self) -> bool {
        self.background.is_empty()
            && (!self.ahead.is_empty() || matches!(self.carrying, Carrying::Read(_)))
    }

    fn new() -> Self {
        Self {
            carrying: Carrying::Nothing,
            started_ns: 0,
            until_ns: 0,
            reads: VecDeque::with_capacity(64),
            ahead: VecDeque::with_capacity(64),
            sensing: 0,
            background: VecDeque::with_capacity(64),
            reads_in_a_row: 0,
            busy_ns: 0,
        }
    }
}

impl Times {
    /// Duration of a transfer of so many 4 KiB units.
    fn transfer_ns(&self, units: u32) -> u64 {
        (self.command + f64::from(units) * self.unit).round() as u64
    }

    fn new(params: &SsdParams) -> Self {
        let mean = params.read_sense_us;
        let spread = match params.read_sense_time {
            SenseTime::PageType if params.pages_per_program > 1 => params.read_sense_spread,
            _ => 0.0,
        };
        let middle = f64::from(params.pages_per_program - 1) / 2.0;
        let by_type = |page_type: usize| {
            let position = if middle > 0.0 {
                (page_type as f64 - middle) / middle
            } else {
                0.0
            };
            us_to_ns(mean * (1.0 + spread * position)) as u32
        };
        let unit =
            f64::from(UNIT_BYTES) * params.channel_parity_ratio * 1000.0 / params.channel_mts;
        let units = params.program_bytes() as f64 / f64::from(UNIT_BYTES);
        Self {
            sense: std::array::from_fn(|page_type| {
                if page_type < params.pages_per_program as usize {
                    by_type(page_type)
                } else {
                    us_to_ns(mean) as u32
                }
            }),
            cleaning_sense: us_to_ns(mean),
            exponential: params.read_sense_time == SenseTime::Exponential,
            program: us_to_ns(params.program_us).max(1),
            slc_program: us_to_ns(params.slc_program_us).max(1),
            slc_load: (params.channel_command_ns
                + units * unit / f64::from(params.pages_per_program))
            .round() as u64,
            erase: us_to_ns(params.erase_us).max(1),
            suspend: us_to_ns(params.suspend_us),
            min_run: us_to_ns(params.program_min_run_us),
            max_wait: us_to_ns(params.program_max_wait_us),
            load: (params.channel_command_ns + units * unit).round() as u64,
            chunk: ((f64::from(params.nand_page_bytes) / f64::from(UNIT_BYTES) * unit).round()
                as u64)
                .max(1),
            command: params.channel_command_ns,
            unit,
        }
    }
}
