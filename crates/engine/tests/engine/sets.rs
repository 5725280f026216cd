//! Sets of files: every block lands in its own file, whatever is open, and nothing outside the directory is touched.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt},
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use engine::{FileId, Options, TargetKind, TargetSpec};
use workload::{
    Content, FileSet, FileShare, FileThreads, Job, Load, Op, Pattern, Select, Until, Verify, Visit,
};

use crate::support::*;

const BLOCK: u64 = 4096;

/// The files of a job, laid out and removed with the value.
pub struct Laid(pub PathBuf);

impl Laid {
    pub fn out(set: &FileSet) -> Self {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("fathom-set-{}-{serial}", std::process::id());
        let laid = Self(std::env::temp_dir().join(name));
        fs::create_dir(&laid.0).unwrap();
        for directory in set.directories() {
            fs::create_dir(laid.0.join(directory)).unwrap();
        }
        for file in 0..set.count {
            let made = File::create(laid.0.join(set.path(file))).unwrap();
            made.set_len(set.size_of(file)).unwrap();
        }
        laid
    }

    pub fn spec(&self, set: &FileSet) -> TargetSpec {
        TargetSpec {
            path: self.0.clone(),
            kind: TargetKind::FileSet,
            capacity_bytes: set.total_bytes(),
            held: None,
        }
    }
}

impl Drop for Laid {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn set(count: u32) -> FileSet {
    let share = |size_bytes| FileShare {
        size_bytes,
        weight: 1.0,
    };
    FileSet {
        count,
        sizes: vec![share(BLOCK), share(16 * BLOCK)],
        width: 2,
        depth: 2,
        select: Select::Random,
        visit: Visit::Requests(1),
        open: None,
        threads: FileThreads::Apart,
        present: None,
    }
}

/// A pass over all blocks of all files by two threads.
fn pass(op: Op, set: &FileSet, verify: bool) -> Job {
    Job {
        pattern: Pattern::Sequential,
        load: Load::Closed {
            threads: 2,
            iodepth: 4,
        },
        files: Some(set.clone()),
        content: Content {
            verify: verify.then_some(Verify {
                generation: 1,
                seed: 3,
            }),
            ..Content::default()
        },
        until: Until {
            region_multiple: Some(1.0),
            ..forever()
        },
        ..job(op)
    }
}

#[test]
fn every_block_is_read_back_from_where_it_was_written_with_all_files_open_or_few() {
    for open in [None, Some(1), Some(5)] {
        let set = FileSet { open, ..set(64) };
        let laid = Laid::out(&set);
        let written = run(
            &pass(Op::Write, &set, true),
            &laid.spec(&set),
            &Options::default(),
        );
        let blocks = set.total_bytes() / BLOCK;
        assert_eq!(
            written.ops[&Op::Write].service.count(),
            blocks,
            "{:?}",
            written.notes
        );
        let read = run(
            &pass(Op::Read, &set, true),
            &laid.spec(&set),
            &Options::default(),
        );
        let reads = &read.ops[&Op::Read];
        assert_eq!(
            (reads.service.count(), reads.errors),
            (blocks, 0),
            "{:?}",
            read.notes
        );
        let in_line = read
            .notes
            .iter()
            .any(|note| note.contains("opened in line"));
        assert_eq!(in_line, open.is_some(), "{:?}", read.notes);
    }
}

#[test]
fn a_files_own_block_is_the_one_that_is_found_damaged() {
    let set = set(16);
    let laid = Laid::out(&set);
    run(
        &pass(Op::Write, &set, true),
        &laid.spec(&set),
        &Options::default(),
    );
    let file = File::options()
        .write(true)
        .open(laid.0.join(set.path(5)))
        .unwrap();
    file.write_all_at(&[0; 512], 0).unwrap();
    let read = run(
        &pass(Op::Read, &set, true),
        &laid.spec(&set),
        &Options::default(),
    );
    assert_eq!(read.ops[&Op::Read].errors, 1);
    let start = set.starts(0..6)[5];
    assert_eq!(read.faults.len(), 1);
    assert!(read.faults[0].start_bytes <= start && start < read.faults[0].end_bytes);
}

#[test]
fn writes_change_no_sizes_and_make_no_files() {
    let set = set(20);
    let laid = Laid::out(&set);
    let sizes = || {
        let size = |file| {
            (
                file,
                fs::metadata(laid.0.join(set.path(file))).unwrap().size(),
            )
        };
        (0..20).map(size).collect::<BTreeMap<_, _>>()
    };
    let before = sizes();
    let random = Job {
        pattern: Pattern::Uniform,
        until: count(2000),
        ..pass(Op::Write, &set, false)
    };
    run(&random, &laid.spec(&set), &Options::default());
    assert_eq!(sizes(), before);
    let held = fs::read_dir(laid.0.join("d0001/d0001")).unwrap().count();
    assert_eq!(held, 5);
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let set = FileSet {
        open: Some(1),
        ..set(16)
    };
    let laid = Laid::out(&set);
    let outside = Scratch::filled(16 * BLOCK, 9);
    for file in 0..16 {
        let path = laid.0.join(set.path(file));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&outside.0, &path).unwrap();
    }
    let refused = refusal(&pass(Op::Write, &set, false), &laid.spec(&set));
    assert!(refused.contains("symbolic link"), "{refused}");
    assert_eq!(outside.read(), vec![9; 16 * BLOCK as usize]);
}

#[test]
fn a_file_that_vanishes_fails_its_own_requests_and_is_named() {
    let set = FileSet {
        open: Some(1),
        ..set(16)
    };
    let laid = Laid::out(&set);
    fs::remove_file(laid.0.join(set.path(3))).unwrap();
    let run = engine::start(
        &pass(Op::Read, &set, false),
        &[laid.spec(&set)],
        &Options::default(),
    );
    let (_, ended) = follow(run.unwrap());
    let recording = ended.unwrap();
    let reads = &recording.ops[&Op::Read];
    assert_eq!(
        recording.errno,
        BTreeMap::from([(libc::ENOENT, reads.errors)])
    );
    assert_eq!(reads.errors, set.size_of(3) / BLOCK);
    let named = format!("{} cannot be opened", set.path(3));
    assert!(
        recording.notes.iter().any(|note| note.contains(&named)),
        "{:?}",
        recording.notes
    );
}

#[test]
fn another_directory_in_the_place_of_the_one_that_was_checked_is_left_alone() {
    let set = set(16);
    let (laid, other) = (Laid::out(&set), Laid::out(&set));
    let found = fs::metadata(&laid.0).unwrap();
    let spec = TargetSpec {
        held: Some(FileId {
            device: found.dev(),
            inode: found.ino(),
        }),
        ..other.spec(&set)
    };
    let refused = refusal(&pass(Op::Write, &set, false), &spec);
    assert!(refused.contains("has taken its place"), "{refused}");
}

#[test]
fn a_set_and_a_job_without_one_do_not_run_on_each_other() {
    let set = set(16);
    let laid = Laid::out(&set);
    assert!(refusal(&job(Op::Read), &laid.spec(&set)).contains("give the job `files`"));
    let file = Scratch::filled(MIB, 0);
    let refused = refusal(&pass(Op::Read, &set, false), &file.spec(MIB));
    assert!(
        refused.contains("a directory with the job's files"),
        "{refused}"
    );
}
