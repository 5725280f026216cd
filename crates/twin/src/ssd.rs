//! A simulated NVMe SSD: controller, link, write buffer and cleaning around the flash.
//!
//! A request passes: submission -> command pipeline -> (read) mapping, die, channel, link ->
//! completion; (write) buffer space, link, acknowledgement. Written pages lie in the
//! power-loss-protected buffer until their unit is programmed and are read from there. Cleaning is
//! paced by host writes: for every page the host writes, as many are moved as the victim's share of
//! valid pages asks for, so free space neither grows nor shrinks; when it runs out, host writes wait
//! in the buffer queue, which is the back-pressure.
//!
//! Each placement handle is a stream of host writes with superblocks of its own (reclaim units);
//! what cleaning moves goes into one stream, or into one for each handle. With reclaim groups each group has all of
//! that to itself, see `groups`.

mod cleaning;
mod groups;
mod namespaces;
mod zns;

use std::collections::VecDeque;

use workload::{Op, Request};

use crate::bits::Bits;
use crate::calendar::Calendar;
use crate::device::{Account, Completion, CompletionKind, Device, ResourceTime};
use crate::event::{Event, us_to_ns};
use crate::flash::{Finished, Flash};
use crate::ftl::{Ftl, NONE, Stream};
use crate::geometry::{Divisor, Geometry, Place};
use crate::governor::Governor;
use crate::idle::IdleCleaning;
use crate::link::Link;
use crate::map_flush::MapFlush;
use crate::params::{HostParams, Isolation, ParamError, SsdParams, UNIT_BYTES};
use crate::server::Fifo;
use crate::slab::Slab;
use crate::slc::SlcCache;
use crate::victim::Victims;
use crate::wear::EraseCounts;
use crate::zoned::{Refusal, ZoneAction, ZoneModel};
use cleaning::{CleaningRead, Target, Victim};
use groups::Groups;
use namespaces::Namespaces;
use zns::Zns;

/// Free superblocks that only cleaning may use.
const RESERVED_SUPERBLOCKS: u32 = 2;
/// Rows of units that one stream of cleaning may hold in DRAM before they are programmed; each
/// further stream adds the row that may wait for its last pages.
const CLEANING_ROWS: u32 = 4;
/// Index of [`Event::Die`], of no die: no command has come for a while.
const IDLE: u32 = (1 << 28) - 1;
/// Likewise: the power governor may let commands in again.
const POWER: u32 = IDLE - 1;
/// errno of a request that the device does not support, and of one beyond its end.
const EOPNOTSUPP: i32 = 95;
const EINVAL: i32 = 22;

/// A request on its way.
#[derive(Clone, Copy)]
struct InFlight {
    request: Request,
    tag: u32,
    /// Parts of a read, or pages to read before a partial write, that are still out.
    parts: u32,
    /// Pages of a write already in the buffer.
    placed: u32,
    done_ns: u64,
    errno: i32,
}

/// A unit between its first page and the end of its program.
#[derive(Clone, Copy, Default)]
struct UnitState {
    /// Cleaning reads that still bring pages for it.
    incoming: u16,
    filled: bool,
}

/// A superblock being filled and programmed, or drained.
#[derive(Clone, Copy)]
struct SuperblockState {
    programmed_units: u32,
    stream: Stream,
    /// Cleaning reads still out; the superblock is free when they are back.
    draining: u32,
    issued: bool,
}

/// Numbers the translation layer's streams: the handles' first, then that of the page map where it
/// is written, then cleaning's. With reclaim groups neighbours of a kind lie in neighbouring groups.
#[derive(Clone, Copy)]
struct Streams {
    handles: u8,
    hosts: u8,
    groups: u8,
    isolation: Isolation,
}

impl Streams {
    #[inline]
    const fn is_host(self, stream: Stream) -> bool {
        stream.0 < self.hosts
    }

    /// The page map's, where it is written.
    const fn map(self) -> Stream {
        Stream(self.handles)
    }

    /// Reclaim group that a stream fills superblocks of.
    const fn group(self, stream: Stream) -> u8 {
        match self.is_host(stream) {
            true => stream.0 % self.groups,
            false => (stream.0 - self.hosts) % self.groups,
        }
    }

    /// Where pages go that are moved out of a superblock of `stream`.
    const fn cleaning(self, stream: Stream) -> Stream {
        match self.isolation {
            Isolation::Initially => Stream(self.hosts + self.group(stream)),
            Isolation::Persistently if self.is_host(stream) => {
                Stream(self.hosts + stream.0 % self.handles)
            }
            Isolation::Persistently => stream,
        }
    }
}

/// A solid-state drive.
pub struct Ssd {
    params: SsdParams,
    geometry: Geometry,
    now_ns: u64,
    calendar: Calendar,
    flash: Flash,
    ftl: Ftl,
    link: Link,
    pipelines: Fifo,
    requests: Slab<InFlight>,
    /// Commands in the drive, how many it takes now, and those the host keeps until there is a slot.
    commands_taken: u32,
    slots: u32,
    kept_by_host: VecDeque<u32>,
    /// Commands on their way that are not taken yet, whether commands come in the order in which they are
    /// submitted, and until when the drive runs by itself.
    submits_pending: u32,
    in_order: bool,
    limit_ns: u64,
    /// Writes waiting for buffer space, in order.
    waiting: VecDeque<u32>,
    buffer_pages: u32,
    buffered: u32,
    cleaning_pages: u32,
    cleaning_buffered: u32,
    units: Box<[UnitState]>,
    /// One bit per unit, from its first page to the end of its program: small, because every read
    /// looks at it.
    in_buffer: Bits,
    superblocks: Box<[SuperblockState]>,
    streams: Streams,
    /// The reclaim group at hand, and what the others have of the fields that are each group's own.
    group: u32,
    groups: Option<Box<Groups>>,
    /// Handles whose writes need no group chosen for them: none where there are several.
    plain_handles: u16,
    victim: Option<Victim>,
    target: Target,
    prefetched_units: u32,
    /// Whether the last victim was taken to level wear.
    levelled: bool,
    /// Superblocks whose reads are out: nearly free.
    draining: u32,
    credit: i64,
    /// Pages that the host may write ahead of cleaning (0: any number), and whether it waits for
    /// cleaning to catch up.
    ahead_pages: i64,
    host_waits: bool,
    map_flush: Option<MapFlush>,
    idle: Option<IdleCleaning>,
    governor: Option<Box<Governor>>,
    slc: Option<SlcCache>,
    zns: Option<Box<Zns>>,
    namespaces: Option<Box<Namespaces>>,
    cleaning_reads: Slab<CleaningRead>,
    command_ps: u64,
    read_unit_ps: u64,
    write_unit_ps: u64,
    latency_ns: u64,
    dram_ns: u64,
    ecc_ns: u64,
    acknowledge_ns: u64,
    by_merge: Divisor,
    merge_pages: u32,
    indirection_pages: u32,
    commands: u64,
    unmapped_reads: u64,
}

impl Ssd {
    /// An erased drive at virtual time 0. `seed` feeds what is random in the drive itself: the
    /// superblocks that d-choices cleaning draws, and the exponential sensing time used in checks.
    ///
    /// # Errors
    /// A parameter that cannot be simulated.
    pub fn new(params: &SsdParams, seed: u64) -> Result<Self, ParamError> {
        params.check()?;
        let (geometry, lacking) = match params.zone_bytes {
            0 => (Geometry::new(params), "room for cleaning"),
            _ => (Geometry::zoned(params), "zone"),
        };
        let geometry = geometry.ok_or_else(|| ParamError {
            name: "slice_denominator",
            message: format!(
                "a 1/{} slice of {} bytes leaves no {lacking} or does not fit 32-bit page numbers",
                params.slice_denominator, params.capacity_bytes
            ),
        })?;
        let zns = Zns::new(params, &geometry);
        let mapped = match zns {
            Some(_) => geometry.unmapped(),
            None => geometry.clone(),
        };
        let ps = |ns: f64| (ns * 1000.0).round() as u64;
        let merge_pages = if params.independent_plane_reads {
            geometry.nand_pages
        } else {
            geometry.nand_pages * params.planes_per_die
        }
        .min(Flash::READ_UNITS_MAX);
        let idle = SuperblockState {
            programmed_units: 0,
            stream: Stream(0),
            draining: 0,
            issued: false,
        };
        let units = (geometry.superblocks * geometry.superblock_units) as usize;
        Ok(Self {
            flash: Flash::new(params, seed),
            ftl: Ftl::new(
                &mapped,
                Victims::new(params.gc_policy, params.gc_choices, &mapped, seed),
                params.streams(),
                params.wear_spread_max,
            ),
            link: Link::new(params),
            pipelines: Fifo::new(params.command_pipelines),
            calendar: Calendar::default(),
            now_ns: 0,
            requests: Slab::default(),
            commands_taken: 0,
            // A drive that may rest looks at every command that comes when there is none.
            slots: match params.idle_state_after_us > 0.0 {
                true => 0,
                false => params.command_slots,
            },
            kept_by_host: VecDeque::new(),
            submits_pending: 0,
            in_order: false,
            limit_ns: 0,
            waiting: VecDeque::new(),
            buffer_pages: (params.write_buffer_bytes / u64::from(UNIT_BYTES)) as u32
                / geometry.groups,
            buffered: 0,
            cleaning_pages: (CLEANING_ROWS - 1 + params.cleaning_streams() / geometry.groups)
                * geometry.dies
                * geometry.unit_pages,
            cleaning_buffered: 0,
            units: vec![UnitState::default(); if zns.is_some() { 0 } else { units }]
                .into_boxed_slice(),
            in_buffer: Bits::new(units),
            superblocks: vec![idle; mapped.superblocks as usize].into_boxed_slice(),
            streams: Streams {
                handles: params.placements() as u8,
                hosts: params.host_streams() as u8,
                groups: params.reclaim_groups as u8,
                isolation: params.placement_isolation,
            },
            group: 0,
            groups: Groups::new(params, &geometry),
            plain_handles: match params.reclaim_groups {
                1 => params.placement_handles as u16,
                _ => 0,
            },
            victim: None,
            target: Target::default(),
            prefetched_units: Self::prefetched_units(geometry.unit_pages),
            levelled: false,
            draining: 0,
            credit: 0,
            ahead_pages: params.gc_ahead_bytes.div_ceil(u64::from(UNIT_BYTES)) as i64,
            host_waits: false,
            map_flush: MapFlush::new(params, &geometry),
            idle: IdleCleaning::new(params, &geometry),
            governor: Governor::new(params),
            slc: SlcCache::new(&geometry),
            zns,
            namespaces: Namespaces::new(params, geometry.logical_pages),
            cleaning_reads: Slab::default(),
            command_ps: ps(params.command_ns),
            read_unit_ps: ps(params.read_unit_ns),
            write_unit_ps: ps(params.write_unit_ns),
            latency_ns: us_to_ns(params.command_latency_us),
            dram_ns: us_to_ns(params.dram_read_us),
            ecc_ns: us_to_ns(params.ecc_us),
            acknowledge_ns: us_to_ns(params.write_ack_us),
            by_merge: Divisor::new(merge_pages),
            merge_pages,
            indirection_pages: params.indirection_unit_bytes / UNIT_BYTES,
            commands: 0,
            unmapped_reads: 0,
            params: params.clone(),
            geometry,
        })
    }

    /// The parameters.
    pub fn params(&self) -> &SsdParams {
        &self.params
    }

    /// Simulated over real capacity.
    pub fn scale(&self) -> f64 {
        let simulated = match &self.zns {
            Some(zns) => zns.capacity_bytes(),
            None => u64::from(self.geometry.logical_pages) * u64::from(UNIT_BYTES),
        };
        simulated as f64 / self.params.capacity_bytes as f64
    }

    /// Logical 4 KiB pages that hold data.
    pub fn mapped_pages(&self) -> u32 {
        let map =
            self.geometry.logical_pages..self.geometry.logical_pages + self.geometry.map_pages;
        let stored = map.filter(|&page| self.ftl.lookup(page) != NONE).count() as u32;
        self.ftl.mapped_pages() - stored
    }

    /// Bytes of host memory that the translation state takes per logical page of the slice.
    pub fn bytes_per_page(&self) -> f64 {
        let physical = f64::from(self.geometry.physical_pages());
        let units = self.units.len() * size_of::<UnitState>();
        4.0 + (4.0 * physical + units as f64) / f64::from(self.geometry.logical_pages)
    }

    /// First page and number of pages that a request touches.
    #[inline]
    fn pages(request: &Request) -> (u32, u32) {
        let unit = u64::from(UNIT_BYTES);
        let first = request.offset_bytes / unit;
        let end = (request.offset_bytes + u64::from(request.size_bytes)).div_ceil(unit);
        (first as u32, (end - first) as u32)
    }

    /// First page and number of pages that a write programs: whole indirection units.
    #[inline]
    fn written_pages(&self, request: &Request) -> (u32, u32) {
        let (first, count) = Self::pages(request);
        let within = self.indirection_pages - 1;
        let from = first & !within;
        (from, ((first + count + within) & !within) - from)
    }

    #[inline]
    fn handle(&mut self, payload: u32) -> Option<Completion> {
        let (event, index) = Event::unpack(payload);
        match event {
            Event::Submit => {
                self.submits_pending -= 1;
                self.take_command(index);
            }
            Event::Dispatch => self.dispatch(index),
            Event::Acknowledge => {
                let at_ns = self.link.complete(self.now_ns);
                self.calendar.push(at_ns, Event::Complete.with(index));
            }
            Event::Complete => return Some(self.complete(index)),
            Event::Sensed => self.flash.sensed(self.now_ns, &mut self.calendar, index),
            Event::Channel => {
                if let Some(finished) =
                    self.flash
                        .channel_event(self.now_ns, &mut self.calendar, index)
                {
                    self.flash_finished(finished);
                }
            }
            Event::Die if index == IDLE => self.look_idle(),
            Event::Die if index == POWER => self.reopen(),
            Event::Die => {
                if let Some(finished) = self.flash.die_event(self.now_ns, &mut self.calendar, index)
                {
                    self.flash_finished(finished);
                }
            }
            Event::Wake => {
                return Some(Completion {
                    at_ns: self.now_ns,
                    tag: index,
                    kind: CompletionKind::Wake,
                });
            }
        }
        None
    }

    /// Whether a command on its way can be taken now already: it will find a slot, nothing will come before it,
    /// and nobody asks how busy the pipeline is before it is there.
    #[inline]
    fn takes_at_once(&self, at_ns: u64) -> bool {
        self.in_order
            && self.submits_pending == 0
            && at_ns <= self.limit_ns
            && self.commands_taken < self.slots
            && self.governor.is_none()
            && self.idle.is_none()
    }

    #[inline]
    fn take_command(&mut self, slot: u32) {
        if self.commands_taken >= self.slots {
            self.kept_by_host.push_back(slot);
            if self.commands_taken == 0 {
                self.wake_up();
            }
        } else {
            self.commands_taken += 1;
            self.enter_pipeline(slot, self.now_ns);
        }
    }

    /// A command that arrives at `at_ns`, after all others so far, goes through the pipeline.
    #[inline(always)]
    fn enter_pipeline(&mut self, slot: u32, at_ns: u64) {
        let request = &self.requests[slot].request;
        let unit_ps = match request.op {
            Op::Read => self.read_unit_ps,
            Op::Write => self.write_unit_ps,
            _ => 0,
        };
        let pages = u64::from(request.size_bytes.div_ceil(UNIT_BYTES));
        self.commands += 1;
        let start_ps = self
            .pipelines
            .serve(at_ns, self.command_ps + pages * unit_ps);
        let out_ns = (start_ps + self.command_ps).div_ceil(1000) + self.latency_ns;
        self.calendar.push(out_ns, Event::Dispatch.with(slot));
        if self.governor.is_some() {
            self.govern();
        }
    }

    /// Lets the power governor look, which may keep the host's next commands out.
    #[cold]
    fn govern(&mut self) {
        let joules = self.joules();
        let Some(governor) = &mut self.governor else {
            return;
        };
        let closed = governor.look(self.now_ns, joules, self.params.idle_w);
        self.slots = match closed {
            Some(_) => 0,
            None => self.params.command_slots,
        };
        if let Some(at_ns) = closed
            && !std::mem::replace(&mut governor.booked, true)
        {
            self.calendar.push(at_ns, Event::Die.with(POWER));
        }
    }

    /// A command comes to a drive that has none, and takes none as it is.
    #[cold]
    fn wake_up(&mut self) {
        let now_ns = self.now_ns;
        let governor = self.governor.as_mut();
        if governor.is_some_and(|governor| governor.command_comes(now_ns)) {
            self.govern();
            self.take_kept();
        }
    }

    /// The time has come that the governor gave.
    fn reopen(&mut self) {
        if let Some(governor) = &mut self.governor {
            governor.booked = false;
        }
        self.govern();
        self.take_kept();
    }

    /// Takes commands that the host has kept, as far as there are slots.
    fn take_kept(&mut self) {
        while self.commands_taken < self.slots
            && let Some(next) = self.kept_by_host.pop_front()
        {
            self.commands_taken += 1;
            self.enter_pipeline(next, self.now_ns);
        }
    }

    #[inline]
    fn dispatch(&mut self, slot: u32) {
        if self.zns.is_some() {
            return self.dispatch_zoned(slot);
        }
        let mut request = self.requests[slot].request;
        let (first, count) = Self::pages(&request);
        if u64::from(first) + u64::from(count) > u64::from(self.geometry.logical_pages) {
            return self.refuse(slot, EINVAL);
        }
        if let Some(namespaces) = &self.namespaces {
            match namespaces.handle(&request) {
                Ok(handle) => request.placement = handle,
                Err(errno) => return self.refuse(slot, errno),
            }
            self.requests[slot].request = request;
        }
        match request.op {
            Op::Read => self.read(slot, first, count),
            Op::Write if request.handle() >= self.plain_handles => self.write_to_group(slot),
            Op::Write => self.write(slot),
            Op::Trim | Op::WriteZeroes => {
                // Both deallocate; only whole indirection units can be, as NVMe allows.
                let unit = u64::from(self.params.indirection_unit_bytes);
                let end_bytes = request.offset_bytes + u64::from(request.size_bytes);
                let from = request.offset_bytes.div_ceil(unit) as u32 * self.indirection_pages;
                let to = (end_bytes / unit) as u32 * self.indirection_pages;
                (from..to).for_each(|page| self.ftl.trim(page));
                if let Some(flush) = &mut self.map_flush {
                    (from..to).for_each(|page| flush.change(page, 1));
                }
                self.calendar
                    .push(self.now_ns, Event::Acknowledge.with(slot));
            }
            // The buffer is protected against power loss: what is acknowledged is safe.
            Op::Flush => self
                .calendar
                .push(self.now_ns, Event::Acknowledge.with(slot)),
            Op::Append => self.refuse(slot, EOPNOTSUPP),
        }
    }

    fn refuse(&mut self, slot: u32, errno: i32) {
        self.requests[slot].errno = errno;
        self.calendar
            .push(self.now_ns, Event::Acknowledge.with(slot));
    }

    fn complete(&mut self, slot: u32) -> Completion {
        let InFlight {
            request,
            tag,
            errno,
            ..
        } = self.requests[slot];
        self.requests.release(slot);
        if let Some(namespaces) = self.namespaces.as_mut().filter(|_| errno == 0) {
            namespaces.completed(slot, &request, self.now_ns);
        }
        self.commands_taken -= 1;
        if !self.kept_by_host.is_empty() {
            self.take_kept();
        }
        if self.commands_taken == 0 {
            self.begin_idle();
        }
        Completion {
            at_ns: self.now_ns,
            tag,
            kind: if errno == 0 {
                CompletionKind::Done
            } else {
                CompletionKind::Failed(errno)
            },
        }
    }

    #[inline]
    fn read(&mut self, slot: u32, first: u32, count: u32) {
        let (dram_pages, unmapped) = self.sense(slot, first, count);
        self.answer_from_dram(slot, dram_pages, unmapped);
    }

    /// Splits pages by where they lie and asks the dies for their parts. Gives the pages that no die is asked
    /// for, and whether some of those were never written.
    #[inline]
    fn sense(&mut self, slot: u32, first: u32, count: u32) -> (u32, bool) {
        let mut dram_pages = 0;
        let mut unmapped = false;
        let mut logical = first;
        let end = first + count;
        while logical < end {
            let page = self.ftl.lookup(logical);
            if page == NONE {
                unmapped = true;
                dram_pages += 1;
                logical += 1;
                continue;
            }
            let place = self.geometry.place(page);
            if self.in_buffer.get(place.unit) {
                dram_pages += 1;
                logical += 1;
                continue;
            }
            let room = (end - logical).min(self.merge_pages - self.by_merge.div_rem(page).1);
            let mut run = 1;
            while run < room && self.ftl.lookup(logical + run) == page + run {
                run += 1;
            }
            self.requests[slot].parts += 1;
            self.flash
                .read(self.now_ns, &mut self.calendar, slot, place, run);
            logical += run;
        }
        (dram_pages, unmapped)
    }

    /// The part of a read that no die is asked for.
    #[inline]
    fn answer_from_dram(&mut self, slot: u32, dram_pages: u32, unmapped: bool) {
        self.unmapped_reads += u64::from(unmapped);
        if dram_pages > 0 {
            self.requests[slot].parts += 1;
            self.arrived(slot, dram_pages, self.dram_ns);
        }
    }

    /// A part of a read is in the controller: it goes to the host, or lets a partial write go on.
    #[inline]
    fn arrived(&mut self, slot: u32, units: u32, delay_ns: u64) {
        let inflight = &mut self.requests[slot];
        inflight.parts -= 1;
        let last = inflight.parts == 0;
        if inflight.request.op == Op::Write {
            if last {
                self.complete_unit(slot);
            }
            return;
        }
        let bytes = (units * UNIT_BYTES).min(inflight.request.size_bytes);
        let at_ns = self.link.send(self.now_ns, bytes, last) + delay_ns;
        inflight.done_ns = inflight.done_ns.max(at_ns);
        if last {
            let done_ns = inflight.done_ns;
            self.calendar.push(done_ns, Event::Complete.with(slot));
        }
    }

    #[inline]
    fn write(&mut self, slot: u32) {
        let Request {
            offset_bytes,
            size_bytes,
            ..
        } = self.requests[slot].request;
        let end_bytes = offset_bytes + u64::from(size_bytes);
        let within = u64::from(self.params.indirection_unit_bytes - 1);
        if (offset_bytes | end_bytes) & within != 0 {
            self.sense_rest(slot, offset_bytes, end_bytes);
        }
        if self.requests[slot].parts == 0 {
            self.queue_write(slot);
        }
    }

    /// A write that covers part of an indirection unit needs the rest of it first.
    #[cold]
    fn sense_rest(&mut self, slot: u32, offset_bytes: u64, end_bytes: u64) {
        let unit = u64::from(UNIT_BYTES);
        let (first, count) = self.written_pages(&self.requests[slot].request);
        let head_end = offset_bytes.div_ceil(unit) as u32;
        let tail = ((end_bytes / unit) as u32).max(head_end);
        self.sense(slot, first, head_end - first);
        self.sense(slot, tail, first + count - tail);
    }

    /// The rest of the indirection units that a write covers in part has come.
    #[cold]
    fn complete_unit(&mut self, slot: u32) {
        self.enter_group_of(slot);
        self.queue_write(slot);
    }

    fn queue_write(&mut self, slot: u32) {
        if !self.waiting.is_empty() || !self.admit(slot) {
            self.waiting.push_back(slot);
        }
    }

    /// Puts as many pages of a write into the buffer as there is room for; true when all are in.
    fn admit(&mut self, slot: u32) -> bool {
        if self.zns.is_some() {
            return self.admit_zoned(slot);
        }
        let InFlight {
            request,
            mut placed,
            ..
        } = self.requests[slot];
        let (first, count) = self.written_pages(&request);
        let stream = Stream(request.handle() as u8);
        while placed < count {
            let room = self.buffer_pages - self.buffered;
            if room == 0 || self.host_waits || self.map_in_arrears() {
                break;
            }
            let Some(page) = self.host_frontier(stream) else {
                break;
            };
            let left = self.geometry.left_in_stripe(page);
            let run = (count - placed).min(room).min(left);
            self.ftl.place(stream, first + placed, run);
            self.buffered += run;
            placed += run;
            if run == left {
                self.stripe_filled(page);
            }
            self.pace(run);
            if let Some(flush) = &mut self.map_flush {
                flush.change(first + placed - run, run);
                flush.host_wrote(run);
                self.write_map();
            }
        }
        self.requests[slot].placed = placed;
        if placed < count {
            return false;
        }
        if let Some(namespaces) = &mut self.namespaces {
            namespaces.wrote(&request, count);
        }
        self.accept(slot, request.size_bytes);
        true
    }

    /// A write has room in the buffer: its data comes, and is acknowledged.
    #[inline]
    fn accept(&mut self, slot: u32, size_bytes: u32) {
        let in_buffer_ns = self.link.fetch(self.now_ns, size_bytes);
        let at_ns = in_buffer_ns + self.acknowledge_ns;
        self.calendar.push(at_ns, Event::Acknowledge.with(slot));
    }

    /// Whether so much of the map is overdue that host writes have to wait for it.
    #[inline]
    fn map_in_arrears(&self) -> bool {
        let flush = self.map_flush.as_ref();
        flush.is_some_and(|flush| flush.owes(self.geometry.stripe_pages))
    }

    /// Writes what is due of the page map, as far as there is room.
    #[inline]
    fn write_map(&mut self) {
        if self.map_flush.as_ref().is_some_and(|flush| flush.owes(1)) {
            self.write_owed_map();
        }
    }

    fn write_owed_map(&mut self) {
        while self.map_flush.as_ref().is_some_and(|flush| flush.owes(1))
            && self.buffered < self.buffer_pages
            && !self.host_waits
            && let Some(page) = self.host_frontier(self.streams.map())
        {
            let Some(logical) = self.map_flush.as_mut().and_then(MapFlush::next) else {
                return;
            };
            self.ftl.place(self.streams.map(), logical, 1);
            self.buffered += 1;
            if self.geometry.left_in_stripe(page) == 1 {
                self.stripe_filled(page);
            }
            self.pace(1);
        }
    }

    /// Admits waiting writes after space was gained.
    fn admit_waiting(&mut self) {
        self.write_map();
        if !self.host_waits {
            self.admit_all();
        }
    }

    fn admit_all(&mut self) {
        while let Some(&slot) = self.waiting.front() {
            if !self.admit(slot) {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Next page for host data; cleaning is asked first when there is none.
    #[inline]
    fn host_frontier(&mut self, stream: Stream) -> Option<u32> {
        let page = self.frontier(stream);
        if page.is_some() {
            return page;
        }
        self.clean();
        self.frontier(stream)
    }

    /// Next page of a stream, taking a fresh superblock when there is one to take.
    #[inline]
    fn frontier(&mut self, stream: Stream) -> Option<u32> {
        let page = self.ftl.frontier(stream);
        if page.is_some() {
            return page;
        }
        self.open_superblock(stream)
    }

    #[cold]
    fn open_superblock(&mut self, stream: Stream) -> Option<u32> {
        let to_slc = u32::from(stream.0) < self.params.placement_handles
            && self.slc.as_ref().is_some_and(|slc| slc.free() > 0);
        let kept = self.streams.is_host(stream) && self.free_superblocks() <= RESERVED_SUPERBLOCKS;
        if kept && !to_slc {
            return None;
        }
        let cold = !self.streams.is_host(stream);
        let superblock = self.ftl.open(stream, self.group, cold)?;
        if let Some(slc) = self.slc.as_mut().filter(|_| to_slc) {
            slc.open(superblock);
        }
        self.superblocks[superblock as usize].stream = stream;
        self.superblocks[superblock as usize].programmed_units = 0;
        let first = superblock * self.geometry.superblock_units;
        let units = first..first + self.geometry.superblock_units;
        self.units[units.start as usize..units.end as usize].fill(UnitState::default());
        self.in_buffer.set_all(units.start, units.end);
        self.ftl.frontier(stream)
    }

    /// Free superblocks that are not set aside for the SLC cache.
    #[inline]
    fn free_superblocks(&self) -> u32 {
        let set_aside = self.slc.as_ref().map_or(0, SlcCache::free);
        let free = self.ftl.free_superblocks(self.group);
        free.saturating_sub(set_aside)
    }

    /// Whether a superblock is in SLC mode.
    #[inline]
    fn is_slc(&self, superblock: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.holds(superblock))
    }

    /// A page of every plane of a die is full, which is all that it takes in SLC mode.
    #[cold]
    fn program_slc(&mut self, place: Place, stream: Stream) {
        self.flash
            .program_slc(self.now_ns, &mut self.calendar, place.unit, place.die);
        if place.die + 1 == self.geometry.dies {
            let row_rest = (self.geometry.unit_stripes - 1) * self.geometry.dies;
            self.ftl.skip(stream, row_rest * self.geometry.stripe_pages);
        }
    }

    /// The stripe that holds `page` is full; so may be its unit.
    #[inline]
    fn stripe_filled(&mut self, page: u32) {
        let place = self.geometry.place(page);
        if self.slc.is_some() {
            let superblock = self.geometry.superblock(page);
            if self.is_slc(superblock) {
                let stream = self.superblocks[superblock as usize].stream;
                return self.program_slc(place, stream);
            }
        }
        if place.page_type + 1 == self.geometry.unit_stripes {
            self.units[place.unit as usize].filled = true;
            self.program_if_complete(place.unit, place.die);
        }
    }

    #[inline]
    fn program_if_complete(&mut self, unit: u32, die: u32) {
        let state = self.units[unit as usize];
        if state.filled && state.incoming == 0 {
            self.flash
                .program(self.now_ns, &mut self.calendar, unit, die);
        }
    }

    #[inline]
    fn flash_finished(&mut self, finished: Finished) {
        match finished {
            Finished::Read(slot, units) => self.arrived(slot, units, self.ecc_ns),
            Finished::Program(unit) => self.programmed(unit),
            Finished::CleaningRead(id) => self.cleaning_arrived(id),
            Finished::Erase(die) => self.erased(die),
        }
    }

    fn programmed(&mut self, unit: u32) {
        self.in_buffer.clear(unit);
        if self.zns.is_some() {
            return self.programmed_in_zone(unit);
        }
        let superblock = self.geometry.unit_superblock(unit);
        if self.groups.is_some() {
            self.enter_group(self.geometry.group(superblock));
        }
        let state = &mut self.superblocks[superblock as usize];
        state.programmed_units += 1;
        let SuperblockState {
            stream,
            programmed_units,
            ..
        } = *state;
        let all = programmed_units == self.geometry.superblock_units;
        if let Some(slc) = self.slc.as_mut().filter(|slc| slc.holds(superblock)) {
            self.buffered -= self.geometry.stripe_pages;
            if all {
                self.ftl.cache(superblock);
                slc.filled(superblock);
            }
            self.clean();
            return self.admit_waiting();
        }
        if all {
            self.ftl.close(superblock);
        }
        if self.streams.is_host(stream) {
            self.buffered -= self.geometry.unit_pages;
        } else {
            self.cleaning_buffered -= self.geometry.unit_pages;
        }
        self.clean();
        self.admit_waiting();
    }

    /// Program/erase cycles of the superblocks so far.
    pub fn erase_counts(&self) -> EraseCounts {
        match &self.zns {
            Some(zns) => zns.wear.counts(),
            None => self.ftl.erase_counts(),
        }
    }

    fn joules(&self) -> f64 {
        let p = &self.params;
        let counts = &self.flash.counts;
        let unit_bytes = f64::from(UNIT_BYTES);
        let slc_programs = counts.slc_programs as f64;
        let programmed = counts.programs as f64 + slc_programs / f64::from(p.pages_per_program);
        let channel_bytes =
            counts.units_out as f64 * unit_bytes + programmed * p.program_bytes() as f64;
        let micro = self.commands as f64 * p.command_uj
            + counts.senses as f64 * p.read_sense_uj
            + counts.programs as f64 * p.program_uj
            // The array takes about the same power however it programs.
            + slc_programs * p.program_uj * p.slc_program_us / p.program_us.max(f64::MIN_POSITIVE)
            + counts.erases as f64 * p.erase_uj;
        let nano =
            self.link.bytes as f64 * p.link_nj_per_byte + channel_bytes * p.channel_nj_per_byte;
        let saved_j = self
            .governor
            .as_ref()
            .map_or(0.0, |governor| governor.saved_j(self.now_ns));
        p.idle_w * self.now_ns as f64 * 1e-9 - saved_j + micro * 1e-6 + nano * 1e-9
    }
}

impl Device for Ssd {
    fn capacity_bytes(&self) -> u64 {
        match (&self.zns, &self.namespaces) {
            (Some(zns), _) => zns.address_bytes(),
            (None, Some(namespaces)) => namespaces.address_bytes,
            (None, None) => u64::from(self.geometry.logical_pages) * u64::from(UNIT_BYTES),
        }
    }

    fn block_bytes(&self) -> u32 {
        self.params.block_bytes
    }

    fn scale(&self) -> f64 {
        Ssd::scale(self)
    }

    fn host(&self) -> &HostParams {
        &self.params.host
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn expect_in_order(&mut self, in_order: bool) {
        self.in_order = in_order;
    }

    #[inline]
    fn prefetch(&self, request: &Request) {
        let page = (request.offset_bytes / u64::from(UNIT_BYTES)) as u32;
        if page < self.geometry.logical_pages {
            self.ftl.prefetch(page);
        }
    }

    #[inline]
    fn submit(&mut self, at_ns: u64, tag: u32, request: Request) {
        let inflight = InFlight {
            request,
            tag,
            parts: 0,
            placed: 0,
            done_ns: 0,
            errno: 0,
        };
        let slot = self.requests.add(inflight);
        if let Some(namespaces) = &mut self.namespaces {
            self.requests[slot].request = namespaces.on_drive(request);
            namespaces.submitted(slot, at_ns.max(self.now_ns));
        }
        let at_ns = at_ns.max(self.now_ns);
        if self.takes_at_once(at_ns) {
            self.commands_taken += 1;
            self.enter_pipeline(slot, at_ns);
        } else {
            self.submits_pending += 1;
            self.calendar.push(at_ns, Event::Submit.with(slot));
        }
    }

    fn wake(&mut self, at_ns: u64, tag: u32) {
        self.calendar
            .push(at_ns.max(self.now_ns), Event::Wake.with(tag));
    }

    #[inline]
    fn advance(&mut self, limit_ns: u64) -> Option<Completion> {
        self.limit_ns = limit_ns;
        while let Some(payload) = self.calendar.advance(&mut self.now_ns, limit_ns) {
            if let Some(completion) = self.handle(payload) {
                return Some(completion);
            }
        }
        None
    }

    fn is_busy(&self) -> bool {
        !self.calendar.is_empty()
    }

    fn zone_model(&self) -> Option<ZoneModel> {
        self.zns.as_ref().map(|zns| zns.zones.model)
    }

    fn write_pointer(&self, zone: u32) -> Option<u64> {
        let zones = &self.zns.as_ref()?.zones;
        (zone < zones.model.zones).then(|| zones.pointer(zone))
    }

    fn zone_refusal(&self, request: &Request) -> Option<Refusal> {
        self.zns.as_ref()?.refusal(request)
    }

    fn manage_zone(&mut self, zone: u32, action: ZoneAction) -> Result<(), Refusal> {
        self.manage(zone, action)
    }

    fn account(&self, into: &mut Account) {
        let now_ns = self.now_ns;
        let counts = &self.flash.counts;
        into.media_read_bytes = counts.units_out * u64::from(UNIT_BYTES);
        let pages = u64::from(self.params.pages_per_program);
        into.media_write_bytes =
            (counts.programs * pages + counts.slc_programs) * self.params.program_bytes() / pages;
        into.media_erase_bytes = counts.erases * self.params.erase_unit_bytes;
        into.unmapped_reads = self.unmapped_reads;
        into.joules = self.joules();
        let rated = self.params.rated_pe_cycles;
        into.wear_pct = (rated > 0).then(|| self.erase_counts().mean * 100.0 / f64::from(rated));
        let climate = self.governor.as_ref();
        let climate = climate.and_then(|governor| governor.temperature(now_ns, into.joules));
        into.temperature_c = climate.map(|(celsius, _)| celsius);
        into.throttled_ns = climate.map(|(_, throttled_ns)| throttled_ns);
        into.shares.clear();
        if let Some(namespaces) = &self.namespaces {
            into.shares.extend(&namespaces.shares);
        }
        into.resources.clear();
        let joules = into.joules;
        let mut add = |resource, busy: &mut dyn Iterator<Item = u64>| {
            into.resources.push(ResourceTime {
                resource,
                busy_ns: busy.collect(),
            });
        };
        for (way, busy_ns) in self.link.busy_ns(now_ns) {
            add(way, &mut std::iter::once(busy_ns));
        }
        add("controller", &mut self.pipelines.busy_ns(now_ns));
        add("flash channels", &mut self.flash.channels_busy_ns(now_ns));
        add("flash dies", &mut self.flash.dies_busy_ns(now_ns));
        if let Some(governor) = self.governor.as_ref().filter(|governor| governor.has_cap()) {
            add("power cap", &mut std::iter::once(governor.busy_ns(joules)));
        }
        if self.params.programming_dies_max < self.params.dies() {
            add(
                "program power budget",
                &mut std::iter::once(self.flash.budget_busy_ns(now_ns)),
            );
        }
    }
}

/// Pages since the drive was made.
#[cfg(test)]
pub struct PageTotals {
    pub placed: u64,
    pub relocated: u64,
    pub programmed: u64,
    pub buffered: u64,
}

#[cfg(test)]
impl Ssd {
    /// Stream that wrote a mapped logical page.
    pub fn written_by(&self, logical: u32) -> Stream {
        let superblock = self.geometry.superblock(self.ftl.lookup(logical));
        self.superblocks[superblock as usize].stream
    }

    /// Die that holds a mapped logical page.
    pub fn die_of(&self, logical: u32) -> u32 {
        self.geometry.place(self.ftl.lookup(logical)).die
    }

    /// 4 KiB pages that dies have been asked for.
    pub fn flash_reads(&self) -> u64 {
        self.flash.counts.units_out
    }

    /// Where pages are, when only whole pages were written, nothing read, and nothing is under way.
    pub fn page_totals(&self) -> PageTotals {
        PageTotals {
            placed: self.link.bytes / u64::from(UNIT_BYTES),
            relocated: self.flash.counts.units_out,
            programmed: self.flash.counts.programs * u64::from(self.geometry.unit_pages),
            buffered: u64::from(self.buffered + self.cleaning_buffered)
                + self.groups.as_ref().map_or(0, |groups| groups.buffered()),
        }
    }
}
