//! What a namespace behind a generic device is: its blocks, how much one command may carry, its placement handles.

use std::{fs::File, io, mem, os::fd::AsRawFd, path::Path, slice};

use workload::{Op, name_ops};

use super::command::{Command, STATUS_MASK, describe_status};
use crate::EngineError;

/// `_IO('N', 0x40)`, `_IOWR('N', 0x41 | 0x43, 72 bytes)`.
const NVME_IOCTL_ID: libc::c_ulong = 0x4e40;
const NVME_IOCTL_ADMIN_CMD: libc::c_ulong = 0xc048_4e41;
const NVME_IOCTL_IO_CMD: libc::c_ulong = 0xc048_4e43;

const IDENTIFY: u8 = 0x06;
/// What to identify: the namespace, the controller, the controller for the NVM command set (from NVMe 2.0).
const OF_NAMESPACE: u32 = 0x00;
const OF_CONTROLLER: u32 = 0x01;
const OF_COMMAND_SET: u32 = 0x06;
const NVME_2_0: u32 = 0x0002_0000;
const IO_MANAGEMENT_RECEIVE: u8 = 0x12;
/// I/O management receive: reclaim unit handle status, a header and a descriptor for each handle.
const HANDLE_STATUS: u32 = 1;
const STATUS_HEADER_BYTES: usize = 16;
const HANDLE_BYTES: usize = 32;

/// Blocks of a command that counts them in 16 bits, from zero.
const COUNTED_BLOCKS: u64 = 1 << 16;
/// The controller's unit of sizes (CAP.MPSMIN), which passthrough does not report: the least there is.
const LEAST_PAGE_BYTES: u64 = 4096;

/// LBA data size, a power of two: a format with less is not supported.
const LEAST_LBADS: u8 = 9;

const PAGE_BYTES: usize = 4096;

/// What a command fills with facts. In whole pages, so that it is one segment however the kernel describes it. Devices
/// refuse a list with more segments than their answer needs (QEMU, data SGL length invalid).
#[repr(align(4096))]
#[derive(Clone)]
struct Page([u8; PAGE_BYTES]);

const EMPTY: Page = Page([0; PAGE_BYTES]);

/// A namespace behind a generic device.
#[derive(Clone, Debug)]
pub(crate) struct Namespace {
    nsid: u32,
    pub(crate) block_bytes: u32,
    pub(crate) size_bytes: u64,
    limits: Limits,
}

/// Most bytes of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    /// For commands that move data.
    transfer_bytes: u64,
    zeroes_bytes: u64,
    trim_bytes: u64,
}

impl Limits {
    /// Takes the limits from what the controller says of itself, and of itself with the NVM command set. There, 0 is no
    /// limit.
    fn new(block_bytes: u32, controller: &[u8], command_set: &[u8]) -> Self {
        let pages = |power: u8| match power {
            0 => u64::MAX,
            power => {
                let pages = 1u64.checked_shl(power.into());
                pages.map_or(u64::MAX, |pages| LEAST_PAGE_BYTES.saturating_mul(pages))
            }
        };
        let blocks = |count: u64| match count {
            0 => u64::MAX,
            count => count.saturating_mul(block_bytes.into()),
        };
        let counted_bytes = blocks(COUNTED_BLOCKS);
        Self {
            transfer_bytes: counted_bytes.min(pages(controller[77])),
            zeroes_bytes: counted_bytes.min(pages(command_set[1])),
            trim_bytes: blocks(le_u32(&command_set[4..]).into())
                .min(blocks(le_u64(&command_set[8..]))),
        }
    }
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
                "it does not report its namespace",
                io::Error::last_os_error(),
            ));
        }
        let nsid = nsid as u32;
        let Page(data) = identify(file, OF_NAMESPACE, nsid)
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
        let Some(block_bytes) = block_bytes(descriptor[2]) else {
            return Err(EngineError::Passthrough {
                path: path.to_owned(),
                reason: format!("it reports blocks of 2^{} bytes", descriptor[2]),
                hint: "use the block device, or a format with blocks of 512 bytes or more",
            });
        };
        let Page(controller) = identify(file, OF_CONTROLLER, 0)
            .map_err(|error| refused("identify controller failed", error))?;
        // Older controllers would note an error in their log.
        let command_set = match le_u32(&controller[80..]) >= NVME_2_0 {
            true => identify(file, OF_COMMAND_SET, 0).unwrap_or(EMPTY),
            false => EMPTY,
        };
        Ok(Self {
            nsid,
            block_bytes,
            size_bytes: le_u64(&data).saturating_mul(u64::from(block_bytes)),
            limits: Limits::new(block_bytes, &controller, &command_set.0),
        })
    }

    pub(super) fn nsid(&self) -> u32 {
        self.nsid
    }

    /// Returns the most bytes that one command of `op` may be of.
    pub(crate) fn most_bytes(&self, op: Op) -> u64 {
        match op {
            Op::Read | Op::Write | Op::Append => self.limits.transfer_bytes,
            Op::WriteZeroes => self.limits.zeroes_bytes,
            Op::Trim => self.limits.trim_bytes,
            Op::Flush | Op::Allocate | name_ops!() => u64::MAX,
        }
    }

    /// Returns the placement identifiers of the namespace's handles, in the order of the handles.
    pub(crate) fn placement_ids(&self, file: &File, path: &Path) -> Result<Vec<u16>, EngineError> {
        let receive = |data: &mut [u8]| {
            let command = Command {
                opcode: IO_MANAGEMENT_RECEIVE,
                nsid: self.nsid,
                cdw10: HANDLE_STATUS,
                cdw11: data.len() as u32 / 4 - 1,
                ..Command::default()
            };
            perform(file, NVME_IOCTL_IO_CMD, command, data)
        };
        handles(receive).map_err(|error| EngineError::Passthrough {
            path: path.to_owned(),
            reason: format!("its placement handles cannot be listed: {error}"),
            hint: "switch FDP on (nvme fdp status shows it), or leave placement out of the job",
        })
    }
}

/// Returns the size of blocks of 2^`lbads` bytes; `None`: no namespace has it, or a command cannot count its bytes.
fn block_bytes(lbads: u8) -> Option<u32> {
    match lbads {
        LEAST_LBADS.. => 1u32.checked_shl(lbads.into()),
        _ => None,
    }
}

/// Returns all handles of the status that `receive` fills its argument with the beginning of.
fn handles(receive: impl Fn(&mut [u8]) -> io::Result<()>) -> io::Result<Vec<u16>> {
    let mut pages = vec![EMPTY];
    receive(&mut pages[0].0)?;
    let status = &pages[0].0;
    let count = usize::from(u16::from_le_bytes([status[14], status[15]]));
    let whole_bytes = STATUS_HEADER_BYTES + count * HANDLE_BYTES;
    if whole_bytes > PAGE_BYTES {
        pages.resize(whole_bytes.div_ceil(PAGE_BYTES), EMPTY);
        receive(&mut bytes(&mut pages)[..whole_bytes])?;
    }
    Ok(bytes(&mut pages)[STATUS_HEADER_BYTES..]
        .chunks_exact(HANDLE_BYTES)
        .take(count)
        .map(|handle| u16::from_le_bytes([handle[0], handle[1]]))
        .collect())
}

fn bytes(pages: &mut [Page]) -> &mut [u8] {
    // SAFETY: a page is its bytes and nothing else, and pages lie one behind the other.
    unsafe { slice::from_raw_parts_mut(pages.as_mut_ptr().cast(), mem::size_of_val(pages)) }
}

fn le_u32(data: &[u8]) -> u32 {
    le_u64(&data[..4]) as u32
}

fn le_u64(data: &[u8]) -> u64 {
    data.iter()
        .take(8)
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn identify(file: &File, what: u32, nsid: u32) -> io::Result<Page> {
    let mut page = EMPTY;
    let command = Command {
        opcode: IDENTIFY,
        nsid,
        cdw10: what,
        ..Command::default()
    };
    perform(file, NVME_IOCTL_ADMIN_CMD, command, &mut page.0)?;
    Ok(page)
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

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    #[test]
    fn a_command_carries_what_the_controller_takes_and_at_most_65536_blocks_where_it_counts_them() {
        let (mut controller, mut command_set) = (EMPTY.0, EMPTY.0);
        let unlimited = Limits::new(512, &controller, &command_set);
        assert_eq!(unlimited.transfer_bytes, 65_536 * 512);
        assert_eq!(unlimited.zeroes_bytes, 65_536 * 512);
        assert_eq!(unlimited.trim_bytes, u64::MAX);
        controller[77] = 5;
        command_set[1] = 7;
        command_set[4..8].copy_from_slice(&100u32.to_le_bytes());
        let limited = Limits::new(4096, &controller, &command_set);
        assert_eq!(limited.transfer_bytes, 128 * KIB);
        assert_eq!(limited.zeroes_bytes, 512 * KIB);
        assert_eq!(limited.trim_bytes, 400 * KIB);
    }

    #[test]
    fn a_limit_beyond_64_bits_is_none() {
        let mut controller = EMPTY.0;
        for power in [51, 52, 63, 64, 255] {
            controller[77] = power;
            let limits = Limits::new(512, &controller, &EMPTY.0);
            assert_eq!(limits.transfer_bytes, 65_536 * 512, "2^{power} pages");
        }
    }

    #[test]
    fn a_block_size_that_no_namespace_has_or_no_command_counts_is_refused() {
        assert_eq!(block_bytes(9), Some(512));
        assert_eq!(block_bytes(12), Some(4096));
        assert_eq!(block_bytes(31), Some(1 << 31));
        for lbads in [0, 1, 8, 32, 63, 64, 255] {
            assert_eq!(block_bytes(lbads), None, "2^{lbads} bytes");
        }
    }

    /// Lists the handles of a device that has `count`, of identifiers 7, 8, 9...
    fn listed(count: u16) -> Vec<u16> {
        let mut status = vec![0; STATUS_HEADER_BYTES];
        status[14..].copy_from_slice(&count.to_le_bytes());
        for id in 7..7 + count {
            status.extend(id.to_le_bytes());
            status.resize(status.len() + HANDLE_BYTES - 2, 0);
        }
        let receive = |data: &mut [u8]| {
            let given = status.len().min(data.len());
            data[..given].copy_from_slice(&status[..given]);
            Ok(())
        };
        handles(receive).unwrap()
    }

    #[test]
    fn every_placement_handle_is_listed_however_many_pages_they_take() {
        for count in [0, 8, 127, 128, 1000] {
            assert_eq!(listed(count), (7..7 + count).collect::<Vec<_>>());
        }
    }
}
