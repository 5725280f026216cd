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
//!
//! Here are the drive's state and what happens when; what is done then is in the module of its station: `commands` (and
//! `power`, which keeps them out), `reads`, `writes`, `superblocks`, `cleaning`, `account`. A zoned drive (`zns`) has
//! stations of its own behind `commands`.

mod account;
mod cleaning;
mod commands;
mod flash;
pub mod ftl;
pub mod geometry;
mod groups;
mod idle;
#[cfg(test)]
mod inspect;
mod link;
mod namespaces;
pub mod params;
mod power;
mod reads;
mod streams;
mod superblocks;
mod writes;
mod zns;

use std::collections::VecDeque;

use workload::Request;

use crate::device::params::{HostParams, ParamError};
use crate::device::zones::{Refusal, ZoneAction, ZoneModel};
use crate::device::{Account, Completion, CompletionKind, Device};
use crate::sim::bits::Bits;
use crate::sim::calendar::Calendar;
use crate::sim::event::{Event, us_to_ns};
use crate::sim::server::{Fifo, Waits};
use crate::sim::slab::Slab;
use crate::ssd::flash::{Finished, Flash};
use crate::ssd::ftl::Ftl;
use crate::ssd::ftl::map_flush::MapFlush;
use crate::ssd::ftl::slc::SlcCache;
use crate::ssd::ftl::victim::Victims;
use crate::ssd::geometry::{Divisor, Geometry};
use crate::ssd::idle::IdleCleaning;
use crate::ssd::link::Link;
use crate::ssd::params::{SsdParams, UNIT_BYTES};
use crate::ssd::power::Governor;
use cleaning::{CleaningRead, Target, Victim};
use groups::Groups;
use namespaces::Namespaces;
use streams::Streams;
use superblocks::{SuperblockState, UnitState};
use zns::Zns;

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
    /// I/O that wait for a slot or for room in the buffer, and for a pipeline.
    place_waits: Waits,
    pipeline_waits: Waits,
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
            place_waits: Waits::default(),
            pipeline_waits: Waits::default(),
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
            superblocks: vec![SuperblockState::ERASED; mapped.superblocks as usize]
                .into_boxed_slice(),
            streams: Streams::new(params),
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

    /// First page and number of pages that a request touches.
    #[inline]
    fn pages(request: &Request) -> (u32, u32) {
        let unit = u64::from(UNIT_BYTES);
        let first = request.offset_bytes / unit;
        let end = (request.offset_bytes + u64::from(request.size_bytes)).div_ceil(unit);
        (first as u32, (end - first) as u32)
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

    #[inline]
    fn flash_finished(&mut self, finished: Finished) {
        match finished {
            Finished::Read(slot, units) => self.arrived(slot, units, self.ecc_ns),
            Finished::Program(unit) => self.programmed(unit),
            Finished::CleaningRead(id) => self.cleaning_arrived(id),
            Finished::Erase(die) => self.erased(die),
        }
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
        self.tell(into);
    }
}
