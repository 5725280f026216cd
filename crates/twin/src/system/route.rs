//! The way of an I/O through a system: stations it queues at, delays, and the drive in the middle.

use super::params::{Between, ClusterParams, FabricParams};
use crate::sim::server::Fifo;

/// Bytes of a command or completion capsule with its headers.
const CAPSULE_BYTES: f64 = 128.0;
const PS_PER_US: f64 = 1e6;

/// Which of a group's members an I/O goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The only one.
    Only,
    /// That of its client or host.
    Client,
    /// That of the server or port that it was sent to.
    Server,
    /// That of the next server: parity and copies go there.
    Peer,
    /// Servers that hold data of its stripe, at most this number: each does its part.
    Stripe(u32),
    /// On each server that holds data of its stripe, at most this number, the cores that its blocks belong to.
    Cores(u32),
}

/// A part of the way.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// Time that nobody else waits for.
    Delay {
        /// Its length.
        ns: u64,
        /// What it is booked to.
        group: usize,
    },
    /// A queue.
    Serve {
        /// Which group of servers.
        group: usize,
        /// Which member.
        pick: Pick,
        /// Service time of any I/O.
        fixed_ps: f64,
        /// Service time per byte of data.
        per_byte_ps: f64,
    },
    /// The drive.
    Drive,
}

/// Members of a group serve a queue each, with `servers` servers.
#[derive(Clone)]
pub struct Group {
    /// Name as shown to the user.
    pub name: &'static str,
    /// One per member.
    pub members: Vec<Fifo>,
    /// Time spent here, summed over the I/O that left.
    pub residence_ns: u64,
    /// The part of it spent waiting for a member.
    pub waited_ns: u64,
}

/// Groups and the ways through them.
#[derive(Clone)]
pub struct Routes {
    pub groups: Vec<Group>,
    pub read: Vec<Stage>,
    pub write: Vec<Stage>,
    pub clients: u32,
    pub client_name: &'static str,
    pub servers: u32,
    pub server_name: &'static str,
    /// Cores of a server, with a queue each.
    pub server_cores: u32,
    /// Bytes that reach drives per byte written.
    pub redundancy: f64,
}

fn ps_per_byte(gbps: f64, efficiency: f64) -> f64 {
    8e3 / (gbps * efficiency)
}

/// Collects groups by name while a route is laid.
#[derive(Default)]
struct Builder {
    groups: Vec<Group>,
}

impl Builder {
    fn group(&mut self, name: &'static str, members: u32, servers: u32) -> usize {
        if let Some(known) = self.groups.iter().position(|group| group.name == name) {
            return known;
        }
        self.groups.push(Group {
            name,
            members: (0..members).map(|_| Fifo::new(servers)).collect(),
            residence_ns: 0,
            waited_ns: 0,
        });
        self.groups.len() - 1
    }

    fn delay(&mut self, name: &'static str, us: f64) -> Stage {
        Stage::Delay {
            ns: (us * 1e3).round() as u64,
            group: self.group(name, 0, 0),
        }
    }
}

fn serve(group: usize, pick: Pick, fixed_ps: f64, per_byte_ps: f64) -> Stage {
    Stage::Serve {
        group,
        pick,
        fixed_ps,
        per_byte_ps,
    }
}

impl Routes {
    /// Returns the ways through a system.
    pub fn new(between: &Between) -> Self {
        match between {
            Between::Fabric(fabric) => Self::fabric(fabric),
            Between::Cluster(cluster) => Self::cluster(cluster),
        }
    }

    fn fabric(p: &FabricParams) -> Self {
        let mut b = Builder::default();
        let nic_ps = ps_per_byte(p.host_nic_gbps, p.network_efficiency);
        let port_ps = ps_per_byte(p.port_gbps, p.network_efficiency);
        let link_ps = 1e6 / p.link_mbps;
        let send = b.group("host NICs (send)", p.hosts, 1);
        let receive = b.group("host NICs (receive)", p.hosts, 1);
        let port_in = b.group("controller ports (in)", p.ports, 1);
        let port_out = b.group("controller ports (out)", p.ports, 1);
        let pipelines = b.group("controller", 1, p.pipelines);
        let to_host = b.group("internal link (read)", 1, 1);
        let to_drive = b.group("internal link (write)", 1, 1);
        let network = b.delay("network", p.network_us);
        let command_ps = p.command_ns * 1e3;
        let capsule = |group, pick, ps: f64| serve(group, pick, CAPSULE_BYTES * ps, 0.0);
        let data = |group, pick, ps: f64| serve(group, pick, CAPSULE_BYTES * ps, ps);
        let read = vec![
            capsule(send, Pick::Client, nic_ps),
            network,
            capsule(port_in, Pick::Server, port_ps),
            serve(pipelines, Pick::Only, command_ps, 0.0),
            Stage::Drive,
            data(to_host, Pick::Only, link_ps),
            pass(pipelines, p.read_pass_us),
            data(port_out, Pick::Server, port_ps),
            network,
            data(receive, Pick::Client, nic_ps),
        ];
        let write = vec![
            data(send, Pick::Client, nic_ps),
            network,
            data(port_in, Pick::Server, port_ps),
            serve(pipelines, Pick::Only, command_ps, 0.0),
            data(to_drive, Pick::Only, link_ps),
            Stage::Drive,
            pass(pipelines, p.write_pass_us),
            capsule(port_out, Pick::Server, port_ps),
            network,
            capsule(receive, Pick::Client, nic_ps),
        ];
        Self {
            groups: b.groups,
            read,
            write,
            clients: p.hosts,
            client_name: "host",
            servers: p.ports,
            server_name: "port",
            server_cores: 1,
            redundancy: 1.0,
        }
    }

    fn cluster(p: &ClusterParams) -> Self {
        let mut b = Builder::default();
        let nic_ps = ps_per_byte(p.nic_gbps, p.network_efficiency);
        let server_nic_ps = nic_ps / f64::from(p.server_nics);
        let redundancy = f64::from(p.stripe_data + p.stripe_parity) / f64::from(p.stripe_data);
        let mount = b.group("client mounts", p.clients, 1);
        let send = b.group("client NICs (send)", p.clients, 1);
        let receive = b.group("client NICs (receive)", p.clients, 1);
        let server_in = b.group("server NICs (in)", p.servers, 1);
        let server_out = b.group("server NICs (out)", p.servers, 1);
        // Each core polls a queue of its own: an I/O waits for its core while another is idle.
        let cores = b.group("server CPU", p.servers * p.server_cores, 1);
        let network = b.delay("network", p.network_us);
        let stripe = Pick::Stripe(p.stripe_data);
        let cpu = |pick, us: f64, us_per_kib: f64| {
            let per_byte_ps = us_per_kib * PS_PER_US / 1024.0;
            serve(cores, pick, us * PS_PER_US, per_byte_ps)
        };
        let capsule = |group, pick, ps: f64| serve(group, pick, CAPSULE_BYTES * ps, 0.0);
        let data =
            |group, pick, ps: f64, copies: f64| serve(group, pick, CAPSULE_BYTES * ps, copies * ps);
        let enter = serve(mount, Pick::Client, p.mount_us * PS_PER_US, 0.0);
        let read = vec![
            enter,
            capsule(send, Pick::Client, nic_ps),
            network,
            capsule(server_in, stripe, server_nic_ps),
            cpu(
                Pick::Cores(p.stripe_data),
                p.read_cpu_us,
                p.read_cpu_us_per_kib,
            ),
            Stage::Drive,
            data(server_out, stripe, server_nic_ps, 1.0),
            network,
            data(receive, Pick::Client, nic_ps, 1.0),
        ];
        let write = vec![
            enter,
            data(send, Pick::Client, nic_ps, 1.0),
            network,
            data(server_in, Pick::Server, server_nic_ps, 1.0),
            cpu(Pick::Cores(1), p.write_cpu_us, p.write_cpu_us_per_kib),
            data(server_out, Pick::Server, server_nic_ps, redundancy),
            network,
            data(server_in, Pick::Peer, server_nic_ps, redundancy),
            Stage::Drive,
            network,
            capsule(receive, Pick::Client, nic_ps),
        ];
        Self {
            groups: b.groups,
            read,
            write,
            clients: p.clients,
            client_name: "client",
            servers: p.servers,
            server_name: "server",
            server_cores: p.server_cores,
            redundancy,
        }
    }
}

/// Returns the latency a controller's pipeline has beside its occupancy.
fn pass(group: usize, us: f64) -> Stage {
    Stage::Delay {
        ns: (us * 1e3).round() as u64,
        group,
    }
}
