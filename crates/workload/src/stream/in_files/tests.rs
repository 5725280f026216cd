//! Where requests to a set of files go.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Geometry, Job, Request, RequestStream, Until};

const KIB: u64 = 1024;

fn job(lines: &str) -> Job {
    let text = format!("block = \"4KiB\"\nuntil = {{ time = \"1s\" }}\n{lines}");
    Job::from_toml(&text, "job.toml").unwrap()
}

fn geometry(job: &Job) -> Geometry {
    Geometry {
        capacity_bytes: job.files.as_ref().unwrap().total_bytes(),
        block_bytes: 4096,
    }
}

fn streams(job: &Job) -> Vec<RequestStream> {
    RequestStream::of_threads(job, geometry(job), 7).unwrap()
}

/// Each request as its file and the block in it; all files are of `size_bytes`.
fn visits(requests: impl Iterator<Item = Request>, size_bytes: u64) -> Vec<(u64, u64)> {
    let place = |request: Request| {
        let at = request.offset_bytes;
        (at / size_bytes, at % size_bytes / 4096)
    };
    requests.map(place).collect()
}

fn first(job: &Job, count: usize) -> Vec<(u64, u64)> {
    let mut stream = streams(job).remove(0);
    let size_bytes = job.files.as_ref().unwrap().sizes[0].size_bytes;
    visits((0..count).map(|_| stream.next_request()), size_bytes)
}

#[test]
fn roundrobin_goes_to_the_next_file_and_on_in_each() {
    let job = job(
        "mix = \"read\"\npattern = \"sequential\"\nload = {}\nfiles = { count = 3, size = \"8KiB\" }",
    );
    let expected = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 0)];
    assert_eq!(first(&job, 7), expected);
}

#[test]
fn sequential_reads_each_file_whole_before_the_next() {
    let job = job(
        "mix = \"read\"\npattern = \"sequential\"\nload = {}\nfiles = { count = 3, size = \"8KiB\", select = \"sequential\" }",
    );
    let expected = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (0, 0)];
    assert_eq!(first(&job, 7), expected);
}

#[test]
fn a_visit_is_so_many_requests() {
    let job = job(
        "mix = \"read\"\npattern = \"uniform\"\nload = {}\nfiles = { count = 4, size = \"1MiB\", select = \"random\", visit = 5 }",
    );
    let files: Vec<u64> = first(&job, 100).iter().map(|(file, _)| *file).collect();
    assert!(
        files
            .chunks(5)
            .all(|visit| visit.iter().all(|file| *file == visit[0]))
    );
    assert_eq!(files.iter().collect::<BTreeSet<_>>().len(), 4);
}

#[test]
fn random_once_visits_every_block_of_every_file_once_a_pass_however_files_are_chosen() {
    for select in ["\"roundrobin\"", "\"random\"", "\"sequential\""] {
        let job = job(&format!(
            "mix = \"read\"\npattern = \"random-once\"\nload = {{ threads = 2 }}\nfiles = {{ count = 10, size = \"64KiB\", select = {select} }}"
        ));
        for _ in 0..2 {
            let pass = streams(&job).into_iter().flat_map(|mut stream| {
                (0..80)
                    .map(move |_| stream.next_request())
                    .collect::<Vec<_>>()
            });
            let seen = visits(pass, 64 * KIB);
            let each: BTreeSet<_> = seen.iter().collect();
            assert_eq!((seen.len(), each.len()), (160, 160), "{select}");
        }
    }
}

#[test]
fn a_write_of_once_the_set_covers_files_of_several_sizes() {
    let job = job(
        "mix = \"write\"\npattern = \"sequential\"\nload = { threads = 3 }\nfiles = { count = 12, size = [{ size = \"4KiB\", share = 1 }, { size = \"64KiB\", share = 1 }], select = \"sequential\" }",
    );
    let set = job.files.clone().unwrap();
    let job = job.with_until(Until {
        region_multiple: Some(1.0),
        ..Until::default()
    });
    let mut touched = BTreeSet::new();
    for (thread, mut stream) in (0..).zip(streams(&job)) {
        let limits = job.thread_limits(thread, geometry(&job)).unwrap();
        for _ in 0..limits.bytes / 4096 {
            assert!(touched.insert(stream.next_request().offset_bytes));
        }
    }
    assert_eq!(touched.len() as u64 * 4096, set.total_bytes());
}

#[test]
fn zipf_gives_some_files_most_visits() {
    let job = job(
        "mix = \"read\"\npattern = \"uniform\"\nload = {}\nfiles = { count = 1000, size = \"64KiB\", select = { zipf = 1.1 } }",
    );
    let mut counts = BTreeMap::new();
    for (file, _) in first(&job, 100_000) {
        *counts.entry(file).or_insert(0_u32) += 1;
    }
    let mut sorted: Vec<u32> = counts.into_values().collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    assert!(
        sorted[..100].iter().sum::<u32>() > 60_000,
        "{:?}",
        &sorted[..5]
    );
}

#[test]
fn a_flush_goes_to_the_file_that_was_written_last() {
    let job = job(
        "mix = \"write\"\nflush_every = 2\npattern = \"sequential\"\nload = {}\nfiles = { count = 3, size = \"8KiB\", visit = 2 }",
    );
    let mut stream = streams(&job).remove(0);
    let requests: Vec<Request> = (0..6).map(|_| stream.next_request()).collect();
    let flushed: Vec<u64> = [requests[2], requests[5]]
        .iter()
        .map(|request| request.offset_bytes / (8 * KIB))
        .collect();
    assert_eq!(flushed, [0, 1]);
}
