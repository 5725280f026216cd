//! The letters by which the kernel prints what a request is: `WS`, `RA`, `FWFSM`. Source: `blk_fill_rwbs` in
//! kernel/trace/blktrace.c and "RWBS description" of blkparse(1).

use crate::{Flags, Operation};

/// Returns operation and flags; `None` where the letters name no I/O, such as `N` alone.
pub(crate) fn parse(letters: &[u8]) -> Option<(Operation, Flags)> {
    let mut op = None;
    let mut flags = 0;
    let mut before = false;
    for letter in letters {
        match letter {
            b'R' => op = Some(Operation::Read),
            b'W' => op = Some(Operation::Write),
            // Discard, and secure erase as "DE".
            b'D' => op = Some(Operation::Discard),
            // In front of the operation it is a flush of what was written, behind it forced unit access.
            b'F' if op.is_none() => before = true,
            b'F' => flags |= Flags::FUA,
            b'S' => flags |= Flags::SYNC,
            b'M' => flags |= Flags::META,
            b'A' => flags |= Flags::AHEAD,
            // Atomic writes are marked too.
            b'N' | b'B' | b'E' | b'U' => {}
            _ => return None,
        }
    }
    match op {
        Some(op) if before => Some((op, Flags(flags | Flags::PREFLUSH))),
        Some(op) => Some((op, Flags(flags))),
        None if before => Some((Operation::Flush, Flags(flags & !Flags::FUA))),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_in_front_differs_from_forced_unit_access_behind() {
        let found = |text: &str| parse(text.as_bytes());
        let (write, read) = (Operation::Write, Operation::Read);
        let all = Flags::PREFLUSH | Flags::FUA | Flags::SYNC | Flags::META;
        assert_eq!(found("FWFSM"), Some((write, Flags(all))));
        assert_eq!(found("WFS"), Some((write, Flags(Flags::FUA | Flags::SYNC))));
        assert_eq!(found("RA"), Some((read, Flags(Flags::AHEAD))));
        assert_eq!(found("FN"), Some((Operation::Flush, Flags(0))));
        assert_eq!(found("DS"), Some((Operation::Discard, Flags(Flags::SYNC))));
        assert_eq!(found("N"), None);
        assert_eq!(found("x"), None);
    }
}
