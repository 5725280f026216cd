//! Where a byte lies: recording zone, cylinder, head and angle. Addresses run from the outer to the inner diameter.
//! Inside a zone one head fills some tracks, then the next head goes back over the same cylinders (serpentine). So a
//! head switch needs no long seek. Spare sectors and defects are left out.
//!
//! Everything is one function: the *streaming time* of a byte. A head that started at address 0 and never lost a turn
//! would meet the byte then. Skews are part of it, so its remainder by the turn is the byte's angle. A difference of
//! two is the time to pass over what lies between.

use super::DiskParams;
use crate::sim::event::us_to_ns;

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

/// What is divided by often: a division that costs a multiplication. Exact up to quotients of 2^50.
#[derive(Clone, Copy)]
struct Divisor {
    value: u64,
    inverse: f64,
}

impl Divisor {
    fn new(value: u64) -> Self {
        Self {
            value,
            inverse: 1.0 / value as f64,
        }
    }

    /// Returns quotient and remainder.
    #[inline]
    fn divide(self, number: u64) -> (u64, u64) {
        let near = (number as i64 as f64 * self.inverse) as i64 as u64;
        let first = near * self.value;
        let quotient = near + u64::from(first + self.value <= number) - u64::from(first > number);
        (quotient, number - quotient * self.value)
    }
}

/// Slots of the table that finds a zone, about.
const SLOTS_LOG2: u32 = 9;

#[derive(Clone)]
struct Zone {
    first_byte: u64,
    first_cylinder: u32,
    first_ns: u64,
    track_bytes: Divisor,
    ns_per_byte: f64,
}

/// The address map of a disk.
#[derive(Clone)]
pub struct Layout {
    zones: Vec<Zone>,
    /// The zone of the first byte in each `1 << slot_bits` bytes: a search begins there.
    slots: Vec<u32>,
    slot_bits: u32,
    /// Duration of one turn.
    pub turn_ns: u64,
    /// From the outermost to the innermost.
    pub cylinders: u32,
    turn: Divisor,
    heads: Divisor,
    run: Divisor,
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
        let zones: Vec<Zone> = track_bytes
            .into_iter()
            .enumerate()
            .map(|(index, track_bytes)| {
                let zone = Zone {
                    first_byte,
                    first_cylinder: index as u32 * zone_cylinders as u32,
                    first_ns: index as u64 * zone_ns,
                    track_bytes: Divisor::new(track_bytes),
                    ns_per_byte: turn_ns as f64 / track_bytes as f64,
                };
                first_byte += tracks * track_bytes;
                zone
            })
            .collect();
        let slot_bits = first_byte.ilog2().saturating_sub(SLOTS_LOG2);
        let slots = (0..=first_byte >> slot_bits).map(|slot| {
            let byte = slot << slot_bits;
            zones.partition_point(|zone: &Zone| zone.first_byte <= byte) as u32 - 1
        });
        Self {
            slots: slots.collect(),
            slot_bits,
            zones,
            turn_ns,
            cylinders: count * zone_cylinders as u32,
            turn: Divisor::new(turn_ns),
            heads: Divisor::new(heads),
            run: Divisor::new(run),
            track_ns,
            switch_ns,
        }
    }

    #[inline]
    fn zone(&self, byte: u64) -> &Zone {
        let slot = ((byte >> self.slot_bits) as usize).min(self.slots.len() - 1);
        let first = self.slots[slot] as usize;
        let further = self.zones[first + 1..].iter();
        let further = further.take_while(|zone| zone.first_byte <= byte).count();
        &self.zones[first + further]
    }

    /// Returns the streaming time of a byte.
    #[inline]
    pub fn stream_ns(&self, byte: u64) -> u64 {
        let zone = self.zone(byte);
        self.stream_in(zone, byte - zone.first_byte).0
    }

    /// Returns the streaming time, and the run and the track of it where a byte of a zone lies.
    #[inline]
    fn stream_in(&self, zone: &Zone, byte: u64) -> (u64, u64, u64) {
        let (track, along) = zone.track_bytes.divide(byte);
        let along_ns = along as f64 * zone.ns_per_byte;
        let (runs, track_of_run) = self.run.divide(track);
        let before_ns = (track - runs) * self.track_ns + runs * self.switch_ns;
        let stream_ns = zone.first_ns + before_ns + along_ns as u64;
        (stream_ns, runs, track_of_run)
    }

    /// Returns where a byte lies.
    #[inline]
    pub fn place(&self, byte: u64) -> Place {
        let zone = self.zone(byte);
        let (stream_ns, runs, track) = self.stream_in(zone, byte - zone.first_byte);
        let (sweep, head) = self.heads.divide(runs);
        let run = self.run.value;
        let along = if head % 2 == 0 {
            track
        } else {
            run - 1 - track
        };
        Place {
            cylinder: zone.first_cylinder + (sweep * run + along) as u32,
            head: head as u32,
            stream_ns,
            angle_ns: self.angle_ns(stream_ns),
        }
    }

    /// Returns where in its turn the disk is at a time, or the head at a streaming time.
    #[inline]
    pub fn angle_ns(&self, at_ns: u64) -> u64 {
        self.turn.divide(at_ns).1
    }

    /// Bytes that pass a head in `elapsed_ns` from `byte` on, at the mean rate of its zone.
    #[inline]
    pub fn bytes_in(&self, byte: u64, elapsed_ns: u64) -> u64 {
        let zone = self.zone(byte);
        let bytes = elapsed_ns as f64 * zone.track_bytes.value as f64 / self.track_ns as f64;
        bytes as u64 / 4096 * 4096
    }

    /// Returns the wait until a place comes round for a head that is over `head_ns` of a turn, or of a later one.
    #[inline]
    pub fn wait_ns(&self, head_ns: u64, to: &Place) -> u64 {
        let mut angle_ns = to.angle_ns;
        // Most seeks end within these turns: no branch for the processor to guess.
        for _ in 0..2 {
            angle_ns += self.turn_ns * u64::from(angle_ns < head_ns);
        }
        while angle_ns < head_ns {
            angle_ns += self.turn_ns;
        }
        angle_ns - head_ns
    }
}
