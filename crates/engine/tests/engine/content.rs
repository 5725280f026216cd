//! Data really goes where the request stream says, and it is the data asked for.

use std::collections::HashSet;

use engine::Options;
use workload::{
    BytePattern, Extent, Geometry, Load, Mix, Op, Pattern, RequestStream, ThreadPositions, Until,
};

use crate::support::*;

fn fill_once() -> Until {
    Until {
        region_multiple: Some(1.0),
        ..forever()
    }
}

#[test]
fn a_sequential_fill_writes_every_block_with_data_of_its_own() {
    let mut job = job(Op::Write);
    job.pattern = Pattern::Sequential;
    job.until = fill_once();
    job.direct = true;
    job.load = Load::Closed {
        threads: 4,
        iodepth: 4,
    };
    for options in [Options::default(), threads()] {
        let file = Scratch::filled(8 * MIB, 0);
        run(&job, &file.spec(8 * MIB), &options);
        let data = file.read();
        let distinct: HashSet<&[u8]> = data.chunks(4096).collect();
        assert_eq!(
            distinct.len(),
            2048,
            "equal or unwritten blocks with {:?}",
            options.backend
        );
        assert!(!distinct.contains(&[0; 4096][..]));
    }
}

#[test]
fn a_run_repeated_with_its_seed_writes_other_data() {
    let mut job = job(Op::Write);
    job.until = fill_once();
    job.pattern = Pattern::Sequential;
    let [first, second] = [0, 1].map(|_| {
        let file = Scratch::filled(MIB, 0);
        run(&job, &file.spec(MIB), &Options::default());
        file.read()
    });
    let blocks: HashSet<&[u8]> = first.chunks(4096).collect();
    assert!(second.chunks(4096).all(|block| !blocks.contains(block)));
}

/// Where the blocks of a file of zeroes are that something was written to.
fn written_blocks(file: &Scratch) -> HashSet<u64> {
    let data = file.read();
    let blocks = (0..).step_by(4096).zip(data.chunks(4096));
    let written = blocks.filter(|(_, block)| block.iter().any(|&byte| byte != 0));
    written.map(|(at, _)| at).collect()
}

#[test]
fn writes_land_where_the_request_stream_says() {
    let mut job = job(Op::Write);
    job.until = count(20);
    for options in [Options::default(), threads()] {
        let file = Scratch::filled(MIB, 0);
        run(&job, &file.spec(MIB), &options);
        let geometry = Geometry {
            capacity_bytes: MIB,
            block_bytes: 1,
        };
        let mut stream = RequestStream::new(&job, geometry, options.seed, 0).unwrap();
        let expected: HashSet<u64> = (0..20)
            .map(|_| stream.next_request().offset_bytes)
            .collect();
        let written = written_blocks(&file);
        assert_eq!(written, expected);
    }
}

#[test]
fn targets_that_are_loaded_together_are_written_in_different_places() {
    let mut job = job(Op::Write);
    job.until = count(20);
    let files = [Scratch::filled(MIB, 0), Scratch::filled(MIB, 0)];
    let specs = files.each_ref().map(|file| file.spec(MIB));
    let run = engine::start(&job, &specs, &Options::default()).unwrap();
    run.join().unwrap();
    let [one, other] = files.each_ref().map(written_blocks);
    assert_ne!(one, other);
}

#[test]
fn compressible_content_holds_the_asked_for_share_of_zeroes() {
    let mut job = job(Op::Write);
    job.pattern = Pattern::Sequential;
    job.until = fill_once();
    for compressible in [0.0, 0.25, 0.75] {
        job.content.compressible = compressible;
        let file = Scratch::filled(MIB, 1);
        run(&job, &file.spec(MIB), &Options::default());
        let data = file.read();
        for unit in data.chunks(512) {
            let zeroes = unit.iter().rev().take_while(|&&b| b == 0).count() as f64 / 512.0;
            assert!(
                (zeroes - compressible).abs() < 0.02,
                "{zeroes} for {compressible}"
            );
        }
    }
}

#[test]
fn a_pattern_is_repeated_from_the_start_of_every_block_and_nothing_else_is_written() {
    let mut job = job(Op::Write);
    job.mix = Mix {
        ops: vec![block(Op::Write, 4096, 1.0)],
    };
    job.pattern = Pattern::Sequential;
    job.until = fill_once();
    job.content.pattern = Some(BytePattern::parse("0x0a0b0c").unwrap());
    let file = Scratch::filled(MIB, 1);
    run(&job, &file.spec(MIB), &Options::default());
    for unit in file.read().chunks(4096) {
        assert_eq!(unit[..4], [0x0a, 0x0b, 0x0c, 0x0a]);
        let expected = [0x0a, 0x0b, 0x0c].iter().cycle();
        assert!(unit.iter().zip(expected).all(|(found, byte)| found == byte));
    }
}

#[test]
fn data_read_never_becomes_data_written() {
    let file = Scratch::filled(2 * MIB, 0);
    let mut job = job(Op::Write);
    job.mix = Mix {
        ops: vec![block(Op::Read, 4096, 1.0), block(Op::Write, 4096, 1.0)],
    };
    job.pattern = Pattern::Sequential;
    job.until = Until {
        region_multiple: Some(4.0),
        ..forever()
    };
    run(&job, &file.spec(2 * MIB), &Options::default());
    let data = file.read();
    let written = data
        .chunks(4096)
        .filter(|b| b.iter().any(|&byte| byte != 0));
    for block in written {
        let zeroes = block.iter().filter(|&&byte| byte == 0).count();
        assert!(zeroes < 100, "a block came back with {zeroes} zero bytes");
    }
}

#[test]
fn trim_and_write_zeroes_leave_zeroes_and_flush_is_counted() {
    for op in [Op::Trim, Op::WriteZeroes] {
        for options in [Options::default(), threads()] {
            let file = Scratch::filled(2 * MIB, 7);
            let mut job = job(op);
            job.mix = Mix {
                ops: vec![block(op, 65536, 9.0), block(Op::Flush, 0, 1.0)],
            };
            job.pattern = Pattern::Sequential;
            job.until = fill_once();
            let recording = run(&job, &file.spec(2 * MIB), &options);
            assert!(
                file.read().iter().all(|&byte| byte == 0),
                "{op:?} with {:?}",
                options.backend
            );
            assert_eq!(recording.ops[&op].service.count(), 32);
            assert!(recording.ops[&Op::Flush].service.count() > 0);
            assert_eq!(recording.errno.len(), 0);
        }
    }
}

#[test]
fn a_job_that_only_reads_changes_nothing() {
    let file = Scratch::filled(MIB, 9);
    let before = std::fs::metadata(&file.0).unwrap().modified().unwrap();
    let mut job = job(Op::Read);
    job.until = count(1000);
    run(&job, &file.spec(MIB), &Options::default());
    assert_eq!(
        std::fs::metadata(&file.0).unwrap().modified().unwrap(),
        before
    );
    assert!(file.read().iter().all(|&byte| byte == 9));
}

#[test]
fn threads_together_write_every_block_and_none_twice_in_a_pass() {
    const BLOCKS: u64 = 1003;
    let mut job = job(Op::Write);
    job.region.size = Extent::Bytes(BLOCKS * 4096 + 512);
    for pattern in [Pattern::RandomOnce, Pattern::Sequential] {
        for threads_of_load in [1, 3, 8] {
            for options in [Options::default(), threads()] {
                job.pattern = pattern.clone();
                job.load = Load::Closed {
                    threads: threads_of_load,
                    iodepth: 4,
                };
                job.until = fill_once();
                let file = Scratch::filled(BLOCKS * 4096, 0);
                // The region ends within a block, which nothing is written to.
                let spec = file.spec(BLOCKS * 4096 + 512);
                let recording = run(&job, &spec, &options);
                assert_eq!(recording.completed(), BLOCKS, "{threads_of_load} threads");
                let written = written_blocks(&file).len() as u64;
                assert_eq!(written, BLOCKS, "{pattern:?}, {threads_of_load} threads");
            }
        }
    }
}

#[test]
fn threads_that_share_a_position_write_every_block_once_in_a_pass() {
    const BLOCKS: u64 = 1003;
    let mut job = job(Op::Write);
    job.pattern = Pattern::Sequential;
    job.position.threads = ThreadPositions::Shared;
    // In percent it would be cut to whole MiB.
    job.region.size = Extent::Bytes(BLOCKS * 4096);
    job.until = fill_once();
    for threads_of_load in [2, 8] {
        for options in [Options::default(), threads()] {
            job.load = Load::Closed {
                threads: threads_of_load,
                iodepth: 4,
            };
            let file = Scratch::filled(BLOCKS * 4096, 0);
            let recording = run(&job, &file.spec(BLOCKS * 4096), &options);
            assert_eq!(recording.completed(), BLOCKS);
            let written = written_blocks(&file).len() as u64;
            assert_eq!(written, BLOCKS, "{threads_of_load} threads");
        }
    }
}

#[test]
fn the_share_of_duplicates_is_the_one_asked_for_and_duplicates_compress_as_the_rest() {
    let mut job = job(Op::Write);
    job.pattern = Pattern::Sequential;
    job.mix = Mix {
        ops: vec![block(Op::Write, 65_536, 1.0)],
    };
    job.until = fill_once();
    job.content.compressible = 0.25;
    job.content.dedup = 0.6;
    for options in [Options::default(), threads()] {
        let file = Scratch::filled(64 * MIB, 0);
        run(&job, &file.spec(64 * MIB), &options);
        let data = file.read();
        let distinct: HashSet<&[u8]> = data.chunks(4096).collect();
        let units = 64.0 * 256.0;
        // Each of the 256 originals is there once.
        let copies = 1.0 - (distinct.len() as f64 - 256.0) / units;
        assert!((copies - 0.6).abs() < 0.005, "{copies}");
        let zeroes = data.iter().filter(|&&byte| byte == 0).count() as f64 / data.len() as f64;
        assert!((zeroes - 0.25).abs() < 0.01, "{zeroes}");
    }
}

#[test]
fn every_sector_that_was_written_is_known_as_the_engines_own() {
    let mut job = job(Op::Write);
    job.pattern = Pattern::Sequential;
    job.until = fill_once();
    for block_bytes in [512, 4096, 65536] {
        for (compressible, dedup) in [(0.0, 0.0), (0.5, 0.0), (0.97, 0.0), (1.0, 0.0), (0.25, 0.6)]
        {
            job.mix.ops = vec![block(Op::Write, block_bytes, 1.0)];
            job.content.compressible = compressible;
            job.content.dedup = dedup;
            for options in [Options::default(), threads()] {
                let file = Scratch::filled(MIB, 1);
                run(&job, &file.spec(MIB), &options);
                let mut data = file.read();
                assert_eq!(
                    engine::first_foreign(&data),
                    None,
                    "{block_bytes} {compressible}"
                );
                data[100_000] ^= 1;
                assert_eq!(engine::first_foreign(&data), Some(100_000 / 512 * 512));
            }
        }
    }
}
