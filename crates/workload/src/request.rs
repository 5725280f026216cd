//! One I/O request and the operations it can ask for.

use serde::{Deserialize, Serialize};

/// An I/O operation. The discriminant indexes per-operation arrays of length [`Op::COUNT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Op {
    /// Read data.
    Read = 0,
    /// Write data.
    Write = 1,
    /// Deallocate (NVMe Dataset Management, SCSI UNMAP, `BLKDISCARD`, hole punching on files).
    Trim = 2,
    /// Flush the volatile write cache (`fsync` on files).
    Flush = 3,
    /// Write zeroes without transferring data.
    WriteZeroes = 4,
    /// Zone append.
    Append = 5,
    /// Make an empty file.
    Create = 6,
    /// Open a file.
    Open = 7,
    /// Close a file that was made or opened.
    Close = 8,
    /// Read a file's attributes.
    Stat = 9,
    /// Give a file its other name.
    Rename = 10,
    /// Remove a file.
    Delete = 11,
    /// Make a directory.
    Mkdir = 12,
    /// Remove an empty directory.
    Rmdir = 13,
    /// Read a directory's attributes.
    StatDirectory = 14,
    /// Reserve room in a file (`fallocate`).
    Allocate = 15,
}

/// Matches every operation on names. As a pattern it leaves a match exhaustive, so that the compiler names each one
/// that lacks another operation.
#[macro_export]
macro_rules! name_ops {
    () => {
        $crate::Op::Create
            | $crate::Op::Open
            | $crate::Op::Close
            | $crate::Op::Stat
            | $crate::Op::Rename
            | $crate::Op::Delete
            | $crate::Op::Mkdir
            | $crate::Op::Rmdir
            | $crate::Op::StatDirectory
    };
}

impl Op {
    /// Number of operations.
    pub const COUNT: usize = 16;
    /// Every operation, in discriminant order.
    pub const ALL: [Op; Op::COUNT] = [
        Op::Read,
        Op::Write,
        Op::Trim,
        Op::Flush,
        Op::WriteZeroes,
        Op::Append,
        Op::Create,
        Op::Open,
        Op::Close,
        Op::Stat,
        Op::Rename,
        Op::Delete,
        Op::Mkdir,
        Op::Rmdir,
        Op::StatDirectory,
        Op::Allocate,
    ];

    /// Returns the name used in TOML, JSON and result tables.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
            Op::WriteZeroes => "write-zeroes",
            Op::Append => "append",
            Op::Create => "create",
            Op::Open => "open",
            Op::Close => "close",
            Op::Stat => "stat",
            Op::Rename => "rename",
            Op::Delete => "delete",
            Op::Mkdir => "mkdir",
            Op::Rmdir => "rmdir",
            Op::StatDirectory => "stat-directory",
            Op::Allocate => "allocate",
        }
    }

    /// Returns whether the operation carries data to the target.
    pub const fn writes(self) -> bool {
        matches!(self, Op::Write | Op::Append)
    }

    /// Returns whether the operation carries data at all.
    pub const fn moves_data(self) -> bool {
        matches!(self, Op::Read) || self.writes()
    }

    /// Returns whether the operation changes what a later read returns.
    pub const fn is_destructive(self) -> bool {
        !matches!(
            self,
            Op::Read | Op::Flush | Op::Open | Op::Close | Op::Stat | Op::StatDirectory
        )
    }

    /// Returns whether it works on names and attributes of files instead of their data.
    pub const fn is_metadata(self) -> bool {
        matches!(self, name_ops!())
    }

    /// Returns whether it covers a number of bytes, so that a job gives it a block size.
    pub const fn has_block(self) -> bool {
        !self.is_metadata() && !matches!(self, Op::Flush)
    }
}

/// One request as it goes to a device: 16 bytes, copied freely in the hot loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// First byte, relative to the start of the target.
    pub offset_bytes: u64,
    /// Length in bytes; 0 for [`Op::Flush`].
    pub size_bytes: u32,
    /// Placement handle (FDP), or [`Request::NO_PLACEMENT`].
    pub placement: u16,
    /// What to do.
    pub op: Op,
}

impl Request {
    /// The placement of a request whose job names none.
    pub const NO_PLACEMENT: u16 = u16::MAX;

    /// Returns the placement handle that it goes by: without one, as all data do on a drive that knows none, the first.
    #[inline(always)]
    pub const fn handle(&self) -> u16 {
        match self.placement {
            Self::NO_PLACEMENT => 0,
            handle => handle,
        }
    }
}
