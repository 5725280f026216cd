//! Whether the parameters make a drive together.

use super::derived::numbers;
use super::{SsdParams, UNIT_BYTES, VictimPolicy};
use crate::device::params::{ParamError, fail};

impl SsdParams {
    /// Checks every value and their relations.
    ///
    /// # Errors
    /// The first value that cannot be simulated.
    pub fn check(&self) -> Result<(), ParamError> {
        self.check_limits()?;
        self.check_link()?;
        self.check_units()?;
        self.check_power()?;
        self.check_zones()?;
        self.check_namespaces()?;
        self.check_settled()?;
        self.check_slc()?;
        self.check_placement()?;
        self.check_write_buffer()
    }

    fn check_units(&self) -> Result<(), ParamError> {
        if !self.nand_page_bytes.is_multiple_of(UNIT_BYTES) {
            return fail(
                "nand_page_bytes",
                format!("{} is not a multiple of 4096", self.nand_page_bytes),
            );
        }
        if self.block_bytes != 512 && self.block_bytes != UNIT_BYTES {
            return fail(
                "block_bytes",
                format!("{} is neither 512 nor 4096", self.block_bytes),
            );
        }
        if !self.indirection_unit_bytes.is_power_of_two() {
            return fail(
                "indirection_unit_bytes",
                format!("{} is not a power of two", self.indirection_unit_bytes),
            );
        }
        if self.channel_parity_ratio < 1.0 {
            return fail("channel_parity_ratio", "must be at least 1");
        }
        if self.over_provisioning < 0.01 {
            return fail(
                "over_provisioning",
                format!("{} is below 0.01", self.over_provisioning),
            );
        }
        Ok(())
    }

    fn check_namespaces(&self) -> Result<(), ParamError> {
        let Some(namespaces) = self.namespace_shares() else {
            return fail(
                "namespaces",
                format!(
                    "{}: expected how many equal ones, or percentages that add up to 100, 50+25+25",
                    self.namespaces
                ),
            );
        };
        if self.namespace as usize > namespaces.len() {
            return fail(
                "namespace",
                format!(
                    "{}: there are {}, numbered from 1",
                    self.namespace,
                    namespaces.len()
                ),
            );
        }
        Ok(())
    }

    fn check_settled(&self) -> Result<(), ParamError> {
        let without = [
            ("a zoned drive", self.zone_bytes > 0),
            ("an SLC cache", self.slc_bytes > 0),
            ("reclaim groups", self.reclaim_groups > 1),
            ("namespaces", self.namespaces != "1"),
            (
                "d-choices cleaning",
                self.gc_policy == VictimPolicy::DChoices,
            ),
        ];
        match without.into_iter().find(|(_, given)| *given) {
            Some((what, _)) if self.settled_share > 0.0 => fail(
                "settled_share",
                format!("{} is for drives without {what}", self.settled_share),
            ),
            _ => Ok(()),
        }
    }

    fn check_slc(&self) -> Result<(), ParamError> {
        if self.slc_bytes > 0 && (self.slc_program_us == 0.0 || self.pages_per_program == 1) {
            return fail(
                "slc_bytes",
                "an SLC cache needs slc_program_us, and pages_per_program above 1",
            );
        }
        if self.slc_bytes == 0 && self.slc_read_us > 0.0 {
            return fail(
                "slc_read_us",
                format!("{} has no effect without slc_bytes", self.slc_read_us),
            );
        }
        Ok(())
    }

    fn check_write_buffer(&self) -> Result<(), ParamError> {
        let row = self.program_bytes() * u64::from(self.dies());
        // Every handle may hold a row that waits for its last pages, and has one in each reclaim group.
        let needed = (u64::from(self.host_streams() / self.reclaim_groups) + 1) * row;
        if self.write_buffer_bytes < needed {
            return fail(
                "write_buffer_bytes",
                format!(
                    "{} holds less than a programming unit of every die for each placement handle, the page map where it is written, and one more, {needed}",
                    self.write_buffer_bytes,
                ),
            );
        }
        Ok(())
    }

    fn check_placement(&self) -> Result<(), ParamError> {
        let groups = self.reclaim_groups;
        if !self.dies().is_multiple_of(groups) {
            return fail(
                "reclaim_groups",
                format!("{groups} does not divide {} dies", self.dies()),
            );
        }
        // Streams are numbered with 8 bits.
        if self.streams() > 256 {
            return fail(
                "reclaim_groups",
                format!(
                    "{groups}, with {} placement handles, makes {} streams of writes; 256 is the most",
                    self.placement_handles,
                    self.streams()
                ),
            );
        }
        let row_bytes = self.erase_unit_bytes * u64::from(self.dies() / groups);
        if !self.reclaim_unit_bytes.is_multiple_of(row_bytes) {
            return fail(
                "reclaim_unit_bytes",
                format!(
                    "{} is not a multiple of {row_bytes}, an erase unit of each of a group's {} dies",
                    self.reclaim_unit_bytes,
                    self.dies() / groups
                ),
            );
        }
        let of_the_whole_drive = [
            ("slc_bytes", self.slc_bytes > 0),
            ("map_flush_bytes", self.map_flush_bytes > 0),
            ("namespaces", self.namespaces != "1"),
        ];
        match of_the_whole_drive.into_iter().find(|(_, given)| *given) {
            Some((name, _)) if groups > 1 => fail(
                name,
                format!("not together with reclaim_groups, {groups}: it belongs to no group"),
            ),
            _ => Ok(()),
        }
    }

    fn check_power(&self) -> Result<(), ParamError> {
        let floor = self.idle_w;
        let states = match self.power_states.as_str() {
            "none" => Some(Vec::new()),
            text => numbers(text),
        };
        let Some(states) = states else {
            return fail(
                "power_states",
                format!(
                    "{}: expected watts from state 0 on, 25+14+10",
                    self.power_states
                ),
            );
        };
        match states.get(self.power_state as usize) {
            Some(&watts) if watts <= floor => {
                return fail(
                    "power_state",
                    format!(
                        "{watts} W of state {} leave nothing above idle_w, {floor}",
                        self.power_state
                    ),
                );
            }
            None if self.power_state > 0 => {
                return fail(
                    "power_state",
                    format!(
                        "{}: there are {} power_states, numbered from 0",
                        self.power_state,
                        states.len()
                    ),
                );
            }
            _ => {}
        }
        if self.power_cap_w > 0.0 && self.power_cap_w <= floor {
            return fail(
                "power_cap_w",
                format!("{} leaves nothing above idle_w, {floor}", self.power_cap_w),
            );
        }
        self.check_idle_states()?;
        self.check_thermal()
    }

    fn check_thermal(&self) -> Result<(), ParamError> {
        let floor = self.idle_w;
        if self.thermal_resistance_c_per_w == 0.0 {
            return Ok(());
        }
        if self.thermal_capacity_j_per_c <= 0.0 {
            return fail(
                "thermal_capacity_j_per_c",
                "a drive with a thermal resistance needs one above 0",
            );
        }
        if self.throttle_above_c == 0.0 {
            return Ok(());
        }
        if self.throttle_cap_w <= floor {
            return fail(
                "throttle_cap_w",
                format!(
                    "{} leaves nothing above idle_w, {floor}",
                    self.throttle_cap_w
                ),
            );
        }
        if self.throttle_below_c > self.throttle_above_c {
            return fail(
                "throttle_below_c",
                format!(
                    "{} is above throttle_above_c, {}",
                    self.throttle_below_c, self.throttle_above_c
                ),
            );
        }
        Ok(())
    }

    fn check_zones(&self) -> Result<(), ParamError> {
        let Some(zones) = self.zone_model() else {
            return Ok(());
        };
        let row_bytes = self.program_bytes() * u64::from(self.dies_of_zone());
        let within = (row_bytes..=zones.zone_bytes).contains(&zones.zone_capacity_bytes);
        if !within || !zones.zone_capacity_bytes.is_multiple_of(row_bytes) {
            return fail(
                "zone_capacity_bytes",
                format!(
                    "{} is not a multiple of {row_bytes}, a programming unit of each of {} dies, up to zone_bytes, {}",
                    zones.zone_capacity_bytes,
                    self.dies_of_zone(),
                    zones.zone_bytes
                ),
            );
        }
        // The size of a reset is 32 bits.
        if !zones.zone_bytes.is_multiple_of(u64::from(UNIT_BYTES)) || zones.zone_bytes >= 1 << 32 {
            return fail(
                "zone_bytes",
                format!("{} is not a multiple of 4096 below 4 GiB", zones.zone_bytes),
            );
        }
        // Every active zone may hold a unit that waits for its last pages.
        let active = match zones.max_active {
            0 => zones.zones,
            most => most.min(zones.zones),
        };
        let needed = (u64::from(active) + 1) * self.program_bytes();
        if self.write_buffer_bytes < needed {
            return fail(
                "max_active_zones",
                format!(
                    "{active} active zones need a write buffer of {needed} bytes, a programming unit each and one more; there are {}",
                    self.write_buffer_bytes
                ),
            );
        }
        if !self.dies().is_multiple_of(self.dies_of_zone()) {
            return fail(
                "zone_dies",
                format!("{} does not divide {} dies", self.zone_dies, self.dies()),
            );
        }
        self.check_unmapped()
    }

    /// A zoned drive has nothing that belongs to a page map.
    fn check_unmapped(&self) -> Result<(), ParamError> {
        let mapped = [
            ("block_bytes", self.block_bytes != UNIT_BYTES),
            ("placement_handles", self.placement_handles > 1),
            ("reclaim_groups", self.reclaim_groups > 1),
            ("reclaim_unit_bytes", self.reclaim_unit_bytes > 0),
            ("slc_bytes", self.slc_bytes > 0),
            ("map_flush_bytes", self.map_flush_bytes > 0),
            (
                "indirection_unit_bytes",
                self.indirection_unit_bytes > UNIT_BYTES,
            ),
            ("gc_idle_free_share", self.gc_idle_free_share > 0.0),
            ("gc_page_ns", self.gc_page_ns > 0.0),
            ("read_ahead_bytes", self.read_ahead_bytes > 0),
            ("namespaces", self.namespaces != "1"),
        ];
        match mapped.into_iter().find(|(_, given)| *given) {
            Some(("block_bytes", _)) => fail(
                "block_bytes",
                format!(
                    "{}: a zoned drive has blocks of 4096 bytes here",
                    self.block_bytes
                ),
            ),
            Some((name, _)) => fail(name, "a zoned drive has no page map for it"),
            None => Ok(()),
        }
    }

    fn check_link(&self) -> Result<(), ParamError> {
        match (self.pcie_generation, self.pcie_lanes, self.sata_gbps > 0.0) {
            (3..=6, 1..=16, false) | (0, 0, true) => Ok(()),
            (_, _, true) => fail("sata_gbps", "a drive has PCIe or SATA, not both"),
            (3..=6, lanes, false) => fail("pcie_lanes", format!("{lanes} is not within 1 to 16")),
            (generation, _, false) => fail(
                "pcie_generation",
                format!("{generation} is not within 3 to 6"),
            ),
        }
    }
}
