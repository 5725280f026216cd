//! What follows from the parameters: counts and sizes that several parts of the model need.

use super::{Isolation, SsdParams};
use crate::device::zones::ZoneModel;

impl SsdParams {
    /// Dies of the drive.
    pub const fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    /// Bytes that one program operation of a die writes.
    pub const fn program_bytes(&self) -> u64 {
        self.nand_page_bytes as u64 * self.planes_per_die as u64 * self.pages_per_program as u64
    }

    /// Dies of a zone.
    pub const fn dies_of_zone(&self) -> u32 {
        match self.zone_dies {
            0 => self.dies(),
            dies => dies,
        }
    }

    /// Returns the zones of the slice; `None` for a drive without.
    pub fn zone_model(&self) -> Option<ZoneModel> {
        let row_bytes = self.program_bytes() * u64::from(self.dies_of_zone());
        let zone_capacity_bytes = match self.zone_capacity_bytes {
            0 => self.zone_bytes / row_bytes * row_bytes,
            given => given,
        };
        let slice_bytes = self.capacity_bytes / u64::from(self.slice_denominator);
        (self.zone_bytes > 0).then(|| ZoneModel {
            zone_bytes: self.zone_bytes,
            zone_capacity_bytes,
            zones: slice_bytes.checked_div(zone_capacity_bytes).unwrap_or(0) as u32,
            conventional: 0,
            max_open: self.max_open_zones,
            max_active: self.max_active_zones,
        })
    }

    /// Shares of the drive that its namespaces have; `None`: the text says something else.
    pub fn namespace_shares(&self) -> Option<Vec<f64>> {
        if let Ok(count) = self.namespaces.parse::<u32>() {
            let equal = || vec![1.0 / f64::from(count); count as usize];
            return (1..=128).contains(&count).then(equal);
        }
        let shares = numbers(&self.namespaces)?;
        let whole = (shares.iter().sum::<f64>() - 100.0).abs() < 0.01;
        whole.then(|| shares.iter().map(|share| share / 100.0).collect())
    }

    /// Returns the cap that holds, W: the lower of the state's and the one beside it; infinite without one.
    pub fn cap_w(&self) -> f64 {
        let states = numbers(&self.power_states).unwrap_or_default();
        let of_state = states.get(self.power_state as usize).copied();
        let beside = (self.power_cap_w > 0.0).then_some(self.power_cap_w);
        of_state
            .into_iter()
            .chain(beside)
            .fold(f64::INFINITY, f64::min)
    }

    /// Returns what writes can name: every handle in every reclaim group.
    pub const fn placements(&self) -> u32 {
        self.placement_handles * self.reclaim_groups
    }

    /// Returns the number of erase units that a superblock has on each of its dies.
    pub const fn erase_units_per_die(&self) -> u64 {
        let row_bytes = self.erase_unit_bytes * (self.dies() / self.reclaim_groups) as u64;
        match self.reclaim_unit_bytes / row_bytes {
            0 => 1,
            units => units,
        }
    }

    /// Streams that fill superblocks for the host: the handles', and that of the page map.
    pub const fn host_streams(&self) -> u32 {
        self.placements() + (self.map_flush_bytes > 0) as u32
    }

    /// Returns the number of all streams.
    pub const fn streams(&self) -> u32 {
        self.host_streams() + self.cleaning_streams()
    }

    /// Streams that cleaning writes.
    pub const fn cleaning_streams(&self) -> u32 {
        match self.placement_isolation {
            Isolation::Initially => self.reclaim_groups,
            Isolation::Persistently => self.placements(),
        }
    }
}

/// Numbers above 0 that are joined by `+`.
pub(super) fn numbers(text: &str) -> Option<Vec<f64>> {
    let numbers = text.split('+').map(|number| number.parse::<f64>().ok());
    numbers
        .map(|number| number.filter(|&number| number > 0.0 && number.is_finite()))
        .collect()
}
