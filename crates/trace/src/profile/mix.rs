//! Operations, sizes, alignment, flags, latencies, and whose I/O it is.

use serde::Serialize;

use super::{histogram::Histogram, seen::Seen};
use crate::{Flags, Operation, hash::Map};

/// Different sizes that are counted by themselves; others count together.
const MOST_SIZES: usize = 4096;
/// Different processes and devices, in the same way.
const MOST_NAMES: usize = 4096;
/// Sizes, processes and devices that are reported.
const REPORTED: usize = 16;
/// Alignments of offsets: powers of two from 512 bytes to 1 MiB.
const ALIGNMENTS: [u32; 12] = [9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];
const FLAGS: usize = 5;
const BLOCK_BYTES: u64 = 4096;

/// I/Os and bytes of one name.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    ios: [u64; 4],
    bytes: [u64; 4],
}

impl Counts {
    /// A trace may claim more bytes than 2^64: they end there.
    fn add(&mut self, io: &Seen) {
        let op = io.op as usize;
        self.ios[op] += 1;
        self.bytes[op] = self.bytes[op].saturating_add(io.size_bytes);
    }
}

/// Counts so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Mix {
    all: Counts,
    sizes: [Map<u64>; 4],
    latencies: [Histogram; 4],
    aligned: [u64; ALIGNMENTS.len()],
    whole_blocks: u64,
    placed: u64,
    flags: [u64; FLAGS],
    processes: Map<Counts>,
    devices: Map<Counts>,
}

/// Latency of an operation.
#[derive(Clone, Debug, Serialize)]
struct Latency {
    count: u64,
    mean_ns: f64,
    most_ns: u64,
    /// Quantiles 50, 90, 99, 99.9 and 99.99 %.
    quantiles_ns: [Option<f64>; 5],
    buckets_ns: Vec<(f64, u64)>,
}

/// What the I/Os are.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    ios: [u64; 4],
    bytes: [u64; 4],
    /// The most frequent sizes of each operation: (bytes, I/Os).
    sizes: [Vec<(u64, u64)>; 4],
    latencies: [Option<Latency>; 4],
    /// (alignment in bytes, I/Os whose offset is a multiple of it), of those that have an offset.
    aligned: Vec<(u64, u64)>,
    /// I/Os that begin and end on 4 KiB.
    whole_blocks: u64,
    /// I/Os with an offset.
    placed: u64,
    /// I/Os with each flag, in the order of the letters.
    flags: [u64; FLAGS],
    /// (number of the name, I/Os and bytes by operation), the busiest first.
    processes: Vec<(u32, Counts)>,
    devices: Vec<(u32, Counts)>,
}

impl Mix {
    pub(super) fn add(&mut self, io: &Seen) {
        let op = io.op as usize;
        self.all.add(io);
        for (counts, name) in [
            (&mut self.processes, io.process),
            (&mut self.devices, io.device),
        ] {
            let key = u64::from(name);
            if counts.len() < MOST_NAMES || counts.contains_key(&key) {
                counts.entry(key).or_default().add(io);
            }
        }
        for (bit, count) in self.flags.iter_mut().enumerate() {
            *count += u64::from(io.flags >> bit & 1);
        }
        if let Some(latency_ns) = io.latency_ns {
            self.latencies[op].add(latency_ns);
        }
        if io.op != Operation::Flush {
            self.add_placed(io);
        }
    }

    fn add_placed(&mut self, io: &Seen) {
        let sizes = &mut self.sizes[io.op as usize];
        if sizes.len() < MOST_SIZES || sizes.contains_key(&io.size_bytes) {
            *sizes.entry(io.size_bytes).or_default() += 1;
        }
        self.placed += 1;
        let zeros = io.offset_bytes.trailing_zeros();
        for (count, bits) in self.aligned.iter_mut().zip(ALIGNMENTS) {
            *count += u64::from(zeros >= bits);
        }
        let ends = io.offset_bytes % BLOCK_BYTES + io.size_bytes % BLOCK_BYTES;
        self.whole_blocks += u64::from(ends == 0);
    }

    pub(super) fn report(&self) -> Report {
        Report {
            ios: self.all.ios,
            bytes: self.all.bytes,
            sizes: [0, 1, 2, 3].map(|op| largest(&self.sizes[op], |&ios| ios)),
            latencies: [0, 1, 2, 3].map(|op| latency(&self.latencies[op])),
            aligned: ALIGNMENTS
                .iter()
                .map(|&bits| 1 << bits)
                .zip(self.aligned)
                .collect(),
            whole_blocks: self.whole_blocks,
            placed: self.placed,
            flags: self.flags,
            processes: names(&self.processes),
            devices: names(&self.devices),
        }
    }
}

const _: () = assert!(Flags::LETTERS.len() == FLAGS);

fn latency(histogram: &Histogram) -> Option<Latency> {
    (histogram.count > 0.0).then(|| Latency {
        count: histogram.count as u64,
        mean_ns: histogram.sum / histogram.count,
        most_ns: histogram.most,
        quantiles_ns: [0.5, 0.9, 0.99, 0.999, 0.9999].map(|share| histogram.quantile(share)),
        buckets_ns: histogram.buckets(),
    })
}

fn names(counts: &Map<Counts>) -> Vec<(u32, Counts)> {
    let busiest = largest(counts, |own| own.ios.iter().sum());
    busiest
        .into_iter()
        .map(|(name, own)| (name as u32, own))
        .collect()
}

/// Returns the entries with the largest counts, equal ones by their key.
fn largest<V: Copy>(counts: &Map<V>, size: impl Fn(&V) -> u64) -> Vec<(u64, V)> {
    let mut all: Vec<(u64, V)> = counts.iter().map(|(&key, &own)| (key, own)).collect();
    all.sort_unstable_by_key(|(key, own)| (std::cmp::Reverse(size(own)), *key));
    all.truncate(REPORTED);
    all
}
