//! What parsers of single lines share.

use crate::{Fault, Io, names::Dictionary, number::NumberError, pairing::Event};

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A whole I/O.
    Io(Io),
    /// A step of one.
    Event(Event),
    /// Nothing to count: a header, a message, an event of no request.
    Other,
}

/// Returns a fault of a field's number.
pub(crate) fn in_field(field: &'static str) -> impl Fn(NumberError) -> Fault {
    move |source| Fault::Number { field, source }
}

/// Returns the words of a line.
pub(crate) fn words(line: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty())
}

/// Returns whether a word is a device's number, such as 259,0.
pub(crate) fn is_device(word: &[u8]) -> bool {
    let mut parts = word.split(|&byte| byte == b',');
    let digits = |part: Option<&[u8]>| {
        part.is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    };
    digits(parts.next()) && digits(parts.next()) && parts.next().is_none()
}

/// Returns the number of the name 259:0 for a device that is printed as 259,0. The name is that of /sys/dev/block, and
/// needs no quotes in a CSV.
pub(crate) fn device(word: &[u8], names: &mut Dictionary) -> Result<u32, Fault> {
    if !is_device(word) || word.len() > LONGEST_DEVICE {
        return Err(Fault::word("device", word));
    }
    let mut name = [0; LONGEST_DEVICE];
    let name = &mut name[..word.len()];
    for (own, &byte) in name.iter_mut().zip(word) {
        *own = if byte == b',' { b':' } else { byte };
    }
    names.devices.number(name)
}

const LONGEST_DEVICE: usize = 24;

/// Returns the text between the last pair of brackets.
pub(crate) fn bracketed(text: &[u8]) -> Option<&[u8]> {
    let end = memchr::memrchr(b']', text)?;
    let start = memchr::memchr(b'[', &text[..end])?;
    Some(&text[start + 1..end])
}

/// Bytes of a sector of the kernel's.
pub(crate) const SECTOR_BYTES: u64 = 512;
