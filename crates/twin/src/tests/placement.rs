//! Placement handles on the whole drive: which stream a write goes to, what isolation buys, and
//! that no number of streams starves another.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use workload::{Op, Request};

use super::{assert_close, intervals, measure, settle, small_drive};
use crate::device::{Account, CompletionKind, Device};
use crate::ssd::ftl::Stream;
use crate::ssd::params::{Isolation, VictimPolicy};
use crate::{Ssd, SsdParams};

/// The small drive with `handles` handles and the buffer that they need.
fn drive_with(handles: u32, isolation: Isolation) -> SsdParams {
    let mut params = small_drive();
    params.placement_handles = handles;
    params.placement_isolation = isolation;
    params.write_buffer_bytes = 16 << 20;
    params
}

fn job(pattern: &str, placement: &[u16], written: &str) -> workload::Job {
    let threads = placement.len();
    let text = format!(
        r#"{{"mix":"write","block":"16KiB","pattern":"{pattern}","placement":{placement:?},"load":{{"threads":{threads},"iodepth":8}},"until":{{"written":"{written}"}}}}"#
    );
    workload::Job::from_json(&text, "test").expect("a valid job")
}

#[test]
fn each_thread_of_a_job_writes_with_its_entry_of_the_placement_list() {
    let mut ssd = Ssd::new(&drive_with(3, Isolation::Initially), 1).expect("valid");
    // Sequential threads start half the drive apart.
    measure(&mut ssd, &job("sequential", &[2, 1], "0.9x"));
    let half = (ssd.capacity_bytes() / 4096) as u32 / 2;
    for page in 0..half * 4 / 5 {
        assert_eq!(ssd.written_by(page), Stream(2), "page {page}");
        assert_eq!(ssd.written_by(half + page), Stream(1), "page {page}");
    }
}

#[test]
fn a_handle_that_the_drive_does_not_have_is_an_invalid_argument() {
    for (handles, placement, expected) in [
        (1, 0, CompletionKind::Done),
        (1, 1, CompletionKind::Failed(22)),
        (4, 3, CompletionKind::Done),
        (4, 4, CompletionKind::Failed(22)),
        (4, u16::MAX - 1, CompletionKind::Failed(22)),
        (4, Request::NO_PLACEMENT, CompletionKind::Done),
    ] {
        let mut ssd = Ssd::new(&drive_with(handles, Isolation::Initially), 1).expect("valid");
        ssd.submit(0, 3, write(0, placement));
        let done = ssd.advance(u64::MAX).expect("an answer");
        assert_eq!(done.kind, expected, "handle {placement} of {handles}");
        settle(&mut ssd);
        assert_eq!(
            ssd.mapped_pages(),
            u32::from(expected == CompletionKind::Done)
        );
    }
}

#[test]
fn a_buffer_too_small_for_the_handles_is_refused_with_what_they_need() {
    let mut params = drive_with(8, Isolation::Initially);
    params.write_buffer_bytes = 6 << 20;
    let error = Ssd::new(&params, 1).err().expect("refused");
    assert_eq!(error.name, "write_buffer_bytes");
    // 9 rows of 8 dies x 96 KiB.
    assert!(error.message.contains("7077888"), "{error}");
}

#[test]
fn every_policy_keeps_every_handle_writing_and_conserves_bytes() {
    for policy in [
        VictimPolicy::Greedy,
        VictimPolicy::Fifo,
        VictimPolicy::DChoices,
        VictimPolicy::CostBenefit,
    ] {
        for isolation in [Isolation::Initially, Isolation::Persistently] {
            let mut params = drive_with(8, isolation);
            params.gc_policy = policy;
            params.over_provisioning = 0.3;
            let mut ssd = Ssd::new(&params, 1).expect("valid");
            let placement = [0, 1, 2, 3, 4, 5, 6, 7];
            measure(&mut ssd, &job("sequential", &placement, "1x"));
            let (_, recording) = intervals(&mut ssd, &job("uniform", &placement, "4x"));
            assert!(recording.errno.is_empty());
            settle(&mut ssd);
            let totals = ssd.page_totals();
            assert_eq!(
                totals.placed + totals.relocated,
                totals.programmed + totals.buffered
            );
            assert!(totals.relocated > totals.placed / 8, "{policy:?} cleans");
            assert_eq!(u64::from(ssd.mapped_pages()) * 4096, ssd.capacity_bytes());
        }
    }
}

fn write(page: u32, placement: u16) -> Request {
    Request {
        offset_bytes: u64::from(page) * 4096,
        size_bytes: 4096,
        placement,
        op: Op::Write,
    }
}

/// WAF of a drive that gets a log over most of its space and as many random writes to the `share`
/// of it that is left, at 8.9 % over-provisioning.
fn log_and_small_region(share: f64, log_handle: u16, policy: VictimPolicy) -> f64 {
    let mut params = drive_with(2, Isolation::Initially);
    params.gc_policy = policy;
    params.capacity_bytes = 1 << 30;
    params.erase_unit_bytes = params.program_bytes();
    params.over_provisioning = 0.089;
    let mut ssd = Ssd::new(&params, 1).expect("valid");
    let pages = (ssd.capacity_bytes() / 4096) as u32;
    // A log of whole superblocks: the end of another is cleaned while pages in it are valid.
    let superblock_pages = params.dies() * (params.erase_unit_bytes / 4096) as u32;
    let log_pages = (f64::from(pages) * (1.0 - share)) as u32;
    let small = pages - log_pages / superblock_pages * superblock_pages;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut log = small;
    let mut next = |written: u32| {
        if written < pages {
            return write(written, if written < small { 0 } else { log_handle });
        }
        if written.is_multiple_of(2) {
            log = if log + 1 == pages { small } else { log + 1 };
            return write(log, log_handle);
        }
        write((random.next_u64() % u64::from(small)) as u32, 0)
    };
    let mut account = Account::default();
    let (outstanding, unsteady, end) = (64, 6 * pages, 9 * pages);
    (0..outstanding).for_each(|written| ssd.submit(0, 0, next(written)));
    let mut before_bytes = 0;
    for written in outstanding..end {
        let done = ssd.advance(u64::MAX).expect("an answer");
        assert_eq!(done.kind, CompletionKind::Done);
        ssd.submit(done.at_ns, 0, next(written));
        if written == unsteady {
            ssd.account(&mut account);
            before_bytes = account.media_write_bytes;
        }
    }
    ssd.account(&mut account);
    (account.media_write_bytes - before_bytes) as f64 / (u64::from(end - unsteady) * 4096) as f64
}

/// Closed form: the region has all spare space, rho = S / (S + OP), as tabulated in the project's
/// facts; the log has WAF 1, and half of the writes. Greedy cleaning meets it only while the region's
/// superblocks are emptier than the log's oldest one, which it else takes just before its last
/// pages are overwritten; cost-benefit lets that one die.
#[test]
fn a_log_with_a_handle_of_its_own_leaves_the_spare_space_to_the_rest() {
    for (share, region_waf) in [(0.04, 1.048), (0.08, 1.21), (0.16, 1.62), (0.32, 2.49)] {
        let waf = log_and_small_region(share, 1, VictimPolicy::CostBenefit);
        assert_close(&format!("S {share}"), waf, (1.0 + region_waf) / 2.0, 0.02);
    }
    let apart = log_and_small_region(0.04, 1, VictimPolicy::Greedy);
    assert_close("greedy, S 0.04", apart, (1.0 + 1.048) / 2.0, 0.01);
    let mixed = log_and_small_region(0.04, 0, VictimPolicy::Greedy);
    assert!(mixed > 5.0, "without a handle of its own {mixed}");
}

#[test]
fn streams_of_a_job_run_at_once_and_are_counted_apart() {
    let text = r#"{"until":{"time":"20ms"},"streams":[
        {"name":"log","mix":"write","block":"64KiB","pattern":"sequential","region":"50%","placement":1,"load":{"iodepth":2}},
        {"name":"small","mix":{"read":50,"write":50},"block":"4KiB","pattern":"uniform","region":{"start":"50%"},"load":{"threads":2,"iodepth":4}},
        {"name":"paced","mix":"read","block":"4KiB","pattern":"uniform","load":{"rate":"10k/s","arrival":"deterministic","iodepth":8}}]}"#;
    let job = workload::Job::from_json(text, "test").expect("a valid job");
    let mut ssd = Ssd::new(&drive_with(2, Isolation::Initially), 1).expect("valid");
    let (cuts, recording) = intervals(&mut ssd, &job);
    let count = |name: &str, op: Op| recording.streams[name][&op].service.count();
    assert_eq!(
        count("log", Op::Write) + count("small", Op::Write),
        recording.ops[&Op::Write].service.count()
    );
    assert!(count("log", Op::Write) > 0 && count("small", Op::Read) > 0);
    assert_eq!(
        recording.streams["log"][&Op::Write].bytes,
        count("log", Op::Write) << 16
    );
    assert!((190..=200).contains(&count("paced", Op::Read)));
    assert!(recording.streams["paced"][&Op::Read].response.is_some());
    assert!(recording.streams["small"][&Op::Read].response.is_none());
    assert_eq!(recording.offered, None, "not all streams have a rate");
    // Little's law over all streams together: 2 + 8 always in flight, and what the paced one has.
    let in_flight = cuts[0].mean_outstanding.expect("known");
    assert!((10.0..18.0).contains(&in_flight), "{in_flight}");
    assert_eq!(ssd.written_by(0), Stream(1));
    let again = intervals(
        &mut Ssd::new(&drive_with(2, Isolation::Initially), 1).expect("valid"),
        &job,
    );
    assert_eq!(again.1, recording);
}
