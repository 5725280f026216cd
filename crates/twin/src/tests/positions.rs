//! A position that threads share, in virtual time: places are given in the order in which requests are issued.

use workload::Job;

use super::file_system::Tape;
use crate::{Control, run};

#[test]
fn threads_with_a_shared_position_issue_one_sequence_that_wraps_at_the_regions_end() {
    let (threads, blocks, count) = (5, 37, 200);
    let text = format!(
        r#"{{"mix":"read","block":"4KiB","pattern":"sequential","position":"shared","region":"{}","load":{{"threads":{threads},"iodepth":2}},"until":{{"count":{count}}}}}"#,
        blocks * 4096
    );
    let job = Job::from_json(&text, "test").expect("a valid job");
    let mut tape = Tape::new(1 << 20);
    run(&job, &mut tape, 1, &Control::default(), |_| ()).expect("the job runs");
    let issued: Vec<u64> = tape.log.iter().map(|r| r.offset_bytes / 4096).collect();
    let closed_form: Vec<u64> = (0..count).map(|turn| turn % blocks).collect();
    assert_eq!(issued, closed_form);
}
