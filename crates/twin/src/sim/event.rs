//! The events of a simulated drive, packed in 32 bits for the calendar.

/// What happens; the low 28 bits of the packed form say to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Event {
    /// A request reaches the controller (slot).
    Submit = 0,
    /// A request leaves its pipeline (slot).
    Dispatch = 1,
    /// Written data is safe (slot).
    Acknowledge = 2,
    /// The host sees the completion (slot).
    Complete = 3,
    /// A page is in its register (read operation).
    Sensed = 4,
    /// A transfer ends (channel).
    Channel = 5,
    /// A background job changes state (die).
    Die = 6,
    /// The driver asked for it (tag).
    Wake = 7,
    /// The controller has moved pages that cleaning read (cleaning read).
    Moved = 8,
}

/// Bits of the index; the kind lies above.
pub const INDEX_BITS: u32 = 28;

impl Event {
    /// Packs the event with its index, below 2^28.
    #[inline]
    pub const fn with(self, index: u32) -> u32 {
        debug_assert!(index >> INDEX_BITS == 0);
        ((self as u32) << INDEX_BITS) | index
    }

    /// Unpacks.
    #[inline]
    pub const fn unpack(payload: u32) -> (Event, u32) {
        let event = match payload >> INDEX_BITS {
            0 => Event::Submit,
            1 => Event::Dispatch,
            2 => Event::Acknowledge,
            3 => Event::Complete,
            4 => Event::Sensed,
            5 => Event::Channel,
            6 => Event::Die,
            7 => Event::Wake,
            _ => Event::Moved,
        };
        (event, payload & ((1 << INDEX_BITS) - 1))
    }
}

/// Microseconds as a parameter gives them, in ns.
pub fn us_to_ns(us: f64) -> u64 {
    (us * 1000.0).round() as u64
}
