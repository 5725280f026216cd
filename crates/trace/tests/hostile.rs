//! What fuzzing found, each as its own test.

use trace::{Batch, Fault, Format, Operation, Profile, Reader};

fn read(format: Format, bytes: &[u8], portion: usize) -> (Batch, Reader) {
    let mut reader = Reader::new(format, None, 1).expect("a reader");
    for part in bytes.chunks(portion) {
        if reader.wants().is_some() {
            reader.feed(0, part);
        }
    }
    if reader.wants().is_some() {
        reader.feed(0, b"");
    }
    (reader.take(), reader)
}

/// Version 1 of CloudPhysics: a read of eight blocks.
fn vscsi_record(version: u8) -> Vec<u8> {
    let mut record = vec![0; 32];
    record[4..8].copy_from_slice(&4096_u32.to_le_bytes());
    record[12] = 0x28;
    record[15] = version;
    record
}

#[test]
fn a_gap_in_a_blktrace_is_one_fault_however_it_is_portioned() {
    let bytes = [b'x'; 200];
    for portion in [1, 7, 50, 200] {
        let (_, reader) = read(Format::Blktrace, &bytes, portion);
        assert_eq!(reader.wrong().count, 1, "portions of {portion}");
        assert_eq!(reader.wrong().first, [(1, Fault::Mark)]);
    }
}

#[test]
fn the_second_record_decides_on_a_cloudphysics_trace_even_when_it_comes_later() {
    let records = [vscsi_record(1), vscsi_record(7)].concat();
    for portion in [1, 32, 64] {
        let (batch, reader) = read(Format::CloudPhysics, &records, portion);
        assert!(batch.is_empty(), "portions of {portion}");
        assert_eq!(reader.wrong().first, [(1, Fault::Mark)]);
    }
}

#[test]
fn a_trace_that_claims_more_than_2_to_the_64_bytes_is_profiled() {
    let line = "0,R,0,9223372036854775807\n".repeat(3);
    let text = format!("time_ns,op,offset,size\n{line}");
    let (batch, reader) = read(Format::Csv, text.as_bytes(), text.len());
    assert_eq!(reader.read(), 3);
    let mut profile = Profile::default();
    profile.add(&batch);
    let report = format!("{:?}", profile.report());
    assert!(
        report.contains(&format!("bytes: [{}, 0, 0, 0]", u64::MAX)),
        "{report}"
    );
}

#[test]
fn a_biosnoop_line_that_was_issued_beyond_the_range_of_times_is_a_fault() {
    let text = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
                0.0 fio 1 sda W 8 4096 3600000.0\n\
                9223372036.854775807 fio 1 sda W 16 4096 0.0\n";
    let (batch, reader) = read(Format::Biosnoop, text.as_bytes(), text.len());
    assert_eq!(batch.issue_ns, [0]);
    let fault = Fault::Range { field: "TIME(s)" };
    assert_eq!(reader.wrong().first, [(3, fault)]);
}

#[test]
fn a_biosnoop_line_that_moves_nothing_is_a_flush_by_whatever_letter() {
    let text = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
                0.001 fsync 1 sda W 18446744073709551615 0 0.5\n\
                0.002 jbd2 1 sda R 0 0 0.5\n\
                0.003 fio 1 sda FF 0 0 0.5\n\
                0.004 fio 1 sda D 8 0 0.5\n";
    let (batch, reader) = read(Format::Biosnoop, text.as_bytes(), text.len());
    assert_eq!(batch.op, [Operation::Flush as u8; 3]);
    assert_eq!(batch.offset_bytes, [0; 3]);
    assert_eq!(reader.wrong().first.len(), 1);
}

#[test]
fn a_device_that_only_headers_and_ignored_lines_name_is_none() {
    let texts: [(Format, &str); 3] = [
        (
            Format::Alibaba,
            "device_id,opcode,offset,length,timestamp\n3,R,0,4096,1000\n3,W,4096,4096,2000\n",
        ),
        (
            Format::Blkparse,
            "9,9 0 1 0.000000000 1 P N [fio]\n8,0 0 2 0.000000001 1 D W 8 + 8 [fio]\n\
             8,0 0 3 0.000000002 0 C W 8 + 8 [0]\n9,9 0 4 0.000000003 1 U N [fio] 1\n",
        ),
        (
            Format::Csv,
            "time_ns,op,offset,size,device\n0,R,0,4096,a\n1,R,0,none,b\n2,R,0,4096,c\n",
        ),
    ];
    let devices = texts.map(|(format, text)| {
        let (_, reader) = read(format, text.as_bytes(), text.len());
        reader.devices().to_vec()
    });
    assert_eq!(devices[0], ["3"]);
    assert_eq!(devices[1], ["8:0"]);
    assert_eq!(devices[2], ["a", "c"]);
}

#[test]
fn a_delimiter_in_quotes_ends_no_field() {
    let text = "process,time_ns,op,offset,size\n\"fio, 2\",0,R,8192,4096\n\"open,1,R,0,512\n";
    let (batch, reader) = read(Format::Csv, text.as_bytes(), text.len());
    assert_eq!(batch.offset_bytes, [8192, 0]);
    assert_eq!(reader.processes(), ["fio, 2", "\"open"]);
    assert_eq!(reader.wrong().count, 0);
}

#[test]
fn events_of_other_subsystems_are_passed_over() {
    let text = "fio 1 [000] 1.000001: block:block_rq_issue: 8,0 R 4096 () 8 + 8 none,0,0 [fio]\n\
                a: b 1 [000] 1.000002: sched:sched_switch: prev_comm=fio ==> next_comm=swapper\n\
                kworker-7 [000] d..2. 1.000003: irq_handler_entry: irq=30 name=nvme0q1\n\
                no event at all: x\n";
    let (batch, reader) = read(Format::Perf, text.as_bytes(), text.len());
    assert_eq!(batch.offset_bytes, [8 * 512]);
    assert_eq!(reader.wrong().first, [(4, Fault::Shape)]);
}
