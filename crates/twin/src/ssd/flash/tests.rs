//! Loads that are booked on a channel, and reads that come in between.

use super::{Finished, Flash};
use crate::sim::calendar::Calendar;
use crate::sim::event::Event;
use crate::sim::server::Waits;
use crate::ssd::geometry::Place;
use crate::tests::small_drive;

/// Two dies on one channel, and what they finish.
struct Bench {
    flash: Flash,
    calendar: Calendar,
    now_ns: u64,
    finished: Vec<(u64, Finished)>,
}

impl Bench {
    fn new() -> Self {
        let mut params = small_drive();
        params.channels = 1;
        params.dies_per_channel = 2;
        params.programming_dies_max = 2;
        Self {
            flash: Flash::new(&params, 1),
            calendar: Calendar::default(),
            now_ns: 0,
            finished: Vec::new(),
        }
    }

    fn program(&mut self, unit: u32, die: u32) {
        self.flash
            .program(self.now_ns, &mut self.calendar, unit, die);
    }

    fn read(&mut self, request: u32, die: u32) {
        let place = Place {
            unit: 100,
            die,
            plane: 0,
            page_type: 0,
        };
        self.flash.read(
            self.now_ns,
            &mut self.calendar,
            request,
            place,
            1,
            Waits::WHOLE,
        );
    }

    fn run_until(&mut self, limit_ns: u64) {
        while let Some(payload) = self.calendar.advance(&mut self.now_ns, limit_ns) {
            let (now_ns, calendar) = (self.now_ns, &mut self.calendar);
            let finished = match Event::unpack(payload) {
                (Event::Sensed, op) => {
                    self.flash.sensed(now_ns, calendar, op);
                    None
                }
                (Event::Channel, index) => self.flash.channel_event(now_ns, calendar, index),
                (_, index) => self.flash.die_event(now_ns, calendar, index),
            };
            self.finished
                .extend(finished.map(|finished| (now_ns, finished)));
        }
    }

    fn at_ns(&self, wanted: Finished) -> u64 {
        let of_it = self.finished.iter().find(|(_, of)| *of == wanted);
        of_it.expect("it has finished").0
    }

    fn channel_busy_ns(&self) -> u64 {
        self.flash.channels_busy_ns(self.now_ns).sum()
    }
}

#[test]
fn programs_of_a_die_follow_each_other_when_their_data_is_loaded_meanwhile() {
    let mut bench = Bench::new();
    let (load_ns, program_ns) = (bench.flash.times.load, bench.flash.times.program);
    bench.program(0, 0);
    bench.program(2, 0);
    bench.run_until(load_ns + load_ns / 2);
    assert_eq!(bench.flash.channels[0].booked.len(), 1, "no event for it");
    assert_eq!(bench.channel_busy_ns(), load_ns + load_ns / 2);
    bench.run_until(u64::MAX);
    assert_eq!(bench.at_ns(Finished::Program(0)), load_ns + program_ns);
    assert_eq!(bench.at_ns(Finished::Program(2)), load_ns + 2 * program_ns);
    assert_eq!(bench.channel_busy_ns(), 2 * load_ns);
}

#[test]
fn a_read_interrupts_a_booked_load_at_the_end_of_a_page() {
    let mut bench = Bench::new();
    let times = &bench.flash.times;
    let (load_ns, program_ns, chunk_ns) = (times.load, times.program, times.chunk);
    let sense_ns = u64::from(times.sense_ns(0));
    let transfer_ns = bench.flash.transfers_ns[1];
    assert!(chunk_ns < sense_ns && sense_ns + chunk_ns < load_ns);
    bench.program(0, 0);
    bench.program(2, 0);
    // The second load has just begun.
    bench.run_until(load_ns + 1);
    bench.read(7, 1);
    bench.run_until(u64::MAX);
    let begins_ns = load_ns + (1 + sense_ns).div_ceil(chunk_ns) * chunk_ns;
    assert_eq!(bench.at_ns(Finished::Read(7, 1)), begins_ns + transfer_ns);
    assert_eq!(bench.at_ns(Finished::Program(2)), load_ns + 2 * program_ns);
    assert_eq!(bench.channel_busy_ns(), 2 * load_ns + transfer_ns);
}

#[test]
fn what_follows_a_booked_load_begins_when_that_has_ended() {
    let mut bench = Bench::new();
    let (load_ns, program_ns) = (bench.flash.times.load, bench.flash.times.program);
    bench.program(0, 0);
    bench.program(2, 0);
    bench.run_until(load_ns + 1);
    bench.program(1, 1);
    bench.run_until(u64::MAX);
    assert_eq!(bench.at_ns(Finished::Program(1)), 3 * load_ns + program_ns);
}
