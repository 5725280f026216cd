//! The text of `perf script` and of ftrace for `block:block_rq_issue`, `block_rq_complete` and `block_bio_queue`:
//! `fio 1234 [003] 12345.678901: block:block_rq_issue: 259,0 WS 4096 () 12345 + 8 none,0,0 [fio]`.
//! Sources: perf-script(1); the formats in include/trace/events/block.h.

use crate::{
    Fault,
    blkparse::extent,
    lines::{self, Line, bracketed, in_field, words},
    names::Dictionary,
    number,
    pairing::{Asker, Event, Stage},
    rwbs,
};

/// Returns what a line holds. Other events than those of requests are passed over.
pub(crate) fn line(line: &[u8], names: &mut Dictionary) -> Result<Line, Fault> {
    let line = line.trim_ascii();
    if line.is_empty() || line.starts_with(b"#") {
        return Ok(Line::Other);
    }
    let Some((place, stage, rest)) = event(line) else {
        return match is_other(line) {
            true => Ok(Line::Other),
            false => Err(Fault::Shape),
        };
    };
    let Some(stage) = stage else {
        return Ok(Line::Other);
    };
    let time = words(&line[..place]).next_back().ok_or(Fault::Shape)?;
    let time = time.strip_suffix(b":").ok_or(Fault::Shape)?;
    let time_ns = number::time_ns(time, 1_000_000_000).map_err(in_field("time"))?;
    let mut after = words(rest);
    let (Some(device), Some(letters)) = (after.next(), after.next()) else {
        return Err(Fault::Shape);
    };
    let device = lines::device(device, names)?;
    let Some((op, flags)) = rwbs::parse(letters) else {
        return Ok(Line::Other);
    };
    // The bytes and the command in brackets come before sector and length.
    let end = rest.windows(2).position(|two| two == b"()");
    let places = end.map_or(rest, |end| &rest[end + 2..]);
    let (offset_bytes, size_bytes) = match end {
        Some(_) => extent(words(places), op)?,
        None => extent(words(places).skip(2), op)?,
    };
    let process = match (stage, bracketed(places)) {
        (Stage::Queue | Stage::Issue, Some(name)) => Some(names.processes.number(name)?),
        _ => None,
    };
    Ok(Line::Event(Event {
        stage,
        time_ns,
        offset_bytes,
        size_bytes,
        op,
        flags,
        device,
        asker: Asker { process, pid: None },
        cpu: None,
    }))
}

/// Returns where the event's name begins, its stage and what stands behind it; no stage: no event of a request.
fn event(line: &[u8]) -> Option<(usize, Option<Stage>, &[u8])> {
    let place = memchr::memmem::find(line, b": ")? + 2;
    // A process's name may hold a colon: the event is the first word that ends in one and has no digit first.
    let mut from = place;
    loop {
        let word = &line[from..];
        let end = memchr::memmem::find(word, b": ")?;
        let name = word[..end].trim_ascii();
        let name = name.strip_prefix(b"block:").unwrap_or(name);
        let stage = match name {
            b"block_rq_issue" => Some(Stage::Issue),
            b"block_rq_requeue" => Some(Stage::Requeue),
            b"block_rq_complete" => Some(Stage::Complete),
            b"block_bio_queue" => Some(Stage::Queue),
            _ => None,
        };
        let known = stage.is_some() || name.starts_with(b"block_");
        if known {
            return Some((from, stage, &word[end + 2..]));
        }
        from += end + 2;
    }
}

/// Returns whether a line holds an event of another subsystem: a name with a colon behind a time.
fn is_other(line: &[u8]) -> bool {
    memchr::memmem::find_iter(line, b": ").any(|at| {
        let is_time = |word: &[u8]| number::time_ns(word, 1_000_000_000).is_ok();
        let is_name = |word: &[u8]| word[0].is_ascii_alphabetic() && word.ends_with(b":");
        words(&line[..at]).next_back().is_some_and(is_time)
            && words(&line[at + 2..]).next().is_some_and(is_name)
    })
}
