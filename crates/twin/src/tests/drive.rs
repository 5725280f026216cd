//! The whole drive: conservation, determinism, scaling, buffer, energy.

use workload::{Job, Op, Request};

use super::{
    FILL, assert_close, closed, filled, intervals, iops, measure, settle, small_drive, waf,
};
use crate::device::{Account, CompletionKind, Device};
use crate::{Ssd, SsdParams};

const MIXED: &str = r#"{"read":70,"write":30}"#;

/// 480 GB at full size: 16 dies, simulated as a slice.
pub fn data_centre_drive(slice_denominator: u32) -> SsdParams {
    let mut params = small_drive();
    params.capacity_bytes = 480_103_981_056;
    params.slice_denominator = slice_denominator;
    params.channels = 4;
    params.dies_per_channel = 4;
    params.planes_per_die = 4;
    params.erase_unit_bytes = 24 << 20;
    params.write_buffer_bytes = 12 << 20;
    params.programming_dies_max = 16;
    params.over_provisioning = 0.15;
    params
}

#[test]
fn a_read_sends_what_was_asked_for_wherever_it_begins() {
    let mut params = small_drive();
    params.block_bytes = 512;
    let mut ssd = filled(&params);
    let mut sent_pages = |offset_bytes, size_bytes| {
        let before = ssd.page_totals().placed;
        for at in 0..8_u64 {
            let request = Request {
                offset_bytes: (at << 20) + offset_bytes,
                size_bytes,
                placement: 0,
                op: Op::Read,
            };
            ssd.submit(ssd.now_ns(), 3, request);
            ssd.advance(u64::MAX).expect("an answer");
        }
        ssd.page_totals().placed - before
    };
    assert_eq!(sent_pages(0, 4096), 8);
    assert_eq!(sent_pages(512, 4096), 8);
    assert_eq!(sent_pages(512, 512), 1);
    assert_eq!(sent_pages(3584, 65_536), 8 * 16);
}

#[test]
fn values_that_nothing_sensible_follows_from_are_refused_by_name() {
    let refused = |change: &dyn Fn(&mut SsdParams)| {
        let mut params = small_drive();
        change(&mut params);
        Ssd::new(&params, 1).err().expect("refused").name
    };
    assert_eq!(refused(&|params| params.program_us = 0.0), "program_us");
    assert_eq!(
        refused(&|params| params.read_sense_us = 0.0),
        "read_sense_us"
    );
    let buffer = refused(&|params| params.write_buffer_bytes = 1 << 44);
    assert_eq!(buffer, "write_buffer_bytes");
}

#[test]
fn littles_law_holds_in_every_interval_of_a_closed_loop() {
    let mut params = small_drive();
    (
        params.host.submit_us,
        params.host.complete_us,
        params.host.wake_us,
    ) = (1.0, 0.6, 2.0);
    let mut ssd = filled(&params);
    for mix in ["\"read\"", MIXED] {
        let job = closed(mix, "4KiB", "uniform", 4, 16, r#"{"time":"3s"}"#);
        let (intervals, _) = intervals(&mut ssd, &job);
        assert_eq!(intervals.len(), 3);
        for interval in intervals {
            let outstanding = interval.mean_outstanding.expect("known");
            assert_close("mean outstanding", outstanding, 64.0, 0.001);
            if mix != MIXED {
                // With writes, the few that wait for space at the interval's ends would show.
                let sum_ns: u128 = interval
                    .ops
                    .values()
                    .map(|stats| stats.service.sum_ns())
                    .sum();
                let product = sum_ns as f64 / interval.length_ns as f64;
                assert_close("IOPS x latency", product, 64.0, 0.001);
            }
        }
    }
}

#[test]
fn bytes_are_conserved_from_host_to_flash() {
    let mut ssd = filled(&small_drive());
    let job = closed("\"write\"", "4KiB", "uniform", 1, 32, r#"{"written":"4x"}"#);
    measure(&mut ssd, &job);
    settle(&mut ssd);
    let totals = ssd.page_totals();
    assert_eq!(
        totals.placed + totals.relocated,
        totals.programmed + totals.buffered
    );
    assert!(
        totals.relocated > totals.placed / 4,
        "cleaning has moved pages"
    );
    assert_eq!(u64::from(ssd.mapped_pages()) * 4096, ssd.capacity_bytes());
}

#[test]
fn equal_seeds_give_equal_results_bit_for_bit() {
    let run = || {
        let mut ssd = filled(&small_drive());
        intervals(
            &mut ssd,
            &closed(MIXED, "8KiB", "uniform", 2, 8, r#"{"time":"2s"}"#),
        )
    };
    let (first, second) = (run(), run());
    assert_eq!(first, second);
    // A GPU belongs to a real load, and is no result of the model.
    let results = format!("{first:?}").replace("gpu: None, ", "");
    assert_eq!(
        fnv1a(&results),
        FINGERPRINT,
        "the model's results changed: if that is meant, commit the new fingerprint and say why"
    );
}

/// FNV-1a, whose values no library release changes.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Golden result of the test above.
const FINGERPRINT: u64 = 6_173_379_336_083_545_032;

#[test]
fn results_do_not_depend_on_the_slice() {
    let steady = |slice| {
        let mut ssd = filled(&data_centre_drive(slice));
        let overwrite = closed("\"write\"", "4KiB", "uniform", 1, 64, r#"{"written":"4x"}"#);
        measure(&mut ssd, &overwrite);
        let writes = measure(
            &mut ssd,
            &closed("\"write\"", "4KiB", "uniform", 1, 64, r#"{"time":"6s"}"#),
        );
        let reads = measure(
            &mut ssd,
            &closed("\"read\"", "4KiB", "uniform", 1, 64, r#"{"time":"1s"}"#),
        );
        (iops(&writes), waf(&writes), iops(&reads))
    };
    let (large, small) = (steady(64), steady(256));
    assert_close("random write IOPS", small.0, large.0, 0.03);
    assert_close("WAF", small.1, large.1, 0.03);
    assert_close("random read IOPS", small.2, large.2, 0.01);
}

#[test]
fn a_write_is_acknowledged_from_the_buffer() {
    let params = small_drive();
    let mut ssd = filled(&params);
    let now_ns = ssd.now_ns();
    ssd.submit(now_ns, 5, request(Op::Write, 40_960));
    let done = ssd.advance(u64::MAX);
    let done = std::iter::successors(done, |_| ssd.advance(u64::MAX))
        .find(|c| c.tag == 5)
        .expect("completes");
    assert_eq!(done.kind, CompletionKind::Done);
    let latency_us = (done.at_ns - now_ns) as f64 / 1e3;
    let parts_us = params.command_latency_us + params.command_ns / 1e3 + params.write_ack_us;
    assert!(
        (parts_us..parts_us + 0.5).contains(&latency_us),
        "{latency_us} us is not command and acknowledgement, {parts_us} us, plus 4 KiB on the link"
    );
}

fn request(op: Op, offset_bytes: u64) -> Request {
    Request {
        offset_bytes,
        size_bytes: 4096,
        placement: 0,
        op,
    }
}

#[test]
fn reads_of_buffered_and_of_unwritten_blocks_touch_no_flash() {
    let mut ssd = Ssd::new(&small_drive(), 1).expect("valid");
    ssd.submit(0, 1, request(Op::Write, 0));
    ssd.submit(1_000_000, 2, request(Op::Read, 0));
    ssd.submit(2_000_000, 3, request(Op::Read, 1 << 20));
    let mut account = Account::default();
    settle(&mut ssd);
    ssd.account(&mut account);
    assert_eq!((account.media_read_bytes, account.unmapped_reads), (0, 1));
}

#[test]
fn sequential_writes_run_at_the_programming_rate_and_no_faster() {
    let params = small_drive();
    let mut ssd = filled(&params);
    let recording = measure(
        &mut ssd,
        &closed(
            "\"write\"",
            "128KiB",
            "sequential",
            1,
            32,
            r#"{"time":"2s"}"#,
        ),
    );
    let programmed = f64::from(params.dies()) * params.program_bytes() as f64;
    // One erase for each erase unit programmed.
    let programs_per_erase = params.erase_unit_bytes as f64 / params.program_bytes() as f64;
    let cycle_us = params.program_us + params.erase_us / programs_per_erase;
    let expected = programmed / (cycle_us * 1e-6);
    let measured = iops(&recording) * 131_072.0;
    assert_close("bytes per second", measured, expected, 0.03);
    assert_close("WAF", waf(&recording), 1.0, 0.02);
}

#[test]
fn random_writes_stay_below_the_programming_rate_over_the_write_amplification() {
    let params = small_drive();
    let mut ssd = filled(&params);
    measure(
        &mut ssd,
        &closed("\"write\"", "4KiB", "uniform", 1, 32, r#"{"written":"3x"}"#),
    );
    let recording = measure(
        &mut ssd,
        &closed("\"write\"", "4KiB", "uniform", 1, 32, r#"{"time":"3s"}"#),
    );
    let rate =
        f64::from(params.dies()) * params.program_bytes() as f64 / (params.program_us * 1e-6);
    let share = iops(&recording) * 4096.0 * waf(&recording) / rate;
    assert!(
        (0.3..=1.0).contains(&share),
        "uses {share} of the programming rate"
    );
    let latency_us = recording.ops[&Op::Write].service.mean_ns().expect("writes") / 1e3;
    assert!(latency_us > 20.0, "writes wait for space, {latency_us} us");
}

#[test]
fn joules_are_idle_power_plus_the_energy_of_what_was_done() {
    let params = small_drive();
    let mut ssd = filled(&params);
    let idle = measure(
        &mut ssd,
        &closed("\"read\"", "4KiB", "uniform", 1, 1, r#"{"count":1}"#),
    );
    assert!(idle.window_ns > 0);
    let recording = measure(
        &mut ssd,
        &closed("\"read\"", "4KiB", "uniform", 1, 16, r#"{"time":"1s"}"#),
    );
    let reads = recording.completed() as f64;
    let bytes = reads * 4096.0;
    let expected = params.idle_w * recording.window_ns as f64 * 1e-9
        + reads * (params.read_sense_uj + params.command_uj) * 1e-6
        + bytes * (params.link_nj_per_byte + params.channel_nj_per_byte) * 1e-9;
    // Some blocks are still in the write buffer and are read without a sense.
    assert_close(
        "joules",
        recording.counters.joules.expect("known"),
        expected,
        0.02,
    );
}

#[test]
fn a_write_of_part_of_a_page_reads_the_rest_first() {
    let mut params = small_drive();
    params.block_bytes = 512;
    let mut ssd = filled(&params);
    let now_ns = ssd.now_ns();
    ssd.submit(
        now_ns,
        9,
        Request {
            size_bytes: 512,
            ..request(Op::Write, 40_960 + 512)
        },
    );
    let done = std::iter::from_fn(|| ssd.advance(u64::MAX))
        .find(|c| c.tag == 9)
        .expect("completes");
    assert!(
        done.at_ns - now_ns > 40_000,
        "{} ns holds no page read",
        done.at_ns - now_ns
    );
}

#[test]
fn trimmed_blocks_read_as_never_written_and_make_cleaning_cheaper() {
    let mut ssd = filled(&small_drive());
    let (first, size) = (0, 64 << 20);
    for (tag, offset) in (first..size).step_by(1 << 20).enumerate() {
        let trim = Request {
            size_bytes: 1 << 20,
            ..request(Op::Trim, offset)
        };
        ssd.submit(ssd.now_ns(), tag as u32, trim);
    }
    settle(&mut ssd);
    assert_eq!(
        u64::from(ssd.mapped_pages()) * 4096,
        ssd.capacity_bytes() - size
    );
}

/// Seconds until trims of `size_bytes` in all, one after the other, are done.
fn trim_s(ssd: &mut Ssd, size_bytes: u32) -> f64 {
    let start_ns = ssd.now_ns();
    let trim = Request {
        size_bytes,
        ..request(Op::Trim, 0)
    };
    ssd.submit(start_ns, 0, trim);
    let mut end_ns = start_ns;
    while let Some(completion) = ssd.advance(u64::MAX) {
        end_ns = completion.at_ns;
    }
    (end_ns - start_ns) as f64 / 1e9
}

#[test]
fn a_trim_takes_its_time_for_every_map_entry_whether_it_was_written_or_not() {
    let slow = |indirection_unit_bytes| SsdParams {
        trim_entry_ns: 100.0,
        indirection_unit_bytes,
        ..small_drive()
    };
    let entries_s = |count: u32| f64::from(count) * 100e-9;
    for mut ssd in [
        Ssd::new(&slow(4096), 1).expect("valid"),
        filled(&slow(4096)),
    ] {
        let whole_s = trim_s(&mut ssd, 128 << 20) - trim_s(&mut ssd, 4096);
        assert_close("128 MiB", whole_s, entries_s((32 << 10) - 1), 0.001);
    }
    let mut coarse = Ssd::new(&slow(16_384), 1).expect("valid");
    let whole_s = trim_s(&mut coarse, 128 << 20) - trim_s(&mut coarse, 16_384);
    assert_close(
        "entries of 16 KiB",
        whole_s,
        entries_s((8 << 10) - 1),
        0.001,
    );
}

#[test]
fn a_stopped_run_returns_what_it_has() {
    let mut ssd = filled(&small_drive());
    let control = crate::Control::default();
    let job = closed("\"read\"", "4KiB", "uniform", 1, 8, r#"{"time":"1h"}"#);
    let mut seen = 0;
    let recording = crate::run(&job, &mut ssd, 1, &control.clone(), |_| {
        seen += 1;
        if seen == 2 {
            control.stop();
        }
    })
    .expect("stops cleanly");
    assert_eq!((seen, recording.window_ns), (2, 2_000_000_000));
}

#[test]
fn a_drive_that_cannot_be_is_refused_with_the_parameter() {
    type Change = fn(&mut SsdParams);
    let refusals: [(&str, Change); 17] = [
        ("over_provisioning", |p| p.over_provisioning = 0.005),
        ("write_buffer_bytes", |p| p.write_buffer_bytes = 4096),
        ("pcie_generation", |p| p.pcie_generation = 2),
        ("slice_denominator", |p| p.slice_denominator = 1000),
        ("read_sense_us", |p| p.read_sense_us = f64::NAN),
        ("read_sense_us", |p| p.read_sense_us = -1.0),
        ("indirection_unit_bytes", |p| {
            p.indirection_unit_bytes = 12_288
        }),
        ("nand_page_bytes", |p| p.nand_page_bytes = 6144),
        ("block_bytes", |p| p.block_bytes = 1024),
        ("channel_parity_ratio", |p| p.channel_parity_ratio = 0.9),
        ("gc_free_superblocks", |p| p.gc_free_superblocks = 2),
        ("slc_bytes", |p| p.slc_bytes = 1 << 24),
        ("power_cap_w", |p| p.power_cap_w = p.idle_w),
        ("thermal_capacity_j_per_c", |p| {
            p.thermal_resistance_c_per_w = 5.0
        }),
        ("throttle_cap_w", |p| {
            throttling(p, |p| p.throttle_cap_w = p.idle_w)
        }),
        ("throttle_below_c", |p| {
            throttling(p, |p| p.throttle_below_c = 71.0)
        }),
        ("cores", |p| p.host.cores = 0),
    ];
    for (name, change) in refusals {
        let mut params = small_drive();
        change(&mut params);
        let refused = Ssd::new(&params, 1).err().map(|error| error.name);
        assert_eq!(refused, Some(name));
    }
    let mut params = small_drive();
    throttling(&mut params, |_| {});
    assert_eq!(params.check(), Ok(()));
}

/// Throttles from 70 C on, as far as the change lets it.
fn throttling(params: &mut SsdParams, change: impl FnOnce(&mut SsdParams)) {
    params.thermal_resistance_c_per_w = 5.0;
    params.thermal_capacity_j_per_c = 100.0;
    params.throttle_above_c = 70.0;
    params.throttle_below_c = 65.0;
    params.throttle_cap_w = params.idle_w + 5.0;
    change(params);
}

#[test]
fn sixteen_million_mapped_pages_take_no_more_than_12_bytes_each() {
    let mut params = data_centre_drive(1);
    params.capacity_bytes = 64 << 30;
    params.erase_unit_bytes = 6 << 20;
    params.over_provisioning = 0.28;
    let ssd = Ssd::new(&params, 1).expect("valid");
    assert_eq!(ssd.capacity_bytes() / 4096, 16 << 20);
    assert!(ssd.bytes_per_page() <= 12.0, "{}", ssd.bytes_per_page());
}

#[test]
fn a_fill_maps_every_page() {
    let mut ssd = Ssd::new(&small_drive(), 1).expect("valid");
    measure(
        &mut ssd,
        &closed("\"write\"", "128KiB", "sequential", 1, 32, FILL),
    );
    assert_eq!(u64::from(ssd.mapped_pages()) * 4096, ssd.capacity_bytes());
}

#[test]
fn an_idle_step_takes_its_own_time_and_leaves_clocks_that_what_follows_can_be_measured_by() {
    let mut ssd = filled(&small_drive());
    let text = r#"{"mix":"read","block":"4KiB","pattern":"sequential","load":{"rate":"0.000000001/s","arrival":"uniform","iodepth":1},"until":{"time":"5s"}}"#;
    let start_ns = ssd.now_ns();
    let idle = measure(
        &mut ssd,
        &workload::Job::from_json(text, "idle").expect("a valid job"),
    );
    assert_eq!(idle.completed(), 0);
    assert_eq!(ssd.now_ns() - start_ns, 5_000_000_000);
    let writes = closed("\"write\"", "4KiB", "uniform", 1, 32, r#"{"time":"200ms"}"#);
    for resource in measure(&mut ssd, &writes).utilisation {
        assert!(
            resource.max <= 1.0 + 1e-9,
            "{} {}",
            resource.resource,
            resource.max
        );
    }
}

#[test]
fn threads_together_write_every_block_and_none_twice_in_a_pass() {
    for pattern in ["random-once", "sequential"] {
        for threads in [1, 3, 8] {
            let mut ssd = Ssd::new(&small_drive(), 7).expect("valid parameters");
            let blocks = ssd.capacity_bytes() / 4096;
            let written = measure(
                &mut ssd,
                &closed("\"write\"", "4KiB", pattern, threads, 4, FILL),
            );
            assert_eq!(written.completed(), blocks, "{pattern}, {threads} threads");
            settle(&mut ssd);
            let read = measure(
                &mut ssd,
                &closed(
                    "\"read\"",
                    "4KiB",
                    "sequential",
                    1,
                    32,
                    &format!(r#"{{"count":{blocks}}}"#),
                ),
            );
            let unwritten = read.counters.unmapped_reads;
            assert_eq!(unwritten, Some(0), "{pattern}, {threads} threads");
        }
    }
}

#[test]
fn open_load_ends_when_each_thread_has_had_its_part_of_the_count() {
    let mut ssd = filled(&small_drive());
    let text = r#"{"mix":"read","block":"4KiB","pattern":"uniform","load":{"rate":"100k/s","threads":3,"iodepth":8},"until":{"count":1000}}"#;
    let recording = measure(
        &mut ssd,
        &Job::from_json(text, "test").expect("a valid job"),
    );
    assert_eq!(recording.completed(), 1000);
    assert_eq!(recording.offered, Some(1000));
}

#[test]
fn an_io_that_would_come_at_the_end_of_the_time_is_not_offered() {
    for (rate, time, arrivals) in [("1/s", "6s", 6), ("200/s", "500ms", 100)] {
        let mut ssd = filled(&small_drive());
        let text = format!(
            r#"{{"mix":"read","block":"4KiB","pattern":"uniform","load":{{"rate":"{rate}","arrival":"deterministic","iodepth":8}},"until":{{"time":"{time}"}}}}"#
        );
        let recording = measure(
            &mut ssd,
            &Job::from_json(&text, "test").expect("a valid job"),
        );
        assert_eq!(recording.offered, Some(arrivals), "{rate} for {time}");
        assert_eq!(recording.completed(), arrivals, "{rate} for {time}");
    }
}
