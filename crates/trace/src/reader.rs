//! A reader: bytes of a trace go in, columns come out.

use crate::{
    Batch, ColumnsError, Fault, Format, Io, Wrong,
    biosnoop::Biosnoop,
    blkparse::Blkparse,
    blktrace::Blktrace,
    columns::Columns,
    iolog::Iolog,
    lines::Line,
    names::Dictionary,
    order::Order,
    pairing::{Event, Pairing},
    perf,
    vscsi::{self, Layout},
};

/// Why there is no reader of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReaderError {
    /// The columns describe no trace.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
    /// A format of text has one file.
    #[error("{format} traces have one file, not {sources}")]
    Sources {
        /// The format.
        format: &'static str,
        /// Files given.
        sources: usize,
    },
}

/// What turns bytes into I/Os or events.
#[derive(Clone, Debug)]
enum Decoder {
    /// The columns, once the first line has named them or they were given.
    Columns(Option<Columns>),
    Blkparse(Blkparse),
    Iolog(Iolog),
    Perf,
    Biosnoop(Biosnoop),
    Blktrace(Blktrace),
    Vscsi(Option<Layout>),
}

/// An I/O that moves nothing, and is no flush.
const NO_SIZE: Fault = Fault::Missing { field: "size" };
/// Bytes of the longest line.
const LONGEST_LINE: usize = 1 << 16;
/// The clock of a trace whose times are beyond this counts from 1970: in September 2001.
const UNIX_NS: u64 = 1_000_000_000_000_000_000;

/// Reads one trace. Feed it portions of each file in turn, take the batch after each, and finish it.
#[derive(Clone, Debug)]
pub struct Reader {
    decoder: Decoder,
    names: Dictionary,
    order: Order,
    pairing: Pairing,
    batch: Batch,
    wrong: Wrong,
    /// What is left of a portion: a line or record that goes on in the next.
    rest: Vec<u8>,
    /// The line at hand is too long, and passed over.
    overlong: bool,
    number: u64,
    base_ns: Option<u64>,
    read: u64,
    ended: bool,
}

impl Reader {
    /// Returns a reader of `sources` files of a format. `columns` names the fields of a CSV; without it, the file's
    /// first line does.
    ///
    /// # Errors
    /// The columns describe no trace, or the format has but one file.
    pub fn new(format: Format, columns: Option<&str>, sources: usize) -> Result<Self, ReaderError> {
        if sources != 1 && format != Format::Blktrace {
            let format = format.name();
            return Err(ReaderError::Sources { format, sources });
        }
        let columns = columns
            .or(format.columns())
            .map(Columns::parse)
            .transpose()?;
        let decoder = match format {
            Format::Blktrace => Decoder::Blktrace(Blktrace::new(sources)),
            Format::Blkparse => Decoder::Blkparse(Blkparse::default()),
            Format::Iolog => Decoder::Iolog(Iolog::default()),
            Format::Perf => Decoder::Perf,
            Format::Biosnoop => Decoder::Biosnoop(Biosnoop::default()),
            Format::CloudPhysics => Decoder::Vscsi(None),
            Format::Csv | Format::Msr | Format::Systor | Format::Alibaba | Format::Tencent => {
                Decoder::Columns(columns)
            }
        };
        Ok(Self {
            decoder,
            names: Dictionary::default(),
            order: Order::default(),
            pairing: Pairing::default(),
            batch: Batch::default(),
            wrong: Wrong::default(),
            rest: Vec::new(),
            overlong: false,
            number: 0,
            base_ns: None,
            read: 0,
            ended: false,
        })
    }

    /// Returns the file whose next portion is needed; `None`: none any more.
    pub fn wants(&self) -> Option<usize> {
        match &self.decoder {
            Decoder::Blktrace(decoder) => decoder.wants(),
            _ => (!self.ended).then_some(0),
        }
    }

    /// Takes the next portion of a file; an empty one is its end.
    pub fn feed(&mut self, source: usize, bytes: &[u8]) {
        match &mut self.decoder {
            Decoder::Blktrace(_) => self.feed_blktrace(source, bytes),
            Decoder::Vscsi(_) => self.feed_vscsi(bytes),
            _ => self.feed_lines(bytes),
        }
        if self.wants().is_none() {
            self.finish();
        }
    }

    /// Returns the I/Os since the last call.
    pub fn take(&mut self) -> Batch {
        std::mem::take(&mut self.batch)
    }

    /// Returns what was no I/O so far.
    pub fn wrong(&self) -> &Wrong {
        &self.wrong
    }

    /// Returns how many I/Os came so late that they are not in the order of their issue.
    pub fn late(&self) -> u64 {
        self.order.late
    }

    /// Returns (I/Os without a completion, completions without an I/O) of a trace of events.
    pub fn unpaired(&self) -> (u64, u64) {
        (self.pairing.unfinished, self.pairing.unknown)
    }

    /// Returns how many I/Os have come out.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Returns the devices' names by number.
    pub fn devices(&self) -> &[String] {
        self.names.devices.texts()
    }

    /// Returns the processes' names by number.
    pub fn processes(&self) -> &[String] {
        self.names.processes.texts()
    }

    /// Returns when the trace began, ns since 1970, where its times say so.
    pub fn start_unix_ns(&self) -> Option<u64> {
        self.base_ns.filter(|&base_ns| base_ns > UNIX_NS)
    }

    fn feed_lines(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if self.rest.is_empty() && !self.overlong {
                self.line(line);
            } else {
                self.keep(line);
                self.kept_line();
            }
        }
        self.keep(rest);
        if bytes.is_empty() {
            if !self.rest.is_empty() || self.overlong {
                self.kept_line();
            }
            self.ended = true;
        }
    }

    /// Keeps the part of a line that goes on, as far as a line may reach.
    fn keep(&mut self, part: &[u8]) {
        let room = LONGEST_LINE.saturating_sub(self.rest.len());
        self.overlong |= part.len() > room;
        self.rest.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn kept_line(&mut self) {
        let mut line = std::mem::take(&mut self.rest);
        self.line(&line);
        line.clear();
        self.rest = line;
        self.overlong = false;
    }

    #[inline]
    fn line(&mut self, line: &[u8]) {
        self.number += 1;
        if self.overlong || line.len() > LONGEST_LINE {
            let most = LONGEST_LINE;
            return self.wrong.note(self.number, Fault::TooLong { most });
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let names = &mut self.names;
        let known = names.len();
        let found = match &mut self.decoder {
            Decoder::Columns(columns) => columns_line(columns, line, self.number, names),
            Decoder::Blkparse(decoder) => decoder.line(line, names),
            Decoder::Iolog(decoder) => decoder.line(line, names),
            Decoder::Perf => perf::line(line, names),
            Decoder::Biosnoop(decoder) => decoder.line(line, names),
            Decoder::Blktrace(_) | Decoder::Vscsi(_) => Ok(Line::Other),
        };
        let counts = match &found {
            Ok(Line::Io(io)) => !io.lacks_size(),
            Ok(Line::Event(event)) => !event.lacks_size(),
            Ok(Line::Other) | Err(_) => false,
        };
        if !counts {
            self.names.keep(known);
        }
        match found {
            Ok(Line::Io(io)) if io.lacks_size() => self.wrong.note(self.number, NO_SIZE),
            Ok(Line::Io(io)) => self.io(io),
            Ok(Line::Event(event)) if event.lacks_size() => self.wrong.note(self.number, NO_SIZE),
            Ok(Line::Event(event)) => self.event(&event),
            Ok(Line::Other) => {}
            Err(fault) => self.wrong.note(self.number, fault),
        }
    }

    fn feed_vscsi(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        self.ended = bytes.is_empty();
        let Decoder::Vscsi(known) = &mut self.decoder else {
            return;
        };
        if known.is_none() && !self.ended && self.rest.len() < vscsi::HEAD_BYTES {
            return;
        }
        let Some(layout) = known.or_else(|| vscsi::layout(&self.rest)) else {
            self.rest.clear();
            self.ended = true;
            return self.wrong.note(1, Fault::Mark);
        };
        *known = Some(layout);
        let rest = std::mem::take(&mut self.rest);
        let records = rest.chunks_exact(layout.bytes);
        let cut = records.remainder().to_vec();
        for record in records {
            self.number += 1;
            match vscsi::record(layout, record, &mut self.names) {
                Ok(Some(io)) => self.io(io),
                Ok(None) => {}
                Err(fault) => self.wrong.note(self.number, fault),
            }
        }
        if self.ended && !cut.is_empty() {
            self.wrong.note(self.number + 1, Fault::Cut);
        }
        self.rest = cut;
    }

    fn feed_blktrace(&mut self, source: usize, bytes: &[u8]) {
        let Decoder::Blktrace(decoder) = &mut self.decoder else {
            return;
        };
        for (number, fault) in decoder.feed(source, bytes, &mut self.names) {
            self.wrong.note(number, fault);
        }
        while let Decoder::Blktrace(decoder) = &mut self.decoder
            && let Some(next) = decoder.pop(&mut self.names)
        {
            match next {
                Ok(event) => self.event(&event),
                Err(fault) => self.wrong.note(0, fault),
            }
        }
    }

    fn event(&mut self, event: &Event) {
        self.pairing.push(event);
        while let Some(io) = self.pairing.pop() {
            self.io(io);
        }
    }

    #[inline]
    fn io(&mut self, io: Io) {
        let ends = io.offset_bytes.checked_add(io.size_bytes);
        if ends.is_none_or(|end| end > i64::MAX as u64) {
            let field = "offset";
            return self.wrong.note(self.number, Fault::Range { field });
        }
        if let Some(first) = self.order.push(io) {
            self.out(&first);
        }
    }

    fn out(&mut self, io: &Io) {
        let base_ns = *self.base_ns.get_or_insert(io.issue_ns);
        self.read += 1;
        self.batch.push(io, base_ns);
    }

    fn finish(&mut self) {
        while let Some(io) = self.pairing.pop_rest() {
            self.io(io);
        }
        while let Some(io) = self.order.pop() {
            self.out(&io);
        }
    }
}

/// Returns the I/O of a line; the first line names the columns where nothing else has.
#[inline]
fn columns_line(
    columns: &mut Option<Columns>,
    line: &[u8],
    number: u64,
    names: &mut Dictionary,
) -> Result<Line, Fault> {
    if line.trim_ascii().is_empty() {
        return Ok(Line::Other);
    }
    let Some(known) = columns else {
        let named = std::str::from_utf8(line).ok().map(Columns::parse);
        let Some(Ok(named)) = named else {
            return Err(Fault::Shape);
        };
        *columns = Some(named);
        return Ok(Line::Other);
    };
    Ok(known
        .line(line, number, names)?
        .map_or(Line::Other, Line::Io))
}
