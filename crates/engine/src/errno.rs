//! Failures in words.

use crate::nvme::{NVME_STATUS, describe_status};

/// Returns a failure in words: an errno, 0 for a short I/O, from 0x10000 on a status of the NVMe device.
pub fn describe_errno(errno: i32) -> String {
    match errno {
        0 => "fewer bytes moved than asked".into(),
        NVME_STATUS.. => describe_status(errno - NVME_STATUS),
        libc::EILSEQ => "the data read are not those written (verify)".into(),
        errno => std::io::Error::from_raw_os_error(errno).to_string(),
    }
}
