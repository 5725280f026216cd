//! Where a byte lies: recording zone, cylinder, head and angle. Addresses run from the outer to the
//! inner diameter; inside a zone one head fills some tracks, then the next head goes back over the
//! same cylinders (serpentine), so that a head switch needs no long seek. Spare sectors and defects are
//! left out.
//!
//! Everything is one function: the *streaming time* of a byte, at which a head that started at
//! address 0 and never lost a turn would meet it. Skews are part of it, so its remainder by the turn
//! is the angle of the byte, and a difference of two is the time to pass over what lies between.

use super::DiskParams;
use crate::event::us_to_ns;

/// Where a byte lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Counted from the outer diameter.
    pub cylinder: u32,
    /// Surface.
    pub head: u32,
    /// Streaming time.
    pub stream_ns: u64,
    /// Its remainder by the turn: where on the track.
    pub angle_ns: u64,
}

struct Zone {
    first_byte: u64,
    first_cylinder: u32,
    first_ns: u64,
    track_bytes: u64,
    tracks_per_byte: f64,
    ns_per_byte: f64,
}

impl Zone {
    /// Whole tracks in so many bytes: a division that costs a multiplication.
    #[inline]
    fn tracks(&self, bytes: u64) -> u64 {
        let near = (bytes as f64 * self.tracks_per_byte) as u64;
        let first = near * self.track_bytes;
        near + u64::from(first + self.track_bytes <= bytes) - u64::from(first > bytes)
    }
}

/// The address map of a disk.
pub struct Layout {
    zones: Vec<Zone>,
    /// Of one turn.
    pub turn_ns: u64,
    /// From the outermost to the innermost.
    pub cylinders: u32,
    heads: u64,
    run: u64,
    track_ns: u64,
    switch_ns: u64,
}

impl Layout {
    /// Lays the capacity out. Track lengths follow from the sustained rate: a track passes in a turn
    /// and a skew. They shrink linearly with the radius, as constant density along a track asks for.
    pub fn new(params: &DiskParams) -> Self {
        let turn_ns = (60e9 / f64::from(params.rpm)).round() as u64;
        let (heads, run) = (u64::from(params.heads), u64::from(params.tracks_per_head));
        let track_ns = turn_ns + us_to_ns(params.track_switch_us);
        let switch_ns = turn_ns + us_to_ns(params.head_switch_us);
        let mean_ns =
            track_ns as f64 + (switch_ns as f64 - track_ns as f64) / params.tracks_per_head as f64;
        let outer_bytes = params.outer_mbps * 1e6 * mean_ns / 1e9;
        let count = params.recording_zones;
        let inward = |zone: u32| f64::from(zone) / f64::from(count.max(2) - 1);
        let track_bytes: Vec<u64> = (0..count)
            .map(|zone| {
                let length = outer_bytes * (1.0 - (1.0 - params.inner_outer_ratio) * inward(zone));
                (length / 4096.0).round() as u64 * 4096
            })
            .collect();
        let cylinder_bytes = track_bytes.iter().sum::<u64>() * heads;
        let zone_cylinders = (params.capacity_bytes + params.media_cache_bytes)
            .div_ceil(cylinder_bytes)
            .next_multiple_of(run);
        let tracks = zone_cylinders * heads;
        let zone_ns = tracks * track_ns + tracks / run * switch_ns - tracks / run * track_ns;
        let mut first_byte = 0;
        let zones = track_bytes
            .into_iter()
            .enumerate()
            .map(|(index, track_bytes)| {
                let zone = Zone {
                    first_byte,
                    first_cylinder: index as u32 * zone_cylinders as u32,
                    first_ns: index as u64 * zone_ns,
                    track_bytes,
                    tracks_per_byte: 1.0 / track_bytes as f64,
                    ns_per_byte: turn_ns as f64 / track_bytes as f64,
                };
                first_byte += tracks * track_bytes;
                zone
            })
            .collect();
        Self {
            zones,
            turn_ns,
            cylinders: count * zone_cylinders as u32,
            heads,
            run,
            track_ns,
            switch_ns,
        }
    }

    #[inline]
    fn zone(&self, byte: u64) -> &Zone {
        let after = self.zones.partition_point(|zone| zone.first_byte <= byte);
        &self.zones[after - 1]
    }

    /// Streaming time of a byte.
    #[inline]
    pub fn stream_ns(&self, byte: u64) -> u64 {
        let zone = self.zone(byte);
        self.stream_in(zone, byte - zone.first_byte).0
    }

    #[inline]
    fn stream_in(&self, zone: &Zone, byte: u64) -> (u64, u64) {
        let track = zone.tracks(byte);
        let along_ns = (byte - track * zone.track_bytes) as f64 * zone.ns_per_byte;
        let switches = track / self.run;
        let before_ns = (track - switches) * self.track_ns + switches * self.switch_ns;
        (zone.first_ns + before_ns + along_ns as u64, track)
    }

    /// Where a byte lies.
    #[inline]
    pub fn place(&self, byte: u64) -> Place {
        let zone = self.zone(byte);
        let (stream_ns, track) = self.stream_in(zone, byte - zone.first_byte);
        let (runs, along) = (track / self.run, track % self.run);
        let (sweep, head) = (runs / self.heads, runs % self.heads);
        let along = if head % 2 == 0 {
            along
        } else {
            self.run - 1 - along
        };
        Place {
            cylinder: zone.first_cylinder + (sweep * self.run + along) as u32,
            head: head as u32,
            stream_ns,
            angle_ns: stream_ns % self.turn_ns,
        }
    }

    /// Bytes that pass a head in `elapsed_ns` from `byte` on, at the mean rate of its zone.
    #[inline]
    pub fn bytes_in(&self, byte: u64, elapsed_ns: u64) -> u64 {
        let zone = self.zone(byte);
        let bytes = elapsed_ns as f64 * zone.track_bytes as f64 / self.track_ns as f64;
        bytes as u64 / 4096 * 4096
    }

    /// Wait until a place comes round for a head that is over `head_ns` of a turn, or of a later one.
    #[inline]
    pub fn wait_ns(&self, head_ns: u64, to: &Place) -> u64 {
        let mut angle_ns = to.angle_ns;
        while angle_ns < head_ns {
            angle_ns += self.turn_ns;
        }
        angle_ns - head_ns
    }
}
