//! Sequential read-ahead: the controller follows streams of reads, and reads what comes next into its DRAM before the
//! host asks for it.
//!
//! A read that begins where an earlier one ended goes on with that one's stream. Only then is anything read ahead, so
//! random reads never are. It is for shallow queues. With more commands in the drive the dies have work enough. What
//! is read ahead would then stand in the way of other reads.

use std::collections::VecDeque;

use super::Ssd;
use crate::sim::slab::Slab;
use crate::ssd::ftl::NONE;
use crate::ssd::params::{SsdParams, UNIT_BYTES};

/// Bit of a flash read's request number: it is a part read ahead, and no request waits for all of it.
const AHEAD: u32 = 1 << 31;

/// Neighbouring pages that one flash read brings.
#[derive(Clone)]
struct Part {
    /// First logical page, how many, and where the first one lay.
    first: u32,
    count: u32,
    page: u32,
    has_come: bool,
    /// Whether its stream no longer needs it.
    given_up: bool,
    /// Reads that wait for pages of it, and for how many.
    waiting: Vec<(u32, u32)>,
}

/// Reads one behind the other.
#[derive(Clone)]
struct Stream {
    /// Where the next read begins, and up to where pages were read ahead.
    next: u32,
    ahead: u32,
    /// Parts in order of their pages.
    parts: VecDeque<u32>,
}

/// The streams that the controller follows, the one used last in front, and the parts read ahead.
#[derive(Clone)]
pub(super) struct ReadAhead {
    pages: u32,
    streams_max: usize,
    commands_max: u32,
    streams: VecDeque<Stream>,
    parts: Slab<Part>,
}

impl ReadAhead {
    /// Returns `None` for a drive that reads nothing ahead.
    pub(super) fn new(params: &SsdParams) -> Option<Box<Self>> {
        (params.read_ahead_bytes > 0).then(|| {
            Box::new(Self {
                pages: params.read_ahead_bytes.div_ceil(u64::from(UNIT_BYTES)) as u32,
                streams_max: params.read_ahead_streams as usize,
                commands_max: params.read_ahead_commands_max,
                streams: VecDeque::new(),
                parts: Slab::default(),
            })
        })
    }

    /// Follows the read of `first..end`: puts its stream in front. Returns whether it goes on with one.
    fn follow(&mut self, first: u32, end: u32) -> bool {
        let found = self.streams.iter().position(|one| one.next == first);
        let mut stream = match found.and_then(|place| self.streams.remove(place)) {
            Some(stream) => stream,
            None => {
                if self.streams.len() >= self.streams_max
                    && let Some(oldest) = self.streams.pop_back()
                {
                    oldest.parts.iter().for_each(|&part| self.give_up(part));
                }
                Stream {
                    next: first,
                    ahead: end,
                    parts: VecDeque::new(),
                }
            }
        };
        stream.next = end;
        stream.ahead = stream.ahead.max(end);
        self.streams.push_front(stream);
        found.is_some()
    }

    /// Forgets a part: now, or once it has come.
    fn give_up(&mut self, number: u32) {
        self.parts[number].given_up = true;
        if self.parts[number].has_come {
            self.parts.release(number);
        }
    }

    /// Forgets the parts of the first stream that lie before its next read.
    fn give_up_behind(&mut self) {
        while let Some(stream) = self.streams.front_mut()
            && let Some(&number) = stream.parts.front()
            && self.parts[number].first + self.parts[number].count <= stream.next
        {
            stream.parts.pop_front();
            self.give_up(number);
        }
    }
}

/// Pages of a read, by where they come from.
#[derive(Clone, Default)]
struct FromDram {
    pages: u32,
    unmapped: bool,
}

impl Ssd {
    /// A read of a drive that reads ahead.
    pub(super) fn read_with_ahead(&mut self, slot: u32, first: u32, count: u32) {
        let Some(mut ahead) = self.read_ahead.take() else {
            return;
        };
        let goes_on = ahead.follow(first, first + count);
        let dram = self.take_from_parts(&mut ahead, slot, first, first + count);
        self.answer_from_dram(slot, dram.pages, dram.unmapped);
        self.take_arrived();
        if goes_on && self.queue.taken() <= ahead.commands_max {
            self.read_on(&mut ahead);
        }
        ahead.give_up_behind();
        self.read_ahead = Some(ahead);
    }

    /// Takes what was read ahead, and asks the dies for the rest.
    fn take_from_parts(
        &mut self,
        ahead: &mut ReadAhead,
        slot: u32,
        first: u32,
        end: u32,
    ) -> FromDram {
        let mut dram = FromDram::default();
        let mut at = first;
        while at < end {
            let next = self.part_from(ahead, at, end);
            let until = next.map_or(end, |(_, start, _)| start);
            if at < until {
                let (pages, unmapped) = self.sense(slot, at, until - at);
                dram.pages += pages;
                dram.unmapped |= unmapped;
            }
            let Some((number, start, stop)) = next else {
                break;
            };
            let part = &mut ahead.parts[number];
            if part.has_come {
                dram.pages += stop - start;
            } else {
                part.waiting.push((slot, stop - start));
                self.requests[slot].parts += 1;
            }
            at = stop;
        }
        dram
    }

    /// Returns the next part of the stream in front that holds pages of `from..end` as they are now. Gives its number,
    /// and where these pages begin and end.
    fn part_from(&self, ahead: &ReadAhead, from: u32, end: u32) -> Option<(u32, u32, u32)> {
        ahead.streams.front()?.parts.iter().find_map(|&number| {
            let part = &ahead.parts[number];
            let start = from.max(part.first);
            let stop = end.min(part.first + part.count);
            let unchanged = (start..stop)
                .all(|page| self.translation.ftl.lookup(page) == part.page + (page - part.first));
            (start < stop && unchanged).then_some((number, start, stop))
        })
    }

    /// Reads ahead of the stream in front.
    fn read_on(&mut self, ahead: &mut ReadAhead) {
        let Some(stream) = ahead.streams.front_mut() else {
            return;
        };
        let end = (stream.next + ahead.pages).min(self.geometry.logical_pages);
        while stream.ahead < end {
            let first = stream.ahead;
            let page = self.translation.ftl.lookup(first);
            let place = (page != NONE).then(|| self.geometry.place(page));
            let Some(place) = place.filter(|place| !self.buffer.holds.get(place.unit)) else {
                stream.ahead += 1;
                continue;
            };
            let count = self.run_from(first, end, page);
            let number = ahead.parts.add(Part {
                first,
                count,
                page,
                has_come: false,
                given_up: false,
                waiting: Vec::new(),
            });
            stream.parts.push_back(number);
            stream.ahead += count;
            // It is no part of an I/O, so none waits for it here.
            self.read_die(AHEAD | number, page, place, count, 0);
        }
    }

    /// Pages that a flash read brought are in the controller: those of a request, or of a part read ahead.
    #[inline]
    pub(super) fn read_arrived(&mut self, request: u32, units: u32) {
        if request & AHEAD == 0 {
            return self.arrived(request, units, self.flash.ecc_ns);
        }
        self.part_arrived(request & !AHEAD);
    }

    #[cold]
    fn part_arrived(&mut self, number: u32) {
        let Some(ahead) = &mut self.read_ahead else {
            return;
        };
        let part = &mut ahead.parts[number];
        part.has_come = true;
        let waiting = std::mem::take(&mut part.waiting);
        if part.given_up {
            ahead.parts.release(number);
        }
        for (slot, units) in waiting {
            self.arrived(slot, units, self.flash.ecc_ns);
        }
    }
}
