//! Map entries that stand for more than 4 KiB: what a write of part of one costs.

use workload::{Op, Request};

use super::{assert_close, closed, filled, iops, measure, settle, small_drive, waf};
use crate::device::Device;
use crate::{Ssd, SsdParams};

fn drive(indirection_unit_bytes: u32) -> Ssd {
    filled(&SsdParams {
        indirection_unit_bytes,
        ..small_drive()
    })
}

/// Overwrites the drive three times at random, then measures.
fn steady(ssd: &mut Ssd, block: &str) -> recording::Recording {
    let writes = |until| closed("\"write\"", block, "uniform", 1, 32, until);
    measure(ssd, &writes(r#"{"written":"3x"}"#));
    measure(ssd, &writes(r#"{"written":"1x"}"#))
}

#[test]
fn whole_indirection_units_cost_what_the_same_writes_cost_without() {
    let (small, large) = (
        steady(&mut drive(4096), "16KiB"),
        steady(&mut drive(16_384), "16KiB"),
    );
    assert_eq!(small.ops, large.ops);
    assert_eq!(
        small.counters.media_write_bytes,
        large.counters.media_write_bytes
    );
}

#[test]
fn a_write_of_a_quarter_of_an_indirection_unit_programs_four_times_as_much() {
    let whole = steady(&mut drive(16_384), "16KiB");
    let quarter = steady(&mut drive(16_384), "4KiB");
    assert_close("WAF", waf(&quarter), 4.0 * waf(&whole), 0.02);
    // Programming limits both, so as many units are written a second, less what the dies read for them.
    assert_close("IOPS", iops(&quarter), iops(&whole), 0.1);
    let alone = steady(&mut drive(4096), "4KiB");
    assert!(iops(&alone) > 3.0 * iops(&quarter));
}

#[test]
fn a_write_of_part_of_an_indirection_unit_reads_the_rest_once() {
    let submit = |ssd: &mut Ssd, op, size_bytes, offset_bytes| {
        let before = ssd.flash_reads();
        ssd.submit(
            ssd.now_ns(),
            1,
            Request {
                offset_bytes,
                size_bytes,
                placement: 0,
                op,
            },
        );
        settle(ssd);
        ssd.flash_reads() - before
    };
    let mut ssd = drive(65_536);
    let read_bytes = |ssd: &mut Ssd, size_bytes, offset_bytes| {
        submit(ssd, Op::Write, size_bytes, offset_bytes) * 4096
    };
    assert_eq!(read_bytes(&mut ssd, 65_536, 101 << 20), 0);
    assert_eq!(read_bytes(&mut ssd, 4096, (102 << 20) + 8192), 61_440);
    assert_eq!(read_bytes(&mut ssd, 65_536, (104 << 20) - 4096), 65_536);
    let mapped = ssd.mapped_pages();
    submit(&mut ssd, Op::Trim, 61_440, 108 << 20);
    assert_eq!(ssd.mapped_pages(), mapped, "only whole units are trimmed");
    submit(&mut ssd, Op::Trim, 65_536, 108 << 20);
    assert_eq!(ssd.mapped_pages(), mapped - 16);
}
