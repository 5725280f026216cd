//! NVMe commands by passthrough to a generic character device (`/dev/ngXnY`): what the namespace is, which
//! placement handles it has, and requests as commands in 128-byte submission entries. No block layer, no
//! scheduler, no splitting: a block is one command. Layouts follow the NVM Express base (2.0) and NVM command
//! set (1.0) specifications and `linux/nvme_ioctl.h`.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
};

use io_uring::{
    cqueue::Entry32,
    opcode::UringCmd80,
    squeue::{Entry128, PushError, SubmissionQueue},
};
use workload::{Job, Op, Request};

use crate::{
    EngineError,
    buffers::Buffers,
    protocol::{Protocol, push},
    submission::{BUFFER, FILE},
};

/// `_IO('N', 0x40)`, `_IOWR('N', 0x41 | 0x43 | 0x80, 72 bytes)`.
const NVME_IOCTL_ID: libc::c_ulong = 0x4e40;
const NVME_IOCTL_ADMIN_CMD: libc::c_ulong = 0xc048_4e41;
const NVME_IOCTL_IO_CMD: libc::c_ulong = 0xc048_4e43;
const NVME_URING_CMD_IO: u32 = 0xc048_4e80;

const IDENTIFY: u8 = 0x06;
const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const WRITE_ZEROES: u8 = 0x08;
const DATASET_MANAGEMENT: u8 = 0x09;
const IO_MANAGEMENT_RECEIVE: u8 = 0x12;
const ZONE_APPEND: u8 = 0x7d;

/// Dataset management: deallocate.
const DEALLOCATE: u32 = 1 << 2;
/// Directive type 2, data placement, in command dword 12.
const PLACEMENT_DIRECTIVE: u32 = 2 << 20;
/// I/O management receive: reclaim unit handle status.
const HANDLE_STATUS: u32 = 1;

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

const PAGE_BYTES: usize = 4096;

/// What a command fills with facts. In one page, so that it is one segment however the kernel describes it: devices
/// refuse a list with more segments than their answer needs (QEMU, data SGL length invalid).
#[repr(align(4096))]
struct Page([u8; PAGE_BYTES]);

/// A namespace behind a generic device.
#[derive(Clone, Debug)]
pub(crate) struct Namespace {
    nsid: u32,
    pub(crate) block_bytes: u32,
    pub(crate) size_bytes: u64,
}

impl Namespace {
    /// Asks the device who it is.
    pub(crate) fn identify(file: &File, path: &Path) -> Result<Self, EngineError> {
        let refused = |what: &str, error: io::Error| EngineError::Passthrough {
            path: path.to_owned(),
            reason: format!("{what}: {error}"),
            hint: "passthrough needs root (or CAP_SYS_ADMIN) and an NVMe namespace",
        };
        // SAFETY: the call takes no argument and returns the namespace's number.
        let nsid = unsafe { libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ID as _) };
        if nsid <= 0 {
            return Err(refused(
                "it does not tell its namespace",
                io::Error::last_os_error(),
            ));
        }
        let mut page = Page([0; PAGE_BYTES]);
        let data = &mut page.0;
        let command = Command {
            opcode: IDENTIFY,
            nsid: nsid as u32,
            ..Command::default()
        };
        perform(file, NVME_IOCTL_ADMIN_CMD, command, data)
            .map_err(|error| refused("identify namespace failed", error))?;
        let format = usize::from(data[26] & 0xf | (data[26] >> 1) & 0x30);
        let descriptor = &data[128 + 4 * format..][..4];
        if descriptor[..2] != [0, 0] {
            return Err(EngineError::Passthrough {
                path: path.to_owned(),
                reason: "its blocks carry metadata, which passthrough jobs do not send".into(),
                hint: "use the block device, or a format without metadata",
            });
        }
        let block_bytes = 1 << descriptor[2];
        Ok(Self {
            nsid: nsid as u32,
            block_bytes,
            size_bytes: le_u64(data) * u64::from(block_bytes),
        })
    }

    /// The placement identifiers of the namespace's handles, in the order of the handles.
    pub(crate) fn placement_ids(&self, file: &File, path: &Path) -> Result<Vec<u16>, EngineError> {
        let mut page = Page([0; PAGE_BYTES]);
        let data = &mut page.0;
        let command = Command {
            opcode: IO_MANAGEMENT_RECEIVE,
            nsid: self.nsid,
            cdw10: HANDLE_STATUS,
            cdw11: data.len() as u32 / 4 - 1,
            ..Command::default()
        };
        perform(file, NVME_IOCTL_IO_CMD, command, data).map_err(|error| {
            EngineError::Passthrough {
                path: path.to_owned(),
                reason: format!("its placement handles cannot be listed: {error}"),
                hint: "switch FDP on (nvme fdp status shows it), or leave placement out of the job",
            }
        })?;
        let handles = usize::from(u16::from_le_bytes([data[14], data[15]]));
        Ok(data[16..]
            .chunks_exact(32)
            .take(handles)
            .map(|handle| u16::from_le_bytes([handle[0], handle[1]]))
            .collect())
    }
}

fn le_u64(data: &[u8]) -> u64 {
    data.iter()
        .take(8)
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn perform(
    file: &File,
    call: libc::c_ulong,
    mut command: Command,
    data: &mut [u8],
) -> io::Result<()> {
    command.addr = data.as_mut_ptr() as u64;
    command.data_len = data.len() as u32;
    // SAFETY: the command names `data` and its length; the call returns when the device is done with both.
    match unsafe { libc::ioctl(file.as_raw_fd(), call as _, &raw mut command) } {
        0 => Ok(()),
        -1 => Err(io::Error::last_os_error()),
        status => Err(io::Error::other(describe_status(status & STATUS_MASK))),
    }
}

/// The kernel name of the block device of the same namespace; it may not exist.
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
            nsid: namespace.nsid,
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
