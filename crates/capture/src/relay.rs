//! One CPU's trace file. The kernel fills one part of its buffer after another. A reader may take what is not written yet:
//! `relay_reserve` makes room for a record, which is filled afterwards, and `read` counts what is reserved.
//! The CPU that reserved it finishes that record before it begins another part. So all of a finished part is written,
//! and the file's size is the sum of the finished parts (`relay_switch_subbuf`). Nothing beyond that is read.
//!
//! The size is used one look later, since some CPUs reorder writes: those of the records might come after the size's.
//! Behind the size the kernel has a barrier, which a look later has long been passed.

use std::{
    fs::File,
    io::{self, Read, Write},
};

use trace::BlockRecord;

use crate::source::Source;

/// Bytes of the smallest record.
const RECORD_BYTES: u64 = BlockRecord::BYTES as u64;

/// What a trace file can do.
pub(crate) trait Parts: Read {
    /// Returns the bytes of all parts that were finished so far, those read included.
    fn finished(&self) -> io::Result<u64>;
}

impl Parts for File {
    fn finished(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

/// A trace file, and where its bytes go.
#[derive(Debug)]
pub(crate) struct Relay<P, W> {
    from: P,
    to: W,
    /// Finished at the last look.
    seen: u64,
    taken: u64,
}

impl<P: Parts + Send, W: Write + Send> Source for Relay<P, W> {
    /// Copies what was finished at the look before.
    fn look(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        let finished = self.from.finished()?;
        let safe = std::mem::replace(&mut self.seen, finished);
        self.take(safe, buffer)
    }

    /// Copies the rest. The kernel passed over records where the buffer ran over while it was read.
    fn rest(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        let finished = self.from.finished()?;
        self.take(finished, buffer)?;
        self.to.flush()?;
        Ok(finished.saturating_sub(self.taken).div_ceil(RECORD_BYTES))
    }
}

impl<P: Parts, W: Write> Relay<P, W> {
    pub(crate) const fn new(from: P, to: W) -> Self {
        Self {
            from,
            to,
            seen: 0,
            taken: 0,
        }
    }

    fn take(&mut self, up_to: u64, buffer: &mut [u8]) -> io::Result<u64> {
        let before = self.taken;
        while self.taken < up_to {
            let wanted = (up_to - self.taken).min(buffer.len() as u64) as usize;
            let found = match self.from.read(&mut buffer[..wanted]) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if found == 0 {
                break;
            }
            self.to.write_all(&buffer[..found])?;
            self.taken += found as u64;
        }
        Ok(self.taken - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A buffer whose last bytes are reserved, and not written.
    struct Live {
        bytes: Vec<u8>,
        finished: usize,
        read: usize,
    }

    impl Read for Live {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let found = into.len().min(self.bytes.len() - self.read).min(5);
            into[..found].copy_from_slice(&self.bytes[self.read..self.read + found]);
            self.read += found;
            Ok(found)
        }
    }

    impl Parts for Live {
        fn finished(&self) -> io::Result<u64> {
            Ok(self.finished as u64)
        }
    }

    fn live(bytes: &[u8], finished: usize) -> Relay<Live, Vec<u8>> {
        let from = Live {
            bytes: bytes.to_vec(),
            finished,
            read: 0,
        };
        Relay::new(from, Vec::new())
    }

    #[test]
    fn only_finished_parts_are_read_and_each_a_look_later() {
        let mut relay = live(b"recordrecordRESERVED", 6);
        let buffer = &mut [0; 64];
        assert_eq!(relay.look(buffer).expect("a look"), 0);
        relay.from.finished = 12;
        assert_eq!(relay.look(buffer).expect("a look"), 6);
        assert_eq!(relay.look(buffer).expect("a look"), 6);
        assert_eq!(relay.look(buffer).expect("a look"), 0);
        assert_eq!(relay.to, b"recordrecord");
    }

    #[test]
    fn the_rest_is_all_that_the_stop_finished() {
        let mut relay = live(b"recordrecordlast", 12);
        let buffer = &mut [0; 4];
        relay.look(buffer).expect("a look");
        relay.from.finished = 16;
        assert_eq!(relay.rest(buffer).expect("the rest"), 0);
        assert_eq!(relay.to, b"recordrecordlast");
    }

    #[test]
    fn what_the_kernel_passed_over_is_counted() {
        let mut relay = live(b"record", 6 + 48);
        assert_eq!(relay.rest(&mut [0; 64]).expect("the rest"), 1);
    }
}
