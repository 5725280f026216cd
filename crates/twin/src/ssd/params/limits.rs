//! Within what every value by itself must lie: what the model's types hold, and what no drive exceeds.

use super::{MOST_SLOTS, SsdParams, UNIT_BYTES};
use crate::device::params::{ParamError, fail};

/// Shortest time of a die's job that others are set against: below the clock's nanosecond it would be 0.
const LEAST_US: f64 = 0.001;

impl SsdParams {
    /// Checks each value by itself.
    pub(super) fn check_limits(&self) -> Result<(), ParamError> {
        for (name, value, low, high) in self.counts() {
            if !(low..=high).contains(&value) {
                return fail(name, format!("{value} is not within {low} to {high}"));
            }
        }
        for (name, value, high) in self.quantities() {
            if !(value.is_finite() && (0.0..=high).contains(&value)) {
                return fail(name, format!("{value} is not within 0 to {high}"));
            }
        }
        // The energy of SLC programs and reads, and what a drive can do at most, are in proportion to these.
        let divisors = [
            ("read_sense_us", self.read_sense_us),
            ("program_us", self.program_us),
        ];
        match divisors.into_iter().find(|(_, value)| *value < LEAST_US) {
            Some((name, value)) => fail(name, format!("{value} is below {LEAST_US}")),
            None => Ok(()),
        }
    }

    /// Returns the name, value, least and most.
    fn counts(&self) -> [(&'static str, u64, u64, u64); 32] {
        let n = u64::from;
        [
            ("capacity_bytes", self.capacity_bytes, 1 << 22, 1 << 50),
            ("slice_denominator", n(self.slice_denominator), 1, 65_536),
            ("command_slots", n(self.command_slots), 1, n(MOST_SLOTS)),
            ("write_buffer_bytes", self.write_buffer_bytes, 1, 1 << 40),
            ("gc_ahead_bytes", self.gc_ahead_bytes, 0, 1 << 40),
            ("read_ahead_bytes", self.read_ahead_bytes, 0, 1 << 30),
            ("read_ahead_streams", n(self.read_ahead_streams), 1, 1024),
            (
                "read_ahead_commands_max",
                n(self.read_ahead_commands_max),
                1,
                65_535,
            ),
            ("map_flush_bytes", self.map_flush_bytes, 0, 1 << 50),
            (
                "indirection_unit_bytes",
                n(self.indirection_unit_bytes),
                n(UNIT_BYTES),
                1 << 20,
            ),
            ("command_pipelines", n(self.command_pipelines), 1, 64),
            ("channels", n(self.channels), 1, 64),
            ("dies_per_channel", n(self.dies_per_channel), 1, 64),
            ("planes_per_die", n(self.planes_per_die), 1, 8),
            ("nand_page_bytes", n(self.nand_page_bytes), 4096, 65_536),
            ("pages_per_program", n(self.pages_per_program), 1, 4),
            ("read_retries", n(self.read_retries), 1, 64),
            (
                "programming_dies_max",
                n(self.programming_dies_max),
                1,
                4096,
            ),
            ("gc_free_superblocks", n(self.gc_free_superblocks), 3, 64),
            ("gc_choices", n(self.gc_choices), 1, 1024),
            ("slc_bytes", self.slc_bytes, 0, 1 << 43),
            ("wear_spread_max", n(self.wear_spread_max), 0, 1 << 30),
            ("rated_pe_cycles", n(self.rated_pe_cycles), 0, 1 << 30),
            ("placement_handles", n(self.placement_handles), 1, 128),
            ("reclaim_groups", n(self.reclaim_groups), 1, 128),
            ("reclaim_unit_bytes", self.reclaim_unit_bytes, 0, 1 << 40),
            ("erase_unit_bytes", self.erase_unit_bytes, 1, 1 << 40),
            ("zone_dies", n(self.zone_dies), 0, 4096),
            ("max_open_zones", n(self.max_open_zones), 0, 1 << 30),
            ("max_active_zones", n(self.max_active_zones), 0, 1 << 30),
            ("cores", n(self.host.cores), 1, 4096),
            (
                "tlp_payload_bytes",
                n(self.host.tlp_payload_bytes),
                64,
                4096,
            ),
        ]
    }

    /// Returns the name, value and most; the least is 0.
    fn quantities(&self) -> [(&'static str, f64, f64); 49] {
        let host = &self.host;
        [
            ("command_ns", self.command_ns, 1e6),
            ("read_unit_ns", self.read_unit_ns, 1e6),
            ("write_unit_ns", self.write_unit_ns, 1e6),
            ("trim_entry_ns", self.trim_entry_ns, 1e6),
            ("command_latency_us", self.command_latency_us, 1e5),
            ("dram_read_us", self.dram_read_us, 1e5),
            ("write_ack_us", self.write_ack_us, 1e5),
            ("channel_mts", self.channel_mts, 1e6),
            ("channel_command_ns", self.channel_command_ns, 1e6),
            ("channel_parity_ratio", self.channel_parity_ratio, 2.0),
            ("read_sense_us", self.read_sense_us, 1e5),
            ("read_sense_spread", self.read_sense_spread, 0.99),
            ("ecc_us", self.ecc_us, 1e5),
            ("read_retry_share", self.read_retry_share, 1.0),
            ("program_us", self.program_us, 1e6),
            ("erase_us", self.erase_us, 1e6),
            ("suspend_us", self.suspend_us, 1e5),
            ("program_min_run_us", self.program_min_run_us, 1e6),
            ("program_max_wait_us", self.program_max_wait_us, 1e6),
            ("gc_page_ns", self.gc_page_ns, 1e6),
            ("over_provisioning", self.over_provisioning, 4.0),
            ("settled_share", self.settled_share, 1.0),
            ("sata_gbps", self.sata_gbps, 100.0),
            ("map_flush_share", self.map_flush_share, 64.0),
            ("idle_w", self.idle_w, 1e3),
            ("command_uj", self.command_uj, 1e3),
            ("link_nj_per_byte", self.link_nj_per_byte, 1e3),
            ("channel_nj_per_byte", self.channel_nj_per_byte, 1e3),
            ("read_sense_uj", self.read_sense_uj, 1e6),
            ("program_uj", self.program_uj, 1e6),
            ("erase_uj", self.erase_uj, 1e6),
            ("slc_program_us", self.slc_program_us, 1e6),
            ("slc_read_us", self.slc_read_us, 1e5),
            ("gc_idle_free_share", self.gc_idle_free_share, 1.0),
            ("gc_idle_after_us", self.gc_idle_after_us, 1e9),
            ("power_cap_w", self.power_cap_w, 1e3),
            ("ambient_c", self.ambient_c, 100.0),
            (
                "thermal_resistance_c_per_w",
                self.thermal_resistance_c_per_w,
                1e3,
            ),
            (
                "thermal_capacity_j_per_c",
                self.thermal_capacity_j_per_c,
                1e6,
            ),
            ("throttle_above_c", self.throttle_above_c, 200.0),
            ("throttle_below_c", self.throttle_below_c, 200.0),
            ("throttle_cap_w", self.throttle_cap_w, 1e3),
            ("submit_us", host.submit_us, 1e5),
            ("complete_us", host.complete_us, 1e5),
            ("wake_us", host.wake_us, 1e5),
            (
                "tlp_overhead_bytes",
                f64::from(host.tlp_overhead_bytes),
                256.0,
            ),
            ("link_protocol_share", host.link_protocol_share, 0.5),
            ("sata_frame_ns", host.sata_frame_ns, 1e6),
            ("adapter_mbps", host.adapter_mbps, 1e7),
        ]
    }
}
