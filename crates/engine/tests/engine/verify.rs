//! Blocks that describe themselves: what is done to them behind the engine's back is found and told apart.

use std::{fs::OpenOptions, os::unix::fs::FileExt};

use engine::Options;
use workload::{Content, Errors, Job, Load, Op, Pattern, Stream, Until, Verify};

use crate::support::*;

const SIZE: u64 = MIB;
const BLOCK: u64 = 4096;

fn pass(op: Op, generation: u32, seed: u64) -> Job {
    let mut job = job(op);
    job.pattern = Pattern::Sequential;
    job.until = Until {
        count: Some(SIZE / BLOCK),
        ..forever()
    };
    job.content = Content {
        compressible: 0.5,
        dedup: 0.0,
        pattern: None,
        verify: Some(Verify { generation, seed }),
    };
    job
}

/// Errors and notes of a pass that reads everything.
fn verified(file: &Scratch, generation: u32, seed: u64) -> (u64, Vec<String>) {
    let recording = run(
        &pass(Op::Read, generation, seed),
        &file.spec(SIZE),
        &Options::default(),
    );
    let reads = &recording.ops[&Op::Read];
    assert_eq!(reads.service.count() + reads.errors, SIZE / BLOCK);
    (reads.errors, recording.notes)
}

fn written(generation: u32) -> Scratch {
    let file = Scratch::filled(SIZE, 0);
    write(&file, generation);
    file
}

fn write(file: &Scratch, generation: u32) {
    let job = pass(Op::Write, generation, 7);
    run(&job, &file.spec(SIZE), &Options::default());
}

fn overwrite(file: &Scratch, at: u64, data: &[u8]) {
    let handle = OpenOptions::new().write(true).open(&file.0).unwrap();
    handle.write_all_at(data, at).unwrap();
}

/// One block is wrong, of this kind.
fn assert_one(file: &Scratch, kind: &str, detail: &str) {
    let (errors, notes) = verified(file, 2, 7);
    assert_eq!(errors, 1, "{notes:?}");
    let has = |text: &str| notes.iter().any(|note| note.contains(text));
    assert!(
        has(&format!("256 blocks read, 1 wrong, 1 {kind}")),
        "{notes:?}"
    );
    assert!(has(detail), "{notes:?}");
}

#[test]
fn what_was_written_is_found_again_by_any_pattern_and_depth() {
    let file = written(2);
    assert_eq!(verified(&file, 2, 7).0, 0);
    let mut random = pass(Op::Read, 2, 7);
    random.pattern = Pattern::Uniform;
    random.load = Load::Closed {
        threads: 2,
        iodepth: 16,
    };
    let recording = run(&random, &file.spec(SIZE), &Options::default());
    assert_eq!(recording.ops[&Op::Read].errors, 0);
}

#[test]
fn a_flipped_bit_is_corrupt() {
    let file = written(2);
    let byte = file.read()[10_000];
    overwrite(&file, 10_000, &[byte ^ 1]);
    assert_one(&file, "corrupt", "block of 4096 bytes at 8192");
}

#[test]
fn a_write_that_was_lost_leaves_a_stale_block() {
    let file = written(1);
    let old = file.read()[8192..12_288].to_vec();
    write(&file, 2);
    overwrite(&file, 8192, &old);
    assert_one(&file, "stale", "holds generation 1, not 2");
}

#[test]
fn a_write_done_in_part_is_torn() {
    let file = written(1);
    let old = file.read()[10_240..12_288].to_vec();
    write(&file, 2);
    overwrite(&file, 10_240, &old);
    assert_one(&file, "torn", "the sector at 10240");
    overwrite(&file, 10_240, &[0; 2048]);
    assert_one(&file, "torn", "the sector at 10240");
}

#[test]
fn a_block_at_the_wrong_place_is_misdirected() {
    let file = written(2);
    let other = file.read()[40_960..45_056].to_vec();
    overwrite(&file, 8192, &other);
    assert_one(&file, "misdirected", "the sector at 8192 belongs at 40960");
}

#[test]
fn other_data_are_foreign_and_zeroes_or_ones_alone_unwritten() {
    let file = written(2);
    overwrite(&file, 8192, &[0xab; 4096]);
    assert_one(&file, "foreign", "is not generation 2");
    overwrite(&file, 8192, &[0; 4096]);
    assert_one(&file, "unwritten", "at 8192");
    overwrite(&file, 8192, &[0xff; 4096]);
    assert_one(&file, "unwritten", "at 8192");
    let (errors, notes) = verified(&written(2), 2, 8);
    assert_eq!(errors, SIZE / BLOCK, "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("256 foreign")));
}

#[test]
fn a_job_that_also_writes_accepts_what_it_has_not_overwritten_yet() {
    let file = written(1);
    let mut mixed = pass(Op::Write, 2, 7);
    mixed.mix.ops.push(block(Op::Read, 4096, 1.0));
    mixed.pattern = Pattern::Uniform;
    let recording = run(&mixed, &file.spec(SIZE), &Options::default());
    assert_eq!(recording.ops[&Op::Read].errors, 0);
    let (errors, notes) = verified(&file, 2, 7);
    assert!(errors > 0 && errors < SIZE / BLOCK, "{notes:?}");
}

#[test]
fn a_stream_that_reads_accepts_what_another_has_not_overwritten_yet() {
    let file = written(1);
    let stream = |name: &str, op| Stream {
        name: name.into(),
        job: pass(op, 2, 7),
        targets: Vec::new(),
        flow: None,
        exitall: false,
    };
    let together = |ops: &[Op]| {
        let streams = ops.iter().map(|op| stream(op.name(), *op)).collect();
        let job = Job::of_streams(streams, false, Errors::default(), forever());
        let recording = run(&job, &file.spec(SIZE), &Options::default());
        (recording.ops[&Op::Read].errors, recording.notes)
    };
    let (errors, notes) = together(&[Op::Read]);
    assert_eq!(errors, SIZE / BLOCK, "{notes:?}");
    let (errors, notes) = together(&[Op::Read, Op::Write]);
    assert_eq!(errors, 0, "{notes:?}");
}

#[test]
fn a_job_that_also_trims_or_zeroes_finds_zeroes_there_and_nothing_else_that_is_wrong() {
    for op in [Op::Trim, Op::WriteZeroes] {
        let file = written(2);
        let mut mixed = pass(Op::Read, 2, 7);
        mixed.mix.ops.push(block(op, 4096, 1.0));
        mixed.pattern = Pattern::Uniform;
        let recording = run(&mixed, &file.spec(SIZE), &Options::default());
        let (reads, notes) = (&recording.ops[&Op::Read], &recording.notes);
        assert_eq!(reads.errors, 0, "{op:?}: {notes:?}");
        overwrite(&file, 0, &vec![1; SIZE as usize]);
        let recording = run(&mixed, &file.spec(SIZE), &Options::default());
        assert!(recording.ops[&Op::Read].errors > 0, "{op:?}");
    }
}

/// The job as the only stream of another.
fn as_stream(job: Job) -> Job {
    let stream = Stream {
        name: "own".into(),
        job,
        targets: Vec::new(),
        flow: None,
        exitall: false,
    };
    Job::of_streams(vec![stream], false, Errors::default(), forever())
}

#[test]
fn a_stream_that_verifies_is_refused_where_there_is_no_ring_as_a_whole_job_is() {
    let file = written(2);
    for job in [pass(Op::Read, 2, 7), as_stream(pass(Op::Read, 2, 7))] {
        let refused = engine::start(&job, &[file.spec(SIZE)], &threads()).err();
        let line = refused.unwrap().to_string();
        assert!(line.starts_with("io_uring cannot be used"), "{line}");
    }
}

#[test]
fn verify_on_nothing_is_refused() {
    for spec in [null_spec(), nop_spec()] {
        for job in [pass(Op::Write, 1, 7), as_stream(pass(Op::Write, 1, 7))] {
            assert!(refusal(&job, &spec).contains("keeps what is written"));
        }
    }
}
