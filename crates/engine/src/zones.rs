//! Zoned devices: a layer over a [`Protocol`] that keeps the device's rules. With the pattern `zones` each thread writes
//! in zones of its own ([`ZoneShare`]) and resets one before it is used again. With any other pattern requests go where
//! the pattern says, and a write that the device refuses is reported with its zone and the pointer. Which target may be
//! written is decided elsewhere.

mod device;

use std::{sync::Arc, time::Instant};

use io_uring::squeue::{PushError, SubmissionQueue};
use recording::Remark;
use workload::{Job, Op, Request, Span, Zone, ZoneDevice, ZoneLimits, ZoneShare};

pub(crate) use self::device::Zoned;
use self::device::{Command, Reported, zone_error};
use crate::{EngineError, buffers::Buffers, protocol::Protocol};

/// Refused writes, and resets that failed, that are reported one by one.
const REPORTED_MAX: usize = 4;

/// What a thread is to do on a zoned device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'j> {
    pub(crate) job: &'j Job,
    pub(crate) region: Span,
    pub(crate) thread: u32,
    /// Zones the thread keeps open; 0: as many as the device allows.
    pub(crate) open: u32,
}

/// The device as one thread manages its zones.
struct Manager {
    device: Arc<Zoned>,
    thread: u32,
    resets: u64,
    reset_ns: u64,
    /// Zones that were emptied before the load.
    emptied: u64,
    faults: Vec<String>,
}

impl Manager {
    /// What fails here, the write that needs it will fail with.
    fn reset_in_line(&mut self, zone: &Zone) {
        let begin = Instant::now();
        self.manage(Command::Reset, zone);
        self.resets += 1;
        self.reset_ns += begin.elapsed().as_nanos() as u64;
    }

    fn manage(&mut self, command: Command, zone: &Zone) -> bool {
        let Err(error) = self.device.manage(command, zone.start) else {
            return true;
        };
        let what = match command {
            Command::Reset => "reset",
            Command::Finish => "finished",
        };
        if self.faults.len() < REPORTED_MAX {
            let number = zone.number;
            self.faults
                .push(format!("zone {number} could not be {what}: {error}"));
        }
        false
    }

    fn notes(&mut self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.faults);
        if self.emptied > 0 {
            let (thread, emptied) = (self.thread, self.emptied);
            notes.push(format!(
                "thread {thread}: {emptied} zone(s) were emptied before the load"
            ));
        }
        if self.resets > 0 {
            notes.push(format!(
                "thread {}: {} zone(s) were reset in line with the load, {:.1} ms in all",
                self.thread,
                self.resets,
                self.reset_ns as f64 / 1e6
            ));
        }
        notes
    }
}

impl ZoneDevice for Manager {
    fn reset(&mut self, zone: &Zone) -> bool {
        let done = self.manage(Command::Reset, zone);
        self.emptied += u64::from(done);
        done
    }

    fn finish(&mut self, zone: &Zone) -> bool {
        self.manage(Command::Finish, zone)
    }

    fn pointer(&mut self, zone: &Zone) -> Option<u64> {
        let found = self.device.zone_at(zone.start).ok()??;
        Some(found.zone.pointer)
    }
}

/// The zones of one thread, and who manages them.
struct Share {
    zones: ZoneShare,
    manager: Manager,
}

impl Share {
    fn new(device: &Arc<Zoned>, part: Part<'_>) -> Result<Self, EngineError> {
        let Part {
            job,
            region,
            thread,
            open,
        } = part;
        let refuse = |reason: String| zone_error(&device.path, reason);
        let all = device
            .zones()
            .map_err(|error| refuse(format!("zones cannot be reported: {error}")))?;
        let (usable, others): (Vec<Reported>, Vec<Reported>) =
            all.into_iter().partition(|zone| zone.is_usable_in(region));
        let threads = job.load.threads() as usize;
        let bounds = [thread, thread + 1].map(|i| usable.len() * i as usize / threads);
        let own = &usable[bounds[0]..bounds[1]];
        let foreign = others.iter().filter(|found| found.zone.active).count();
        let (count, foreign) = (own.len() as u32, foreign as u32);
        let open = device.limits.open_of(job, open, count, foreign);
        device
            .limits
            .check(job, open, count, foreign)
            .map_err(refuse)?;
        let begun = (0..threads).map(|thread| {
            let bounds = [thread, thread + 1].map(|i| usable.len() * i / threads);
            let others = usable[bounds[0]..bounds[1]].iter().skip(open as usize);
            others.filter(|found| found.zone.is_begun()).count() as u32
        });
        let kept = device.limits.kept_of(job, open, begun.sum(), foreign);
        let capacities = own.iter().map(|found| found.zone.end - found.zone.start);
        ZoneLimits::check_blocks(job, capacities.min().unwrap_or(0)).map_err(refuse)?;
        let mut share = Self {
            zones: ZoneShare::new(job, region, own.iter().map(|found| found.zone)),
            manager: Manager {
                device: Arc::clone(device),
                thread,
                resets: 0,
                reset_ns: 0,
                emptied: 0,
                faults: Vec::new(),
            },
        };
        let writes = job.mix.ops.iter().any(|block| block.op.is_destructive());
        share.zones.keep(kept);
        share.zones.begin(open, writes, &mut share.manager);
        Ok(share)
    }

    /// Moves a request to where the device takes it; the zone in which it now is.
    fn place(&mut self, request: &mut Request) -> Option<usize> {
        let placed = self.zones.place(request, &mut self.manager)?;
        if placed.reset {
            self.manager.reset_in_line(self.zones.zone(placed.zone));
        }
        Some(placed.zone)
    }
}

/// What is known of a request in flight.
#[derive(Clone, Copy)]
struct Flight {
    offset: u64,
    size_bytes: u32,
    op: Op,
    zone: Option<usize>,
}

/// Keeps the rules of zones for the protocol below it.
pub(crate) struct ZoneLayer<P> {
    below: P,
    device: Arc<Zoned>,
    share: Option<Share>,
    flights: Box<[Flight]>,
    refused: u64,
    reported: Vec<Remark>,
}

impl<P> ZoneLayer<P> {
    /// Over `below`. `part` is given for the pattern `zones`; without it the layer only watches.
    pub(crate) fn new(
        below: P,
        device: &Arc<Zoned>,
        part: Option<Part<'_>>,
        iodepth: u32,
    ) -> Result<Self, EngineError> {
        let idle = Flight {
            offset: 0,
            size_bytes: 0,
            op: Op::Read,
            zone: None,
        };
        Ok(Self {
            below,
            device: Arc::clone(device),
            share: part.map(|part| Share::new(device, part)).transpose()?,
            flights: vec![idle; iodepth as usize].into(),
            refused: 0,
            reported: Vec::new(),
        })
    }

    /// Says which zone refused a write and where its pointer stands.
    #[cold]
    fn report(&mut self, flight: Flight) {
        self.refused += 1;
        if self.reported.len() >= REPORTED_MAX {
            return;
        }
        let (at, size) = (flight.offset, flight.size_bytes);
        let about = match self.device.zone_at(at) {
            Ok(Some(found)) => place_of(&found, at),
            Ok(None) => "there is no such zone".into(),
            Err(error) => format!("its zone cannot be reported: {error}"),
        };
        self.reported.push(Remark::Refused {
            op: flight.op,
            offset_bytes: at,
            size_bytes: size,
            about,
        });
    }
}

fn place_of(found: &Reported, at: u64) -> String {
    let Zone {
        number,
        end,
        pointer,
        ..
    } = found.zone;
    if !found.sequential {
        return format!("zone {number} is conventional, so the order is not the reason");
    }
    if pointer >= end {
        return format!("zone {number} is full (it ends at {end})");
    }
    let order = if at == pointer {
        "in order"
    } else {
        "out of order"
    };
    format!("zone {number} has its write pointer at {pointer} ({order})")
}

impl<P: Protocol> Protocol for ZoneLayer<P> {
    type Entry = P::Entry;
    type Completion = P::Completion;

    #[inline(always)]
    fn queue(
        &mut self,
        request: &mut Request,
        slot: u16,
        buffers: &mut Buffers,
        into: &mut SubmissionQueue<'_, P::Entry>,
    ) -> Result<(), PushError> {
        let zone = match &mut self.share {
            Some(share) => share.place(request),
            None => None,
        };
        self.flights[usize::from(slot)] = Flight {
            offset: request.offset_bytes,
            size_bytes: request.size_bytes,
            op: request.op,
            zone,
        };
        self.below.queue(request, slot, buffers, into)
    }

    #[inline(always)]
    fn is_ready(&self) -> bool {
        self.share
            .as_ref()
            .is_none_or(|share| share.zones.is_ready())
    }

    #[inline(always)]
    fn is_over(&self) -> bool {
        let share = self.share.as_ref();
        share.is_some_and(|share| share.zones.is_over()) || self.below.is_over()
    }

    #[inline(always)]
    fn success(&self, request: &Request) -> i32 {
        self.below.success(request)
    }

    #[inline(always)]
    fn settle(&mut self, slot: u16, succeeded: bool, buffers: &Buffers) -> bool {
        let flight = self.flights[usize::from(slot)];
        if !succeeded && flight.op.is_destructive() {
            self.report(flight);
        }
        if let (Some(share), Some(zone)) = (&mut self.share, flight.zone) {
            let Share { zones, manager } = share;
            zones.settle(zone, u64::from(flight.size_bytes), succeeded, manager);
        }
        self.below.settle(slot, succeeded, buffers)
    }

    fn fault(&mut self) -> Option<String> {
        self.below.fault()
    }

    fn remarks(&mut self) -> Vec<Remark> {
        let mut remarks = self.reported.clone();
        remarks.extend(self.below.remarks());
        remarks
    }

    fn notes(&mut self) -> Vec<String> {
        let mut notes = Vec::new();
        let unreported = self.refused - self.reported.len() as u64;
        if unreported > 0 {
            notes.push(format!(
                "{unreported} more write(s) were refused by their zones"
            ));
        }
        if let Some(share) = &mut self.share {
            notes.append(&mut share.manager.notes());
        }
        notes.extend(self.below.notes());
        notes
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    const ZONE: u64 = 1 << 20;

    /// A zone of `ZONE` bytes that is written so far.
    fn found(number: u32, written: u64) -> Reported {
        let start = u64::from(number) * ZONE;
        let zone = Zone {
            number,
            start,
            end: start + ZONE,
            pointer: start + written,
            active: false,
        };
        Reported {
            zone,
            length: ZONE,
            sequential: true,
            usable: true,
        }
    }

    #[test]
    fn a_reset_that_fails_is_reported_with_its_zone() {
        // The control descriptor is of nothing that has zones.
        let device = Zoned {
            path: "/dev/null".into(),
            control: File::open("/dev/null").unwrap(),
            zone_bytes: ZONE,
            limits: ZoneLimits::default(),
        };
        let mut manager = Manager {
            device: Arc::new(device),
            thread: 0,
            resets: 0,
            reset_ns: 0,
            emptied: 0,
            faults: Vec::new(),
        };
        manager.reset_in_line(&found(7, ZONE).zone);
        let notes = manager.notes();
        assert!(notes[0].starts_with("zone 7 could not be reset"));
        assert!(notes[1].contains("1 zone(s) were reset in line with the load"));
    }

    #[test]
    fn a_zone_that_the_region_cuts_behind_its_capacity_is_not_used() {
        let mut cut = found(1, 0);
        cut.length = 2 * ZONE;
        let region = |size_bytes| Span {
            start_bytes: 0,
            size_bytes,
        };
        assert!(!cut.is_usable_in(region(cut.zone.end)));
        assert!(cut.is_usable_in(region(cut.zone.start + cut.length)));
    }

    #[test]
    fn a_refused_write_is_reported_with_its_zone_and_its_pointer() {
        let reported = place_of(&found(3, 64 << 10), 3 * ZONE);
        assert_eq!(
            reported,
            "zone 3 has its write pointer at 3211264 (out of order)"
        );
        let full = place_of(&found(3, ZONE), 3 * ZONE);
        assert_eq!(full, "zone 3 is full (it ends at 4194304)");
    }
}
