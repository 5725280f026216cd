//! The request stream: determinism, shares of a mix, placement; in modules, where requests go and when they come.

mod arrivals;
mod coverage;
mod in_step;
mod popularity;
mod positions;
mod replays;

use super::*;
use crate::{
    Arrival, Block, BlockShare, Content, Errors, Extent, HotBand, Load, Mix, OperationPositions,
    Pace, Pattern, Position, Region, ThreadPositions, Until,
};

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;

const GEOMETRY: Geometry = Geometry {
    capacity_bytes: 4 * GIB,
    block_bytes: 512,
};

fn block(op: Op, weight: f64, sizes: &[(u32, f64)]) -> Block {
    let sizes = sizes
        .iter()
        .map(|&(size_bytes, weight)| BlockShare { size_bytes, weight });
    Block {
        op,
        weight,
        sizes: sizes.collect(),
        align_bytes: None,
    }
}

fn job(pattern: Pattern, ops: Vec<Block>, threads: u32) -> Job {
    Job {
        mix: Mix { ops },
        flush_every: 0,
        pattern,
        region: Region {
            start: Extent::Fraction(0.0),
            size: Extent::Fraction(1.0),
            part: None,
        },
        position: Position::default(),
        align_bytes: None,
        content: Content::default(),
        placement: Vec::new(),
        direct: true,
        priority: None,
        priority_shares: Vec::new(),
        sync: crate::Sync::None,
        sqpoll: false,
        huge_pages: false,
        gpu: false,
        exitall: false,
        streams: Vec::new(),
        load: Load::Closed {
            threads,
            iodepth: 1,
        },
        pace: Pace::default(),
        errors: Errors::default(),
        files: None,
        journal: None,
        until: Until {
            time_ns: None,
            bytes: None,
            region_multiple: None,
            count: Some(1),
        },
    }
}

fn read_4k(pattern: Pattern) -> Job {
    job(pattern, vec![block(Op::Read, 1.0, &[(4096, 1.0)])], 1)
}

fn open(rate_iops: f64, arrival: Arrival, threads: u32) -> Job {
    let mut job = read_4k(Pattern::Uniform);
    job.load = Load::Open {
        rate_iops,
        arrival,
        threads,
        iodepth: 32,
    };
    job
}

fn draw(job: &Job, geometry: Geometry, seed: u64, thread: u32, count: usize) -> Vec<Request> {
    let mut stream = RequestStream::new(job, geometry, seed, thread).expect("fits");
    (0..count).map(|_| stream.next_request()).collect()
}

/// Pearson's statistic, standardised: near N(0, 1) for many cells under the null hypothesis.
fn chi_square_z(observed: &[u64], expected: &[f64]) -> f64 {
    let statistic: f64 = observed
        .iter()
        .zip(expected)
        .map(|(&seen, &want)| (seen as f64 - want).powi(2) / want)
        .sum();
    let freedom = observed.len() as f64 - 1.0;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn operations_and_block_sizes_come_in_their_shares() {
    let ops = vec![
        block(Op::Read, 70.0, &[(8192, 90.0), (32768, 10.0)]),
        block(Op::Write, 20.0, &[(4096, 1.0)]),
        block(Op::Trim, 9.0, &[(65536, 1.0)]),
        block(Op::Flush, 1.0, &[]),
    ];
    let job = job(Pattern::Uniform, ops, 1);
    let count = 1_000_000;
    let mut seen = [0u64; 5];
    for request in draw(&job, GEOMETRY, 7, 0, count) {
        let cell = match (request.op, request.size_bytes) {
            (Op::Read, 8192) => 0,
            (Op::Read, 32768) => 1,
            (Op::Write, 4096) => 2,
            (Op::Trim, 65536) => 3,
            (Op::Flush, 0) => 4,
            other => panic!("not in the mix: {other:?}"),
        };
        seen[cell] += 1;
    }
    let expected = [0.63, 0.07, 0.20, 0.09, 0.01].map(|share| share * count as f64);
    let z = chi_square_z(&seen, &expected);
    assert!(z < 4.0, "z = {z}, {seen:?}");
}

#[test]
fn a_flush_follows_every_so_many_writes_and_never_has_nothing_to_flush() {
    let ops = vec![
        block(Op::Read, 1.0, &[(4096, 1.0)]),
        block(Op::Write, 1.0, &[(4096, 1.0)]),
    ];
    let plain = job(Pattern::Uniform, ops, 2);
    let flushing = Job {
        flush_every: 3,
        ..plain.clone()
    };
    let requests = draw(&flushing, GEOMETRY, 7, 1, 1000);
    let mut writes = 0;
    for request in &requests {
        match request.op {
            Op::Write => writes += 1,
            Op::Flush => {
                assert_eq!((writes, request.size_bytes), (3, 0));
                writes = 0;
            }
            _ => {}
        }
        assert!(writes <= 3);
    }
    let moving = requests.iter().filter(|one| one.op != Op::Flush);
    let others = draw(&plain, GEOMETRY, 7, 1, moving.clone().count());
    assert!(moving.eq(&others), "flushes change nothing else");
}

#[test]
fn addresses_do_not_depend_on_the_load() {
    let closed = draw(&read_4k(Pattern::Uniform), GEOMETRY, 5, 0, 100);
    let open = draw(&open(1000.0, Arrival::Exponential, 1), GEOMETRY, 5, 0, 100);
    assert_eq!(closed, open);
}

#[test]
fn threads_and_seeds_draw_different_requests_and_repeat_their_own() {
    let mut job = read_4k(Pattern::Uniform);
    job.load = Load::Closed {
        threads: 2,
        iodepth: 1,
    };
    let first = draw(&job, GEOMETRY, 1, 0, 1000);
    assert_eq!(first, draw(&job, GEOMETRY, 1, 0, 1000));
    for other in [
        draw(&job, GEOMETRY, 1, 1, 1000),
        draw(&job, GEOMETRY, 2, 0, 1000),
    ] {
        let common = first.iter().zip(&other).filter(|(a, b)| a == b).count();
        assert!(common < 5, "{common} equal requests of 1000");
    }
}

/// FNV-1a over the little-endian fields.
fn fingerprint(job: &Job) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut eat = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    let mut stream = RequestStream::new(job, GEOMETRY, 42, 1).expect("fits");
    for _ in 0..10_000 {
        let request = stream.next_request();
        eat(&request.offset_bytes.to_le_bytes());
        eat(&request.size_bytes.to_le_bytes());
        eat(&[request.op as u8]);
        eat(&stream.next_arrival_ns().to_le_bytes());
    }
    hash
}

#[test]
fn the_stream_of_a_seed_never_changes() {
    let ops = || {
        vec![
            block(Op::Read, 7.0, &[(4096, 1.0), (65536, 1.0)]),
            block(Op::Write, 3.0, &[(8192, 1.0)]),
        ]
    };
    let band = |area, access| HotBand { area, access };
    let patterns = [
        Pattern::Sequential,
        Pattern::Uniform,
        Pattern::Zipf { theta: 0.99 },
        Pattern::HotSpots {
            bands: vec![band(1.0, 9.0), band(9.0, 1.0)],
        },
    ];
    let prints = patterns.map(|pattern| {
        let mut job = job(pattern, ops(), 4);
        job.load = Load::Open {
            rate_iops: 250_000.0,
            arrival: Arrival::Exponential,
            threads: 4,
            iodepth: 8,
        };
        fingerprint(&job)
    });
    assert_eq!(prints.map(|print| format!("{print:016x}")), GOLDEN);
}

/// Committed fingerprints; a change of the stream changes them, and the commit says why.
const GOLDEN: [&str; 4] = [
    "92507e07c2bb7929",
    "1ea036150b4bd5fb",
    "8e8c30165fa5c2f5",
    "b1ca3ded75bdad9a",
];

#[test]
fn thread_i_writes_with_placement_handle_i_modulo_their_number() {
    let ops = vec![
        block(Op::Read, 1.0, &[(4096, 1.0)]),
        block(Op::Write, 1.0, &[(4096, 1.0)]),
    ];
    let mut job = job(Pattern::Uniform, ops, 4);
    job.placement = vec![5, 6, 7];
    for (thread, handle) in [(0, 5), (2, 7), (3, 5)] {
        for request in draw(&job, GEOMETRY, 1, thread, 100) {
            let expected = match request.op {
                Op::Write => handle,
                _ => Request::NO_PLACEMENT,
            };
            assert_eq!(request.placement, expected);
        }
    }
}

#[test]
fn a_job_that_does_not_fit_says_why() {
    let tiny = Geometry {
        capacity_bytes: 2048,
        block_bytes: 512,
    };
    let coarse = Geometry {
        block_bytes: 8192,
        ..GEOMETRY
    };
    let refuse = |job: &Job, geometry| RequestStream::new(job, geometry, 0, 0).err();
    let read = read_4k(Pattern::Uniform);
    assert_eq!(
        refuse(&read, tiny),
        Some(StreamError::RegionTooSmall {
            region_bytes: 2048,
            block_bytes: 4096
        })
    );
    assert_eq!(
        refuse(&read, coarse),
        Some(StreamError::Misaligned {
            size_bytes: 4096,
            block_bytes: 8192
        })
    );
    let mut beyond = read.clone();
    beyond.region.size = Extent::Bytes(5 * GIB);
    assert!(matches!(
        refuse(&beyond, GEOMETRY),
        Some(StreamError::RegionBeyondTarget { .. })
    ));
    let mut crooked = read.clone();
    crooked.align_bytes = Some(1000);
    assert!(matches!(
        refuse(&crooked, GEOMETRY),
        Some(StreamError::MisalignedOffsets { .. })
    ));
    assert_eq!(
        refuse(&job(Pattern::Uniform, vec![], 1), GEOMETRY),
        Some(StreamError::EmptyMix)
    );
}

#[test]
fn the_threads_of_a_stream_issue_its_requests_and_no_others() {
    let mut log = job(
        Pattern::Sequential,
        vec![block(Op::Write, 1.0, &[(65536, 1.0)])],
        2,
    );
    log.region.size = Extent::Bytes(64 * 65536);
    log.placement = vec![3];
    let mut small = read_4k(Pattern::Uniform);
    small.region.start = Extent::Bytes(GIB);
    small.region.size = Extent::Bytes(GIB);
    let stream = |name: &str, job| crate::Stream {
        name: name.into(),
        job,
        targets: Vec::new(),
        flow: None,
        exitall: false,
    };
    let streams = vec![stream("log", log), stream("small", small)];
    let both = Job::of_streams(
        streams,
        true,
        Errors::default(),
        read_4k(Pattern::Uniform).until,
    );
    for (thread, start) in [(0, 0), (1, 32)] {
        for (index, request) in draw(&both, GEOMETRY, 1, thread, 32).iter().enumerate() {
            assert_eq!(request.offset_bytes, (start + index as u64) * 65536);
            assert_eq!((request.op, request.placement), (Op::Write, 3));
        }
    }
    for request in draw(&both, GEOMETRY, 1, 2, 1000) {
        assert!((GIB..2 * GIB).contains(&request.offset_bytes));
        let placement = Request::NO_PLACEMENT;
        assert_eq!((request.op, request.placement), (Op::Read, placement));
    }
}
