//! The host queue. It decides which commands the drive takes at once and which the host keeps until a slot is free. All
//! pass its pipeline.

use std::collections::VecDeque;

use workload::{Op, Request, name_ops};

use super::Ssd;
use crate::device::{Completion, Promises};
use crate::sim::calendar::NEVER;
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
    promises: Promises,
    pub(super) limit_ns: u64,
    /// Commands that have ended, and when the host sees it, in that order. No event marks that where the host only sends
    /// further commands then. They are reported together, before the first of those could be out of the pipeline.
    ended: VecDeque<(u64, u32)>,
    reports_together: bool,
    /// Whether they are being reported, and when the host saw the one reported last.
    is_reporting: bool,
    reported_ns: u64,
    /// Tag of a wake-up that the host gets after them.
    woken: Option<u32>,
    /// Time between a completion and the moment when a command that the host sends then is out of the pipeline, at least.
    answer_ns: u64,
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
            promises: Promises::default(),
            limit_ns: 0,
            ended: VecDeque::with_capacity(64),
            reports_together: false,
            is_reporting: false,
            reported_ns: 0,
            woken: None,
            answer_ns: us_to_ns(params.host.complete_us)
                + us_to_ns(params.host.submit_us)
                + us_to_ns(params.command_latency_us),
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
        self.promises.in_order
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

    /// Adds a command on its way. Returns whether it is the first.
    #[inline]
    fn expect(&mut self, slot: u32, at_ns: u64) -> bool {
        add_in_order(&mut self.arriving, at_ns, slot)
    }

    /// Keeps a command whose end the host sees at `at_ns`. Returns whether that may move the alarm.
    #[inline]
    fn end(&mut self, slot: u32, at_ns: u64) -> bool {
        add_in_order(&mut self.ended, at_ns, slot) || self.has_all_ended()
    }

    /// Returns whether nothing is under way but completions.
    #[inline]
    fn has_all_ended(&self) -> bool {
        self.taken as usize == self.ended.len() && self.arriving.is_empty()
    }

    /// Takes the next command whose end the host has seen, and when it did.
    #[inline]
    fn take_ended(&mut self, now_ns: u64) -> Option<(u64, u32)> {
        if self.ended.front()?.0 > now_ns {
            return None;
        }
        self.ended.pop_front()
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

    /// Returns when the first of the commands on their way could be out of the pipeline. Those that the host sends when it
    /// sees a completion are among them. Where nothing else is under way, a completion is due at its own time.
    #[inline]
    fn first_out_ns(&self) -> u64 {
        let answer_ns = match self.has_all_ended() {
            true => 0,
            false => self.answer_ns,
        };
        let after = |first: Option<&(u64, u32)>, time_ns| {
            first.map_or(NEVER, |&(at_ns, _)| at_ns + time_ns)
        };
        after(self.arriving.front(), self.latency_ns).min(after(self.ended.front(), answer_ns))
    }

    /// Returns whether completions are being reported together.
    #[inline]
    pub(super) const fn is_reporting(&self) -> bool {
        self.is_reporting
    }

    /// Returns whether completions are being reported and more is to come: of those, or of commands on their way.
    pub(super) fn has_more_to_report(&self) -> bool {
        let is_done = self.ended.is_empty() && self.arriving.is_empty() && self.woken.is_none();
        self.is_reporting && !is_done
    }

    /// Returns whether the host has not seen all completions.
    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
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

/// Adds a command behind all whose time comes no later. Returns whether it is the first.
#[inline]
fn add_in_order(commands: &mut VecDeque<(u64, u32)>, at_ns: u64, slot: u32) -> bool {
    let mut place = commands.len();
    commands.push_back((at_ns, slot));
    while place > 0 && commands[place - 1].0 > at_ns {
        commands.swap(place - 1, place);
        place -= 1;
    }
    place == 0
}

impl Ssd {
    /// A command sets out for the drive.
    #[inline]
    pub(super) fn submit_command(&mut self, slot: u32, at_ns: u64) {
        let unwatched = self.is_unwatched();
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
            NEVER => self.calendar.clear_alarm(),
            at_ns => {
                let at_ns = at_ns.max(self.now_ns);
                self.calendar.set_alarm(at_ns, Event::Submit.with(ARRIVED));
            }
        }
    }

    /// Notes what the host promises for a job.
    pub(super) fn rely_on(&mut self, promises: Promises) {
        self.queue.promises = promises;
        // Whoever asks how busy the drive is would count commands that have ended.
        self.queue.reports_together = self.is_unwatched()
            && self.read_ahead.is_none()
            && self.queue.slots == MOST_SLOTS
            && promises.in_flight_max.is_some_and(|most| most < MOST_SLOTS);
    }

    /// Returns whether nobody asks how busy the drive is before a command is there: no governor, no idle cleaning.
    #[inline]
    fn is_unwatched(&self) -> bool {
        self.power.governor.is_none() && self.cleaner.idle.is_none()
    }

    /// A command ends: the host sees it at `at_ns`.
    #[inline]
    pub(super) fn end_command(&mut self, slot: u32, at_ns: u64) {
        if !self.queue.reports_together {
            self.calendar.push(at_ns, Event::Complete.with(slot));
        } else if self.queue.end(slot, at_ns) {
            self.set_alarm();
        }
    }

    /// Returns the next completion that the host has seen by now. Once it has all, the commands that have arrived enter
    /// the pipeline.
    #[inline]
    pub(super) fn catch_up(&mut self) -> Option<Completion> {
        if let Some((at_ns, slot)) = self.queue.take_ended(self.now_ns) {
            self.queue.is_reporting = true;
            self.queue.reported_ns = at_ns;
            return Some(self.complete(slot, at_ns));
        }
        self.queue.is_reporting = false;
        self.take_arrived();
        let tag = self.queue.woken.take()?;
        Some(Completion::woken(self.now_ns, tag))
    }

    /// Returns the host's wake-up, or first the completions that it has seen by then.
    #[inline]
    pub(super) fn wake_host(&mut self, tag: u32) -> Option<Completion> {
        self.queue.woken = Some(tag);
        self.catch_up()
    }

    /// Returns the time that the host has reached.
    #[inline]
    pub(super) fn host_ns(&self) -> u64 {
        match self.queue.is_reporting {
            true => self.queue.reported_ns,
            false => self.now_ns,
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
