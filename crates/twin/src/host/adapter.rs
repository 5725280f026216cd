//! The host bus adapter between the load generator and a device: one server each way. Data passes it in the order in
//! which it comes. It adds no latency of its own.

use recording::Utilisation;
use workload::Op;

use crate::device::params::HostParams;
use crate::host::meter::group;
use crate::sim::server::{Fifo, Waits};

/// Both directions of an adapter.
pub struct Adapter {
    to_host: Fifo,
    to_device: Fifo,
    ps_per_byte: f64,
    waits: [Waits; 2],
    read_ns: [(u64, u64); 2],
    read_at_ns: u64,
}

impl Adapter {
    /// Returns the host's adapter, idle; `None` where it has no limit.
    pub fn new(host: &HostParams, now_ns: u64) -> Option<Self> {
        (host.adapter_mbps > 0.0).then(|| Self {
            to_host: Fifo::new(1),
            to_device: Fifo::new(1),
            // 1 MB/s is 10^6 bytes in 10^12 ps.
            ps_per_byte: 1e6 / host.adapter_mbps,
            waits: Default::default(),
            read_ns: Default::default(),
            read_at_ns: now_ns,
        })
    }

    /// Returns when the data of a request that sets out now has crossed; `None` when it has none this way.
    pub fn cross_ns(
        &mut self,
        now_ns: u64,
        direction: Direction,
        op: Op,
        bytes: u32,
    ) -> Option<u64> {
        let [to_host_waits, to_device_waits] = &mut self.waits;
        let (link, waits) = match (direction, op) {
            (Direction::ToHost, Op::Read) => (&mut self.to_host, to_host_waits),
            (Direction::ToDevice, Op::Write | Op::Append) => (&mut self.to_device, to_device_waits),
            _ => return None,
        };
        let service_ps = (f64::from(bytes) * self.ps_per_byte).round() as u64;
        Some(link.finish_after_ns(now_ns, service_ps, Waits::WHOLE, waits))
    }

    /// Returns how busy both ways were since the last call, and how many I/O waited for each.
    pub fn utilisation(&mut self, now_ns: u64) -> [Utilisation; 2] {
        let length_ns = (now_ns - self.read_at_ns).max(1) as f64;
        self.read_at_ns = now_ns;
        let mut of = |direction: usize, resource, link: &Fifo| {
            let busy_ns: u64 = link.busy_ns(now_ns).sum();
            let waited_ns = self.waits[direction].total_ns(now_ns);
            let (busy_before_ns, waited_before_ns) = self.read_ns[direction];
            self.read_ns[direction] = (busy_ns, waited_ns);
            let share = (busy_ns - busy_before_ns) as f64 / length_ns;
            let waiting = (waited_ns - waited_before_ns) as f64 / length_ns;
            group(resource, vec![share], waiting)
        };
        [
            of(0, "host adapter (read)", &self.to_host),
            of(1, "host adapter (write)", &self.to_device),
        ]
    }
}

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Read data.
    ToHost,
    /// Written data.
    ToDevice,
}
