//! The table of `biosnoop`. Its header names the columns; a line is printed when an I/O completes, and holds that time.
//! Sources: man/man8/biosnoop.8 of bcc, and libbpf-tools/biosnoop.c.

use crate::{
    Fault, Io, Operation,
    lines::{Line, SECTOR_BYTES, in_field, words},
    names::Dictionary,
    number, rwbs,
};

/// Makes room for the issue of what completed at 0: times are counted from the first completion.
const HOUR_NS: u64 = 3_600_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Device,
    Letters,
    Sector,
    Bytes,
    LatencyMs,
    Ignored,
}

/// The parser.
#[derive(Clone, Debug, Default)]
pub(crate) struct Biosnoop {
    /// Columns behind time and process, once the header is known.
    columns: Option<Vec<Column>>,
}

impl Biosnoop {
    pub(crate) fn line(&mut self, line: &[u8], names: &mut Dictionary) -> Result<Line, Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(Line::Other);
        }
        if line.trim_ascii().starts_with(b"TIME(s)") {
            self.columns = Some(words(line).skip(2).map(column).collect());
            return Ok(Line::Other);
        }
        let columns = self.columns.as_ref().ok_or(Fault::NoHeader)?;
        let fields: Vec<&[u8]> = words(line).collect();
        // A process's name may hold spaces.
        if fields.len() < columns.len() + 2 {
            return Err(Fault::Fields {
                found: fields.len(),
                expected: columns.len() + 2,
            });
        }
        let (process, own) = fields[1..].split_at(fields.len() - 1 - columns.len());
        io(columns, own, fields[0], process, names).map(Line::Io)
    }
}

fn column(name: &[u8]) -> Column {
    match name {
        b"DISK" => Column::Device,
        b"T" | b"TYPE" => Column::Letters,
        b"SECTOR" => Column::Sector,
        b"BYTES" => Column::Bytes,
        b"LAT(ms)" => Column::LatencyMs,
        _ => Column::Ignored,
    }
}

fn io(
    columns: &[Column],
    fields: &[&[u8]],
    time: &[u8],
    process: &[&[u8]],
    names: &mut Dictionary,
) -> Result<Io, Fault> {
    let done_ns = number::time_ns(time, 1_000_000_000).map_err(in_field("TIME(s)"))?;
    let field = |wanted| {
        let found = columns.iter().position(|&column| column == wanted);
        found.map(|place| fields[place]).ok_or(Fault::Shape)
    };
    let letters = field(Column::Letters)?;
    let (op, flags) = rwbs::parse(letters).ok_or_else(|| Fault::word("T", letters))?;
    let latency = field(Column::LatencyMs)?;
    let latency_ns = number::time_ns(latency, 1_000_000).map_err(in_field("LAT(ms)"))?;
    let range = |field| Fault::Range { field };
    let issue_ns = (done_ns.saturating_add(HOUR_NS)).checked_sub(latency_ns);
    let issue_ns = issue_ns.ok_or_else(|| range("LAT(ms)"))?;
    if issue_ns > i64::MAX as u64 {
        return Err(range("TIME(s)"));
    }
    let size_bytes = number::whole(field(Column::Bytes)?).map_err(in_field("BYTES"))?;
    // The tool of bcc has letters for reads and writes alone. Requests of programs to the device, which may move nothing
    // too, are not accounted by the kernel, so they have no line.
    let op = match op {
        Operation::Read | Operation::Write if size_bytes == 0 => Operation::Flush,
        op => op,
    };
    let (offset_bytes, size_bytes) = match op {
        Operation::Flush => (0, 0),
        _ => (
            number::scaled(field(Column::Sector)?, SECTOR_BYTES).map_err(in_field("SECTOR"))?,
            size_bytes,
        ),
    };
    Ok(Io {
        issue_ns,
        latency_ns: Some(latency_ns),
        offset_bytes,
        size_bytes,
        op,
        flags,
        device: names.devices.number(field(Column::Device)?)?,
        process: Some(names.processes.number(&process.join(&b' '))?),
        pid: None,
        cpu: None,
    })
}
