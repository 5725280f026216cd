//! What the loop asks of its pair of queues.

use std::{
    sync::{Arc, atomic::AtomicU64, mpsc},
    time::Instant,
};

use workload::{Errors, Geometry};

use super::*;

const JOB: &str = r#"mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 20 }
until = { count = 60 }
"#;

/// What submitting a request takes where it takes long.
const SLOW: Duration = Duration::from_micros(10);

/// Requests complete within the call that submits them, or while they are waited for; then each takes a while to submit.
struct Counting {
    within_the_call: bool,
    queued: VecDeque<u16>,
    sent: VecDeque<u16>,
    completed: VecDeque<u16>,
    batches: Vec<usize>,
    /// Requests that it takes at once.
    most: usize,
}

impl Counting {
    fn enter(&mut self) {
        let (begin, number) = (Instant::now(), self.queued.len());
        if number > 0 {
            self.batches.push(number);
        }
        self.sent.append(&mut self.queued);
        if self.within_the_call {
            self.completed.append(&mut self.sent);
        } else {
            while begin.elapsed() < SLOW * number as u32 {
                std::hint::spin_loop();
            }
        }
    }
}

impl QueuePair for Counting {
    fn is_ready(&self) -> bool {
        self.queued.len() + self.sent.len() + self.completed.len() < self.most
    }

    fn queue(&mut self, _request: &mut Request, slot: u16) -> io::Result<()> {
        assert!(self.is_ready(), "a request that the target does not take");
        self.queued.push_back(slot);
        Ok(())
    }

    fn send(&mut self) -> io::Result<usize> {
        self.enter();
        Ok(self.completed.len())
    }

    fn submit(&mut self, want: usize) -> io::Result<bool> {
        self.enter();
        self.completed.append(&mut self.sent);
        Ok(self.completed.len() >= want)
    }

    fn submit_until(&mut self, _until_ns: u64) -> io::Result<()> {
        self.submit(0).map(drop)
    }

    fn next(&mut self) -> Option<(u16, i32)> {
        self.completed.pop_front().map(|slot| (slot, 0))
    }

    fn settle(&mut self, _slot: u16, _request: &Request, _result: i32) -> Result<(), i32> {
        Ok(())
    }

    fn idle_ns(&self) -> Option<u64> {
        None
    }

    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// How many requests each call submitted, in 60 requests at iodepth 20.
fn batches(within_the_call: bool) -> Vec<usize> {
    batches_of(within_the_call, 20, Driver::closed)
}

fn batches_of(
    within_the_call: bool,
    most: usize,
    drive: impl FnOnce(&mut Driver<Counting>) -> io::Result<()>,
) -> Vec<usize> {
    let job = Job::from_toml(JOB, "job.toml").expect("a job");
    let geometry = Geometry {
        capacity_bytes: 1 << 30,
        block_bytes: 4096,
    };
    let (sender, _told) = mpsc::channel();
    let context = ThreadContext {
        target: 0,
        member: 0,
        stream: None,
        sender,
        shared: Arc::default(),
        errors: Errors::default(),
        failed: Arc::new(AtomicU64::new(0)),
        capacity_bytes: geometry.capacity_bytes,
        issuing: Arc::default(),
    };
    let stream = RequestStream::new(&job, geometry, 1, 0).expect("a stream");
    let limits = Limits {
        time_ns: u64::MAX,
        bytes: u64::MAX,
        count: 60,
    };
    let queues = Counting {
        within_the_call,
        queued: VecDeque::new(),
        sent: VecDeque::new(),
        completed: VecDeque::new(),
        batches: Vec::new(),
        most,
    };
    let mut driver = Driver::new(queues, stream, 20, limits, Clock::new(), &context);
    drive(&mut driver).expect("no error");
    assert_eq!(driver.issued, 60);
    driver.queues.batches
}

#[test]
fn a_device_that_takes_requests_slowly_is_sent_short_batches_so_that_it_begins_while_the_rest_is_queued()
 {
    let mut short = vec![8];
    short.extend([4; 13]);
    assert_eq!(batches(false), short);
}

#[test]
fn a_target_that_completes_within_the_call_is_sent_whole_rounds_once_that_has_shown() {
    assert_eq!(batches(true), [8, 12, 20, 20]);
}

#[test]
fn a_target_is_given_no_more_than_it_takes_and_gets_the_rest_later() {
    type Loop = fn(&mut Driver<Counting>) -> io::Result<()>;
    let loops: [Loop; 3] = [Driver::closed, |driver| driver.thinking(1000), Driver::open];
    for drive in loops {
        let batches = batches_of(false, 3, drive);
        assert_eq!(batches.iter().sum::<usize>(), 60);
        assert!(batches.iter().all(|&batch| batch <= 3), "{batches:?}");
    }
}
