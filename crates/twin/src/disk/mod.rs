//! A simulated disk drive: one arm over turning platters, behind a command queue and a cache.
//!
//! A request passes: a place in the drive's queue -> controller -> (read) cache, or the arm: seek,
//! rotation, transfer -> interface -> completion; (write) room in the cache, interface,
//! acknowledgement, and later, in an order that suits the arm, the medium. While nothing else is asked
//! for, the drive reads ahead. Throughput and latency are what comes out. See
//! `docs/explanation/disk-twin.md`.

mod cache;
mod layout;
mod media_cache;
mod params;
mod queue;
mod seek;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use workload::{Op, Request};

use self::cache::{Segment, Segments, WriteCache};
use self::layout::{Layout, Place};
use self::media_cache::MediaCache;
pub use self::params::{DiskParams, Scheduling, Tracks};
use self::queue::{Arm, Queue, Waiting};
use self::seek::Seek;
use crate::calendar::Calendar;
use crate::device::{Account, Completion, CompletionKind, Device, ResourceTime};
use crate::event::{Event, us_to_ns};
use crate::params::{HostParams, ParamError};
use crate::server::Fifo;
use crate::slab::Slab;
use crate::zoned::{Refusal, ZoneAction, ZoneModel, Zones};

const EOPNOTSUPP: i32 = 95;
const EINVAL: i32 = 22;
/// Most bytes that one visit of the arm writes from the cache: about a track, so that reads wait no
/// longer than a turn and room is given back as steadily as the medium takes data.
const DESTAGE_BYTES: u64 = 2 << 20;
/// Read data crosses the interface while it is read; behind the last sector this much is left.
const TAIL_BYTES: u64 = 64 << 10;
/// Turns that a read waits for the head to come by rather than have it sent there.
const PATIENCE_TURNS: u64 = 2;
/// How far a stream's progress is reckoned with one rate.
const REBASE_BYTES: u64 = 16 << 20;
/// `Event::Die` of the arm's work, and of the time without commands.
const WORK: u32 = 0;
const QUIET: u32 = 1;
/// Turns to rewrite a track whose neighbours were written too often: read it, write it.
const REFRESH_TURNS: u64 = 2;

/// A request on its way.
#[derive(Clone, Copy)]
struct InFlight {
    request: Request,
    tag: u32,
    errno: i32,
}

impl InFlight {
    fn end(&self) -> u64 {
        self.request.offset_bytes + u64::from(self.request.size_bytes)
    }
}

/// What the arm is doing.
#[derive(Clone, Copy)]
enum Work {
    /// Nothing that anybody waits for; it may read ahead.
    Idle,
    /// A read, or a write that is acknowledged from the medium.
    Command { slot: u32 },
    /// Writes from the cache.
    Destage { start: u64, end: u64 },
    /// Reads ahead up to the point that was promised.
    Ahead,
    /// Writes a band of shingled tracks anew.
    Clean,
}

/// Reading ahead: since `from_ns` the head passes over what follows `from`.
#[derive(Clone, Copy)]
struct Stream {
    /// First byte held.
    start: u64,
    from: u64,
    from_ns: u64,
    from_stream_ns: u64,
    /// Where it stops by itself.
    limit: u64,
    /// Reads were told that they will get the bytes up to here.
    promised: u64,
}

/// Time of the arm, by what it was spent on.
#[derive(Default)]
struct Spent {
    busy_ns: u64,
    seek_ns: u64,
    wait_ns: u64,
    transfer_ns: u64,
}

/// A disk drive.
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
    watching: bool,
    /// Where the arm is: behind the last byte it passed.
    at: Place,
    at_byte: u64,
    at_stream_ns: u64,
    work: Work,
    work_end_ns: u64,
    /// A read goes on from data that was read before: keep the stream going for a while.
    sequential: bool,
    destage_next: bool,
    random_writes: u32,
    spent: Spent,
    link_ps_per_byte: f64,
    command_ps: u64,
    setup_ns: u64,
    /// Bytes that crossed the interface, and those of them during the transfer from the medium.
    link_bytes: u64,
    streamed_bytes: u64,
    media_read_bytes: u64,
    media_write_bytes: u64,
    unmapped_reads: u64,
}

impl Disk {
    /// A fresh drive at virtual time 0.
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
            watching: false,
            at_byte: 0,
            at_stream_ns: 0,
            work: Work::Idle,
            work_end_ns: 0,
            sequential: false,
            destage_next: false,
            random_writes: 0,
            spent: Spent::default(),
            link_ps_per_byte: 1e6 / params.interface_mbps,
            command_ps: (params.command_us * 1e6).round() as u64,
            setup_ns: us_to_ns(params.setup_us),
            link_bytes: 0,
            streamed_bytes: 0,
            media_read_bytes: 0,
            media_write_bytes: 0,
            unmapped_reads: 0,
            params: params.clone(),
        })
    }

    /// The parameters.
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
        self.streamed_bytes += bytes - left_bytes;
        let at_ns = self.link.finish_ns(self.now_ns, self.link_ps(left_bytes));
        self.calendar.push(at_ns, Event::Complete.with(slot));
    }

    #[inline]
    fn link_ps(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.link_ps_per_byte) as u64
    }

    /// Answers a read from the cache or from what the head is about to pass; else it waits for the arm.
    #[inline]
    fn read(&mut self, slot: u32) {
        let inflight = self.requests[slot];
        let (start, end) = (inflight.request.offset_bytes, inflight.end());
        if let Some(zones) = &self.zones
            && !zones.is_written(start, end - start)
        {
            self.unmapped_reads += 1;
            return self.send(slot, u64::MAX);
        }
        if self.cache.holds(start, end) || self.segments.hit(start, end) {
            return self.send(slot, u64::MAX);
        }
        if self.logged(start).is_some() {
            return self.queue_up(slot, start, false);
        }
        if let Some(at_ns) = self.promise(start, end) {
            return match at_ns <= self.now_ns {
                true => self.send(slot, u64::MAX),
                false => self.calendar.push(at_ns, Event::Sensed.with(slot)),
            };
        }
        self.queue_up(slot, start, false);
    }

    /// Where the media cache has a byte, if it does.
    #[inline]
    fn logged(&self, at: u64) -> Option<u64> {
        self.media_cache.as_ref()?.find(at)
    }

    #[inline]
    fn queue_up(&mut self, slot: u32, start: u64, write: bool) {
        self.queue.push(Waiting {
            slot,
            place: self.layout.place(self.logged(start).unwrap_or(start)),
            since_ns: self.now_ns,
            write,
        });
        self.start_work();
    }

    /// When the stream has passed a range, if it soon will. A stream that others wait for goes no further
    /// than it has promised.
    #[inline]
    fn promise(&mut self, start: u64, end: u64) -> Option<u64> {
        let stream = self.stream?;
        let soon_ns = self.now_ns + PATIENCE_TURNS * self.layout.turn_ns;
        let free = matches!(self.work, Work::Idle);
        // At its limit the head has come to rest; before, it goes on for whoever follows.
        let moving = free && self.passes_ns(&stream, stream.limit) > self.now_ns;
        let within = match (moving, free) {
            (true, _) => start <= stream.limit,
            (false, true) => end <= stream.limit,
            (false, false) => end <= stream.promised,
        };
        if start < stream.start || !within || self.passes_ns(&stream, start) > soon_ns {
            return None;
        }
        let ahead = self.params.read_ahead_bytes;
        let mut stream = self.rebased(stream, start);
        if moving {
            stream.limit = stream
                .limit
                .max((end + ahead).min(self.params.capacity_bytes));
        }
        stream.promised = stream.promised.max(end);
        stream.start = stream.start.max(end.saturating_sub(ahead));
        self.stream = Some(stream);
        Some(self.passes_ns(&stream, end))
    }

    /// Counts what a long stream has passed, and goes on counting from there: rates differ by zone.
    #[inline]
    fn rebased(&mut self, stream: Stream, at: u64) -> Stream {
        if at < stream.from + REBASE_BYTES {
            return stream;
        }
        let from_ns = self.passes_ns(&stream, at);
        self.media_read_bytes += at - stream.from;
        self.spent.transfer_ns += from_ns - stream.from_ns;
        self.spent.busy_ns += from_ns - stream.from_ns;
        Stream {
            from: at,
            from_ns,
            from_stream_ns: self.layout.stream_ns(at),
            ..stream
        }
    }

    #[inline]
    fn passes_ns(&self, stream: &Stream, byte: u64) -> u64 {
        match byte <= stream.from {
            true => stream.from_ns,
            false => stream.from_ns + self.layout.stream_ns(byte) - stream.from_stream_ns,
        }
    }

    /// The byte that a stream has reached, and the time spent on what reads were promised.
    #[inline]
    fn progress(&self, stream: &Stream) -> (u64, u64) {
        let elapsed_ns = self.now_ns.saturating_sub(stream.from_ns);
        let passed = self.layout.bytes_in(stream.from, elapsed_ns);
        let useful_ns = self.passes_ns(stream, stream.promised) - stream.from_ns;
        let reached = (stream.from + passed).min(stream.limit);
        (reached, elapsed_ns.min(useful_ns))
    }

    /// Has the stream answer the commands that wait for what it is about to pass.
    fn share_stream(&mut self) {
        if self.stream.is_none() || self.queue.is_empty() {
            return;
        }
        let mut queue = std::mem::take(&mut self.queue);
        queue.retain(|waiting| {
            let inflight = self.requests[waiting.slot];
            let start = inflight.request.offset_bytes;
            let passes_ns = match waiting.write || self.logged(start).is_some() {
                true => None,
                false => self.promise(start, inflight.end()),
            };
            if let Some(at_ns) = passes_ns {
                self.calendar
                    .push(at_ns.max(self.now_ns), Event::Sensed.with(waiting.slot));
            }
            passes_ns.is_none()
        });
        self.queue = queue;
    }

    /// Lets a write into the cache, or has it wait for room or for the arm.
    #[inline]
    fn write(&mut self, slot: u32) {
        let inflight = self.requests[slot];
        let bytes = u64::from(inflight.request.size_bytes);
        self.forget_read(inflight.request.offset_bytes, inflight.end());
        if !self.cache.is_on() {
            self.link_bytes += bytes;
            self.link.finish_ns(self.now_ns, self.link_ps(bytes));
            return self.queue_up(slot, inflight.request.offset_bytes, true);
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
        let inflight = self.requests[slot];
        self.cache.moving_bytes -= u64::from(inflight.request.size_bytes);
        self.cache
            .insert(inflight.request.offset_bytes, inflight.end(), &self.layout);
        self.start_work();
        self.complete(slot)
    }

    /// Reads must not be answered with what a write has made stale.
    #[inline]
    fn forget_read(&mut self, start: u64, end: u64) {
        self.segments.forget(start, end);
        if self
            .stream
            .is_some_and(|stream| start < stream.limit && end > stream.start)
        {
            self.close_stream();
            self.segments.forget(start, end);
        }
    }

    /// Ends reading ahead where the head is now.
    #[inline]
    fn close_stream(&mut self) {
        let Some(stream) = self.stream.take() else {
            return;
        };
        let (reached, useful_ns) = self.progress(&stream);
        // Exactly there, lest what follows on misses by a rounding and loses a turn.
        let end = match self.passes_ns(&stream, stream.promised) < self.now_ns {
            true => reached.max(stream.promised),
            false => stream.promised,
        };
        self.media_read_bytes += end - stream.from;
        self.spent.transfer_ns += useful_ns;
        self.spent.busy_ns += useful_ns;
        self.segments.insert(Segment {
            start: stream.start,
            end,
        });
        self.rest_at(end);
    }

    /// The arm is over what follows the last byte that it passed.
    #[inline]
    fn rest_at(&mut self, byte: u64) {
        self.at = self.layout.place(byte.min(self.last_byte()));
        self.at_byte = byte;
        self.at_stream_ns = self.at.stream_ns;
    }

    fn last_byte(&self) -> u64 {
        self.params.capacity_bytes + self.params.media_cache_bytes - 1
    }

    /// Gives the arm its next work, if it has none.
    #[inline]
    fn start_work(&mut self) {
        if !matches!(self.work, Work::Idle) {
            return;
        }
        let dirty = self.cache.is_dirty();
        if self.queue.is_empty() && !dirty {
            return self.rest();
        }
        if let Some(stream) = self.stream {
            let least = match self.sequential {
                true => stream.from + self.params.read_ahead_least_bytes,
                false => 0,
            };
            let until = stream.promised.max(least.min(stream.limit));
            let until_ns = self.passes_ns(&stream, until);
            if until_ns > self.now_ns {
                self.stream = Some(Stream {
                    promised: until,
                    ..stream
                });
                return self.begin(Work::Ahead, until_ns);
            }
            self.close_stream();
        }
        let pressed = !self.shut_out.is_empty() || !self.flushes.is_empty();
        if dirty && (self.queue.is_empty() || pressed && self.destage_next) {
            self.destage_next = false;
            match self.media_cache.is_some() {
                true => self.destage_shingled(pressed),
                false => self.destage(),
            }
        } else {
            self.destage_next = true;
            self.command();
        }
    }

    fn begin(&mut self, work: Work, end_ns: u64) {
        self.work = work;
        self.work_end_ns = end_ns;
        self.calendar.push(end_ns, Event::Die.with(WORK));
    }

    fn arm_at(&self, now_ns: u64) -> Arm<'_> {
        Arm {
            at: self.at,
            next_stream_ns: self.at_stream_ns,
            now_ns,
            angle_ns: self.layout.angle_ns(now_ns),
            setup_ns: self.setup_ns,
            layout: &self.layout,
            seek: &self.seek,
        }
    }

    /// Serves the best of the waiting commands.
    fn command(&mut self) {
        let mut queue = std::mem::take(&mut self.queue);
        let next = queue.next(&self.arm_at(self.now_ns));
        self.queue = queue;
        let Some(waiting) = next else { return };
        let inflight = self.requests[waiting.slot];
        let start = inflight.request.offset_bytes;
        let start = match waiting.write {
            true => start,
            false => self.logged(start).unwrap_or(start),
        };
        let end = (start + u64::from(inflight.request.size_bytes)).min(self.last_byte() + 1);
        let place = self.layout.place(start);
        let end_ns = self.visit(self.now_ns, start, end, &place, waiting.write);
        self.begin(Work::Command { slot: waiting.slot }, end_ns);
    }

    /// Writes the range of the cache that the arm reaches first.
    fn destage(&mut self) {
        let arm = self.arm_at(self.now_ns);
        let window = self.params.destage_window as usize;
        let mut best = None;
        for (start, place) in self.cache.places_from(self.at_byte).take(window) {
            let cost_ns = arm.position(&place, true).total_ns();
            if best.is_none_or(|(least_ns, _, _)| cost_ns < least_ns) {
                best = Some((cost_ns, start, place));
            }
        }
        let Some((_, start, place)) = best else {
            return;
        };
        let follows = start == self.at_byte;
        let end = self.cache.take(start, DESTAGE_BYTES, &self.layout);
        let mut end_ns = self.visit(self.now_ns, start, end, &place, true);
        if !follows && self.params.refresh_after_writes > 0 {
            self.random_writes += 1;
            if self.random_writes == self.params.refresh_after_writes {
                self.random_writes = 0;
                let refresh_ns = REFRESH_TURNS * self.layout.turn_ns;
                self.spent.busy_ns += refresh_ns;
                self.spent.transfer_ns += refresh_ns;
                end_ns += refresh_ns;
            }
        }
        self.begin(Work::Destage { start, end }, end_ns);
    }

    /// Shingled tracks: writes what can be written where it belongs, and logs the rest. What may become a
    /// whole band stays in memory while there is room and no quiet.
    fn destage_shingled(&mut self, pressed: bool) {
        let Some(media) = &mut self.media_cache else {
            return;
        };
        let near = || {
            self.cache
                .from(self.at_byte)
                .take(self.params.destage_window as usize)
        };
        let direct = near().find_map(|(start, end)| Some((start, media.in_place(start, end)?)));
        if let Some((start, stop)) = direct {
            let end = self.cache.take(start, stop - start, &self.layout);
            media.wrote(start, end);
            let place = self.layout.place(start);
            let end_ns = self.visit(self.now_ns, start, end, &place, true);
            return self.begin(Work::Destage { start, end }, end_ns);
        }
        let waits = !pressed && !self.quiet;
        let mut pieces = Vec::new();
        let mut bytes = 0;
        for (start, end) in self.cache.from(self.at_byte) {
            let end = end.min(media.band_end(start));
            if bytes + (end - start) > DESTAGE_BYTES.max(end - start) {
                break;
            }
            if !(waits && media.may_grow(start)) {
                pieces.push((start, end));
                bytes += end - start;
            }
        }
        if pieces.is_empty() {
            return self.watch();
        }
        if !media.has_room(bytes) {
            return self.clean();
        }
        let mut first = None;
        for (start, end) in pieces {
            self.cache.take(start, end - start, &self.layout);
            let place = media.log(start, end);
            first.get_or_insert(place);
        }
        let start = first.unwrap_or(self.at_byte);
        // Where the log begins anew within a batch, the few pieces behind are taken to follow too.
        let end = (start + bytes).min(self.last_byte() + 1);
        let place = self.layout.place(start);
        let end_ns = self.visit(self.now_ns, start, end, &place, true);
        self.begin(
            Work::Destage {
                start: 0,
                end: bytes,
            },
            end_ns,
        );
    }

    /// Nothing to do: bands of shingled tracks are cleaned once it has been quiet for a while.
    fn rest(&mut self) {
        if self.quiet {
            self.clean();
        } else if self
            .media_cache
            .as_ref()
            .is_some_and(|media| !media.is_empty())
        {
            self.watch();
        }
    }

    fn watch(&mut self) {
        if !self.watching {
            self.watching = true;
            let idle_ns = us_to_ns(self.params.media_cache_idle_ms * 1e3);
            let at_ns = (self.last_command_ns + idle_ns).max(self.now_ns + 1);
            self.calendar.push(at_ns, Event::Die.with(QUIET));
        }
    }

    fn look_for_quiet(&mut self) {
        self.watching = false;
        let idle_ns = us_to_ns(self.params.media_cache_idle_ms * 1e3);
        if self.now_ns >= self.last_command_ns + idle_ns && self.inside == 0 {
            self.quiet = true;
        }
        self.start_work();
    }

    /// Reads the next band and what the log has of it, and writes it anew.
    fn clean(&mut self) {
        let found = self.media_cache.as_mut().and_then(|media| {
            let (band, place, bytes) = media.clean()?;
            let (start, end) = media.bounds(band);
            Some((start, end, place, bytes))
        });
        let Some((start, end, log, bytes)) = found else {
            return;
        };
        if self.stream.is_some() {
            self.close_stream();
        }
        let (band, piece) = (self.layout.place(start), self.layout.place(log));
        let log_end = (log + bytes).min(self.last_byte() + 1);
        let mut at_ns = self.visit(self.now_ns, log, log_end, &piece, false);
        at_ns = self.visit(at_ns, start, end, &band, false);
        at_ns = self.visit(at_ns, start, end, &band, true);
        self.begin(Work::Clean, at_ns);
    }

    /// Moves the arm, free at `at_ns`, to a range and over it; gives the end.
    fn visit(&mut self, at_ns: u64, start: u64, end: u64, place: &Place, write: bool) -> u64 {
        let positioning = self.arm_at(at_ns).position(place, write);
        self.rest_at(end);
        let end_stream_ns = match end > self.last_byte() {
            true => self.layout.stream_ns(end),
            false => self.at_stream_ns,
        };
        let transfer_ns = end_stream_ns - place.stream_ns;
        let busy_ns = positioning.total_ns() + transfer_ns;
        self.spent.busy_ns += busy_ns;
        self.spent.seek_ns += positioning.seek_ns;
        self.spent.wait_ns += positioning.wait_ns;
        self.spent.transfer_ns += transfer_ns;
        let bytes = end - start;
        if write {
            self.media_write_bytes += bytes;
        } else {
            self.media_read_bytes += bytes;
        }
        at_ns + busy_ns
    }

    /// The arm has done what it was sent for.
    fn work_done(&mut self) {
        match std::mem::replace(&mut self.work, Work::Idle) {
            Work::Idle | Work::Clean => {}
            Work::Ahead => {
                self.sequential = false;
                self.close_stream();
            }
            Work::Command { slot } => {
                let inflight = self.requests[slot];
                if inflight.request.op == Op::Read {
                    self.send(slot, TAIL_BYTES);
                    if self.at_byte == inflight.end() {
                        self.read_on(inflight.request.offset_bytes, inflight.end());
                        self.share_stream();
                    }
                } else {
                    self.calendar.push(self.now_ns, Event::Complete.with(slot));
                }
            }
            Work::Destage { start, end } => {
                self.cache.moving_bytes -= end - start;
                self.make_use_of_room();
            }
        }
        self.start_work();
    }

    /// Goes on reading behind a request, for the next of its stream.
    #[inline]
    fn read_on(&mut self, start: u64, end: u64) {
        if self.params.read_ahead_bytes == 0 {
            return;
        }
        let before = self.segments.take_before(start);
        self.sequential = before.is_some();
        self.stream = Some(Stream {
            start: before.map_or(start, |segment| segment.start),
            from: end,
            from_ns: self.now_ns,
            from_stream_ns: self.layout.stream_ns(end),
            limit: (end + self.params.read_ahead_bytes).min(self.params.capacity_bytes),
            promised: end,
        });
    }

    /// Lets writes in that fit now, and answers flushes when all is on the medium.
    fn make_use_of_room(&mut self) {
        if !self.flushes.is_empty() {
            if !self.cache.is_clean() {
                return;
            }
            for slot in std::mem::take(&mut self.flushes) {
                self.answer(slot, 0);
            }
        }
        while let Some(&slot) = self.shut_out.front() {
            let bytes = u64::from(self.requests[slot].request.size_bytes);
            if !self.cache.has_room(bytes) {
                return;
            }
            self.shut_out.pop_front();
            self.let_in(slot, bytes);
        }
    }

    fn joules(&self) -> f64 {
        let params = &self.params;
        let seconds = |ns: u64| ns as f64 / 1e9;
        params.idle_w * seconds(self.now_ns)
            + params.seek_w * seconds(self.spent.seek_ns)
            + params.transfer_w * seconds(self.spent.transfer_ns)
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

    fn account(&self, into: &mut Account) {
        let now_ns = self.now_ns;
        let (ahead_bytes, ahead_ns) = self.stream.map_or((0, 0), |stream| {
            let (reached, useful_ns) = self.progress(&stream);
            (reached - stream.from, useful_ns)
        });
        let left_ns = match self.work {
            Work::Command { .. } | Work::Destage { .. } | Work::Clean => {
                self.work_end_ns.saturating_sub(now_ns)
            }
            Work::Idle | Work::Ahead => 0,
        };
        into.media_read_bytes = self.media_read_bytes + ahead_bytes;
        into.media_write_bytes = self.media_write_bytes;
        into.unmapped_reads = self.unmapped_reads;
        into.joules = self.joules();
        into.resources.clear();
        let mut add = |resource, busy_ns| {
            into.resources.push(ResourceTime {
                resource,
                busy_ns: vec![busy_ns],
            });
        };
        let streamed_ns = (self.link_ps(self.streamed_bytes)) / 1000;
        let link_ns = self.link.busy_ns(now_ns).sum::<u64>() + streamed_ns;
        add("interface", link_ns);
        add("controller", self.controller.busy_ns(now_ns).sum());
        add("disk arm", self.spent.busy_ns - left_ns + ahead_ns);
        add("seeking", self.spent.seek_ns);
        add("rotational wait", self.spent.wait_ns);
        add("media transfer", self.spent.transfer_ns + ahead_ns);
    }
}
