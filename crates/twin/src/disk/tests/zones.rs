//! What a host-managed disk takes and refuses.

use workload::{Op, Request};

use super::*;
use crate::CompletionKind;

const ZONE: u64 = 256 << 20;
const EIO: i32 = 5;
const EOVERFLOW: i32 = 75;

fn shingled() -> DiskParams {
    DiskParams {
        tracks: Tracks::HostManaged,
        zone_bytes: ZONE,
        conventional_share: 0.01,
        max_open_zones: 4,
        ..small_disk()
    }
}

/// The first zone that must be written in order.
fn first(disk: &Disk) -> u64 {
    u64::from(disk.zone_model().expect("zones").conventional) * ZONE
}

#[track_caller]
fn outcome(disk: &mut Disk, op: Op, offset_bytes: u64, size_bytes: u32) -> CompletionKind {
    let request = Request {
        offset_bytes,
        size_bytes,
        placement: 0,
        op,
    };
    disk.submit(disk.now_ns(), 3, request);
    loop {
        let completion = disk.advance(u64::MAX).expect("an answer");
        if completion.tag == 3 {
            return completion.kind;
        }
    }
}

#[test]
fn writes_go_to_the_pointer_and_nowhere_else() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let zone = first(&disk);
    let number = (zone / ZONE) as u32;
    let failed = CompletionKind::Failed(EIO);
    assert_eq!(outcome(&mut disk, Op::Write, zone + 4096, 4096), failed);
    assert_eq!(
        outcome(&mut disk, Op::Write, zone, 8192),
        CompletionKind::Done
    );
    assert_eq!(outcome(&mut disk, Op::Write, zone, 4096), failed);
    assert_eq!(disk.write_pointer(number), Some(zone + 8192));
    assert_eq!(
        outcome(&mut disk, Op::Append, zone, 4096),
        CompletionKind::Done
    );
    assert_eq!(disk.write_pointer(number), Some(zone + 12_288));
}

#[test]
fn a_write_across_a_boundary_and_a_write_to_a_full_zone_are_refused() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let zone = first(&disk);
    let failed = CompletionKind::Failed(EIO);
    assert_eq!(
        outcome(&mut disk, Op::Write, zone, ZONE as u32 + 4096),
        failed
    );
    assert_eq!(
        outcome(&mut disk, Op::Write, zone, ZONE as u32),
        CompletionKind::Done
    );
    assert_eq!(outcome(&mut disk, Op::Append, zone, 4096), failed);
    assert_eq!(outcome(&mut disk, Op::Write, zone - 4096, 8192), failed);
}

#[test]
fn conventional_zones_take_any_order() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    for offset in [40_960, 0, 40_960, ZONE - 4096] {
        assert_eq!(
            outcome(&mut disk, Op::Write, offset, 8192),
            CompletionKind::Done
        );
    }
}

#[test]
fn a_reset_empties_whole_zones_only() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let zone = first(&disk);
    outcome(&mut disk, Op::Write, zone, 8192);
    let half = outcome(&mut disk, Op::Trim, zone, (ZONE / 2) as u32);
    assert_eq!(half, CompletionKind::Failed(EIO));
    assert_eq!(
        outcome(&mut disk, Op::Trim, zone, ZONE as u32),
        CompletionKind::Done
    );
    assert_eq!(disk.write_pointer((zone / ZONE) as u32), Some(zone));
}

#[test]
fn a_limit_of_active_zones_refuses_one_more_until_one_is_full() {
    let params = DiskParams {
        max_active_zones: 2,
        ..shingled()
    };
    let mut disk = Disk::new(&params).expect("valid parameters");
    let zone = first(&disk);
    let mut write = |index: u64, bytes: u32| {
        let pointer = disk
            .write_pointer(((zone / ZONE) + index) as u32)
            .expect("zones");
        outcome(&mut disk, Op::Write, pointer, bytes)
    };
    assert_eq!(write(0, 4096), CompletionKind::Done);
    assert_eq!(write(1, 4096), CompletionKind::Done);
    assert_eq!(write(2, 4096), CompletionKind::Failed(EOVERFLOW));
    assert_eq!(write(0, ZONE as u32 - 4096), CompletionKind::Done);
    assert_eq!(write(2, 4096), CompletionKind::Done);
}

#[test]
fn one_open_zone_more_than_allowed_closes_another_without_refusing() {
    let mut disk = Disk::new(&shingled()).expect("valid parameters");
    let zone = first(&disk);
    for index in (0..8).chain(0..8) {
        let pointer = disk
            .write_pointer((zone / ZONE) as u32 + index)
            .expect("zones");
        assert_eq!(
            outcome(&mut disk, Op::Write, pointer, 4096),
            CompletionKind::Done
        );
    }
}

#[test]
fn an_ordinary_disk_has_no_zones_to_append_to_or_reset() {
    let mut disk = Disk::new(&small_disk()).expect("valid parameters");
    for op in [Op::Append, Op::Trim] {
        assert_eq!(outcome(&mut disk, op, 0, 4096), CompletionKind::Failed(95));
    }
    assert_eq!(disk.zone_model(), None);
}
