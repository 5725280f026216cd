//! A request as a submission queue entry of the kernel's block and file layers, or of nothing.

use io_uring::{
    cqueue, opcode,
    squeue::{Entry, Flags, PushError, SubmissionQueue},
    types::Fixed,
};
use workload::{Op, Request, name_ops};

use crate::{
    buffers::Buffers,
    protocol::{Protocol, push},
};

/// `BLOCK_URING_CMD_DISCARD` of `linux/blkdev.h` (Linux 6.12): `_IO(0x12, 0)`.
const BLOCK_URING_CMD_DISCARD: u32 = 0x1200;

/// The registered file's index.
pub(crate) const FILE: Fixed = Fixed(0);
/// The registered buffer's index.
pub(crate) const BUFFER: u16 = 0;

/// How trims reach a target.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trims {
    /// By punching holes.
    Holes,
    /// By the discard command of block devices.
    Discards,
    /// Likewise, from a kernel thread that may wait. The kernel refuses them from where it must not wait, because the
    /// device cannot promise that, as zram.
    WaitingDiscards,
}

/// How requests become entries on one target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoder {
    pub(crate) registered_buffers: bool,
    pub(crate) trims: Trims,
    /// Block devices only: writes carry the request's placement handle as a write stream.
    pub(crate) write_streams: bool,
    /// The priority of the next read or write (`linux/ioprio.h`); 0: that of the thread.
    pub(crate) ioprio: u16,
}

impl Protocol for Encoder {
    type Entry = Entry;
    type Completion = cqueue::Entry;

    #[inline(always)]
    fn queue(
        &mut self,
        request: &mut Request,
        slot: u16,
        buffers: &mut Buffers,
        into: &mut SubmissionQueue<'_, Entry>,
    ) -> Result<(), PushError> {
        self.queue_to(FILE, request, slot, buffers, into)
    }

    #[inline(always)]
    fn success(&self, request: &Request) -> i32 {
        match request.op {
            Op::Read | Op::Write | Op::Append => request.size_bytes as i32,
            Op::Trim | Op::Flush | Op::WriteZeroes | Op::Allocate | name_ops!() => 0,
        }
    }
}

/// Requests as empty operations: what the ring and the system calls cost without a target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nops;

impl Protocol for Nops {
    type Entry = Entry;
    type Completion = cqueue::Entry;

    #[inline(always)]
    fn queue(
        &mut self,
        _request: &mut Request,
        slot: u16,
        _buffers: &mut Buffers,
        into: &mut SubmissionQueue<'_, Entry>,
    ) -> Result<(), PushError> {
        push(&opcode::Nop::new().build().user_data(slot.into()), into)
    }

    #[inline(always)]
    fn success(&self, _request: &Request) -> i32 {
        0
    }
}

impl Encoder {
    /// Queues the entry for `request` to a registered file, tagged with the slot. Fails only where the queue is full.
    #[inline(always)]
    pub(crate) fn queue_to(
        &self,
        file: Fixed,
        request: &Request,
        slot: u16,
        buffers: &mut Buffers,
        into: &mut SubmissionQueue<'_, Entry>,
    ) -> Result<(), PushError> {
        let (size, at, index) = (request.size_bytes, request.offset_bytes, usize::from(slot));
        let tag = u64::from(slot);
        match request.op {
            Op::Read => {
                let data = buffers.read_at(index);
                push(&self.read(file, data, size, at).user_data(tag), into)
            }
            Op::Write | Op::Append => {
                let data = buffers.write_from(index, size);
                let stream = self.write_stream(request.placement);
                push(
                    &self.write(file, data, size, at, stream).user_data(tag),
                    into,
                )
            }
            Op::Trim | Op::Flush | Op::WriteZeroes | Op::Allocate | name_ops!() => {
                push(&self.without_data(file, request).user_data(tag), into)
            }
        }
    }

    /// Write stream n of a block device is placement handle n - 1 of its namespace; 0 is that of writes without one.
    #[inline(always)]
    fn write_stream(&self, placement: u16) -> u8 {
        match self.write_streams {
            true => (placement as u8).wrapping_add(1),
            false => 0,
        }
    }

    #[inline(always)]
    fn read(&self, file: Fixed, data: *mut u8, size: u32, at: u64) -> Entry {
        if self.registered_buffers {
            opcode::ReadFixed::new(file, data, size, BUFFER)
                .offset(at)
                .ioprio(self.ioprio)
                .build()
        } else {
            opcode::Read::new(file, data, size)
                .offset(at)
                .ioprio(self.ioprio)
                .build()
        }
    }

    #[inline(always)]
    fn write(&self, file: Fixed, data: *const u8, size: u32, at: u64, stream: u8) -> Entry {
        if self.registered_buffers {
            opcode::WriteFixed::new(file, data, size, BUFFER)
                .offset(at)
                .write_stream(stream)
                .ioprio(self.ioprio)
                .build()
        } else {
            opcode::Write::new(file, data, size)
                .offset(at)
                .write_stream(stream)
                .ioprio(self.ioprio)
                .build()
        }
    }

    /// Returns the entry of what moves no data.
    #[inline(never)]
    fn without_data(&self, file: Fixed, request: &Request) -> Entry {
        let (size, at) = (request.size_bytes, request.offset_bytes);
        match request.op {
            Op::Trim => self.trim(file, size, at),
            Op::WriteZeroes => fallocate(
                file,
                size,
                at,
                libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE,
            ),
            Op::Allocate => fallocate(file, size, at, 0),
            _ => opcode::Fsync::new(file).build(),
        }
    }

    fn trim(&self, file: Fixed, size: u32, at: u64) -> Entry {
        match self.trims {
            Trims::Holes => fallocate(
                file,
                size,
                at,
                libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
            ),
            Trims::Discards => discard(at, u64::from(size)),
            Trims::WaitingDiscards => discard(at, u64::from(size)).flags(Flags::ASYNC),
        }
    }
}

/// Discards a range of a block device: start in `addr`, length in the command's first eight bytes.
pub(crate) fn discard(at: u64, bytes: u64) -> Entry {
    let mut command = [0; 16];
    command[..8].copy_from_slice(&bytes.to_ne_bytes());
    opcode::UringCmd16::new(FILE, BLOCK_URING_CMD_DISCARD)
        .addr(Some(at))
        .cmd(command)
        .build()
}

fn fallocate(file: Fixed, size: u32, at: u64, mode: i32) -> Entry {
    opcode::Fallocate::new(file, u64::from(size))
        .offset(at)
        .mode(mode)
        .build()
}
