//! A record of the journal: 48 bytes with a checksum, so that a torn end is seen.

use xxhash_rust::xxh3::xxh3_64;

pub(crate) const RECORD_BYTES: usize = 48;
/// The number of a record that is of the journal itself.
const SYNCED: u64 = u64::MAX;

/// An acknowledged write, or flush: that has no size and the number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) offset_bytes: u64,
    /// Unique among the writes of all threads; the sectors written carry it.
    pub(crate) number: u64,
    /// Not later than the write was issued.
    pub(crate) issued_ns: u64,
    /// Not earlier than it was acknowledged.
    pub(crate) acked_ns: u64,
    pub(crate) size_bytes: u32,
}

/// What a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Write,
    Flush,
    /// The records before it were synced: the first was acknowledged at `issued_ns`, all durable at `acked_ns`.
    Synced,
}

impl Record {
    /// Returns the record that those before it are durable: acknowledged from `issued_ns` on, synced at `acked_ns`.
    pub(super) fn synced(issued_ns: u64, acked_ns: u64) -> Self {
        Self {
            offset_bytes: 0,
            number: SYNCED,
            issued_ns,
            acked_ns,
            size_bytes: 0,
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match (self.size_bytes, self.number) {
            (0, SYNCED) => Kind::Synced,
            (0, _) => Kind::Flush,
            _ => Kind::Write,
        }
    }

    pub(super) fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        let size = u64::from(self.size_bytes);
        let words = [
            self.offset_bytes,
            self.number,
            self.issued_ns,
            self.acked_ns,
            size,
        ];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let checksum = xxh3_64(&bytes[..RECORD_BYTES - 8]);
        bytes[RECORD_BYTES - 8..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a record; `None`: torn, or not written at all.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = [0; RECORD_BYTES / 8];
        for (word, place) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(place.try_into().ok()?);
        }
        let [offset_bytes, number, issued_ns, acked_ns, size, checksum] = words;
        (xxh3_64(&bytes[..RECORD_BYTES - 8]) == checksum).then_some(Self {
            offset_bytes,
            number,
            issued_ns,
            acked_ns,
            size_bytes: size as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_as_written_and_a_torn_one_not_at_all() {
        let record = Record {
            offset_bytes: 1 << 40,
            number: 3 << 48 | 7,
            issued_ns: 1,
            acked_ns: 2,
            size_bytes: 4096,
        };
        let mut bytes = record.to_bytes();
        assert_eq!(Record::from_bytes(&bytes), Some(record));
        bytes[9] ^= 1;
        assert_eq!(Record::from_bytes(&bytes), None);
        assert_eq!(Record::from_bytes(&[0; RECORD_BYTES]), None);
    }
}
