//! Going to a non-operational power state and coming back: what the first command waits, and what is saved.

use workload::{Op, Request};

use super::{assert_close, closed, iops, measure, small_drive};
use crate::device::{Account, Device};
use crate::{Ssd, SsdParams};

const MS: u64 = 1_000_000;

/// Goes to rest after 10 ms, which takes 2 ms; comes back in 5 ms.
fn sleepy_drive() -> SsdParams {
    SsdParams {
        idle_w: 5.0,
        idle_state_after_us: 10_000.0,
        idle_state_entry_us: 2_000.0,
        idle_state_exit_us: 5_000.0,
        idle_state_w: 1.0,
        ..small_drive()
    }
}

/// Latency of a read that comes so long after the last one, ns.
fn read_after(ssd: &mut Ssd, pause_ns: u64) -> u64 {
    let request = Request {
        offset_bytes: 0,
        size_bytes: 4096,
        placement: Request::NO_PLACEMENT,
        op: Op::Read,
    };
    let at_ns = ssd.now_ns() + pause_ns;
    ssd.submit(at_ns, 0, request);
    ssd.advance(u64::MAX).expect("an answer").at_ns - at_ns
}

#[test]
fn a_command_waits_for_the_entry_that_has_begun_and_for_the_exit() {
    let mut ssd = Ssd::new(&sleepy_drive(), 1).expect("valid");
    let awake_ns = read_after(&mut ssd, 0);
    let expected = [
        (1, 0),
        (10 * MS - 1, 0),
        (10 * MS, 7 * MS),
        (11 * MS, 6 * MS),
        (12 * MS, 5 * MS),
        (1000 * MS, 5 * MS),
        (1, 0),
    ];
    for (pause_ns, waits_ns) in expected {
        let latency_ns = read_after(&mut ssd, pause_ns);
        assert_eq!(latency_ns - awake_ns, waits_ns, "after {pause_ns} ns");
    }
}

#[test]
fn all_commands_that_come_meanwhile_are_taken_when_the_drive_is_back_in_their_order() {
    let mut ssd = Ssd::new(&sleepy_drive(), 1).expect("valid");
    let read = |page: u64| Request {
        offset_bytes: page * 4096,
        size_bytes: 4096,
        placement: Request::NO_PLACEMENT,
        op: Op::Read,
    };
    for page in 0..5 {
        ssd.submit((20 + page) * MS, page as u32, read(page));
    }
    let done: Vec<_> = (0..5)
        .map(|_| ssd.advance(u64::MAX).expect("an answer"))
        .collect();
    let tags: Vec<u32> = done.iter().map(|done| done.tag).collect();
    assert_eq!(tags, [0, 1, 2, 3, 4]);
    for done in &done {
        assert!(
            (25 * MS..25 * MS + 100_000).contains(&done.at_ns),
            "{}",
            done.at_ns
        );
    }
}

#[test]
fn energy_is_power_times_time_of_both_states() {
    let params = sleepy_drive();
    let mut ssd = Ssd::new(&params, 1).expect("valid");
    read_after(&mut ssd, 0);
    let joules = |ssd: &Ssd| {
        let mut account = Account::default();
        ssd.account(&mut account);
        account.joules
    };
    let (before_ns, before_j) = (ssd.now_ns(), joules(&ssd));
    read_after(&mut ssd, 1000 * MS);
    let one_read = before_j - params.idle_w * before_ns as f64 * 1e-9;
    // At rest from 12 ms to 1 s after the first one.
    let seconds = (ssd.now_ns() - before_ns) as f64 * 1e-9;
    let expected = params.idle_w * (seconds - 0.988) + params.idle_state_w * 0.988 + one_read;
    assert_close("joules", joules(&ssd) - before_j, expected, 1e-9);
}

#[test]
fn a_closed_load_waits_once_and_then_runs_as_without() {
    let job = closed("\"read\"", "4KiB", "uniform", 2, 8, r#"{"time":"200ms"}"#);
    let rate = |params: &SsdParams| {
        let mut ssd = super::filled(params);
        // Longer ago than the drive stays awake.
        read_after(&mut ssd, 20 * MS);
        ssd.wake(ssd.now_ns() + 20 * MS, 0);
        super::settle(&mut ssd);
        iops(&measure(&mut ssd, &job))
    };
    let expected = rate(&small_drive()) * (1.0 - 5.0 / 200.0);
    assert_close("IOPS", rate(&sleepy_drive()), expected, 0.01);
}

#[test]
fn latencies_of_a_state_that_the_drive_never_goes_to_are_refused() {
    let refused = |change: &dyn Fn(&mut SsdParams)| {
        let mut params = sleepy_drive();
        change(&mut params);
        Ssd::new(&params, 1).err().expect("refused").name
    };
    assert_eq!(
        refused(&|params| params.idle_state_after_us = 0.0),
        "idle_state_entry_us"
    );
    assert_eq!(refused(&|params| params.idle_state_w = 6.0), "idle_state_w");
}
