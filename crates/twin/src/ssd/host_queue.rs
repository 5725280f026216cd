//! The host queue. It decides which commands the drive takes at once and which the host keeps until a slot is free. All
//! pass its pipeline.

use std::collections::VecDeque;

use workload::{Op, Request, name_ops};

use super::Ssd;
use crate::sim::event::{Event, us_to_ns};
use crate::sim::server::{Fifo, Waits};
use crate::ssd::params::{MOST_SLOTS, SsdParams, UNIT_BYTES};

/// Index of [`Event::Submit`], of no command: those that have arrived enter the pipeline.
pub(super) const ARRIVED: u32 = (1 << 28) - 1;

/// Commands between the host and the drive's controller.
#[derive(Clone)]
pub(super) struct HostQueue {
    /// Commands in the drive, and how many it takes now.
    taken: u32,
    slots: u32,
    /// How many it takes while nothing holds it back.
    slots_max: u32,
    /// Commands that the host keeps until there is a slot.
    kept: VecDeque<u32>,
    /// Commands on their way to a drive with room for all, and when each is there, in that order. No event marks that.
    /// They enter the pipeline together when the first could be out of it.
    arriving: VecDeque<(u64, u32)>,
    /// Other commands on their way. Then: whether commands come in the order of submission, and until when the drive
    /// runs by itself.
    submits_pending: u32,
    pub(super) in_order: bool,
    pub(super) limit_ns: u64,
    pub(super) pipelines: Fifo,
    /// I/O that wait for a slot or for room in the buffer, and for a pipeline.
    pub(super) place_waits: Waits,
    pub(super) pipeline_waits: Waits,
    /// Commands so far.
    pub(super) commands: u64,
    command_ps: u64,
    read_unit_ps: u64,
    write_unit_ps: u64,
    /// Per map entry that a trim deallocates, and the bytes that one stands for. Zones are reset without a map.
    trim_entry_ps: u64,
    trim_entry_bytes: u32,
    latency_ns: u64,
}

impl HostQueue {
    pub(super) fn new(params: &SsdParams) -> Self {
        let ps = |ns: f64| (ns * 1000.0).round() as u64;
        Self {
            taken: 0,
            // A drive that may rest looks at every command that comes when there is none.
            slots: match params.idle_states().is_empty() {
                true => params.command_slots,
                false => 0,
            },
            slots_max: params.command_slots,
            kept: VecDeque::new(),
            arriving: VecDeque::with_capacity(64),
            submits_pending: 0,
            in_order: false,
            limit_ns: 0,
            pipelines: Fifo::new(params.command_pipelines),
            place_waits: Waits::default(),
            pipeline_waits: Waits::default(),
            commands: 0,
            command_ps: ps(params.command_ns),
            read_unit_ps: ps(params.read_unit_ns),
            write_unit_ps: ps(params.write_unit_ns),
            trim_entry_ps: match params.zone_bytes {
                0 => ps(params.trim_entry_ns),
                _ => 0,
            },
            trim_entry_bytes: params.indirection_unit_bytes,
            latency_ns: us_to_ns(params.command_latency_us),
        }
    }

    /// Returns how many commands the drive has.
    pub(super) const fn taken(&self) -> u32 {
        self.taken
    }

    /// Returns whether the drive has no command.
    pub(super) const fn is_idle(&self) -> bool {
        self.taken == 0
    }

    /// Returns whether the host keeps commands.
    pub(super) fn has_kept(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Takes no further command until `open`.
    pub(super) const fn close(&mut self) {
        self.slots = 0;
    }

    /// Takes commands again.
    pub(super) const fn open(&mut self) {
        self.slots = self.slots_max;
    }

    /// Returns whether a command can be taken before its time: it will find a slot, and nothing will come before it.
    #[inline]
    fn takes_ahead(&self, at_ns: u64) -> bool {
        self.in_order
            && self.arriving.is_empty()
            && self.submits_pending == 0
            && at_ns <= self.limit_ns
            && self.taken < self.slots
    }

    /// Returns whether commands enter in the order of their arrival, because there is a slot for each.
    #[inline]
    fn has_room_for_all(&self) -> bool {
        self.slots == MOST_SLOTS
            && self.submits_pending == 0
            && self.taken as usize + self.arriving.len() < MOST_SLOTS as usize
    }

    /// Adds a command on its way, behind all that arrive no later. Returns whether it is the first.
    #[inline]
    fn expect(&mut self, slot: u32, at_ns: u64) -> bool {
        let mut place = self.arriving.len();
        self.arriving.push_back((at_ns, slot));
        while place > 0 && self.arriving[place - 1].0 > at_ns {
            self.arriving.swap(place - 1, place);
            place -= 1;
        }
        place == 0
    }

    /// Takes the next command that has arrived, and when it did.
    #[inline]
    fn take_arrived(&mut self, now_ns: u64) -> Option<(u64, u32)> {
        if self.arriving.front()?.0 > now_ns {
            return None;
        }
        self.taken += 1;
        self.arriving.pop_front()
    }

    /// Returns when the first of the commands on their way could be out of the pipeline.
    #[inline]
    fn first_out_ns(&self) -> Option<u64> {
        self.arriving
            .front()
            .map(|&(at_ns, _)| at_ns + self.latency_ns)
    }

    /// Takes a command if there is a slot for it.
    #[inline]
    const fn take(&mut self) -> bool {
        let free = self.taken < self.slots;
        self.taken += free as u32;
        free
    }

    /// Leaves a command with the host.
    fn keep(&mut self, slot: u32, now_ns: u64) {
        self.kept.push_back(slot);
        self.place_waits.begin(now_ns, Waits::WHOLE);
    }

    /// Takes the next command that the host has kept, if there is one and a slot for it.
    fn take_kept(&mut self, now_ns: u64) -> Option<u32> {
        if self.taken >= self.slots {
            return None;
        }
        let next = self.kept.pop_front()?;
        self.place_waits.end(now_ns, Waits::WHOLE);
        self.taken += 1;
        Some(next)
    }

    /// A command has ended.
    pub(super) const fn complete(&mut self) {
        self.taken -= 1;
    }

    /// Puts a command through the pipeline that arrives at `at_ns`, after all others so far. Returns when it is out.
    #[inline(always)]
    fn serve(&mut self, request: &Request, at_ns: u64) -> u64 {
        let unit_ps = match request.op {
            Op::Read => self.read_unit_ps,
            Op::Write => self.write_unit_ps,
            Op::Trim | Op::WriteZeroes => return self.serve_trim(request, at_ns),
            Op::Append | Op::Flush | Op::Allocate | name_ops!() => 0,
        };
        let pages = u64::from(request.size_bytes.div_ceil(UNIT_BYTES));
        self.commands += 1;
        let start_ps = self
            .pipelines
            .serve(at_ns, self.command_ps + pages * unit_ps);
        self.pipeline_waits
            .add(start_ps / 1000 - at_ns, Waits::WHOLE);
        (start_ps + self.command_ps).div_ceil(1000) + self.latency_ns
    }

    /// Puts a trim or a write of zeroes through the pipeline, which walks the map entries of the range before the
    /// command is out.
    #[cold]
    fn serve_trim(&mut self, request: &Request, at_ns: u64) -> u64 {
        let entries = u64::from(request.size_bytes.div_ceil(self.trim_entry_bytes));
        let service_ps = self.command_ps + entries * self.trim_entry_ps;
        self.commands += 1;
        let start_ps = self.pipelines.serve(at_ns, service_ps);
        self.pipeline_waits
            .add(start_ps / 1000 - at_ns, Waits::WHOLE);
        (start_ps + service_ps).div_ceil(1000) + self.latency_ns
    }
}

impl Ssd {
    /// A command sets out for the drive.
    #[inline]
    pub(super) fn submit_command(&mut self, slot: u32, at_ns: u64) {
        // With a governor or idle cleaning, somebody asks how busy the drive is before the command is there.
        let unwatched = self.power.governor.is_none() && self.cleaner.idle.is_none();
        if unwatched && self.queue.takes_ahead(at_ns) {
            self.queue.taken += 1;
            self.enter_pipeline(slot, at_ns);
        } else if unwatched && self.queue.has_room_for_all() {
            if self.queue.expect(slot, at_ns) {
                self.set_alarm();
            }
        } else {
            self.queue.submits_pending += 1;
            self.calendar.push(at_ns, Event::Submit.with(slot));
        }
    }

    /// Puts the commands that have arrived through the pipeline.
    #[inline]
    pub(super) fn take_arrived(&mut self) {
        while let Some((at_ns, slot)) = self.queue.take_arrived(self.now_ns) {
            self.enter_pipeline(slot, at_ns);
        }
        self.set_alarm();
    }

    #[inline]
    fn set_alarm(&mut self) {
        match self.queue.first_out_ns() {
            Some(at_ns) => self.calendar.set_alarm(at_ns, Event::Submit.with(ARRIVED)),
            None => self.calendar.clear_alarm(),
        }
    }

    /// A command has come to the drive.
    #[inline]
    pub(super) fn take_command(&mut self, slot: u32) {
        self.take_arrived();
        self.queue.submits_pending -= 1;
        if self.queue.take() {
            return self.enter_pipeline(slot, self.now_ns);
        }
        self.queue.keep(slot, self.now_ns);
        if self.queue.is_idle() {
            self.wake_up();
        }
    }

    #[inline(always)]
    fn enter_pipeline(&mut self, slot: u32, at_ns: u64) {
        let out_ns = self.queue.serve(&self.requests[slot].request, at_ns);
        self.calendar.push(out_ns, Event::Dispatch.with(slot));
        if self.power.governor.is_some() {
            self.govern();
        }
    }

    /// Takes commands that the host has kept, as far as there are slots.
    pub(super) fn take_kept(&mut self) {
        while let Some(next) = self.queue.take_kept(self.now_ns) {
            self.enter_pipeline(next, self.now_ns);
        }
    }
}
