mod passes;

use super::*;
use crate::ZoneReset;

const ZONE: u64 = 1 << 20;
const BLOCK: u64 = 64 << 10;

/// The region that zones lie in, where its size is of no account.
const REGION: Span = Span {
    start_bytes: 0,
    size_bytes: 4 * ZONE,
};

/// Remembers what was finished; every pointer stands one block into its zone.
#[derive(Default)]
struct Device {
    finished: Vec<u32>,
    emptied: Vec<u32>,
}

impl ZoneDevice for Device {
    fn reset(&mut self, zone: &Zone) -> bool {
        self.emptied.push(zone.number);
        true
    }

    fn finish(&mut self, zone: &Zone) -> bool {
        self.finished.push(zone.number);
        true
    }

    fn pointer(&mut self, zone: &Zone) -> Option<u64> {
        Some(zone.start + BLOCK)
    }
}

fn zone(number: u32, capacity: u64, written: u64) -> Zone {
    let start = u64::from(number) * ZONE;
    Zone {
        number,
        start,
        end: start + capacity,
        pointer: start + written,
        active: false,
    }
}

fn job(mix: &str, iodepth: u32) -> Job {
    let text = format!(
        "mix = \"{mix}\"\nblock = \"64KiB\"\npattern = {{ zones = 4 }}\nload = {{ threads = 2, iodepth = {iodepth} }}\nuntil = {{ time = \"1s\" }}"
    );
    Job::from_toml(&text, "job.toml").unwrap()
}

fn share(zones: &[Zone], open: u32) -> (ZoneShare, Device) {
    share_of("write", zones, open)
}

fn share_of(mix: &str, zones: &[Zone], open: u32) -> (ZoneShare, Device) {
    let mut share = ZoneShare::new(&job(mix, 1), REGION, zones.iter().copied());
    let mut device = Device::default();
    share.open_first(open, &mut device);
    (share, device)
}

fn request(op: Op, draw: u64) -> Request {
    Request {
        op,
        offset_bytes: draw * BLOCK,
        size_bytes: BLOCK as u32,
        placement: 0,
    }
}

/// Zone and offset of a write.
fn write(share: &mut ZoneShare, device: &mut Device, draw: u64) -> Option<(usize, u64)> {
    let mut write = request(Op::Write, draw);
    let placed = share.place(&mut write, device)?;
    Some((placed.zone, write.offset_bytes))
}

#[test]
fn writes_follow_the_pointer_of_a_zone_and_wait_for_the_one_before() {
    let (mut share, mut device) = share(&[zone(0, ZONE, 0), zone(1, ZONE, 0)], 2);
    let mut both = [0, 0].map(|draw| write(&mut share, &mut device, draw));
    both.sort();
    assert_eq!(both, [Some((0, 0)), Some((1, ZONE))]);
    let both_are_busy = write(&mut share, &mut device, 0);
    assert_eq!(both_are_busy, None);
    share.settle(0, BLOCK, true, &mut device);
    assert_eq!(write(&mut share, &mut device, 1), Some((0, BLOCK)));
}

#[test]
fn a_zone_is_left_when_its_capacity_is_used_though_it_is_longer() {
    let (mut share, mut device) = share(&[zone(0, 2 * BLOCK, 0), zone(1, 2 * BLOCK, BLOCK)], 1);
    let placed: Vec<_> = (0..4)
        .map(|_| {
            let mut write = request(Op::Write, 0);
            let placed = share.place(&mut write, &mut device).unwrap();
            share.settle(placed.zone, BLOCK, true, &mut device);
            (write.offset_bytes, placed.reset)
        })
        .collect();
    // The zone that was begun is gone on with; the third write takes the empty one, the fourth fills that.
    let begun = ZONE + BLOCK;
    assert_eq!(placed[..3], [(begun, false), (0, false), (BLOCK, false)]);
    assert_eq!(placed[3], (ZONE, true));
}

fn share_in_order(mix: &str, zones: &[Zone]) -> (ZoneShare, Device) {
    let mut job = job(mix, 1);
    job.pattern = Pattern::Zones {
        open: 1,
        in_order: true,
        once: false,
        empties: false,
        ends: false,
        reset: None,
    };
    let mut share = ZoneShare::new(&job, REGION, zones.iter().copied());
    let mut device = Device::default();
    share.open_first(1, &mut device);
    (share, device)
}

#[test]
fn zones_in_order_are_written_on_from_where_they_stand_and_reset_where_they_are_full() {
    let zones = [
        zone(0, 2 * BLOCK, BLOCK),
        zone(1, 2 * BLOCK, 2 * BLOCK),
        zone(2, 2 * BLOCK, 0),
    ];
    let (mut share, mut device) = share_in_order("write", &zones);
    let placed: Vec<_> = (0..6)
        .map(|draw| {
            let mut write = request(Op::Write, draw);
            let placed = share.place(&mut write, &mut device).unwrap();
            share.settle(placed.zone, BLOCK, true, &mut device);
            (write.offset_bytes, placed.reset)
        })
        .collect();
    let (second, third) = (ZONE, 2 * ZONE);
    assert_eq!(
        placed,
        [
            (BLOCK, false),
            (second, true),
            (second + BLOCK, false),
            (third, false),
            (third + BLOCK, false),
            (0, true),
        ]
    );
    assert_eq!(device.finished, [0_u32; 0]);
}

#[test]
fn zones_in_order_keep_as_many_begun_ones_as_they_may_and_finish_the_furthest() {
    let zones: Vec<Zone> = (0..5).map(|number| zone(number, ZONE, BLOCK)).collect();
    for (kept, finished) in [(u32::MAX, vec![]), (3, vec![4]), (0, vec![1, 2, 3, 4])] {
        let (mut share, mut device) = share_in_order("write", &zones);
        share.keep(kept);
        share.open_first(1, &mut device);
        assert_eq!(device.finished, finished);
    }
    let limits = ZoneLimits { open: 0, active: 8 };
    // Two threads with an open zone each leave six, three a thread where there are more.
    assert_eq!(limits.kept_of(&job("write", 1), 1, 6, 0), u32::MAX);
    assert_eq!(limits.kept_of(&job("write", 1), 1, 7, 0), 3);
    assert_eq!(limits.kept_of(&job("write", 1), 1, 7, 4), 1);
    let unlimited = ZoneLimits::default();
    assert_eq!(unlimited.kept_of(&job("write", 1), 1, 99, 0), u32::MAX);
}

#[test]
fn zones_in_order_are_read_up_to_their_pointers_and_from_the_first_again() {
    let zones = [
        zone(0, ZONE, 2 * BLOCK),
        zone(1, ZONE, 0),
        zone(2, ZONE, BLOCK),
    ];
    let (mut share, mut device) = share_in_order("read", &zones);
    let read: Vec<_> = (0..4)
        .map(|draw| {
            let mut read = request(Op::Read, draw);
            share.place(&mut read, &mut device);
            read.offset_bytes
        })
        .collect();
    assert_eq!(read, [0, BLOCK, 2 * ZONE, 0]);
    let (mut empty, mut device) = share_in_order("read", &[zone(0, ZONE, 0)]);
    let mut stays = request(Op::Read, 3);
    empty.place(&mut stays, &mut device);
    assert_eq!(stays.offset_bytes, 3 * BLOCK);
}

#[test]
fn reads_stay_below_the_pointers_of_zones_that_hold_data() {
    let (mut share, mut device) = share(&[zone(0, ZONE, 0), zone(1, ZONE, 3 * BLOCK)], 1);
    for draw in 0..64 {
        let mut read = request(Op::Read, draw);
        assert_eq!(share.place(&mut read, &mut device), None);
        assert!((ZONE..ZONE + 3 * BLOCK).contains(&read.offset_bytes));
    }
}

#[test]
fn zones_that_were_begun_beyond_those_kept_open_are_finished() {
    let opened_by_hand = Zone {
        active: true,
        ..zone(3, ZONE, 0)
    };
    let zones = [
        zone(0, ZONE, 0),
        zone(1, ZONE, BLOCK),
        zone(2, ZONE, BLOCK),
        opened_by_hand,
    ];
    let (_, device) = share(&zones, 1);
    assert_eq!(device.finished, [2, 3]);
}

#[test]
fn a_zone_that_is_full_of_appends_makes_way_when_the_last_of_them_has_returned() {
    let zones = [zone(0, 2 * BLOCK, 0), zone(1, ZONE, 0)];
    let (mut share, mut device) = share_of("append", &zones, 1);
    let append = |share: &mut ZoneShare, device: &mut Device| {
        let placed = share.place(&mut request(Op::Append, 0), device);
        placed.map(|placed| placed.zone)
    };
    assert_eq!(append(&mut share, &mut device), Some(0));
    assert!(share.is_ready());
    assert_eq!(append(&mut share, &mut device), Some(0));
    assert!(!share.is_ready());
    assert_eq!(append(&mut share, &mut device), None);
    share.settle(0, BLOCK, true, &mut device);
    assert!(!share.is_ready());
    share.settle(0, BLOCK, true, &mut device);
    assert!(share.is_ready());
    assert_eq!(append(&mut share, &mut device), Some(1));
}

#[test]
fn a_zone_with_a_rest_too_small_for_an_append_is_finished_before_another_is_opened() {
    let zones = [zone(0, BLOCK * 3 / 2, 0), zone(1, ZONE, 0)];
    let (mut share, mut device) = share_of("append", &zones, 1);
    share
        .place(&mut request(Op::Append, 0), &mut device)
        .unwrap();
    assert!(!share.is_ready());
    share.settle(0, BLOCK, true, &mut device);
    share
        .place(&mut request(Op::Append, 0), &mut device)
        .unwrap();
    assert_eq!(device.finished, [0]);
}

/// Pearson's statistic of uniform reads of 16 places lies below 37.7 in 999 of 1,000 runs.
#[test]
fn every_block_that_was_written_is_read_as_often_as_another() {
    for fills in [[5, 5, 5], [6, 1, 8], [1, 7, 7], [0, 7, 8]] {
        let zones: Vec<Zone> = (0..3)
            .map(|number| zone(number, 11 * BLOCK, fills[number as usize] * BLOCK))
            .collect();
        let (mut share, mut device) = share_of("read", &zones, 1);
        let (reads, blocks) = (30_000, fills.iter().sum::<u64>());
        let mut seen = std::collections::BTreeMap::<u64, f64>::new();
        for number in 0..reads {
            // The stream's places: all of the region's, more than were written.
            let mut read = request(Op::Read, number * 7 % 48);
            share.place(&mut read, &mut device);
            *seen.entry(read.offset_bytes).or_default() += 1.0;
        }
        let expected = reads as f64 / blocks as f64;
        let apart = |n: &f64| (n - expected).powi(2) / expected;
        let chi_square: f64 = seen.values().map(apart).sum();
        assert_eq!(seen.len() as u64, blocks, "{fills:?}");
        assert!(chi_square < 37.7, "{fills:?}: {chi_square}");
    }
}

#[test]
fn after_a_refused_write_a_zone_goes_on_where_its_pointer_really_stands() {
    let (mut share, mut device) = share(&[zone(0, ZONE, 4 * BLOCK)], 1);
    assert_eq!(write(&mut share, &mut device, 0), Some((0, 4 * BLOCK)));
    share.settle(0, BLOCK, false, &mut device);
    assert_eq!(write(&mut share, &mut device, 0), Some((0, BLOCK)));
}

#[test]
fn limits_of_the_device_are_kept() {
    let limits = |open, active| ZoneLimits { open, active };
    let (writes, reads) = (job("write", 4), job("read", 4));
    assert_eq!(limits(8, 0).check(&writes, 4, 32, 0), Ok(()));
    assert_eq!(limits(0, 10).check(&writes, 4, 32, 2), Ok(()));
    assert_eq!(limits(7, 0).check(&reads, 4, 32, 0), Ok(()));
    let refused =
        |limits: ZoneLimits, job, zones, foreign| limits.check(job, 4, zones, foreign).unwrap_err();
    assert!(refused(limits(7, 0), &writes, 32, 0).contains("the device allows 7: use fewer"));
    assert!(refused(limits(0, 10), &writes, 32, 3).contains("3 partly written outside"));
    assert!(refused(limits(0, 0), &writes, 3, 0).contains("use a larger region"));
    let five_writes = job("write", 5);
    assert!(refused(limits(0, 0), &five_writes, 32, 0).contains("one write at a time"));
    assert_eq!(limits(8, 8).check(&job("append", 64), 4, 4, 0), Ok(()));
}

#[test]
fn a_block_larger_than_what_a_zone_takes_is_refused() {
    let writes = job("write", 1);
    assert_eq!(ZoneLimits::check_blocks(&writes, BLOCK), Ok(()));
    let refused = ZoneLimits::check_blocks(&writes, BLOCK - 4096).unwrap_err();
    assert!(refused.contains("does not fit into a zone"), "{refused}");
}

/// Writes one block after the other in zones of 8 blocks, all of them open. Returns the zone, the place and whether it
/// was reset.
fn writes_with_resets(zones: &[Zone], reset: ZoneReset, count: u64) -> Vec<(usize, u64, bool)> {
    let mut job = job("write", 1);
    job.pattern = Pattern::Zones {
        open: 0,
        in_order: false,
        once: false,
        empties: false,
        ends: false,
        reset: Some(reset),
    };
    let open = ZoneLimits::default().open_of(&job, 0, zones.len() as u32, 0);
    let region = Span {
        start_bytes: 0,
        size_bytes: 8 * BLOCK * zones.len() as u64,
    };
    let mut share = ZoneShare::new(&job, region, zones.iter().copied());
    let mut device = Device::default();
    share.open_first(open, &mut device);
    (0..count)
        .map(|draw| {
            let mut write = request(Op::Write, draw);
            let placed = share.place(&mut write, &mut device).unwrap();
            share.settle(placed.zone, BLOCK, true, &mut device);
            (placed.zone, write.offset_bytes, placed.reset)
        })
        .collect()
}

#[test]
fn zones_with_room_are_reset_before_every_so_many_writes_once_enough_holds_data() {
    let reset = ZoneReset {
        above: 0.5,
        every: 4,
    };
    let zones: Vec<Zone> = (0..8).map(|number| zone(number, 8 * BLOCK, 0)).collect();
    let mut held = [0; 8];
    let mut left = reset.every;
    for (count, (number, at, was_reset)) in writes_with_resets(&zones, reset, 2000)
        .into_iter()
        .enumerate()
    {
        if count % 64 == 0 {
            left = reset.every;
        }
        let full = held[number] == 8;
        let mut due = false;
        if held.iter().sum::<u64>() >= 32 {
            left -= 1;
            due = left == 0;
            left = if due { reset.every } else { left };
        }
        assert_eq!(was_reset, held[number] > 0 && (full || due));
        held[number] = if was_reset { 1 } else { held[number] + 1 };
        assert_eq!(at, zones[number].start + (held[number] - 1) * BLOCK);
    }
}

#[test]
fn what_zones_held_before_counts_as_data() {
    let zones: Vec<Zone> = (0..8)
        .map(|number| zone(number, 8 * BLOCK, 4 * BLOCK))
        .collect();
    let reset = ZoneReset {
        above: 0.5,
        every: 1,
    };
    assert!(writes_with_resets(&zones, reset, 1)[0].2);
}

#[test]
fn as_many_zones_are_open_as_the_device_allows_all_threads_together() {
    // Two threads.
    let (job, limits) = (job("write", 1), |open, active| ZoneLimits { open, active });
    assert_eq!(limits(0, 0).open_of(&job, 0, 32, 0), 32);
    assert_eq!(limits(14, 0).open_of(&job, 0, 32, 0), 7);
    assert_eq!(limits(14, 10).open_of(&job, 0, 32, 4), 3);
    assert_eq!(limits(128, 0).open_of(&job, 0, 3, 0), 3);
    assert_eq!(limits(14, 0).open_of(&job, 2, 32, 0), 2);
}

#[test]
fn a_choice_of_random_once_gives_each_open_zone_as_many_writes_in_a_pass() {
    let text = "mix = \"write\"\nblock = \"64KiB\"\npattern = { zones = { open = 8, choice = \"random-once\" } }\nload = { iodepth = 1 }\nuntil = { written = \"2x\" }";
    let job = Job::from_toml(text, "job.toml").unwrap();
    let geometry = crate::Geometry {
        capacity_bytes: 8 * ZONE,
        block_bytes: 4096,
    };
    let region = job.region.resolve(geometry).unwrap();
    let zones = (0..8).map(|number| zone(number, ZONE, 0));
    let mut share = ZoneShare::new(&job, region, zones);
    let mut device = Device::default();
    share.open_first(8, &mut device);
    let mut stream = crate::RequestStream::new(&job, geometry, 7, 0).unwrap();
    for _ in 0..2 {
        let mut writes = [0; 8];
        for _ in 0..8 * ZONE / BLOCK {
            let mut write = stream.next_request();
            let placed = share.place(&mut write, &mut device).unwrap();
            share.settle(placed.zone, BLOCK, true, &mut device);
            writes[placed.zone] += 1;
        }
        assert_eq!(writes, [ZONE / BLOCK; 8]);
    }
}
