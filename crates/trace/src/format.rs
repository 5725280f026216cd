//! The formats and how each is recognised.

use crate::{BlockRecord, columns::Columns, iolog, lines, vscsi};

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One I/O a line, fields as named.
    Csv,
    /// Microsoft Research Cambridge (SNIA IOTTA 388).
    Msr,
    /// SYSTOR '17 (SNIA IOTTA 4964).
    Systor,
    /// Alibaba block traces.
    Alibaba,
    /// Tencent cloud block storage (SNIA IOTTA 27917).
    Tencent,
    /// CloudPhysics, as vscsiStats records.
    CloudPhysics,
    /// Binary files of blktrace.
    Blktrace,
    /// Text of blkparse.
    Blkparse,
    /// fio's iolog.
    Iolog,
    /// Text of `perf script` or ftrace.
    Perf,
    /// Table of biosnoop.
    Biosnoop,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 11] = [
        Self::Csv,
        Self::Msr,
        Self::Systor,
        Self::Alibaba,
        Self::Tencent,
        Self::CloudPhysics,
        Self::Blktrace,
        Self::Blkparse,
        Self::Iolog,
        Self::Perf,
        Self::Biosnoop,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Msr => "msr",
            Self::Systor => "systor",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::CloudPhysics => "cloudphysics",
            Self::Blktrace => "blktrace",
            Self::Blkparse => "blkparse",
            Self::Iolog => "iolog",
            Self::Perf => "perf",
            Self::Biosnoop => "biosnoop",
        }
    }

    /// Returns the format of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The fields of a public collection's lines, from each one's README.
    pub const fn columns(self) -> Option<&'static str> {
        match self {
            Self::Msr => Some("time_filetime,device,device,op,offset,size,latency_filetime"),
            Self::Systor => Some("time_s,latency_s,op,device,offset,size"),
            Self::Alibaba => Some("device,op,offset,size,time_us"),
            Self::Tencent => Some("time_s,offset_sectors,size_sectors,op,device"),
            _ => None,
        }
    }
}

/// Returns the format of a file that begins with `head`: a few KiB, or all of a shorter file.
pub fn detect(head: &[u8]) -> Option<Format> {
    if head.starts_with(&BlockRecord::MAGIC.to_le_bytes()) {
        return Some(Format::Blktrace);
    }
    if head.iter().take(512).any(|&byte| byte == 0) {
        return vscsi::layout(head).map(|_| Format::CloudPhysics);
    }
    if head.starts_with(iolog::VERSION_2) || head.starts_with(iolog::VERSION_3) {
        return Some(Format::Iolog);
    }
    let first = head
        .split(|&byte| byte == b'\n')
        .find(|line| !line.trim_ascii().is_empty())?;
    if first.trim_ascii().starts_with(b"TIME(s)") {
        return Some(Format::Biosnoop);
    }
    if memchr::memmem::find(head, b"block_rq_").is_some()
        || memchr::memmem::find(head, b"block_bio_").is_some()
    {
        return Some(Format::Perf);
    }
    if lines::words(first).next().is_some_and(lines::is_device) {
        return Some(Format::Blkparse);
    }
    of_fields(first)
}

/// Returns the format of comma-separated lines.
fn of_fields(line: &[u8]) -> Option<Format> {
    let text = std::str::from_utf8(line).ok()?.trim();
    if Columns::parse(text).is_ok() {
        return Some(Format::Csv);
    }
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let whole = |place: usize| {
        !fields[place].is_empty() && fields[place].bytes().all(|byte| byte.is_ascii_digit())
    };
    let letter = |place: usize| matches!(fields[place], "R" | "W");
    match fields.len() {
        7 if matches!(fields[3], "Read" | "Write" | "Type") => Some(Format::Msr),
        6 if letter(2) || fields[2] == "IOType" => Some(Format::Systor),
        5 if letter(1) || fields[1] == "opcode" => Some(Format::Alibaba),
        5 if (0..5).all(whole) && matches!(fields[3], "0" | "1") => Some(Format::Tencent),
        5 if fields[3] == "IOType" => Some(Format::Tencent),
        _ => None,
    }
}
