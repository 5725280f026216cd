//! The parameters of a simulated SSD and of the host that drives it: plain values with their units
//! in their names, checked once. Where each value of a catalogue device comes from is said in its
//! TOML file (`basis`, `source`); what each does is said here.

mod check;
mod derived;
mod idle_states;
mod limits;

use serde::{Deserialize, Serialize};

use crate::device::params::{HostParams, ParamError};

pub use idle_states::PerState;

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
    /// The simulated slice holds 1/N of the capacity: same dies, channels and timings, blocks 1/N as large. Blocks are
    /// never below one programming unit per die. 1 simulates the drive at full size.
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
    /// Further time per map entry that a trim or a write of zeroes deallocates, mapped or not.
    #[serde(default = "default_trim_entry_ns")]
    pub trim_entry_ns: f64,
    /// Latency through the controller that occupies nothing: fetch, decode, mapping look-up in DRAM.
    pub command_latency_us: f64,
    /// Time to answer a read from DRAM (write buffer, or a block that was never written).
    pub dram_read_us: f64,

    /// Bytes that the controller reads ahead of a sequential stream of reads. 0: none.
    #[serde(default)]
    pub read_ahead_bytes: u64,
    /// Streams that it follows at once; the one used longest ago is given up.
    #[serde(default = "default_read_ahead_streams")]
    pub read_ahead_streams: u32,
    /// Commands in the drive above which it reads nothing ahead.
    #[serde(default = "default_read_ahead_commands")]
    pub read_ahead_commands_max: u32,

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
    /// Share of reads of a die, 0..1, whose page the first sense does not bring without error. 0: none.
    #[serde(default)]
    pub read_retry_share: f64,
    /// Senses of such a page beyond the first, each with its own decoding before it.
    #[serde(default = "one")]
    pub read_retries: u32,
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
    /// Bytes that the host may write ahead of the cleaning that its writes call for. Then it waits until cleaning has
    /// caught up. 0: it waits only when no free superblock is left.
    #[serde(default)]
    pub gc_ahead_bytes: u64,
    /// Time that moving a page takes the controller besides its read and its program. It finds the owner, checks that
    /// the page is still valid, and changes the map and its journal: one page after the other. 0: none.
    #[serde(default)]
    pub gc_page_ns: f64,
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
    /// Erase cycles by which a superblock may lag behind the most worn one before its data, which nobody overwrites, is
    /// moved. 0: any number.
    #[serde(default)]
    pub wear_spread_max: u32,
    /// Rated program/erase cycles. 0: not known.
    #[serde(default)]
    pub rated_pe_cycles: u32,

    /// Share of the capacity, from its start, that was overwritten at random without end before the first job. 0: none,
    /// the drive is erased.
    #[serde(default)]
    pub settled_share: f64,

    /// SLC cache of the whole drive, on top of the ordinary space. 0: it has none.
    #[serde(default)]
    pub slc_bytes: u64,
    /// Programming a page of every plane in SLC mode.
    #[serde(default)]
    pub slc_program_us: f64,
    /// Time to sense a page of the SLC cache. 0: that of a lower page of ordinary cells.
    #[serde(default)]
    pub slc_read_us: f64,

    /// Placement handles, each a stream of host writes; a reclaim unit is a superblock. A write with
    /// a handle that there is not fails. 1: a drive without placement.
    #[serde(default = "one")]
    pub placement_handles: u32,
    /// Reclaim groups: the dies are split evenly, and each group is filled and cleaned by itself. Every handle
    /// has a reclaim unit in each; what a job names as `n` is handle n / groups in group n % groups.
    #[serde(default = "one")]
    pub reclaim_groups: u32,
    /// Size of a reclaim unit: whole erase units of every die of its group. 0: one of each.
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

    /// Bytes of host writes (to the whole drive) after which the changed parts of the page map are written to flash. 0:
    /// never.
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
    /// Each further number is the idle time there before it goes on to the next deeper state.
    #[serde(default)]
    pub idle_state_after_us: PerState,
    /// Time to get to each state (ENLAT), which a command that comes meanwhile waits for. 0: none to any.
    #[serde(default)]
    pub idle_state_entry_us: PerState,
    /// Time to come back from each state for a command (EXLAT). 0: none from any.
    #[serde(default)]
    pub idle_state_exit_us: PerState,
    /// Power in each state (IDLP), in place of `idle_w`. 0: none in any.
    #[serde(default)]
    pub idle_state_w: PerState,
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

/// Returns the slots of an NVMe drive.
const fn default_slots() -> u32 {
    MOST_SLOTS
}

/// An entry read and written in DRAM, and the valid count of its superblock lowered, by firmware.
pub(crate) const fn default_trim_entry_ns() -> f64 {
    10.0
}

/// As many as threads of a usual sequential test.
const fn default_read_ahead_streams() -> u32 {
    8
}

/// A shallow queue.
const fn default_read_ahead_commands() -> u32 {
    4
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

/// Bytes of a mapped unit.
pub const UNIT_BYTES: u32 = 4096;
/// The most commands that a drive takes at a time, which is more than hosts have in flight. An NVMe queue has at most
/// 65,536 entries, and one stays free (NVM Express Base Specification 2.0).
pub const MOST_SLOTS: u32 = 65_535;

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
}
