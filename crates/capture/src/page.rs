//! A page of a trace's ring buffer, as `trace_pipe_raw` gives it: a time, how much is filled, and events.
//! Source: kernel/trace/ring_buffer.c of Linux (`struct buffer_data_page`, `struct ring_buffer_event`); in words,
//! Documentation/trace/ring-buffer-design.rst, and the files `events/header_page` and `events/header_event`.

/// Bytes of the time, and of the fill with its marks.
const HEADER_BYTES: usize = 16;
/// The largest page that the kernel makes.
pub(crate) const MOST_BYTES: usize = 64 << 10;
/// The bits of the fill that count bytes; those above say that events were lost before the page.
const FILLED: u64 = (1 << 27) - 1;
const LENGTH_BITS: u32 = 5;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of an event's time since the one before.
const DELTA_BITS: u32 = 27;
/// A time stamp has as many bits; those above are those of the page's time.
const STAMP_BITS: u32 = 59;

/// The events of a page, each with its time in ns.
pub(crate) struct Page<'a> {
    left: &'a [u8],
    time_ns: u64,
}

impl<'a> Page<'a> {
    /// Returns the page's events; `None` for bytes that are no page.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let time_ns = long(bytes, 0)?;
        let filled = (long(bytes, 8)? & FILLED) as usize;
        let left = bytes.get(HEADER_BYTES..HEADER_BYTES + filled)?;
        Some(Self { left, time_ns })
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(count)?;
        self.left = left;
        Some(taken)
    }

    fn take_word(&mut self) -> Option<u32> {
        word(self.take(4)?, 0)
    }
}

impl<'a> Iterator for Page<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let header = self.take_word()?;
            let (kind, delta) = (header & ((1 << LENGTH_BITS) - 1), header >> LENGTH_BITS);
            match kind {
                TIME_EXTEND => {
                    let high = self.take_word()?;
                    self.time_ns += u64::from(high) << DELTA_BITS | u64::from(delta);
                }
                TIME_STAMP => {
                    let high = self.take_word()?;
                    let stamp = u64::from(high) << DELTA_BITS | u64::from(delta);
                    self.time_ns = self.time_ns >> STAMP_BITS << STAMP_BITS | stamp;
                }
                PADDING => {
                    let length = self.take_word()? as usize;
                    self.time_ns += u64::from(delta);
                    self.take(length.checked_sub(4)?)?;
                }
                0 => {
                    let length = self.take_word()? as usize;
                    self.time_ns += u64::from(delta);
                    let data = self.take(length.checked_sub(4)?.next_multiple_of(4))?;
                    return Some((self.time_ns, data));
                }
                words => {
                    self.time_ns += u64::from(delta);
                    let data = self.take(words as usize * 4)?;
                    return Some((self.time_ns, data));
                }
            }
        }
    }
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

pub(crate) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at + 8)?;
    Some(u64::from_ne_bytes(eight.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(time_ns: u64, words: &[u32]) -> Vec<u8> {
        let filled = (words.len() as u64 * 4) | (1 << 31);
        let mut bytes = [time_ns.to_ne_bytes(), filled.to_ne_bytes()].concat();
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.resize(4096, 0xff);
        bytes
    }

    fn times(bytes: &[u8]) -> Vec<(u64, usize)> {
        let events = Page::new(bytes).expect("a page");
        events
            .map(|(time_ns, data)| (time_ns, data.len()))
            .collect()
    }

    #[test]
    fn times_add_up_over_short_and_long_events_padding_and_extensions() {
        let event = |words: u32, delta: u32| delta << LENGTH_BITS | words;
        let bytes = page(
            1000,
            &[
                event(2, 5),
                1,
                2,
                event(TIME_EXTEND, 3),
                1,
                event(0, 7),
                4 + 8,
                1,
                2,
                event(PADDING, 0),
                4 + 4,
                9,
                event(1, 1),
                1,
            ],
        );
        let extended = 1005 + (1 << DELTA_BITS) + 3;
        assert_eq!(
            times(&bytes),
            [(1005, 8), (extended + 7, 8), (extended + 8, 4)]
        );
    }

    #[test]
    fn a_time_stamp_replaces_the_time_but_for_its_highest_bits() {
        let top = 3 << STAMP_BITS;
        let bytes = page(
            top | 77,
            &[2 << LENGTH_BITS | TIME_STAMP, 1, 1 << LENGTH_BITS | 1, 0],
        );
        assert_eq!(times(&bytes), [(top + (1 << DELTA_BITS) + 2 + 1, 4)]);
    }

    #[test]
    fn what_is_cut_or_no_page_ends_without_an_event() {
        assert!(Page::new(&[0; 15]).is_none());
        assert!(Page::new(&[0xff; 64]).is_none());
        assert_eq!(times(&page(0, &[28, 1, 2])), []);
        assert_eq!(times(&page(0, &[PADDING, 0, 1 << LENGTH_BITS | 1, 0])), []);
    }
}
