//! Journals as files: their names, what a crash leaves of them, and the thread that writes them.

use std::{
    cell::RefCell,
    collections::HashSet,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    time::{Duration, Instant},
};

use super::{
    file::{begin, name, sync_directory},
    *,
};
use crate::{
    affinity::{allowed_cpus, pin_to},
    protocol::Protocol,
    sector::Accepted,
    submission::Nops,
    verify::Checked,
};

const VERIFY: Verify = Verify {
    generation: 1,
    seed: 0,
};

/// A directory of the test's own, which is not there yet.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let own = format!("fathom-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(own))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn wait_until(what: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while !what() {
        assert!(Instant::now() < give_up, "waited in vain");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_writer_runs_on_any_core_though_a_pinned_thread_made_it() {
    let (directory, all) = (Scratch::new("unpinned"), allowed_cpus());
    let Some(last) = all.last().copied().filter(|_| all.len() > 1) else {
        return;
    };
    let cores = |task: &Path| {
        let name = std::fs::read_to_string(task.join("comm")).ok()?;
        let status = std::fs::read_to_string(task.join("status")).ok()?;
        let list = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        (name.trim() == "journal").then(|| list.map(|list| list.trim().to_owned()))?
    };
    let of_writers = || -> Vec<String> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        tasks.filter_map(|task| cores(&task.ok()?.path())).collect()
    };
    thread::scope(|pinned| {
        pinned.spawn(|| {
            pin_to(last).unwrap();
            let target = Path::new("/dev/null");
            let journal = WriteJournal::create(&directory.0, target, 0, VERIFY, RunClock::alone());
            // Writers of other tests are none that this one has to find.
            wait_until(|| {
                let writers = of_writers();
                !writers.is_empty() && writers.iter().all(|list| *list != last.to_string())
            });
            drop(journal.unwrap());
        });
    });
}

#[test]
fn a_writer_that_panics_ends_the_load_and_is_its_failure() {
    let directory = Scratch::new("broken");
    let clock = RunClock::alone();
    let target = Path::new("/dev/null");
    let mut journal = WriteJournal::create(&directory.0, target, 0, VERIFY, clock.clone()).unwrap();
    journal.end();
    journal.queue = Arc::default();
    let writer = writing::spawn(&journal.queue, |_| panic!("a defect that the test makes"));
    journal.writer = writer.ok();
    let text = r#"{"mix": "write", "block": "4KiB", "pattern": "uniform", "load": {}, "until": {"count": 1}}"#;
    let job = workload::Job::from_json(text, "job.json").unwrap();
    let mut checked = Checked::new(Nops, &job, Accepted::default(), 0, clock, Some(journal));
    wait_until(|| checked.is_over());
    let fault = checked.fault().unwrap();
    assert!(
        fault.contains("/dev_null.0.journal ended by a defect"),
        "{fault}"
    );
    assert_eq!(checked.notes(), [""; 0]);
}

#[test]
fn a_journal_that_cannot_be_written_is_a_note_and_not_a_failure() {
    let directory = Scratch::new("full");
    let (clock, target) = (RunClock::alone(), Path::new("/dev/null"));
    let mut journal = WriteJournal::create(&directory.0, target, 0, VERIFY, clock).unwrap();
    journal.end();
    journal.queue = Arc::default();
    let full = |_: &JournalQueue| Err(io::Error::from_raw_os_error(libc::ENOSPC));
    journal.writer = writing::spawn(&journal.queue, full).ok();
    assert_eq!(journal.fault(), None);
    let notes = journal.finish().join("");
    assert!(notes.contains("later writes are not in it"), "{notes}");
}

#[test]
fn no_two_targets_journals_have_one_name_and_that_of_a_device_reads_as_its_path() {
    assert_eq!(name(Path::new("/dev/nvme0n1")), "dev_nvme0n1");
    let paths = [
        "/a_b", "/a/b", "/a%5Fb", "/a//_b", "/a/%5Fb", "/a_/b", "/\u{e9}",
    ];
    let raw = [b"/\xff".as_slice(), b"/\xfe"].map(OsStr::from_bytes);
    let paths = paths.iter().map(Path::new).chain(raw.map(Path::new));
    let names: HashSet<String> = paths.clone().map(name).collect();
    assert_eq!(names.len(), paths.count(), "{names:?}");
    let plain = |name: &String| name.is_ascii() && !name.contains('/');
    assert!(names.iter().all(plain), "{names:?}");
}

#[test]
fn every_directory_that_got_an_entry_is_synced_the_existing_one_included() {
    let root = Scratch::new("durable");
    std::fs::create_dir(&root.0).unwrap();
    let directory = root.0.join("made/for/it");
    let header = Header {
        schema: SCHEMA.into(),
        target: "/dev/null".into(),
        thread: 0,
        generation: 1,
        seed: 0,
        run: 0,
    };
    let synced = RefCell::new(Vec::new());
    let sync = |holder: &Path| {
        synced.borrow_mut().push(holder.to_owned());
        sync_directory(holder)
    };
    begin(&directory, &directory.join("x"), &header, sync).unwrap();
    synced.borrow_mut().sort();
    let expected = ["", "made", "made/for", "made/for/it"].map(|end| root.0.join(end));
    assert_eq!(*synced.borrow(), expected);
}
