//! Streams that keep step, and end together. After each event those issue that the others have caught up with.

use super::Driver;
use super::requests::ARRIVAL;
use crate::device::Device;

impl<D: Device> Driver<'_, D> {
    /// Issues what waited for threads in step, until none can go on.
    #[inline]
    pub(super) fn keep_step(&mut self, now_ns: u64) {
        if self.keeps_step {
            self.go_on(now_ns);
        }
    }

    #[cold]
    fn go_on(&mut self, now_ns: u64) {
        for thread in 0..self.threads.len() as u32 {
            let state = &mut self.threads[thread as usize];
            if state.left.is_spent() && state.in_flight == 0 {
                state.stream.leave();
            }
        }
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for thread in 0..self.threads.len() as u32 {
                let state = &self.threads[thread as usize];
                if state.in_step && (state.held > 0 || state.waits()) && self.is_ready(thread) {
                    let in_flight = state.in_flight;
                    self.issue_held(thread, now_ns);
                    goes_on |= self.threads[thread as usize].in_flight > in_flight;
                }
            }
        }
        for thread in 0..self.threads.len() as u32 {
            self.rest(thread, now_ns);
        }
    }

    /// Has a thread that is ahead pause, once its own requests are back.
    fn rest(&mut self, thread: u32, now_ns: u64) {
        let state = &mut self.threads[thread as usize];
        let pause_ns = state.stream.pause_ns();
        if pause_ns == 0 || state.held == 0 || state.left.is_spent() {
            return;
        }
        state.rests |= state.stream.is_held();
        if state.rests && !state.pauses && state.in_flight == 0 {
            state.pauses = true;
            self.thinking += 1;
            self.device.wake(now_ns + pause_ns, ARRIVAL | thread);
        }
    }

    /// A thread's pause is over.
    pub(super) fn end_rest(&mut self, thread: u32, now_ns: u64) {
        let state = &mut self.threads[thread as usize];
        (state.rests, state.pauses) = (false, false);
        self.go_on(now_ns);
    }

    /// A thread's volume is done, or that of all.
    pub(super) fn finish(&mut self, thread: u32) {
        self.unfinished = match self.threads[thread as usize].exitall {
            true => 0,
            false => self.unfinished.saturating_sub(1),
        };
    }
}
