//! Turns a device's running totals into the counters and utilisations of an interval.

use recording::{Counters, Interval, Residence, Share, Utilisation};

use crate::device::{Account, Device};
use crate::host::precision::Medium;

/// Name of the resource that is the host's processors, and no part of the device.
pub const HOST_CPU: &str = "host CPU";

/// Totals at the start of the interval.
pub struct Meter {
    before: Account,
    now: Account,
    core_before_ns: Vec<u64>,
    at_ns: u64,
    /// CPU work booked per core of the load generator.
    pub core_busy_ns: Vec<u64>,
    /// Time that requests and completions waited for their core, summed over them.
    pub core_waited_ns: u64,
    core_waited_before_ns: u64,
}

impl Meter {
    /// Returns a meter that starts now.
    pub fn new<D: Device>(device: &D, cores: u32) -> Self {
        let mut before = Account::default();
        device.account(&mut before);
        Self {
            now: before.clone(),
            before,
            core_before_ns: vec![0; cores as usize],
            core_busy_ns: vec![0; cores as usize],
            core_waited_ns: 0,
            core_waited_before_ns: 0,
            at_ns: device.now_ns(),
        }
    }

    /// Returns what the medium has cost since the device was made.
    pub(crate) fn medium<D: Device>(&mut self, device: &D) -> Medium {
        device.account(&mut self.now);
        Medium {
            write_bytes: self.now.media_write_bytes,
            joules: self.now.joules,
        }
    }

    /// Fills in what happened since the last reading. `core_free_ns`: until when each core has
    /// work booked, which is contiguous from the present on.
    pub fn read<D: Device>(&mut self, device: &D, core_free_ns: &[u64], interval: &mut Interval) {
        device.account(&mut self.now);
        let now_ns = device.now_ns();
        let length_ns = (now_ns - self.at_ns).max(1) as f64;
        let (now, before) = (&self.now, &self.before);
        let mut cpu_ns = 0;
        let mut core_shares = Vec::with_capacity(core_free_ns.len());
        for (core, &free_ns) in core_free_ns.iter().enumerate() {
            let done_ns = self.core_busy_ns[core].saturating_sub(free_ns.saturating_sub(now_ns));
            let busy_ns = done_ns.saturating_sub(self.core_before_ns[core]);
            self.core_before_ns[core] = done_ns;
            cpu_ns += busy_ns;
            core_shares.push(busy_ns as f64 / length_ns);
        }
        interval.counters = Counters {
            media_read_bytes: Some(now.media_read_bytes - before.media_read_bytes),
            media_write_bytes: Some(now.media_write_bytes - before.media_write_bytes),
            media_erase_bytes: Some(now.media_erase_bytes - before.media_erase_bytes),
            joules: device.knows_energy().then_some(now.joules - before.joules),
            throttled_ns: now
                .throttled_ns
                .zip(before.throttled_ns)
                .map(|(now, before)| now - before),
            temperature_c: now.temperature_c,
            wear_pct: now.wear_pct,
            unmapped_reads: Some(now.unmapped_reads - before.unmapped_reads),
            cpu_user_ns: Some(cpu_ns),
            cpu_sys_ns: None,
        };
        let waiting = |now: u64, before: u64| now.saturating_sub(before) as f64 / length_ns;
        let for_core = waiting(self.core_waited_ns, self.core_waited_before_ns);
        self.core_waited_before_ns = self.core_waited_ns;
        let mut used = Vec::with_capacity(now.resources.len());
        for (now, before) in now.resources.iter().zip(&before.resources) {
            let shares = now.busy_ns.iter().zip(&before.busy_ns);
            let shares = shares.map(|(now, before)| now.saturating_sub(*before) as f64 / length_ns);
            let waiting = waiting(now.waited_ns, before.waited_ns);
            used.push(group(now.resource, shares.collect(), waiting));
        }
        if let Some(busiest) = used.iter_mut().max_by(|a, b| a.max.total_cmp(&b.max)) {
            busiest.waiting += waiting(now.place_waited_ns, before.place_waited_ns);
        }
        interval
            .utilisation
            .push(group(HOST_CPU, core_shares, for_core));
        interval.utilisation.append(&mut used);
        let completed: u64 = interval.ops.values().map(|op| op.service.count()).sum();
        for (now, before) in now.residence.iter().zip(&before.residence) {
            interval.residence.push(Residence {
                part: now.name.to_owned(),
                total_ns: now.total_ns - before.total_ns,
                n: completed,
            });
        }
        // Who did nothing was not asked to: a load need not reach every drive.
        let shares = now.shares.iter().zip(&before.shares);
        for (now, before) in shares.filter(|(now, before)| now != before) {
            interval.shares.push(Share {
                group: now.group.to_owned(),
                member: now.member,
                n: now.n - before.n,
                total_ns: now.total_ns - before.total_ns,
                host_write_bytes: now.host_write_bytes - before.host_write_bytes,
                media_write_bytes: now.media_write_bytes - before.media_write_bytes,
            });
        }
        std::mem::swap(&mut self.now, &mut self.before);
        self.at_ns = now_ns;
    }
}

/// Servers by their busy shares, and how many I/O waited for one on average.
pub fn group(resource: &str, shares: Vec<f64>, waiting: f64) -> Utilisation {
    Utilisation {
        resource: resource.to_owned(),
        servers: shares.len() as u32,
        mean: shares.iter().sum::<f64>() / shares.len().max(1) as f64,
        max: shares.iter().copied().fold(0.0, f64::max),
        waiting,
    }
}
