//! A simulated NVMe SSD: controller, link, write buffer and cleaning around the flash.
//!
//! A request passes: submission -> command pipeline -> (read) mapping, die, channel, link ->
//! completion; (write) buffer space, link, acknowledgement. Written pages lie in the
//! power-loss-protected buffer until their unit is programmed and are read from there. Cleaning is paced by host
//! writes: for every page the host writes, as many are moved as the victim's share of valid pages asks for. So free
//! space neither grows nor shrinks. When it runs out, host writes wait in the buffer queue, which is the back-pressure.
//!
//! Each placement handle is a stream of host writes with superblocks of its own (reclaim units). What cleaning moves
//! goes into one stream, or into one per handle. With reclaim groups each group has all of that to itself, see
//! `groups`.
//!
//! A drive is a few parts, each with its own state: `host_queue`, `buffer`, `translation`, `cleaner`, `groups`, `flash`,
//! `link`, `power`. Here is what they are and which event goes where. What passes several parts is a method of [`Ssd`] in
//! the module where it begins: `commands`, `reads`, `buffer` (writes), `cleaner`, `account`. A zoned drive (`zns`) has
//! its own ways behind `commands`.

mod account;
mod buffer;
mod cleaner;
mod commands;
mod flash;
pub mod ftl;
pub mod geometry;
mod groups;
mod host_queue;
mod idle;
#[cfg(test)]
mod inspect;
mod link;
mod namespaces;
pub mod params;
mod power;
mod read_ahead;
mod reads;
mod settled;
mod streams;
mod translation;
mod zns;

use workload::Request;

use crate::device::params::{HostParams, ParamError};
use crate::device::zones::{Refusal, ZoneAction, ZoneModel};
use crate::device::{Account, Completion, Device, Promises};
use crate::sim::calendar::Calendar;
use crate::sim::event::Event;
use crate::sim::slab::Slab;
use buffer::WriteBuffer;
use cleaner::Cleaner;
use flash::{Finished, Flash};
use geometry::Geometry;
use groups::Groups;
use host_queue::{ARRIVED, HostQueue};
use link::Link;
use namespaces::Namespaces;
use params::{SsdParams, UNIT_BYTES};
use power::Power;
use read_ahead::ReadAhead;
use translation::Translation;
use zns::Zns;

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

/// A solid-state drive. A clone has its state, virtual time and requests in flight included, and goes its own way.
#[derive(Clone)]
pub struct Ssd {
    params: SsdParams,
    geometry: Geometry,
    now_ns: u64,
    calendar: Calendar,
    requests: Slab<InFlight>,
    queue: HostQueue,
    link: Link,
    buffer: WriteBuffer,
    translation: Translation,
    cleaner: Cleaner,
    groups: Groups,
    flash: Flash,
    power: Power,
    read_ahead: Option<Box<ReadAhead>>,
    zns: Option<Box<Zns>>,
    namespaces: Option<Box<Namespaces>>,
}

impl Ssd {
    /// Returns a drive at virtual time 0, erased or as `settled_share` says. `seed` feeds what is random in the drive
    /// itself: the superblocks that d-choices cleaning draws, and the exponential sensing time used in checks. It also
    /// feeds where the data of a settled drive lies.
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
        let mut ssd = Self {
            now_ns: 0,
            calendar: Calendar::default(),
            requests: Slab::default(),
            queue: HostQueue::new(params),
            link: Link::new(params),
            buffer: WriteBuffer::new(params, &geometry),
            translation: Translation::new(params, &geometry, &mapped, seed),
            cleaner: Cleaner::new(params, &geometry),
            groups: Groups::new(params, &geometry),
            flash: Flash::new(params, seed),
            power: Power::new(params),
            read_ahead: ReadAhead::new(params),
            zns,
            namespaces: Namespaces::new(params, geometry.logical_pages),
            params: params.clone(),
            geometry,
        };
        if params.settled_share > 0.0 {
            ssd.settle(seed);
        }
        Ok(ssd)
    }

    /// Returns the parameters.
    pub fn params(&self) -> &SsdParams {
        &self.params
    }

    /// Returns when something happens next by itself; [`NEVER`](crate::sim::calendar::NEVER) where nothing will.
    #[inline]
    pub(crate) fn next_ns(&self) -> u64 {
        self.calendar.next_ns()
    }

    /// Returns the first page and number of pages that a request touches.
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
            Event::Submit if index == ARRIVED => return self.catch_up(),
            Event::Submit => self.take_command(index),
            Event::Dispatch => self.dispatch(index),
            Event::Acknowledge => {
                let at_ns = self.link.complete(self.now_ns);
                self.end_command(index, at_ns);
            }
            Event::Complete => return Some(self.complete(index, self.now_ns)),
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
            Event::Wake => return self.wake_host(index),
            Event::Moved => self.cleaning_moved(index),
        }
        None
    }

    #[inline]
    fn flash_finished(&mut self, finished: Finished) {
        match finished {
            Finished::Read(request, units) => self.read_arrived(request, units),
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
        self.host_ns()
    }

    fn rely_on(&mut self, promises: Promises) {
        Ssd::rely_on(self, promises);
    }

    #[inline]
    fn prefetch(&self, request: &Request) {
        let page = (request.offset_bytes / u64::from(UNIT_BYTES)) as u32;
        if page < self.geometry.logical_pages {
            self.translation.ftl.prefetch(page);
        }
    }

    #[inline]
    fn submit(&mut self, at_ns: u64, tag: u32, request: Request) {
        // Many threads draw far ahead: what they fetched then has left the nearest cache.
        self.prefetch(&request);
        let inflight = InFlight {
            request,
            tag,
            parts: 0,
            placed: 0,
            done_ns: 0,
            errno: 0,
        };
        let slot = self.requests.add(inflight);
        let at_ns = at_ns.max(self.host_ns());
        if let Some(namespaces) = &mut self.namespaces {
            self.requests[slot].request = namespaces.on_drive(request);
            namespaces.submitted(slot, at_ns);
        }
        self.submit_command(slot, at_ns);
    }

    fn wake(&mut self, at_ns: u64, tag: u32) {
        self.calendar
            .push(at_ns.max(self.now_ns), Event::Wake.with(tag));
    }

    #[inline]
    fn advance(&mut self, limit_ns: u64) -> Option<Completion> {
        self.queue.limit_ns = limit_ns;
        if self.queue.is_reporting()
            && let Some(completion) = self.catch_up()
        {
            return Some(completion);
        }
        while let Some(payload) = self.calendar.advance(&mut self.now_ns, limit_ns) {
            if let Some(completion) = self.handle(payload) {
                return Some(completion);
            }
        }
        match self.queue.has_ended() {
            true => self.catch_up(),
            false => None,
        }
    }

    fn is_busy(&self) -> bool {
        !self.calendar.is_empty() || self.queue.has_more_to_report()
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

    fn account(&mut self, into: &mut Account) {
        self.take_arrived();
        self.tell(into);
    }
}
