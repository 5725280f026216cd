use super::*;
use crate::{
    gate::RunClock,
    sector::seal,
    write_journal::{HEADER_BYTES, RECORD_BYTES, Record, WriteJournal},
};

const PASS: Verify = Verify {
    generation: 2,
    seed: 7,
};
const BLOCK: u64 = 4096;

/// A target of zeroes and the journal of a pass over it.
struct Crash {
    directory: PathBuf,
    journal: WriteJournal,
    data: Vec<u8>,
}

impl Crash {
    fn new(name: &str) -> Self {
        let name = format!("fathom-journal-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&directory);
        let target = directory.join("target");
        let journal = WriteJournal::create(&directory, &target, 0, PASS, RunClock::alone());
        Self {
            journal: journal.expect("made"),
            data: vec![0; 16 * BLOCK as usize],
            directory,
        }
    }

    /// Issues a write; its signature.
    fn issue(&mut self) -> [u64; 2] {
        self.journal.sign()
    }

    /// What the target holds of a write.
    fn land(&mut self, block: u64, signature: [u64; 2]) {
        let start = (block * BLOCK) as usize;
        let data = &mut self.data[start..start + BLOCK as usize];
        seal(data, block * BLOCK, PASS, Some(signature));
    }

    fn acknowledge(&mut self, block: u64, signature: [u64; 2], (issued_ns, acked_ns): (u64, u64)) {
        self.journal.note(Record {
            offset_bytes: block * BLOCK,
            number: signature[0],
            issued_ns,
            acked_ns,
            size_bytes: BLOCK as u32,
        });
    }

    fn flush(&mut self, issued_ns: u64) {
        self.journal.note(Record {
            offset_bytes: 0,
            number: 0,
            issued_ns,
            acked_ns: issued_ns + 1,
            size_bytes: 0,
        });
    }

    /// The journal's file, once it is written.
    fn file(&mut self) -> PathBuf {
        self.journal.finish();
        let mut names = std::fs::read_dir(&self.directory).expect("there");
        names.next().expect("a journal").expect("listed").path()
    }

    fn verified(mut self) -> JournalReport {
        let notes = self.journal.finish();
        assert!(
            notes.iter().all(|note| note.contains("(tmpfs)")),
            "{notes:?}"
        );
        std::fs::write(self.directory.join("target"), &self.data).expect("written");
        let report = verify_journal(&self.directory, None).expect("read");
        std::fs::remove_dir_all(&self.directory).expect("removed");
        report
    }
}

fn wrong(report: &JournalReport) -> Vec<(&str, u64)> {
    report
        .wrong
        .iter()
        .map(|(kind, n)| (kind.as_str(), *n))
        .collect()
}

#[test]
fn a_block_that_holds_an_earlier_write_of_the_same_pass_has_lost_the_later_one() {
    let mut crash = Crash::new("stale");
    let (first, second) = (crash.issue(), crash.issue());
    crash.acknowledge(3, first, (10, 20));
    crash.acknowledge(3, second, (30, 40));
    crash.land(3, first);
    let report = crash.verified();
    assert_eq!((report.writes, report.blocks), (2, 1));
    assert_eq!(wrong(&report), [("stale", 1)]);
    assert!(
        report.reported[0].contains("4096 bytes at 12288"),
        "{:?}",
        report.reported
    );
}

#[test]
fn the_first_wrong_blocks_by_place_are_reported_in_the_order_of_their_places() {
    let mut crash = Crash::new("order");
    let (first, second) = (crash.issue(), crash.issue());
    crash.acknowledge(3, first, (10, 20));
    crash.acknowledge(3, second, (30, 40));
    crash.land(3, first);
    for block in 4..16 {
        let lost = crash.issue();
        crash.acknowledge(block, lost, (50, 60));
    }
    let report = crash.verified();
    assert_eq!(wrong(&report), [("stale", 1), ("unwritten", 12)]);
    let places = (3..13).map(|block| format!("4096 bytes at {},", block * BLOCK));
    assert_eq!(report.reported.len(), 10);
    for (reported, place) in report.reported.iter().zip(places) {
        assert!(
            reported.contains(&place),
            "{reported} where {place} belongs"
        );
    }
}

#[test]
fn writes_that_overlapped_in_time_and_writes_that_were_not_acknowledged_may_stand() {
    let mut crash = Crash::new("overlap");
    let numbers: Vec<_> = (0..4).map(|_| crash.issue()).collect();
    crash.acknowledge(0, numbers[0], (10, 35));
    crash.acknowledge(0, numbers[1], (30, 40));
    crash.land(0, numbers[0]);
    crash.acknowledge(1, numbers[2], (50, 60));
    crash.land(1, numbers[3]);
    let report = crash.verified();
    assert_eq!((report.blocks, wrong(&report)), (2, vec![]));
}

#[test]
fn torn_misdirected_and_missing_blocks_are_reported_apart_and_a_flush_excuses_none() {
    let mut crash = Crash::new("kinds");
    for block in 0..4 {
        let number = crash.issue();
        crash.land(block, number);
        crash.acknowledge(block, number, (10 * block, 10 * block + 5));
    }
    crash.flush(20);
    crash.data[1024..2048].fill(0);
    let moved = crash.data[8192..12_288].to_vec();
    crash.data[4096..8192].copy_from_slice(&moved);
    crash.data[12_288..16_384].fill(0);
    let report = crash.verified();
    assert_eq!(
        wrong(&report),
        [("misdirected", 1), ("torn", 1), ("unwritten", 1)]
    );
    assert_eq!(report.wrong_though_flushed, 2);
}

#[test]
fn what_an_earlier_run_of_the_same_pass_wrote_does_not_pass_for_a_later_write() {
    let mut earlier = Crash::new("earlier");
    let mut crash = Crash::new("run");
    for block in 0..2 {
        crash.land(block, earlier.issue());
        let signature = crash.issue();
        crash.acknowledge(block, signature, (10, 20));
    }
    let report = crash.verified();
    assert_eq!(wrong(&report), [("stale", 2)]);
    std::fs::remove_dir_all(&earlier.directory).expect("removed");
}

#[test]
fn what_is_torn_in_a_journal_is_left_out_and_counted_and_the_rest_is_looked_for() {
    let mut crash = Crash::new("torn-records");
    for block in 0..3 {
        let signature = crash.issue();
        crash.acknowledge(block, signature, (10 * block, 10 * block + 5));
    }
    let file = crash.file();
    let mut bytes = std::fs::read(&file).expect("read");
    bytes[HEADER_BYTES + RECORD_BYTES] ^= 1;
    bytes.extend_from_slice(&[1; 30]);
    std::fs::write(&file, bytes).expect("written");
    std::fs::write(file.with_file_name("not-yet.journal"), "").expect("written");
    let report = crash.verified();
    assert_eq!((report.journals, report.writes), (1, 2));
    assert_eq!(report.torn_bytes, 30 + RECORD_BYTES as u64);
    assert_eq!(
        (wrong(&report), report.last_acked_ns),
        (vec![("unwritten", 2)], 25)
    );
}

#[test]
fn one_write_alone_is_safe_within_milliseconds_and_the_next_tells_after_how_many() {
    let mut crash = Crash::new("alone");
    let written = |directory: &Path| {
        let mut writes = 0;
        let journals = Journals::find(directory, None).expect("found");
        let read = journals.records(|_, record| writes += u64::from(record.kind() == Kind::Write));
        read.expect("read");
        writes
    };
    for block in 0..2 {
        let signature = crash.issue();
        crash.land(block, signature);
        crash.acknowledge(block, signature, (1, 2));
        let give_up = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while written(&crash.directory) <= block {
            assert!(std::time::Instant::now() < give_up, "nothing was written");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    let report = crash.verified();
    assert_eq!(wrong(&report), []);
    assert!(report.behind_ns >= 5_000_000, "{report:?}");
}

#[test]
fn another_file_that_ends_before_the_last_write_is_refused_with_the_journals_target() {
    let mut crash = Crash::new("other-file");
    let signature = crash.issue();
    crash.acknowledge(9, signature, (1, 2));
    crash.file();
    let other = crash.directory.join("other");
    std::fs::write(&other, [0; BLOCK as usize]).expect("written");
    let refused = verify_journal(&crash.directory, Some(&other)).expect_err("another file");
    let message = refused.to_string();
    assert!(
        message.contains("/target, and this target ends 36864 bytes before its last write"),
        "{message}"
    );
    std::fs::write(&other, [0; 10 * BLOCK as usize]).expect("written");
    let report = verify_journal(&crash.directory, Some(&other)).expect("large enough");
    assert_eq!(
        (wrong(&report), report.beyond_bytes),
        (vec![("unwritten", 1)], 0)
    );
    std::fs::remove_dir_all(&crash.directory).expect("removed");
}

#[test]
fn a_target_that_was_cut_lacks_what_lies_behind_its_end() {
    let mut crash = Crash::new("cut");
    let signature = crash.issue();
    crash.acknowledge(3, signature, (1, 2));
    crash.data.truncate(BLOCK as usize);
    let report = crash.verified();
    assert_eq!(
        (wrong(&report), report.beyond_bytes),
        (vec![("unwritten", 1)], 3 * BLOCK)
    );
}
