//! A die's background jobs, programs, erases and the sensing of pages for cleaning: when they run, are suspended and end.

use super::channel::Payload;
use super::die::{Background, CleaningJob, Job};
use super::{Finished, Flash, SLC};
use crate::sim::calendar::Calendar;
use crate::sim::event::Event;
use crate::sim::server::Waits;

impl Flash {
    /// [`Event::Die`]: a background job ends, may be suspended, or has been.
    pub fn die_event(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        index: u32,
    ) -> Option<Finished> {
        let die = &mut self.dies[index as usize];
        match die.background {
            Background::Running if now_ns == die.end_ns => {
                return self.finish_background(now_ns, calendar, index);
            }
            Background::Running
                if self.may_suspend && die.waiting > 0 && now_ns >= die.hold_until_ns =>
            {
                self.suspend(now_ns, calendar, index);
            }
            Background::Suspending if now_ns == die.end_ns => {
                die.account(now_ns, self.servers_per_die);
                die.background = Background::Pending;
                die.window_end_ns = now_ns + self.times.max_wait;
                self.start_waiting_reads(now_ns, calendar, index);
            }
            _ => {}
        }
        None
    }

    /// Runs a pending job if no read stands in its way.
    #[inline(always)]
    pub(super) fn settle(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &mut self.dies[index as usize];
        if die.active > 0 || (die.waiting > 0 && now_ns < die.window_end_ns) {
            return;
        }
        die.account(now_ns, self.servers_per_die);
        die.background = Background::Running;
        die.end_ns = now_ns + die.remaining_ns;
        die.hold_until_ns = match die.job {
            Job::Program(_) | Job::Erase => now_ns + self.times.min_run,
            Job::Cleaning(_) => u64::MAX,
        };
        calendar.push(die.end_ns, Event::Die.with(index));
        if die.waiting > 0 && self.may_suspend && die.hold_until_ns < die.end_ns {
            calendar.push(die.hold_until_ns, Event::Die.with(index));
        }
    }

    pub(super) fn suspend(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &mut self.dies[index as usize];
        die.background = Background::Suspending;
        die.remaining_ns = die.end_ns - now_ns;
        die.end_ns = now_ns + self.times.suspend;
        calendar.push(die.end_ns, Event::Die.with(index));
    }

    /// Takes up the die's next job if it has none.
    #[inline]
    pub(super) fn start_background(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &self.dies[index as usize];
        if die.background == Background::Idle
            && (die.loaded
                || !die.cleaning.is_empty()
                || die.programmed_bytes >= self.erase_unit_bytes)
        {
            self.take_up_job(now_ns, calendar, index);
        }
    }

    fn take_up_job(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &mut self.dies[index as usize];
        let erase_due = die.programmed_bytes >= self.erase_unit_bytes;
        if !erase_due && let Some(job) = die.cleaning.pop_front() {
            die.job = Job::Cleaning(job);
            die.remaining_ns = self.times.cleaning_sense_ns(job.is_slc);
        } else {
            if self.budget == 0 {
                if !std::mem::replace(&mut die.awaits_budget, true) {
                    self.budget_waiters.push_back(index);
                }
                return;
            }
            if erase_due {
                die.programmed_bytes -= self.erase_unit_bytes;
                die.job = Job::Erase;
                die.remaining_ns = self.times.erase;
            } else if let Some(unit) = die.programs.pop_front() {
                die.loaded = false;
                die.job = Job::Program(unit);
                die.remaining_ns = match unit & SLC {
                    0 => self.times.program,
                    _ => self.times.slc_program,
                };
            }
            self.budget -= 1;
            self.held.begin(now_ns, Waits::WHOLE);
        }
        let die = &mut self.dies[index as usize];
        die.background = Background::Pending;
        die.window_end_ns = now_ns + self.times.max_wait;
        self.settle(now_ns, calendar, index);
        self.load_next(now_ns, calendar, index);
    }

    fn finish_background(
        &mut self,
        now_ns: u64,
        calendar: &mut Calendar,
        index: u32,
    ) -> Option<Finished> {
        let die = &mut self.dies[index as usize];
        die.account(now_ns, self.servers_per_die);
        die.background = Background::Idle;
        let mut finished = None;
        match die.job {
            Job::Program(unit) => {
                die.programmed_bytes += self.due_bytes;
                match unit & SLC {
                    0 => self.counts.programs += 1,
                    _ => self.counts.slc_programs += 1,
                }
                finished = Some(Finished::Program(unit & !SLC));
                self.release_budget(now_ns, calendar);
            }
            Job::Erase => {
                self.counts.erases += 1;
                finished = Some(Finished::Erase(index));
                self.release_budget(now_ns, calendar);
            }
            Job::Cleaning(job) => {
                self.counts.add_senses(u64::from(self.planes), job.is_slc);
                if job.senses > 1 {
                    die.job = Job::Cleaning(CleaningJob {
                        senses: job.senses - 1,
                        ..job
                    });
                    die.background = Background::Pending;
                    die.window_end_ns = now_ns + self.times.max_wait;
                    die.remaining_ns = self.times.cleaning_sense_ns(job.is_slc);
                } else {
                    self.counts.units_out += u64::from(job.units);
                    let channel = die.channel;
                    let known = self.transfers_ns.get(job.units as usize).copied();
                    let transfer_ns = known.unwrap_or_else(|| self.times.transfer_ns(job.units));
                    let payload = Payload::Cleaning(job.id);
                    self.send(now_ns, calendar, channel, payload, transfer_ns);
                }
            }
        }
        self.resume_reads(now_ns, calendar, index);
        self.start_background(now_ns, calendar, index);
        finished
    }

    fn release_budget(&mut self, now_ns: u64, calendar: &mut Calendar) {
        self.budget += 1;
        self.held.end(now_ns, Waits::WHOLE);
        // A waiter may be busy with cleaning by now; it asks again when that ends.
        while self.budget > 0
            && let Some(waiter) = self.budget_waiters.pop_front()
        {
            self.dies[waiter as usize].awaits_budget = false;
            self.start_background(now_ns, calendar, waiter);
        }
    }

    /// Brings the next program's data to the die.
    pub(super) fn load_next(&mut self, now_ns: u64, calendar: &mut Calendar, index: u32) {
        let die = &mut self.dies[index as usize];
        if die.loading || die.loaded {
            return;
        }
        let Some(unit) = die.programs.front() else {
            return;
        };
        let load_ns = match unit & SLC {
            0 => self.times.load,
            _ => self.times.slc_load,
        };
        die.loading = true;
        let channel = die.channel;
        self.send(now_ns, calendar, channel, Payload::Load(index), load_ns);
    }
}
