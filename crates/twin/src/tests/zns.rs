//! A zoned drive: rates of one zone and of many, what reset and finish do, and what is refused.

use recording::Remark;
use workload::{Job, Op, Request};

use super::{assert_close, intervals, iops, measure, settle, small_drive, waf};
use crate::device::zones::{Condition, Refusal, ZoneAction};
use crate::device::{Account, CompletionKind, Device};
use crate::ssd::params::ZoneFinish;
use crate::{Control, Ssd, SsdParams, run};

const ZONE: u64 = 8 << 20;
/// Eight rows of two dies, sixteen of one.
const CAPACITY: u64 = 3 << 19;

/// The small drive, of 170 zones on two of its eight dies each, 16 of which may be active.
fn zoned() -> SsdParams {
    SsdParams {
        zone_bytes: ZONE,
        zone_capacity_bytes: CAPACITY,
        zone_dies: 2,
        max_active_zones: 16,
        ..small_drive()
    }
}

fn drive(change: impl FnOnce(&mut SsdParams)) -> Ssd {
    let mut params = zoned();
    change(&mut params);
    Ssd::new(&params, 7).expect("valid parameters")
}

fn job(mix: &str, block: &str, zones: u32, threads: u32, iodepth: u32, until: &str) -> Job {
    let text = format!(
        r#"{{"mix":"{mix}","block":"{block}","pattern":{{"zones":{zones}}},"load":{{"threads":{threads},"iodepth":{iodepth}}},"until":{until}}}"#
    );
    Job::from_json(&text, "test").expect("a valid job")
}

/// Submits one request and gives its outcome and latency, ns.
fn ask(ssd: &mut Ssd, op: Op, offset_bytes: u64, size_bytes: u64) -> (CompletionKind, u64) {
    let request = Request {
        offset_bytes,
        size_bytes: size_bytes as u32,
        placement: 0,
        op,
    };
    let start_ns = ssd.now_ns();
    ssd.submit(start_ns, 3, request);
    let done = ssd.advance(u64::MAX).expect("an answer");
    (done.kind, done.at_ns - start_ns)
}

fn refused(ssd: &mut Ssd, op: Op, at: u64, bytes: u64, refusal: Refusal) {
    let request = Request {
        offset_bytes: at,
        size_bytes: bytes as u32,
        placement: 0,
        op,
    };
    assert_eq!(ssd.zone_refusal(&request), Some(refusal));
    let outcome = ask(ssd, op, at, bytes).0;
    assert_eq!(outcome, CompletionKind::Failed(refusal.errno()), "{op:?}");
}

/// Zones of 48 MiB on two dies each: far larger than the buffer.
fn large_zones(params: &mut SsdParams) {
    (params.zone_bytes, params.zone_capacity_bytes) = (64 << 20, 48 << 20);
    (params.capacity_bytes, params.write_buffer_bytes) = (1 << 30, 7 << 18);
}

/// Writes at the pointers of one zone a thread, MB/s; the region is so many zones of 64 MiB.
fn zone_rate(ssd: &mut Ssd, threads: u32, region_zones: u32, written_zones: u64) -> f64 {
    let text = format!(
        r#"{{"mix":"write","block":"64KiB","pattern":{{"zones":1}},"region":{{"size":"{}MiB"}},"load":{{"threads":{threads},"iodepth":1}},"until":{{"bytes":{}}}}}"#,
        64 * region_zones,
        written_zones * (48 << 20)
    );
    let recording = measure(ssd, &Job::from_json(&text, "test").expect("a valid job"));
    assert!(recording.errno.is_empty(), "{:?}", recording.notes);
    let bytes: u64 = recording.ops.values().map(|stats| stats.bytes).sum();
    bytes as f64 * 1e3 / recording.window_ns as f64
}

/// Dies x bytes of a program / its time.
#[test]
fn a_zone_is_as_fast_as_its_dies_and_many_are_as_fast_as_the_drive() {
    let die = zoned().program_bytes() as f64 / zoned().program_us;
    let rate =
        |threads, region| zone_rate(&mut drive(large_zones), threads, region, threads.into());
    assert_close("one zone", rate(1, 1), 2.0 * die, 0.05);
    // Zones take turns round four groups of dies.
    assert_close("two on dies of their own", rate(2, 2), 4.0 * die, 0.05);
    assert_close("two that share dies", rate(2, 8), 2.0 * die, 0.05);
    assert_close("four on all dies", rate(4, 4), 8.0 * die, 0.05);
    let wide = zone_rate(
        &mut drive(|params| {
            large_zones(params);
            params.zone_dies = 0;
        }),
        1,
        1,
        1,
    );
    assert_close("one zone on all dies", wide, 8.0 * die, 0.05);
}

/// A reset costs each die an erase for every erase unit programmed. The one that would follow the last
/// zone is issued, and not waited for.
#[test]
fn rewriting_a_zone_costs_its_erases_in_any_slice() {
    let params = zoned();
    let die_bytes = f64::from(24 << 20);
    let program_us = die_bytes / params.program_bytes() as f64 * params.program_us;
    let erase_us = die_bytes / params.erase_unit_bytes as f64 * params.erase_us;
    for (slice, zones) in [(1, 21.0), (8, 2.0)] {
        let mut ssd = drive(|params| {
            large_zones(params);
            params.slice_denominator = slice;
        });
        let rate = zone_rate(&mut ssd, 1, 1, 6);
        let expected = 6.0 * 2.0 * die_bytes / (6.0 * program_us + 5.0 * erase_us);
        assert_close("rewriting", rate, expected, 0.03);
        assert_close("scale", ssd.scale(), zones * 48.0 / 1024.0, 1e-9);
    }
}

#[test]
fn one_write_in_flight_is_all_that_a_zone_takes_and_appends_are_many() {
    let load = |mix, iodepth| job(mix, "4KiB", 1, 1, iodepth, r#"{"count":300}"#);
    let write = measure(&mut drive(|_| {}), &load("write", 1));
    let append = measure(&mut drive(|_| {}), &load("append", 1));
    assert_close("at depth 1", iops(&append), iops(&write), 0.01);
    let latency_us = write.ops[&Op::Write].service.mean_ns().expect("writes") / 1000.0;
    assert_close("Little", iops(&write), 1e6 / latency_us, 0.01);
    let deep = measure(&mut drive(|_| {}), &load("append", 8));
    assert_close("eight at once", iops(&deep), 8.0 * iops(&write), 0.15);
    let mut ssd = drive(|_| {});
    let too_deep = run(&load("write", 8), &mut ssd, 1, &Control::default(), |_| {});
    let refusal = too_deep.expect_err("refused").to_string();
    assert!(refusal.contains("one write at a time"), "{refusal}");
}

#[test]
fn many_open_zones_share_a_buffer_that_holds_a_unit_of_each() {
    let mut ssd = drive(|params| {
        (params.zone_dies, params.write_buffer_bytes) = (0, 17 * params.program_bytes());
    });
    let load = job("write", "4KiB", 4, 4, 4, r#"{"bytes":60000000}"#);
    let recording = measure(&mut ssd, &load);
    assert!(recording.errno.is_empty(), "{:?}", recording.notes);
}

#[test]
fn deep_appends_never_exceed_the_limit_of_open_and_active_zones() {
    for (threads, zones) in [(1, 1), (1, 2), (2, 1), (4, 1)] {
        let most = threads * zones;
        let mut ssd =
            drive(|params| (params.max_open_zones, params.max_active_zones) = (most, most));
        // Blocks of 40 KiB leave a rest of each zone, which has to be finished.
        for block in ["64KiB", "40KiB"] {
            let load = job("append", block, zones, threads, 8, r#"{"bytes":100663296}"#);
            let recording = measure(&mut ssd, &load);
            assert!(recording.errno.is_empty(), "{most}: {:?}", recording.notes);
            let bytes: u64 = recording.ops.values().map(|stats| stats.bytes).sum();
            assert!(bytes >= 96 << 20, "{most}: {bytes}");
        }
    }
}

#[test]
fn nothing_is_written_but_what_the_host_writes() {
    let mut ssd = drive(|_| {});
    // Ten turns round all zones.
    let (_, recording) = intervals(
        &mut ssd,
        &job("append", "64KiB", 2, 4, 8, r#"{"bytes":1006632960}"#),
    );
    assert!(recording.errno.is_empty(), "{:?}", recording.notes);
    assert!(waf(&recording) <= 1.0, "{}", waf(&recording));
    for zone in 0..ssd.report_zones().count() as u32 {
        ssd.manage_zone(zone, ZoneAction::Finish).expect("finished");
    }
    settle(&mut ssd);
    let mut account = Account::default();
    ssd.account(&mut account);
    let host_bytes: u64 = recording.ops.values().map(|stats| stats.bytes).sum();
    // What is left are the units that finishing filled up, one for each zone open at the end.
    let padding = account.media_write_bytes as i64 - host_bytes as i64;
    let (unit, in_flight) = (zoned().program_bytes() as i64, 32 * 65_536);
    assert!((0..=8 * unit + in_flight).contains(&padding), "{padding}");
    assert_eq!(ssd.page_totals().buffered, 0);
    assert_eq!(account.media_read_bytes, 0, "nothing is moved");
}

/// A tenth of a zone and its finish: the rest of it is padding, which takes its dies as long as data would, and is
/// erased with it.
#[test]
fn a_zone_that_is_padded_costs_all_of_its_capacity_when_it_is_finished() {
    let unit_bytes = zoned().program_bytes();
    let written_units = 2;
    for (finish, units) in [
        (ZoneFinish::Unit, written_units),
        (ZoneFinish::Zone, CAPACITY / unit_bytes),
    ] {
        let mut ssd = drive(|params| params.zone_finish = finish);
        let begin = ask(&mut ssd, Op::Write, 0, written_units * unit_bytes).0;
        assert_eq!(begin, CompletionKind::Done);
        settle(&mut ssd);
        let before_ns = ssd.now_ns();
        ssd.manage_zone(0, ZoneAction::Finish).expect("finished");
        settle(&mut ssd);
        let took_us = (ssd.now_ns() - before_ns) as f64 / 1000.0;
        // Sixteen units on two dies, less the two that were written.
        let expected_us = (units - written_units) as f64 / 2.0 * zoned().program_us;
        assert!(
            (expected_us..=expected_us * 1.02 + 1.0).contains(&took_us),
            "{finish:?}: {took_us} us"
        );
        let mut account = Account::default();
        ssd.account(&mut account);
        assert_eq!(account.media_write_bytes, units * unit_bytes, "{finish:?}");
        assert_eq!(ssd.page_totals().buffered, 0);
        ask(&mut ssd, Op::Trim, 0, ZONE);
        ssd.account(&mut account);
        let die_units = units.div_ceil(2) * unit_bytes;
        let erases = 2 * die_units.div_ceil(zoned().erase_unit_bytes);
        let erased = erases * zoned().erase_unit_bytes;
        assert_eq!(account.media_erase_bytes, erased, "{finish:?}");
        let again = ask(&mut ssd, Op::Write, 0, CAPACITY).0;
        assert_eq!(again, CompletionKind::Done);
    }
}

#[test]
fn a_zone_written_whole_is_on_flash_byte_for_byte() {
    let mut ssd = drive(|_| {});
    assert_eq!(
        ask(&mut ssd, Op::Write, ZONE, CAPACITY).0,
        CompletionKind::Done
    );
    settle(&mut ssd);
    let mut account = Account::default();
    ssd.account(&mut account);
    assert_eq!(account.media_write_bytes, CAPACITY);
    assert_eq!(ssd.page_totals().buffered, 0);
    assert_eq!(
        ask(&mut ssd, Op::Read, ZONE, CAPACITY).0,
        CompletionKind::Done
    );
    ssd.account(&mut account);
    assert_eq!(
        (account.media_read_bytes, account.unmapped_reads),
        (CAPACITY, 0)
    );
    ask(&mut ssd, Op::Read, ZONE + CAPACITY - 4096, 8192);
    ssd.account(&mut account);
    assert_eq!(
        account.unmapped_reads, 1,
        "behind the capacity nothing is written"
    );
}

/// Two erase units a die: eight rows of 96 KiB in units of 384 KiB.
#[test]
fn a_reset_erases_what_was_written_and_the_zone_takes_data_again() {
    let mut ssd = drive(|_| {});
    let overhead_ns = ask(&mut ssd, Op::Trim, 0, ZONE).1;
    assert!(overhead_ns < 10_000, "an empty zone has nothing to erase");
    for (written, erases) in [(4096, 0), (98_304, 1), (CAPACITY, 2)] {
        assert_eq!(ask(&mut ssd, Op::Write, 0, written).0, CompletionKind::Done);
        settle(&mut ssd);
        let (outcome, took_ns) = ask(&mut ssd, Op::Trim, 0, ZONE);
        assert_eq!(outcome, CompletionKind::Done);
        assert_eq!(took_ns - overhead_ns, erases * 3_500_000);
        assert_eq!(ssd.write_pointer(0), Some(0));
        settle(&mut ssd);
        assert_eq!(ssd.page_totals().buffered, 0);
    }
    let mut account = Account::default();
    ssd.account(&mut account);
    // One die's unit of the first, two on each die of the second.
    assert_eq!(account.media_erase_bytes, (1 + 2 * 2) * (384 << 10));
    assert_eq!(ssd.erase_counts().max, 2);
}

#[test]
fn a_reset_gives_up_what_waits_in_the_buffer() {
    let mut ssd = drive(|_| {});
    // Units on their way to their dies, and parts of others.
    for pages in [1, 23, 24, 25, 48, 70, 90] {
        ask(&mut ssd, Op::Write, 0, pages * 4096);
        ask(&mut ssd, Op::Trim, 0, ZONE);
        settle(&mut ssd);
        assert_eq!(ssd.page_totals().buffered, 0, "{pages} pages");
    }
}

#[test]
fn a_zone_that_is_padded_again_before_its_first_padding_is_programmed_keeps_the_buffer_right() {
    let mut ssd = drive(|params| params.zone_finish = ZoneFinish::Zone);
    for _ in 0..3 {
        let begun = ask(&mut ssd, Op::Write, 0, 4096).0;
        assert_eq!(begun, CompletionKind::Done);
        ssd.manage_zone(0, ZoneAction::Finish).expect("finished");
        assert_eq!(ask(&mut ssd, Op::Trim, 0, ZONE).0, CompletionKind::Done);
    }
    settle(&mut ssd);
    assert_eq!(ssd.page_totals().buffered, 0);
}

/// The end of a program from before the reset says nothing of what was written behind it.
#[test]
fn data_of_a_unit_that_is_not_full_is_read_from_the_buffer_whatever_was_on_its_way_before_a_reset()
{
    let unit_bytes = zoned().program_bytes();
    for first in [4096, CAPACITY] {
        let mut ssd = drive(|params| params.zone_finish = ZoneFinish::Zone);
        ask(&mut ssd, Op::Write, 0, first);
        if first < CAPACITY {
            ssd.manage_zone(0, ZoneAction::Finish).expect("finished");
        }
        assert_eq!(ask(&mut ssd, Op::Trim, 0, ZONE).0, CompletionKind::Done);
        let rewritten = ask(&mut ssd, Op::Write, 0, 5 * unit_bytes + 4096).0;
        assert_eq!(rewritten, CompletionKind::Done);
        settle(&mut ssd);
        ask(&mut ssd, Op::Read, 5 * unit_bytes, 4096);
        let mut account = Account::default();
        ssd.account(&mut account);
        assert_eq!(account.media_read_bytes, 0, "{first} bytes before");
        ask(&mut ssd, Op::Read, 0, 4096);
        ssd.account(&mut account);
        assert!(account.media_read_bytes > 0, "{first} bytes before");
    }
}

#[test]
fn a_read_that_runs_into_a_zone_offline_asks_no_die() {
    let mut ssd = drive(|params| params.rated_pe_cycles = 1);
    for zone in 0..2 {
        let written = ask(&mut ssd, Op::Write, zone * ZONE, CAPACITY).0;
        assert_eq!(written, CompletionKind::Done);
        settle(&mut ssd);
    }
    // Its one erase wears the second zone out.
    ask(&mut ssd, Op::Trim, ZONE, ZONE);
    let both = ask(&mut ssd, Op::Read, 0, ZONE + 4096).0;
    let errno = Refusal::Offline.errno();
    assert_eq!(both, CompletionKind::Failed(errno));
    settle(&mut ssd);
    let mut account = Account::default();
    ssd.account(&mut account);
    assert_eq!(account.media_read_bytes, 0);
}

#[test]
fn a_pass_in_order_begins_where_as_many_zones_are_partly_written_as_may_be_active() {
    let mut ssd = drive(|params| (params.max_open_zones, params.max_active_zones) = (4, 4));
    for zone in [3, 5, 7, 9] {
        let begun = ask(&mut ssd, Op::Write, zone * ZONE, 65_536).0;
        assert_eq!(begun, CompletionKind::Done);
    }
    let text = r#"{"mix":"write","block":"64KiB","pattern":{"zones":"in-order"},"load":{"threads":1,"iodepth":1},"until":{"count":300}}"#;
    let job = Job::from_json(text, "test").expect("a valid job");
    let found = measure(&mut ssd, &job);
    assert!(found.errno.is_empty(), "{:?}", found.errno);
    let full = |zone: crate::device::zones::ZoneInfo| zone.condition == Condition::Full;
    assert!(ssd.report_zones().take(12).all(full));
}

#[test]
fn writes_are_refused_as_a_drive_refuses_them() {
    let mut ssd = drive(|params| (params.max_open_zones, params.max_active_zones) = (2, 3));
    refused(
        &mut ssd,
        Op::Write,
        ZONE + 4096,
        4096,
        Refusal::InvalidWrite,
    );
    refused(
        &mut ssd,
        Op::Append,
        ZONE + 4096,
        4096,
        Refusal::InvalidField,
    );
    refused(&mut ssd, Op::Write, 0, CAPACITY + 4096, Refusal::Boundary);
    refused(&mut ssd, Op::Append, 0, CAPACITY + 4096, Refusal::Boundary);
    refused(&mut ssd, Op::Trim, 0, ZONE / 2, Refusal::InvalidField);
    assert_eq!(
        ask(&mut ssd, Op::Write, 0, CAPACITY).0,
        CompletionKind::Done
    );
    refused(&mut ssd, Op::Write, CAPACITY, 4096, Refusal::Full);
    refused(&mut ssd, Op::Append, 0, 4096, Refusal::Full);
    for zone in 1..4 {
        assert_eq!(
            ask(&mut ssd, Op::Write, zone * ZONE, 4096).0,
            CompletionKind::Done
        );
    }
    refused(&mut ssd, Op::Write, 4 * ZONE, 4096, Refusal::TooManyActive);
    let condition = |ssd: &Ssd, zone| ssd.report_zones().nth(zone).expect("a zone").condition;
    assert_eq!(condition(&ssd, 1), Condition::Closed, "used longest ago");
    assert_eq!(condition(&ssd, 3), Condition::ImplicitlyOpen);
    for zone in [2, 3] {
        ssd.manage_zone(zone, ZoneAction::Open).expect("room");
    }
    refused(&mut ssd, Op::Write, ZONE + 4096, 4096, Refusal::TooManyOpen);
    ssd.manage_zone(3, ZoneAction::Close).expect("open");
    assert_eq!(condition(&ssd, 3), Condition::Closed);
    assert_eq!(
        ask(&mut ssd, Op::Write, ZONE + 4096, 4096).0,
        CompletionKind::Done
    );
    let full = ssd.manage_zone(0, ZoneAction::Open);
    assert_eq!(full, Err(Refusal::InvalidTransition));
    ssd.manage_zone(1, ZoneAction::Finish).expect("open");
    refused(&mut ssd, Op::Write, ZONE + 8192, 4096, Refusal::Full);
    assert_eq!(
        ask(&mut ssd, Op::Write, 4 * ZONE, 4096).0,
        CompletionKind::Done
    );
}

#[test]
fn a_zone_whose_blocks_have_had_their_rated_cycles_goes_offline() {
    let mut ssd = drive(|params| params.rated_pe_cycles = 3);
    for _ in 0..3 {
        assert_eq!(
            ask(&mut ssd, Op::Append, ZONE, CAPACITY).0,
            CompletionKind::Done
        );
        ask(&mut ssd, Op::Trim, ZONE, ZONE);
    }
    refused(&mut ssd, Op::Append, ZONE, 8192, Refusal::Offline);
    refused(&mut ssd, Op::Trim, ZONE, ZONE, Refusal::InvalidTransition);
    assert_eq!(
        ask(&mut ssd, Op::Read, ZONE, 4096).0,
        CompletionKind::Failed(5)
    );
    assert_eq!(
        ask(&mut ssd, Op::Trim, 0, 2 * ZONE).0,
        CompletionKind::Done,
        "the others"
    );
}

#[test]
fn a_write_out_of_order_is_told_with_zone_pointer_and_status() {
    let mut ssd = drive(|_| {});
    let start = 8 * ZONE + 4096;
    let text = format!(
        r#"{{"mix":"write","block":"4KiB","pattern":"sequential","region":{{"start":{start},"size":"1MiB"}},"load":{{"iodepth":1}},"until":{{"count":9}}}}"#
    );
    let recording = measure(
        &mut ssd,
        &Job::from_json(&text, "test").expect("a valid job"),
    );
    assert_eq!(recording.errno.get(&5), Some(&9));
    let refused = Remark::Refused {
        op: Op::Write,
        offset_bytes: start,
        size_bytes: 4096,
        about: format!(
            "zone 8 has its write pointer at {} (out of order): Zone Invalid Write (NVMe status 1BCh)",
            8 * ZONE
        ),
    };
    assert_eq!(recording.remarks[0], refused);
    let random = Job::from_json(
        r#"{"mix":"write","block":"4KiB","pattern":"uniform","load":{"iodepth":1},"until":{"count":9}}"#,
        "test",
    );
    let refusal = run(
        &random.expect("valid"),
        &mut ssd,
        1,
        &Control::default(),
        |_| {},
    );
    let text = refusal.expect_err("refused").to_string();
    assert!(text.ends_with("append"), "{text}");
}

#[test]
fn blocks_that_do_not_divide_a_zone_leave_none_active_behind() {
    let mut ssd = drive(|params| params.max_active_zones = 2);
    let load = job("write", "40KiB", 2, 1, 2, r#"{"bytes":400000000}"#);
    let recording = measure(&mut ssd, &load);
    assert!(recording.errno.is_empty(), "{:?}", recording.notes);
    let active = ssd
        .report_zones()
        .filter(|zone| zone.condition.is_open() || zone.condition == Condition::Closed);
    assert!(active.count() <= 2);
}

#[test]
fn reads_of_written_zones_come_from_flash_at_the_dies_latency() {
    let mut ssd = drive(|_| {});
    let bytes = format!(r#"{{"bytes":{}}}"#, 170 * CAPACITY);
    measure(&mut ssd, &job("append", "64KiB", 2, 4, 4, &bytes));
    settle(&mut ssd);
    let reads = measure(&mut ssd, &job("read", "4KiB", 1, 1, 1, r#"{"count":2000}"#));
    assert_eq!(reads.counters.unmapped_reads, Some(0));
    let mean_us = reads.ops[&Op::Read].service.mean_ns().expect("reads") / 1000.0;
    // Sense 50, ECC 2, command 1, channel 4: those in the last rows' buffer take less.
    assert!((50.0..60.0).contains(&mean_us), "{mean_us} us");
}

#[test]
fn a_zoned_drive_that_cannot_be_is_refused_with_the_parameter() {
    let refused = |change: fn(&mut SsdParams)| {
        let mut params = zoned();
        change(&mut params);
        Ssd::new(&params, 1).err().map(|error| error.name)
    };
    assert_eq!(
        refused(|p| p.zone_capacity_bytes += 4096),
        Some("zone_capacity_bytes")
    );
    assert_eq!(
        refused(|p| p.zone_bytes = 1 << 20),
        Some("zone_capacity_bytes")
    );
    assert_eq!(refused(|p| p.zone_dies = 3), Some("zone_capacity_bytes"));
    assert_eq!(refused(|p| p.zone_bytes = 4 << 30), Some("zone_bytes"));
    assert_eq!(refused(|p| p.block_bytes = 512), Some("block_bytes"));
    assert_eq!(
        refused(|p| p.max_active_zones = 0),
        Some("max_active_zones")
    );
    assert_eq!(
        refused(|p| p.slice_denominator = 1024),
        Some("slice_denominator")
    );
    assert_eq!(
        refused(|p| (p.zone_dies, p.zone_capacity_bytes) = (3, 3 * CAPACITY)),
        Some("zone_dies")
    );
    assert_eq!(refused(|p| p.zone_capacity_bytes = 0), None);
}

#[test]
fn what_belongs_to_a_page_map_is_refused_on_a_zoned_drive() {
    let refused = |change: fn(&mut SsdParams)| {
        let mut params = zoned();
        params.write_buffer_bytes = 64 << 20;
        change(&mut params);
        params.check().map_err(|error| error.name)
    };
    assert_eq!(refused(|_| {}), Ok(()));
    for (name, change) in [
        (
            "placement_handles",
            (|p| p.placement_handles = 2) as fn(&mut SsdParams),
        ),
        ("reclaim_groups", |p| p.reclaim_groups = 2),
        ("slc_bytes", |p| p.slc_bytes = 1 << 24),
        ("map_flush_bytes", |p| p.map_flush_bytes = 1 << 30),
        ("indirection_unit_bytes", |p| {
            p.indirection_unit_bytes = 16_384;
        }),
        ("gc_idle_free_share", |p| p.gc_idle_free_share = 0.5),
        ("gc_page_ns", |p| p.gc_page_ns = 500.0),
        ("read_ahead_bytes", |p| p.read_ahead_bytes = 1 << 20),
        ("namespaces", |p| p.namespaces = "2".into()),
    ] {
        assert_eq!(refused(change), Err(name));
    }
}
