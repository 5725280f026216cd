//! What holds for every trace, good or hostile.

use trace::{Batch, Format, Operation, Profile, Reader, detect};

use crate::mutate::Chance;

/// One input in so many is profiled too: a profile takes longer than reading.
const PROFILED_ONE_IN: u64 = 32;

/// What a reader has made of a trace.
struct Seen {
    batch: Batch,
    reader: Reader,
}

/// Reads a trace in portions of a random size and checks what comes out.
pub fn check(format: Format, files: &[Vec<u8>], chance: &mut Chance) {
    let files = if format == Format::Blktrace {
        files
    } else {
        &files[..1]
    };
    let seen = read(format, files, 1 + chance.below(1 << 14));
    check_columns_of(&seen);
    check_refusals(&seen.reader);
    if files.len() == 1 {
        check_the_same(format, &seen, &read(format, files, usize::MAX));
    }
    if chance.one_in(PROFILED_ONE_IN) {
        check_profile(&seen.batch, chance);
    }
}

/// Checks that names of columns make a reader or are refused in one line, and that such a reader reads.
pub fn check_columns(files: &[Vec<u8>], _: &mut Chance) {
    let names = String::from_utf8_lossy(&files[0]);
    match Reader::new(Format::Csv, Some(&names), 1) {
        Ok(mut reader) => {
            reader.feed(0, b"1,2,3,R,4,5,6,7,8\nx\n");
            reader.feed(0, b"");
            check_refusals(&reader);
        }
        Err(error) => check_line(&error.to_string()),
    }
}

/// Checks that a head is recognised or not, whatever it holds.
pub fn check_detect(files: &[Vec<u8>], _: &mut Chance) {
    if let Some(format) = detect(&files[0]) {
        assert!(Format::ALL.contains(&format));
    }
}

fn read(format: Format, files: &[Vec<u8>], portion: usize) -> Seen {
    let mut reader = Reader::new(format, None, files.len()).expect("a reader");
    let mut batch = Batch::default();
    let mut rest: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    while let Some(source) = reader.wants() {
        let (now, later) = rest[source].split_at(portion.min(rest[source].len()));
        rest[source] = later;
        reader.feed(source, now);
        append(&mut batch, reader.take());
    }
    Seen { batch, reader }
}

fn append(all: &mut Batch, next: Batch) {
    all.issue_ns.extend(next.issue_ns);
    all.latency_ns.extend(next.latency_ns);
    all.offset_bytes.extend(next.offset_bytes);
    all.size_bytes.extend(next.size_bytes);
    all.op.extend(next.op);
    all.flags.extend(next.flags);
    all.device.extend(next.device);
    all.process.extend(next.process);
}

fn check_columns_of(seen: &Seen) {
    let (batch, reader) = (&seen.batch, &seen.reader);
    let lengths = [
        batch.latency_ns.len(),
        batch.offset_bytes.len(),
        batch.size_bytes.len(),
        batch.op.len(),
        batch.flags.len(),
        batch.device.len(),
        batch.process.len(),
    ];
    assert_eq!(lengths, [batch.len(); 7]);
    assert_eq!(reader.read(), batch.len() as u64);
    let ends = batch.offset_bytes.iter().zip(&batch.size_bytes);
    assert!(
        ends.into_iter()
            .all(|(at, size)| at + size <= i64::MAX as u64)
    );
    assert!(
        batch
            .op
            .iter()
            .all(|&op| usize::from(op) < Operation::ALL.len())
    );
    let (devices, processes) = (reader.devices().len(), reader.processes().len());
    assert!(batch.device.iter().all(|&name| (name as usize) < devices));
    let named = |&name: &u32| name == Batch::NONE_NAME || (name as usize) < processes;
    assert!(batch.process.iter().all(named));
    let steps_back = batch
        .issue_ns
        .windows(2)
        .filter(|two| two[1] < two[0])
        .count();
    assert!(steps_back as u64 <= reader.late());
}

fn check_refusals(reader: &Reader) {
    let wrong = reader.wrong();
    assert_eq!(wrong.first.len() as u64, wrong.count.min(3));
    for (_, fault) in &wrong.first {
        check_line(&fault.to_string());
    }
}

fn check_line(message: &str) {
    assert!(!message.is_empty());
    assert!(!message.contains(['\n', '\r', '\x1b', '\0']), "{message:?}");
}

/// Checks that nothing depends on where portions end, but for the names of a blktrace's processes, which go by
/// what is known when a portion comes.
fn check_the_same(format: Format, seen: &Seen, other: &Seen) {
    let (mut one, mut two) = (seen.batch.clone(), other.batch.clone());
    if format == Format::Blktrace {
        one.process.clear();
        two.process.clear();
    }
    assert_eq!(one, two);
    assert_eq!(seen.reader.wrong(), other.reader.wrong());
    assert_eq!(seen.reader.unpaired(), other.reader.unpaired());
    assert_eq!(seen.reader.late(), other.reader.late());
}

fn check_profile(batch: &Batch, chance: &mut Chance) {
    let mut profile = Profile::default();
    profile.add(batch);
    // A report may come at any moment, and more after it.
    if chance.one_in(2) {
        profile.report();
        profile.add(batch);
    }
    profile.report();
}
