//! A zoned drive (NVMe ZNS). Instead of mapping pages it gives each zone the same erase units for ever, one or more on
//! each of `zone_dies` dies. Zones take turns round the groups of dies. A zone is written unit by unit, die after die,
//! so that many open ones hold little in the buffer. One zone is as fast as its dies, many are as fast as the drive.
//! Nothing is cleaned. A reset erases what was written of the zone and completes when the last die has. A finish fills
//! up the unit that was begun, or pads the zone. What is refused and why: `device::zones`.

use std::collections::VecDeque;

use workload::{Op, Request, name_ops};

use super::{EINVAL, EOPNOTSUPP, InFlight, Ssd};
use crate::device::zones::{Condition, Refusal, ZoneAction, ZoneInfo, Zones};
use crate::sim::event::Event;
use crate::sim::server::Waits;
use crate::sim::slab::Slab;
use crate::ssd::flash::PADDING;
use crate::ssd::ftl::wear::Wear;
use crate::ssd::geometry::{Geometry, Place};
use crate::ssd::params::{SsdParams, UNIT_BYTES, ZoneFinish};

const UNIT: u64 = UNIT_BYTES as u64;

/// A reset on its way: the request, and the erases that are still out.
#[derive(Clone, Copy)]
struct Reset {
    slot: u32,
    erases: u32,
}

/// The zones of a drive and what lies behind them.
#[derive(Clone)]
pub(super) struct Zns {
    pub(super) zones: Zones,
    /// Pages from one zone to the next, and those that can be written.
    zone_pages: u32,
    capacity_pages: u32,
    groups: u32,
    planes: u32,
    /// Pages of each zone that are in the buffer or on flash.
    placed: Box<[u32]>,
    pub(super) wear: Wear,
    /// Programs of each unit that a reset has made pointless before they ended.
    outdated: Box<[u16]>,
    resets: Slab<Reset>,
    /// Resets that wait for each die's erases, in their order.
    erasing: Box<[VecDeque<u32>]>,
}

impl Zns {
    /// Returns the zones; `None` for a drive without zones.
    pub(super) fn new(params: &SsdParams, geometry: &Geometry) -> Option<Box<Self>> {
        let model = params.zone_model()?;
        Some(Box::new(Self {
            zone_pages: (model.zone_bytes / UNIT) as u32,
            capacity_pages: geometry.superblock_pages,
            groups: params.dies() / geometry.dies,
            planes: params.planes_per_die,
            placed: vec![0; model.zones as usize].into_boxed_slice(),
            wear: Wear::new(model.zones, 0),
            outdated: vec![0; (model.zones * geometry.superblock_units) as usize]
                .into_boxed_slice(),
            resets: Slab::default(),
            erasing: vec![VecDeque::new(); params.dies() as usize].into_boxed_slice(),
            zones: Zones::new(model, u64::from(model.zones) * model.zone_bytes),
        }))
    }

    /// Returns the zone of an addressed page, and its place in it.
    const fn split(&self, logical: u32) -> (u32, u32) {
        (logical / self.zone_pages, logical % self.zone_pages)
    }

    const fn physical(&self, zone: u32, offset: u32) -> u32 {
        zone * self.capacity_pages + offset
    }

    /// Returns the die of a zone's unit `index`. Every zone begins on another one, or zones that fill at the same pace
    /// would all want the same die.
    const fn die(&self, zone: u32, index: u32, geometry: &Geometry) -> u32 {
        let begin = zone / self.groups;
        zone % self.groups * geometry.dies + (begin + index) % geometry.dies
    }

    fn place(&self, geometry: &Geometry, page: u32) -> Place {
        let place = geometry.place(page);
        let zone = geometry.superblock(page);
        // A stripe is a whole unit here: its NAND pages are the planes' lower ones, then the next.
        Place {
            die: self.die(zone, place.die, geometry),
            plane: place.plane % self.planes,
            page_type: place.plane / self.planes,
            ..place
        }
    }

    /// Bytes of addresses, those behind the zones' capacities included.
    pub(super) fn address_bytes(&self) -> u64 {
        u64::from(self.zones.model.zones) * self.zones.model.zone_bytes
    }

    /// Bytes that can be written.
    pub(super) fn capacity_bytes(&self) -> u64 {
        u64::from(self.zones.model.zones) * self.zones.model.zone_capacity_bytes
    }

    /// Returns why a request is not taken as it is.
    pub(super) fn refusal(&self, request: &Request) -> Option<Refusal> {
        let (at, bytes) = (request.offset_bytes, u64::from(request.size_bytes));
        match request.op {
            Op::Write => self.zones.refusal(at, bytes),
            Op::Append => {
                let zone = self.zones.report(self.zones.zone(at));
                match zone.condition {
                    Condition::Full => Some(Refusal::Full),
                    _ if at != zone.start => Some(Refusal::InvalidField),
                    _ => self.zones.refusal(zone.pointer, bytes),
                }
            }
            Op::Trim => self.zones.whole(at, bytes).err(),
            _ => None,
        }
    }
}

impl Ssd {
    /// Returns the zones as Report Zones lists them; none on a drive without.
    pub fn report_zones(&self) -> impl Iterator<Item = ZoneInfo> {
        let zones = self.zns.as_ref().map(|zns| &zns.zones);
        zones
            .into_iter()
            .flat_map(|zones| (0..zones.model.zones).map(|zone| zones.report(zone)))
    }

    /// A command of a zoned drive leaves its pipeline.
    pub(super) fn dispatch_zoned(&mut self, slot: u32) {
        let request = self.requests[slot].request;
        let (at, bytes) = (request.offset_bytes, u64::from(request.size_bytes));
        let Some(zns) = &mut self.zns else { return };
        let beyond = at.saturating_add(bytes) > zns.address_bytes();
        if request.op != Op::Flush && (bytes == 0 || beyond || (at | bytes) % UNIT != 0) {
            return self.refuse(slot, EINVAL);
        }
        let place = match request.op {
            Op::Read => return self.read_zoned(slot),
            Op::Trim => return self.reset_zones(slot, at, bytes),
            Op::Flush => {
                let acknowledge = Event::Acknowledge.with(slot);
                return self.calendar.push(self.now_ns, acknowledge);
            }
            Op::WriteZeroes | Op::Allocate => return self.refuse(slot, EOPNOTSUPP),
            name_ops!() => return self.refuse(slot, EOPNOTSUPP),
            Op::Write => zns.zones.write(at, bytes).map(|()| at),
            Op::Append => zns.zones.append(at, bytes),
        };
        match place {
            Ok(place) => {
                self.requests[slot].request.offset_bytes = place;
                self.queue_write(slot);
            }
            Err(refusal) => self.refuse(slot, refusal.errno()),
        }
    }

    /// Splits a read by where its pages lie, as that of a mapped drive.
    fn read_zoned(&mut self, slot: u32) {
        let Some(zns) = &self.zns else { return };
        let (first, count) = Self::pages(&self.requests[slot].request);
        let (mut logical, end) = (first, first + count);
        let mut zones = zns.split(first).0..=zns.split(end - 1).0;
        if zones.any(|zone| zns.zones.report(zone).condition == Condition::Offline) {
            return self.refuse(slot, Refusal::Offline.errno());
        }
        let (mut dram_pages, mut unmapped) = (0, false);
        while logical < end {
            let (zone, offset) = zns.split(logical);
            let written = (zns.zones.written(zone) / UNIT) as u32;
            let page = zns.physical(zone, offset);
            let place = zns.place(&self.geometry, page);
            if offset >= written || self.buffer.holds.get(place.unit) {
                unmapped |= offset >= written;
                dram_pages += 1;
                logical += 1;
                continue;
            }
            let left = self.translation.left_in_read(page);
            let run = (end - logical).min(written - offset).min(left);
            self.requests[slot].parts += 1;
            let share = Waits::share(run, count);
            self.flash
                .read(self.now_ns, &mut self.calendar, slot, place, run, share);
            logical += run;
        }
        self.answer_from_dram(slot, dram_pages, unmapped);
    }

    /// Puts as many pages of a write into the buffer as there is room for; true when all are in.
    pub(super) fn admit_zoned(&mut self, slot: u32) -> bool {
        let InFlight {
            request,
            mut placed,
            ..
        } = self.requests[slot];
        let (first, count) = Self::pages(&request);
        while placed < count {
            let room = self.buffer.room();
            let Some(zns) = self.zns.as_ref().filter(|_| room > 0) else {
                break;
            };
            let (zone, offset) = zns.split(first + placed);
            placed += self.place_in_zone(zone, offset, room.min(count - placed));
        }
        self.requests[slot].placed = placed;
        if placed == count {
            self.accept(slot, request.size_bytes);
        }
        placed == count
    }

    /// Puts pages of one unit into the buffer, at most `most`; a full unit goes to its die.
    fn place_in_zone(&mut self, zone: u32, offset: u32, most: u32) -> u32 {
        let Some(zns) = &mut self.zns else { return 0 };
        let page = zns.physical(zone, offset);
        let left = self.geometry.left_in_stripe(page);
        let run = most.min(left);
        zns.placed[zone as usize] = offset + run;
        self.buffer.group.host_pages += run;
        if offset == 0 {
            let first = zone * self.geometry.superblock_units;
            (first..first + self.geometry.superblock_units)
                .for_each(|unit| self.buffer.holds.set(unit));
        }
        let place = zns.place(&self.geometry, page);
        if run == left {
            self.flash
                .program(self.now_ns, &mut self.calendar, place.unit, place.die);
        }
        run
    }

    pub(super) fn programmed_in_zone(&mut self, unit: u32) {
        let Some(zns) = &mut self.zns else { return };
        // Programs of a unit end in their order, so these come before that of what it holds now.
        match &mut zns.outdated[(unit & !PADDING) as usize] {
            0 => self.buffer.holds.clear(unit & !PADDING),
            outdated => *outdated -= 1,
        }
        if unit & PADDING != 0 {
            return;
        }
        self.buffer.group.host_pages -= self.geometry.unit_pages;
        self.admit_waiting();
    }

    fn reset_zones(&mut self, slot: u32, at: u64, bytes: u64) {
        let Some(zns) = &mut self.zns else { return };
        let range = match zns.zones.reset(at, bytes) {
            Ok(range) => range,
            Err(refusal) => return self.refuse(slot, refusal.errno()),
        };
        let reset = zns.resets.add(Reset { slot, erases: 0 });
        self.abandon_writes(at, bytes);
        let erases = range.map(|zone| self.erase_zone(zone, reset)).sum();
        let Some(zns) = &mut self.zns else { return };
        zns.resets[reset].erases = erases;
        if erases == 0 {
            zns.resets.release(reset);
            let acknowledge = Event::Acknowledge.with(slot);
            self.calendar.push(self.now_ns, acknowledge);
        }
        self.admit_waiting();
    }

    /// Writes into zones that are reset while they wait for room in the buffer end with an error.
    fn abandon_writes(&mut self, at: u64, bytes: u64) {
        let within = |request: &Request| (at..at + bytes).contains(&request.offset_bytes);
        let (abandoned, left) = std::mem::take(&mut self.buffer.group.waiting)
            .into_iter()
            .partition(|&slot| within(&self.requests[slot].request));
        self.buffer.group.waiting = left;
        let abandoned: VecDeque<u32> = abandoned;
        for slot in abandoned {
            self.queue.place_waits.end(self.now_ns, Waits::WHOLE);
            self.refuse(slot, Refusal::InvalidWrite.errno());
        }
    }

    /// Has what was written of a zone erased; the number of erases. What is in the buffer of it and not
    /// yet on the way to a die is given up.
    fn erase_zone(&mut self, zone: u32, reset: u32) -> u32 {
        let geometry = &self.geometry;
        let Some(zns) = &mut self.zns else { return 0 };
        let placed = std::mem::take(&mut zns.placed[zone as usize]);
        if placed == 0 {
            return 0;
        }
        self.buffer.group.host_pages -= placed % geometry.unit_pages;
        let units = placed / geometry.unit_pages;
        let first = zone * geometry.superblock_units;
        for unit in first..first + units {
            zns.outdated[unit as usize] += u16::from(self.buffer.holds.get(unit));
        }
        let mut erases = 0;
        for index in 0..geometry.dies.min(units) {
            let die_units = (units - index).div_ceil(geometry.dies);
            let die_bytes = u64::from(die_units) * self.params.program_bytes();
            let of_die = die_bytes.div_ceil(self.params.erase_unit_bytes) as u32;
            let die = zns.die(zone, index, geometry);
            let waiting = &mut zns.erasing[die as usize];
            (0..of_die).for_each(|_| waiting.push_back(reset));
            self.flash
                .erase(self.now_ns, &mut self.calendar, die, of_die);
            erases += of_die;
        }
        if erases > 0 {
            zns.wear.erased(zone);
        }
        let rated = self.params.rated_pe_cycles;
        if rated > 0 && zns.wear.of(zone) >= rated {
            zns.zones.retire(zone);
        }
        erases
    }

    /// A die has erased a unit: the reset that asked for it may be done.
    pub(super) fn erased(&mut self, die: u32) {
        let Some(zns) = &mut self.zns else { return };
        let Some(reset) = zns.erasing[die as usize].pop_front() else {
            return;
        };
        zns.resets[reset].erases -= 1;
        let Reset { slot, erases } = zns.resets[reset];
        if erases == 0 {
            zns.resets.release(reset);
            let acknowledge = Event::Acknowledge.with(slot);
            self.calendar.push(self.now_ns, acknowledge);
        }
    }

    /// Opens, closes or finishes a zone.
    pub(super) fn manage(&mut self, zone: u32, action: ZoneAction) -> Result<(), Refusal> {
        let Some(zns) = &mut self.zns else {
            return Ok(());
        };
        zns.zones.manage(zone, action)?;
        if action == ZoneAction::Finish {
            let offset = zns.placed[zone as usize];
            let rest = offset.next_multiple_of(self.geometry.unit_pages) - offset;
            if rest > 0 {
                self.place_in_zone(zone, offset, rest);
            }
            if self.params.zone_finish == ZoneFinish::Zone {
                self.pad_zone(zone);
            }
        }
        Ok(())
    }

    /// Has the units that nothing was written to programmed, in their order.
    fn pad_zone(&mut self, zone: u32) {
        let Some(zns) = &mut self.zns else { return };
        let from = std::mem::replace(&mut zns.placed[zone as usize], zns.capacity_pages);
        for offset in (from..zns.capacity_pages).step_by(self.geometry.unit_pages as usize) {
            let place = zns.place(&self.geometry, zns.physical(zone, offset));
            self.buffer.holds.set(place.unit);
            let unit = place.unit | PADDING;
            self.flash
                .program(self.now_ns, &mut self.calendar, unit, place.die);
        }
    }
}
