//! What the drive reports of itself: bytes moved, energy, wear, temperature, and how long each of its resources was
//! busy.

use super::Ssd;
use super::buffer::UnitState;
use crate::device::{Account, ResourceTime};
use crate::ssd::ftl::NONE;
use crate::ssd::ftl::wear::EraseCounts;
use crate::ssd::params::UNIT_BYTES;

impl Ssd {
    /// Returns simulated over real capacity.
    pub fn scale(&self) -> f64 {
        let simulated = match &self.zns {
            Some(zns) => zns.capacity_bytes(),
            None => u64::from(self.geometry.logical_pages) * u64::from(UNIT_BYTES),
        };
        simulated as f64 / self.params.capacity_bytes as f64
    }

    /// Returns the number of logical 4 KiB pages that hold data.
    pub fn mapped_pages(&self) -> u32 {
        let map =
            self.geometry.logical_pages..self.geometry.logical_pages + self.geometry.map_pages;
        let stored = map
            .filter(|&page| self.translation.ftl.lookup(page) != NONE)
            .count() as u32;
        self.translation.ftl.mapped_pages() - stored
    }

    /// Returns the number of 4 KiB pages that are not programmed yet: of the host, and moved by cleaning.
    pub(crate) fn buffered_pages(&self) -> u64 {
        let at_hand = &self.buffer.group;
        let others = self.groups.table.as_ref();
        u64::from(at_hand.host_pages + at_hand.cleaning_pages)
            + others.map_or(0, |groups| groups.buffered())
    }

    /// Bytes of host memory that the translation state takes per logical page of the slice.
    pub fn bytes_per_page(&self) -> f64 {
        let physical = f64::from(self.geometry.physical_pages());
        let units = self.buffer.units.len() * size_of::<UnitState>();
        4.0 + (4.0 * physical + units as f64) / f64::from(self.geometry.logical_pages)
    }

    /// Returns the program/erase cycles of the superblocks so far.
    pub fn erase_counts(&self) -> EraseCounts {
        match &self.zns {
            Some(zns) => zns.wear.counts(),
            None => self.translation.ftl.erase_counts(),
        }
    }

    /// The account up to now.
    pub(super) fn tell(&self, into: &mut Account) {
        let now_ns = self.now_ns;
        let counts = &self.flash.counts;
        into.media_read_bytes = counts.units_out * u64::from(UNIT_BYTES);
        let pages = u64::from(self.params.pages_per_program);
        into.media_write_bytes =
            (counts.programs * pages + counts.slc_programs) * self.params.program_bytes() / pages;
        into.media_erase_bytes = counts.erases * self.params.erase_unit_bytes;
        into.unmapped_reads = self.translation.unmapped_reads;
        into.joules = self.joules();
        let rated = self.params.rated_pe_cycles;
        into.wear_pct = (rated > 0).then(|| self.erase_counts().mean * 100.0 / f64::from(rated));
        let climate = self.power.governor.as_ref();
        let climate = climate.and_then(|governor| governor.temperature(now_ns, into.joules));
        into.temperature_c = climate.map(|(celsius, _)| celsius);
        into.throttled_ns = climate.map(|(_, throttled_ns)| throttled_ns);
        into.shares.clear();
        if let Some(namespaces) = &self.namespaces {
            into.shares.extend(&namespaces.shares);
        }
        into.place_waited_ns = self.queue.place_waits.total_ns(now_ns);
        self.tell_resources(into);
    }

    /// Who was busy for how long, in the order of a read's way but for the limits that come last.
    fn tell_resources(&self, into: &mut Account) {
        let (now_ns, joules) = (self.now_ns, into.joules);
        into.resources.clear();
        let mut add = |resource, busy: &mut dyn Iterator<Item = u64>, waited_ns| {
            into.resources.push(ResourceTime {
                resource,
                busy_ns: busy.collect(),
                waited_ns,
            });
        };
        for (way, busy_ns, waited_ns) in self.link.used_ns(now_ns) {
            add(way, &mut std::iter::once(busy_ns), waited_ns);
        }
        let pipelines = &self.queue.pipelines;
        add(
            "controller",
            &mut pipelines.busy_ns(now_ns),
            self.queue.pipeline_waits.total_ns(now_ns),
        );
        let flash = &self.flash;
        let (for_channel_ns, for_die_ns) = flash.reads_waited_ns(now_ns);
        add(
            "flash channels",
            &mut flash.channels_busy_ns(now_ns),
            for_channel_ns,
        );
        add("flash dies", &mut flash.dies_busy_ns(now_ns), for_die_ns);
        if let Some(governor) = self
            .power
            .governor
            .as_ref()
            .filter(|governor| governor.has_cap())
        {
            let busy_ns = governor.busy_ns(joules);
            add("power cap", &mut std::iter::once(busy_ns), 0);
        }
        if self.cleaner.takes_time() {
            add("cleaning", &mut self.cleaner.mover.busy_ns(now_ns), 0);
        }
        if self.params.programming_dies_max < self.params.dies() {
            add(
                "program power budget",
                &mut std::iter::once(flash.budget_held_ns(now_ns)),
                0,
            );
        }
    }
}
