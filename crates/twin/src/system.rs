//! Systems of drives: one by its ratings, a shelf behind a fabric controller, a cluster. Every I/O
//! walks a route of queues, and what limits the system, or where an I/O spends its time, is what the
//! queues show. See `docs/explanation/system-twins.md`.
//!
//! An I/O belongs to a host by its thread. It belongs to a drive by its address, or by its thread where the bench gives
//! each thread a drive of its own. A cluster's read is put together by the servers that hold its stripe; it comes from
//! one drive. Nothing is stored and nothing is cleaned.

mod die;
mod drive;
mod params;
mod route;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use workload::{Op, Request, name_ops};

use crate::device::params::HostParams;
use crate::device::{Account, Completion, CompletionKind, Device, Residence, ResourceTime, Share};
use crate::sim::calendar::Calendar;
use crate::sim::event::us_to_ns;
use crate::sim::slab::Slab;
use drive::{Drive, Outcome};
pub use params::SystemParams;
use route::{Pick, Routes, Stage};

/// Kinds of events in the upper bits of a payload.
const INDEX_BITS: u32 = 28;
const STEP: u32 = 0;
const DIE: u32 = 1;
const WAKE: u32 = 2;
/// Dies are numbered through all drives with this many per drive.
const DIES_PER_DRIVE: u32 = 1 << 12;
/// Addresses change drives at this distance, so that random I/O meets all of them.
const STRIPE_BYTES: u64 = 1 << 20;
/// Bytes that a die reads at once; larger reads are limited by the drive's rate.
const PAGE_BYTES: u64 = 4096;
/// Block of a cluster's stripes.
const BLOCK_BYTES: u32 = 4096;

struct Job {
    tag: u32,
    request: Request,
    stage: u8,
    client: u16,
    server: u16,
    core: u16,
    drive: u16,
    die: u16,
    submitted_ns: u64,
    entered_ns: u64,
    location: Location,
}

/// Where in the drive a job is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Location {
    Outside,
    Dies,
    Leaving,
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

    fn add(&mut self, members: [u16; 3], latency_ns: u64) {
        for (group, member) in self.0.iter_mut().zip(members) {
            let share = &mut group[usize::from(member)];
            share.n += 1;
            share.total_ns += latency_ns;
        }
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
pub struct System {
    params: SystemParams,
    routes: Routes,
    drives: Vec<Drive>,
    calendar: Calendar,
    now_ns: u64,
    jobs: Slab<Job>,
    rng: Xoshiro256PlusPlus,
    drives_residence_ns: u64,
    shares: Shares,
    last_write_end: u64,
    /// Empty, and kept for its memory.
    outcome: Outcome,
}

impl System {
    /// Returns an idle system. `seed` feeds which die a page lies on.
    pub fn new(params: &SystemParams, seed: u64) -> Self {
        let drives: Vec<Drive> = params
            .drives
            .iter()
            .flat_map(|kind| (0..kind.count).map(move |_| Drive::new(kind)))
            .collect();
        let routes = Routes::new(&params.between, &params.drives);
        Self {
            shares: Shares::new(&routes, drives.len() as u32),
            routes,
            drives,
            calendar: Calendar::default(),
            now_ns: 0,
            jobs: Slab::default(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            drives_residence_ns: 0,
            last_write_end: u64::MAX,
            outcome: Outcome::default(),
            params: params.clone(),
        }
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
        let (stage, op, bytes) = (
            usize::from(job.stage),
            job.request.op,
            job.request.size_bytes,
        );
        if job.location == Location::Leaving {
            self.drives_residence_ns += self.now_ns - job.entered_ns;
            self.jobs[index].location = Location::Outside;
        }
        let Some(&now_at) = self.route(op).get(stage) else {
            let job = &self.jobs[index];
            let (tag, latency_ns) = (job.tag, self.now_ns - job.submitted_ns);
            self.shares
                .add([job.client, job.server, job.drive], latency_ns);
            self.jobs.release(index);
            return Some(Completion {
                at_ns: self.now_ns,
                tag,
                kind: CompletionKind::Done,
            });
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
        let now_ns = self.now_ns;
        let job = &mut self.jobs[index];
        job.location = Location::Dies;
        job.entered_ns = now_ns;
        let drive = &mut self.drives[usize::from(job.drive)];
        let number = job.drive;
        let mut outcome = std::mem::take(&mut self.outcome);
        match job.request.op {
            Op::Read => drive.read(u32::from(job.die), index, now_ns, &mut outcome),
            Op::Write | Op::Append | Op::WriteZeroes => {
                let bytes = f64::from(job.request.size_bytes) * self.routes.redundancy;
                let at_random = job.request.offset_bytes != self.last_write_end
                    && u64::from(job.request.size_bytes) < STRIPE_BYTES / 8;
                self.last_write_end = job.request.offset_bytes + u64::from(job.request.size_bytes);
                let amplification = match at_random {
                    true => drive.params().write_amplification,
                    false => drive.params().sequential_amplification,
                };
                drive.write(index, bytes as u64, amplification, now_ns, &mut outcome);
            }
            Op::Trim | Op::Flush | name_ops!() => {
                job.location = Location::Leaving;
                let done_ns = match job.request.op {
                    Op::Trim => {
                        let bytes = f64::from(job.request.size_bytes) * self.routes.redundancy;
                        drive.map.finish_ns(now_ns, drive.trim_ps(bytes))
                    }
                    _ => now_ns,
                };
                self.calendar
                    .push(done_ns + us_to_ns(drive.params().write_ack_us), index);
            }
        }
        self.follow(number, outcome);
    }

    /// Books what a drive has started and passes on what left its dies or entered its buffer.
    fn follow(&mut self, drive: u16, mut outcome: Outcome) {
        for (die, end_ns) in outcome.started.drain(..) {
            let index = u32::from(drive) * DIES_PER_DRIVE + die;
            self.calendar.push(end_ns, DIE << INDEX_BITS | index);
        }
        let unit = &mut self.drives[usize::from(drive)];
        for index in outcome
            .read
            .take()
            .into_iter()
            .chain(outcome.admitted.drain(..))
        {
            let job = &mut self.jobs[index];
            job.location = Location::Leaving;
            let bytes = job.request.size_bytes;
            let (done_ns, latency_us) = match job.request.op {
                Op::Read => {
                    let service_ps = unit.send_ps(bytes);
                    let done_ns = unit.to_host.finish_ns(self.now_ns, service_ps);
                    (done_ns, unit.params().read_latency_us)
                }
                _ => {
                    let service_ps = unit.take_ps(bytes);
                    let done_ns = unit.to_drive.finish_ns(self.now_ns, service_ps);
                    (done_ns, unit.params().write_ack_us)
                }
            };
            self.calendar.push(done_ns + us_to_ns(latency_us), index);
        }
        self.outcome = outcome;
    }

    fn handle(&mut self, payload: u32) -> Option<Completion> {
        let index = payload & ((1 << INDEX_BITS) - 1);
        match payload >> INDEX_BITS {
            STEP => self.step(index),
            DIE => {
                let (drive, die) = (index / DIES_PER_DRIVE, index % DIES_PER_DRIVE);
                let mut outcome = std::mem::take(&mut self.outcome);
                self.drives[drive as usize].ended(die, self.now_ns, &mut outcome);
                self.follow(drive as u16, outcome);
                None
            }
            _ => Some(Completion::woken(self.now_ns, index)),
        }
    }
}

impl Device for System {
    fn capacity_bytes(&self) -> u64 {
        self.params.capacity_bytes
    }

    fn block_bytes(&self) -> u32 {
        self.params.block_bytes
    }

    fn scale(&self) -> f64 {
        1.0
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
        let stripe = request.offset_bytes / STRIPE_BYTES;
        let drive = match self.params.host.drive_per_thread {
            true => u64::from(thread),
            false => stripe,
        };
        let drive = (drive % self.drives.len() as u64) as u16;
        let random = self.rng.next_u64();
        let (lower, servers) = (random & 0xffff_ffff, u64::from(self.routes.servers));
        let die = match u64::from(request.size_bytes) > PAGE_BYTES {
            true => stripe / self.drives.len() as u64,
            false => random >> 32,
        } % u64::from(self.drives[usize::from(drive)].params().dies);
        let job = Job {
            tag,
            request,
            stage: 0,
            client: (thread % self.routes.clients) as u16,
            server: (lower % servers) as u16,
            core: (lower / servers % u64::from(self.routes.server_cores)) as u16,
            drive,
            die: die as u16,
            submitted_ns: at_ns.max(self.now_ns),
            entered_ns: 0,
            location: Location::Outside,
        };
        let index = self.jobs.add(job);
        self.calendar.push(at_ns.max(self.now_ns), index);
    }

    fn wake(&mut self, at_ns: u64, tag: u32) {
        self.calendar
            .push(at_ns.max(self.now_ns), WAKE << INDEX_BITS | tag);
    }

    fn advance(&mut self, limit_ns: u64) -> Option<Completion> {
        while let Some(payload) = self.calendar.advance(&mut self.now_ns, limit_ns) {
            if let Some(completion) = self.handle(payload) {
                return Some(completion);
            }
        }
        None
    }

    fn is_busy(&self) -> bool {
        !self.calendar.is_empty()
    }

    fn knows_medium(&self) -> bool {
        false
    }

    fn account(&self, into: &mut Account) {
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
        into.resources.push(ResourceTime {
            resource: "drive dies",
            busy_ns: self.drives.iter().map(|one| one.busy_ns(now_ns)).collect(),
            waited_ns: self.drives.iter().map(|one| one.waited_ns(now_ns)).sum(),
        });
        into.residence.push(Residence {
            name: "drives",
            total_ns: self.drives_residence_ns,
        });
        into.shares.clear();
        into.shares.extend(self.shares.of_several());
    }
}

#[cfg(test)]
mod tests;
