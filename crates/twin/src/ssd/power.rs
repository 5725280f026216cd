//! When the drive takes commands, as its power governor has it: the slots are closed while the power cap or the
//! temperature says so, and while the drive rests.

mod governor;
mod rest;

pub use governor::Governor;

use super::{POWER, Ssd};
use crate::sim::event::Event;

impl Ssd {
    /// Lets the power governor look, which may keep the host's next commands out.
    #[cold]
    pub(super) fn govern(&mut self) {
        let joules = self.joules();
        let Some(governor) = &mut self.governor else {
            return;
        };
        let closed = governor.look(self.now_ns, joules, self.params.idle_w);
        self.slots = match closed {
            Some(_) => 0,
            None => self.params.command_slots,
        };
        if let Some(at_ns) = closed
            && !std::mem::replace(&mut governor.booked, true)
        {
            self.calendar.push(at_ns, Event::Die.with(POWER));
        }
    }

    /// A command comes to a drive that has none, and takes none as it is.
    #[cold]
    pub(super) fn wake_up(&mut self) {
        let now_ns = self.now_ns;
        let governor = self.governor.as_mut();
        if governor.is_some_and(|governor| governor.command_comes(now_ns)) {
            self.govern();
            self.take_kept();
        }
    }

    /// The time has come that the governor gave.
    pub(super) fn reopen(&mut self) {
        if let Some(governor) = &mut self.governor {
            governor.booked = false;
        }
        self.govern();
        self.take_kept();
    }
}
