//! Operations on names: each is done once, counted in its row, and the set is whole again afterwards.

use std::{collections::BTreeSet, fs, os::unix::fs::symlink};

use engine::{EngineError, Options};
use recording::Recording;
use workload::{Arrival, FileSet, Job, Load, Op, Select};

use crate::{
    sets::{Laid, set},
    support::*,
};

/// Operations with equal weights by two threads, until `end` of them are done.
fn names(ops: &[Op], set: &FileSet, end: u64) -> Job {
    let mut job = job(Op::Stat);
    job.mix.ops = ops.iter().map(|&op| block(op, 0, 1.0)).collect();
    for block in &mut job.mix.ops {
        block.sizes.clear();
    }
    Job {
        load: Load::Closed {
            threads: 2,
            iodepth: 1,
        },
        files: Some(set.clone()),
        until: count(end),
        ..job
    }
}

fn counts(recording: &Recording) -> Vec<(Op, u64, u64)> {
    let ops = recording.ops.iter();
    ops.map(|(op, stats)| (*op, stats.service.count(), stats.errors))
        .collect()
}

/// Everything below the directory, with the sizes of files.
fn listing(laid: &Laid) -> BTreeSet<(String, u64)> {
    fn add(at: &std::path::Path, into: &mut BTreeSet<(String, u64)>) {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let bytes = if found.is_dir() { 0 } else { found.len() };
            into.insert((path.display().to_string(), bytes));
            if found.is_dir() {
                add(&path, into);
            }
        }
    }
    let mut all = BTreeSet::new();
    add(&laid.0, &mut all);
    all
}

#[test]
fn creates_make_every_file_once_with_a_row_for_creates_and_one_for_closes() {
    let set = set(40);
    let laid = Laid::out(&set);
    let before = listing(&laid);
    let made = run(
        &names(&[Op::Create], &set, 10_000),
        &laid.spec(&set),
        &Options::default(),
    );
    assert_eq!(counts(&made), [(Op::Create, 40, 0), (Op::Close, 40, 0)]);
    assert!(made.ops[&Op::Create].service.mean_ns().unwrap() > 500.0);
    assert_eq!(listing(&laid), before);
}

#[test]
fn deletes_remove_every_file_once_and_the_set_is_whole_again() {
    let set = FileSet {
        select: Select::Random,
        ..set(40)
    };
    let laid = Laid::out(&set);
    let before = listing(&laid);
    let gone = run(
        &names(&[Op::Delete], &set, 10_000),
        &laid.spec(&set),
        &Options::default(),
    );
    assert_eq!(counts(&gone), [(Op::Delete, 40, 0)]);
    assert_eq!(listing(&laid), before);
}

#[test]
fn a_mix_of_all_operations_fails_in_none() {
    let set = FileSet {
        select: Select::Random,
        ..set(60)
    };
    let laid = Laid::out(&set);
    let before = listing(&laid);
    let ops = [
        Op::Create,
        Op::Open,
        Op::Stat,
        Op::Rename,
        Op::Delete,
        Op::Mkdir,
        Op::Rmdir,
    ];
    for _ in 0..2 {
        let done = run(
            &names(&ops, &set, 20_000),
            &laid.spec(&set),
            &Options::default(),
        );
        let counts = counts(&done);
        assert_eq!(counts.len(), 8);
        assert!(
            counts
                .iter()
                .all(|(_, n, errors)| *n > 1000 && *errors == 0),
            "{counts:?}"
        );
        assert_eq!(counts.iter().map(|(_, n, _)| n).sum::<u64>(), 20_000);
        assert_eq!(listing(&laid), before);
    }
}

#[test]
fn a_start_that_fails_on_one_target_leaves_the_set_of_another_whole() {
    let set = set(40);
    let [whole, broken] = [Laid::out(&set), Laid::out(&set)];
    let before = listing(&whole);
    fs::remove_dir_all(broken.0.join("d0002/d0002")).unwrap();
    let started = engine::start(
        &names(&[Op::Create], &set, 10),
        &[whole.spec(&set), broken.spec(&set)],
        &Options::default(),
    );
    assert!(matches!(started, Err(EngineError::Files { .. })));
    assert_eq!(listing(&whole), before);
}

#[test]
fn a_thread_that_cannot_make_its_first_state_leaves_its_files_whole() {
    let set = set(40);
    let laid = Laid::out(&set);
    // No file, so that it cannot be removed as one: the second thread fails when it has removed some of its own.
    let in_the_way = laid.0.join(set.path(30));
    fs::remove_file(&in_the_way).unwrap();
    fs::create_dir(&in_the_way).unwrap();
    let before = listing(&laid);
    let job = names(&[Op::Create], &set, 10);
    let started = engine::start(&job, &[laid.spec(&set)], &Options::default());
    assert!(matches!(started, Err(EngineError::Files { .. })));
    assert_eq!(listing(&laid), before);
}

#[test]
fn a_close_of_what_could_not_be_opened_fails_as_the_open_did() {
    let set = FileSet {
        select: Select::Roundrobin,
        ..set(40)
    };
    let laid = Laid::out(&set);
    fs::remove_file(laid.0.join(set.path(7))).unwrap();
    let opened = run(
        &names(&[Op::Open], &set, 80),
        &laid.spec(&set),
        &Options::default(),
    );
    assert_eq!(
        counts(&opened),
        [(Op::Open, 39, 1), (Op::Close, 39, 1)],
        "{opened:?}"
    );
    assert_eq!(opened.errno, [(libc::ENOENT, 2)].into());
}

#[test]
fn a_rate_of_operations_is_kept() {
    let set = set(20);
    let laid = Laid::out(&set);
    let job = Job {
        load: open(2000.0, Arrival::Deterministic, 1),
        until: time(std::time::Duration::from_millis(500)),
        ..names(&[Op::Stat], &set, 1)
    };
    let done = run(&job, &laid.spec(&set), &Options::default());
    let n = done.ops[&Op::Stat].service.count();
    assert!((900..=1001).contains(&n), "{n}");
    assert!(done.ops[&Op::Stat].response.is_some());
}

#[test]
fn a_link_in_the_place_of_a_directory_leads_nowhere() {
    let set = set(16);
    let laid = Laid::out(&set);
    let outside = Laid::out(&set);
    let before = listing(&outside);
    fs::remove_dir_all(laid.0.join("d0002")).unwrap();
    symlink(outside.0.join("d0002"), laid.0.join("d0002")).unwrap();
    let refused = engine::start(
        &names(&[Op::Delete], &set, 100),
        &[laid.spec(&set)],
        &Options::default(),
    );
    assert!(matches!(refused, Err(EngineError::Files { .. })));
    assert_eq!(listing(&outside), before);
}

#[test]
fn names_are_of_sets_of_files_alone() {
    let file = Scratch::filled(MIB, 0);
    let refused = refusal(&names(&[Op::Stat], &set(16), 1), &file.spec(MIB));
    assert!(
        refused.contains("a directory with the job's files"),
        "{refused}"
    );
}
