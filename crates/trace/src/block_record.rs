//! A record of the kernel's block trace: 48 bytes, and a payload. Read, and written for events that come by other ways.
//! Source: `struct blk_io_trace` and the masks in include/uapi/linux/blktrace_api.h.

use crate::{Flags, Operation, rwbs};

const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const SYNC: u32 = 1 << 19;
const NOTIFY: u32 = 1 << 26;
const AHEAD: u32 = 1 << 27;
const META: u32 = 1 << 28;
const DISCARD: u32 = 1 << 29;
const FUA: u32 = 1 << 31;
/// The payload begins with the number of a control group.
const WITH_CGROUP: u32 = 1 << 8;

/// What stands in front of a record's payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRecord {
    /// Number of the record on its CPU.
    pub sequence: u32,
    /// Time, ns.
    pub time_ns: u64,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Bytes of data.
    pub bytes: u32,
    /// What happened, and the bits of the operation.
    pub action: u32,
    /// Thread that was running.
    pub pid: u32,
    /// The disk: 12 bits of major and 20 of minor.
    pub device: u32,
    /// CPU.
    pub cpu: u32,
    /// The error of a completion as 16 bits of a negative number.
    pub error: u16,
    /// Bytes that follow.
    pub payload_bytes: u16,
}

impl BlockRecord {
    /// The first four bytes: 0x65617400 and version 7.
    pub const MAGIC: u32 = 0x6561_7407;
    /// Bytes without the payload.
    pub const BYTES: usize = 48;
    /// A request was queued.
    pub const QUEUED: u32 = 1;
    /// The device gave a request back undone.
    pub const REQUEUED: u32 = 6;
    /// A request was issued to the device.
    pub const ISSUED: u32 = 7;
    /// A request is complete.
    pub const COMPLETED: u32 = 8;
    /// The whole action of a record whose payload is the name of the thread.
    pub const NAMES_THREAD: u32 = NOTIFY;

    /// Reads a record; `None` where it does not begin with its mark.
    pub(crate) fn read(header: &[u8; Self::BYTES]) -> Option<Self> {
        (word(header, 0) == Self::MAGIC).then(|| Self {
            sequence: word(header, 4),
            time_ns: long(header, 8),
            sector: long(header, 16),
            bytes: word(header, 24),
            action: word(header, 28),
            pid: word(header, 32),
            device: word(header, 36),
            cpu: word(header, 40),
            error: short(header, 44),
            payload_bytes: short(header, 46),
        })
    }

    /// Appends the record to `into`. The payload is left to the caller.
    pub fn append_to(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&Self::MAGIC.to_le_bytes());
        into.extend_from_slice(&self.sequence.to_le_bytes());
        into.extend_from_slice(&self.time_ns.to_le_bytes());
        into.extend_from_slice(&self.sector.to_le_bytes());
        for word in [self.bytes, self.action, self.pid, self.device, self.cpu] {
            into.extend_from_slice(&word.to_le_bytes());
        }
        into.extend_from_slice(&self.error.to_le_bytes());
        into.extend_from_slice(&self.payload_bytes.to_le_bytes());
    }

    /// Returns the bits of an action for the letters that the kernel prints; `None` where they name no I/O.
    pub fn bits_of(letters: &[u8]) -> Option<u32> {
        let (op, Flags(flags)) = rwbs::parse(letters)?;
        let bit = |flag, bit| if flags & flag != 0 { bit } else { 0 };
        let op = match op {
            Operation::Read => 0,
            Operation::Write => WRITE,
            Operation::Discard => DISCARD | WRITE,
            Operation::Flush => FLUSH,
        };
        let kind = bit(Flags::SYNC, SYNC) | bit(Flags::META, META) | bit(Flags::AHEAD, AHEAD);
        Some(op | kind | bit(Flags::FUA, FUA) | bit(Flags::PREFLUSH, FLUSH))
    }

    /// Returns whether it is a note of the kernel's, and no event of a request.
    pub(crate) fn is_note(&self) -> bool {
        self.action & NOTIFY != 0
    }

    /// Returns what happened, such as [`Self::ISSUED`]; of a note, 0 where its payload is the name of the thread.
    pub(crate) fn what(&self) -> u32 {
        self.action & 0xffff & !WITH_CGROUP
    }

    /// Returns operation and flags; `None` where it is no I/O.
    ///
    /// The kernel marks a flush of its own as a read of nothing, as `blk_fill_rwbs` shows by "FN".
    pub(crate) fn operation(&self) -> Option<(Operation, Flags)> {
        let has = |bit: u32| self.action & bit != 0;
        let op = if has(DISCARD) {
            Operation::Discard
        } else if has(WRITE) {
            Operation::Write
        } else if self.bytes > 0 {
            Operation::Read
        } else if has(FLUSH) {
            Operation::Flush
        } else {
            return None;
        };
        let flag = |bit, flag| if has(bit) { flag } else { 0 };
        let before = match op {
            Operation::Flush => 0,
            _ => flag(FLUSH, Flags::PREFLUSH),
        };
        let flags = flag(SYNC, Flags::SYNC) | flag(FUA, Flags::FUA) | flag(META, Flags::META);
        Some((op, Flags(flags | flag(AHEAD, Flags::AHEAD) | before)))
    }
}

fn short(bytes: &[u8; BlockRecord::BYTES], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8; BlockRecord::BYTES], at: usize) -> u32 {
    u32::from(short(bytes, at)) | u32::from(short(bytes, at + 2)) << 16
}

fn long(bytes: &[u8; BlockRecord::BYTES], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let record = BlockRecord {
            sequence: 1,
            time_ns: 2 << 40,
            sector: 3 << 40,
            bytes: 4,
            action: 5 << 16,
            pid: 6,
            device: 7,
            cpu: 8,
            error: 9,
            payload_bytes: 10,
        };
        let mut bytes = Vec::new();
        record.append_to(&mut bytes);
        let header = bytes.first_chunk().expect("a whole record");
        assert_eq!(BlockRecord::read(header), Some(record));
        assert_eq!(bytes.len(), BlockRecord::BYTES);
        assert_eq!(BlockRecord::read(&[0; BlockRecord::BYTES]), None);
    }

    #[test]
    fn letters_are_the_operation_and_the_flags_that_a_record_is_read_with() {
        for (letters, bytes) in [("RAM", 8), ("FWFSM", 8), ("DS", 8), ("FF", 0), ("WSU", 8)] {
            let letters = letters.as_bytes();
            let action = BlockRecord::bits_of(letters).expect("an I/O") | BlockRecord::ISSUED;
            let record = BlockRecord {
                action,
                bytes,
                ..BlockRecord::default()
            };
            assert_eq!(record.operation(), rwbs::parse(letters));
            assert_eq!(record.what(), BlockRecord::ISSUED);
        }
        assert_eq!(BlockRecord::bits_of(b"N"), None);
        assert_eq!(BlockRecord::bits_of(b"ZR"), None);
    }
}
