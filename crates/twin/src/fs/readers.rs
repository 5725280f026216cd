//! Recognises sequential readers and says how far ahead of each to read.
//!
//! Linux `ondemand_readahead` in short: a read that begins where an earlier one ended is sequential. A window is asked
//! for when the first page of the one before is used. So one is on its way while another is read. The slow start of a
//! new stream is left out.

use std::ops::Range;

/// Streams that are followed at once; the one that was read longest ago gives way.
const STREAMS: usize = 64;

#[derive(Clone)]
struct Stream {
    /// Where its next read begins.
    next: u64,
    /// Blocks up to here have been asked for.
    ahead: u64,
    /// A read of this block asks for the next window.
    marker: u64,
}

/// What a read asks for besides its own blocks.
#[derive(Clone, Default)]
pub struct Ahead {
    /// Blocks to read now for later reads.
    pub window: Option<Range<u64>>,
    /// Blocks that an earlier reader has had read ahead and will not use any more.
    pub dropped: Option<Range<u64>>,
}

/// The readers of a file.
#[derive(Clone, Default)]
pub struct Readers {
    /// The one that read last is at the end.
    streams: Vec<Stream>,
}

impl Readers {
    /// Takes a read of blocks, with windows of `window` blocks.
    pub fn read(&mut self, blocks: Range<u64>, window: u64) -> Ahead {
        let Range { start, end } = blocks;
        let Some(place) = self.streams.iter().position(|stream| stream.next == start) else {
            let full = self.streams.len() == STREAMS;
            let dropped = full.then(|| self.streams.remove(0));
            self.streams.push(Stream {
                next: end,
                ahead: end,
                marker: end,
            });
            return Ahead {
                window: None,
                dropped: dropped.map(|stream| stream.next..stream.ahead.max(stream.next)),
            };
        };
        let mut stream = self.streams.remove(place);
        stream.next = end;
        let mut ahead = Ahead::default();
        if end > stream.marker && window > 0 {
            stream.marker = stream.ahead.max(end);
            stream.ahead = stream.marker + window;
            ahead.window = Some(stream.marker..stream.ahead);
        }
        self.streams.push(stream);
        ahead
    }
}
