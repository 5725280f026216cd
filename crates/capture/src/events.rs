//! The kernel's tracepoints of the block layer, as the records that its block trace has of the same events.
//! Source: include/trace/events/block.h, and the `format` file of each event.

use std::collections::HashSet;

use trace::BlockRecord;

use crate::page::{long, word};

/// The tracepoints, and what the block trace calls them.
pub(crate) const TRACEPOINTS: [(&str, u32); 5] = [
    ("block_bio_queue", BlockRecord::QUEUED),
    ("block_rq_requeue", BlockRecord::REQUEUED),
    ("block_rq_issue", BlockRecord::ISSUED),
    ("block_rq_complete", BlockRecord::COMPLETED),
    ("block_bio_complete", BlockRecord::COMPLETED),
];

const SECTOR_BYTES: u32 = 512;
const NAME_BYTES: u16 = 16;
/// Most processes whose names are kept apart (`PID_MAX_LIMIT`).
const MOST_PROCESSES: usize = 1 << 22;

/// Where a field stands in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    at: usize,
    size: usize,
}

/// The layout of one tracepoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    id: u32,
    act: u32,
    pid: Field,
    sector: Field,
    sectors: Field,
    bytes: Option<Field>,
    error: Option<Field>,
    marks: Field,
    name: Option<Field>,
}

impl Layout {
    /// Reads a tracepoint's `format` file; `None` where a field is missing.
    pub(crate) fn parse(format: &str, act: u32) -> Option<Self> {
        let id = format.lines().find_map(|line| line.strip_prefix("ID:"))?;
        let field = |name: &str| format.lines().find_map(|line| field_of(line, name));
        Some(Self {
            id: id.trim().parse().ok()?,
            act,
            pid: field("common_pid")?,
            sector: field("sector")?,
            sectors: field("nr_sector")?,
            bytes: field("bytes"),
            error: field("error"),
            marks: field("rwbs")?,
            name: field("comm"),
        })
    }
}

/// Returns the place of a field that a line such as `field:char rwbs[10]; offset:34; size:10;` declares.
fn field_of(line: &str, name: &str) -> Option<Field> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let own = declared.rsplit(' ').next()?;
    if own.split('[').next()? != name {
        return None;
    }
    let mut number = |key| parts.next()?.strip_prefix(key)?.parse().ok();
    let (at, size) = (number("offset:")?, number("size:")?);
    Some(Field { at, size })
}

/// Makes records of a disk's events on one CPU.
#[derive(Debug)]
pub(crate) struct Translator {
    layouts: Vec<Layout>,
    /// The number by which the disk is known; its partitions have others.
    device: u32,
    cpu: u32,
    records: u32,
    named: HashSet<u32>,
}

impl Translator {
    pub(crate) fn new(layouts: Vec<Layout>, device: u32, cpu: u32) -> Self {
        Self {
            layouts,
            device,
            cpu,
            records: 0,
            named: HashSet::new(),
        }
    }

    /// Appends an event's record to `into`, behind one with the name of a process that has had none.
    ///
    /// Events without data of the disk (commands to it, zones) have no record.
    pub(crate) fn append(&mut self, time_ns: u64, event: &[u8], into: &mut Vec<u8>) -> Option<()> {
        let id = u32::from(short(event, 0)?);
        let layout = *self.layouts.iter().find(|layout| layout.id == id)?;
        let marks = event.get(layout.marks.at..layout.marks.at + layout.marks.size)?;
        let end = marks.iter().position(|&letter| letter == 0);
        let bits = BlockRecord::bits_of(&marks[..end.unwrap_or(marks.len())])?;
        let bytes = match layout.bytes {
            Some(field) => word(event, field.at)?,
            None => word(event, layout.sectors.at)?.checked_mul(SECTOR_BYTES)?,
        };
        let error = layout
            .error
            .map_or(Some(0), |field| word(event, field.at))?;
        let record = BlockRecord {
            time_ns,
            sector: long(event, layout.sector.at)?,
            bytes,
            action: layout.act | bits,
            pid: word(event, layout.pid.at)?,
            device: self.device,
            cpu: self.cpu,
            error: error as u16,
            ..BlockRecord::default()
        };
        if let Some(field) = layout.name
            && self.named.len() < MOST_PROCESSES
            && self.named.insert(record.pid)
        {
            let name = event.get(field.at..field.at + usize::from(NAME_BYTES))?;
            let naming = BlockRecord {
                sector: 0,
                bytes: 0,
                action: BlockRecord::NAMES_THREAD,
                error: 0,
                payload_bytes: NAME_BYTES,
                ..record
            };
            self.numbered(naming).append_to(into);
            into.extend_from_slice(name);
        }
        self.numbered(record).append_to(into);
        Some(())
    }

    /// Returns the record with the next number.
    fn numbered(&mut self, record: BlockRecord) -> BlockRecord {
        self.records = self.records.wrapping_add(1);
        BlockRecord {
            sequence: self.records,
            ..record
        }
    }
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUE: &str = "name: block_rq_issue
ID: 2104
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:dev_t dev;	offset:8;	size:4;	signed:0;
	field:sector_t sector;	offset:16;	size:8;	signed:0;
	field:unsigned int nr_sector;	offset:24;	size:4;	signed:0;
	field:unsigned int bytes;	offset:28;	size:4;	signed:0;
	field:char rwbs[10];	offset:34;	size:10;	signed:0;
	field:char comm[16];	offset:44;	size:16;	signed:0;
";

    fn event(letters: &[u8], pid: u32) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..2].copy_from_slice(&2104_u16.to_ne_bytes());
        bytes[4..8].copy_from_slice(&pid.to_ne_bytes());
        bytes[16..24].copy_from_slice(&88_u64.to_ne_bytes());
        bytes[28..32].copy_from_slice(&4096_u32.to_ne_bytes());
        bytes[34..34 + letters.len()].copy_from_slice(letters);
        bytes[44..47].copy_from_slice(b"fio");
        bytes
    }

    fn translator() -> Translator {
        let layout = Layout::parse(ISSUE, BlockRecord::ISSUED).expect("all fields");
        Translator::new(vec![layout], 253 << 20, 3)
    }

    #[test]
    fn an_event_is_a_record_of_the_block_trace_and_a_process_is_named_once() {
        let (mut translator, mut bytes) = (translator(), Vec::new());
        translator
            .append(5, &event(b"WFS", 42), &mut bytes)
            .expect("a record");
        assert_eq!(bytes.len(), BlockRecord::BYTES + 16 + BlockRecord::BYTES);
        assert_eq!(&bytes[48..51], b"fio");
        let at = |at: usize| word(&bytes, 64 + at).expect("a word");
        let long_at = |at: usize| long(&bytes, 64 + at);
        let bits = BlockRecord::bits_of(b"WFS").expect("a write");
        assert_eq!((long_at(8), long_at(16)), (Some(5), Some(88)));
        assert_eq!((at(24), at(28)), (4096, BlockRecord::ISSUED | bits));
        assert_eq!((at(32), at(36), at(40), at(44)), (42, 253 << 20, 3, 0));
        translator
            .append(6, &event(b"R", 42), &mut bytes)
            .expect("a record");
        assert_eq!(bytes.len(), 3 * BlockRecord::BYTES + 16);
    }

    #[test]
    fn other_events_and_cut_ones_have_no_record() {
        let (mut translator, mut bytes) = (translator(), Vec::new());
        let mut other = event(b"R", 1);
        other[0] = 1;
        assert_eq!(translator.append(0, &other, &mut bytes), None);
        assert_eq!(translator.append(0, &event(b"N", 1), &mut bytes), None);
        assert_eq!(
            translator.append(0, &event(b"R", 1)[..40], &mut bytes),
            None
        );
        assert!(Layout::parse(&ISSUE.replace("rwbs", "marks"), 7).is_none());
        assert!(bytes.is_empty());
    }
}
