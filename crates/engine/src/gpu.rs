//! The memory of a GPU as the place where reads end.
//!
//! The I/O buffers are registered with the GPU's driver, so that its copy engine reads them without a staging copy of
//! its own. Every program without GPUDirect Storage goes this way, and its cost is part of what is measured. A read's
//! latency ends when its data are in the GPU's memory. GPUDirect Storage itself needs a module of the kernel
//! (nvidia-fs) and its own library instead of io_uring, and is not used.

mod cuda;

use std::{fs, io, sync::OnceLock, time::Instant};

use self::cuda::{Context, Driver, Event, Memory, Registered, Stream};
use crate::{buffers::Buffers, copying_queue::Destination};

/// One copy of the link's measurement.
const PIECE_BYTES: usize = 32 << 20;
/// Copies of a round: 5 ms at 50 GB/s.
const PIECES: usize = 8;
/// Rounds; the fastest counts, since the first wakes a link that saves power.
const ROUNDS: usize = 4;

/// A GPU: the first of those that `CUDA_VISIBLE_DEVICES` shows.
pub(crate) struct Gpu {
    driver: Driver,
    context: Context,
    setup: recording::Gpu,
}

impl Gpu {
    /// Places in the GPU's memory for what `slots` I/O in flight read into `buffers`.
    ///
    /// # Errors
    /// Why there are none, for a reader.
    pub(crate) fn memory_for(
        buffers: &Buffers,
        slots: u32,
    ) -> Result<(recording::Gpu, GpuMemory), String> {
        let gpu = Self::get()?;
        let memory = GpuMemory::new(gpu, buffers, slots).map_err(describe)?;
        Ok((gpu.setup.clone(), memory))
    }

    /// Returns the process's GPU; its link is measured the first time, while the other load threads wait for it.
    fn get() -> Result<&'static Self, String> {
        static GPU: OnceLock<Result<Gpu, String>> = OnceLock::new();
        GPU.get_or_init(Self::find).as_ref().map_err(Clone::clone)
    }

    fn find() -> Result<Self, String> {
        let driver = Driver::load()?;
        let (context, name, bus) = driver.first_device().map_err(describe)?;
        let copy_bytes_per_s = measure_copies(&driver, &context).map_err(describe)?;
        let setup = recording::Gpu {
            name,
            link: link(&bus),
            copy_bytes_per_s,
        };
        Ok(Self {
            driver,
            context,
            setup,
        })
    }
}

fn describe(error: io::Error) -> String {
    format!("the GPU's driver says: {error}")
}

/// Returns what copies of host memory reach with nothing beside them, bytes per second.
fn measure_copies(driver: &Driver, context: &Context) -> io::Result<f64> {
    driver.enter(context)?;
    let (source, target) = (
        driver.host_memory(PIECE_BYTES)?,
        driver.memory(PIECE_BYTES)?,
    );
    let stream = driver.stream()?;
    let mut least_s = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..PIECES {
            // SAFETY: both are as long as a piece, and are freed after the stream has been waited for.
            unsafe { stream.copy(target.at(0), source.data(), PIECE_BYTES) }?;
        }
        stream.wait()?;
        least_s = least_s.min(begin.elapsed().as_secs_f64());
    }
    Ok((PIECES * PIECE_BYTES) as f64 / least_s)
}

/// Returns rate and width of the link of the device at an address of the PCI bus. Power saving slows an idle one; the
/// copies have just woken it.
fn link(bus: &str) -> Option<String> {
    let device = format!("/sys/bus/pci/devices/{}", bus.to_lowercase());
    let attribute = |name: &str| fs::read_to_string(format!("{device}/{name}")).ok();
    let (rate, width) = (
        attribute("current_link_speed")?,
        attribute("current_link_width")?,
    );
    let (rate, width) = (rate.trim().trim_end_matches(" PCIe"), width.trim());
    (width != "0").then(|| format!("{rate} x{width}"))
}

/// A place in the GPU's memory for every slot of one load thread.
pub(crate) struct GpuMemory {
    // What copies are about is let go of after the copies: fields are dropped in this order.
    stream: Stream<'static>,
    events: Box<[Event<'static>]>,
    memory: Memory<'static>,
    _registered: Registered<'static>,
    sources: Box<[*const u8]>,
    place_bytes: usize,
}

impl GpuMemory {
    /// Prepares for `slots` I/O in flight that are read into `buffers`, which must outlive it. Call it on the load
    /// thread.
    ///
    /// # Errors
    /// The driver refuses: no memory is left, most likely.
    pub(crate) fn new(gpu: &'static Gpu, buffers: &Buffers, slots: u32) -> io::Result<Self> {
        let driver = &gpu.driver;
        driver.enter(&gpu.context)?;
        let region = buffers.region();
        let slots = slots as usize;
        let place_bytes = buffers.read_bytes();
        let events = (0..slots).map(|_| driver.event());
        Ok(Self {
            stream: driver.stream()?,
            events: events.collect::<io::Result<_>>()?,
            memory: driver.memory(place_bytes * slots)?,
            // SAFETY: the region is mapped for as long as the buffers live.
            _registered: unsafe { driver.register(region.iov_base, region.iov_len) }?,
            sources: (0..slots)
                .map(|slot| buffers.read_at(slot).cast_const())
                .collect(),
            place_bytes,
        })
    }
}

impl Destination for GpuMemory {
    fn begin(&mut self, slot: u16, size_bytes: u32) -> io::Result<()> {
        let slot = usize::from(slot);
        let (place, source) = (self.memory.at(slot * self.place_bytes), self.sources[slot]);
        // SAFETY: a slot's read buffer and its place are as long as the largest read. The loop does not use the slot
        // again before the copy is complete.
        unsafe { self.stream.copy(place, source.cast(), size_bytes as usize) }?;
        self.events[slot].record(&self.stream)
    }

    fn is_complete(&self, slot: u16) -> io::Result<bool> {
        self.events[usize::from(slot)].has_happened()
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use workload::Job;

    use super::*;

    #[test]
    #[ignore = "needs a GPU: cargo test -p engine -- --ignored gpu"]
    fn what_a_read_brought_stands_in_the_gpus_memory_when_its_copy_is_complete() {
        let job = Job::from_toml(
            "mix = { read = 50, write = 50 }\nblock = \"64KiB\"\npattern = \"uniform\"\n\
             load = { iodepth = 4 }\nuntil = { count = 1 }\n",
            "job.toml",
        )
        .unwrap();
        let buffers = Buffers::new(&job, 4, 1, false, || false).unwrap();
        let gpu = Gpu::get().unwrap();
        let mut memory = GpuMemory::new(gpu, &buffers, 4).unwrap();
        for slot in 0..4u16 {
            // SAFETY: nothing else uses the buffers.
            unsafe {
                ptr::write_bytes(
                    buffers.read_at(usize::from(slot)),
                    17 + slot as u8,
                    64 << 10,
                )
            };
            memory.begin(slot, 64 << 10).unwrap();
        }
        for slot in 0..4u16 {
            while !memory.is_complete(slot).unwrap() {}
            let mut found = vec![0; 64 << 10];
            memory
                .memory
                .read(usize::from(slot) * (64 << 10), &mut found)
                .unwrap();
            assert!(found.iter().all(|&byte| byte == 17 + slot as u8));
        }
        assert!(gpu.setup.copy_bytes_per_s > 1e9, "{:?}", gpu.setup);
    }
}
