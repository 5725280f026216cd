//! The parameters of a simulated SSD and of the host that drives it: plain values with their units
//! in their names, checked once. Where each value of a catalogue device comes from is said in its
//! TOML file (`basis`, `source`); what each does is said here.

use serde::{Deserialize, Serialize};

use crate::zoned::ZoneModel;

/// A parameter that makes no sense, alone or with the others.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("twin parameter {name}: {message}")]
pub struct ParamError {
    /// Name as in the device's TOML.
    pub name: &'static str,
    /// What was found and what is needed.
    pub message: String,
}

/// The machine that issues the I/O: a *test bench* of `catalog/systems`. One set for all drives
/// that were tested on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostParams {
    /// Logical cores the load generator can use; thread `i` runs on core `i % cores`.
    pub cores: u32,
    /// CPU time to prepare and submit one I/O, load generator and kernel together.
    pub submit_us: f64,
    /// CPU time to reap one completion and account for it.
    pub complete_us: f64,
    /// Delay without CPU work between the completion entry in memory and the thread that reaps it
    /// (interrupt, wake-up).
    pub wake_us: f64,
    /// Most data bytes in one PCIe packet on this host (the smaller of the slot's and drive's).
    #[serde(default = "default_payload")]
    pub tlp_payload_bytes: u32,
    /// Packet bytes that are not data: framing, sequence, header, CRC.
    #[serde(default = "default_overhead")]
    pub tlp_overhead_bytes: u32,
    /// Share of the link's symbols spent on flow control, acknowledgements and skip sets, 0..1.
    #[serde(default)]
    pub link_protocol_share: f64,
    /// Time that a SATA port and the drive take to agree on a frame: both ask, grant and
    /// acknowledge before the next one may go.
    #[serde(default)]
    pub sata_frame_ns: f64,
    /// Rate at which data crosses the host's bus adapter, each way, MB/s: of an array's drive its
    /// share. 0: it has none, or none that could be the limit.
    #[serde(default)]
    pub adapter_mbps: f64,
    /// Of a system of several drives: whether each thread loads one of its own, thread `i` drive
    /// `i % drives`; otherwise all load all of them.
    #[serde(default)]
    pub drive_per_thread: bool,
}

/// How long the array takes to sense a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SenseTime {
    /// `read_sense_us` for every page.
    Fixed,
    /// Lower, middle and upper pages of a TLC word line take `1 - s`, `1` and `1 + s` times
    /// `read_sense_us` (s = `read_sense_spread`).
    PageType,
    /// Exponential with mean `read_sense_us`: for checks against queueing theory.
    Exponential,
}

/// Which superblock is cleaned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimPolicy {
    /// The one with the fewest valid pages.
    #[default]
    Greedy,
    /// The one closed longest ago.
    Fifo,
    /// The one with the fewest valid pages among `gc_choices` drawn at random.
    DChoices,
    /// The one with the greatest age x (1 - u) / 2u, u the share of valid pages.
    CostBenefit,
}

/// What keeps the data of placement handles apart (NVMe FDP reclaim unit handle types).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Only host writes: cleaning moves all handles' pages into one stream.
    #[default]
    Initially,
    /// Cleaning too: every handle has a cleaning stream.
    Persistently,
}

/// What a zoned drive programs when a zone is finished that is not full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneFinish {
    /// The rest of the unit that was begun; the erase units stay partly programmed.
    #[default]
    Unit,
    /// The rest of the zone, with padding.
    Zone,
}

/// One drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdParams {
    /// User capacity of the real drive.
    pub capacity_bytes: u64,
    /// The simulated slice holds 1/N of the capacity: same dies, channels and timings, blocks 1/N as
    /// large (never below one programming unit per die). 1 simulates the drive at full size.
    pub slice_denominator: u32,
    /// Logical block.
    pub block_bytes: u32,

    /// PCIe generation, 3..=6; 0: no PCIe drive.
    #[serde(default)]
    pub pcie_generation: u32,
    /// PCIe lanes; 0: no PCIe drive.
    #[serde(default)]
    pub pcie_lanes: u32,
    /// Line rate of the SATA link, Gb/s; 0: no SATA drive.
    #[serde(default)]
    pub sata_gbps: f64,
    /// Commands that the drive takes at a time (32 with NCQ); the host keeps further ones.
    #[serde(default = "default_slots")]
    pub command_slots: u32,

    /// Command pipelines of the controller.
    pub command_pipelines: u32,
    /// Time a command occupies its pipeline, whatever its size.
    pub command_ns: f64,
    /// Further time per 4 KiB mapped unit of a read (data path, mapping, ECC, DMA).
    pub read_unit_ns: f64,
    /// Further time per 4 KiB mapped unit of a write.
    pub write_unit_ns: f64,
    /// Latency through the controller that occupies nothing: fetch, decode, mapping look-up in DRAM.
    pub command_latency_us: f64,
    /// Time to answer a read from DRAM (write buffer, or a block that was never written).
    pub dram_read_us: f64,

    /// Power-loss-protected write buffer.
    pub write_buffer_bytes: u64,
    /// From the last data byte in the buffer to the acknowledgement.
    pub write_ack_us: f64,

    /// Flash channels.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// Whether planes sense unrelated pages at the same time; if not, the die reads one at a time.
    pub independent_plane_reads: bool,
    /// NAND page of one plane.
    pub nand_page_bytes: u32,
    /// Pages of a word line programmed together (3: one-shot TLC).
    pub pages_per_program: u32,
    /// Erase unit of one die, all planes, at full size.
    pub erase_unit_bytes: u64,
    /// Channel transfer rate, 10^6 transfers (bytes) a second.
    pub channel_mts: f64,
    /// Command and address cycles, status polls: channel time per transfer.
    pub channel_command_ns: f64,
    /// Bytes on the channel per data byte (ECC parity), >= 1.
    pub channel_parity_ratio: f64,

    /// Mean time to sense a page (tR).
    pub read_sense_us: f64,
    /// Relative spread over page types, 0..1; see [`SenseTime::PageType`].
    pub read_sense_spread: f64,
    /// Which distribution.
    pub read_sense_time: SenseTime,
    /// Decoding latency of a read.
    pub ecc_us: f64,
    /// Programming one word line on all planes (tPROG of the one-shot unit).
    pub program_us: f64,
    /// Erasing one erase unit (tBERS).
    pub erase_us: f64,
    /// Whether host reads may suspend a running program or erase.
    pub program_suspend: bool,
    /// From the decision to suspend until the die can read.
    pub suspend_us: f64,
    /// A program that has (re)started runs at least this long before it can be suspended.
    pub program_min_run_us: f64,
    /// Host reads may hold a ready or suspended program back for at most this long.
    pub program_max_wait_us: f64,
    /// Dies that may program or erase at the same time (power budget).
    pub programming_dies_max: u32,

    /// Physical over logical capacity, minus 1, after bad blocks, parity and firmware areas.
    pub over_provisioning: f64,
    /// Cleaning runs while fewer superblocks than this are free.
    pub gc_free_superblocks: u32,
    /// The host may write so much ahead of the cleaning that its writes call for; then it waits until
    /// cleaning has caught up. 0: it waits only when no free superblock is left.
    #[serde(default)]
    pub gc_ahead_bytes: u64,
    /// Choice of the superblock to clean.
    #[serde(default)]
    pub gc_policy: VictimPolicy,
    /// Superblocks that [`VictimPolicy::DChoices`] draws, 1..=1024.
    #[serde(default = "default_choices")]
    pub gc_choices: u32,

    /// In idle time cleaning goes on until this share of the spare superblocks is free. 0: it does not.
    #[serde(default)]
    pub gc_idle_free_share: f64,
    /// Time without a command after which that begins.
    #[serde(default)]
    pub gc_idle_after_us: f64,
    /// Erase cycles by which a superblock of data that nobody overwrites may lag behind the most worn one before
    /// its data is moved. 0: any number.
    #[serde(default)]
    pub wear_spread_max: u32,
    /// Rated program/erase cycles. 0: not known.
    #[serde(default)]
    pub rated_pe_cycles: u32,

    /// SLC cache of the whole drive, on top of the ordinary space. 0: it has none.
    #[serde(default)]
    pub slc_bytes: u64,
    /// Programming a page of every plane in SLC mode.
    #[serde(default)]
    pub slc_program_us: f64,

    /// Placement handles, each a stream of host writes; a reclaim unit is a superblock. A write with
    /// a handle that there is not fails. 1: a drive without placement.
    #[serde(default = "one")]
    pub placement_handles: u32,
    /// Reclaim groups: the dies are split evenly, and each group is filled and cleaned by itself. Every handle
    /// has a reclaim unit in each; what a job names as `n` is handle n / groups in group n % groups.
    #[serde(default = "one")]
    pub reclaim_groups: u32,
    /// A reclaim unit: so many whole erase units of every die of its group. 0: one of each.
    #[serde(default)]
    pub reclaim_unit_bytes: u64,
    /// Isolation of the handles.
    #[serde(default)]
    pub placement_isolation: Isolation,

    /// Namespaces, one behind the other: how many equal ones, or the percentages of the drive that they
    /// have, `50+25+25`. With as many placement handles or more each has its share of them to itself.
    #[serde(default = "one_namespace")]
    pub namespaces: String,
    /// The namespace that jobs address, from 1; the others stay as they are. 0: all, one behind the other.
    #[serde(default)]
    pub namespace: u32,

    /// A zoned namespace (NVMe ZNS): from the start of a zone to the next one's. 0: pages are mapped.
    #[serde(default)]
    pub zone_bytes: u64,
    /// Bytes of a zone that can be written: whole programming units of its dies. 0: as many as fit.
    #[serde(default)]
    pub zone_capacity_bytes: u64,
    /// Dies over which a zone is striped. 0: all.
    #[serde(default)]
    pub zone_dies: u32,
    /// What finishing a zone programs.
    #[serde(default)]
    pub zone_finish: ZoneFinish,
    /// Most zones open at once; one more closes the one used longest ago. 0: no limit.
    #[serde(default)]
    pub max_open_zones: u32,
    /// Most zones open or closed; one more is refused. 0: no limit.
    #[serde(default)]
    pub max_active_zones: u32,

    /// What one entry of the page map stands for: a write of part of it reads the rest and programs all of it.
    #[serde(default = "default_indirection_unit")]
    pub indirection_unit_bytes: u32,

    /// The page map is written to flash after each such number of bytes of host writes (of the whole
    /// drive), as far as they have changed it. 0: never.
    #[serde(default)]
    pub map_flush_bytes: u64,
    /// Map pages written for each page of host data while that lasts.
    #[serde(default = "default_flush_share")]
    pub map_flush_share: f64,

    /// Power with no I/O.
    pub idle_w: f64,
    /// Energy of a command in the controller.
    pub command_uj: f64,
    /// Energy per byte over the PCIe link, either way, with its path through the controller.
    pub link_nj_per_byte: f64,
    /// Energy per byte over a flash channel.
    pub channel_nj_per_byte: f64,
    /// Energy of one page sense on one plane.
    pub read_sense_uj: f64,
    /// Energy of programming one unit.
    pub program_uj: f64,
    /// Energy of erasing one unit.
    pub erase_uj: f64,
    /// Most power of each NVMe power state, W, that of state 0 first: `25+14+10`. `none`: they are not known.
    #[serde(default = "no_power_states")]
    pub power_states: String,
    /// The state in force.
    #[serde(default)]
    pub power_state: u32,
    /// A cap on the power over a millisecond or more, beside that of the state in force. 0: none.
    #[serde(default)]
    pub power_cap_w: f64,
    /// Time without a command after which the drive goes to a non-operational power state by itself (ITPT). 0: never.
    #[serde(default)]
    pub idle_state_after_us: f64,
    /// Time to get there (ENLAT), which a command that comes meanwhile waits for.
    #[serde(default)]
    pub idle_state_entry_us: f64,
    /// Time to come back for a command (EXLAT).
    #[serde(default)]
    pub idle_state_exit_us: f64,
    /// Power there (IDLP), in place of `idle_w`.
    #[serde(default)]
    pub idle_state_w: f64,
    /// Air temperature.
    #[serde(default = "default_ambient")]
    pub ambient_c: f64,
    /// From the drive to the air. 0: no temperature is modelled.
    #[serde(default)]
    pub thermal_resistance_c_per_w: f64,
    /// Heat capacity of the drive with its case.
    #[serde(default)]
    pub thermal_capacity_j_per_c: f64,
    /// Composite temperature from which on the drive throttles. 0: it never does.
    #[serde(default)]
    pub throttle_above_c: f64,
    /// Composite temperature below which it no longer does.
    #[serde(default)]
    pub throttle_below_c: f64,
    /// Cap on the power while it throttles.
    #[serde(default)]
    pub throttle_cap_w: f64,

    /// The bench.
    pub host: HostParams,
}

fn one_namespace() -> String {
    "1".into()
}

fn no_power_states() -> String {
    "none".into()
}

const fn default_choices() -> u32 {
    10
}

const fn one() -> u32 {
    1
}

/// Entries of an NVMe queue, more than any load here has in flight.
const fn default_slots() -> u32 {
    65_535
}

const fn default_indirection_unit() -> u32 {
    UNIT_BYTES
}

fn default_flush_share() -> f64 {
    1.0
}

/// A data centre's inlet.
const fn default_ambient() -> f64 {
    25.0
}

const fn default_payload() -> u32 {
    512
}

const fn default_overhead() -> u32 {
    24
}

/// Bytes of a mapped unit.
pub const UNIT_BYTES: u32 = 4096;

impl SsdParams {
    /// Parses the JSON form: one object, `host` nested.
    ///
    /// # Errors
    /// Unknown or missing keys, wrong types, with their position.
    pub fn from_json(text: &str) -> Result<Self, ParamError> {
        serde_json::from_str(text).map_err(|error| ParamError {
            name: "document",
            message: error.to_string(),
        })
    }

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

    /// The zones of the slice; `None` for a drive without.
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

    /// The cap that holds, W: the lower of the state's and the one beside it; infinite without one.
    pub fn cap_w(&self) -> f64 {
        let states = numbers(&self.power_states).unwrap_or_default();
        let of_state = states.get(self.power_state as usize).copied();
        let beside = (self.power_cap_w > 0.0).then_some(self.power_cap_w);
        of_state
            .into_iter()
            .chain(beside)
            .fold(f64::INFINITY, f64::min)
    }

    /// What writes can name: every handle in every reclaim group.
    pub const fn placements(&self) -> u32 {
        self.placement_handles * self.reclaim_groups
    }

    /// Erase units that a superblock has on each of its dies.
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

    /// All streams.
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

    /// Checks every value and their relations.
    ///
    /// # Errors
    /// The first value that cannot be simulated.
    pub fn check(&self) -> Result<(), ParamError> {
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
        self.check_link()?;
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
            return fail("channel_parity_ratio", "must be at least 1".into());
        }
        if self.over_provisioning < 0.01 {
            return fail(
                "over_provisioning",
                format!("{} is below 0.01", self.over_provisioning),
            );
        }
        self.check_power()?;
        self.check_zones()?;
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
        if self.slc_bytes > 0 && (self.slc_program_us == 0.0 || self.pages_per_program == 1) {
            return fail(
                "slc_bytes",
                "an SLC cache needs slc_program_us, and pages_per_program above 1".into(),
            );
        }
        self.check_placement()?;
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
                    "{} is no multiple of {row_bytes}, an erase unit of each of a group's {} dies",
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
        let of_idle_state = [
            ("idle_state_entry_us", self.idle_state_entry_us),
            ("idle_state_exit_us", self.idle_state_exit_us),
            ("idle_state_w", self.idle_state_w),
        ];
        if self.idle_state_after_us == 0.0
            && let Some((name, value)) = of_idle_state.into_iter().find(|(_, value)| *value > 0.0)
        {
            return fail(
                name,
                format!("{value} has no effect without idle_state_after_us"),
            );
        }
        if self.idle_state_w > floor {
            return fail(
                "idle_state_w",
                format!("{} is above idle_w, {floor}", self.idle_state_w),
            );
        }
        if self.thermal_resistance_c_per_w == 0.0 {
            return Ok(());
        }
        if self.thermal_capacity_j_per_c <= 0.0 {
            return fail(
                "thermal_capacity_j_per_c",
                "a drive with a thermal resistance needs one above 0".into(),
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
                    "{} is no multiple of {row_bytes}, a programming unit of each of {} dies, up to zone_bytes, {}",
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
                format!("{} is no multiple of 4096 below 4 GiB", zones.zone_bytes),
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
            Some((name, _)) => fail(name, "a zoned drive has no page map for it".into()),
            None => Ok(()),
        }
    }

    fn check_link(&self) -> Result<(), ParamError> {
        match (self.pcie_generation, self.pcie_lanes, self.sata_gbps > 0.0) {
            (3..=6, 1..=16, false) | (0, 0, true) => Ok(()),
            (_, _, true) => fail("sata_gbps", "a drive has PCIe or SATA, not both".into()),
            (3..=6, lanes, false) => fail("pcie_lanes", format!("{lanes} is not within 1 to 16")),
            (generation, _, false) => fail(
                "pcie_generation",
                format!("{generation} is not within 3 to 6"),
            ),
        }
    }

    fn counts(&self) -> [(&'static str, u64, u64, u64); 27] {
        let n = u64::from;
        [
            ("capacity_bytes", self.capacity_bytes, 1 << 22, 1 << 43),
            ("slice_denominator", n(self.slice_denominator), 1, 65_536),
            ("command_slots", n(self.command_slots), 1, 65_535),
            ("gc_ahead_bytes", self.gc_ahead_bytes, 0, 1 << 40),
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

    fn quantities(&self) -> [(&'static str, f64, f64); 48] {
        let host = &self.host;
        [
            ("command_ns", self.command_ns, 1e6),
            ("read_unit_ns", self.read_unit_ns, 1e6),
            ("write_unit_ns", self.write_unit_ns, 1e6),
            ("command_latency_us", self.command_latency_us, 1e5),
            ("dram_read_us", self.dram_read_us, 1e5),
            ("write_ack_us", self.write_ack_us, 1e5),
            ("channel_mts", self.channel_mts, 1e6),
            ("channel_command_ns", self.channel_command_ns, 1e6),
            ("channel_parity_ratio", self.channel_parity_ratio, 2.0),
            ("read_sense_us", self.read_sense_us, 1e5),
            ("read_sense_spread", self.read_sense_spread, 0.99),
            ("ecc_us", self.ecc_us, 1e5),
            ("program_us", self.program_us, 1e6),
            ("erase_us", self.erase_us, 1e6),
            ("suspend_us", self.suspend_us, 1e5),
            ("program_min_run_us", self.program_min_run_us, 1e6),
            ("program_max_wait_us", self.program_max_wait_us, 1e6),
            ("over_provisioning", self.over_provisioning, 4.0),
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
            ("gc_idle_free_share", self.gc_idle_free_share, 1.0),
            ("gc_idle_after_us", self.gc_idle_after_us, 1e9),
            ("power_cap_w", self.power_cap_w, 1e3),
            ("idle_state_after_us", self.idle_state_after_us, 1e12),
            ("idle_state_entry_us", self.idle_state_entry_us, 1e9),
            ("idle_state_exit_us", self.idle_state_exit_us, 1e9),
            ("idle_state_w", self.idle_state_w, 1e3),
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

/// Numbers above 0 that are joined by `+`.
fn numbers(text: &str) -> Option<Vec<f64>> {
    let numbers = text.split('+').map(|number| number.parse::<f64>().ok());
    numbers
        .map(|number| number.filter(|&number| number > 0.0 && number.is_finite()))
        .collect()
}

/// An error about one parameter.
pub fn fail<T>(name: &'static str, message: String) -> Result<T, ParamError> {
    Err(ParamError { name, message })
}
