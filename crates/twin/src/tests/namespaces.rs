//! Namespaces share a drive: what one writes wears, fills and slows what the others have.

use workload::{Job, Op, Request};

use super::{assert_close, measure, settle, small_drive, waf};
use crate::device::{Account, CompletionKind, Device, Share};
use crate::ssd::ftl::Stream;
use crate::{Ssd, SsdParams};

fn drive(namespaces: &str, handles: u32) -> Ssd {
    let params = SsdParams {
        namespaces: namespaces.into(),
        placement_handles: handles,
        write_buffer_bytes: 16 << 20,
        ..small_drive()
    };
    Ssd::new(&params, 7).expect("valid parameters")
}

fn job(text: &str) -> Job {
    Job::from_json(text, "test").expect("a valid job")
}

fn shares(ssd: &mut Ssd) -> Vec<Share> {
    let mut account = Account::default();
    ssd.account(&mut account);
    account.shares
}

fn write(ssd: &mut Ssd, page: u64, placement: u16) -> CompletionKind {
    let request = Request {
        offset_bytes: page * 4096,
        size_bytes: 4096,
        placement,
        op: Op::Write,
    };
    ssd.submit(ssd.now_ns(), 3, request);
    ssd.advance(u64::MAX).expect("an answer").kind
}

#[test]
fn each_namespace_has_the_handles_that_are_its_own_and_no_others() {
    let mut ssd = drive("50+25+25", 6);
    let pages = ssd.capacity_bytes() / 4096;
    for (namespace, start) in [(0, 0), (1, pages / 2), (2, pages * 3 / 4)] {
        for handle in 0..2 {
            let page = start + u64::from(handle);
            assert_eq!(write(&mut ssd, page, handle), CompletionKind::Done);
            let stream = Stream(namespace * 2 + handle as u8);
            assert_eq!(ssd.written_by(page as u32), stream, "page {page}");
        }
        assert_eq!(write(&mut ssd, start, 2), CompletionKind::Failed(22));
    }
    let counts: Vec<_> = shares(&mut ssd)
        .iter()
        .map(|share| (share.member, share.n))
        .collect();
    assert_eq!(
        counts,
        [(1, 2), (2, 2), (3, 2)],
        "what failed does not count"
    );
}

#[test]
fn with_too_few_handles_namespaces_have_the_same_ones() {
    let mut ssd = drive("2", 1);
    let second = ssd.capacity_bytes() / 8192;
    for page in [0, second] {
        assert_eq!(write(&mut ssd, page, 0), CompletionKind::Done);
        assert_eq!(ssd.written_by(page as u32), Stream(0));
        assert_eq!(write(&mut ssd, page, 1), CompletionKind::Failed(22));
    }
}

/// A log in one namespace, random writes in a small other one; little spare space.
#[test]
fn tenants_with_handles_of_their_own_write_less_than_tenants_that_share_one() {
    let tenants = job(r#"{"until":{"time":"3s"},"streams":[
        {"name":"log","mix":"write","block":"64KiB","pattern":"sequential","region":"95%","load":{"iodepth":4}},
        {"name":"small","mix":"write","block":"4KiB","pattern":"uniform","region":{"start":"95%"},"load":{"iodepth":64}}]}"#);
    let steady = |handles| {
        let params = SsdParams {
            namespaces: "95+5".into(),
            placement_handles: handles,
            write_buffer_bytes: 16 << 20,
            over_provisioning: 0.09,
            erase_unit_bytes: small_drive().program_bytes(),
            ..small_drive()
        };
        let mut ssd = Ssd::new(&params, 7).expect("valid parameters");
        measure(&mut ssd, &tenants);
        waf(&measure(&mut ssd, &tenants))
    };
    let (shared, apart) = (steady(1), steady(2));
    assert!(
        shared > 1.5 && apart < 1.2,
        "one handle {shared}, one each {apart}"
    );
}

#[test]
fn a_noisy_neighbour_raises_the_latency_of_a_namespace_that_only_reads() {
    let latency_us = |noisy: &str, iodepth: u32| {
        let mut ssd = drive("2", 1);
        let fill = r#"{"mix":"write","block":"128KiB","pattern":"sequential","load":{"iodepth":32},"until":{"written":"1x"}}"#;
        measure(&mut ssd, &job(fill));
        settle(&mut ssd);
        let before = shares(&mut ssd);
        let both = format!(
            r#"{{"until":{{"time":"500ms"}},"streams":[
            {{"name":"quiet","mix":"read","block":"4KiB","pattern":"uniform","region":"50%","load":{{"iodepth":1}}}},
            {{"name":"noisy","mix":"{noisy}","block":"64KiB","pattern":"uniform","region":{{"start":"50%"}},"load":{{"iodepth":{iodepth}}}}}]}}"#
        );
        let recording = measure(&mut ssd, &job(&both));
        let after = shares(&mut ssd);
        let of = |index: usize| {
            let (n, ns) = (
                after[index].n - before[index].n,
                after[index].total_ns - before[index].total_ns,
            );
            (n, ns as f64 / n as f64 / 1000.0)
        };
        let quiet = &recording.streams["quiet"][&Op::Read].service;
        // What was still in flight at the end of the window counts for the drive alone.
        assert!(of(0).0 - quiet.count() <= 1);
        let mean_us = quiet.mean_ns().expect("reads") / 1000.0;
        assert_close("the drive's count and the host's", of(0).1, mean_us, 0.01);
        mean_us
    };
    let (reading, writing) = (latency_us("read", 1), latency_us("write", 16));
    assert!(
        writing > 1.2 * reading,
        "{reading} us beside reads, {writing} beside writes"
    );
}

#[test]
fn one_namespace_alone_is_a_device_of_its_size_on_the_whole_drives_flash() {
    let params = SsdParams {
        namespaces: "75+25".into(),
        namespace: 2,
        ..small_drive()
    };
    let mut ssd = Ssd::new(&params, 7).expect("valid parameters");
    let pages = ssd.capacity_bytes() / 4096;
    assert_eq!(ssd.capacity_bytes(), params.capacity_bytes / 4);
    assert_eq!(ssd.scale(), 1.0);
    assert_eq!(write(&mut ssd, pages - 1, 0), CompletionKind::Done);
    assert_eq!(write(&mut ssd, pages, 0), CompletionKind::Failed(22));
    let last = (4 * pages - 1) as u32;
    assert_eq!(ssd.written_by(last), Stream(0), "the drive's last page");
    let overwrite = r#"{"mix":"write","block":"4KiB","pattern":"uniform","load":{"iodepth":32},"until":{"written":"6x"}}"#;
    let recording = measure(&mut ssd, &job(overwrite));
    assert!(
        waf(&recording) < 1.05,
        "three quarters of the drive are spare"
    );
    let counts: Vec<_> = shares(&mut ssd).iter().map(|share| share.n).collect();
    assert!(counts[0] == 0 && counts[1] > recording.completed());
}

#[test]
fn namespaces_that_cannot_be_are_refused() {
    for text in ["0", "two", "50+40", "", "129"] {
        let params = SsdParams {
            namespaces: text.into(),
            ..small_drive()
        };
        let refused = Ssd::new(&params, 1).err().expect("refused");
        assert_eq!(refused.name, "namespaces", "{text}");
    }
}

#[test]
fn each_namespace_tells_what_was_programmed_for_it() {
    let mut ssd = drive("90+10", 1);
    let fill = r#"{"mix":"write","block":"128KiB","pattern":"sequential","load":{"iodepth":32},"until":{"written":"1x"}}"#;
    measure(&mut ssd, &job(fill));
    let both = r#"{"until":{"time":"2s"},"streams":[
        {"name":"log","mix":"write","block":"64KiB","pattern":"sequential","region":"90%","load":{"iodepth":4}},
        {"name":"small","mix":"write","block":"4KiB","pattern":"uniform","region":{"start":"90%"},"load":{"iodepth":64}}]}"#;
    measure(&mut ssd, &job(both));
    settle(&mut ssd);
    let [log, small] = shares(&mut ssd)[..] else {
        panic!("two namespaces")
    };
    let mut account = Account::default();
    ssd.account(&mut account);
    let programmed = account.media_write_bytes as f64;
    let buffered = ssd.page_totals().buffered as f64 * 4096.0;
    let told = (log.media_write_bytes + small.media_write_bytes) as f64;
    assert_close("programmed and buffered", programmed + buffered, told, 1e-9);
    for share in [log, small] {
        assert!(
            share.media_write_bytes > share.host_write_bytes,
            "{share:?}"
        );
    }
}
