use super::*;

fn event(stage: Stage, time_ns: u64, offset_bytes: u64) -> Event {
    Event {
        stage,
        time_ns,
        offset_bytes,
        size_bytes: 4096,
        op: Operation::Write,
        flags: Flags::default(),
        device: 0,
        asker: Asker {
            process: (stage == Stage::Queue).then_some(7),
            pid: None,
        },
        cpu: None,
    }
}

/// Issue, latency and process of an I/O.
type Seen = (u64, Option<u64>, Option<u32>);

fn all(events: &[Event]) -> (Vec<Seen>, Pairing) {
    let mut pairing = Pairing::default();
    let mut ios = Vec::new();
    for event in events {
        pairing.push(event);
        ios.extend(std::iter::from_fn(|| pairing.pop()));
    }
    ios.extend(std::iter::from_fn(|| pairing.pop_rest()));
    let seen = ios
        .iter()
        .map(|io| (io.issue_ns, io.latency_ns, io.process));
    (seen.collect(), pairing)
}

#[test]
fn a_write_of_nothing_is_left_to_the_flush_that_it_asks_for() {
    use Stage::{Complete, Issue, Queue};
    let asks = |stage, time_ns| Event {
        size_bytes: 0,
        ..event(stage, time_ns, 0)
    };
    let flush = |stage, time_ns| Event {
        op: Operation::Flush,
        ..asks(stage, time_ns)
    };
    let (ios, pairing) = all(&[
        asks(Queue, 10),
        flush(Issue, 11),
        flush(Complete, 30),
        asks(Complete, 31),
    ]);
    assert_eq!(ios, [(11, Some(19), None)]);
    assert_eq!((pairing.unfinished, pairing.unknown), (0, 0));
}

#[test]
fn an_issue_stands_for_its_queueing_and_keeps_who_queued_it() {
    use Stage::{Complete, Issue, Queue};
    let (ios, _) = all(&[
        event(Queue, 10, 0),
        event(Queue, 11, 4096),
        event(Issue, 20, 0),
        event(Complete, 50, 0),
    ]);
    // The second was merged into the first: it was never issued.
    assert_eq!(ios, [(20, Some(30), Some(7))]);
}

#[test]
fn a_device_without_issues_counts_from_the_queueing() {
    use Stage::{Complete, Queue};
    let (ios, _) = all(&[event(Queue, 10, 0), event(Complete, 50, 0)]);
    assert_eq!(ios, [(10, Some(40), Some(7))]);
}

#[test]
fn ios_come_in_the_order_of_their_issue_and_the_unfinished_are_counted() {
    use Stage::{Complete, Issue};
    let (ios, pairing) = all(&[
        event(Issue, 1, 0),
        event(Issue, 2, 4096),
        event(Issue, 3, 8192),
        event(Complete, 4, 8192),
        event(Complete, 5, 0),
        event(Complete, 6, 1 << 20),
    ]);
    assert_eq!(
        ios,
        [(1, Some(4), None), (2, None, None), (3, Some(1), None)]
    );
    assert_eq!((pairing.unfinished, pairing.unknown), (1, 1));
}

#[test]
fn a_completion_takes_the_issued_request_of_its_own_size() {
    use Stage::{Complete, Issue};
    let sized = |stage, time_ns, size_bytes| Event {
        size_bytes,
        ..event(stage, time_ns, 0)
    };
    let (ios, pairing) = all(&[
        sized(Issue, 1, 65536),
        sized(Issue, 2, 4096),
        sized(Complete, 3, 4096),
        sized(Complete, 10, 65536),
    ]);
    assert_eq!(ios, [(1, Some(9), None), (2, Some(1), None)]);
    assert_eq!((pairing.unfinished, pairing.unknown), (0, 0));
}

#[test]
fn equal_requests_in_flight_together_are_each_an_io() {
    use Stage::{Complete, Issue};
    let (ios, pairing) = all(&[
        event(Issue, 1, 0),
        event(Issue, 2, 0),
        event(Issue, 3, 0),
        event(Complete, 4, 0),
        event(Complete, 6, 0),
        event(Complete, 8, 0),
    ]);
    let expected = [(1, Some(3)), (2, Some(4)), (3, Some(5))];
    assert_eq!(ios, expected.map(|(issue, latency)| (issue, latency, None)));
    assert_eq!((pairing.unfinished, pairing.unknown), (0, 0));
}

#[test]
fn a_request_that_the_device_gave_back_is_one_io_from_its_last_issue() {
    use Stage::{Complete, Issue, Queue, Requeue};
    let (ios, pairing) = all(&[
        event(Queue, 1, 0),
        event(Issue, 2, 0),
        event(Requeue, 3, 0),
        event(Issue, 5, 0),
        event(Complete, 9, 0),
    ]);
    assert_eq!(ios, [(5, Some(4), Some(7))]);
    assert_eq!((pairing.unfinished, pairing.unknown), (0, 0));
}

#[test]
fn a_request_that_found_no_room_and_was_asked_for_again_is_one_io() {
    use Stage::{Complete, Issue, Queue, Refused};
    let (ios, pairing) = all(&[
        event(Queue, 1, 0),
        event(Refused, 2, 0),
        event(Queue, 5, 0),
        event(Issue, 6, 0),
        event(Complete, 9, 0),
    ]);
    assert_eq!(ios, [(6, Some(3), Some(7))]);
    assert_eq!((pairing.unfinished, pairing.unknown), (0, 0));
}

#[test]
fn what_a_device_says_of_an_issued_request_ends_it() {
    use Stage::{Issue, Queue, Refused};
    let (ios, _) = all(&[event(Queue, 1, 0), event(Issue, 2, 0), event(Refused, 8, 0)]);
    assert_eq!(ios, [(2, Some(6), Some(7))]);
}

#[test]
fn who_queued_is_known_for_every_request_of_a_device_with_issues() {
    use Stage::{Complete, Issue, Queue};
    let (ios, _) = all(&[
        event(Queue, 1, 0),
        event(Issue, 2, 0),
        event(Complete, 3, 0),
        event(Queue, 4, 4096),
        event(Issue, 5, 4096),
        event(Complete, 6, 4096),
    ]);
    assert_eq!(ios, [(2, Some(1), Some(7)), (5, Some(1), Some(7))]);
}

#[test]
fn more_requests_at_one_place_than_are_tried_are_all_completed() {
    let mut pairing = Pairing::default();
    let many = 100_000;
    for time_ns in 0..many {
        pairing.push(&event(Stage::Issue, time_ns, 0));
    }
    let odd = Event {
        size_bytes: 512,
        ..event(Stage::Complete, many, 0)
    };
    for _ in 0..many {
        pairing.push(&odd);
    }
    assert_eq!(std::iter::from_fn(|| pairing.pop()).count() as u64, many);
    assert_eq!((pairing.unfinished, pairing.unknown), (0, 0));
}
