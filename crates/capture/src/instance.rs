//! A trace of a disk by tracepoints: an instance of the kernel's tracing with buffers of its own, in tracefs.
//! Source: Documentation/trace/ftrace.rst and events.rst of Linux.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{OFlags, major, minor},
    io::Errno,
};

use crate::{
    CaptureError, Step,
    events::{Layout, TRACEPOINTS, Translator},
    page::{MOST_BYTES, Page},
    source::{Source, by_cpu},
};

const BLOCKS: &str = "/sys/class/block";
/// A link to each block device, by its numbers.
const NUMBERS: &str = "/sys/dev/block";
const LEAST_KIB: u32 = 64;
/// Where a look ends though there are more pages: a CPU may fill them as fast as they are taken. It would keep the thread
/// from the other CPUs, and from the end. Between two looks no CPU fills as much.
const MOST_LOOK_BYTES: u64 = 32 << 20;
/// Lines of a CPU's statistics that count events without room.
const LOST: [&str; 3] = ["overrun: ", "commit overrun: ", "dropped events: "];

/// The disk's instance. It ends with it.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    folder: PathBuf,
    /// The number of the disk, as the kernel has it: 12 bits of major and 20 of minor.
    device: u32,
    layouts: Vec<Layout>,
}

impl Instance {
    /// Makes an instance with a buffer for each CPU, which only sees the disk and its partitions.
    pub(crate) fn set_up(
        path: &Path,
        tracefs: &Path,
        buffer_bytes: u32,
    ) -> Result<Self, CaptureError> {
        let name = name_of(path).map_err(CaptureError::of(Step::Open, path))?;
        let devices = devices_of(&name).map_err(CaptureError::of(Step::Open, path))?;
        let folder = folder_of(tracefs, &name);
        fs::create_dir(&folder).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => CaptureError::of(Step::Setup, path)(Errno::BUSY.into()),
            _ => CaptureError::of(Step::Setup, &folder)(error),
        })?;
        let mut instance = Self {
            path: path.into(),
            name,
            folder,
            device: devices[0],
            layouts: Vec::new(),
        };
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        instance.set("options/overwrite", "0")?;
        let kib = (buffer_bytes >> 10).max(LEAST_KIB);
        instance.set("buffer_size_kb", &kib.to_string())?;
        let ours: Vec<String> = devices
            .iter()
            .map(|device| format!("dev == {device}"))
            .collect();
        for (event, act) in TRACEPOINTS {
            let of_event = format!("events/block/{event}");
            let format = instance.folder.join(&of_event).join("format");
            let failed = || CaptureError::of(Step::Setup, &format);
            let text = fs::read_to_string(&format).map_err(failed())?;
            let layout = Layout::parse(&text, act);
            let layout = layout.ok_or_else(|| failed()(io::ErrorKind::InvalidData.into()))?;
            instance.layouts.push(layout);
            instance.set(&format!("{of_event}/filter"), &ours.join(" || "))?;
            instance.set(&format!("{of_event}/enable"), "1")?;
        }
        Ok(instance)
    }

    /// Opens the buffer of each CPU, with the CPU's number.
    pub(crate) fn files(&self) -> Result<Vec<(u32, File)>, CaptureError> {
        let opened = self.cpus()?.into_iter().map(|(cpu, buffers)| {
            let raw = buffers.join("trace_pipe_raw");
            let mut options = OpenOptions::new();
            options
                .read(true)
                .custom_flags(OFlags::NONBLOCK.bits() as i32);
            let file = options
                .open(&raw)
                .map_err(CaptureError::of(Step::Files, &raw))?;
            Ok((cpu, file))
        });
        opened.collect()
    }

    /// Returns what makes records of a CPU's buffer and writes them.
    pub(crate) fn pipe(&self, cpu: u32, from: File, to: BufWriter<File>) -> Pipe {
        Pipe {
            from,
            to,
            translator: Translator::new(self.layouts.clone(), self.device, cpu),
            records: Vec::new(),
        }
    }

    pub(crate) fn start(&self) -> Result<(), CaptureError> {
        self.set("tracing_on", "1")
    }

    pub(crate) fn stop(&self) -> Result<(), CaptureError> {
        self.set("tracing_on", "0")
    }

    /// Returns how many events found no room in the buffers.
    pub(crate) fn dropped(&self) -> Result<u64, CaptureError> {
        let mut lost = 0;
        for (_, buffers) in self.cpus()? {
            let path = buffers.join("stats");
            let text = fs::read_to_string(&path).map_err(CaptureError::of(Step::Copy, &path))?;
            let counts = text.lines().filter_map(|line| {
                let count = LOST.iter().find_map(|&name| line.strip_prefix(name))?;
                count.trim().parse::<u64>().ok()
            });
            lost += counts.sum::<u64>();
        }
        Ok(lost)
    }

    fn cpus(&self) -> Result<Vec<(u32, PathBuf)>, CaptureError> {
        let folder = self.folder.join("per_cpu");
        by_cpu(&folder, "cpu").map_err(CaptureError::of(Step::Files, &folder))
    }

    fn set(&self, file: &str, value: &str) -> Result<(), CaptureError> {
        set(&self.folder.join(file), value)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Nobody is left to hear of a refusal.
        let _ = self.stop();
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Ends a disk's instance that another process has left behind. Returns whether there was one.
pub(crate) fn end(path: &Path, tracefs: &Path) -> Result<bool, CaptureError> {
    let name = name_of(path).map_err(CaptureError::of(Step::Open, path))?;
    let folder = folder_of(tracefs, &name);
    if !folder.exists() {
        return Ok(false);
    }
    set(&folder.join("tracing_on"), "0")?;
    fs::remove_dir(&folder).map_err(CaptureError::of(Step::Stop, &folder))?;
    Ok(true)
}

fn folder_of(tracefs: &Path, name: &str) -> PathBuf {
    tracefs.join("instances").join(format!("fathom-{name}"))
}

fn set(file: &Path, value: &str) -> Result<(), CaptureError> {
    let done = OpenOptions::new().write(true).open(file);
    let done = done.and_then(|mut file| file.write_all(value.as_bytes()));
    done.map_err(CaptureError::of(Step::Setup, file))
}

/// Returns the kernel's name of a disk. The path may have another: `/dev/cciss/c0d0` is `cciss!c0d0`.
fn name_of(path: &Path) -> io::Result<String> {
    name_in(Path::new(NUMBERS), fs::metadata(path)?.rdev())
}

/// Returns the name of the block device with that number, from a folder like `/sys/dev/block`.
fn name_in(numbers: &Path, device: u64) -> io::Result<String> {
    let number = format!("{}:{}", major(device), minor(device));
    let folder = fs::canonicalize(numbers.join(number))?;
    let name = folder.file_name().and_then(|name| name.to_str());
    name.map(Into::into)
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Returns the numbers of a disk and its partitions, the disk's first.
fn devices_of(name: &str) -> io::Result<Vec<u32>> {
    let folder = Path::new(BLOCKS).join(name);
    let mut found = vec![device_of(&folder)?];
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        if entry.path().join("partition").exists() {
            found.push(device_of(&entry.path())?);
        }
    }
    Ok(found)
}

fn device_of(folder: &Path) -> io::Result<u32> {
    let text = fs::read_to_string(folder.join("dev"))?;
    let numbers = text.trim().split_once(':');
    let number = numbers.and_then(|(major, minor)| {
        Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
    });
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// One CPU's buffer, and the file of its records.
#[derive(Debug)]
pub(crate) struct Pipe {
    from: File,
    to: BufWriter<File>,
    translator: Translator,
    records: Vec<u8>,
}

impl Pipe {
    /// Takes the pages that are there, and ends behind the one that makes them `most_bytes`.
    fn take(&mut self, buffer: &mut [u8], most_bytes: u64) -> io::Result<u64> {
        let room = buffer.len().min(MOST_BYTES);
        let page = &mut buffer[..room];
        let (mut taken, mut written) = (0, 0);
        while taken < most_bytes {
            let found = match self.from.read(page) {
                Ok(0) => return Ok(written),
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            taken += found as u64;
            self.records.clear();
            for (time_ns, event) in Page::new(&page[..found]).into_iter().flatten() {
                self.translator.append(time_ns, event, &mut self.records);
            }
            self.to.write_all(&self.records)?;
            written += self.records.len() as u64;
        }
        Ok(written)
    }
}

impl Source for Pipe {
    fn look(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        self.take(buffer, MOST_LOOK_BYTES)
    }

    fn rest(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        self.take(buffer, u64::MAX)?;
        self.to.flush()?;
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::makedev;

    use super::*;

    #[test]
    fn a_disk_in_a_folder_of_dev_has_the_name_that_the_kernel_gives_it() {
        let folder = std::env::temp_dir().join(format!("fathom-names-{}", std::process::id()));
        fs::create_dir_all(folder.join("cciss!c0d0")).expect("a folder");
        std::os::unix::fs::symlink("cciss!c0d0", folder.join("104:16")).expect("a link");
        let name = name_in(&folder, makedev(104, 16));
        let missing = name_in(&folder, makedev(104, 17));
        fs::remove_dir_all(&folder).expect("no folder");
        assert_eq!(name.expect("a name"), "cciss!c0d0");
        assert!(missing.is_err());
    }

    #[test]
    fn a_look_ends_though_a_cpu_fills_pages_as_fast_as_they_are_taken() {
        let mut pipe = Pipe {
            from: File::open("/dev/zero").expect("pages without an end"),
            to: BufWriter::new(File::create("/dev/null").expect("a file")),
            translator: Translator::new(Vec::new(), 0, 0),
            records: Vec::new(),
        };
        assert_eq!(pipe.look(&mut [0; MOST_BYTES]).expect("a look"), 0);
    }
}
