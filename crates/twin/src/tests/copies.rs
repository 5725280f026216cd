//! Copies of a drive: each goes on as the original would have, and leaves it alone.

use recording::Recording;
use workload::Job;

use super::drive::data_centre_drive;
use super::{closed, filled, small_drive};
use crate::ssd::params::VictimPolicy;
use crate::{Control, Device, FileSystem, FsParams, Ssd, SsdParams, run};

const MIX: &str = r#"{"read":70,"write":30}"#;

fn mixed(until: &str) -> Job {
    closed(MIX, "4KiB", "uniform", 2, 16, until)
}

fn measure<D: Device>(device: &mut D, job: &Job, seed: u64) -> Recording {
    run(job, device, seed, &Control::default(), |_| {}).expect("the job runs")
}

/// The same job on two copies and then on the original, which another job on a third copy must not change.
#[track_caller]
fn goes_its_own_way<D: Device + Clone>(mut device: D) {
    measure(&mut device, &mixed(r#"{"count":20000}"#), 1);
    let window = mixed(r#"{"count":10000}"#);
    let copied = measure(&mut device.clone(), &window, 2);
    let other = measure(&mut device.clone(), &window, 3);
    let again = measure(&mut device.clone(), &window, 2);
    let original = measure(&mut device, &window, 2);
    assert!(copied == again && copied == original);
    assert!(other != original, "another seed has other figures");
}

#[test]
fn a_copy_of_a_drive_goes_on_as_the_drive_would_have_and_leaves_it_alone() {
    let plain = small_drive();
    let drives = [
        plain.clone(),
        SsdParams {
            gc_policy: VictimPolicy::DChoices,
            wear_spread_max: 8,
            ..plain.clone()
        },
        SsdParams {
            gc_policy: VictimPolicy::CostBenefit,
            reclaim_groups: 2,
            placement_handles: 2,
            write_buffer_bytes: 16 << 20,
            ..plain.clone()
        },
        SsdParams {
            power_cap_w: 8.0,
            read_sense_uj: 50.0,
            read_ahead_bytes: 1 << 20,
            ..plain
        },
        data_centre_drive(1024),
    ];
    for params in drives {
        goes_its_own_way(filled(&params));
    }
}

#[test]
fn a_copy_of_a_file_system_goes_on_as_the_original_would_have() {
    let ssd = Ssd::new(&small_drive(), 7).expect("valid parameters");
    for name in ["btrfs", "xfs"] {
        let params = FsParams::preset(name, false).expect("a preset");
        goes_its_own_way(FileSystem::new(ssd.clone(), &params).expect("room"));
    }
}

#[test]
fn a_copy_with_requests_in_flight_completes_them_itself() {
    let mut ssd = filled(&small_drive());
    let request = workload::Request {
        offset_bytes: 8192,
        size_bytes: 4096,
        placement: workload::Request::NO_PLACEMENT,
        op: workload::Op::Read,
    };
    ssd.submit(ssd.now_ns(), 5, request);
    let mut copy = ssd.clone();
    let completed = ssd.advance(u64::MAX).expect("an answer");
    assert_eq!(copy.advance(u64::MAX), Some(completed));
    assert!(!ssd.is_busy() && !copy.is_busy());
}
