//! The binary files of `blktrace`, one per CPU, merged by time.

use std::collections::VecDeque;

use crate::{
    BlockRecord, Fault, Operation,
    names::Dictionary,
    pairing::{Asker, Event, Stage},
};

/// Linux gives out no more process ids (`PID_MAX_LIMIT`).
const MOST_PROCESSES: usize = 1 << 22;
/// -EAGAIN in 16 bits: the error of a request that found no room and may not wait.
const NO_ROOM: u16 = 11_u16.wrapping_neg();
const THREAD_NAME: u32 = 0;

/// One file's bytes that are not decoded yet, and its events.
#[derive(Clone, Debug, Default)]
struct Source {
    bytes: Vec<u8>,
    events: VecDeque<(Event, u32)>,
    ended: bool,
    /// A record without its mark has been noted; the next mark is looked for.
    lost: bool,
    records: u64,
}

/// The decoder of all files of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Blktrace {
    sources: Vec<Source>,
    /// Number of the name of each process, by its id.
    processes: std::collections::HashMap<u32, u32>,
    devices: std::collections::HashMap<u32, u32>,
}

impl Blktrace {
    pub(crate) fn new(sources: usize) -> Self {
        Self {
            sources: vec![Source::default(); sources],
            processes: std::collections::HashMap::new(),
            devices: std::collections::HashMap::new(),
        }
    }

    /// Returns the file whose bytes are needed next; `None`: all have ended.
    pub(crate) fn wants(&self) -> Option<usize> {
        let empty = |source: &Source| source.events.is_empty() && !source.ended;
        self.sources.iter().position(empty)
    }

    /// Takes bytes of a file; none: it has ended. Returns what was wrong, each with its record's number.
    pub(crate) fn feed(
        &mut self,
        source: usize,
        bytes: &[u8],
        names: &mut Dictionary,
    ) -> Vec<(u64, Fault)> {
        let mut own = std::mem::take(&mut self.sources[source]);
        own.bytes.extend_from_slice(bytes);
        own.ended |= bytes.is_empty();
        let mut faults = Vec::new();
        let mut at = 0;
        while let Some(taken) = self.take(&mut own, at, names, &mut faults) {
            at += taken;
        }
        own.bytes.drain(..at);
        if own.ended && !own.bytes.is_empty() {
            if !own.lost {
                faults.push((own.records + 1, Fault::Cut));
            }
            own.bytes.clear();
        }
        self.sources[source] = own;
        faults
    }

    /// Decodes the record at `at` and returns its length; `None`: there is no whole one.
    fn take(
        &mut self,
        own: &mut Source,
        at: usize,
        names: &mut Dictionary,
        faults: &mut Vec<(u64, Fault)>,
    ) -> Option<usize> {
        let bytes = own.bytes.get(at..)?;
        if own.lost {
            let next = memchr::memmem::find(bytes, &BlockRecord::MAGIC.to_le_bytes());
            own.lost = next.is_none();
            // The mark may begin in the last three bytes and go on in the next portion.
            let passed = next.unwrap_or(bytes.len().saturating_sub(3));
            return (passed > 0 || !own.lost).then_some(passed);
        }
        let header = bytes.first_chunk()?;
        let Some(record) = BlockRecord::read(header) else {
            own.records += 1;
            own.lost = true;
            faults.push((own.records, Fault::Mark));
            return Some(1);
        };
        let whole = BlockRecord::BYTES + usize::from(record.payload_bytes);
        let payload = bytes.get(BlockRecord::BYTES..whole)?;
        own.records += 1;
        match self.event(&record, payload, names) {
            Ok(Some(event)) => own.events.push_back((event, record.pid)),
            Ok(None) => {}
            Err(fault) => faults.push((own.records, fault)),
        }
        Some(whole)
    }

    fn event(
        &mut self,
        record: &BlockRecord,
        payload: &[u8],
        names: &mut Dictionary,
    ) -> Result<Option<Event>, Fault> {
        if record.is_note() {
            if record.what() == THREAD_NAME {
                let end = memchr::memchr(0, payload).unwrap_or(payload.len());
                let name = names.processes.number(&payload[..end])?;
                if self.processes.len() < MOST_PROCESSES {
                    self.processes.insert(record.pid, name);
                }
            }
            return Ok(None);
        }
        let stage = match record.what() {
            BlockRecord::QUEUED => Stage::Queue,
            BlockRecord::ISSUED => Stage::Issue,
            BlockRecord::REQUEUED => Stage::Requeue,
            BlockRecord::COMPLETED if record.error == NO_ROOM => Stage::Refused,
            BlockRecord::COMPLETED => Stage::Complete,
            _ => return Ok(None),
        };
        let Some((op, flags)) = record.operation() else {
            return Ok(None);
        };
        let offset_bytes = record.sector.checked_mul(512);
        let offset_bytes = offset_bytes
            .filter(|&offset| offset <= i64::MAX as u64)
            .ok_or(Fault::Range { field: "sector" });
        let (offset_bytes, size_bytes) = match op {
            Operation::Flush => (0, 0),
            _ => (offset_bytes?, u64::from(record.bytes)),
        };
        if record.time_ns > i64::MAX as u64 {
            return Err(Fault::Range { field: "time" });
        }
        Ok(Some(Event {
            stage,
            time_ns: record.time_ns,
            offset_bytes,
            size_bytes,
            op,
            flags,
            device: self.device(record.device, names)?,
            asker: Asker::default(),
            cpu: Some(record.cpu),
        }))
    }

    /// The kernel packs a device as 12 bits of major and 20 of minor.
    fn device(&mut self, device: u32, names: &mut Dictionary) -> Result<u32, Fault> {
        if let Some(&number) = self.devices.get(&device) {
            return Ok(number);
        }
        let name = format!("{}:{}", device >> 20, device & 0xf_ffff);
        let number = names.devices.number(name.as_bytes())?;
        self.devices.insert(device, number);
        Ok(number)
    }

    /// Returns the earliest event once every file has shown its next.
    pub(crate) fn pop(&mut self, names: &mut Dictionary) -> Option<Result<Event, Fault>> {
        if self.wants().is_some() {
            return None;
        }
        let fronts = self.sources.iter().enumerate();
        let times = fronts.filter_map(|(place, source)| {
            let (event, _) = source.events.front()?;
            Some((event.time_ns, place))
        });
        let (_, place) = times.min()?;
        let (mut event, pid) = self.sources[place].events.pop_front()?;
        if !matches!(event.stage, Stage::Complete | Stage::Refused) {
            match self.process(pid, names) {
                Ok(process) => {
                    event.asker = Asker {
                        process: Some(process),
                        pid: Some(pid),
                    }
                }
                Err(fault) => return Some(Err(fault)),
            }
        }
        Some(Ok(event))
    }

    /// Returns the number of a process's name; its id stands for one that is not known.
    fn process(&mut self, pid: u32, names: &mut Dictionary) -> Result<u32, Fault> {
        if let Some(&name) = self.processes.get(&pid) {
            return Ok(name);
        }
        let name = names.processes.number(pid.to_string().as_bytes())?;
        self.processes.insert(pid, name);
        Ok(name)
    }
}
