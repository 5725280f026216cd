//! The drives of a system: SSD twins whose times go on together, and where on them an I/O lies.
//!
//! Behind a controller a drive keeps the addresses that the hosts use. The servers of a cluster write to the end of a log
//! on each drive, as log-structured file systems do. A read finds its data anywhere.

use workload::{Op, Request};

use super::params::{STRIPE_BYTES, SystemParams};
use crate::device::params::ParamError;
use crate::device::{Account, Completion, Device, ResourceTime, Share};
use crate::sim::earliest::Earliest;
use crate::ssd::Ssd;
use crate::ssd::params::{SsdParams, UNIT_BYTES};

/// Drives, and which of them has something to do first.
#[derive(Clone)]
pub(super) struct Drives {
    drives: Vec<Ssd>,
    /// When something happens next in each.
    next: Earliest,
    /// One entry for each stripe of a round over all drives; a drive of twice the capacity has two.
    round: Vec<StripeOfRound>,
    /// The ends of the drives' logs, where the system writes in logs.
    logs: Vec<Log>,
    /// Bytes that reach drives per byte written.
    redundancy: f64,
}

/// A drive's stripe of a round.
#[derive(Clone, Copy)]
struct StripeOfRound {
    drive: u16,
    /// Which of the drive's own, and how many it has.
    number: u64,
    of: u64,
}

/// The end of a log that goes round its drive.
#[derive(Clone, Copy, Default)]
struct Log {
    end_bytes: u64,
    /// Parity that has yet to make up a page.
    owed_bytes: f64,
}

impl Drives {
    /// Returns the drives of a system. `seeds` gives each its own.
    ///
    /// # Errors
    /// A drive that cannot be simulated.
    pub(super) fn new(
        params: &SystemParams,
        redundancy: f64,
        mut seeds: impl FnMut() -> u64,
    ) -> Result<Self, ParamError> {
        let in_logs = params.between.writes_in_logs();
        let drives = params
            .drives
            .iter()
            .flat_map(|kind| (0..kind.count).map(move |_| &kind.ssd))
            .map(|ssd| begun(ssd, in_logs, seeds()))
            .collect::<Result<Vec<_>, _>>()?;
        let logs = match in_logs {
            true => vec![Log::default(); drives.len()],
            false => Vec::new(),
        };
        Ok(Self {
            next: Earliest::new(drives.iter().map(Ssd::next_ns)),
            round: round(&drives),
            drives,
            logs,
            redundancy,
        })
    }

    pub(super) fn count(&self) -> usize {
        self.drives.len()
    }

    /// Returns when something happens next in any; `NEVER` where nothing will.
    #[inline]
    pub(super) fn next_ns(&self) -> u64 {
        self.next.at_ns()
    }

    /// Lets happen what comes first, and returns the completion that it may be.
    #[inline]
    pub(super) fn advance(&mut self) -> Option<Completion> {
        let first = self.next.member();
        let drive = &mut self.drives[first];
        let completion = drive.advance(self.next.at_ns());
        self.next.set(first, drive.next_ns());
        completion
    }

    /// Returns the drive that an address lies on.
    pub(super) fn drive_of(&self, offset_bytes: u64) -> u16 {
        let stripe = offset_bytes / STRIPE_BYTES;
        self.round[(stripe % self.round.len() as u64) as usize].drive
    }

    /// Hands a drive its part of the system's request. `whole` says that all of the system's addresses are those of
    /// this one drive.
    pub(super) fn submit(
        &mut self,
        drive: u16,
        at_ns: u64,
        tag: u32,
        request: Request,
        whole: bool,
    ) {
        let index = usize::from(drive);
        let own = self.own(index, request, whole);
        self.drives[index].submit(at_ns, tag, own);
        self.next.set(index, self.drives[index].next_ns());
    }

    /// Returns what a drive is asked for.
    fn own(&mut self, drive: usize, request: Request, whole: bool) -> Request {
        let capacity_bytes = self.drives[drive].capacity_bytes();
        let writes = matches!(request.op, Op::Write | Op::WriteZeroes);
        if let Some(log) = self.logs.get_mut(drive).filter(|_| writes) {
            let (offset_bytes, size_bytes) = log.append(
                f64::from(request.size_bytes) * self.redundancy,
                capacity_bytes,
            );
            return Request {
                offset_bytes,
                size_bytes,
                ..request
            };
        }
        let offset_bytes = match whole {
            true => request.offset_bytes,
            false => {
                let (stripe, within) = (
                    request.offset_bytes / STRIPE_BYTES,
                    request.offset_bytes % STRIPE_BYTES,
                );
                let length = self.round.len() as u64;
                let part = self.round[(stripe % length) as usize];
                (stripe / length * part.of + part.number) * STRIPE_BYTES + within
            }
        };
        let last_bytes = capacity_bytes.saturating_sub(u64::from(request.size_bytes));
        Request {
            offset_bytes: (offset_bytes % capacity_bytes).min(last_bytes),
            ..request
        }
    }

    /// Adds what the drives report: bytes, resources by name, and each drive's bytes to its share.
    pub(super) fn account(&mut self, into: &mut Account, shares: &mut [Share]) {
        let mut own = Account::default();
        (
            into.media_read_bytes,
            into.media_write_bytes,
            into.media_erase_bytes,
        ) = (0, 0, 0);
        (into.unmapped_reads, into.place_waited_ns) = (0, 0);
        for (drive, share) in self.drives.iter_mut().zip(shares) {
            drive.account(&mut own);
            // Rows of programs are large beside what a drive of many gets in a short window. So pages count as soon as
            // they are in the buffer.
            let programmed_bytes =
                own.media_write_bytes + drive.buffered_pages() * u64::from(UNIT_BYTES);
            into.media_read_bytes += own.media_read_bytes;
            into.media_write_bytes += programmed_bytes;
            into.media_erase_bytes += own.media_erase_bytes;
            into.unmapped_reads += own.unmapped_reads;
            into.place_waited_ns += own.place_waited_ns;
            share.media_write_bytes = programmed_bytes;
            for found in &own.resources {
                let busy_ns = found.busy_ns.iter().sum::<u64>() / found.busy_ns.len().max(1) as u64;
                let resource = of_drives(found.resource);
                match into
                    .resources
                    .iter_mut()
                    .find(|one| one.resource == resource)
                {
                    Some(all) => {
                        all.busy_ns.push(busy_ns);
                        all.waited_ns += found.waited_ns;
                    }
                    None => into.resources.push(ResourceTime {
                        resource,
                        busy_ns: vec![busy_ns],
                        waited_ns: found.waited_ns,
                    }),
                }
            }
        }
    }
}

impl Log {
    /// Returns where the next bytes go, whole pages, and how many. A piece that does not fit before the drive's end
    /// begins the next round.
    fn append(&mut self, bytes: f64, capacity_bytes: u64) -> (u64, u32) {
        let unit = u64::from(UNIT_BYTES);
        let wanted = bytes + self.owed_bytes;
        let pages = (wanted / f64::from(UNIT_BYTES)) as u64;
        let size_bytes = (pages.max(1) * unit).min(capacity_bytes / unit * unit);
        self.owed_bytes = wanted - size_bytes as f64;
        if self.end_bytes + size_bytes > capacity_bytes {
            self.end_bytes = 0;
        }
        let offset_bytes = self.end_bytes;
        self.end_bytes += size_bytes;
        (offset_bytes, size_bytes as u32)
    }
}

/// Returns a drive in the state that long use has left: written in order for logs, else at random.
fn begun(params: &SsdParams, in_logs: bool, seed: u64) -> Result<Ssd, ParamError> {
    let settled_share = if in_logs { 0.0 } else { 1.0 };
    let mut drive = Ssd::new(
        &SsdParams {
            settled_share,
            ..params.clone()
        },
        seed,
    )?;
    if in_logs {
        drive.fill_in_order();
    }
    Ok(drive)
}

/// Returns the stripes of a round: as many for each drive as the smallest fits into it.
fn round(drives: &[Ssd]) -> Vec<StripeOfRound> {
    let least_bytes = drives.iter().map(Device::capacity_bytes).min().unwrap_or(1);
    let stripes = |drive: &Ssd| (drive.capacity_bytes() as f64 / least_bytes as f64).round() as u64;
    let most = drives.iter().map(stripes).max().unwrap_or(0);
    let of_round = |number| {
        let with_room = drives.iter().enumerate();
        with_room.filter_map(move |(drive, ssd)| {
            let of = stripes(ssd);
            (number < of).then_some(StripeOfRound {
                drive: drive as u16,
                number,
                of,
            })
        })
    };
    (0..most).flat_map(of_round).collect()
}

/// Returns the name that a drive's resource has in a system.
fn of_drives(resource: &'static str) -> &'static str {
    match resource {
        "PCIe link (read)" => "drive links (read)",
        "PCIe link (write)" => "drive links (write)",
        "SATA link" => "drive links",
        "controller" => "drive controllers",
        "flash channels" => "drive channels",
        "flash dies" => "drive dies",
        "power cap" => "drive power caps",
        "cleaning" => "drive cleaning",
        "program power budget" => "drive program budgets",
        other => other,
    }
}
