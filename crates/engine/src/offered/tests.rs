//! What is counted of the arrivals of an open load.

use workload::{Geometry, Job};

use super::*;
use crate::meter::SECOND_NS;

/// Long enough to decide, short enough to count without optimisation.
const SHORT_NS: u64 = SECOND_NS / 20;

/// Evenly spaced arrivals at a rate, of one thread, and at most `limit` of them.
fn offered(rate_iops: u64, limit: u64) -> Offered {
    let job = format!(
        r#"mix = "read"
block = "4KiB"
pattern = "uniform"
load = {{ rate = "{rate_iops}/s", arrival = "deterministic", threads = 1, iodepth = 1 }}
until = {{ time = "1h" }}
"#
    );
    let job = Job::from_toml(&job, "job.toml").expect("a job");
    let geometry = Geometry {
        capacity_bytes: 1 << 30,
        block_bytes: 4096,
    };
    let stream = RequestStream::new(&job, geometry, 1, 0).expect("a stream");
    Offered {
        count_ns: COUNT_NS,
        ..Offered::new(&stream, limit)
    }
}

#[test]
fn every_arrival_is_counted_after_a_thread_had_no_core_for_long() {
    let mut offered = offered(20_000_000, u64::MAX);
    offered.advance(1_000);
    assert_eq!(offered.report(6 * SHORT_NS, 1_000), (6_000_000, 5_999_000));
    assert_eq!(offered.uncounted_ns(), 0);
}

#[test]
fn of_arrivals_faster_than_can_be_counted_a_share_of_the_time_is_and_the_rest_is_told() {
    let mut offered = offered(1_000_000_000, u64::MAX);
    let (counted, backlog) = offered.report(SHORT_NS, 1_000);
    assert_eq!(counted, SHORT_NS / COUNT_NS + SPARE);
    assert_eq!(backlog, counted - 1_000);
    assert_eq!(offered.uncounted_ns(), SHORT_NS - counted);
    let (later, backlog) = offered.report(2 * SHORT_NS, 2_000);
    assert_eq!(later, SHORT_NS / COUNT_NS);
    assert_eq!(backlog, counted + later - 2_000);
}

#[test]
fn what_was_issued_has_arrived_however_far_the_count_is_behind() {
    let mut offered = offered(1_000_000_000, u64::MAX);
    let issued = SHORT_NS / COUNT_NS + 2 * SPARE;
    assert_eq!(offered.report(SHORT_NS, issued), (issued, 0));
    assert_eq!(offered.report(SHORT_NS, issued), (0, 0));
}

#[test]
fn a_load_of_so_many_io_is_counted_in_full_when_all_have_arrived() {
    let mut offered = offered(1_000_000_000, 1_000);
    assert_eq!(offered.report(SHORT_NS, 10), (1_000, 990));
    assert_eq!(offered.uncounted_ns(), 0);
}
