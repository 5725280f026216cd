//! When the drive takes commands, as its power governor decides. The slots are closed while the power cap or the
//! temperature says so, and while the drive rests.

mod governor;
mod rest;

pub use governor::Governor;

use super::flash::FlashCounts;
use super::{POWER, Ssd};
use crate::sim::event::Event;
use crate::ssd::params::{SsdParams, UNIT_BYTES};

/// What the drive's power and temperature come to.
#[derive(Clone)]
pub(super) struct Power {
    pub(super) governor: Option<Box<Governor>>,
}

impl Power {
    pub(super) fn new(params: &SsdParams) -> Self {
        Self {
            governor: Governor::new(params),
        }
    }

    /// Returns the energy since the drive was made, J: what it draws idle, less what resting saved. What each command,
    /// each byte and each job of a die takes is added.
    fn joules(
        &self,
        params: &SsdParams,
        now_ns: u64,
        counts: &FlashCounts,
        (commands, link_bytes): (u64, u64),
    ) -> f64 {
        let p = params;
        let unit_bytes = f64::from(UNIT_BYTES);
        let slc_programs = counts.slc_programs as f64;
        let programmed = counts.programs as f64 + slc_programs / f64::from(p.pages_per_program);
        let channel_bytes =
            counts.units_out as f64 * unit_bytes + programmed * p.program_bytes() as f64;
        let micro = commands as f64 * p.command_uj
            + counts.senses as f64 * p.read_sense_uj
            + counts.programs as f64 * p.program_uj
            // The array takes about the same power however it programs, and however it senses.
            + slc_programs * p.program_uj * p.slc_program_us / p.program_us.max(f64::MIN_POSITIVE)
            + counts.slc_senses as f64 * p.read_sense_uj * p.slc_read_us / p.read_sense_us.max(f64::MIN_POSITIVE)
            + counts.erases as f64 * p.erase_uj;
        let nano = link_bytes as f64 * p.link_nj_per_byte + channel_bytes * p.channel_nj_per_byte;
        let governor = self.governor.as_ref();
        let saved_j = governor.map_or(0.0, |governor| governor.saved_j(now_ns));
        p.idle_w * now_ns as f64 * 1e-9 - saved_j + micro * 1e-6 + nano * 1e-9
    }
}

impl Ssd {
    /// Returns the energy since the drive was made, J.
    pub(super) fn joules(&self) -> f64 {
        let passed = (self.queue.commands, self.link.bytes);
        self.power
            .joules(&self.params, self.now_ns, &self.flash.counts, passed)
    }

    /// Lets the power governor look, which may keep the host's next commands out.
    #[cold]
    pub(super) fn govern(&mut self) {
        let joules = self.joules();
        let Some(governor) = &mut self.power.governor else {
            return;
        };
        let closed = governor.look(self.now_ns, joules, self.params.idle_w);
        match closed {
            Some(_) => self.queue.close(),
            None => self.queue.open(),
        }
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
        let governor = self.power.governor.as_mut();
        if governor.is_some_and(|governor| governor.command_comes(now_ns)) {
            self.govern();
            self.take_kept();
        }
    }

    /// The time has come that the governor gave.
    pub(super) fn reopen(&mut self) {
        if let Some(governor) = &mut self.power.governor {
            governor.booked = false;
        }
        self.govern();
        self.take_kept();
    }
}
