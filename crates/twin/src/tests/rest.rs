//! Going to a non-operational power state and coming back: what the first command waits, and what is saved.

use workload::{Op, Request};

use super::{assert_close, closed, iops, measure, small_drive};
use crate::device::{Account, Device};
use crate::{Ssd, SsdParams};

const MS: u64 = 1_000_000;
const REST_W: f64 = 1.0;

/// Goes to rest after 10 ms, which takes 2 ms; comes back in 5 ms.
fn sleepy_drive() -> SsdParams {
    SsdParams {
        idle_w: 5.0,
        idle_state_after_us: 10_000.0.into(),
        idle_state_entry_us: 2_000.0.into(),
        idle_state_exit_us: 5_000.0.into(),
        idle_state_w: REST_W.into(),
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
    let (before_ns, before_j) = (ssd.now_ns(), joules(&mut ssd));
    read_after(&mut ssd, 1000 * MS);
    let one_read = before_j - params.idle_w * before_ns as f64 * 1e-9;
    // At rest from 12 ms to 1 s after the first one.
    let seconds = (ssd.now_ns() - before_ns) as f64 * 1e-9;
    let expected = params.idle_w * (seconds - 0.988) + REST_W * 0.988 + one_read;
    assert_close("joules", joules(&mut ssd) - before_j, expected, 1e-9);
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

/// Goes on to a second state after 30 ms in the first, which takes 4 ms; comes back from there in 20 ms.
fn two_state_drive() -> SsdParams {
    SsdParams {
        idle_state_after_us: "10000+30000".into(),
        idle_state_entry_us: "2000+4000".into(),
        idle_state_exit_us: "5000+20000".into(),
        idle_state_w: "1+0.25".into(),
        ..sleepy_drive()
    }
}

fn joules(ssd: &mut Ssd) -> f64 {
    let mut account = Account::default();
    ssd.account(&mut account);
    account.joules
}

#[test]
fn a_command_waits_for_the_exit_of_the_state_that_the_drive_is_in_or_goes_to() {
    let mut ssd = Ssd::new(&two_state_drive(), 1).expect("valid");
    let awake_ns = read_after(&mut ssd, 0);
    let expected = [
        (10 * MS - 1, 0),
        (10 * MS, 7 * MS),
        (12 * MS, 5 * MS),
        (42 * MS - 1, 5 * MS),
        (42 * MS, 24 * MS),
        (43 * MS, 23 * MS),
        (46 * MS, 20 * MS),
        (1000 * MS, 20 * MS),
        (20 * MS, 5 * MS),
        (1, 0),
    ];
    for (pause_ns, waits_ns) in expected {
        let latency_ns = read_after(&mut ssd, pause_ns);
        assert_eq!(latency_ns - awake_ns, waits_ns, "after {pause_ns} ns");
    }
}

#[test]
fn each_of_four_states_is_reached_after_the_times_of_all_before_it() {
    let (after, entry, exit) = ([8, 16, 32, 64], [1, 2, 3, 4], [10, 20, 30, 40]);
    let listed = |times: [u64; 4]| times.map(|ms| (ms * 1000).to_string()).join("+");
    let mut ssd = Ssd::new(
        &SsdParams {
            idle_state_after_us: listed(after).as_str().into(),
            idle_state_entry_us: listed(entry).as_str().into(),
            idle_state_exit_us: listed(exit).as_str().into(),
            idle_state_w: "4+3+2+1".into(),
            ..small_drive()
        },
        1,
    )
    .expect("valid");
    let awake_ns = read_after(&mut ssd, 0);
    let mut begins_ms = 0;
    for state in 0..4 {
        begins_ms += after[state];
        for since_ms in 0..entry[state] + 5 {
            let waits_ms = entry[state].saturating_sub(since_ms) + exit[state];
            let latency_ns = read_after(&mut ssd, (begins_ms + since_ms) * MS);
            assert_eq!(latency_ns - awake_ns, waits_ms * MS, "state {state}");
        }
        begins_ms += entry[state];
    }
}

#[test]
fn mean_power_over_known_pauses_is_that_of_the_states_they_reach() {
    let params = two_state_drive();
    let mut ssd = Ssd::new(&params, 1).expect("valid");
    let pauses_ms = [5, 10, 11, 30, 42, 44, 46, 200, 1000];
    let (begun_ns, begun_j) = (ssd.now_ns(), joules(&mut ssd));
    read_after(&mut ssd, 0);
    let one_read =
        joules(&mut ssd) - begun_j - params.idle_w * (ssd.now_ns() - begun_ns) as f64 * 1e-9;
    let (from_ns, from_j) = (ssd.now_ns(), joules(&mut ssd));
    for _ in 0..50 {
        for pause_ms in pauses_ms {
            read_after(&mut ssd, pause_ms * MS);
        }
    }
    let seconds = (ssd.now_ns() - from_ns) as f64 * 1e-9;
    // 12 ms after a command the drive is in its first state, after 46 ms in its second.
    let rested_s = |reached_ms: u64, left_ms: u64| {
        let each = pauses_ms.map(|pause_ms| pause_ms.clamp(reached_ms, left_ms) - reached_ms);
        50.0 * each.iter().sum::<u64>() as f64 * 1e-3
    };
    let (first_s, second_s) = (rested_s(12, 46), rested_s(46, u64::MAX));
    let awake_s = seconds - first_s - second_s;
    let expected_j = params.idle_w * awake_s + first_s + 0.25 * second_s;
    let reads_j = 50.0 * pauses_ms.len() as f64 * one_read;
    let mean_w = (joules(&mut ssd) - from_j) / seconds;
    assert_close("W", mean_w, (expected_j + reads_j) / seconds, 1e-9);
}

#[test]
fn a_deeper_state_that_is_never_reached_changes_no_bit() {
    let job = closed("\"read\"", "4KiB", "uniform", 1, 1, r#"{"time":"200ms"}"#);
    let outcome = |params: &SsdParams| {
        let mut ssd = super::filled(params);
        for pause_ms in [1, 11, 50, 3] {
            read_after(&mut ssd, pause_ms * MS);
        }
        let recording = measure(&mut ssd, &job);
        (recording, joules(&mut ssd).to_bits(), ssd.now_ns())
    };
    let deeper = SsdParams {
        idle_state_after_us: "10000+1000000000".into(),
        idle_state_exit_us: "5000+9000".into(),
        idle_state_entry_us: "2000+1000".into(),
        idle_state_w: "1+0.5".into(),
        ..sleepy_drive()
    };
    assert!(outcome(&sleepy_drive()) == outcome(&deeper));
}

#[test]
fn a_document_may_give_one_number_as_a_number_and_several_as_text() {
    let mut document = serde_json::to_value(sleepy_drive()).expect("plain values");
    document["idle_state_after_us"] = 10_000.into();
    document["idle_state_w"] = 1.0.into();
    let parsed = SsdParams::from_json(&document.to_string());
    assert_eq!(parsed, Ok(sleepy_drive()));
    document["idle_state_after_us"] = "10000+30000".into();
    let parsed = SsdParams::from_json(&document.to_string()).expect("a list");
    assert_eq!(parsed.idle_states().len(), 2);
}

#[test]
fn impossible_idle_states_are_refused_by_name() {
    type Change = fn(&mut SsdParams);
    let wrong: [(Change, &str); 12] = [
        (
            |drive| drive.idle_state_after_us = 0.0.into(),
            "idle_state_entry_us: 2000+4000 has no effect without idle_state_after_us",
        ),
        (
            |drive| drive.idle_state_after_us = 10_000.0.into(),
            "idle_state_entry_us: 2000+4000 is for 2 of the idle states; idle_state_after_us has 1",
        ),
        (
            |drive| drive.idle_state_exit_us = "5000+20000+1".into(),
            "idle_state_exit_us: 5000+20000+1 is for 3 of the idle states; idle_state_after_us has 2",
        ),
        (
            |drive| drive.idle_state_after_us = "10000+0".into(),
            "idle_state_after_us: 10000+0: each is the idle time in the state before, above 0",
        ),
        (
            |drive| drive.idle_state_after_us = "0+1".into(),
            "idle_state_after_us: 0+1: each is the idle time in the state before, above 0",
        ),
        (
            |drive| drive.idle_state_after_us = "1+2+3+4+5".into(),
            "idle_state_after_us: 5 idle states; 4 is the most",
        ),
        (
            |drive| drive.idle_state_after_us = "10000+late".into(),
            "idle_state_after_us: 10000+late: expected a number, or one for each idle state joined by +",
        ),
        (
            |drive| drive.idle_state_entry_us = "2000+-1".into(),
            "idle_state_entry_us: -1 is not within 0 to 1000000000",
        ),
        (
            |drive| drive.idle_state_exit_us = "5000+nan".into(),
            "idle_state_exit_us: NaN is not within 0 to 1000000000",
        ),
        (
            |drive| drive.idle_state_w = "6+1".into(),
            "idle_state_w: 6 is above idle_w, 5",
        ),
        (
            |drive| drive.idle_state_w = "1+2".into(),
            "idle_state_w: 1+2: a deeper state takes no more power, and 2 is above 1",
        ),
        (
            |drive| drive.idle_state_w = 1.0.into(),
            "idle_state_w: 1 is for 1 of the idle states; idle_state_after_us has 2",
        ),
    ];
    for (change, message) in wrong {
        let mut params = two_state_drive();
        change(&mut params);
        let refused = Ssd::new(&params, 1).err().expect(message);
        assert_eq!(refused.to_string(), format!("twin parameter {message}"));
    }
    // Left out, a quantity is 0 in every state.
    let mut params = two_state_drive();
    params.idle_state_entry_us = 0.0.into();
    assert!(Ssd::new(&params, 1).is_ok());
}
