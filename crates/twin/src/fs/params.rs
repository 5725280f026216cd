//! What a file system and its page cache are set to. The defaults are the kernel's and mkfs's own;
//! what each does and where its value is from stands with it.

use serde::{Deserialize, Serialize};

use crate::device::params::{ParamError, fail};
use crate::device::zones::ZoneModel;

/// How changed data is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Over the old data, as XFS and ext4 do.
    InPlace,
    /// In free space; the old data is free after the next commit, as btrfs does.
    CopyOnWrite,
}

/// A file system over a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FsParams {
    /// Where changed data goes.
    pub placement: Placement,
    /// Zones are written in order and reset; 0: an ordinary device.
    pub zone_bytes: u64,
    /// Conventional zones, at the start of the device: for metadata, written anywhere and never reset.
    #[serde(default)]
    pub conventional_bytes: u64,
    /// Contiguous space for data that is set aside at a time. It is btrfs's data chunk (1 GiB), ext4's block group (128
    /// MiB) or XFS's allocation group. The last is a quarter of the device, at most 1 TiB. On a small device it is at
    /// most a tenth of it, btrfs's own rule.
    pub group_bytes: u64,
    /// Longest extent that one write-back makes (btrfs `BTRFS_MAX_EXTENT_SIZE` and ext4: 128 MiB).
    pub extent_bytes: u64,
    /// From the first change to the commit (btrfs `commit=30`, ext4 `commit=5`, XFS log 30 s).
    pub commit_s: f64,
    /// Copies of metadata (btrfs on one device: DUP 2, on zones 1).
    pub metadata_copies: u32,
    /// Written by a commit in place: journal descriptor, one inode block, commit block.
    pub journal_bytes: u64,

    /// Memory that the page cache may take: the host's, shared by its drives.
    pub memory_bytes: u64,
    /// Share of it that may be dirty before writers wait (`vm.dirty_ratio` 20 %).
    pub dirty_ratio: f64,
    /// Share from which write-back runs in the background (`vm.dirty_background_ratio` 10 %).
    pub dirty_background_ratio: f64,
    /// Dirty data older than this is written (`vm.dirty_expire_centisecs` 3000).
    pub dirty_expire_s: f64,
    /// How often the cache looks (`vm.dirty_writeback_centisecs` 500).
    pub dirty_writeback_s: f64,
    /// Read ahead of a sequential reader (`read_ahead_kb` 128; btrfs: 4 MiB).
    pub read_ahead_bytes: u64,
    /// Largest I/O of the block layer (`max_sectors_kb` 1280).
    pub io_bytes: u64,
    /// I/O at the device at once (SATA NCQ 32; NVMe 1023).
    pub queue_depth: u32,
    /// Between user and page cache, one core.
    pub copy_mbps: f64,
    /// Time per page of a hole that is punched or zeroed, one hole of a file at a time; an assumption.
    #[serde(default = "default_hole_page_ns")]
    pub hole_page_ns: f64,
}

/// A page looked up and dropped from the page cache, and its extent cut.
const fn default_hole_page_ns() -> f64 {
    10.0
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

impl FsParams {
    /// Returns a preset: `btrfs`, `xfs` or `ext4` with the defaults of Linux 5.16, the kernel of the
    /// published comparison. `rotational`: a disk.
    ///
    /// # Errors
    /// Another name.
    pub fn preset(name: &str, rotational: bool) -> Result<Self, ParamError> {
        let common = Self {
            placement: Placement::InPlace,
            zone_bytes: 0,
            conventional_bytes: 0,
            group_bytes: 128 * MIB,
            extent_bytes: 128 * MIB,
            commit_s: 5.0,
            metadata_copies: 1,
            journal_bytes: 12 << 10,
            // 8 x 32 GB in the published server, eight drives.
            memory_bytes: 32 * GIB,
            dirty_ratio: 0.20,
            dirty_background_ratio: 0.10,
            dirty_expire_s: 30.0,
            dirty_writeback_s: 5.0,
            read_ahead_bytes: 128 << 10,
            io_bytes: 1280 << 10,
            queue_depth: if rotational { 32 } else { 1023 },
            copy_mbps: 10_000.0,
            hole_page_ns: default_hole_page_ns(),
        };
        match name {
            "ext4" => Ok(common),
            "xfs" => Ok(Self {
                group_bytes: 1 << 40,
                commit_s: 30.0,
                ..common
            }),
            "btrfs" => Ok(Self {
                placement: Placement::CopyOnWrite,
                group_bytes: GIB,
                commit_s: 30.0,
                // btrfs-progs 5.15: DUP everywhere but on zones.
                metadata_copies: 2,
                read_ahead_bytes: 4 * MIB,
                ..common
            }),
            "btrfs-zoned" => Ok(Self {
                zone_bytes: 256 * MIB,
                metadata_copies: 1,
                ..Self::preset("btrfs", rotational)?
            }),
            _ => fail(
                "file_system",
                format!("{name:?} is none of btrfs, btrfs-zoned, xfs, ext4"),
            ),
        }
    }

    /// The same on a host-managed disk. XFS and ext4 write in place and cannot be made on one.
    ///
    /// # Errors
    /// A file system without support for zones.
    pub fn on_zones(self, zones: &ZoneModel) -> Result<Self, ParamError> {
        if self.placement == Placement::InPlace {
            return fail(
                "file_system",
                "a host-managed disk takes no writes in place: take btrfs",
            );
        }
        if zones.zone_capacity_bytes < zones.zone_bytes {
            return fail(
                "file_system",
                format!(
                    "zones of {} bytes with a capacity of {} are not modelled under a file system: take zones without a gap",
                    zones.zone_bytes, zones.zone_capacity_bytes
                ),
            );
        }
        Ok(Self {
            zone_bytes: zones.zone_bytes,
            conventional_bytes: u64::from(zones.conventional) * zones.zone_bytes,
            metadata_copies: 1,
            ..self
        })
    }

    /// Parses the JSON form.
    ///
    /// # Errors
    /// Unknown or missing keys, wrong types, with their position.
    pub fn from_json(text: &str) -> Result<Self, ParamError> {
        serde_json::from_str(text).map_err(|error| ParamError {
            name: "document",
            message: error.to_string(),
        })
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first that cannot be simulated.
    pub fn check(&self) -> Result<(), ParamError> {
        let block = super::BLOCK_BYTES;
        for (name, bytes, least) in [
            ("group_bytes", self.group_bytes, block),
            ("extent_bytes", self.extent_bytes, block),
            ("io_bytes", self.io_bytes, block),
            ("memory_bytes", self.memory_bytes, MIB),
        ] {
            if bytes < least || !bytes.is_multiple_of(block) || bytes > 1 << 50 {
                return fail(
                    name,
                    format!("{bytes} is not a multiple of {block} from {least} to 2^50"),
                );
            }
        }
        for (name, bytes) in [("io_bytes", self.io_bytes), ("zone_bytes", self.zone_bytes)] {
            if bytes > 2 * GIB {
                return fail(name, format!("{bytes} is above 2 GiB"));
            }
        }
        for (name, bytes) in [
            ("zone_bytes", self.zone_bytes),
            ("conventional_bytes", self.conventional_bytes),
            ("read_ahead_bytes", self.read_ahead_bytes),
            ("journal_bytes", self.journal_bytes),
        ] {
            if !bytes.is_multiple_of(block) {
                return fail(name, format!("{bytes} is not a multiple of {block}"));
            }
        }
        if self.zone_bytes > 0 && self.placement == Placement::InPlace {
            return fail(
                "zone_bytes",
                "zones cannot be overwritten in place: take btrfs",
            );
        }
        for (name, value, high) in [
            ("commit_s", self.commit_s, 3600.0),
            ("dirty_ratio", self.dirty_ratio, 1.0),
            (
                "dirty_background_ratio",
                self.dirty_background_ratio,
                self.dirty_ratio,
            ),
            ("dirty_expire_s", self.dirty_expire_s, 3600.0),
            ("dirty_writeback_s", self.dirty_writeback_s, 3600.0),
            ("copy_mbps", self.copy_mbps, 1e7),
        ] {
            if !(value > 0.0 && value <= high) {
                return fail(name, format!("{value} is not above 0 and at most {high}"));
            }
        }
        if !(0.0..=1e6).contains(&self.hole_page_ns) {
            let page_ns = self.hole_page_ns;
            return fail(
                "hole_page_ns",
                format!("{page_ns} is not within 0 to 1000000"),
            );
        }
        if !(1..=65_536).contains(&self.queue_depth) || self.metadata_copies > 4 {
            let (depth, copies) = (self.queue_depth, self.metadata_copies);
            return fail(
                "queue_depth",
                format!(
                    "{depth} is not within 1 to 65536, or {copies} metadata_copies are above 4"
                ),
            );
        }
        Ok(())
    }
}
