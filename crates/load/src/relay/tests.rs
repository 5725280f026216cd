use std::thread;

use super::*;

const SECOND_NS: u64 = 1_000_000_000;
const SOON: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(20);

fn second(number: u64) -> Interval {
    Interval {
        start_ns: number * SECOND_NS,
        length_ns: SECOND_NS,
        ..Interval::default()
    }
}

/// Starts a thread that delivers `seconds` seconds.
fn twin(
    relay: &Arc<Relay>,
    target: usize,
    seconds: u64,
    hold_every_ns: Option<u64>,
) -> thread::JoinHandle<()> {
    let mut side = relay.side(target, hold_every_ns);
    thread::spawn(move || (0..seconds).for_each(|number| side.deliver(second(number))))
}

fn starts(news: &JobProgress) -> Vec<(usize, u64)> {
    news.intervals
        .iter()
        .map(|(target, interval)| (*target, interval.start_ns / SECOND_NS))
        .collect()
}

#[test]
fn a_twin_waits_after_each_hold_until_its_reader_says_proceed() {
    let relay = Arc::new(Relay::default());
    let thread = twin(&relay, 0, 6, Some(2 * SECOND_NS));
    for first in [0, 2, 4] {
        relay.wait_for_news(LONG);
        let news = relay.take(false);
        assert_eq!(starts(&news), [(0, first), (0, first + 1)]);
        assert!(news.is_over, "nothing comes before `proceed`");
        assert!(relay.is_held() && !relay.is_done());
        relay.wait_for_news(SOON);
        assert!(relay.take(true).intervals.is_empty(), "a held twin went on");
        relay.proceed();
    }
    thread.join().unwrap();
    assert!(relay.is_done() && !relay.is_held());
}

#[test]
fn a_twin_waits_at_the_end_of_a_round_that_comes_before_its_time() {
    let relay = Arc::new(Relay::default());
    let mut side = relay.side(0, Some(10 * SECOND_NS));
    let thread = thread::spawn(move || {
        side.deliver(Interval {
            ends_round: true,
            ..second(0)
        });
        (1..11).for_each(|number| side.deliver(second(number)));
    });
    relay.wait_for_news(LONG);
    assert_eq!(starts(&relay.take(false)), [(0, 0)]);
    assert!(relay.is_held());
    relay.proceed();
    relay.wait_for_news(LONG);
    let news = relay.take(false);
    assert_eq!(
        news.intervals.len(),
        10,
        "the next hold counts from the round's end"
    );
    assert!(relay.is_held());
    relay.proceed();
    thread.join().unwrap();
}

#[test]
fn twins_are_held_only_when_each_that_runs_is() {
    let relay = Arc::new(Relay::default());
    let held = twin(&relay, 0, 1, Some(SECOND_NS));
    let running = relay.side(1, None);
    relay.wait_for_news(SOON);
    assert!(
        relay.take(false).intervals.is_empty(),
        "few, and more may come"
    );
    assert_eq!(starts(&relay.take(true)), [(0, 0)]);
    assert!(!relay.is_held());
    drop(running);
    assert!(relay.is_held());
    relay.proceed();
    held.join().unwrap();
}

#[test]
fn no_twin_waits_after_the_stop() {
    let relay = Arc::new(Relay::default());
    let thread = twin(&relay, 0, 2 * QUEUE_LIMIT as u64, Some(SECOND_NS));
    relay.wait_for_news(LONG);
    assert!(!thread.is_finished());
    relay.stop();
    thread.join().unwrap();
    assert_eq!(relay.take(false).intervals.len(), 2 * QUEUE_LIMIT);
    assert!(relay.is_done());
}

#[test]
fn a_twin_runs_ahead_of_its_reader_by_a_bounded_queue_and_loses_nothing() {
    let relay = Arc::new(Relay::default());
    let count = 3 * QUEUE_LIMIT as u64;
    let thread = twin(&relay, 0, count, None);
    let mut all = Vec::new();
    while !relay.is_done() {
        relay.wait_for_news(LONG);
        let news = relay.take(false);
        assert!(news.intervals.len() <= QUEUE_LIMIT);
        all.extend(starts(&news));
    }
    thread.join().unwrap();
    assert!(all.into_iter().eq((0..count).map(|number| (0, number))));
}
