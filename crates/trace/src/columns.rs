//! Traces of one I/O a line with fields in a known order: the public CSV collections, Fathom's own CSV, and what
//! `--columns` describes.

use crate::{
    Fault, Flags, Io, Operation,
    names::Dictionary,
    number::{self, NumberError},
    rwbs,
};

/// What a field holds. Numbers carry their unit in ns or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Time(u64),
    /// 100 ns since 1601, as Windows counts.
    Filetime,
    Latency(u64),
    Offset(u64),
    Size(u64),
    Op,
    Flags,
    Device,
    Process,
    Pid,
    Cpu,
    Ignored,
}

/// Why a list of columns describes no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// A name is not known.
    #[error("unknown column {0:?}: use {known}, or _ for one to leave out", known = KNOWN)]
    Unknown(String),
    /// A time has no unit.
    #[error("column {0:?} needs a unit: _s, _ms, _us or _ns")]
    NoUnit(String),
    /// A column that every trace needs is missing.
    #[error("no {0} column: every trace needs a time, op, offset and size")]
    Missing(&'static str),
    /// A column occurs twice.
    #[error("two {0} columns")]
    Twice(&'static str),
}

const KNOWN: &str = "time_s, time_ms, time_us, time_ns, time_filetime, latency_s, latency_ms, latency_us, latency_ns, \
                     latency_filetime, offset, offset_sectors, size, size_sectors, op, flags, device, process, pid, cpu";
const SECTOR_BYTES: u64 = 512;
const FILETIME_NS: u64 = 100;
/// 1970 in 100 ns since 1601.
const UNIX_FILETIME: u64 = 116_444_736_000_000_000;

impl Column {
    fn parse(name: &str) -> Result<Self, ColumnsError> {
        let unit_ns = |name: &str| match name.rsplit_once('_').map(|(_, unit)| unit) {
            Some("s") => Ok(1_000_000_000),
            Some("ms") => Ok(1_000_000),
            Some("us") => Ok(1_000),
            Some("ns") => Ok(1),
            _ => Err(ColumnsError::NoUnit(name.into())),
        };
        Ok(match name {
            "time_filetime" => Self::Filetime,
            "latency_filetime" => Self::Latency(FILETIME_NS),
            "offset" | "offset_bytes" => Self::Offset(1),
            "size" | "size_bytes" | "length" => Self::Size(1),
            "offset_sectors" => Self::Offset(SECTOR_BYTES),
            "size_sectors" => Self::Size(SECTOR_BYTES),
            "op" | "operation" => Self::Op,
            "flags" => Self::Flags,
            "device" => Self::Device,
            "process" => Self::Process,
            "pid" => Self::Pid,
            "cpu" => Self::Cpu,
            "_" => Self::Ignored,
            "time" | "time_s" | "time_ms" | "time_us" | "time_ns" | "issue_ns" => {
                Self::Time(unit_ns(name)?)
            }
            "latency" | "latency_s" | "latency_ms" | "latency_us" | "latency_ns" => {
                Self::Latency(unit_ns(name)?)
            }
            _ => return Err(ColumnsError::Unknown(name.into())),
        })
    }

    /// What it is called in a message; devices may have several columns.
    const fn only(self) -> Option<&'static str> {
        match self {
            Self::Time(_) | Self::Filetime => Some("time"),
            Self::Latency(_) => Some("latency"),
            Self::Offset(_) => Some("offset"),
            Self::Size(_) => Some("size"),
            Self::Op => Some("op"),
            Self::Flags => Some("flags"),
            Self::Process => Some("process"),
            Self::Pid => Some("pid"),
            Self::Cpu => Some("cpu"),
            Self::Device | Self::Ignored => None,
        }
    }
}

/// The parser of such lines.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    devices: usize,
    delimiter: Option<u8>,
    device: Vec<u8>,
}

impl Columns {
    /// Parses names between commas. Each unit is part of its name.
    pub(crate) fn parse(names: &str) -> Result<Self, ColumnsError> {
        let columns: Result<Vec<_>, _> = names
            .split(',')
            .map(|name| Column::parse(name.trim()))
            .collect();
        let columns = columns?;
        let count = |wanted: &str| {
            let named = columns.iter().filter_map(|column| column.only());
            named.filter(|&name| name == wanted).count()
        };
        if let Some(missing) = ["time", "op", "offset", "size"]
            .into_iter()
            .find(|&name| count(name) == 0)
        {
            return Err(ColumnsError::Missing(missing));
        }
        let once = [
            "time", "latency", "offset", "size", "op", "flags", "process", "pid", "cpu",
        ];
        if let Some(twice) = once.into_iter().find(|&name| count(name) > 1) {
            return Err(ColumnsError::Twice(twice));
        }
        let devices = columns
            .iter()
            .filter(|&&column| column == Column::Device)
            .count();
        Ok(Self {
            columns,
            devices,
            delimiter: None,
            device: Vec::new(),
        })
    }

    /// Returns the I/O of a line. The first line decides what separates fields, and may hold names instead.
    pub(crate) fn line(
        &mut self,
        line: &[u8],
        number: u64,
        names: &mut Dictionary,
    ) -> Result<Option<Io>, Fault> {
        let delimiter = *self.delimiter.get_or_insert_with(|| delimiter_of(line));
        match self.io(line, delimiter, names) {
            Ok(io) => Ok(Some(io)),
            Err(_) if number == 1 && is_header(line) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    #[inline]
    fn io(&mut self, line: &[u8], delimiter: u8, names: &mut Dictionary) -> Result<Io, Fault> {
        let mut io = Io {
            issue_ns: 0,
            latency_ns: None,
            offset_bytes: 0,
            size_bytes: 0,
            op: Operation::Read,
            flags: Flags::default(),
            device: 0,
            process: None,
            pid: None,
            cpu: None,
        };
        self.device.clear();
        let mut has_offset = true;
        let mut rest = Some(line);
        for place in 0..self.columns.len() {
            let column = self.columns[place];
            let Some(text) = rest else {
                let expected = self.columns.len();
                return Err(Fault::Fields {
                    found: place,
                    expected,
                });
            };
            let end = end_of_field(text, delimiter);
            rest = end.map(|end| &text[end + 1..]);
            let field = trimmed(&text[..end.unwrap_or(text.len())]);
            has_offset &= !(field.is_empty() && matches!(column, Column::Offset(_)));
            self.fill(&mut io, column, field, names)?;
        }
        if io.op != Operation::Flush && !has_offset {
            return Err(Fault::Missing { field: "offset" });
        }
        match self.devices {
            0 => io.device = names.devices.number(b"")?,
            1 => {}
            _ => io.device = names.devices.number(&self.device)?,
        }
        Ok(io)
    }

    /// Writes one field into the I/O, or a part of its device's name into `self.device`.
    #[inline(always)]
    fn fill(
        &mut self,
        io: &mut Io,
        column: Column,
        field: &[u8],
        names: &mut Dictionary,
    ) -> Result<(), Fault> {
        match column {
            Column::Time(unit) => {
                io.issue_ns = number::time_ns(field, unit).map_err(in_field("time"))?
            }
            Column::Filetime => io.issue_ns = filetime_ns(field).map_err(in_field("time"))?,
            Column::Latency(_) | Column::Offset(_) | Column::Size(_) | Column::Process
                if field.is_empty() => {}
            Column::Latency(unit) => {
                io.latency_ns = Some(number::time_ns(field, unit).map_err(in_field("latency"))?);
            }
            Column::Offset(unit) => {
                io.offset_bytes = number::scaled(field, unit).map_err(in_field("offset"))?;
            }
            Column::Size(unit) => {
                io.size_bytes = number::scaled(field, unit).map_err(in_field("size"))?;
            }
            Column::Op => (io.op, io.flags) = operation(field)?,
            Column::Flags => {
                let flags =
                    Flags::from_letters(field).ok_or_else(|| Fault::word("flags", field))?;
                io.flags.0 |= flags.0;
            }
            Column::Device if self.devices == 1 => io.device = names.devices.number(field)?,
            Column::Device => {
                if !self.device.is_empty() {
                    self.device.push(b'.');
                }
                self.device.extend_from_slice(field);
            }
            Column::Process => io.process = Some(names.processes.number(field)?),
            Column::Pid => io.pid = small(field).map_err(in_field("pid"))?,
            Column::Cpu => io.cpu = small(field).map_err(in_field("cpu"))?,
            Column::Ignored => {}
        }
        Ok(())
    }
}

fn in_field(field: &'static str) -> impl Fn(NumberError) -> Fault {
    move |source| Fault::Number { field, source }
}

/// Returns the number of a thread or a CPU; `None`: the field is empty.
fn small(field: &[u8]) -> Result<Option<u32>, NumberError> {
    if field.is_empty() {
        return Ok(None);
    }
    let found = u32::try_from(number::whole(field)?).map_err(|_| NumberError::TooLarge)?;
    Ok(Some(found))
}

fn filetime_ns(text: &[u8]) -> Result<u64, NumberError> {
    let since_1970 = number::whole(text)?.saturating_sub(UNIX_FILETIME);
    let ns = since_1970.checked_mul(FILETIME_NS);
    ns.filter(|&ns| ns <= i64::MAX as u64)
        .ok_or(NumberError::TooLarge)
}

/// Returns what a word or the kernel's letters say.
#[inline]
fn operation(word: &[u8]) -> Result<(Operation, Flags), Fault> {
    let plain = match word {
        b"R" | b"r" | b"Read" | b"read" | b"READ" | b"0" => Some(Operation::Read),
        b"W" | b"w" | b"Write" | b"write" | b"WRITE" | b"1" => Some(Operation::Write),
        b"F" | b"f" | b"flush" | b"FLUSH" | b"Flush" | b"sync" => Some(Operation::Flush),
        b"D" | b"d" | b"T" | b"discard" | b"DISCARD" | b"trim" | b"TRIM" | b"unmap" => {
            Some(Operation::Discard)
        }
        _ => None,
    };
    plain
        .map(|op| (op, Flags::default()))
        .or_else(|| rwbs::parse(word))
        .ok_or_else(|| Fault::word("op", word))
}

fn delimiter_of(line: &[u8]) -> u8 {
    let known = [b',', b'\t', b';'];
    known
        .into_iter()
        .find(|byte| line.contains(byte))
        .unwrap_or(b' ')
}

/// Returns whether a line names columns: no field begins with a digit.
fn is_header(line: &[u8]) -> bool {
    let delimiter = delimiter_of(line);
    let begins = |field: &[u8]| trimmed(field).first().is_some_and(u8::is_ascii_alphabetic);
    line.split(|&byte| byte == delimiter).all(begins)
}

/// Returns where a field ends. In quotes stands no end.
#[inline]
fn end_of_field(text: &[u8], delimiter: u8) -> Option<usize> {
    let quoted = match text {
        [b' ', rest @ ..] if delimiter != b' ' => rest.trim_ascii_start().first(),
        _ => text.first(),
    };
    let behind = match quoted {
        Some(b'"') => behind_quotes(text),
        _ => 0,
    };
    memchr::memchr(delimiter, &text[behind..]).map(|end| behind + end)
}

/// Returns where the text in quotes at the beginning ends; 0: nothing closes them.
#[cold]
fn behind_quotes(text: &[u8]) -> usize {
    let mut quotes = memchr::memchr_iter(b'"', text).skip(1);
    quotes.next().map_or(0, |close| close + 1)
}

#[inline]
fn trimmed(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    match field {
        [b'"', inner @ .., b'"'] => inner,
        _ => field,
    }
}
