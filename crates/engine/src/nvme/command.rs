//! A passthrough command as the kernel takes it, and the status that a device answers with.

/// Errno values above this are an NVMe status: status code type in bits 8 to 10, status code below.
pub(crate) const NVME_STATUS: i32 = 0x1_0000;
/// The kernel passes phase-less status with retry bits above; these are type and code.
pub(super) const STATUS_MASK: i32 = 0x7ff;

/// `struct nvme_passthru_cmd`, and but for its last field `struct nvme_uring_cmd`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Command {
    pub(super) opcode: u8,
    pub(super) flags: u8,
    pub(super) reserved: u16,
    pub(super) nsid: u32,
    pub(super) cdw2: u32,
    pub(super) cdw3: u32,
    pub(super) metadata: u64,
    pub(super) addr: u64,
    pub(super) metadata_len: u32,
    pub(super) data_len: u32,
    pub(super) cdw10: u32,
    pub(super) cdw11: u32,
    pub(super) cdw12: u32,
    pub(super) cdw13: u32,
    pub(super) cdw14: u32,
    pub(super) cdw15: u32,
    pub(super) timeout_ms: u32,
    pub(super) result: u32,
}

const COMMAND_BYTES: usize = size_of::<Command>();
const _: () = assert!(COMMAND_BYTES == 72);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_shown_by_type_code_and_name() {
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
