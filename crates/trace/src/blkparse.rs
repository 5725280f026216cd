//! The text of `blkparse` in its default format: `8,0 3 1 0.000000000 697 Q W 223490 + 8 [kjournald]`.
//! Source: blkparse(1), "TRACE ACTIONS", "OUTPUT DESCRIPTION AND FORMATTING" and "DEFAULT OUTPUT".

use crate::{
    Fault, Operation,
    lines::{self, Line, SECTOR_BYTES, bracketed, in_field, words},
    names::Dictionary,
    number,
    pairing::{Asker, Event, Stage},
    rwbs,
};

/// Fields up to the letters of the request.
const BEFORE_REQUEST: usize = 7;

/// -EAGAIN, the error of a request that found no room and may not wait: as 16 bits, and as a number.
const NO_ROOM: [&[u8]; 2] = [b"65525", b"-11"];

/// The parser.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blkparse {
    /// Behind the events stands a summary.
    ended: bool,
}

impl Blkparse {
    pub(crate) fn line(&mut self, line: &[u8], names: &mut Dictionary) -> Result<Line, Fault> {
        self.ended |= is_summary(line);
        if self.ended || line.trim_ascii().is_empty() {
            return Ok(Line::Other);
        }
        let mut words = words(line);
        let head: Vec<&[u8]> = words.by_ref().take(BEFORE_REQUEST - 1).collect();
        let [device, cpu, _, time, pid, action] = head[..] else {
            return Err(Fault::Fields {
                found: head.len(),
                expected: BEFORE_REQUEST,
            });
        };
        let device = lines::device(device, names)?;
        let time_ns = number::time_ns(time, 1_000_000_000).map_err(in_field("time"))?;
        let stage = match action {
            b"Q" => Stage::Queue,
            b"D" => Stage::Issue,
            b"R" => Stage::Requeue,
            b"C" if bracketed(line).is_some_and(|error| NO_ROOM.contains(&error)) => Stage::Refused,
            b"C" => Stage::Complete,
            // Merges, plugs, messages and the rest.
            _ => return Ok(Line::Other),
        };
        let letters = words.next().ok_or(Fault::Fields {
            found: head.len(),
            expected: BEFORE_REQUEST,
        })?;
        let Some((op, flags)) = rwbs::parse(letters) else {
            return Ok(Line::Other);
        };
        let (offset_bytes, size_bytes) = extent(words, op)?;
        let name = bracketed(line)
            .filter(|_| !matches!(stage, Stage::Complete | Stage::Refused))
            .unwrap_or(pid);
        let process = match stage {
            Stage::Complete | Stage::Requeue | Stage::Refused => None,
            Stage::Queue | Stage::Issue => Some(names.processes.number(name)?),
        };
        Ok(Line::Event(Event {
            stage,
            time_ns,
            offset_bytes,
            size_bytes,
            op,
            flags,
            device,
            asker: Asker {
                process,
                pid: small(pid),
            },
            cpu: small(cpu),
        }))
    }
}

/// Returns a number that other programs may also leave blank.
fn small(digits: &[u8]) -> Option<u32> {
    let value = number::whole(digits).ok()?;
    u32::try_from(value).ok()
}

/// Returns offset and length from `223490 + 8`; a flush has neither.
pub(crate) fn extent<'l>(
    mut words: impl Iterator<Item = &'l [u8]>,
    op: Operation,
) -> Result<(u64, u64), Fault> {
    if op == Operation::Flush {
        return Ok((0, 0));
    }
    let (Some(sector), Some(b"+"), Some(sectors)) = (words.next(), words.next(), words.next())
    else {
        return Err(Fault::Shape);
    };
    let offset_bytes = number::scaled(sector, SECTOR_BYTES).map_err(in_field("sector"))?;
    let size_bytes = number::scaled(sectors, SECTOR_BYTES).map_err(in_field("sectors"))?;
    Ok((offset_bytes, size_bytes))
}

fn is_summary(line: &[u8]) -> bool {
    line.starts_with(b"CPU") && memchr::memchr(b'(', line).is_some() || line.starts_with(b"Total (")
}
