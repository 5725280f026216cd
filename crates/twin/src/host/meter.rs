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
    pub fn new<D: Device>(device: &mut D, cores: u32) -> Self {
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
    pub(crate) fn medium<D: Device>(&mut self, device: &mut D) -> Medium {
        device.account(&mut self.now);
        Medium {
            write_bytes: self.now.media_write_bytes,
            joules: self.now.joules,
        }
    }

    /// Fills in what happened since the last reading. `core_free_ns`: until when each core has
    /// work booked, which is contiguous from the present on.
    pub fn read<D: Device>(
        &mut self,
        device: &mut D,
        core_free_ns: &[u64],
        interval: &mut Interval,
    ) {
        device.account(&mut self.now);
        let now_ns = device.now_ns();
        let length_ns = (now_ns - self.at_ns).max(1) as f64;
        let cores_ns = self.cores_ns(core_free_ns, now_ns);
        interval.counters = Counters {
            joules: device
                .knows_energy()
                .then_some(self.now.joules - self.before.joules),
            cpu_user_ns: Some(cores_ns.iter().sum()),
            ..self.counters()
        };
        let shares = cores_ns.iter().map(|&busy_ns| busy_ns as f64 / length_ns);
        let waited_ns = self
            .core_waited_ns
            .saturating_sub(self.core_waited_before_ns);
        self.core_waited_before_ns = self.core_waited_ns;
        let host = group(HOST_CPU, shares.collect(), waited_ns as f64 / length_ns);
        interval.utilisation.push(host);
        interval.utilisation.append(&mut self.used(length_ns));
        let completed = interval.ops.values().map(|op| op.service.count()).sum();
        self.add_residence(completed, interval);
        self.add_shares(interval);
        std::mem::swap(&mut self.now, &mut self.before);
        self.at_ns = now_ns;
    }

    /// Returns how long each core was busy since the last reading.
    fn cores_ns(&mut self, core_free_ns: &[u64], now_ns: u64) -> Vec<u64> {
        let mut cores_ns = Vec::with_capacity(core_free_ns.len());
        for (core, &free_ns) in core_free_ns.iter().enumerate() {
            let done_ns = self.core_busy_ns[core].saturating_sub(free_ns.saturating_sub(now_ns));
            cores_ns.push(done_ns.saturating_sub(self.core_before_ns[core]));
            self.core_before_ns[core] = done_ns;
        }
        cores_ns
    }

    /// Returns what the device counts by itself.
    fn counters(&self) -> Counters {
        let (now, before) = (&self.now, &self.before);
        Counters {
            media_read_bytes: Some(now.media_read_bytes - before.media_read_bytes),
            media_write_bytes: Some(now.media_write_bytes - before.media_write_bytes),
            media_erase_bytes: Some(now.media_erase_bytes - before.media_erase_bytes),
            throttled_ns: now
                .throttled_ns
                .zip(before.throttled_ns)
                .map(|(now, before)| now - before),
            temperature_c: now.temperature_c,
            wear_pct: now.wear_pct,
            unmapped_reads: Some(now.unmapped_reads - before.unmapped_reads),
            ..Counters::default()
        }
    }

    /// Returns the device's resources. I/Os that waited for a place in the device waited for its busiest one.
    fn used(&self, length_ns: f64) -> Vec<Utilisation> {
        let mean = |now: u64, before: u64| now.saturating_sub(before) as f64 / length_ns;
        let (now, before) = (&self.now, &self.before);
        let mut used = Vec::with_capacity(now.resources.len());
        for (now, before) in now.resources.iter().zip(&before.resources) {
            let shares = now.busy_ns.iter().zip(&before.busy_ns);
            let shares = shares.map(|(&now, &before)| mean(now, before));
            let waiting = mean(now.waited_ns, before.waited_ns);
            used.push(group(now.resource, shares.collect(), waiting));
        }
        if let Some(busiest) = used.iter_mut().max_by(|a, b| a.max.total_cmp(&b.max)) {
            busiest.waiting += mean(now.place_waited_ns, before.place_waited_ns);
        }
        used
    }

    fn add_residence(&self, completed: u64, interval: &mut Interval) {
        for (now, before) in self.now.residence.iter().zip(&self.before.residence) {
            interval.residence.push(Residence {
                part: now.name.to_owned(),
                total_ns: now.total_ns - before.total_ns,
                n: completed,
            });
        }
    }

    fn add_shares(&self, interval: &mut Interval) {
        // Who did nothing was not asked to: a load need not reach every drive.
        let shares = self.now.shares.iter().zip(&self.before.shares);
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
