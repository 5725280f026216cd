//! A file that fails as it is told: one file on a FUSE file system that this process serves itself, by the
//! kernel's protocol (`linux/fuse.h`, version 7.31). The engine sees a real file of a real kernel; nothing of it
//! is replaced. Needs root, to mount.

use std::{
    ffi::CString,
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::{fd::AsRawFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use engine::TargetSpec;

use crate::support::*;

/// What becomes of a read or write.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    Good,
    Error(i32),
    /// So many bytes and no more.
    Short(u32),
    /// No answer, ever.
    Never,
}

/// A read or write as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    pub offset: u64,
    pub size: u32,
    /// Counted from 1.
    pub number: u32,
}

pub type Policy = fn(Arrived) -> Fate;

const LOOKUP: u32 = 1;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const WRITE: u32 = 16;
const INIT: u32 = 26;
const SILENT: [u32; 2] = [2, 42];
const DONE: [u32; 3] = [18, 20, 25];
const HEADER_BYTES: usize = 40;
const DIRECT_IO: u32 = 1;
const ROOT: u64 = 1;

pub struct Faulty {
    at: PathBuf,
    size_bytes: u64,
}

impl Faulty {
    pub fn new(size_bytes: u64, policy: Policy) -> Self {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("fathom-faulty-{}-{serial}", std::process::id());
        let at = std::env::temp_dir().join(name);
        std::fs::create_dir(&at).unwrap();
        let fuse = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        let connection = fuse.unwrap();
        let options = format!(
            "fd={},rootmode=40755,user_id=0,group_id=0",
            connection.as_raw_fd()
        );
        mount(&at, &options);
        std::thread::spawn(move || serve(&connection, size_bytes, policy));
        Self { at, size_bytes }
    }

    pub fn spec(&self) -> TargetSpec {
        file_spec(&self.at.join("file"), self.size_bytes)
    }

    /// Takes the device away: everything in flight and everything later fails with ENOTCONN.
    pub fn remove(&self) {
        self.unmount(libc::MNT_FORCE);
    }

    /// MNT_FORCE aborts the connection, even where the mount stays because the file is open.
    fn unmount(&self, flags: libc::c_int) {
        let at = CString::new(self.at.as_os_str().as_bytes()).unwrap();
        // SAFETY: a valid C string.
        unsafe { libc::umount2(at.as_ptr(), flags) };
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.remove();
        self.unmount(libc::MNT_DETACH);
        let _ = std::fs::remove_dir(&self.at);
    }
}

fn mount(at: &Path, options: &str) {
    let at = CString::new(at.as_os_str().as_bytes()).unwrap();
    let options = CString::new(options).unwrap();
    // SAFETY: all are valid C strings.
    let done = unsafe {
        libc::mount(
            c"fathom-faulty".as_ptr(),
            at.as_ptr(),
            c"fuse".as_ptr(),
            0,
            options.as_ptr().cast(),
        )
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

fn word(message: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(message[at..at + 4].try_into().unwrap())
}

fn long(message: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(message[at..at + 8].try_into().unwrap())
}

/// `struct fuse_attr` of the directory or the file.
fn attributes(node: u64, size_bytes: u64) -> Vec<u8> {
    let mode = if node == ROOT { 0o40755 } else { 0o100_644 };
    let longs = [node, size_bytes, size_bytes / 512, 0, 0, 0];
    let words = [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0u32];
    let longs = longs.iter().flat_map(|value| value.to_le_bytes());
    longs
        .chain(words.iter().flat_map(|value| value.to_le_bytes()))
        .collect()
}

fn serve(connection: &File, size_bytes: u64, policy: Policy) {
    let mut message = vec![0; 1 << 20];
    let mut count = 0;
    loop {
        let length = match (&*connection).read(&mut message) {
            Ok(length) => length,
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return,
            Err(_) => continue,
        };
        let (opcode, unique, node) = (word(&message, 4), long(&message, 8), long(&message, 16));
        let body = &message[HEADER_BYTES..length];
        let answer = match opcode {
            INIT => Ok(initialised()),
            LOOKUP => {
                let mut entry = vec![0; 40];
                entry[0] = 2;
                entry.extend(attributes(2, size_bytes));
                Ok(entry)
            }
            GETATTR => {
                let mut attr = vec![0; 16];
                attr.extend(attributes(node, size_bytes));
                Ok(attr)
            }
            OPEN => Ok([0, 0, 0, 0, 0, 0, 0, 0, DIRECT_IO as u8, 0, 0, 0, 0, 0, 0, 0].to_vec()),
            READ | WRITE => {
                count += 1;
                let (offset, size) = (long(body, 8), word(body, 16));
                let done = |size: u32| match opcode {
                    READ => vec![1; size as usize],
                    _ => [size.to_le_bytes(), [0; 4]].concat(),
                };
                let number = count;
                match policy(Arrived {
                    offset,
                    size,
                    number,
                }) {
                    Fate::Good => Ok(done(size)),
                    Fate::Short(size) => Ok(done(size)),
                    Fate::Error(errno) => Err(errno),
                    Fate::Never => continue,
                }
            }
            _ if SILENT.contains(&opcode) => continue,
            _ if DONE.contains(&opcode) => Ok(Vec::new()),
            _ => Err(libc::ENOSYS),
        };
        let (errno, body) = match answer {
            Ok(body) => (0, body),
            Err(errno) => (-errno, Vec::new()),
        };
        let mut reply = Vec::with_capacity(16 + body.len());
        reply.extend((16 + body.len() as u32).to_le_bytes());
        reply.extend(errno.to_le_bytes());
        reply.extend(unique.to_le_bytes());
        reply.extend(body);
        // A request that was interrupted meanwhile takes no answer.
        let _ = (&*connection).write(&reply);
    }
}

/// `struct fuse_init_out`: version 7.31, writes of up to 128 KiB.
fn initialised() -> Vec<u8> {
    let words = [7u32, 31, 0, 0, 0x0010_0010, 128 << 10, 1, 0];
    let mut reply: Vec<u8> = words.iter().flat_map(|value| value.to_le_bytes()).collect();
    reply.resize(64, 0);
    reply
}
