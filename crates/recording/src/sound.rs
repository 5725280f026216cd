//! Whether counts that came over a wire can be what somebody counted: code that adds them up relies on it.

use std::collections::BTreeMap;

use workload::Op;

use crate::{
    Batch, CensoredOps, Counters, Fault, HalfWidths, Interval, OpStats, Recording, Remark,
    Residence, Share, Streams, Utilisation,
};

/// Most of anything in one interval: no machine moves that many bytes, or waits that many ns, in a second or a minute.
const MOST_OF_INTERVAL: u64 = 1 << 48;
/// Most of anything in a step: the sum over a thousand hosts is within 64 bits.
const MOST_OF_STEP: u64 = 1 << 54;
/// Most equal servers of a host: the sum over a thousand hosts is within 32 bits.
const MOST_SERVERS: u32 = 1 << 20;

impl Interval {
    /// Returns whether somebody can have counted this.
    pub fn is_sound(&self) -> bool {
        let most = MOST_OF_INTERVAL;
        self.start_ns <= MOST_OF_STEP
            && (1..=most).contains(&self.length_ns)
            && ops_are_sound(&self.ops, most)
            && streams_are_sound(&self.streams, most)
            && gauges_are_sound([self.mean_outstanding], most)
            && counters_are_sound(&self.counters, most)
            && parts_are_sound(&self.utilisation, &self.residence, most)
            && self.shares.iter().all(|one| share_is_sound(one, most))
            && counts_are_sound([self.offered, self.backlog], most)
    }
}

impl Recording {
    /// Returns whether somebody can have counted this.
    pub fn is_sound(&self) -> bool {
        let most = MOST_OF_STEP;
        self.window_ns <= most
            && ops_are_sound(&self.ops, most)
            && streams_are_sound(&self.streams, most)
            && self.batches.iter().all(|batch| batch_is_sound(batch, most))
            && self
                .gpu
                .iter()
                .all(|gpu| gpu.copy_bytes_per_s > 0.0 && gpu.copy_bytes_per_s.is_finite())
            && gauges_are_sound([self.mean_outstanding], most)
            && counters_are_sound(&self.counters, most)
            && parts_are_sound(&self.utilisation, &self.residence, most)
            && counts_are_sound([self.offered, self.backlog], most)
            && counts_are_sound(self.errno.values().copied().map(Some), most)
            && censored_are_sound(&self.censored, most)
            && self
                .censored_streams
                .values()
                .all(|ops| censored_are_sound(ops, most))
            && self
                .half_widths
                .iter()
                .all(|known| half_widths_are_sound(known, most))
            && self.faults.iter().all(|fault| fault_is_sound(fault, most))
            && self
                .remarks
                .iter()
                .all(|remark| remark_is_sound(remark, most))
    }
}

fn fault_is_sound(fault: &Fault, most: u64) -> bool {
    fault.start_bytes <= fault.end_bytes && fault.n <= most
}

/// Judges the numbers that are added up over hosts.
fn remark_is_sound(remark: &Remark, most: u64) -> bool {
    match remark {
        Remark::FailedIo {
            n,
            ranges,
            more_ranges,
            ..
        } => {
            counts_are_sound([Some(*n), Some(*more_ranges)], most)
                && ranges.iter().all(|fault| fault_is_sound(fault, most))
        }
        Remark::LostIo {
            n,
            waited_ns,
            age_ns,
        } => counts_are_sound([n, waited_ns, age_ns].map(|one| Some(*one)), most),
        Remark::UncountedArrivals { thread_ns: ns } | Remark::StoodStill { still_ns: ns } => {
            *ns <= most
        }
        Remark::LateArrivals { mean_ns } => gauges_are_sound([Some(*mean_ns)], most),
        Remark::CpuWait { share } => gauges_are_sound([Some(*share)], most),
        Remark::Refused { .. } | Remark::Fallback { .. } => true,
    }
}

fn ops_are_sound(ops: &BTreeMap<Op, OpStats>, most: u64) -> bool {
    ops.values().all(|op| {
        op.bytes <= most
            && op.errors <= most
            && op.service.is_sound(most)
            && op
                .response
                .as_ref()
                .is_none_or(|response| response.is_sound(most))
    })
}

fn streams_are_sound(streams: &Streams, most: u64) -> bool {
    streams.values().all(|ops| ops_are_sound(ops, most))
}

fn batch_is_sound(batch: &Batch, most: u64) -> bool {
    let of_streams = batch.streams.values().flat_map(BTreeMap::values);
    batch
        .ops
        .values()
        .chain(of_streams)
        .all(|op| op.service.is_sound(most) && op.response.is_sound(most))
}

fn censored_are_sound(ops: &CensoredOps, most: u64) -> bool {
    ops.values().all(|one| {
        one.service.is_sound(most)
            && one
                .response
                .as_ref()
                .is_none_or(|response| response.is_sound(most))
    })
}

fn half_widths_are_sound(known: &HalfWidths, most: u64) -> bool {
    let of_streams = known.streams.values().flat_map(BTreeMap::values);
    gauges_are_sound([known.waf, known.joules], most)
        && known.ops.values().chain(of_streams).all(|op| {
            let (rate, latency) = (Some(op.rate), Some(op.mean_latency));
            gauges_are_sound([rate, latency, op.mean_response], most)
        })
}

fn counts_are_sound(counts: impl IntoIterator<Item = Option<u64>>, most: u64) -> bool {
    counts.into_iter().flatten().all(|n| n <= most)
}

/// Also false of what is not a number.
fn gauges_are_sound(gauges: impl IntoIterator<Item = Option<f64>>, most: u64) -> bool {
    gauges.into_iter().flatten().all(|x| x.abs() <= most as f64)
}

fn counters_are_sound(counters: &Counters, most: u64) -> bool {
    let counts = [
        counters.media_read_bytes,
        counters.media_write_bytes,
        counters.media_erase_bytes,
        counters.throttled_ns,
        counters.unmapped_reads,
        counters.cpu_user_ns,
        counters.cpu_sys_ns,
    ];
    let gauges = [counters.joules, counters.temperature_c, counters.wear_pct];
    counts_are_sound(counts, most) && gauges_are_sound(gauges, most)
}

/// Judges what a target reports of its parts: how busy they were, and the time that I/O spent there.
fn parts_are_sound(groups: &[Utilisation], residence: &[Residence], most: u64) -> bool {
    let servers = |group: &Utilisation| {
        group.servers <= MOST_SERVERS
            && gauges_are_sound([group.mean, group.max, group.waiting].map(Some), most)
    };
    groups.iter().all(servers)
        && residence
            .iter()
            .all(|part| part.total_ns <= most && part.n <= most)
}

fn share_is_sound(member: &Share, most: u64) -> bool {
    let counts = [
        member.n,
        member.total_ns,
        member.host_write_bytes,
        member.media_write_bytes,
    ];
    counts_are_sound(counts.map(Some), most)
}

#[cfg(test)]
mod tests {
    use workload::Op;

    use super::MOST_OF_STEP;
    use crate::{
        Counters, Fault, Interval, Recorder, Recording, Remark, Residence, Share, Utilisation,
    };

    fn interval() -> Interval {
        let mut recorder = Recorder::new(0);
        recorder.record(Op::Read, 1_000, 4_096);
        recorder.record(Op::Read, 90_000, 4_096);
        Interval {
            mean_outstanding: Some(1.5),
            counters: Counters {
                joules: Some(4.5),
                cpu_user_ns: Some(250),
                ..Counters::default()
            },
            utilisation: vec![Utilisation {
                resource: "host CPU".to_owned(),
                servers: 7,
                mean: 0.5,
                max: 0.75,
                waiting: 0.0,
            }],
            residence: vec![Residence {
                part: "link".to_owned(),
                total_ns: 350,
                n: 2,
            }],
            shares: vec![Share {
                group: "host".to_owned(),
                member: 1,
                n: 2,
                total_ns: 450,
                host_write_bytes: 0,
                media_write_bytes: 0,
            }],
            ..recorder.cut(1_000_000_000, 0)
        }
    }

    fn text() -> String {
        serde_json::to_string(&interval()).unwrap()
    }

    /// The interval with one part of its JSON replaced.
    fn altered(part: &str, by: &str) -> Interval {
        let text = text();
        assert!(text.contains(part), "{part} is not in {text}");
        serde_json::from_str(&text.replace(part, by)).unwrap()
    }

    #[test]
    fn what_was_counted_is_sound() {
        assert!(interval().is_sound());
        assert!(Recording::from_intervals(&[interval(), interval()]).is_sound());
        assert!(Recording::default().is_sound());
    }

    #[test]
    fn what_nobody_can_have_counted_is_not() {
        for (part, by) in [
            ("\"count\":2", "\"count\":3"),
            ("\"min_ns\":1000", "\"min_ns\":18446744073709551615"),
            ("\"max_ns\":90000", "\"max_ns\":0"),
            ("\"sum_ns\":91000", "\"sum_ns\":1"),
            ("\"bytes\":8192", "\"bytes\":18446744073709551615"),
            ("\"length_ns\":1000000000", "\"length_ns\":0"),
            ("\"start_ns\":0", "\"start_ns\":18446744073709551615"),
            ("\"bins\":[[", "\"bins\":[[65535,1],["),
            ("\"mean_outstanding\":1.5", "\"mean_outstanding\":1e308"),
            ("\"joules\":4.5", "\"joules\":-1e308"),
            (
                "\"cpu_user_ns\":250",
                "\"cpu_user_ns\":18446744073709551615",
            ),
            ("\"servers\":7", "\"servers\":4294967295"),
            ("\"max\":0.75", "\"max\":1e308"),
            ("\"total_ns\":350", "\"total_ns\":18446744073709551615"),
            ("\"total_ns\":450", "\"total_ns\":18446744073709551615"),
        ] {
            assert!(!altered(part, by).is_sound(), "{part} -> {by}");
        }
    }

    #[test]
    fn remarks_and_failed_ranges_whose_sums_would_not_hold_are_not_sound() {
        let beyond = u64::MAX;
        let fault = |start_bytes, end_bytes, n| Fault {
            op: Op::Read,
            errno: 5,
            start_bytes,
            end_bytes,
            n,
        };
        let failed = |n, fault: Fault, more_ranges| Remark::FailedIo {
            errno: 5,
            n,
            ranges: vec![fault],
            more_ranges,
        };
        let lost = |n, waited_ns, age_ns| Remark::LostIo {
            n,
            waited_ns,
            age_ns,
        };
        let is_sound = |remark| {
            let remarks = vec![remark];
            let recording = Recording {
                remarks,
                ..Recording::default()
            };
            recording.is_sound()
        };
        assert!(is_sound(failed(2, fault(0, 8, 2), 1)) && is_sound(lost(1, 2, 3)));
        for remark in [
            failed(beyond, fault(0, 8, 2), 1),
            failed(2, fault(0, 8, beyond), 1),
            failed(2, fault(8, 0, 2), 1),
            failed(2, fault(0, 8, 2), beyond),
            lost(beyond, 2, 3),
            lost(1, beyond, 3),
            lost(1, 2, beyond),
            Remark::UncountedArrivals { thread_ns: beyond },
            Remark::LateArrivals { mean_ns: 1e300 },
            Remark::CpuWait { share: -1e300 },
        ] {
            assert!(!is_sound(remark.clone()), "{remark:?}");
        }
        let recording = Recording {
            faults: vec![fault(8, 0, 1)],
            ..Recording::default()
        };
        assert!(!recording.is_sound());
    }

    #[test]
    fn the_percentiles_of_the_largest_sound_count_are_those_of_its_bins() {
        let most = MOST_OF_STEP;
        let text = serde_json::to_string(&Recording::from_intervals(&[interval()])).unwrap();
        let sum_ns = 2000 * u128::from(most);
        let text = text
            .replace("\"count\":2", &format!("\"count\":{most}"))
            .replace(",1],[", &format!(",{}],[", most - 1))
            .replace("\"sum_ns\":91000", &format!("\"sum_ns\":{sum_ns}"));
        let recording: Recording = serde_json::from_str(&text).unwrap();
        assert!(recording.is_sound(), "{text}");
        let median_us = recording.ops[&Op::Read].service.percentile_us(50_000);
        assert!(
            median_us.is_some_and(|us| (us - 1.0).abs() < 0.01),
            "{median_us:?}"
        );
    }
}
