//! Parameters of systems: a shelf of drives behind a fabric controller, a scale-out cluster. They are plain values with
//! units in their names. The TOML file of a catalogue system says where each value comes from; this file says what each
//! does.

use serde::Deserialize;

use crate::device::params::{HostParams, ParamError};
use crate::ssd::params::SsdParams;

/// Addresses change drives at this distance, so that random I/O meets all of them.
pub(super) const STRIPE_BYTES: u64 = 1 << 20;

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
        let refuse = |name, message: &str| {
            Err(ParamError {
                name,
                message: message.to_owned(),
            })
        };
        if self.drives.iter().map(|kind| kind.count).sum::<u32>() == 0 {
            return refuse("drives", "there is none, expected at least one");
        }
        let slices = |kind: &DriveParams| kind.ssd.slice_denominator;
        if self.drives.iter().any(|kind| slices(kind) != self.slices()) {
            return refuse("slice_denominator", "expected the same of every drive");
        }
        if self.drives.iter().any(|kind| kind.ssd.zone_bytes > 0) {
            return refuse("zone_bytes", "drives of a system have no zones");
        }
        let counts = match &self.between {
            Between::Fabric(fabric) => vec![fabric.hosts, fabric.ports, fabric.pipelines],
            Between::Cluster(cluster) => vec![
                cluster.servers,
                cluster.server_cores,
                cluster.server_nics,
                cluster.clients,
                cluster.stripe_data,
            ],
        };
        if counts.contains(&0) {
            return refuse(
                "between",
                "hosts, ports, pipelines, servers, cores and NICs must be above 0",
            );
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
