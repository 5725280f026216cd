//! What the loop asks of its pair of queues.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, Mutex, atomic::AtomicU64, mpsc},
    thread,
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
    fault: Option<&'static str>,
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

    fn fault(&mut self) -> Option<String> {
        self.fault.map(str::to_owned)
    }

    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

fn context_of(member: usize) -> ThreadContext {
    let (sender, _told) = mpsc::channel();
    ThreadContext {
        target: 0,
        member,
        stream: None,
        sender,
        shared: Arc::default(),
        errors: Errors::default(),
        ended: Arc::default(),
        exitall: false,
        failed: Arc::new(AtomicU64::new(0)),
        capacity_bytes: 1 << 30,
        issuing: Arc::default(),
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
    let mut driver = driver_of(within_the_call, most);
    drive(&mut driver).expect("no error");
    assert_eq!(driver.issued, 60);
    driver.queues.batches
}

fn driver_of(within_the_call: bool, most: usize) -> Driver<Counting> {
    let job = Job::from_toml(JOB, "job.toml").expect("a job");
    let geometry = Geometry {
        capacity_bytes: 1 << 30,
        block_bytes: 4096,
    };
    let context = context_of(0);
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
        fault: None,
    };
    Driver::new(queues, stream, 20, limits, Clock::new(), &context)
}

#[test]
fn what_the_queues_have_failed_by_is_the_failure_of_the_run_and_stops_it() {
    for fault in [None, Some("the journal ended")] {
        let mut driver = driver_of(true, 20);
        driver.queues.fault = fault;
        driver.closed().expect("no error");
        driver.hear_queues();
        assert_eq!(driver.meter.summary.failure.as_deref(), fault);
        assert_eq!(driver.meter.is_over(0), fault.is_some());
    }
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

/// A device that returns requests in another order than it took them, and takes none while a conflicting one is out.
struct Watching {
    out: VecDeque<(u16, Request)>,
    /// Requests of all threads that are out, and how many have been issued.
    seen: Arc<Mutex<(Vec<Request>, usize)>>,
    draws: u64,
}

fn conflict(one: &Request, other: &Request) -> bool {
    let end = |request: &Request| request.offset_bytes + u64::from(request.size_bytes);
    let reads = one.op == Op::Read && other.op == Op::Read;
    !reads && one.offset_bytes.max(other.offset_bytes) < end(one).min(end(other))
}

impl QueuePair for Watching {
    fn queue(&mut self, request: &mut Request, slot: u16) -> io::Result<()> {
        let mut seen = self.seen.lock().expect("no thread failed");
        let before = seen.0.iter().find(|before| conflict(before, request));
        assert_eq!(before, None, "out when {request:?} is issued");
        seen.0.push(*request);
        seen.1 += 1;
        self.out.push_back((slot, *request));
        Ok(())
    }

    fn send(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    fn submit(&mut self, _want: usize) -> io::Result<bool> {
        thread::yield_now();
        Ok(true)
    }

    fn submit_until(&mut self, _until_ns: u64) -> io::Result<()> {
        thread::yield_now();
        Ok(())
    }

    fn next(&mut self) -> Option<(u16, i32)> {
        self.draws = self
            .draws
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let draw = (self.draws >> 33) as usize;
        if draw.is_multiple_of(3) || self.out.is_empty() {
            return None;
        }
        let (slot, request) = self.out.remove(draw % self.out.len())?;
        let mut seen = self.seen.lock().expect("no thread failed");
        let place = seen.0.iter().position(|one| *one == request);
        seen.0.swap_remove(place.expect("it is out"));
        Some((slot, 0))
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

/// A trace file, removed with the value.
struct Trace(PathBuf);

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes a trace of 6,000 I/Os that often touch each other's bytes, and returns the job of three threads that replay it.
fn crowded(load: &str) -> (Job, Trace) {
    const IOS: u64 = 6_000;
    let mut bytes = b"FTHRPL1\n".to_vec();
    for value in [IOS, 1 << 18, 1000 * IOS] {
        bytes.extend(value.to_le_bytes());
    }
    for number in 0..IOS {
        let draw = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        bytes.extend((1000 * number).to_le_bytes());
        bytes.extend((512 * (draw % 480)).to_le_bytes());
        bytes.extend((512 * (1 + draw / 480 % 16) as u32).to_le_bytes());
        bytes.extend([
            [Op::Read, Op::Write][(draw >> 20 & 1) as usize] as u8,
            0,
            0,
            0,
        ]);
    }
    let file = std::env::temp_dir().join(format!(
        "fathom-{}-crowded-{}",
        std::process::id(),
        load.len()
    ));
    std::fs::write(&file, bytes).expect("a file");
    let file = Trace(file);
    let text = format!(
        r#"
mix = {{ read = 50, write = 50 }}
block = "8KiB"
pattern = {{ replay = {{ file = "{}" }} }}
load = {load}
until = {{ count = {IOS} }}
"#,
        file.0.display()
    );
    (Job::from_toml(&text, "job.toml").expect("a job"), file)
}

#[test]
fn threads_that_share_a_trace_issue_all_of_it_and_never_two_ios_that_conflict() {
    let closed = "{ threads = 3, iodepth = 8 }";
    let open = r#"{ threads = 3, iodepth = 8, rate = "1M/s", arrival = "recorded" }"#;
    type Loop = fn(&mut Driver<Watching>) -> io::Result<()>;
    let loops: [(&str, Loop); 2] = [(closed, Driver::closed), (open, Driver::open)];
    for (load, drive) in loops {
        let (job, _trace) = crowded(load);
        let geometry = Geometry {
            capacity_bytes: 1 << 30,
            block_bytes: 512,
        };
        let streams = RequestStream::of_threads(&job, geometry, 1).expect("streams");
        let seen = Arc::new(Mutex::new((Vec::new(), 0)));
        let clock = Clock::new();
        let threads: Vec<_> = (0..)
            .zip(streams)
            .map(|(number, stream)| {
                let limits = job.thread_limits(number, geometry).expect("it fits");
                let limits = stream.limited(limits);
                let queues = Watching {
                    out: VecDeque::new(),
                    seen: Arc::clone(&seen),
                    draws: u64::from(number),
                };
                thread::spawn(move || {
                    let context = context_of(number as usize);
                    let mut driver = Driver::new(queues, stream, 8, limits, clock, &context);
                    drive(&mut driver).expect("no error");
                    driver.issued
                })
            })
            .collect();
        let issued: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().expect("a thread that found no conflict"))
            .collect();
        assert_eq!(issued.iter().sum::<u64>(), 6_000, "{issued:?}");
        assert!(issued.iter().all(|&issued| issued > 500), "{issued:?}");
        let seen = seen.lock().expect("no thread failed");
        assert_eq!((seen.0.len(), seen.1), (0, 6_000));
    }
}
