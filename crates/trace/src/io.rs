//! One I/O of a trace.

/// What an I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Operation {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Makes earlier writes durable; has no offset and no size.
    Flush,
    /// Gives blocks back (TRIM, UNMAP).
    Discard,
}

impl Operation {
    /// Every operation, by its number.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Discard];

    /// The name in Parquet and CSV.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
        }
    }
}

/// What the kernel was asked besides the operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Somebody waits for it.
    pub const SYNC: u8 = 1;
    /// Durable when complete (forced unit access).
    pub const FUA: u8 = 2;
    /// Metadata of a file system.
    pub const META: u8 = 4;
    /// Read ahead of the demand.
    pub const AHEAD: u8 = 8;
    /// Earlier writes are durable before it.
    pub const PREFLUSH: u8 = 16;
    /// The letter of each flag in CSV, by its bit.
    pub const LETTERS: &'static [u8] = b"SFMAP";

    /// Returns the flags that letters name, `None` for any other letter.
    pub fn from_letters(letters: &[u8]) -> Option<Self> {
        let mut flags = 0;
        for letter in letters {
            flags |= 1 << Self::LETTERS.iter().position(|known| known == letter)?;
        }
        Some(Self(flags))
    }
}

/// One I/O. Times are nanoseconds on the clock of its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// When the device was given it; where the trace lacks that, when it was queued.
    pub issue_ns: u64,
    /// From issue to completion; `None`: not recorded.
    pub latency_ns: Option<u64>,
    /// First byte; 0 for a flush.
    pub offset_bytes: u64,
    /// Length; 0 for a flush.
    pub size_bytes: u64,
    /// What it does.
    pub op: Operation,
    /// How it was asked for.
    pub flags: Flags,
    /// Number of its device among the trace's names.
    pub device: u32,
    /// Number of its process among the trace's names; `None`: not recorded.
    pub process: Option<u32>,
    /// Number of the thread that asked for it; `None`: not recorded.
    pub pid: Option<u32>,
    /// CPU on which it was issued; `None`: not recorded.
    pub cpu: Option<u32>,
}

impl Io {
    /// Returns whether it has no length, which only a flush may lack.
    pub(crate) fn lacks_size(&self) -> bool {
        self.op != Operation::Flush && self.size_bytes == 0
    }
}
