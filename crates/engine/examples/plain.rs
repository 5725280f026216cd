//! The yardstick: the plainest 4 KiB random-read loop that io_uring allows. Registered file and
//! buffer, whole batches, no statistics, no clock but one look per thousand batches. What the
//! engine costs beyond this is the price of its records. Prints one JSON line like `drive`.
//!
//! usage: plain (file|device|nop) PATH SIZE_BYTES IODEPTH TIME_S

use std::{
    error::Error,
    fs::OpenOptions,
    mem,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    time::{Duration, Instant},
};

use io_uring::{IoUring, opcode, squeue::Entry, types::Fixed};

const BLOCK_BYTES: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, path, size, iodepth, time_s] = &arguments[..] else {
        return Err("usage: plain (file|device|nop) PATH SIZE_BYTES IODEPTH TIME_S".into());
    };
    let (blocks, iodepth) = (
        size.parse::<u64>()? / BLOCK_BYTES as u64,
        iodepth.parse::<usize>()?,
    );
    let time = Duration::from_secs_f64(time_s.parse()?);
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_no_sqarray()
        .build(iodepth.next_power_of_two() as u32)?;
    let mut memory = vec![0u8; (iodepth + 1) * BLOCK_BYTES];
    let base = page_aligned(&mut memory);
    let file = (kind != "nop").then(|| {
        let direct = if kind == "device" { libc::O_DIRECT } else { 0 };
        OpenOptions::new()
            .read(true)
            .custom_flags(direct | libc::O_NOATIME)
            .open(path)
    });
    let file = file.transpose()?;
    if let Some(file) = &file {
        ring.submitter().register_files(&[file.as_raw_fd()])?;
        let region = libc::iovec {
            iov_base: base.cast(),
            iov_len: iodepth * BLOCK_BYTES,
        };
        // SAFETY: `memory` lives until the ring is gone.
        unsafe { ring.submitter().register_buffers(&[region])? };
    }
    let (before, start) = (cpu_us(), Instant::now());
    let done = read_until(
        &mut ring,
        base,
        file.is_some(),
        blocks,
        iodepth,
        start + time,
    )?;
    let (after, n) = (cpu_us(), done as f64);
    println!(
        "{{\"iops\": {:.1}, \"user_us\": {:.5}, \"sys_us\": {:.5}}}",
        n / start.elapsed().as_secs_f64(),
        (after.0 - before.0) / n,
        (after.1 - before.1) / n,
    );
    Ok(())
}

fn read_until(
    ring: &mut IoUring,
    base: *mut u8,
    reads: bool,
    blocks: u64,
    iodepth: usize,
    end: Instant,
) -> Result<u64, Box<dyn Error>> {
    let batch = iodepth.min(32);
    let (mut submitter, mut submissions, mut completions) = ring.split();
    submitter.register_ring_fd()?;
    let (mut random, mut done, mut rounds) = (1u64, 0, 0u32);
    let mut free: Vec<usize> = (0..iodepth).collect();
    loop {
        while let Some(slot) = free.pop() {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let block = (u128::from(random) * u128::from(blocks)) >> 64;
            let entry: Entry = if reads {
                let data = base.wrapping_add(slot * BLOCK_BYTES);
                opcode::ReadFixed::new(Fixed(0), data, BLOCK_BYTES as u32, 0)
                    .offset(block as u64 * BLOCK_BYTES as u64)
                    .build()
            } else {
                opcode::Nop::new().build()
            };
            // SAFETY: the slot's memory is not in use and outlives the ring.
            unsafe { submissions.push(&entry.user_data(slot as u64))? };
        }
        submissions.sync();
        submitter.submit_and_wait(batch)?;
        submissions.sync();
        completions.sync();
        for completion in &mut completions {
            if reads && completion.result() != BLOCK_BYTES as i32 {
                return Err(format!("read returned {}", completion.result()).into());
            }
            free.push(completion.user_data() as usize);
            done += 1;
        }
        rounds = rounds.wrapping_add(1);
        if rounds % 1024 == 0 && Instant::now() >= end {
            return Ok(done);
        }
    }
}

/// The first page boundary in `memory`, which holds one page more than is used.
fn page_aligned(memory: &mut [u8]) -> *mut u8 {
    let slack = memory.as_ptr().align_offset(BLOCK_BYTES);
    memory[slack..].as_mut_ptr()
}

/// User and system time of the process, us.
fn cpu_us() -> (f64, f64) {
    // SAFETY: a zeroed rusage is a valid value for the call to fill.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let us = |t: libc::timeval| t.tv_sec as f64 * 1e6 + t.tv_usec as f64;
    (us(usage.ru_utime), us(usage.ru_stime))
}
