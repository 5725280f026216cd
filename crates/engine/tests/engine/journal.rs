//! Writes that were acknowledged before a crash are found after it.

use std::{
    path::PathBuf,
    process::Command,
    time::{Duration, Instant, SystemTime},
};

use engine::{Options, verify_journal};
use workload::{Content, Job, Load, Op, Verify};

use crate::{
    faulty::{Fate, Faulty},
    support::*,
};

const TARGET: &str = "FATHOM_TEST_JOURNAL_TARGET";
const DIRECTORY: &str = "FATHOM_TEST_JOURNAL_DIRECTORY";
const SIZE: u64 = 4 * MIB;

struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn directory(file: &Scratch) -> Directory {
    Directory(file.0.with_extension("journal-dir"))
}

fn journaled(directory: &std::path::Path) -> Job {
    let mut job = job(Op::Write);
    job.mix.ops.push(block(Op::Flush, 0, 0.02));
    job.direct = true;
    job.load = Load::Closed {
        threads: 2,
        iodepth: 8,
    };
    job.content = Content {
        verify: Some(Verify {
            generation: 1,
            seed: 5,
        }),
        ..Content::default()
    };
    job.journal = Some(directory.to_str().unwrap().to_owned());
    job
}

/// The process that is killed; does nothing when run as a test.
#[test]
fn child_that_writes_until_it_is_killed() {
    let (Ok(target), Ok(directory)) = (std::env::var(TARGET), std::env::var(DIRECTORY)) else {
        return;
    };
    let spec = file_spec(target.as_ref(), SIZE);
    run(&journaled(directory.as_ref()), &spec, &Options::default());
}

#[test]
fn after_kill_minus_9_every_acknowledged_write_is_there_and_a_lost_one_is_found() {
    let file = Scratch::filled(SIZE, 0);
    let directory = directory(&file);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "journal::child_that_writes_until_it_is_killed"])
        .env(TARGET, &file.0)
        .env(DIRECTORY, &directory.0)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let journal_bytes = || {
        let entries = std::fs::read_dir(&directory.0).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum::<u64>()
    };
    let give_up = Instant::now() + Duration::from_secs(60);
    while journal_bytes() < 400_000 && Instant::now() < give_up {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let report = verify_journal(&directory.0, None).unwrap();
    assert_eq!(report.journals, 2);
    assert!(report.writes > 5000, "{report:?}");
    assert!(report.wrong.is_empty(), "{report:?}");

    let mut data = file.read();
    data[..MIB as usize].fill(0);
    std::fs::write(&file.0, data).unwrap();
    let report = verify_journal(&directory.0, None).unwrap();
    assert!(report.wrong["unwritten"] > 200, "{report:?}");
    assert!(report.wrong_though_flushed > 0, "{report:?}");
}

#[test]
fn the_times_of_a_journal_count_from_the_start_of_the_load_not_from_its_set_up() {
    let file = Scratch::filled(SIZE, 0);
    let directory = directory(&file);
    let mut job = journaled(&directory.0);
    job.until = time(Duration::from_millis(200));
    let set_up = Duration::from_secs(2);
    let options = Options {
        start_at: Some(SystemTime::now() + set_up),
        ..Options::default()
    };
    run(&job, &file.spec(SIZE), &options);
    let report = verify_journal(&directory.0, None).unwrap();
    let last = Duration::from_nanos(report.last_acked_ns);
    assert!(
        last > Duration::from_millis(100) && last < set_up,
        "{last:?}"
    );
    let behind = Duration::from_nanos(report.behind_ns);
    assert!(behind < set_up, "{behind:?}");
}

#[test]
fn a_journal_that_is_there_already_is_not_overwritten() {
    let file = Scratch::filled(SIZE, 0);
    let directory = directory(&file);
    let mut job = journaled(&directory.0);
    job.until = count(100);
    run(&job, &file.spec(SIZE), &Options::default());
    let writes = verify_journal(&directory.0, Some(&file.0)).unwrap().writes;
    assert!((90..=100).contains(&writes), "{writes}");
    let message = refusal(&job, &file.spec(SIZE));
    assert!(
        message.contains("an earlier pass left it; verify it"),
        "{message}"
    );
}

#[test]
fn a_job_that_cannot_start_leaves_no_journal_beside_the_one_that_stopped_it() {
    let file = Scratch::filled(SIZE, 0);
    let directory = directory(&file);
    let mut job = journaled(&directory.0);
    let spec = file.spec(SIZE);
    job.until = count(100);
    job.load = Load::Closed {
        threads: 1,
        iodepth: 8,
    };
    run(&job, &spec, &Options::default());
    // Two of three threads find a free name, whichever is first.
    job.load = Load::Closed {
        threads: 3,
        iodepth: 8,
    };
    job.content.verify = Some(Verify {
        generation: 2,
        seed: 5,
    });
    let message = refusal(&job, &spec);
    assert!(message.contains("an earlier pass left it"), "{message}");
    assert_eq!(verify_journal(&directory.0, None).unwrap().journals, 1);
}

#[test]
fn of_the_journals_of_several_targets_one_is_chosen_by_name() {
    let [one, other] = [0, 0].map(|byte| Scratch::filled(SIZE, byte));
    let directory = directory(&one);
    let mut job = journaled(&directory.0);
    job.until = count(200);
    let specs = [one.spec(SIZE), other.spec(SIZE)];
    let started = engine::start(&job, &specs, &Options::default()).unwrap();
    follow(started).1.unwrap();
    let message = verify_journal(&directory.0, None).unwrap_err().to_string();
    assert!(message.contains("name one of them behind it"), "{message}");
    for file in [&one, &other] {
        let report = verify_journal(&directory.0, Some(&file.0)).unwrap();
        assert_eq!((report.journals, report.wrong.len()), (2, 0), "{report:?}");
    }
}

#[test]
fn sectors_that_give_an_error_are_unreadable_and_the_others_are_still_looked_for() {
    let file = Scratch::filled(SIZE, 0);
    let directory = directory(&file);
    let mut job = journaled(&directory.0);
    job.until = count(500);
    run(&job, &file.spec(SIZE), &Options::default());
    let whole = verify_journal(&directory.0, None).unwrap();
    let broken = Faulty::new(SIZE, |io| match io.offset < SIZE / 2 {
        true => Fate::Error(libc::EIO),
        false => Fate::Good,
    });
    let report = verify_journal(&directory.0, Some(&broken.spec().path)).unwrap();
    let [unreadable, foreign] = ["unreadable", "foreign"].map(|kind| report.wrong[kind]);
    assert!(unreadable > 50 && foreign > 50, "{report:?}");
    assert_eq!(unreadable + foreign, whole.blocks);
}

#[test]
fn what_is_no_journal_is_refused() {
    let file = Scratch::filled(512, b'x');
    let directory = directory(&file);
    let refused = || verify_journal(&directory.0, None).unwrap_err().to_string();
    assert!(refused().contains("check the name"), "{}", refused());
    std::fs::create_dir(&directory.0).unwrap();
    assert!(
        refused().contains("holds no write journal"),
        "{}",
        refused()
    );
    std::fs::write(directory.0.join("x.journal"), "x").unwrap();
    assert!(refused().contains("is no write journal"), "{}", refused());
}
