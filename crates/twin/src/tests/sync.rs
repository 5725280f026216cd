//! Writes that wait until they are safe: no twin says how long its drive takes for that.

use workload::Job;

use super::file_system::Tape;
use crate::{Control, TwinError, run};

fn runs(op: &str) -> Result<(), TwinError> {
    let text = format!(
        r#"{{"mix":"{op}","block":"4KiB","pattern":"sequential","sync":"data","load":{{}},"until":{{"count":10}}}}"#
    );
    let job = Job::from_json(&text, "test").expect("a valid job");
    run(
        &job,
        &mut Tape::new(1 << 20),
        1,
        &Control::default(),
        |_| (),
    )
    .map(drop)
}

#[test]
fn a_twin_refuses_the_priority_of_a_scheduler_that_it_does_not_have() {
    let text = r#"{"mix":"read","block":"4KiB","pattern":"uniform","priority":"idle","load":{},"until":{"count":10}}"#;
    let job = Job::from_json(text, "test").expect("a valid job");
    let found = run(
        &job,
        &mut Tape::new(1 << 20),
        1,
        &Control::default(),
        |_| (),
    );
    assert_eq!(found.map(drop), Err(TwinError::Priority));
}

#[test]
fn a_twin_refuses_writes_that_wait_until_they_are_safe_and_runs_reads() {
    assert_eq!(runs("write"), Err(TwinError::Sync));
    assert_eq!(runs("read"), Ok(()));
}
