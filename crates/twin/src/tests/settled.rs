//! A drive that begins settled, against one whose overwrites were simulated.

use recording::Recording;
use workload::Op;

use super::drive::data_centre_drive;
use super::{assert_close, closed, filled, iops, measure, small_drive, waf};
use crate::device::Device;
use crate::{Ssd, SsdParams};

fn settled(mut params: SsdParams, share: f64) -> Ssd {
    params.settled_share = share;
    Ssd::new(&params, 7).expect("valid parameters")
}

fn mean_ns(writes: &Recording) -> f64 {
    let written = writes.ops[&Op::Write].service.mean_ns();
    written.expect("writes")
}

#[test]
fn a_settled_drive_writes_at_once_as_one_does_after_long_overwrites() {
    let params = data_centre_drive(1024);
    let region = closed("\"write\"", "4KiB", "uniform", 4, 32, r#"{"written":"4x"}"#);
    let window = closed("\"write\"", "4KiB", "uniform", 4, 32, r#"{"time":"400ms"}"#);
    let first = closed("\"write\"", "4KiB", "uniform", 4, 32, r#"{"time":"50ms"}"#);
    let mut simulated = filled(&params);
    measure(&mut simulated, &region);
    let mut begun = settled(params, 1.0);
    measure(&mut begun, &first);
    let (one, other) = (
        measure(&mut simulated, &window),
        measure(&mut begun, &window),
    );
    assert_close("WAF", waf(&other), waf(&one), 0.01);
    assert_close("IOPS", iops(&other), iops(&one), 0.01);
    assert_close("latency", mean_ns(&other), mean_ns(&one), 0.01);
}

#[test]
fn reads_of_a_settled_drive_find_data_within_its_share_and_none_beyond() {
    let mut half = settled(small_drive(), 0.5);
    let reads = closed("\"read\"", "4KiB", "uniform", 1, 32, r#"{"count":20000}"#);
    let unmapped = measure(&mut half, &reads)
        .counters
        .unmapped_reads
        .expect("known");
    assert!((9_500..10_500).contains(&unmapped), "{unmapped}");
    let mut whole = settled(small_drive(), 1.0);
    assert_eq!(measure(&mut whole, &reads).counters.unmapped_reads, Some(0));
    assert!(!whole.is_busy());
}
