//! Which operations on names come, and on which files.

use std::collections::BTreeSet;

use crate::{Geometry, Job, Op, Request, RequestStream};

const FILE_BYTES: u64 = 4096;

fn stream(mix: &str, files: &str) -> RequestStream {
    let text = format!(
        "mix = {mix}\nload = {{}}\nuntil = {{ count = 1000 }}\nfiles = {{ count = 20, size = \"4KiB\"{files} }}"
    );
    let job = Job::from_toml(&text, "job.toml").unwrap();
    let geometry = Geometry {
        capacity_bytes: 20 * FILE_BYTES,
        block_bytes: 4096,
    };
    RequestStream::new(&job, geometry, 1, 0).unwrap()
}

/// All that a stream does before it is over, up to `most`.
fn done(mut stream: RequestStream, most: usize) -> Vec<(Op, u64)> {
    let mut requests = Vec::new();
    while requests.len() < most && !stream.is_over() {
        let Request {
            op, offset_bytes, ..
        } = stream.next_request();
        requests.push((op, offset_bytes / FILE_BYTES));
    }
    requests
}

#[test]
fn creates_make_every_file_once_close_it_and_end() {
    for select in ["", ", select = \"random\""] {
        let requests = done(stream("\"create\"", select), 1000);
        assert_eq!(requests.len(), 40);
        let mut made = BTreeSet::new();
        for pair in requests.chunks(2) {
            assert_eq!((pair[0].0, pair[1].0), (Op::Create, Op::Close));
            assert_eq!(pair[0].1, pair[1].1);
            assert!(made.insert(pair[0].1));
        }
    }
}

#[test]
fn deletes_remove_every_file_once_and_end() {
    let requests = done(stream("\"delete\"", ", select = \"random\""), 1000);
    assert_eq!(requests.iter().collect::<BTreeSet<_>>().len(), 20);
    assert_eq!(requests.len(), 20);
    let half = done(stream("\"delete\"", ", present = \"50%\""), 1000);
    assert_eq!(half.len(), 10);
}

#[test]
fn a_mix_never_makes_what_is_there_nor_touches_what_is_not_and_never_ends() {
    let mix = "{ create = 30, delete = 30, stat = 20, rename = 10, open = 10 }";
    let requests = done(stream(mix, ", select = \"random\""), 20_000);
    assert_eq!(requests.len(), 20_000);
    let mut there: BTreeSet<u64> = (0..10).collect();
    for (op, file) in &requests {
        match op {
            Op::Create => assert!(there.insert(*file)),
            Op::Delete => assert!(there.remove(file)),
            _ => assert!(there.contains(file), "{op:?}"),
        }
    }
    let count = |op| requests.iter().filter(|(one, _)| *one == op).count() as f64;
    let share = count(Op::Stat) / (20_000.0 - count(Op::Close));
    assert!((share - 0.2).abs() < 0.02, "{share}");
}

#[test]
fn directories_are_made_and_removed_beside_files() {
    assert_eq!(done(stream("\"mkdir\"", ""), 1000).len(), 20);
    let both = done(stream("{ mkdir = 1, rmdir = 1 }", ""), 1000);
    assert_eq!(both.len(), 1000);
}
