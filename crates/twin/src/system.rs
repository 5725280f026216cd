//! Systems of drives: a shelf behind a fabric controller, a cluster. Every I/O walks a route of queues, and what limits
//! the system, or where an I/O spends its time, is what the queues show. The drives are SSD twins. See
//! `docs/explanation/system-twins.md`.
//!
//! An I/O belongs to a host by its thread. It belongs to a drive by its address, or by its thread where the bench gives
//! each thread a drive of its own. A cluster's read is put together by the servers that hold its stripe; it comes from
//! one drive.

mod drives;
mod params;
mod route;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use workload::{Op, Request};

use crate::device::params::{HostParams, ParamError};
use crate::device::{Account, Completion, CompletionKind, Device, Residence, ResourceTime, Share};
use crate::sim::calendar::{Calendar, NEVER};
use crate::sim::slab::Slab;
use drives::Drives;
pub use params::SystemParams;
use route::{Pick, Routes, Stage};

/// Kinds of events in the upper bits of a payload.
const INDEX_BITS: u32 = 28;
const STEP: u32 = 0;
const WAKE: u32 = 1;
/// Block of a cluster's stripes.
const BLOCK_BYTES: u32 = 4096;

#[derive(Clone)]
struct Job {
    tag: u32,
    request: Request,
    stage: u8,
    client: u16,
    server: u16,
    core: u16,
    drive: u16,
    submitted_ns: u64,
    entered_ns: u64,
}

/// The members of a group that serve a job: on how many machines, from which on, and on how many cores of each.
struct Spread {
    first: u16,
    core: u16,
    machines: u32,
    cores: u32,
    cores_per_machine: u32,
}

impl Spread {
    /// Returns the number of a member; it may exceed the group's, which then begins again.
    fn member(&self, machine: u32, part: u32) -> usize {
        let core = (u32::from(self.core) + part) % self.cores_per_machine;
        ((u32::from(self.first) + machine) * self.cores_per_machine + core) as usize
    }
}

/// What hosts, ports or servers, and drives had of the load, in this order.
#[derive(Clone)]
struct Shares([Vec<Share>; 3]);

impl Shares {
    fn new(routes: &Routes, drives: u32) -> Self {
        let group = |group, members| {
            let empty = |member| Share {
                group,
                member,
                n: 0,
                total_ns: 0,
                host_write_bytes: 0,
                media_write_bytes: 0,
            };
            (1..=members).map(empty).collect()
        };
        Self([
            group(routes.client_name, routes.clients),
            group(routes.server_name, routes.servers),
            group("drive", drives),
        ])
    }

    fn add(&mut self, members: [u16; 3], latency_ns: u64, written_bytes: u64) {
        for (group, member) in self.0.iter_mut().zip(members) {
            let share = &mut group[usize::from(member)];
            share.n += 1;
            share.total_ns += latency_ns;
        }
        let [_, _, drives] = &mut self.0;
        drives[usize::from(members[2])].host_write_bytes += written_bytes;
    }

    fn drives(&mut self) -> &mut [Share] {
        &mut self.0[2]
    }

    /// Only of groups that have something to share out.
    fn of_several(&self) -> impl Iterator<Item = Share> {
        self.0
            .iter()
            .filter(|group| group.len() > 1)
            .flatten()
            .copied()
    }
}

/// A system in virtual time.
#[derive(Clone)]
pub struct System {
    params: SystemParams,
    routes: Routes,
    drives: Drives,
    calendar: Calendar,
    now_ns: u64,
    jobs: Slab<Job>,
    rng: Xoshiro256PlusPlus,
    drives_residence_ns: u64,
    shares: Shares,
}

impl System {
    /// Returns an idle system. `seed` feeds where its drives' data lies, and which server an I/O goes to.
    ///
    /// # Errors
    /// A drive that cannot be simulated.
    pub fn new(params: &SystemParams, seed: u64) -> Result<Self, ParamError> {
        let routes = Routes::new(&params.between);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let drives = Drives::new(params, routes.redundancy, || rng.next_u64())?;
        Ok(Self {
            shares: Shares::new(&routes, drives.count() as u32),
            routes,
            drives,
            calendar: Calendar::default(),
            now_ns: 0,
            jobs: Slab::default(),
            rng,
            drives_residence_ns: 0,
            params: params.clone(),
        })
    }

    fn route(&self, op: Op) -> &[Stage] {
        match op {
            Op::Read | Op::Flush => &self.routes.read,
            _ => &self.routes.write,
        }
    }

    /// Moves a job on to its next stage, or out.
    fn step(&mut self, index: u32) -> Option<Completion> {
        let job = &self.jobs[index];
        let (stage, op) = (usize::from(job.stage), job.request.op);
        // What carries no data passes as its capsules alone.
        let bytes = match op.moves_data() {
            true => job.request.size_bytes,
            false => 0,
        };
        let Some(&now_at) = self.route(op).get(stage) else {
            return Some(self.complete(index, CompletionKind::Done));
        };
        self.jobs[index].stage += 1;
        match now_at {
            Stage::Delay { ns, group } => {
                self.routes.groups[group].residence_ns += ns;
                self.calendar.push(self.now_ns + ns, index);
            }
            Stage::Serve {
                group,
                pick,
                fixed_ps,
                per_byte_ps,
            } => {
                let spread = self.spread(pick, &self.jobs[index]);
                let part_bytes = f64::from(bytes) / f64::from(spread.machines * spread.cores);
                let (fixed_ps, part_ps) = (fixed_ps as u64, (per_byte_ps * part_bytes) as u64);
                let group = &mut self.routes.groups[group];
                let members = group.members.len();
                let mut end_ns = self.now_ns;
                for machine in 0..spread.machines {
                    for part in 0..spread.cores {
                        let member = &mut group.members[spread.member(machine, part) % members];
                        let service_ps = part_ps + if part == 0 { fixed_ps } else { 0 };
                        end_ns = end_ns.max(member.finish_ns(self.now_ns, service_ps));
                    }
                }
                let service_ps = fixed_ps + part_ps;
                let spent_ns = end_ns - self.now_ns;
                group.residence_ns += spent_ns;
                group.waited_ns += spent_ns.saturating_sub(service_ps.div_ceil(1000));
                self.calendar.push(end_ns, index);
            }
            Stage::Drive => self.enter_drive(index),
        }
        None
    }

    /// Returns which members of a group serve a job.
    fn spread(&self, pick: Pick, job: &Job) -> Spread {
        let blocks = job.request.size_bytes.div_ceil(BLOCK_BYTES);
        let alone = |first| Spread {
            first,
            core: 0,
            machines: 1,
            cores: 1,
            cores_per_machine: 1,
        };
        match pick {
            Pick::Only => alone(0),
            Pick::Client => alone(job.client),
            Pick::Server => alone(job.server),
            Pick::Peer => alone(job.server + 1),
            Pick::Stripe(width) => Spread {
                machines: blocks.clamp(1, width),
                ..alone(job.server)
            },
            Pick::Cores(width) => {
                let machines = blocks.clamp(1, width);
                let cores = (blocks / machines).clamp(1, self.routes.server_cores);
                Spread {
                    core: job.core,
                    machines,
                    cores,
                    cores_per_machine: self.routes.server_cores,
                    ..alone(job.server)
                }
            }
        }
    }

    fn enter_drive(&mut self, index: u32) {
        let job = &mut self.jobs[index];
        job.entered_ns = self.now_ns;
        let whole = self.params.host.drive_per_thread;
        self.drives
            .submit(job.drive, self.now_ns, index, job.request, whole);
    }

    /// A drive has done its part; an I/O that it failed ends there.
    fn leave_drive(&mut self, done: Completion) -> Option<Completion> {
        self.now_ns = done.at_ns;
        self.drives_residence_ns += done.at_ns - self.jobs[done.tag].entered_ns;
        match done.kind {
            CompletionKind::Done => self.step(done.tag),
            kind => Some(self.complete(done.tag, kind)),
        }
    }

    fn complete(&mut self, index: u32, kind: CompletionKind) -> Completion {
        let job = &self.jobs[index];
        let (at_ns, tag) = (self.now_ns, job.tag);
        let written_bytes = match kind {
            CompletionKind::Done if job.request.op.writes() => u64::from(job.request.size_bytes),
            _ => 0,
        };
        self.shares.add(
            [job.client, job.server, job.drive],
            at_ns - job.submitted_ns,
            written_bytes,
        );
        self.jobs.release(index);
        Completion { at_ns, tag, kind }
    }

    fn handle(&mut self, payload: u32) -> Option<Completion> {
        let index = payload & ((1 << INDEX_BITS) - 1);
        match payload >> INDEX_BITS {
            STEP => self.step(index),
            _ => Some(Completion::woken(self.now_ns, index)),
        }
    }
}

impl Device for System {
    fn capacity_bytes(&self) -> u64 {
        self.params.slice_bytes()
    }

    fn block_bytes(&self) -> u32 {
        self.params.block_bytes
    }

    fn scale(&self) -> f64 {
        self.params.slice_bytes() as f64 / self.params.capacity_bytes as f64
    }

    fn host(&self) -> &HostParams {
        &self.params.host
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, at_ns: u64, tag: u32, request: Request) {
        self.submit_from(tag, at_ns, tag, request);
    }

    fn submit_from(&mut self, thread: u32, at_ns: u64, tag: u32, request: Request) {
        let drive = match self.params.host.drive_per_thread {
            true => (thread as usize % self.drives.count()) as u16,
            false => self.drives.drive_of(request.offset_bytes),
        };
        let random = self.rng.next_u64() & 0xffff_ffff;
        let servers = u64::from(self.routes.servers);
        let job = Job {
            tag,
            request,
            stage: 0,
            client: (thread % self.routes.clients) as u16,
            server: (random % servers) as u16,
            core: (random / servers % u64::from(self.routes.server_cores)) as u16,
            drive,
            submitted_ns: at_ns.max(self.now_ns),
            entered_ns: 0,
        };
        let index = self.jobs.add(job);
        self.calendar.push(at_ns.max(self.now_ns), index);
    }

    fn wake(&mut self, at_ns: u64, tag: u32) {
        self.calendar
            .push(at_ns.max(self.now_ns), WAKE << INDEX_BITS | tag);
    }

    fn advance(&mut self, limit_ns: u64) -> Option<Completion> {
        loop {
            let drives_ns = self.drives.next_ns();
            let completion =
                if drives_ns <= limit_ns.min(self.calendar.next_ns()) && drives_ns != NEVER {
                    let done = self.drives.advance();
                    done.and_then(|done| self.leave_drive(done))
                } else {
                    let payload = self.calendar.advance(&mut self.now_ns, limit_ns)?;
                    self.handle(payload)
                };
            if completion.is_some() {
                return completion;
            }
        }
    }

    fn is_busy(&self) -> bool {
        !self.calendar.is_empty() || self.drives.next_ns() != NEVER
    }

    fn knows_energy(&self) -> bool {
        false
    }

    fn account(&mut self, into: &mut Account) {
        let now_ns = self.now_ns;
        into.resources.clear();
        into.residence.clear();
        for group in &self.routes.groups {
            if !group.members.is_empty() {
                let servers = group.members.iter().map(|member| {
                    let (sum, count) = member
                        .busy_ns(now_ns)
                        .fold((0, 0), |(sum, count), busy| (sum + busy, count + 1));
                    sum / count
                });
                into.resources.push(ResourceTime {
                    resource: group.name,
                    busy_ns: servers.collect(),
                    waited_ns: group.waited_ns,
                });
            }
            into.residence.push(Residence {
                name: group.name,
                total_ns: group.residence_ns,
            });
        }
        let mut shares = self.shares.clone();
        self.drives.account(into, shares.drives());
        into.residence.push(Residence {
            name: "drives",
            total_ns: self.drives_residence_ns,
        });
        into.shares.clear();
        into.shares.extend(shares.of_several());
    }
}

#[cfg(test)]
mod tests;
