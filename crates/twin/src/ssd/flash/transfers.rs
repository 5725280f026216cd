//! Transfers over a channel: one at a time, reads first.

use super::channel::{Booked, Carrying, Channel, Payload, Transfer};
use super::die::Background;
use super::reads::ReadOp;
use super::{Finished, Flash};
use crate::sim::calendar::Calendar;
use crate::sim::event::Event;

/// Reads in a row after which a waiting background transfer gets a turn.
const READ_TURNS: u32 = 4;

impl Flash {
    /// [`Event::Channel`]: a transfer, or a part of a background transfer, has ended.
    #[inline]
    pub fn channel_event(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        index: u32,
    ) -> Option<Finished> {
        let channel = &mut self.channels[index as usize];
        if channel.carrying == Carrying::Nothing || channel.until_ns != now_ns {
            return None;
        }
        let elapsed_ns = now_ns - channel.started_ns;
        channel.busy_ns += elapsed_ns;
        let carried = std::mem::replace(&mut channel.carrying, Carrying::Nothing);
        if let Carrying::Read(op) = carried {
            let ReadOp {
                request,
                units,
                share,
                ..
            } = self.ops[op as usize];
            self.channel_waits.end(now_ns - elapsed_ns, share);
            self.carry_next(now_ns, calendar, index);
            self.read_left(now_ns, calendar, op);
            return Some(Finished::Read(request, units));
        }
        let transfer = channel.background.front_mut()?;
        transfer.remaining_ns -= elapsed_ns;
        let payload = transfer.payload;
        let ended = transfer.remaining_ns == 0;
        if ended {
            channel.background.pop_front();
        }
        self.carry_next(now_ns, calendar, index);
        match (ended, payload) {
            (false, _) => None,
            (true, Payload::Cleaning(id)) => Some(Finished::CleaningRead(id)),
            (true, Payload::Load(die)) => {
                let state = &mut self.dies[die as usize];
                state.loading = false;
                state.loaded = true;
                self.start_background(now_ns, calendar, die);
                None
            }
        }
    }

    pub(super) fn send(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        index: u32,
        payload: Payload,
        ns: u64,
    ) {
        if self.channels[index as usize].has_foreseen() {
            self.wait_for_senses(now_ns, calendar, index);
        }
        let channel = &mut self.channels[index as usize];
        channel.background.push_back(Transfer {
            payload,
            remaining_ns: ns.max(1),
        });
        if channel.carrying == Carrying::Nothing {
            self.carry_next(now_ns, calendar, index);
        }
    }

    /// Starts the channel's next transfer.
    #[inline]
    pub(super) fn carry_next(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let channel = &mut self.channels[index as usize];
        let turn = channel.background.is_empty() || channel.reads_in_a_row < READ_TURNS;
        if turn && let Some(op) = channel.reads.pop_front() {
            return self.carry_read(calendar, index, now_ns, op);
        }
        let mut start_ns = now_ns;
        if !channel.background.is_empty() && channel.reads.is_empty() && channel.sensing == 0 {
            start_ns = self.book_loads(now_ns, index);
        }
        let channel = &mut self.channels[index as usize];
        let duration_ns = if let Some(transfer) = channel.background.front() {
            channel.carrying = Carrying::Background;
            channel.reads_in_a_row = 0;
            if channel.reads.is_empty() {
                transfer.remaining_ns
            } else {
                transfer.remaining_ns.min(self.times.chunk)
            }
        } else if let Some((sensed_ns, op)) = channel.ahead.pop_front() {
            return self.carry_read(calendar, index, sensed_ns.max(now_ns), op);
        } else {
            return;
        };
        channel.started_ns = start_ns;
        channel.until_ns = start_ns + duration_ns;
        calendar.push(channel.until_ns, Event::Channel.with(index));
    }

    /// Books the loads at the head of the queue whose dies will be busy when they end. Gives the time from which the
    /// channel is free then.
    #[inline]
    fn book_loads(&mut self, now_ns: u64, index: u32) -> u64 {
        let Channel {
            booked,
            background,
            reads_in_a_row,
            busy_ns,
            ..
        } = &mut self.channels[index as usize];
        while booked.front().is_some_and(|load| load.until_ns <= now_ns) {
            booked.pop_front();
        }
        let mut free_ns = booked.back().map_or(now_ns, |load| load.until_ns);
        while let Some(&Transfer {
            payload: Payload::Load(die),
            remaining_ns,
        }) = background.front()
        {
            let until_ns = free_ns + remaining_ns;
            let state = &mut self.dies[die as usize];
            if state.background != Background::Running || state.end_ns <= until_ns {
                break;
            }
            state.loading = false;
            state.loaded = true;
            *busy_ns += remaining_ns;
            *reads_in_a_row = 0;
            booked.push_back(Booked {
                die,
                started_ns: free_ns,
                until_ns,
            });
            background.pop_front();
            free_ns = until_ns;
        }
        free_ns
    }

    /// A read comes, which booked loads have to give way to: those that have not ended get their events after all.
    #[cold]
    pub(super) fn unbook_loads(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let channel = &mut self.channels[index as usize];
        while let Some(load) = channel.booked.pop_back() {
            if load.until_ns <= now_ns {
                channel.booked.clear();
                return;
            }
            let state = &mut self.dies[load.die as usize];
            state.loading = true;
            state.loaded = false;
            channel.busy_ns -= load.until_ns - load.started_ns;
            channel.background.push_front(Transfer {
                payload: Payload::Load(load.die),
                remaining_ns: load.until_ns - load.started_ns,
            });
            if load.started_ns <= now_ns {
                channel.carrying = Carrying::Background;
                channel.started_ns = load.started_ns;
                channel.until_ns = load.until_ns;
                calendar.push(load.until_ns, Event::Channel.with(index));
            }
        }
    }

    /// The channel's next transfer is a read's.
    #[inline]
    pub(super) fn carry_read(
        &mut self,
        calendar: &mut Calendar,
        index: u32,
        start_ns: u64,
        op: u32,
    ) {
        let channel = &mut self.channels[index as usize];
        channel.carrying = Carrying::Read(op);
        channel.reads_in_a_row += 1;
        channel.started_ns = start_ns;
        channel.until_ns = start_ns + self.transfers_ns[self.ops[op as usize].units as usize];
        calendar.push(channel.until_ns, Event::Channel.with(index));
    }
}
