//! NVMe commands by passthrough to a generic character device (`/dev/ngXnY`): requests as commands in 128-byte
//! submission entries, and what [`Namespace`] they go to. No block layer, no scheduler, no splitting: a block is one
//! command. Layouts follow the NVM Express base (2.0) and NVM command set (1.0) specifications and
//! `linux/nvme_ioctl.h`.

mod namespace;

use std::path::{Path, PathBuf};

use io_uring::{
    cqueue::Entry32,
    opcode::UringCmd80,
    squeue::{Entry128, PushError, SubmissionQueue},
};
use workload::{Job, Op, Request};

pub(crate) use self::namespace::Namespace;
use crate::{
    buffers::Buffers,
    protocol::{Protocol, push},
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

/// Errno values above this are an NVMe status: status code type in bits 8 to 10, status code below.
pub(crate) const NVME_STATUS: i32 = 0x1_0000;
/// The kernel passes phase-less status with retry bits above; these are type and code.
const STATUS_MASK: i32 = 0x7ff;

/// `struct nvme_passthru_cmd`, and but for its last field `struct nvme_uring_cmd`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

const COMMAND_BYTES: usize = size_of::<Command>();
const _: () = assert!(COMMAND_BYTES == 72);

/// Returns the kernel name of the block device of the same namespace; it may not exist.
pub(crate) fn block_sibling(generic: &Path) -> Option<PathBuf> {
    let name = generic.file_name()?.to_str()?.strip_prefix("ng")?;
    Some(PathBuf::from(format!("nvme{name}")))
}

/// Names the states that a reader is likely to meet (base specification, figure 94 and following).
pub(crate) fn describe_status(status: i32) -> String {
    let meaning = match status {
        0x02 => "invalid field in command",
        0x04 => "data transfer error",
        0x06 => "internal error",
        0x07 => "command abort requested",
        0x0b => "invalid namespace or format",
        0x0f => "data SGL length invalid",
        0x29 => "FDP disabled",
        0x2a => "invalid placement handle list",
        0x80 => "LBA out of range",
        0x81 => "capacity exceeded",
        0x82 => "namespace not ready",
        0x1b8 => "zone boundary error",
        0x1b9 => "zone is full",
        0x1ba => "zone is read only",
        0x1bb => "zone is offline",
        0x1bc => "zone invalid write",
        0x1bd => "too many active zones",
        0x1be => "too many open zones",
        0x280 => "write fault",
        0x281 => "unrecovered read error",
        0x287 => "deallocated or unwritten logical block",
        _ => "see the NVMe specification",
    };
    format!(
        "NVMe status {}/{:02x}h, {meaning}",
        status >> 8,
        status & 0xff
    )
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
            Op::Flush => Command {
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

    /// A positive result is the status the device gave.
    #[inline(always)]
    fn outcome(completion: &Entry32) -> (u64, i32) {
        let result = match completion.result() {
            status @ 1.. => -(NVME_STATUS | status & STATUS_MASK),
            result => result,
        };
        (completion.user_data(), result)
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

    #[test]
    fn a_status_is_told_by_type_code_and_name() {
        assert_eq!(
            describe_status(0x1bc),
            "NVMe status 1/bch, zone invalid write"
        );
        assert_eq!(
            describe_status(0x7ff),
            "NVMe status 7/ffh, see the NVMe specification"
        );
    }
}
