//! Reclaim groups and reclaim units: which dies a write goes to, what a group's writes cost it and nobody
//! else, and that nothing is lost whichever group is asked for too much.

use workload::{Job, Request};

use super::{assert_close, closed, intervals, iops, measure, settle, small_drive, waf};
use crate::device::Device;
use crate::ssd::ftl::Stream;
use crate::ssd::params::{Isolation, VictimPolicy};
use crate::{Ssd, SsdParams};

/// The small drive with so many groups and handles, and the buffer that they need.
fn drive(groups: u32, handles: u32) -> SsdParams {
    let mut params = small_drive();
    params.reclaim_groups = groups;
    params.placement_handles = handles;
    params.write_buffer_bytes = 16 << 20;
    params
}

fn ssd(params: &SsdParams) -> Ssd {
    Ssd::new(params, 1).expect("valid")
}

fn directed(pattern: &str, block: &str, placement: &[u16], written: &str) -> Job {
    let threads = placement.len();
    let text = format!(
        r#"{{"mix":"write","block":"{block}","pattern":"{pattern}","placement":{placement:?},"load":{{"threads":{threads},"iodepth":16}},"until":{{"written":"{written}"}}}}"#
    );
    Job::from_json(&text, "test").expect("a valid job")
}

#[test]
fn a_write_lies_on_the_dies_of_the_group_that_it_names_and_stays_there() {
    for isolation in [Isolation::Initially, Isolation::Persistently] {
        let mut params = drive(2, 2);
        params.placement_isolation = isolation;
        let mut ssd = ssd(&params);
        // The list of the namespace: handle 0 in groups 0 and 1, then handle 1 in both.
        let halves = |pattern: &str, time: &str| {
            let text = format!(
                r#"{{"until":{{"time":"{time}"}},"streams":[
                {{"name":"first","mix":"write","block":"16KiB","pattern":"{pattern}","region":"50%","placement":2,"load":{{"iodepth":8}}}},
                {{"name":"second","mix":"write","block":"16KiB","pattern":"{pattern}","region":{{"start":"50%"}},"placement":1,"load":{{"iodepth":8}}}}]}}"#
            );
            Job::from_json(&text, "test").expect("a valid job")
        };
        measure(&mut ssd, &halves("sequential", "1500ms"));
        measure(&mut ssd, &halves("uniform", "3s"));
        let pages = (ssd.capacity_bytes() / 4096) as u32;
        let mut moved = 0;
        for page in 0..pages {
            let second = page >= pages / 2;
            assert_eq!(ssd.die_of(page) >= 4, second, "page {page}");
            let (by_host, of_group) = if second { (1, 1) } else { (2, 0) };
            let by_cleaning = match isolation {
                Isolation::Initially => 4 + of_group,
                Isolation::Persistently => 4 + by_host,
            };
            let stream = ssd.written_by(page);
            moved += u32::from(stream == Stream(by_cleaning));
            assert!(
                [Stream(by_host), Stream(by_cleaning)].contains(&stream),
                "page {page}: {stream:?}"
            );
        }
        assert!(moved > pages / 4, "{moved} of {pages} were moved");
    }
}

#[test]
fn a_group_writes_at_the_rate_of_its_dies_and_all_together_at_that_of_the_drive() {
    let mut params = drive(4, 1);
    params.erase_us = 0.0;
    let die_rate = params.program_bytes() as f64 / (params.program_us * 1e-6) / 131_072.0;
    for (placement, dies) in [(&[1][..], 2.0), (&[0, 3], 4.0), (&[0, 1, 2, 3], 8.0)] {
        let mut ssd = ssd(&params);
        let each = |share: f64| format!("{}x", share * placement.len() as f64);
        // The buffer is full after the first one.
        let job = directed("sequential", "128KiB", placement, &each(0.06));
        measure(&mut ssd, &job);
        let recording = measure(&mut ssd, &job);
        let what = format!("placement {placement:?}");
        assert_close(&what, iops(&recording), dies * die_rate, 0.05);
    }
}

/// Random writes to the first half of a full drive, whose second half lies still. On one group they have all spare
/// space; on a group of their own only that group's, so their WAF is that of the whole drive under uniform writes.
#[test]
fn a_group_cleans_with_its_own_spare_space_only() {
    let half = r#"{"mix":"write","block":"4KiB","pattern":"uniform","region":"50%","placement":0,"load":{"threads":1,"iodepth":32},"until":{"written":"3x"}}"#;
    let half = Job::from_json(half, "test").expect("a valid job");
    let whole = closed("\"write\"", "4KiB", "uniform", 1, 32, r#"{"written":"3x"}"#);
    let filled = |groups, placement: &[u16]| {
        let mut params = drive(groups, 1);
        params.capacity_bytes = 1 << 30;
        params.erase_unit_bytes = params.program_bytes();
        params.over_provisioning = 0.15;
        let mut ssd = ssd(&params);
        measure(&mut ssd, &directed("sequential", "64KiB", placement, "1x"));
        ssd
    };
    let steady = |mut ssd: Ssd, job: &Job| {
        measure(&mut ssd, job);
        waf(&measure(&mut ssd, job))
    };
    let uniform = steady(filled(1, &[0]), &whole);
    // FIFO at 15 % over-provisioning, to which greedy tends as units get large.
    assert_close("one group, uniform", uniform, 4.016, 0.05);
    let apart = steady(filled(2, &[0, 1]), &half);
    assert_close("a group of its own", apart, uniform, 0.03);
    // No placement: turn by turn to every group, so that each sees uniform writes.
    let undirected = steady(filled(2, &[0, 1]), &whole);
    assert_close("every group in turn", undirected, uniform, 0.03);
    let mixed = steady(filled(1, &[0]), &half);
    assert!(mixed < 0.75 * uniform, "one group, half of it: {mixed}");
}

#[test]
fn what_one_group_cleans_does_not_slow_the_writes_to_another() {
    let text = |log: u16, small: u16| {
        format!(
            r#"{{"until":{{"time":"300ms"}},"streams":[
            {{"name":"log","mix":"write","block":"64KiB","pattern":"sequential","region":"50%","placement":{log},"load":{{"rate":"1000/s","arrival":"deterministic","iodepth":8}}}},
            {{"name":"small","mix":"write","block":"4KiB","pattern":"uniform","region":{{"start":"50%"}},"placement":{small},"load":{{"iodepth":64}}}}]}}"#
        )
    };
    let worst_us = |groups: u32, small: u16| {
        let mut ssd = ssd(&drive(groups, 2));
        measure(
            &mut ssd,
            &directed("sequential", "64KiB", &[0, small], "1x"),
        );
        let job = Job::from_json(&text(0, small), "test").expect("a valid job");
        measure(&mut ssd, &job);
        let (_, recording) = intervals(&mut ssd, &job);
        let log = &recording.streams["log"][&workload::Op::Write];
        log.service.quantile_ns(0.99).expect("writes") / 1000.0
    };
    // Handle 1 on a drive with one group; handle 0 of group 1 on one with two.
    let (together, apart) = (worst_us(1, 1), worst_us(2, 1));
    assert!(apart < 40.0, "in groups of their own {apart} us");
    assert!(together > 10.0 * apart, "in one group {together} us");
}

#[test]
fn every_policy_keeps_every_group_writing_whatever_is_asked_of_it() {
    for policy in [
        VictimPolicy::Greedy,
        VictimPolicy::Fifo,
        VictimPolicy::DChoices,
        VictimPolicy::CostBenefit,
    ] {
        let mut params = drive(4, 2);
        params.gc_policy = policy;
        params.over_provisioning = 0.5;
        params.wear_spread_max = 8;
        // All to one group, all to some, and wherever the drive likes.
        for placement in [&[0][..], &[1, 2, 5, 6], &[]] {
            let mut ssd = ssd(&params);
            let job = |placement: &[u16], pattern, block, written| match placement {
                [] => closed(
                    "\"write\"",
                    block,
                    pattern,
                    1,
                    16,
                    &format!(r#"{{"written":"{written}"}}"#),
                ),
                named => directed(pattern, block, named, written),
            };
            let one = &placement[..placement.len().min(1)];
            measure(&mut ssd, &job(one, "sequential", "64KiB", "1x"));
            let (_, recording) = intervals(&mut ssd, &job(placement, "uniform", "16KiB", "3x"));
            assert!(recording.errno.is_empty());
            settle(&mut ssd);
            let totals = ssd.page_totals();
            assert_eq!(
                totals.placed + totals.relocated,
                totals.programmed + totals.buffered,
                "{policy:?} {placement:?}"
            );
            assert_eq!(u64::from(ssd.mapped_pages()) * 4096, ssd.capacity_bytes());
        }
    }
}

#[test]
fn writes_that_name_a_full_group_go_where_there_is_room() {
    let mut ssd = ssd(&drive(2, 1));
    measure(&mut ssd, &directed("sequential", "64KiB", &[0], "1x"));
    let pages = (ssd.capacity_bytes() / 4096) as u32;
    let in_first = (0..pages).filter(|&page| ssd.die_of(page) < 4).count() as f64;
    // Half of the addresses, and half of the spare space beside them.
    let share = in_first / f64::from(pages);
    assert!((0.5..0.5 * 1.25).contains(&share), "{share} in the first");
    // The first ones may have been written again by what was in flight at the end.
    let early = (256..pages / 2).all(|page| ssd.die_of(page) < 4);
    assert!(early, "while there was room all went to the group named");
}

#[test]
fn writes_that_wait_for_room_in_the_buffer_fill_their_group_too() {
    let mut params = drive(8, 1);
    params.capacity_bytes = 1 << 30;
    let mut ssd = ssd(&params);
    let text = r#"{"mix":"write","block":"1MiB","pattern":"uniform","placement":[0],"load":{"threads":1,"iodepth":128},"until":{"written":"2x"}}"#;
    let job = Job::from_json(text, "test").expect("a valid job");
    let recording = measure(&mut ssd, &job);
    assert!(recording.errno.is_empty());
    assert_eq!(recording.completed(), 2 << 10);
    settle(&mut ssd);
}

#[test]
fn a_reclaim_unit_of_several_erase_units_is_a_larger_superblock() {
    let mut params = drive(2, 1);
    let of_group = params.erase_unit_bytes * 4;
    let uniform = |params: &SsdParams| {
        let mut ssd = ssd(params);
        let fill = closed(
            "\"write\"",
            "64KiB",
            "sequential",
            1,
            16,
            r#"{"written":"1x"}"#,
        );
        measure(&mut ssd, &fill);
        let job = closed("\"write\"", "4KiB", "uniform", 1, 32, r#"{"written":"2x"}"#);
        measure(&mut ssd, &job);
        measure(&mut ssd, &job)
    };
    params.capacity_bytes = 1 << 30;
    let unsaid = uniform(&params);
    params.reclaim_unit_bytes = of_group;
    assert_eq!(uniform(&params), unsaid, "one erase unit of every die");
    params.reclaim_unit_bytes = 4 * of_group;
    let large = uniform(&params);
    // Greedy cleaning cares for the number of pages of a unit only while they are few.
    assert_close(
        "WAF, units four times as large",
        waf(&large),
        waf(&unsaid),
        0.05,
    );
    // The log page's media bytes erased: space is erased once for each time that it is programmed.
    let erased = large.counters.media_erase_bytes.expect("a twin knows") as f64;
    let programmed = large.counters.media_write_bytes.expect("a twin knows") as f64;
    assert_close("erased over programmed", erased, programmed, 0.01);
}

#[test]
fn groups_and_units_that_do_not_fit_the_drive_are_refused_with_what_would() {
    let refused = |change: &dyn Fn(&mut SsdParams)| {
        let mut params = drive(2, 1);
        change(&mut params);
        let error = Ssd::new(&params, 1).err().expect("refused");
        (error.name, error.message)
    };
    let (name, message) = refused(&|params| params.reclaim_groups = 3);
    assert_eq!(
        (name, &message[..]),
        ("reclaim_groups", "3 does not divide 8 dies")
    );
    let (name, message) = refused(&|params| params.reclaim_unit_bytes = 1 << 20);
    assert_eq!(name, "reclaim_unit_bytes");
    assert!(message.contains("1572864"), "{message}");
    let (name, message) = refused(&|params| {
        params.placement_handles = 128;
        params.reclaim_groups = 8;
    });
    assert_eq!(name, "reclaim_groups");
    assert!(message.contains("1032 streams"), "{message}");
    let (name, _) = refused(&|params| params.namespaces = "2".into());
    assert_eq!(name, "namespaces");
    let (name, _) = refused(&|params| params.map_flush_bytes = 1 << 20);
    assert_eq!(name, "map_flush_bytes");
}

#[test]
fn a_handle_is_one_of_every_group_and_the_next_one_fails() {
    for (placement, errors) in [(5, 0), (6, 1), (Request::NO_PLACEMENT, 0)] {
        let mut ssd = ssd(&drive(2, 3));
        let write = Request {
            offset_bytes: 0,
            size_bytes: 4096,
            placement,
            op: workload::Op::Write,
        };
        ssd.submit(0, 0, write);
        let done = ssd.advance(u64::MAX).expect("an answer");
        let failed = done.kind != crate::device::CompletionKind::Done;
        assert_eq!(u32::from(failed), errors, "placement {placement}");
    }
}
