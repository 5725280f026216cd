//! NVMe commands by passthrough to a generic character device (`/dev/ngXnY`): requests as commands in 128-byte
//! submission entries, and what [`Namespace`] they go to. No block layer, no scheduler, no splitting: a block is one
//! command. Layouts follow the NVM Express base (2.0) and NVM command set (1.0) specifications and
//! `linux/nvme_ioctl.h`.

mod command;
mod namespace;

use std::path::{Path, PathBuf};

use io_uring::{
    cqueue::Entry32,
    opcode::UringCmd80,
    squeue::{Entry128, PushError, SubmissionQueue},
};
use workload::{Job, Op, Request, name_ops};

use self::command::{Command, STATUS_MASK};
pub(crate) use self::command::{NVME_STATUS, describe_status};
pub(crate) use self::namespace::Namespace;
use crate::{
    buffers::Buffers,
    protocol::{Outcome, Protocol, push},
    submission::{BUFFER, FILE},
};

/// `_IOWR('N', 0x80, 72 bytes)`.
const NVME_URING_CMD_IO: u32 = 0xc048_4e80;

const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const WRITE_ZEROES: u8 = 0x08;
const DATASET_MANAGEMENT: u8 = 0x09;
const ZONE_APPEND: u8 = 0x7d;

/// Dataset management: deallocate.
const DEALLOCATE: u32 = 1 << 2;
/// Directive type 2, data placement, in command dword 12.
const PLACEMENT_DIRECTIVE: u32 = 2 << 20;

/// Returns the kernel name of the block device of the same namespace; it may not exist.
pub(crate) fn block_sibling(generic: &Path) -> Option<PathBuf> {
    let name = generic.file_name()?.to_str()?.strip_prefix("ng")?;
    Some(PathBuf::from(format!("nvme{name}")))
}

/// One range of dataset management.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Range {
    attributes: u32,
    blocks: u32,
    start: u64,
}

/// Requests as NVMe commands.
pub(crate) struct Commands {
    nsid: u32,
    block_shift: u32,
    registered_buffers: bool,
    /// Per handle of the job the placement identifier; empty: no directive.
    placement_ids: Box<[u16]>,
    /// Per slot the range that its trim names.
    ranges: Box<[Range]>,
}

impl Commands {
    /// For `iodepth` commands in flight of `job`.
    pub(crate) fn new(
        namespace: &Namespace,
        placement_ids: &[u16],
        job: &Job,
        registered_buffers: bool,
    ) -> Self {
        let placement_ids = match job.placement.is_empty() {
            true => Box::default(),
            false => placement_ids.into(),
        };
        Self {
            nsid: namespace.nsid(),
            block_shift: namespace.block_bytes.trailing_zeros(),
            registered_buffers,
            placement_ids,
            ranges: vec![Range::default(); job.load.iodepth() as usize].into(),
        }
    }

    #[inline(always)]
    fn transfer(&self, opcode: u8, request: &Request, data: *const u8) -> Command {
        let block = request.offset_bytes >> self.block_shift;
        let mut command = Command {
            opcode,
            nsid: self.nsid,
            addr: data as u64,
            data_len: request.size_bytes,
            cdw10: block as u32,
            cdw11: (block >> 32) as u32,
            cdw12: (request.size_bytes >> self.block_shift) - 1,
            ..Command::default()
        };
        if opcode != READ
            && let Some(&id) = self.placement_ids.get(usize::from(request.placement))
        {
            command.cdw12 |= PLACEMENT_DIRECTIVE;
            command.cdw13 = u32::from(id) << 16;
        }
        command
    }

    fn deallocate(&mut self, request: &Request, slot: usize) -> Command {
        let range = &mut self.ranges[slot];
        range.blocks = request.size_bytes >> self.block_shift;
        range.start = request.offset_bytes >> self.block_shift;
        Command {
            opcode: DATASET_MANAGEMENT,
            nsid: self.nsid,
            addr: (&raw const *range) as u64,
            data_len: size_of::<Range>() as u32,
            cdw11: DEALLOCATE,
            ..Command::default()
        }
    }
}

impl Protocol for Commands {
    type Entry = Entry128;
    type Completion = Entry32;

    #[inline(always)]
    fn queue(
        &mut self,
        request: &mut Request,
        slot: u16,
        buffers: &mut Buffers,
        into: &mut SubmissionQueue<'_, Entry128>,
    ) -> Result<(), PushError> {
        let index = usize::from(slot);
        let size_bytes = request.size_bytes;
        let command = match request.op {
            Op::Read => self.transfer(READ, request, buffers.read_at(index)),
            Op::Write => self.transfer(WRITE, request, buffers.write_from(index, size_bytes)),
            Op::Append => {
                self.transfer(ZONE_APPEND, request, buffers.write_from(index, size_bytes))
            }
            Op::Trim => self.deallocate(request, index),
            Op::Flush | Op::Allocate | name_ops!() => Command {
                opcode: FLUSH,
                nsid: self.nsid,
                ..Command::default()
            },
            Op::WriteZeroes => Command {
                data_len: 0,
                ..self.transfer(WRITE_ZEROES, request, std::ptr::null())
            },
        };
        let moves_data = matches!(request.op, Op::Read | Op::Write | Op::Append);
        let fixed = (self.registered_buffers && moves_data).then_some(BUFFER);
        let entry = UringCmd80::new(FILE, NVME_URING_CMD_IO)
            .cmd(bytes(command))
            .buf_index(fixed)
            .build();
        push(&entry.user_data(u64::from(slot)), into)
    }

    #[inline(always)]
    fn success(&self, _request: &Request) -> i32 {
        0
    }
}

impl Outcome for Entry32 {
    /// A positive result is the status the device gave.
    #[inline(always)]
    fn outcome(&self) -> (u64, i32) {
        let result = match self.result() {
            status @ 1.. => -(NVME_STATUS | status & STATUS_MASK),
            result => result,
        };
        (self.user_data(), result)
    }
}

#[inline(always)]
fn bytes(command: Command) -> [u8; 80] {
    let mut padded = [0; 80];
    // SAFETY: the command is 72 bytes of plain integers without padding, and fits.
    unsafe {
        padded
            .as_mut_ptr()
            .cast::<Command>()
            .write_unaligned(command)
    };
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(placement_ids: &[u16]) -> Commands {
        Commands {
            nsid: 7,
            block_shift: 12,
            registered_buffers: false,
            placement_ids: placement_ids.into(),
            ranges: vec![Range::default(); 2].into(),
        }
    }

    fn request(op: Op) -> Request {
        Request {
            op,
            offset_bytes: 5 << 44,
            size_bytes: 32 << 10,
            placement: 1,
        }
    }

    #[test]
    fn a_transfer_names_its_blocks_counted_from_zero() {
        let command = commands(&[]).transfer(READ, &request(Op::Read), std::ptr::null());
        assert_eq!((command.cdw10, command.cdw11, command.cdw12), (0, 5, 7));
        assert_eq!((command.nsid, command.data_len), (7, 32 << 10));
    }

    #[test]
    fn only_writes_carry_the_identifier_of_their_placement_handle() {
        let commands = commands(&[0x10, 0x22]);
        let write = commands.transfer(WRITE, &request(Op::Write), std::ptr::null());
        assert_eq!((write.cdw12 >> 20, write.cdw13 >> 16), (2, 0x22));
        let read = commands.transfer(READ, &request(Op::Read), std::ptr::null());
        assert_eq!((read.cdw12 >> 20, read.cdw13), (0, 0));
        let unplaced = Request {
            placement: Request::NO_PLACEMENT,
            ..request(Op::Write)
        };
        let write = commands.transfer(WRITE, &unplaced, std::ptr::null());
        assert_eq!((write.cdw12 >> 20, write.cdw13), (0, 0));
    }

    #[test]
    fn a_trim_lists_its_range() {
        let mut commands = commands(&[]);
        let command = commands.deallocate(&request(Op::Trim), 1);
        assert_eq!((command.cdw10, command.cdw11), (0, DEALLOCATE));
        let range = commands.ranges[1];
        assert_eq!((range.start, range.blocks), (5 << 32, 8));
    }
}
