//! The trait of virtual things. A drive is a [`Device`]; so will be an array of drives, a cluster,
//! or a file system over a drive. The host is generic over it, so a call per I/O is direct.

pub mod params;
pub mod zones;

use workload::{Geometry, Request};

use crate::device::params::HostParams;
use crate::device::zones::{Refusal, ZoneAction, ZoneModel};

/// Something that a device reports in time order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When it reached the host.
    pub at_ns: u64,
    /// The tag given with the request or wake-up.
    pub tag: u32,
    /// What it is.
    pub kind: CompletionKind,
}

impl Completion {
    /// The time given to [`Device::wake`] has come.
    #[inline]
    pub(crate) fn woken(at_ns: u64, tag: u32) -> Self {
        let kind = CompletionKind::Wake;
        Self { at_ns, tag, kind }
    }
}

/// What a host promises a device, so that it can work out ahead what becomes of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promises {
    /// Every later request reaches the device no sooner than those before it.
    pub in_order: bool,
    /// Requests in flight at most, of a host that reacts to completions with requests alone and takes its processor's
    /// time for each. `None`: it may also ask for a wake-up then, or look at the device.
    pub in_flight_max: Option<u32>,
}

/// What a [`Completion`] reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// A request succeeded.
    Done,
    /// A request failed with this errno.
    Failed(i32),
    /// The time given to [`Device::wake`] has come.
    Wake,
}

/// Totals since the device was made. An interval is the difference of two of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Bytes that left the medium, cleaning included.
    pub media_read_bytes: u64,
    /// Bytes programmed, cleaning included.
    pub media_write_bytes: u64,
    /// Bytes erased; 0 for a medium that is written over.
    pub media_erase_bytes: u64,
    /// Reads of blocks that were never written, answered without touching the medium.
    pub unmapped_reads: u64,
    /// Energy, J.
    pub joules: f64,
    /// Time with the power capped because the device was hot, ns; `None`: no temperature is modelled.
    pub throttled_ns: Option<u64>,
    /// Its composite temperature now, degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Mean erase cycles so far, percent of the rated ones.
    pub wear_pct: Option<f64>,
    /// Every resource, always in the same order.
    pub resources: Vec<ResourceTime>,
    /// Time that I/O waited for a place in the device (a command slot or room in the write buffer), summed over I/Os,
    /// ns. They wait for whatever empties it.
    pub place_waited_ns: u64,
    /// Where I/O spent its time; empty for a device that does not report it.
    pub residence: Vec<Residence>,
    /// What each host, port or drive of a system had; empty for a device without such members.
    pub shares: Vec<Share>,
}

/// I/O of one member of a group of equals, totals since the device was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// What the member is: `host`, `port`, `drive`.
    pub group: &'static str,
    /// Which one, from 1.
    pub member: u32,
    /// I/O completed.
    pub n: u64,
    /// Their latencies added up, ns.
    pub total_ns: u64,
    /// Bytes that it wrote; this and the next are 0 where they are not told apart.
    pub host_write_bytes: u64,
    /// Programmed for it: its writes, and what cleaning moved of its data.
    pub media_write_bytes: u64,
}

/// Time that I/O spent in a part of a system, waiting and being served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residence {
    /// Name as shown to the user.
    pub name: &'static str,
    /// Summed over all I/O, ns since the device was made.
    pub total_ns: u64,
}

/// Busy time of a group of equal servers.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceTime {
    /// Name as shown to the user.
    pub resource: &'static str,
    /// Per server, ns since the device was made.
    pub busy_ns: Vec<u64>,
    /// Time that I/O waited for one of them, summed over the I/O, ns; background work that waits is not counted.
    pub waited_ns: u64,
}

/// A virtual storage device in its own virtual time, which goes on from job to job.
pub trait Device {
    /// Bytes that a job addresses: those of the simulated slice.
    fn capacity_bytes(&self) -> u64;
    /// Returns the logical block.
    fn block_bytes(&self) -> u32;
    /// Returns simulated over real capacity. Times that grow with capacity (fill, approach to steady state)
    /// are that much shorter than on the real device; rates and latencies are not scaled.
    fn scale(&self) -> f64;
    /// Returns the machine that issues the I/O.
    fn host(&self) -> &HostParams;
    /// Returns the virtual time reached.
    fn now_ns(&self) -> u64;
    /// Says that a request will come soon, so that its state can be fetched into the cache.
    fn prefetch(&self, _request: &Request) {}
    /// Says what the device may rely on until the next call.
    fn rely_on(&mut self, _promises: Promises) {}
    /// Hands a request over: it reaches the device at `at_ns`, not before the present.
    fn submit(&mut self, at_ns: u64, tag: u32, request: Request);
    /// The same from a thread of the load generator, for devices to which it matters where load comes from.
    #[inline]
    fn submit_from(&mut self, _thread: u32, at_ns: u64, tag: u32, request: Request) {
        self.submit(at_ns, tag, request);
    }
    /// Asks for a [`CompletionKind::Wake`] at `at_ns`, so that one queue orders everything.
    fn wake(&mut self, at_ns: u64, tag: u32);
    /// Runs until the next completion, or until `limit_ns` when there is none before it.
    fn advance(&mut self, limit_ns: u64) -> Option<Completion>;
    /// Returns whether anything is under way that will happen without a further request.
    fn is_busy(&self) -> bool;
    /// Its zones, where writes have to go to write pointers.
    fn zone_model(&self) -> Option<ZoneModel> {
        None
    }
    /// Returns where the next write of a zone must go; the end of a full one.
    fn write_pointer(&self, _zone: u32) -> Option<u64> {
        None
    }
    /// Returns the NVMe status with which a zone would refuse a request; `None` where it would not, or has none.
    fn zone_refusal(&self, _request: &Request) -> Option<Refusal> {
        None
    }
    /// Opens, closes or finishes a zone. Only what has to be written for it takes time.
    ///
    /// # Errors
    /// Why the zone refuses.
    fn manage_zone(&mut self, _zone: u32, _action: ZoneAction) -> Result<(), Refusal> {
        Ok(())
    }
    /// Returns whether it knows the energy of all that it consists of.
    fn knows_energy(&self) -> bool {
        true
    }
    /// Totals up to the present.
    fn account(&mut self, into: &mut Account);
}

/// Returns what regions of jobs are resolved on.
pub(crate) fn geometry_of<D: Device>(device: &D) -> Geometry {
    Geometry {
        capacity_bytes: device.capacity_bytes(),
        block_bytes: device.block_bytes(),
    }
}
