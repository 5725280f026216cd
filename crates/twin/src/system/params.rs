//! Parameters of systems: drives by their ratings, a shelf of them behind a fabric controller, a
//! scale-out cluster. They are plain values with units in their names. The TOML file of a catalogue system says where
//! each value comes from; this file says what each does.

use serde::Deserialize;

use crate::device::params::{HostParams, ParamError};

/// A drive as a system sees it: dies that read and program, a buffer, a link. No mapping, no
/// cleaning: `write_amplification` stands for both, so the drive is in steady state from the start.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveParams {
    /// Bytes of one drive.
    pub capacity_bytes: u64,
    /// Drives of this kind in the system.
    #[serde(default = "one")]
    pub count: u32,
    /// Dies that work at once.
    pub dies: u32,
    /// Time of a die for a read of a page.
    pub read_sense_us: f64,
    /// The rest of a read's latency: command, transfer, correction, completion.
    pub read_latency_us: f64,
    /// Time of a die for one program operation.
    pub program_us: f64,
    /// Bytes that one program operation writes.
    pub program_bytes: u64,
    /// Longest stretch of a program or erase that a read waits for (suspend).
    pub suspend_us: f64,
    /// Bytes programmed per byte written in the steady state of the test, erases counted as bytes.
    pub write_amplification: f64,
    /// Power-loss-protected buffer.
    pub buffer_bytes: u64,
    /// A write that finds room in the buffer is acknowledged after this.
    pub write_ack_us: f64,
    /// Most the drive sends, 10^6 B/s.
    pub read_mbps: f64,
    /// Most the drive takes, 10^6 B/s.
    pub write_mbps: f64,
    /// Bytes of a sequential write programmed per byte written.
    pub sequential_amplification: f64,
    /// Time per map entry of 4 KiB that a trim deallocates, one trim at a time; an assumption, as of SSD twins.
    #[serde(default = "default_trim_entry_ns")]
    pub trim_entry_ns: f64,
}

const fn default_trim_entry_ns() -> f64 {
    crate::ssd::params::default_trim_entry_ns()
}

fn one() -> u32 {
    1
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
    /// Nothing: a drive in the host.
    Nothing,
    /// A fabric and a controller.
    Fabric(FabricParams),
    /// A network and servers.
    Cluster(ClusterParams),
}

/// A system to simulate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemParams {
    /// Bytes that jobs address.
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
        for kind in &self.drives {
            if kind.dies == 0 || kind.program_bytes == 0 {
                return refuse("dies", "dies and program_bytes must be above 0");
            }
            if kind.buffer_bytes < 2 * kind.program_bytes {
                return refuse(
                    "buffer_bytes",
                    "the buffer must hold two program operations",
                );
            }
            if kind.write_amplification < 1.0 || kind.sequential_amplification < 1.0 {
                return refuse("write_amplification", "expected 1 or more");
            }
            if !(0.0..=1e6).contains(&kind.trim_entry_ns) {
                return refuse("trim_entry_ns", "expected 0 to 1000000");
            }
        }
        let counts = match &self.between {
            Between::Nothing => vec![1],
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
}
