//! A replay issues what was recorded, at its times, inside the region of its target.

use super::*;

const GEOMETRY: Geometry = Geometry {
    capacity_bytes: 1 << 20,
    block_bytes: 512,
};

/// A prepared trace, removed with the value.
struct Prepared(String);

impl std::ops::Deref for Prepared {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes a prepared trace of (arrival, offset, size, operation) that reaches `extent_bytes`.
fn prepared(name: &str, extent_bytes: u64, rows: &[(u64, u64, u32, Op)]) -> Prepared {
    let path = std::env::temp_dir().join(format!("fathom-{}-{name}", std::process::id()));
    let lap_ns = rows.last().map_or(0, |row| row.0) + 10;
    let mut bytes = b"FTHRPL1\n".to_vec();
    for value in [rows.len() as u64, extent_bytes, lap_ns] {
        bytes.extend(value.to_le_bytes());
    }
    for &(arrival_ns, offset_bytes, size_bytes, op) in rows {
        bytes.extend(arrival_ns.to_le_bytes());
        bytes.extend(offset_bytes.to_le_bytes());
        bytes.extend(size_bytes.to_le_bytes());
        bytes.extend([op as u8, 0, 0, 0]);
    }
    std::fs::write(&path, bytes).unwrap();
    Prepared(path.to_str().unwrap().to_owned())
}

fn job(file: &str, offsets: &str, load: &str) -> Job {
    let text = format!(
        r#"
mix = {{ read = 50, write = 50 }}
block = [{{ size = "4KiB", share = 50 }}, {{ size = "8KiB", share = 50 }}]
pattern = {{ replay = {{ file = "{file}", offsets = "{offsets}" }} }}
load = {load}
until = {{ count = 3 }}
"#
    );
    Job::from_toml(&text, "job.toml").unwrap()
}

const CLOSED: &str = "{ iodepth = 4 }";
const OPEN: &str = r#"{ rate = "100/s", arrival = "recorded", iodepth = 4 }"#;

#[test]
fn requests_and_arrivals_are_the_recorded_ones_and_begin_again_behind_the_end() {
    let rows = [
        (0, 8192, 4096, Op::Read),
        (70, 0, 8192, Op::Write),
        (70, 0, 0, Op::Flush),
    ];
    let file = prepared("order", 12_288, &rows);
    let mut stream = RequestStream::new(&job(&file, "as-is", OPEN), GEOMETRY, 1, 0).unwrap();
    let requests: Vec<_> = (0..6).map(|_| stream.next_request()).collect();
    let seen = requests[..3]
        .iter()
        .map(|one| (one.offset_bytes, one.size_bytes, one.op));
    let expected = [
        (8192, 4096, Op::Read),
        (0, 8192, Op::Write),
        (0, 0, Op::Flush),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
    assert_eq!(requests[..3], requests[3..]);
    let arrivals: Vec<_> = (0..5).map(|_| stream.next_arrival_ns()).collect();
    assert_eq!(arrivals, [0, 70, 70, 80, 150]);
}

#[test]
fn no_offset_goes_beyond_the_target_whether_wrapped_or_scaled() {
    let rows: Vec<_> = (0..1000)
        .map(|row| (row, row * 104_729 * 512, 4096, Op::Write))
        .collect();
    let extent_bytes = rows[999].1 + 4096;
    let file = prepared("fit", extent_bytes, &rows);
    for offsets in ["wrap", "scale"] {
        let mut stream = RequestStream::new(&job(&file, offsets, CLOSED), GEOMETRY, 1, 0).unwrap();
        let mut places = std::collections::BTreeSet::new();
        for _ in 0..1000 {
            let request = stream.next_request();
            assert!(
                request.offset_bytes + u64::from(request.size_bytes) <= GEOMETRY.capacity_bytes
            );
            assert_eq!(request.offset_bytes % 512, 0);
            places.insert(request.offset_bytes);
        }
        assert!(places.len() > 500, "{offsets}: {}", places.len());
    }
    let refused = RequestStream::new(&job(&file, "as-is", CLOSED), GEOMETRY, 1, 0).unwrap_err();
    assert!(refused.to_string().contains("wrap"), "{refused}");
}

#[test]
fn an_io_that_the_mix_does_not_announce_is_refused_because_no_buffer_is_made_for_it() {
    let lines = |mix: &str, block: &str, file: &str| {
        let text = format!(
            "mix = {mix}\nblock = {block}\npattern = {{ replay = {{ file = \"{file}\" }} }}\n\
             load = {CLOSED}\nuntil = {{ count = 1 }}"
        );
        Job::from_toml(&text, "job.toml").unwrap()
    };
    let apart = "{ read = \"4KiB\", write = \"64KiB\" }";
    for (mix, block, op, size_bytes) in [
        ("\"read\"", "\"4KiB\"", Op::Write, 4096),
        ("\"read\"", "\"4KiB\"", Op::Trim, 4096),
        ("\"read\"", "\"4KiB\"", Op::Create, 4096),
        ("{ read = 50, write = 50 }", apart, Op::Read, 65536),
    ] {
        let file = prepared("unannounced", 65536, &[(0, 0, size_bytes, op)]);
        let refused = RequestStream::new(&lines(mix, block, &file), GEOMETRY, 1, 0);
        assert!(
            matches!(refused, Err(StreamError::Replay { .. })),
            "{mix} {op:?}"
        );
    }
    let file = prepared("announced", 65536, &[(0, 0, 65536, Op::Write)]);
    let job = lines("{ read = 50, write = 50 }", apart, &file);
    assert!(RequestStream::new(&job, GEOMETRY, 1, 0).is_ok());
}

#[test]
fn arrivals_of_a_trace_with_the_latest_times_there_are_never_run_backwards() {
    let file = prepared("late", 4096, &[(u64::MAX - 10, 0, 4096, Op::Read)]);
    let mut stream = RequestStream::new(&job(&file, "as-is", OPEN), GEOMETRY, 1, 0).unwrap();
    let arrivals: Vec<_> = (0..4).map(|_| stream.next_arrival_ns()).collect();
    assert!(arrivals.is_sorted(), "{arrivals:?}");
}

#[test]
fn a_file_that_is_no_prepared_trace_is_refused() {
    let file = prepared("whole", 4096, &[(0, 0, 4096, Op::Read)]);
    let whole = std::fs::read(&*file).unwrap();
    let with = |place: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[place] = byte;
        bytes
    };
    // No mark, a row too many, no operation, a size beyond the mix, a size of nothing.
    let damaged = [
        with(0, 0),
        with(8, 2),
        with(52, 99),
        with(50, 1),
        with(49, 0),
    ];
    for bytes in damaged
        .iter()
        .map(|bytes| &bytes[..])
        .chain([&whole[..40], &[]])
    {
        std::fs::write(&*file, bytes).unwrap();
        let refused = RequestStream::new(&job(&file, "as-is", CLOSED), GEOMETRY, 1, 0);
        assert!(matches!(refused, Err(StreamError::Replay { .. })));
    }
}

#[test]
fn recorded_arrivals_need_a_trace_and_several_threads_issue_one_without_waits_once() {
    let refusal = |text: &str| Job::from_toml(text, "job.toml").unwrap_err().to_string();
    let common = "mix = \"read\"\nblock = \"4KiB\"\n";
    let uniform = format!("{common}pattern = \"uniform\"\nload = {OPEN}\nuntil = {{ count = 1 }}");
    assert!(refusal(&uniform).contains("recorded arrivals"));
    let several = |waits: &str, think: &str, until: &str| {
        refusal(&format!(
            "{common}pattern = {{ replay = {{ file = \"x\"{waits} }} }}\nload = {{ threads = 2, iodepth = 1{think} }}\nuntil = {{ {until} }}"
        ))
    };
    let (waits, think) = (", waits = true", ", think = \"1ms\"");
    assert!(several(waits, "", "count = 1").contains("one thread"));
    assert!(several("", think, "count = 1").contains("one thread"));
    assert!(several("", "", "bytes = \"1MiB\"").contains("count or time"));
}

#[test]
fn threads_issue_the_ios_of_a_trace_between_them_and_no_more_than_are_asked_for() {
    let rows: Vec<_> = (0..100)
        .map(|row| (10 * row, 4096 * (row % 7), 4096, Op::Write))
        .collect();
    let file = prepared("several", 7 * 4096, &rows);
    let job = |count: u64, load: &str| Job {
        until: crate::Until {
            count: Some(count),
            ..crate::Until::default()
        },
        ..job(&file, "as-is", load)
    };
    let load = r#"{ rate = "100/s", arrival = "recorded", iodepth = 4, threads = 3 }"#;
    let asked = job(60, load);
    let mut taken = Vec::new();
    for (thread, mut stream) in (0..).zip(RequestStream::of_threads(&asked, GEOMETRY, 1).unwrap()) {
        let limits = stream.limited(asked.thread_limits(thread, GEOMETRY).unwrap());
        for _ in 0..limits.count {
            let arrival_ns = stream.next_arrival_ns();
            taken.push((arrival_ns, stream.next_request().offset_bytes));
        }
    }
    taken.sort_unstable();
    let expected: Vec<_> = rows[..60].iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(taken, expected);
    let refused = RequestStream::of_threads(&job(101, load), GEOMETRY, 1).unwrap_err();
    assert!(refused.to_string().contains("use one thread"), "{refused}");
}

#[test]
fn an_io_is_due_when_the_one_that_it_waits_for_has_returned_and_its_time_has_passed() {
    // The second and the third wait for the first, the last for the third; the fourth for none.
    let behind = [0, 1, 2, 0, 2];
    let rows: Vec<_> = [5, 10, 7, 20, 3]
        .into_iter()
        .zip(0..)
        .map(|(time_ns, row)| (time_ns, row * 4096, 4096, Op::Read))
        .collect();
    let file = prepared("waits", 5 * 4096, &rows);
    let mut bytes = std::fs::read(&*file).unwrap();
    bytes[..8].copy_from_slice(b"FTHRPL2\n");
    for (row, behind) in behind.into_iter().enumerate() {
        bytes[32 + 24 * row + 21] = behind;
    }
    std::fs::write(&*file, &bytes).unwrap();
    let text = |waits| {
        format!(
            r#"
mix = "read"
block = "4KiB"
pattern = {{ replay = {{ file = "{}", waits = {waits} }} }}
load = {CLOSED}
until = {{ count = 5 }}
"#,
            &*file
        )
    };
    let job = |waits| Job::from_toml(&text(waits), "job.toml").unwrap();
    let open = |job: &Job| RequestStream::new(job, GEOMETRY, 1, 0);
    let mut trace = open(&job(true)).unwrap().waiting().unwrap();
    let take = |trace: &mut crate::Waiting, now_ns| {
        let taken = trace.take_due(now_ns)?;
        assert_eq!(taken.2.offset_bytes, u64::from(taken.0) * 4096);
        Some((taken.0, taken.1))
    };
    assert_eq!(take(&mut trace, 4), None);
    assert_eq!(trace.next_due_ns(), Some(5));
    assert_eq!(take(&mut trace, 5), Some((0, 5)));
    let mut due = Vec::new();
    trace.returned(0, 100, |due_ns| due.push(due_ns));
    assert_eq!(due, [110, 107]);
    let rest: Vec<_> = std::iter::from_fn(|| take(&mut trace, 1000)).collect();
    assert_eq!(rest, [(3, 20), (2, 107), (1, 110)]);
    assert_eq!(trace.next_due_ns(), None);
    trace.returned(2, 200, |_| {});
    assert_eq!(take(&mut trace, 203), Some((4, 203)));
    assert_eq!(trace.next_due_ns(), None);
    // Waiting and not waiting are different files, and nothing waits for what comes before the first.
    assert!(open(&job(false)).is_err());
    bytes[32 + 21] = 1;
    std::fs::write(&*file, &bytes).unwrap();
    assert!(open(&job(true)).is_err());
}

#[test]
fn ios_that_wait_for_others_have_neither_rate_nor_think() {
    let refusal = |load: &str| {
        let text = format!(
            "mix = \"read\"\nblock = \"4KiB\"\nuntil = {{ count = 1 }}\npattern = {{ replay = {{ file = \"x\", waits = true }} }}\nload = {load}"
        );
        Job::from_toml(&text, "job.toml").unwrap_err().to_string()
    };
    for load in [OPEN, "{ iodepth = 1, think = \"1ms\" }"] {
        assert!(
            refusal(load).contains("wait for others"),
            "{}",
            refusal(load)
        );
    }
}
