//! Recognises sequential readers and says how far ahead of each to read.
//!
//! Linux `ondemand_readahead` in short: a read that begins where an earlier one ended is sequential;
//! the window ahead of it is refilled when half of it is used. The slow start of a new stream is
//! left out.

/// Streams that are followed at once; the one that was read longest ago gives way.
const STREAMS: usize = 64;

struct Stream {
    /// Where its next read begins.
    next: u64,
    /// Blocks up to here have been asked for.
    ahead: u64,
}

/// The readers of a file.
pub struct Readers {
    /// The one that read last is at the end.
    streams: Vec<Stream>,
    window: u64,
}

impl Readers {
    /// `window`: blocks of read-ahead.
    pub fn new(window: u64) -> Self {
        Self {
            streams: Vec::new(),
            window,
        }
    }

    /// A read of `start..end`: the block up to which to read now, and what an earlier reader has had
    /// read ahead and will not use any more.
    pub fn read(&mut self, start: u64, end: u64) -> (u64, Option<(u64, u64)>) {
        let Some(place) = self.streams.iter().position(|stream| stream.next == start) else {
            let full = self.streams.len() == STREAMS;
            let dropped = full.then(|| self.streams.remove(0));
            self.streams.push(Stream {
                next: end,
                ahead: end,
            });
            return (
                end,
                dropped.map(|stream| (stream.next, stream.ahead.max(stream.next))),
            );
        };
        let mut stream = self.streams.remove(place);
        stream.next = end;
        if stream.ahead < end + self.window / 2 {
            stream.ahead = end + self.window;
        }
        let ahead = stream.ahead;
        self.streams.push(stream);
        (ahead, None)
    }
}
