//! Jobs on devices with write pointers. With the pattern `zones` each thread keeps some zones of its
//! share of the region open and writes at their pointers, one write in flight a zone (appends any
//! number); a full zone is replaced by another, drawn by the stream and reset first; reads go to what
//! was written: what crate `engine` does on a real device. Whatever the pattern, a refused write is told
//! with its zone and pointer. Nothing here takes time: resets are requests of the device.

use workload::{Job, Op, Pattern, Request, Span};

use crate::device::Device;
use crate::driver::TwinError;
use crate::zoned::{ZoneAction, ZoneModel};

/// Refused writes that are told one by one.
const TOLD: usize = 4;

/// A zone of a thread's share.
#[derive(Clone, Copy)]
struct Own {
    number: u32,
    start: u64,
    end: u64,
    /// Behind the last write issued, and behind the last that succeeded.
    issued: u64,
    written: u64,
    in_flight: u32,
    open: bool,
}

/// The zones of one thread.
struct Share {
    own: Vec<Own>,
    open: Vec<usize>,
    /// Zones that hold data.
    readable: Vec<usize>,
    zone_bytes: u64,
}

/// What is known of a request in flight.
#[derive(Clone, Copy)]
struct Flight {
    request: Request,
    zone: Option<usize>,
}

/// A job on a zoned device.
pub struct Zoning {
    model: ZoneModel,
    /// One for each thread; empty where the pattern is another: then nothing is placed, only watched.
    shares: Vec<Share>,
    flights: Vec<Flight>,
    told: Vec<String>,
    refused: u64,
    resets: u64,
}

impl Zoning {
    /// What a job needs on a device; `None` on one without zones.
    ///
    /// # Errors
    /// The pattern asks for zones that are not there or more than may be open; or writes would go
    /// anywhere in zones that must be written in order.
    pub fn new<D: Device>(
        job: &Job,
        device: &mut D,
        region: Span,
    ) -> Result<Option<Self>, TwinError> {
        let by_zone = matches!(job.pattern, Pattern::Zones { .. });
        let Some(model) = device.zone_model() else {
            return if by_zone {
                Err(TwinError::NoZones)
            } else {
                Ok(None)
            };
        };
        let mut zoning = Self {
            model,
            shares: Vec::new(),
            flights: Vec::new(),
            told: Vec::new(),
            refused: 0,
            resets: 0,
        };
        if let Pattern::Zones { open } = job.pattern {
            zoning.shares = shares(job, device, &model, region, open)?;
            return Ok(Some(zoning));
        }
        let conventional_bytes = u64::from(model.conventional) * model.zone_bytes;
        let ordered = region.start_bytes + region.size_bytes > conventional_bytes;
        let overwrites = |op| matches!(op, Op::Write | Op::WriteZeroes);
        let anywhere = !matches!(job.pattern, Pattern::Sequential);
        if ordered && anywhere && job.mix.ops.iter().any(|block| overwrites(block.op)) {
            return Err(TwinError::OutOfOrder { conventional_bytes });
        }
        Ok(Some(zoning))
    }

    /// Moves a request to where the device takes it, and gives the reset that has to come before.
    pub fn place<D: Device>(
        &mut self,
        thread: u32,
        tag: u32,
        mut request: Request,
        device: &mut D,
    ) -> (Request, Option<Request>) {
        let mut placed = (None, None);
        if let Some(share) = self.shares.get_mut(thread as usize) {
            placed = share.place(&mut request, device);
        }
        let (zone, reset) = placed;
        self.resets += u64::from(reset.is_some());
        let flight = Flight { request, zone };
        match self.flights.get_mut(tag as usize) {
            Some(known) => *known = flight,
            None => self.flights.push(flight),
        }
        (request, reset)
    }

    /// The request that waited for the reset of its zone.
    pub fn after_reset(&self, tag: u32) -> Request {
        self.flights[tag as usize].request
    }

    /// A request has ended.
    pub fn settle<D: Device>(&mut self, thread: u32, tag: u32, errno: i32, device: &mut D) {
        let Flight { request, zone } = self.flights[tag as usize];
        if errno != 0 && request.op.is_destructive() {
            self.tell(&request, &*device);
        }
        if let (Some(share), Some(zone)) = (self.shares.get_mut(thread as usize), zone) {
            share.settle(zone, u64::from(request.size_bytes), errno == 0, device);
        }
    }

    fn tell<D: Device>(&mut self, request: &Request, device: &D) {
        self.refused += 1;
        if self.told.len() == TOLD {
            return;
        }
        let Request {
            offset_bytes: at,
            size_bytes,
            op,
            ..
        } = *request;
        let number = (at / self.model.zone_bytes) as u32;
        let end = u64::from(number) * self.model.zone_bytes + self.model.zone_capacity_bytes;
        let about = match device.write_pointer(number) {
            _ if number < self.model.conventional => {
                format!("zone {number} is conventional, so the order is not the reason")
            }
            Some(pointer) if pointer >= end => format!("zone {number} is full (it ends at {end})"),
            Some(pointer) => {
                let order = if at == pointer {
                    "in order"
                } else {
                    "out of order"
                };
                format!("zone {number} has its write pointer at {pointer} ({order})")
            }
            None => "there is no such zone".into(),
        };
        let status = device.zone_refusal(request).map(|refusal| {
            let (name, code) = refusal.status();
            format!(": {name} (NVMe status {code:03X}h)")
        });
        let (name, status) = (op.name(), status.unwrap_or_default());
        self.told.push(format!(
            "{name} of {size_bytes} bytes at {at} was refused: {about}{status}"
        ));
    }

    /// What there is to say at the end.
    pub fn notes(mut self) -> Vec<String> {
        let untold = self.refused - self.told.len() as u64;
        if untold > 0 {
            self.told.push(format!(
                "{untold} more write(s) were refused by their zones"
            ));
        }
        if self.resets > 0 {
            self.told.push(format!(
                "{} zone(s) were reset in line with the load",
                self.resets
            ));
        }
        self.told
    }
}

/// Deals the region's sequential zones out among the threads.
fn shares<D: Device>(
    job: &Job,
    device: &mut D,
    model: &ZoneModel,
    region: Span,
    open: u32,
) -> Result<Vec<Share>, TwinError> {
    let (threads, zone) = (job.load.threads(), model.zone_bytes);
    let first = region
        .start_bytes
        .div_ceil(zone)
        .max(u64::from(model.conventional));
    let end = (region.start_bytes + region.size_bytes) / zone;
    let count = end.saturating_sub(first);
    let has = |op| job.mix.ops.iter().any(|block| block.op == op);
    let refuse = |reason| Err(TwinError::Zones(reason));
    if count / u64::from(threads) < u64::from(open) {
        return refuse(format!(
            "the region gives each of {threads} thread(s) {} sequential zone(s), {open} shall be open: use a larger region or fewer open zones",
            count / u64::from(threads)
        ));
    }
    let iodepth = job.load.iodepth();
    if has(Op::Write) && iodepth > open {
        return refuse(format!(
            "iodepth {iodepth} with {open} open zone(s) a thread: a zone takes one write at a time; use iodepth {open}, zones = {iodepth}, or append"
        ));
    }
    let wanted = threads * open;
    let most = [model.max_open, model.max_active]
        .into_iter()
        .filter(|&most| most > 0)
        .min();
    if let Some(most) = most.filter(|&most| wanted > most && (has(Op::Write) || has(Op::Append))) {
        return refuse(format!(
            "{threads} thread(s) x {open} open zones = {wanted}, the device allows {most}: use fewer"
        ));
    }
    let bound = |thread: u32| first + count * u64::from(thread) / u64::from(threads);
    let writes = has(Op::Write) || has(Op::Append);
    let share = |thread| {
        let mut share = Share::new(device, model, bound(thread)..bound(thread + 1));
        if writes {
            share.open_first(open as usize, device);
        }
        share
    };
    Ok((0..threads).map(share).collect())
}

impl Share {
    fn new<D: Device>(device: &D, model: &ZoneModel, zones: std::ops::Range<u64>) -> Self {
        let own: Vec<Own> = zones
            .map(|number| {
                let start = number * model.zone_bytes;
                let pointer = device.write_pointer(number as u32).unwrap_or(start);
                Own {
                    number: number as u32,
                    start,
                    end: start + model.zone_capacity_bytes,
                    issued: pointer,
                    written: pointer,
                    in_flight: 0,
                    open: false,
                }
            })
            .collect();
        let readable = (0..own.len()).filter(|&index| own[index].written > own[index].start);
        Self {
            readable: readable.collect(),
            open: Vec::new(),
            zone_bytes: model.zone_bytes,
            own,
        }
    }

    /// Goes on with zones that were left partly written, finishing what is too many; then takes empty
    /// ones, and full ones at last.
    fn open_first<D: Device>(&mut self, count: usize, device: &mut D) {
        let mut order: Vec<usize> = (0..self.own.len()).collect();
        order.sort_by_key(|&index| match &self.own[index] {
            own if own.issued == own.start => 1,
            own if own.issued == own.end => 2,
            _ => 0,
        });
        let rest = order.split_off(count);
        for &index in &order {
            self.own[index].open = true;
        }
        self.open = order;
        rest.into_iter()
            .for_each(|index| self.finish(index, device));
    }

    /// Makes a zone full that was begun and is not gone on with: it would count as active for nothing.
    fn finish<D: Device>(&mut self, index: usize, device: &mut D) {
        let own = &mut self.own[index];
        let begun = own.issued > own.start && own.issued < own.end;
        if begun
            && !own.open
            && own.in_flight == 0
            && device.manage_zone(own.number, ZoneAction::Finish).is_ok()
        {
            own.issued = own.end;
        }
    }

    fn place<D: Device>(
        &mut self,
        request: &mut Request,
        device: &mut D,
    ) -> (Option<usize>, Option<Request>) {
        match request.op {
            Op::Read => {
                self.place_read(request);
                (None, None)
            }
            Op::Write | Op::Append => self.place_write(request, device),
            Op::Trim | Op::Flush | Op::WriteZeroes => (None, None),
        }
    }

    /// Into what was written; where nothing was, the request stays.
    fn place_read(&self, request: &mut Request) {
        let size_bytes = u64::from(request.size_bytes);
        let draw = request.offset_bytes / size_bytes;
        let count = self.readable.len();
        for step in 0..count {
            let own = self.own[self.readable[(draw as usize + step) % count]];
            let places = (own.written - own.start) / size_bytes;
            if places > 0 {
                request.offset_bytes = own.start + draw / count as u64 % places * size_bytes;
                return;
            }
        }
    }

    /// At the pointer of an open zone that takes a write now; there is one, or the job was refused.
    fn place_write<D: Device>(
        &mut self,
        request: &mut Request,
        device: &mut D,
    ) -> (Option<usize>, Option<Request>) {
        let size_bytes = u64::from(request.size_bytes);
        let (draw, count) = (
            (request.offset_bytes / size_bytes) as usize,
            self.open.len(),
        );
        let idle = |own: &Own| request.op == Op::Append || own.in_flight == 0;
        let at = (0..count).map(|step| (draw + step) % count);
        let Some(at) = at.into_iter().find(|&at| idle(&self.own[self.open[at]])) else {
            return (None, None);
        };
        let mut reset = None;
        if self.own[self.open[at]].issued + size_bytes > self.own[self.open[at]].end {
            reset = self.replace(at, draw / count, device);
        }
        let index = self.open[at];
        let own = &mut self.own[index];
        request.offset_bytes = match request.op {
            Op::Append => own.start,
            _ => own.issued,
        };
        own.issued += size_bytes;
        own.in_flight += 1;
        (Some(index), reset)
    }

    /// Another zone in place of a full one, drawn at random; its reset, if it holds data.
    fn replace<D: Device>(&mut self, at: usize, draw: usize, device: &mut D) -> Option<Request> {
        let (old, count) = (self.open[at], self.own.len());
        self.own[old].open = false;
        self.finish(old, device);
        let free = |own: &Own| !own.open && own.in_flight == 0;
        let next = (0..count).map(|step| (draw + step) % count);
        let next = next
            .into_iter()
            .find(|&index| index != old && free(&self.own[index]));
        let next = next.unwrap_or(old);
        self.open[at] = next;
        let own = &mut self.own[next];
        own.open = true;
        if own.issued == own.start {
            return None;
        }
        (own.issued, own.written) = (own.start, own.start);
        self.readable.retain(|&index| index != next);
        Some(Request {
            offset_bytes: own.start,
            size_bytes: self.zone_bytes as u32,
            placement: 0,
            op: Op::Trim,
        })
    }

    fn settle<D: Device>(
        &mut self,
        index: usize,
        size_bytes: u64,
        succeeded: bool,
        device: &mut D,
    ) {
        let own = &mut self.own[index];
        own.in_flight -= 1;
        if succeeded {
            if own.written == own.start {
                self.readable.push(index);
            }
            own.written += size_bytes;
        } else if let Some(pointer) = device.write_pointer(own.number) {
            (own.issued, own.written) = (pointer, pointer);
        }
        self.finish(index, device);
    }
}
