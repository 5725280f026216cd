//! A simulated disk drive: one arm over turning platters, behind a command queue and a cache.
//!
//! A request takes a place in the drive's queue and passes the controller. A read then goes to the cache or to the arm
//! (seek, rotation, transfer), crosses the interface and completes. A write gets room in the cache, crosses the
//! interface and is acknowledged. Later it reaches the medium, in an order that suits the arm. While nothing else is
//! asked for, the drive reads ahead. Throughput and latency are what comes out. See `docs/explanation/disk-twin.md`.

mod arm;
mod cache;
mod destage;
mod layout;
mod media_cache;
mod params;
mod queue;
mod read_ahead;
mod seek;
#[cfg(test)]
mod tests;
mod work;

use std::collections::VecDeque;
use std::ops::Range;

use workload::{Op, Request, name_ops};

use self::cache::{Segments, WriteCache};
use self::layout::{Layout, Place};
use self::media_cache::MediaCache;
pub use self::params::DiskParams;
use self::params::Tracks;
use self::queue::{Queue, Waiting};
use self::read_ahead::Stream;
use self::seek::Seek;
use self::work::{Booked, Spent, Work};
use crate::device::params::{HostParams, ParamError};
use crate::device::zones::{Refusal, ZoneAction, ZoneModel, Zones};
use crate::device::{Account, Completion, CompletionKind, Device, ResourceTime};
use crate::sim::calendar::Calendar;
use crate::sim::event::{Event, us_to_ns};
use crate::sim::server::Fifo;
use crate::sim::slab::Slab;

const PS: u64 = 1000;
const EOPNOTSUPP: i32 = 95;
const EINVAL: i32 = 22;
/// Read data crosses the interface while it is read; behind the last sector this much is left.
const TAIL_BYTES: u64 = 64 << 10;
/// `Event::Die` of the arm's work, and of the time without commands.
const WORK: u32 = 0;
const QUIET: u32 = 1;

/// A request on its way.
#[derive(Clone, Copy)]
struct InFlight {
    request: Request,
    tag: u32,
    errno: i32,
}

impl InFlight {
    /// Returns the bytes that it asks for.
    fn range(&self) -> Range<u64> {
        let start = self.request.offset_bytes;
        start..start + u64::from(self.request.size_bytes)
    }
}

/// Time of the interface for data that crossed it during their transfer from the medium. They have what the queue of the
/// rest has left free since the transfer before. It is counted when theirs ends, in the free time since the last account.
#[derive(Clone, Default)]
struct Streamed {
    crossed_ps: u64,
    /// When the transfer before ended, and all time that the interface was taken until then.
    last_ns: u64,
    taken_ps: u64,
    busy_ns: u64,
    since_ns: u64,
    /// All busy time of the interface until then.
    before_ns: u64,
}

/// A disk drive.
#[derive(Clone)]
pub struct Disk {
    params: DiskParams,
    layout: Layout,
    seek: Seek,
    now_ns: u64,
    calendar: Calendar,
    link: Fifo,
    controller: Fifo,
    requests: Slab<InFlight>,
    /// Requests that the drive's queue has no place for.
    outside: VecDeque<u32>,
    inside: u32,
    queue: Queue,
    cache: WriteCache,
    /// Writes that wait for room in the cache.
    shut_out: VecDeque<u32>,
    flushes: Vec<u32>,
    segments: Segments,
    stream: Option<Stream>,
    zones: Option<Zones>,
    media_cache: Option<MediaCache>,
    /// Time of the last command; no command has come for a while; that will be looked at.
    last_command_ns: u64,
    quiet: bool,
    /// Whether it looks for quiet once the last command has ended.
    awaits_quiet: bool,
    watching: bool,
    /// Where the arm is: behind the last byte it passed.
    at: Place,
    at_byte: u64,
    at_stream_ns: u64,
    work: Work,
    /// A read goes on from data that was read before: keep the stream going for a while.
    sequential: bool,
    destage_next: bool,
    random_writes: u32,
    booked: Booked,
    link_ps_per_byte: f64,
    command_ps: u64,
    setup_ns: u64,
    /// Bytes that crossed the interface.
    link_bytes: u64,
    streamed: Streamed,
    media_read_bytes: u64,
    media_write_bytes: u64,
    unmapped_reads: u64,
}

impl Disk {
    /// Returns a fresh drive at virtual time 0.
    ///
    /// # Errors
    /// A parameter that cannot be simulated.
    pub fn new(params: &DiskParams) -> Result<Self, ParamError> {
        params.check()?;
        let layout = Layout::new(params);
        Ok(Self {
            seek: Seek::new(params, &layout),
            at: layout.place(0),
            layout,
            now_ns: 0,
            calendar: Calendar::default(),
            link: Fifo::new(1),
            controller: Fifo::new(1),
            requests: Slab::default(),
            outside: VecDeque::new(),
            inside: 0,
            queue: Queue::new(params.scheduling, params.ageing),
            cache: WriteCache::new(params),
            shut_out: VecDeque::new(),
            flushes: Vec::new(),
            segments: Segments::new(params),
            stream: None,
            zones: (params.tracks == Tracks::HostManaged)
                .then(|| Zones::new(params.zone_model(), params.capacity_bytes)),
            media_cache: (params.tracks == Tracks::DriveManaged).then(|| MediaCache::new(params)),
            last_command_ns: 0,
            quiet: false,
            awaits_quiet: false,
            watching: false,
            at_byte: 0,
            at_stream_ns: 0,
            work: Work::Idle,
            sequential: false,
            destage_next: false,
            random_writes: 0,
            booked: Booked::default(),
            link_ps_per_byte: 1e6 / params.interface_mbps,
            command_ps: (params.command_us * 1e6).round() as u64,
            setup_ns: us_to_ns(params.setup_us),
            link_bytes: 0,
            streamed: Streamed::default(),
            media_read_bytes: 0,
            media_write_bytes: 0,
            unmapped_reads: 0,
            params: params.clone(),
        })
    }

    /// Returns the parameters.
    pub fn params(&self) -> &DiskParams {
        &self.params
    }

    #[inline]
    fn handle(&mut self, payload: u32) -> Option<Completion> {
        let (event, index) = Event::unpack(payload);
        match event {
            Event::Submit => self.enter(index),
            Event::Dispatch => self.dispatch(index),
            Event::Sensed => self.send(index, TAIL_BYTES),
            Event::Channel => return Some(self.arrived(index)),
            Event::Acknowledge | Event::Complete => return Some(self.complete(index)),
            Event::Die if index == QUIET => self.look_for_quiet(),
            Event::Die => self.work_done(),
            Event::Wake => return Some(Completion::woken(self.now_ns, index)),
            // A disk cleans no pages, so nothing pushes it.
            Event::Moved => {}
        }
        None
    }

    /// Takes a place in the drive's queue, or waits for one in the host.
    #[inline]
    fn enter(&mut self, slot: u32) {
        if self.inside == self.params.queue_depth {
            self.outside.push_back(slot);
            return;
        }
        self.inside += 1;
        self.last_command_ns = self.now_ns;
        self.quiet = false;
        let at_ns = self.controller.finish_ns(self.now_ns, self.command_ps);
        self.calendar.push(at_ns, Event::Dispatch.with(slot));
    }

    #[inline]
    fn dispatch(&mut self, slot: u32) {
        let Request {
            op,
            offset_bytes,
            size_bytes,
            ..
        } = self.requests[slot].request;
        let bytes = u64::from(size_bytes);
        if op != Op::Flush
            && (bytes == 0 || offset_bytes.saturating_add(bytes) > self.params.capacity_bytes)
        {
            return self.answer(slot, EINVAL);
        }
        match op {
            Op::Read => self.read(slot),
            Op::Write | Op::WriteZeroes => match self.admit(offset_bytes, bytes) {
                Ok(()) => self.write(slot),
                Err(errno) => self.answer(slot, errno),
            },
            Op::Append => {
                let zones = self.zones.as_mut();
                let place = zones.map(|zones| zones.append(offset_bytes, bytes));
                match place.map_or(Err(EOPNOTSUPP), |place| place.map_err(Refusal::errno)) {
                    Ok(place) => {
                        self.requests[slot].request.offset_bytes = place;
                        self.write(slot);
                    }
                    Err(errno) => self.answer(slot, errno),
                }
            }
            Op::Trim => {
                let zones = self.zones.as_mut();
                let reset = zones.map(|zones| zones.reset(offset_bytes, bytes));
                let errno = reset.map_or(EOPNOTSUPP, |reset| reset.err().map_or(0, Refusal::errno));
                self.answer(slot, errno);
            }
            Op::Flush if self.cache.is_clean() && self.shut_out.is_empty() => self.answer(slot, 0),
            Op::Flush => self.flushes.push(slot),
            Op::Allocate | name_ops!() => self.answer(slot, EOPNOTSUPP),
        }
    }

    /// Whether zones, where there are any, take a write.
    #[inline]
    fn admit(&mut self, at: u64, bytes: u64) -> Result<(), i32> {
        self.zones
            .as_mut()
            .map_or(Ok(()), |zones| zones.write(at, bytes))
            .map_err(Refusal::errno)
    }

    fn answer(&mut self, slot: u32, errno: i32) {
        self.requests[slot].errno = errno;
        self.calendar.push(self.now_ns, Event::Complete.with(slot));
    }

    fn complete(&mut self, slot: u32) -> Completion {
        let InFlight { tag, errno, .. } = self.requests[slot];
        self.requests.release(slot);
        self.inside -= 1;
        if let Some(next) = self.outside.pop_front() {
            self.enter(next);
        }
        if self.inside == 0 && std::mem::take(&mut self.awaits_quiet) {
            self.watch();
        }
        Completion {
            at_ns: self.now_ns,
            tag,
            kind: match errno {
                0 => CompletionKind::Done,
                errno => CompletionKind::Failed(errno),
            },
        }
    }

    /// Sends read data to the host: all of it from the cache, or the tail behind the heads.
    #[inline]
    fn send(&mut self, slot: u32, most_bytes: u64) {
        let bytes = u64::from(self.requests[slot].request.size_bytes);
        let left_bytes = bytes.min(most_bytes);
        self.link_bytes += bytes;
        let late_ps = self.stream(bytes - left_bytes);
        let left_ps = self.link_ps(left_bytes) + late_ps;
        let at_ns = self.link.finish_ns(self.now_ns, left_ps);
        self.calendar.push(at_ns, Event::Complete.with(slot));
    }

    /// Has data cross the interface that were transferred from the medium until now, as far as it was free meanwhile.
    /// Returns the time that the rest of them takes it, ps.
    #[inline]
    fn stream(&mut self, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let wanted_ps = self.link_ps(bytes);
        let queued_ns = self.link.busy_ns(self.now_ns).sum::<u64>();
        let streamed = &mut self.streamed;
        let taken_ps = queued_ns * PS + streamed.crossed_ps;
        let elapsed_ps = (self.now_ns - streamed.last_ns) * PS;
        let free_ps = elapsed_ps.saturating_sub(taken_ps - streamed.taken_ps);
        let crossed_ps = wanted_ps.min(free_ps);
        streamed.crossed_ps += crossed_ps;
        streamed.last_ns = self.now_ns;
        streamed.taken_ps = taken_ps + crossed_ps;

        let elapsed_ns = self.now_ns - streamed.since_ns;
        let used_ns = queued_ns + streamed.busy_ns;
        let free_ns = elapsed_ns.saturating_sub(used_ns - streamed.before_ns);
        streamed.busy_ns += free_ns.min(crossed_ps / PS);
        wanted_ps - crossed_ps
    }

    /// Returns how long the interface was busy, and begins another interval.
    fn link_busy_ns(&mut self) -> u64 {
        let used_ns = self.link.busy_ns(self.now_ns).sum::<u64>() + self.streamed.busy_ns;
        self.streamed.since_ns = self.now_ns;
        self.streamed.before_ns = used_ns;
        used_ns
    }

    /// Returns what the arm has spent its time on, up to now.
    fn spent(&self) -> Spent {
        let mut spent = self.booked.until(self.now_ns);
        if let Some(stream) = self.stream {
            let (_, useful_ns) = self.progress(&stream);
            let ahead_ns = stream.from_ns.saturating_sub(self.now_ns);
            spent.add(Spent::of_transfer(useful_ns));
            spent.take_off(Spent::of_transfer(ahead_ns));
        }
        spent
    }

    #[inline]
    fn link_ps(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.link_ps_per_byte) as u64
    }

    /// Answers a read from the cache or from what the head is about to pass; else it waits for the arm.
    #[inline]
    fn read(&mut self, slot: u32) {
        let range = self.requests[slot].range();
        let start = range.start;
        if let Some(zones) = &self.zones
            && !zones.is_written(start, range.end - start)
        {
            self.unmapped_reads += 1;
            return self.send(slot, u64::MAX);
        }
        if self.cache.holds(&range) || self.segments.hit(&range) {
            return self.send(slot, u64::MAX);
        }
        if self.logged(start).is_some() {
            return self.queue_up(slot, start, false);
        }
        if let Some(at_ns) = self.promise(&range) {
            return match at_ns <= self.now_ns {
                true => self.send(slot, u64::MAX),
                false => self.calendar.push(at_ns, Event::Sensed.with(slot)),
            };
        }
        self.queue_up(slot, start, false);
    }

    /// Returns where the media cache has a byte, if it does.
    #[inline]
    fn logged(&self, at: u64) -> Option<u64> {
        self.media_cache.as_ref()?.find(at)
    }

    #[inline]
    fn queue_up(&mut self, slot: u32, start: u64, write: bool) {
        let bytes = u64::from(self.requests[slot].request.size_bytes);
        let start = self.logged(start).unwrap_or(start);
        self.queue.push(Waiting {
            slot,
            start,
            end: start + bytes,
            place: self.layout.place(start),
            since_ns: self.now_ns,
            write,
        });
        self.start_work();
    }

    /// Lets a write into the cache, or has it wait for room or for the arm.
    #[inline]
    fn write(&mut self, slot: u32) {
        let range = self.requests[slot].range();
        let bytes = range.end - range.start;
        self.forget_read(&range);
        if !self.cache.is_on() {
            self.link_bytes += bytes;
            self.link.finish_ns(self.now_ns, self.link_ps(bytes));
            return self.queue_up(slot, range.start, true);
        }
        let waits = !self.shut_out.is_empty() || !self.flushes.is_empty();
        if waits || !self.cache.has_room(bytes) {
            self.shut_out.push_back(slot);
            return self.start_work();
        }
        self.let_in(slot, bytes);
    }

    #[inline]
    fn let_in(&mut self, slot: u32, bytes: u64) {
        self.cache.moving_bytes += bytes;
        self.link_bytes += bytes;
        let at_ns = self.link.finish_ns(self.now_ns, self.link_ps(bytes));
        self.calendar.push(at_ns, Event::Channel.with(slot));
    }

    /// Written data has crossed the interface: that is the acknowledgement.
    #[inline]
    fn arrived(&mut self, slot: u32) -> Completion {
        let range = self.requests[slot].range();
        self.cache.moving_bytes -= range.end - range.start;
        self.cache.insert(range, &self.layout);
        self.start_work();
        self.complete(slot)
    }

    fn joules(&self) -> f64 {
        let (params, spent) = (&self.params, self.spent());
        let seconds = |ns: u64| ns as f64 / 1e9;
        params.idle_w * seconds(self.now_ns)
            + params.seek_w * seconds(spent.seek_ns)
            + params.transfer_w * seconds(spent.transfer_ns)
            + params.link_nj_per_byte * 1e-9 * self.link_bytes as f64
    }
}

impl Device for Disk {
    fn capacity_bytes(&self) -> u64 {
        self.params.capacity_bytes
    }

    fn block_bytes(&self) -> u32 {
        self.params.block_bytes
    }

    fn scale(&self) -> f64 {
        1.0
    }

    fn host(&self) -> &HostParams {
        &self.params.host
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    fn submit(&mut self, at_ns: u64, tag: u32, request: Request) {
        let inflight = InFlight {
            request,
            tag,
            errno: 0,
        };
        let slot = self.requests.add(inflight);
        self.calendar
            .push(at_ns.max(self.now_ns), Event::Submit.with(slot));
    }

    fn wake(&mut self, at_ns: u64, tag: u32) {
        self.calendar
            .push(at_ns.max(self.now_ns), Event::Wake.with(tag));
    }

    #[inline]
    fn advance(&mut self, limit_ns: u64) -> Option<Completion> {
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
        self.zones.as_ref().map(|zones| zones.model)
    }

    fn write_pointer(&self, zone: u32) -> Option<u64> {
        let zones = self.zones.as_ref()?;
        (zone < zones.model.zones).then(|| zones.pointer(zone))
    }

    fn manage_zone(&mut self, zone: u32, action: ZoneAction) -> Result<(), Refusal> {
        let zones = self.zones.as_mut();
        zones.map_or(Ok(()), |zones| zones.manage(zone, action))
    }

    fn account(&mut self, into: &mut Account) {
        let now_ns = self.now_ns;
        let spent = self.spent();
        let ahead_bytes = self
            .stream
            .map_or(0, |stream| self.progress(&stream).0 - stream.from);
        let link_ns = self.link_busy_ns();
        into.media_read_bytes = self.media_read_bytes + ahead_bytes;
        into.media_write_bytes = self.media_write_bytes;
        into.unmapped_reads = self.unmapped_reads;
        into.joules = self.joules();
        into.resources.clear();
        let mut add = |resource, busy_ns| {
            into.resources.push(ResourceTime {
                resource,
                busy_ns: vec![busy_ns],
                waited_ns: 0,
            });
        };
        add("interface", link_ns);
        add("controller", self.controller.busy_ns(now_ns).sum());
        add("disk arm", spent.busy_ns);
        add("seeking", spent.seek_ns);
        add("rotational wait", spent.wait_ns);
        add("media transfer", spent.transfer_ns);
    }
}
