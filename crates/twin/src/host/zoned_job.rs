//! Jobs on devices with write pointers. With the pattern `zones` each thread writes in zones of its own
//! ([`workload::ZoneShare`]): what crate `engine` does on a real device. Whatever the pattern, a refused write is
//! reported with its zone and pointer. Nothing here takes time: resets are requests of the device.

use recording::Remark;
use workload::{Job, Op, Pattern, Placed, Request, Span, Zone, ZoneDevice, ZoneLimits, ZoneShare};

use crate::device::zones::{ZoneAction, ZoneModel};
use crate::device::{CompletionKind, Device, geometry_of};
use crate::host::error::TwinError;

/// Tag of a reset before the load.
const EMPTYING: u32 = u32::MAX;
/// Refused writes that are reported one by one.
const TOLD: usize = 4;

/// A device as its zones' users see it.
struct Host<'a, D>(&'a mut D);

impl<D: Device> ZoneDevice for Host<'_, D> {
    /// Nothing is in flight before the load, so that what completes next is this.
    fn reset(&mut self, zone: &Zone) -> bool {
        let Some(model) = self.0.zone_model() else {
            return false;
        };
        let now_ns = self.0.now_ns();
        self.0
            .submit(now_ns, EMPTYING, reset_of(zone.start, &model));
        let ended = std::iter::from_fn(|| self.0.advance(u64::MAX));
        let mut ended = ended.skip_while(|one| one.tag != EMPTYING);
        matches!(ended.next(), Some(one) if one.kind == CompletionKind::Done)
    }

    fn finish(&mut self, zone: &Zone) -> bool {
        self.0.manage_zone(zone.number, ZoneAction::Finish).is_ok()
    }

    fn pointer(&mut self, zone: &Zone) -> Option<u64> {
        self.0.write_pointer(zone.number)
    }
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
    shares: Vec<ZoneShare>,
    flights: Vec<Flight>,
    told: Vec<Remark>,
    refused: u64,
    resets: u64,
}

impl Zoning {
    /// Returns what a job needs on a device; `None` on one without zones.
    ///
    /// # Errors
    /// The pattern asks for zones that are not there or more than may be open. Or writes would go anywhere in zones
    /// that must be written in order.
    pub fn new<D: Device>(
        job: &Job,
        device: &mut D,
        region: Span,
    ) -> Result<Option<Self>, TwinError> {
        let dealt = check(job, device, region)?;
        let Some(model) = device.zone_model() else {
            return Ok(None);
        };
        let shares = dealt.map_or_else(Vec::new, |dealt| {
            shares(job, device, &model, region, &dealt)
        });
        Ok(Some(Self {
            model,
            shares,
            flights: Vec::new(),
            told: Vec::new(),
            refused: 0,
            resets: 0,
        }))
    }

    /// Returns whether a thread's next request can be placed now.
    #[inline]
    pub fn is_ready(&self, thread: u32) -> bool {
        self.shares
            .get(thread as usize)
            .is_none_or(ZoneShare::is_ready)
    }

    /// Returns whether a thread has been through its zones, where it ends with them.
    #[inline]
    pub fn is_over(&self, thread: u32) -> bool {
        let share = self.shares.get(thread as usize);
        share.is_some_and(ZoneShare::is_over)
    }

    /// Moves a request to where the device takes it, and gives the reset that has to come before.
    pub fn place<D: Device>(
        &mut self,
        thread: u32,
        tag: u32,
        mut request: Request,
        device: &mut D,
    ) -> (Request, Option<Request>) {
        let share = self.shares.get_mut(thread as usize);
        let placed = share.and_then(|share| {
            let placed = share.place(&mut request, &mut Host(device))?;
            Some((placed, share.zone(placed.zone).start))
        });
        let reset = placed
            .filter(|(placed, _)| placed.reset)
            .map(|(_, start)| reset_of(start, &self.model));
        self.resets += u64::from(reset.is_some());
        let flight = Flight {
            request,
            zone: placed.map(|(Placed { zone, .. }, _)| zone),
        };
        match self.flights.get_mut(tag as usize) {
            Some(known) => *known = flight,
            None => self.flights.push(flight),
        }
        (request, reset)
    }

    /// Returns the request that waited for the reset of its zone.
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
            let size_bytes = u64::from(request.size_bytes);
            share.settle(zone, size_bytes, errno == 0, &mut Host(device));
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
        self.told.push(Remark::Refused {
            op,
            offset_bytes: at,
            size_bytes,
            about: about + &status.unwrap_or_default(),
        });
    }

    /// Returns what there is to say at the end, and what there is in words.
    pub fn into_remarks(self) -> (Vec<Remark>, Vec<String>) {
        let mut notes = Vec::new();
        let untold = self.refused - self.told.len() as u64;
        if untold > 0 {
            notes.push(format!(
                "{untold} more write(s) were refused by their zones"
            ));
        }
        if self.resets > 0 {
            notes.push(format!(
                "{} zone(s) were reset in line with the load",
                self.resets
            ));
        }
        (self.told, notes)
    }
}

/// The region's sequential zones, which the threads share: numbers, and how many each thread keeps open.
pub struct Dealt {
    first: u64,
    count: u64,
    open: u32,
}

/// Checks whether a device takes the writes of a job, as far as that does not depend on what was written before. Gives
/// the zones that the pattern `zones` shares out.
///
/// # Errors
/// Those of [`Zoning::new`].
pub fn check<D: Device>(job: &Job, device: &D, region: Span) -> Result<Option<Dealt>, TwinError> {
    // Streams share no zones, and each is judged by its own I/O.
    for stream in &job.streams {
        let region = stream.job.region.resolve(geometry_of(device))?;
        check(&stream.job, device, region)?;
    }
    if !job.streams.is_empty() {
        return Ok(None);
    }
    match (&job.pattern, device.zone_model()) {
        (Pattern::Zones { .. }, None) => Err(TwinError::NoZones),
        (_, None) => Ok(None),
        (&Pattern::Zones { open, .. }, Some(model)) => dealt(job, &model, region, open).map(Some),
        (pattern, Some(model)) => {
            let conventional_bytes = u64::from(model.conventional) * model.zone_bytes;
            let ordered = region.start_bytes + region.size_bytes > conventional_bytes;
            let overwrites = |op| matches!(op, Op::Write | Op::WriteZeroes);
            let anywhere = !matches!(pattern, Pattern::Sequential);
            if ordered && anywhere && job.mix.ops.iter().any(|block| overwrites(block.op)) {
                return Err(TwinError::OutOfOrder { conventional_bytes });
            }
            Ok(None)
        }
    }
}

fn dealt(job: &Job, model: &ZoneModel, region: Span, open: u32) -> Result<Dealt, TwinError> {
    let zone_bytes = model.zone_bytes;
    let first = region
        .start_bytes
        .div_ceil(zone_bytes)
        .max(u64::from(model.conventional));
    let end = (region.start_bytes + region.size_bytes) / zone_bytes;
    let count = end.saturating_sub(first);
    let limits = ZoneLimits {
        open: model.max_open,
        active: model.max_active,
    };
    let each = (count / u64::from(job.load.threads())) as u32;
    let open = limits.open_of(job, open, each, 0);
    ZoneLimits::check_blocks(job, model.zone_capacity_bytes).map_err(TwinError::Zones)?;
    limits.check(job, open, each, 0).map_err(TwinError::Zones)?;
    Ok(Dealt { first, count, open })
}

/// Deals the region's sequential zones out among the threads.
fn shares<D: Device>(
    job: &Job,
    device: &mut D,
    model: &ZoneModel,
    region: Span,
    dealt: &Dealt,
) -> Vec<ZoneShare> {
    let threads = u64::from(job.load.threads());
    let bound = |thread: u64| dealt.first + dealt.count * thread / threads;
    let writes = |op| matches!(op, Op::Write | Op::Append);
    let writes = job.mix.ops.iter().any(|block| writes(block.op));
    let limits = ZoneLimits {
        open: model.max_open,
        active: model.max_active,
    };
    let begun = (0..threads).map(|thread| {
        let others = (bound(thread)..bound(thread + 1)).skip(dealt.open as usize);
        others
            .filter(|&number| zone(device, model, number).is_begun())
            .count() as u32
    });
    let kept = limits.kept_of(job, dealt.open, begun.sum(), 0);
    let share = |thread| {
        let zones = (bound(thread)..bound(thread + 1)).map(|number| zone(device, model, number));
        let mut share = ZoneShare::new(job, region, zones);
        share.keep(kept);
        share.begin(dealt.open, writes, &mut Host(device));
        share
    };
    (0..threads).map(share).collect()
}

/// What empties the zone that begins at `start`.
const fn reset_of(start: u64, model: &ZoneModel) -> Request {
    Request {
        offset_bytes: start,
        size_bytes: model.zone_bytes as u32,
        placement: Request::NO_PLACEMENT,
        op: Op::Trim,
    }
}

fn zone<D: Device>(device: &D, model: &ZoneModel, number: u64) -> Zone {
    let start = number * model.zone_bytes;
    let number = number as u32;
    Zone {
        number,
        start,
        end: start + model.zone_capacity_bytes,
        pointer: device.write_pointer(number).unwrap_or(start),
        active: false,
    }
}
