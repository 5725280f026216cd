//! The parameters of a simulated disk: plain values with their units in their names, checked once.
//! Where each value of a catalogue drive comes from is said in its TOML file.

use serde::{Deserialize, Serialize};

use crate::device::params::{HostParams, ParamError, fail};
use crate::device::zones::ZoneModel;

/// How tracks lie to each other, and who keeps the order that this asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tracks {
    /// Side by side: every sector can be rewritten.
    #[default]
    Conventional,
    /// Shingled; the host writes each zone in order and is refused otherwise.
    HostManaged,
    /// Shingled; the drive takes any write and puts it in order by itself, by way of a media cache.
    DriveManaged,
}

/// Which queued command is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// Shortest positioning time (seek and rotation) first, with ageing.
    #[default]
    Sptf,
    /// In the order of arrival: for checks against closed forms.
    Fcfs,
}

/// One disk drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskParams {
    /// User capacity.
    pub capacity_bytes: u64,
    /// Logical block.
    pub block_bytes: u32,

    /// Turns per minute.
    pub rpm: u32,
    /// Recording surfaces, a head each.
    pub heads: u32,
    /// Recording zones: groups of cylinders with equally many sectors on a track.
    pub recording_zones: u32,
    /// Sustained rate in the outermost zone, track and head switches included, 10^6 B/s.
    pub outer_mbps: f64,
    /// Sustained rate in the innermost zone over that in the outermost.
    pub inner_outer_ratio: f64,
    /// Tracks that one head fills before the next goes on.
    pub tracks_per_head: u32,
    /// Time to follow on at the next track of the same surface; the skew between tracks.
    pub track_switch_us: f64,
    /// Time to settle on another surface; the skew there.
    pub head_switch_us: f64,

    /// Seek to the next cylinder, to read.
    pub seek_track_read_us: f64,
    /// The same, to write.
    pub seek_track_write_us: f64,
    /// Mean seek between independent, uniformly drawn cylinders, to read.
    pub seek_average_read_us: f64,
    /// The same, to write.
    pub seek_average_write_us: f64,
    /// Distance, as a share of the stroke, beyond which the arm moves at full speed.
    pub seek_knee: f64,
    /// From the choice of a command to the start of its seek.
    pub setup_us: f64,

    /// Rate of the interface after coding and framing, 10^6 B/s.
    pub interface_mbps: f64,
    /// Time a command occupies the controller.
    pub command_us: f64,
    /// Commands that the drive holds at once (NCQ: 32); more wait in the host.
    pub queue_depth: u32,
    /// Which queued command is next.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// Positioning time that a command is forgiven for each unit of time it has waited.
    pub ageing: f64,

    /// Written data that the cache holds. 0: writes are acknowledged from the medium.
    pub write_cache_bytes: u64,
    /// Separate ranges of written data that the cache can keep track of.
    pub write_cache_extents: u32,
    /// Ranges, in the order of addresses from the arm on, among which the next to be written is chosen.
    pub destage_window: u32,
    /// Ranges of read data that are kept.
    pub read_segments: u32,
    /// Bytes that are read ahead of a request while nothing else is asked for. 0: none.
    pub read_ahead_bytes: u64,
    /// Bytes that are read ahead of a sequential stream before others have their turn.
    pub read_ahead_least_bytes: u64,

    /// How tracks lie to each other.
    #[serde(default)]
    pub tracks: Tracks,
    /// Host-managed: bytes of a zone. Drive-managed: bytes of a band, at most half the write cache.
    #[serde(default)]
    pub zone_bytes: u64,
    /// Drive-managed: log for writes out of order, in the innermost tracks, besides the capacity.
    #[serde(default)]
    pub media_cache_bytes: u64,
    /// Drive-managed: time without a command after which bands are cleaned.
    #[serde(default)]
    pub media_cache_idle_ms: f64,
    /// Host-managed: share of the capacity, from its start, in conventional zones.
    #[serde(default)]
    pub conventional_share: f64,
    /// Host-managed: most zones open at once; one more closes the one used longest ago. 0: no limit.
    #[serde(default)]
    pub max_open_zones: u32,
    /// Host-managed: most zones partly written; one more is refused. 0: no limit.
    #[serde(default)]
    pub max_active_zones: u32,
    /// Random writes to the medium after which a track must be rewritten, because its neighbours were
    /// written so often. 0: never. Finer records of it in flash (OptiNAND) put it off.
    #[serde(default)]
    pub refresh_after_writes: u32,

    /// Power while turning with the arm at rest.
    pub idle_w: f64,
    /// Added while the arm moves.
    pub seek_w: f64,
    /// Added while data passes the heads.
    pub transfer_w: f64,
    /// Energy per byte over the interface and through the controller.
    pub link_nj_per_byte: f64,

    /// The bench.
    pub host: HostParams,
}

impl DiskParams {
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

    /// Returns the zones of a host-managed disk.
    pub fn zone_model(&self) -> ZoneModel {
        let zones = self.capacity_bytes.div_ceil(self.zone_bytes) as u32;
        ZoneModel {
            zone_bytes: self.zone_bytes,
            zone_capacity_bytes: self.zone_bytes,
            zones,
            conventional: (f64::from(zones) * self.conventional_share).round() as u32,
            max_open: self.max_open_zones,
            max_active: self.max_active_zones,
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
        for (name, value, low, high) in self.quantities() {
            if !(value.is_finite() && (low..=high).contains(&value)) {
                return fail(name, format!("{value} is not within {low} to {high}"));
            }
        }
        if self.block_bytes != 512 && self.block_bytes != 4096 {
            return fail(
                "block_bytes",
                format!("{} is neither 512 nor 4096", self.block_bytes),
            );
        }
        for (name, average_us, track_us) in [
            (
                "seek_average_read_us",
                self.seek_average_read_us,
                self.seek_track_read_us,
            ),
            (
                "seek_average_write_us",
                self.seek_average_write_us,
                self.seek_track_write_us,
            ),
        ] {
            if average_us < track_us {
                return fail(
                    name,
                    format!("{average_us} is below the {track_us} of one track"),
                );
            }
        }
        let shingled = self.tracks != Tracks::Conventional;
        if shingled && (self.zone_bytes < 1 << 20 || !self.zone_bytes.is_multiple_of(4096)) {
            return fail(
                "zone_bytes",
                format!(
                    "{} is not a multiple of 4096 of at least 1 MiB",
                    self.zone_bytes
                ),
            );
        }
        let most_bytes = self.write_cache_bytes / 2;
        if self.tracks == Tracks::DriveManaged {
            if self.zone_bytes > most_bytes {
                let message = format!(
                    "a band of {} is above half the write cache",
                    self.zone_bytes
                );
                return fail("zone_bytes", message);
            }
            if self.media_cache_bytes < self.write_cache_bytes {
                let message = format!("{} is below the write cache", self.media_cache_bytes);
                return fail("media_cache_bytes", message);
            }
        }
        Ok(())
    }

    fn counts(&self) -> [(&'static str, u64, u64, u64); 14] {
        let n = u64::from;
        [
            ("capacity_bytes", self.capacity_bytes, 1 << 30, 1 << 47),
            ("rpm", n(self.rpm), 3600, 20_000),
            ("heads", n(self.heads), 1, 64),
            ("recording_zones", n(self.recording_zones), 1, 1024),
            ("tracks_per_head", n(self.tracks_per_head), 1, 10_000),
            ("queue_depth", n(self.queue_depth), 1, 1024),
            (
                "write_cache_extents",
                n(self.write_cache_extents),
                1,
                1 << 20,
            ),
            ("destage_window", n(self.destage_window), 1, 1024),
            ("read_segments", n(self.read_segments), 1, 1024),
            ("write_cache_bytes", self.write_cache_bytes, 0, 1 << 40),
            ("read_ahead_bytes", self.read_ahead_bytes, 0, 1 << 40),
            ("media_cache_bytes", self.media_cache_bytes, 0, 1 << 44),
            (
                "read_ahead_least_bytes",
                self.read_ahead_least_bytes,
                0,
                self.read_ahead_bytes,
            ),
            ("cores", n(self.host.cores), 1, 4096),
        ]
    }

    fn quantities(&self) -> [(&'static str, f64, f64, f64); 21] {
        let host = &self.host;
        [
            ("outer_mbps", self.outer_mbps, 1.0, 2000.0),
            ("inner_outer_ratio", self.inner_outer_ratio, 0.1, 1.0),
            ("track_switch_us", self.track_switch_us, 0.0, 1e5),
            ("head_switch_us", self.head_switch_us, 0.0, 1e5),
            ("seek_track_read_us", self.seek_track_read_us, 0.0, 1e5),
            ("seek_track_write_us", self.seek_track_write_us, 0.0, 1e5),
            ("seek_average_read_us", self.seek_average_read_us, 0.0, 1e5),
            (
                "seek_average_write_us",
                self.seek_average_write_us,
                0.0,
                1e5,
            ),
            ("seek_knee", self.seek_knee, 0.01, 1.0),
            ("setup_us", self.setup_us, 0.0, 1e5),
            ("interface_mbps", self.interface_mbps, 1.0, 1e5),
            ("command_us", self.command_us, 0.0, 1e5),
            ("ageing", self.ageing, 0.0, 10.0),
            ("conventional_share", self.conventional_share, 0.0, 1.0),
            ("media_cache_idle_ms", self.media_cache_idle_ms, 0.0, 1e7),
            ("idle_w", self.idle_w, 0.0, 100.0),
            ("seek_w", self.seek_w, 0.0, 100.0),
            ("transfer_w", self.transfer_w, 0.0, 100.0),
            ("link_nj_per_byte", self.link_nj_per_byte, 0.0, 1e3),
            ("submit_us", host.submit_us, 0.0, 1e5),
            ("complete_us", host.complete_us, 0.0, 1e5),
        ]
    }
}
