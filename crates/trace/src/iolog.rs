//! fio's iolog, versions 2 and 3. Source: fio(1), "TRACE FILE FORMAT". Times of version 3 are microseconds, as `log_io_u`
//! in fio's iolog.c writes them. In version 2, I/Os between two `wait` lines come at the same time.

use crate::{
    Fault, Flags, Io, Operation,
    lines::{Line, in_field, words},
    names::Dictionary,
    number,
};

/// The first line of each version.
pub(crate) const VERSION_2: &[u8] = b"fio version 2 iolog";
/// The first line of version 3.
pub(crate) const VERSION_3: &[u8] = b"fio version 3 iolog";
const MICROSECOND_NS: u64 = 1_000;

/// The parser.
#[derive(Clone, Debug, Default)]
pub(crate) struct Iolog {
    timed: bool,
    now_ns: u64,
}

impl Iolog {
    pub(crate) fn line(&mut self, line: &[u8], names: &mut Dictionary) -> Result<Line, Fault> {
        let line = line.trim_ascii();
        if line.is_empty() || line == VERSION_2 {
            return Ok(Line::Other);
        }
        if line == VERSION_3 {
            self.timed = true;
            return Ok(Line::Other);
        }
        let mut words = words(line);
        if self.timed {
            let time = words.next().ok_or(Fault::Shape)?;
            self.now_ns = number::time_ns(time, MICROSECOND_NS).map_err(in_field("timestamp"))?;
        }
        let (Some(file), Some(action)) = (words.next(), words.next()) else {
            return Err(Fault::Shape);
        };
        let op = match action {
            b"read" => Operation::Read,
            b"write" => Operation::Write,
            b"trim" => Operation::Discard,
            b"sync" | b"datasync" => Operation::Flush,
            b"add" | b"open" | b"close" => return Ok(Line::Other),
            b"wait" if !self.timed => return self.wait(words.next()),
            _ => return Err(Fault::word("action", action)),
        };
        let (offset_bytes, size_bytes) = match (op, words.next(), words.next()) {
            (Operation::Flush, _, _) => (0, 0),
            (_, Some(offset), Some(length)) => (
                number::whole(offset).map_err(in_field("offset"))?,
                number::whole(length).map_err(in_field("length"))?,
            ),
            _ => return Err(Fault::Shape),
        };
        Ok(Line::Io(Io {
            issue_ns: self.now_ns,
            latency_ns: None,
            offset_bytes,
            size_bytes,
            op,
            flags: Flags::default(),
            device: names.devices.number(file)?,
            process: None,
            pid: None,
            cpu: None,
        }))
    }

    fn wait(&mut self, time: Option<&[u8]>) -> Result<Line, Fault> {
        let wait_ns = number::time_ns(time.ok_or(Fault::Shape)?, MICROSECOND_NS);
        let until_ns = self.now_ns.checked_add(wait_ns.map_err(in_field("wait"))?);
        self.now_ns = until_ns
            .filter(|&until_ns| until_ns <= i64::MAX as u64)
            .ok_or(Fault::Range { field: "wait" })?;
        Ok(Line::Other)
    }
}
