//! What the kernel gets at the start of a trace. Source: `struct blk_user_trace_setup` and the numbers in
//! include/uapi/linux/blktrace_api.h and include/uapi/linux/fs.h.

use rustix::ioctl::{NoArg, Opcode, Updater, opcode};

/// Bytes of a name.
const NAME_BYTES: usize = 32;
const GROUP: u8 = 0x12;
const SETUP: Opcode = opcode::read_write::<Setup>(GROUP, 115);
const START: Opcode = opcode::none(GROUP, 116);
const STOP: Opcode = opcode::none(GROUP, 117);
const TEARDOWN: Opcode = opcode::none(GROUP, 118);

/// Kinds of events: queued, given back, issued, completed, and names of processes.
const ACTIONS: u16 = 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 10;

/// The kernel's structure.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    name: [u8; NAME_BYTES],
    act_mask: u16,
    buf_size: u32,
    buf_nr: u32,
    start_lba: u64,
    end_lba: u64,
    pid: u32,
}

impl Setup {
    pub(crate) const fn new(buffer_bytes: u32, buffers: u32) -> Self {
        Self {
            name: [0; NAME_BYTES],
            act_mask: ACTIONS,
            buf_size: buffer_bytes,
            buf_nr: buffers,
            start_lba: 0,
            end_lba: 0,
            pid: 0,
        }
    }

    /// Returns the name of the trace's folder, which the kernel has filled in.
    pub(crate) fn name(&self) -> String {
        let end = self.name.iter().position(|&byte| byte == 0);
        String::from_utf8_lossy(&self.name[..end.unwrap_or(NAME_BYTES)]).into_owned()
    }

    /// Sets a trace up.
    pub(crate) fn set_up(&mut self, disk: &std::fs::File) -> rustix::io::Result<()> {
        // SAFETY: the number is that of BLKTRACESETUP, which reads and writes this structure and keeps no pointer.
        unsafe { rustix::ioctl::ioctl(disk, Updater::<SETUP, Self>::new(self)) }
    }
}

/// Starts a trace.
pub(crate) fn start(disk: &std::fs::File) -> rustix::io::Result<()> {
    // SAFETY: BLKTRACESTART takes no argument.
    unsafe { rustix::ioctl::ioctl(disk, NoArg::<START>::new()) }
}

/// Stops a trace: every buffer is finished.
pub(crate) fn stop(disk: &std::fs::File) -> rustix::io::Result<()> {
    // SAFETY: BLKTRACESTOP takes no argument.
    unsafe { rustix::ioctl::ioctl(disk, NoArg::<STOP>::new()) }
}

/// Takes a trace and its files away.
pub(crate) fn tear_down(disk: &std::fs::File) -> rustix::io::Result<()> {
    // SAFETY: BLKTRACETEARDOWN takes no argument.
    unsafe { rustix::ioctl::ioctl(disk, NoArg::<TEARDOWN>::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn the_structure_and_the_numbers_are_those_of_the_kernels_headers() {
        assert_eq!(size_of::<Setup>(), 72);
        let places = [
            offset_of!(Setup, act_mask),
            offset_of!(Setup, buf_size),
            offset_of!(Setup, buf_nr),
            offset_of!(Setup, start_lba),
            offset_of!(Setup, end_lba),
            offset_of!(Setup, pid),
        ];
        assert_eq!(places, [32, 36, 40, 48, 56, 64]);
        // _IOWR(0x12, 115, struct blk_user_trace_setup) and _IO(0x12, 116) to 118.
        assert_eq!(SETUP, 0xc048_1273);
        assert_eq!([START, STOP, TEARDOWN], [0x1274, 0x1275, 0x1276]);
    }

    #[test]
    fn the_name_ends_at_its_first_zero() {
        let mut setup = Setup::new(1, 1);
        setup.name[..8].copy_from_slice(b"nvme0n1\0");
        assert_eq!(setup.name(), "nvme0n1");
        setup.name = [b'x'; NAME_BYTES];
        assert_eq!(setup.name().len(), NAME_BYTES);
    }
}
