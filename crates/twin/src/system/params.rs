//! Parameters of systems: a shelf of drives behind a fabric controller, a scale-out cluster. They are plain values with
//! units in their names. The TOML file of a catalogue system says where each value comes from; this file says what each
//! does.

use serde::Deserialize;

use crate::device::params::{HostParams, ParamError, fail};
use crate::ssd::params::SsdParams;

/// Addresses change drives at this distance, so that random I/O meets all of them.
pub(super) const STRIPE_BYTES: u64 = 1 << 20;

/// Most machines and drives of a kind: their numbers are 16 bits.
const MOST_MACHINES: u64 = u16::MAX as u64;

/// Drives of one kind in a system.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveParams {
    /// How many.
    pub count: u32,
    /// Each of them. Its bench sets the packets of its link alone.
    pub ssd: SsdParams,
}

/// A shelf of drives behind a controller that speaks NVMe over a fabric, and the hosts that load it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FabricParams {
    /// Hosts, each with one NIC.
    pub hosts: u32,
    /// Rate of a host's NIC, Gbit/s.
    pub host_nic_gbps: f64,
    /// Ports of the controller.
    pub ports: u32,
    /// Rate of a port, Gbit/s.
    pub port_gbps: f64,
    /// Share of a port's or NIC's bits that are data at full load.
    pub network_efficiency: f64,
    /// Host to controller, one way: cable, switch, adapters.
    pub network_us: f64,
    /// Command pipelines of the controller.
    pub pipelines: u32,
    /// Time a pipeline is taken by a command.
    pub command_ns: f64,
    /// What the controller adds to a read beside waiting for a pipeline and the link.
    pub read_pass_us: f64,
    /// The same for a write.
    pub write_pass_us: f64,
    /// Data rate of the link between controller and drives, each way, after packets and protocol,
    /// 10^6 B/s.
    pub link_mbps: f64,
}

/// Servers that spread a file system over their drives, and the clients that mount it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterParams {
    /// Servers.
    pub servers: u32,
    /// Cores of a server that the file system has.
    pub server_cores: u32,
    /// CPU time of the file system per read, on each server that holds a part of it.
    pub read_cpu_us: f64,
    /// The same per KiB read.
    pub read_cpu_us_per_kib: f64,
    /// CPU time of the file system per write, parity and placement included.
    pub write_cpu_us: f64,
    /// The same per KiB written.
    pub write_cpu_us_per_kib: f64,
    /// NICs of a server.
    pub server_nics: u32,
    /// Clients, each with one NIC.
    pub clients: u32,
    /// Rate of a NIC, Gbit/s.
    pub nic_gbps: f64,
    /// Share of a NIC's bits that are data at full load.
    pub network_efficiency: f64,
    /// One way between machines.
    pub network_us: f64,
    /// Time that a client's mount is taken by an I/O.
    pub mount_us: f64,
    /// Data blocks of a stripe.
    pub stripe_data: u32,
    /// Parity blocks of a stripe.
    pub stripe_parity: u32,
}

/// What stands between the hosts and the drives.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// A fabric and a controller.
    Fabric(FabricParams),
    /// A network and servers.
    Cluster(ClusterParams),
}

/// What a value is, and its most.
enum Kind {
    /// Above 0: a rate or a share that divides.
    Rate(f64),
    /// At least 0.
    Time(f64),
}

impl Kind {
    fn check(&self, name: &'static str, value: f64) -> Result<(), ParamError> {
        match *self {
            Self::Rate(most) if !(value > 0.0 && value <= most) => {
                fail(name, format!("{value} is not above 0 and at most {most}"))
            }
            Self::Time(most) if !(0.0..=most).contains(&value) => {
                fail(name, format!("{value} is not within 0 to {most}"))
            }
            _ => Ok(()),
        }
    }
}

/// Names and counts, each with its least.
type Counts = Vec<(&'static str, u32, u64)>;
/// Names and values.
type Values = Vec<(&'static str, f64, Kind)>;

impl FabricParams {
    fn counts(&self) -> Counts {
        vec![
            ("hosts", self.hosts, 1),
            ("ports", self.ports, 1),
            ("pipelines", self.pipelines, 1),
        ]
    }

    fn values(&self) -> Values {
        vec![
            ("host_nic_gbps", self.host_nic_gbps, Kind::Rate(1e6)),
            ("port_gbps", self.port_gbps, Kind::Rate(1e6)),
            (
                "network_efficiency",
                self.network_efficiency,
                Kind::Rate(1.0),
            ),
            ("network_us", self.network_us, Kind::Time(1e6)),
            ("command_ns", self.command_ns, Kind::Time(1e6)),
            ("read_pass_us", self.read_pass_us, Kind::Time(1e6)),
            ("write_pass_us", self.write_pass_us, Kind::Time(1e6)),
            ("link_mbps", self.link_mbps, Kind::Rate(1e9)),
        ]
    }
}

impl ClusterParams {
    fn counts(&self) -> Counts {
        vec![
            ("servers", self.servers, 1),
            ("server_cores", self.server_cores, 1),
            ("server_nics", self.server_nics, 1),
            ("clients", self.clients, 1),
            ("stripe_data", self.stripe_data, 1),
            ("stripe_parity", self.stripe_parity, 0),
        ]
    }

    fn values(&self) -> Values {
        vec![
            ("read_cpu_us", self.read_cpu_us, Kind::Time(1e6)),
            (
                "read_cpu_us_per_kib",
                self.read_cpu_us_per_kib,
                Kind::Time(1e6),
            ),
            ("write_cpu_us", self.write_cpu_us, Kind::Time(1e6)),
            (
                "write_cpu_us_per_kib",
                self.write_cpu_us_per_kib,
                Kind::Time(1e6),
            ),
            ("nic_gbps", self.nic_gbps, Kind::Rate(1e6)),
            (
                "network_efficiency",
                self.network_efficiency,
                Kind::Rate(1.0),
            ),
            ("network_us", self.network_us, Kind::Time(1e6)),
            ("mount_us", self.mount_us, Kind::Time(1e6)),
        ]
    }
}

impl Between {
    /// Returns whether the drives are written as logs: by the servers' file system.
    pub(super) const fn writes_in_logs(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }
}

/// A system to simulate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemParams {
    /// Bytes that jobs address in the whole system; the simulated slice has the share of them that its drives have.
    pub capacity_bytes: u64,
    /// Logical block.
    pub block_bytes: u32,
    /// The drives, kind by kind.
    pub drives: Vec<DriveParams>,
    /// Hosts to drives.
    pub between: Between,
    /// Where the load comes from: all hosts together.
    pub host: HostParams,
}

impl SystemParams {
    /// Reads the parameters from JSON.
    ///
    /// # Errors
    /// A key that is missing or a value that makes no sense.
    pub fn from_json(text: &str) -> Result<Self, ParamError> {
        let params: Self = serde_json::from_str(text).map_err(|error| ParamError {
            name: "system",
            message: error.to_string(),
        })?;
        params.check()?;
        Ok(params)
    }

    /// Checks what the types cannot; [`from_json`](Self::from_json) has done so.
    ///
    /// # Errors
    /// A value that makes no sense.
    pub fn check(&self) -> Result<(), ParamError> {
        let drives: u64 = self.drives.iter().map(|kind| u64::from(kind.count)).sum();
        if drives == 0 {
            return fail("drives", "there is none, expected at least one");
        }
        if drives > MOST_MACHINES {
            return fail("drives", "there are more than 65535");
        }
        let slices = |kind: &DriveParams| kind.ssd.slice_denominator;
        if self.drives.iter().any(|kind| slices(kind) != self.slices()) {
            return fail("slice_denominator", "expected the same of every drive");
        }
        if self.drives.iter().any(|kind| kind.ssd.zone_bytes > 0) {
            return fail("zone_bytes", "drives of a system have no zones");
        }
        let (counts, values) = match &self.between {
            Between::Fabric(fabric) => (fabric.counts(), fabric.values()),
            Between::Cluster(cluster) => (cluster.counts(), cluster.values()),
        };
        for (name, count, least) in counts {
            if !(least..=MOST_MACHINES).contains(&u64::from(count)) {
                return fail(
                    name,
                    format!("{count} is not within {least} to {MOST_MACHINES}"),
                );
            }
        }
        let host = &self.host;
        let host_values = [
            ("cores", f64::from(host.cores), Kind::Rate(4096.0)),
            ("submit_us", host.submit_us, Kind::Time(1e5)),
            ("complete_us", host.complete_us, Kind::Time(1e5)),
            ("wake_us", host.wake_us, Kind::Time(1e5)),
        ];
        for (name, value, kind) in values.into_iter().chain(host_values) {
            kind.check(name, value)?;
        }
        Ok(())
    }

    fn slices(&self) -> u32 {
        self.drives
            .first()
            .map_or(1, |kind| kind.ssd.slice_denominator)
    }

    /// Returns the bytes that jobs address in the simulated slice.
    pub(super) fn slice_bytes(&self) -> u64 {
        self.capacity_bytes / u64::from(self.slices()) / STRIPE_BYTES * STRIPE_BYTES
    }
}
