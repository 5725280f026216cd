//! Threads that end with their zones, and zones that are emptied before.

use super::*;

/// A share of a job of this pattern that begins now.
fn begun(mix: &str, pattern: &str, zones: &[Zone], open: u32) -> (ZoneShare, Device) {
    let text = format!(
        "mix = \"{mix}\"\nblock = \"64KiB\"\npattern = {pattern}\nload = {{ iodepth = 1 }}\nuntil = {{ time = \"1s\" }}"
    );
    let job = Job::from_toml(&text, "job.toml").unwrap();
    let mut share = ZoneShare::new(&job, REGION, zones.iter().copied());
    let mut device = Device::default();
    share.begin(open, mix == "write", &mut device);
    (share, device)
}

/// Where all requests go, and whether they reset their zone; each ends before the next one.
fn to_the_end(share: &mut ZoneShare, device: &mut Device, op: Op) -> Vec<(u64, bool)> {
    let mut all = Vec::new();
    while !share.is_over() {
        assert!(share.is_ready() && all.len() < 100);
        let mut next = request(op, all.len() as u64);
        let placed = share.place(&mut next, device);
        if let Some(placed) = placed {
            share.settle(placed.zone, BLOCK, true, device);
        }
        all.push((next.offset_bytes, placed.is_some_and(|placed| placed.reset)));
    }
    all
}

const ORDERED: &str = "{ zones = { open = \"in-order\", ends = true } }";

#[test]
fn writes_in_order_end_with_the_last_zone_and_reset_full_ones_the_first_included() {
    let zones = [
        zone(0, 2 * BLOCK, 2 * BLOCK),
        zone(1, 2 * BLOCK, BLOCK),
        zone(2, 2 * BLOCK, 2 * BLOCK),
    ];
    let (mut share, mut device) = begun("write", ORDERED, &zones, 1);
    let third = 2 * ZONE;
    assert_eq!(
        to_the_end(&mut share, &mut device, Op::Write),
        [
            (0, true),
            (BLOCK, false),
            (ZONE + BLOCK, false),
            (third, true),
            (third + BLOCK, false),
        ]
    );
    assert_eq!(device.emptied, [0_u32; 0]);
}

#[test]
fn a_zone_with_less_room_than_a_block_is_finished_and_left_out_in_order() {
    let odd = |number| zone(number, 2 * BLOCK, BLOCK + BLOCK / 2);
    let (mut share, mut device) = begun("write", ORDERED, &[odd(0), odd(1), zone(2, BLOCK, 0)], 1);
    let placed = to_the_end(&mut share, &mut device, Op::Write);
    assert_eq!(placed, [(2 * ZONE, false)]);
    assert_eq!(device.finished, [0, 1]);
}

#[test]
fn reads_in_order_end_with_what_was_written() {
    let zones = [
        zone(0, ZONE, 2 * BLOCK),
        zone(1, ZONE, BLOCK),
        zone(2, ZONE, 0),
    ];
    let (mut share, mut device) = begun("read", ORDERED, &zones, 1);
    let read = to_the_end(&mut share, &mut device, Op::Read);
    assert_eq!(read, [(0, false), (BLOCK, false), (ZONE, false)]);
    let (nothing, _) = begun("read", ORDERED, &[zone(0, ZONE, 0)], 1);
    assert!(nothing.is_over());
}

#[test]
fn writes_at_random_end_when_no_zone_has_room_and_reset_none() {
    let zones: Vec<Zone> = (0..5)
        .map(|number| zone(number, 3 * BLOCK, u64::from(number % 2) * BLOCK))
        .collect();
    let pattern = "{ zones = { open = 2, ends = true } }";
    let (mut share, mut device) = begun("write", pattern, &zones, 2);
    let placed = to_the_end(&mut share, &mut device, Op::Write);
    assert!(placed.iter().all(|&(_, reset)| !reset));
    let mut places: Vec<u64> = placed.iter().map(|&(at, _)| at).collect();
    places.sort_unstable();
    let mut left: Vec<u64> = zones
        .iter()
        .flat_map(|zone| (zone.pointer..zone.end).step_by(BLOCK as usize))
        .collect();
    left.sort_unstable();
    assert_eq!(places, left);
    assert_eq!(device.finished, [0_u32; 0]);
}

#[test]
fn the_last_writes_at_random_wait_for_each_other() {
    let zones = [zone(0, BLOCK, 0), zone(1, 2 * BLOCK, 0)];
    let pattern = "{ zones = { open = 2, ends = true } }";
    let (mut share, mut device) = begun("write", pattern, &zones, 2);
    for draw in 0..2 {
        assert!(share.is_ready());
        write(&mut share, &mut device, draw).unwrap();
    }
    assert!(!share.is_ready());
    share.settle(0, BLOCK, true, &mut device);
    // The zone that is full has nothing to make way for, and the other one is not back yet.
    assert!(!share.is_ready() && !share.is_over());
    share.settle(1, BLOCK, true, &mut device);
    assert_eq!(write(&mut share, &mut device, 2), Some((1, ZONE + BLOCK)));
    assert!(share.is_over());
}

#[test]
fn zones_that_hold_data_are_emptied_before_the_load_where_asked_for() {
    let zones = [
        zone(0, 2 * BLOCK, 2 * BLOCK),
        zone(1, 2 * BLOCK, 0),
        zone(2, 2 * BLOCK, BLOCK),
    ];
    let pattern = "{ zones = { open = \"most\", begin = \"empty\", ends = true } }";
    let (mut share, mut device) = begun("write", pattern, &zones, 3);
    assert_eq!(device.emptied, [0, 2]);
    assert_eq!(to_the_end(&mut share, &mut device, Op::Write).len(), 6);
    assert_eq!(device.finished, [0_u32; 0]);
}

#[test]
fn a_load_that_does_not_write_empties_no_zone() {
    let text = "mix = \"write\"\nblock = \"64KiB\"\npattern = { zones = { open = 1, begin = \"empty\" } }\nload = {}\nuntil = { time = \"1s\" }";
    let job = Job::from_toml(text, "job.toml").unwrap();
    let mut share = ZoneShare::new(&job, REGION, [zone(0, 2 * BLOCK, BLOCK)]);
    let mut device = Device::default();
    share.begin(1, false, &mut device);
    assert_eq!(device.emptied, [0_u32; 0]);
}

#[test]
fn only_writes_or_reads_in_order_of_one_size_end_with_their_zones() {
    let refused = |mix: &str, block: &str, pattern: &str| {
        let text = format!(
            "mix = \"{mix}\"\nblock = {block}\npattern = {{ zones = {{ {pattern}, ends = true }} }}\nload = {{}}\nuntil = {{ time = \"1s\" }}"
        );
        Job::from_toml(&text, "job.toml").unwrap_err().to_string()
    };
    let two = "[{ size = \"64KiB\", share = 50 }, { size = \"128KiB\", share = 50 }]";
    let one = "\"64KiB\"";
    for text in [
        refused("read", one, "open = 2"),
        refused("write", two, "open = \"in-order\""),
        refused("append", one, "open = 2"),
        refused("write", one, "open = 2, choice = \"random-once\""),
    ] {
        assert!(text.contains("a job ends with its zones that"), "{text}");
    }
}

/// The share of a job that writes a multiple of its region, in zones of `capacity` bytes.
fn share_of_passes(block: &str, multiple: &str, zones: u32, capacity: u64) -> (ZoneShare, Device) {
    let text = format!(
        "mix = \"write\"\nblock = {block}\npattern = {{ zones = \"in-order\" }}\nload = {{}}\nuntil = {{ written = \"{multiple}\" }}"
    );
    let job = Job::from_toml(&text, "job.toml").unwrap();
    let zones = (0..zones).map(|number| zone(number, capacity, 0));
    let mut share = ZoneShare::new(&job, REGION, zones);
    let mut device = Device::default();
    share.begin(1, true, &mut device);
    (share, device)
}

#[test]
fn one_pass_writes_what_the_zones_take_and_resets_none() {
    let (mut share, mut device) = share_of_passes("\"64KiB\"", "1x", 3, 2 * BLOCK + BLOCK / 2);
    let placed = to_the_end(&mut share, &mut device, Op::Write);
    let places: Vec<u64> = placed.iter().map(|&(at, _)| at).collect();
    let (second, third) = (ZONE, 2 * ZONE);
    assert_eq!(
        places,
        [0, BLOCK, second, second + BLOCK, third, third + BLOCK]
    );
    assert!(placed.iter().all(|&(_, reset)| !reset));
}

#[test]
fn two_passes_reset_each_zone_once_and_half_a_pass_fills_half_of_them() {
    let (mut share, mut device) = share_of_passes("\"64KiB\"", "2x", 4, 3 * BLOCK);
    let placed = to_the_end(&mut share, &mut device, Op::Write);
    assert_eq!(placed.iter().filter(|&&(_, reset)| reset).count(), 4);
    assert_eq!(placed.len(), 24);
    let (mut half, mut device) = share_of_passes("\"64KiB\"", "0.5x", 4, 3 * BLOCK);
    assert_eq!(to_the_end(&mut half, &mut device, Op::Write).len(), 6);
}

#[test]
fn one_pass_with_blocks_of_several_sizes_resets_no_zone_whatever_their_order() {
    let sizes = "[{ size = \"64KiB\", share = 50 }, { size = \"128KiB\", share = 50 }]";
    for draws in 0..1u64 << 8 {
        let (mut share, mut device) = share_of_passes(sizes, "1x", 3, 5 * BLOCK);
        let mut number = 0;
        while !share.is_over() {
            let blocks = 1 + (draws >> (number % 8) & 1);
            let mut write = Request {
                size_bytes: (blocks * BLOCK) as u32,
                ..request(Op::Write, 0)
            };
            let placed = share.place(&mut write, &mut device).unwrap();
            assert!(!placed.reset);
            share.settle(placed.zone, blocks * BLOCK, true, &mut device);
            number += 1;
        }
    }
}

#[test]
fn a_thread_with_more_zones_than_another_fills_all_of_them_in_one_pass() {
    let text = "mix = \"write\"\nblock = \"64KiB\"\npattern = { zones = \"in-order\" }\nload = { threads = 3 }\nuntil = { written = \"1x\" }";
    let job = Job::from_toml(text, "job.toml").unwrap();
    let geometry = crate::Geometry {
        capacity_bytes: 4 * ZONE,
        block_bytes: 4096,
    };
    let own = [zone(2, ZONE, 0), zone(3, ZONE, 0)];
    let mut share = ZoneShare::new(&job, REGION, own);
    let mut device = Device::default();
    share.begin(1, true, &mut device);
    let writes = to_the_end(&mut share, &mut device, Op::Write).len() as u64;
    assert_eq!(writes * BLOCK, 2 * ZONE);
    let limits = job.thread_limits(2, geometry).unwrap();
    assert!(limits.bytes >= 2 * ZONE && !limits.is_endless());
}
