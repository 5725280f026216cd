//! Host reads: the queue before each plane, sensing, and the plane's register until the channel has taken the data.

use rand_xoshiro::rand_core::RngCore;

use super::channel::Carrying;
use super::die::Background;
use super::{Flash, NONE};
use crate::sim::calendar::Calendar;
use crate::sim::event::Event;
use crate::ssd::geometry::Place;

#[derive(Clone, Copy, Default)]
pub(super) struct ReadOp {
    pub(super) request: u32,
    pub(super) die: u32,
    pub(super) server: u32,
    pub(super) units: u32,
    pub(super) sense_ns: u32,
    /// Whether the page is sensed in SLC mode.
    pub(super) is_slc: bool,
    /// What of its I/O it is, for [`Waits`](crate::sim::server::Waits).
    pub(super) share: u32,
    pub(super) next: u32,
}

#[derive(Clone, Copy, Default)]
pub(super) struct ReadServer {
    pub(super) busy: bool,
    pub(super) head: u32,
    pub(super) tail: u32,
}

impl Flash {
    /// Takes a host read, or `share` of one, to its die. It is of `units` neighbouring units of one NAND page (or of
    /// one page on every plane, if planes are not independent).
    #[inline]
    pub fn read(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        request: u32,
        place: Place,
        units: u32,
        share: u32,
    ) {
        let plane = if self.servers_per_die == 1 {
            0
        } else {
            place.plane
        };
        let is_slc = place.page_type == Place::SLC;
        let mut sense_ns = self.sense_ns(place.page_type);
        if self.retry_below > 0 && self.rng.next_u64() < self.retry_below {
            sense_ns = self.with_retries_ns(sense_ns, is_slc, units);
        }
        let op = self.allocate(ReadOp {
            request,
            die: place.die,
            server: place.die * self.servers_per_die + plane,
            units,
            sense_ns,
            is_slc,
            share,
            next: NONE,
        });
        self.counts.units_out += u64::from(units);
        let server = self.ops[op as usize].server as usize;
        let die = &mut self.dies[place.die as usize];
        let admitted = match die.background {
            Background::Idle => true,
            Background::Pending => now_ns < die.window_end_ns,
            Background::Running | Background::Suspending => false,
        };
        if admitted && !self.servers[server].busy {
            self.start_read(now_ns, calendar, op);
            return;
        }
        self.enqueue_read(op);
        self.die_waits.begin(now_ns, share);
        let die = &mut self.dies[place.die as usize];
        die.waiting += 1;
        if die.background == Background::Running && self.may_suspend {
            if now_ns >= die.hold_until_ns {
                self.suspend(now_ns, calendar, place.die);
            } else if die.waiting == 1 && die.hold_until_ns < die.end_ns {
                calendar.push(die.hold_until_ns, Event::Die.with(place.die));
            }
        }
    }

    /// [`Event::Sensed`]: the page is in the register and goes to the channel.
    #[inline]
    pub fn sensed(&mut self, now_ns: u64, calendar: &mut Calendar, op: u32) {
        let index = self.dies[self.ops[op as usize].die as usize].channel;
        let channel = &mut self.channels[index as usize];
        channel.sensing -= 1;
        channel.reads.push_back(op);
        match channel.carrying {
            Carrying::Nothing => self.carry_next(now_ns, calendar, index),
            Carrying::Read(_) => {}
            Carrying::Background => {
                let chunks = (now_ns - channel.started_ns)
                    .div_ceil(self.times.chunk)
                    .max(1);
                let boundary_ns = channel.started_ns + chunks * self.times.chunk;
                if boundary_ns < channel.until_ns {
                    channel.until_ns = boundary_ns;
                    calendar.push(boundary_ns, Event::Channel.with(index));
                }
            }
        }
    }

    fn sense_ns(&mut self, page_type: u32) -> u32 {
        let mean = self.times.sense_ns(page_type);
        if !self.times.exponential {
            return mean;
        }
        let uniform = (self.rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        (-f64::from(mean) * (1.0 - uniform).ln()).round() as u32
    }

    /// Returns how long a read holds its plane whose page comes with the last of the retries, and counts their senses.
    #[cold]
    fn with_retries_ns(&mut self, sense_ns: u32, is_slc: bool, units: u32) -> u32 {
        let senses = u64::from(self.retries) * self.planes_sensed(units);
        self.counts.add_senses(senses, is_slc);
        let retry_ns = u64::from(sense_ns) + self.ecc_ns;
        let total_ns = u64::from(sense_ns) + u64::from(self.retries) * retry_ns;
        total_ns.min(u64::from(u32::MAX)) as u32
    }

    /// Returns the number of planes on which a read of `units` units senses a page.
    #[inline]
    fn planes_sensed(&self, units: u32) -> u64 {
        if self.servers_per_die == 1 && units > 4 {
            u64::from(self.planes)
        } else {
            1
        }
    }

    #[inline]
    fn allocate(&mut self, op: ReadOp) -> u32 {
        if self.free_op == NONE {
            self.ops.push(op);
            return (self.ops.len() - 1) as u32;
        }
        let index = self.free_op;
        self.free_op = self.ops[index as usize].next;
        self.ops[index as usize] = op;
        index
    }

    #[inline]
    fn start_read(&mut self, now_ns: u64, calendar: &mut Calendar, op: u32) {
        let ReadOp {
            server,
            die,
            sense_ns,
            is_slc,
            units,
            share,
            ..
        } = self.ops[op as usize];
        self.servers[server as usize].busy = true;
        let state = &mut self.dies[die as usize];
        state.account(now_ns, self.servers_per_die);
        state.active += 1;
        let channel = state.channel;
        self.counts.add_senses(self.planes_sensed(units), is_slc);
        if !self.channels[channel as usize].booked.is_empty() {
            self.unbook_loads(now_ns, calendar, channel);
        }
        let sensed_ns = now_ns + u64::from(sense_ns);
        self.channel_waits.begin(sensed_ns, share);
        self.foresee(calendar, channel, sensed_ns, op);
    }

    /// A page will be sensed at `sensed_ns`: its read gets its place among the channel's, or an event.
    #[inline]
    fn foresee(&mut self, calendar: &mut Calendar, index: u32, sensed_ns: u64, op: u32) {
        let channel = &mut self.channels[index as usize];
        if channel.sensing > 0 || !channel.background.is_empty() {
            channel.sensing += 1;
            return calendar.push(sensed_ns, Event::Sensed.with(op));
        }
        match channel.carrying {
            Carrying::Nothing => self.carry_read(calendar, index, sensed_ns, op),
            Carrying::Read(later) if sensed_ns < channel.started_ns => {
                channel.ahead.push_front((channel.started_ns, later));
                channel.reads_in_a_row -= 1;
                self.carry_read(calendar, index, sensed_ns, op);
            }
            _ => {
                let mut place = channel.ahead.len();
                channel.ahead.push_back((sensed_ns, op));
                while place > 0 && channel.ahead[place - 1].0 > sensed_ns {
                    channel.ahead.swap(place - 1, place);
                    place -= 1;
                }
            }
        }
    }

    /// The channel gets a background transfer, so that reads still being sensed may find it in their way.
    #[cold]
    pub(super) fn wait_for_senses(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let channel = &mut self.channels[index as usize];
        if let Carrying::Read(op) = channel.carrying
            && channel.started_ns > now_ns
        {
            channel.ahead.push_front((channel.started_ns, op));
            channel.reads_in_a_row -= 1;
            channel.carrying = Carrying::Nothing;
        }
        while let Some((sensed_ns, op)) = channel.ahead.pop_front() {
            if sensed_ns <= now_ns {
                channel.reads.push_back(op);
            } else {
                channel.sensing += 1;
                calendar.push(sensed_ns, Event::Sensed.with(op));
            }
        }
    }

    #[inline]
    fn enqueue_read(&mut self, op: u32) {
        let server = self.ops[op as usize].server as usize;
        let tail = std::mem::replace(&mut self.servers[server].tail, op);
        if tail == NONE {
            self.servers[server].head = op;
        } else {
            self.ops[tail as usize].next = op;
        }
    }

    #[inline]
    fn dequeue_read(&mut self, server: u32) -> Option<u32> {
        let state = &mut self.servers[server as usize];
        let op = state.head;
        if op == NONE {
            return None;
        }
        state.head = self.ops[op as usize].next;
        if state.head == NONE {
            state.tail = NONE;
        }
        Some(op)
    }

    /// The channel has taken a read's data: its plane is free.
    #[inline]
    pub(super) fn read_left(&mut self, now_ns: u64, calendar: &mut Calendar, op: u32) {
        let ReadOp {
            server, die: index, ..
        } = self.ops[op as usize];
        self.ops[op as usize].next = self.free_op;
        self.free_op = op;
        self.servers[server as usize].busy = false;
        let die = &mut self.dies[index as usize];
        die.account(now_ns, self.servers_per_die);
        die.active -= 1;
        let open = match die.background {
            Background::Idle => true,
            Background::Pending => now_ns < die.window_end_ns,
            Background::Running | Background::Suspending => false,
        };
        if open
            && die.waiting > 0
            && let Some(next) = self.dequeue_read(server)
        {
            self.dies[index as usize].waiting -= 1;
            let ReadOp { share, .. } = self.ops[next as usize];
            self.die_waits.end(now_ns, share);
            self.start_read(now_ns, calendar, next);
        }
        if self.dies[index as usize].background == Background::Pending {
            self.settle(now_ns, calendar, index);
        }
    }

    /// The die has time for reads, until its next job may start.
    #[inline]
    pub(super) fn resume_reads(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &self.dies[index as usize];
        if die.waiting > 0 || die.background == Background::Pending {
            self.start_waiting_reads(now_ns, calendar, index);
        }
    }

    pub(super) fn start_waiting_reads(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        for server in index * self.servers_per_die..(index + 1) * self.servers_per_die {
            if self.dies[index as usize].waiting == 0 {
                break;
            }
            if !self.servers[server as usize].busy
                && let Some(op) = self.dequeue_read(server)
            {
                self.dies[index as usize].waiting -= 1;
                let ReadOp { share, .. } = self.ops[op as usize];
                self.die_waits.end(now_ns, share);
                self.start_read(now_ns, calendar, op);
            }
        }
        if self.dies[index as usize].background == Background::Pending {
            self.settle(now_ns, calendar, index);
        }
    }
}
