//! What whoever holds a handle may rely on, on real and on virtual targets alike.

use std::{
    convert::Infallible,
    path::PathBuf,
    time::{Duration, Instant},
};

use engine::{Options, TargetKind, TargetSpec};
use load::{Handle, LoadError, TwinDevice, ssd_parameters, start_engine, start_twins};
use workload::Job;

const SECOND_NS: u64 = 1_000_000_000;
const A_DISK: &str = include_str!("disk.json");
const MOST: Duration = Duration::from_secs(20);

fn job(until: &str) -> Job {
    let text = format!(
        "mix = \"read\"\nblock = \"4KiB\"\npattern = \"uniform\"\nload = {{ threads = 1, iodepth = 4 }}\nuntil = {until}"
    );
    Job::from_toml(&text, "job.toml").expect("a job")
}

fn on_null(job: &Job) -> Box<dyn Handle> {
    let target = TargetSpec {
        path: PathBuf::from("null"),
        kind: TargetKind::Null,
        capacity_bytes: 1 << 30,
        held: None,
    };
    start_engine(job, &[target], &Options::default(), || false).expect("it starts")
}

fn disk() -> TwinDevice {
    TwinDevice::new(A_DISK, 1, None).expect("a disk")
}

fn on_disk(job: &Job) -> Box<dyn Handle> {
    start_twins(job, &[disk()], &[1], None, None, false).expect("it starts")
}

fn poll(handle: &dyn Handle) -> Vec<(usize, recording::Interval)> {
    handle.poll(MOST, || Ok::<(), Infallible>(())).unwrap()
}

fn reads(of: &recording::Interval) -> u64 {
    of.ops.values().map(|stats| stats.service.count()).sum()
}

#[test]
fn intervals_add_up_to_the_recording_on_every_kind_of_target() {
    for start in [on_null, on_disk] {
        let handle = start(&job("{ count = 500 }"));
        let mut counted = 0;
        while !handle.is_done() {
            for (target, interval) in poll(&*handle) {
                assert_eq!(target, 0);
                counted += reads(&interval);
            }
        }
        assert!(!handle.is_held());
        let [recording] = handle.result().unwrap().try_into().unwrap();
        assert_eq!(counted, 500);
        assert_eq!(recording.completed(), 500);
    }
}

#[test]
fn a_stop_ends_an_endless_wait_from_another_thread() {
    for start in [on_null, on_disk] {
        let handle = start(&job("{ time = \"100h\" }"));
        let begun = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| handle.stop());
            assert_eq!(handle.result().unwrap().len(), 1);
        });
        assert!(begun.elapsed() < MOST);
    }
}

#[test]
fn a_result_is_taken_once_and_leaves_a_handle_that_is_done() {
    for start in [on_null, on_disk] {
        let handle = start(&job("{ count = 10 }"));
        handle.result().unwrap();
        assert!(matches!(handle.result(), Err(LoadError::ResultTaken)));
        assert!(handle.is_done());
        assert!(poll(&*handle).is_empty());
    }
}

#[test]
fn a_poll_ends_with_what_its_check_says() {
    let handle = on_null(&job("{ time = \"100h\" }"));
    let mut asked = 0;
    let ended = handle.poll(MOST, || {
        asked += 1;
        if asked < 2 {
            Ok(())
        } else {
            Err("interrupted")
        }
    });
    assert_eq!(ended.unwrap_err(), "interrupted");
    handle.abandon();
}

#[test]
fn only_real_targets_have_a_start_on_the_clock() {
    let real = on_null(&job("{ time = \"100h\" }"));
    poll(&*real);
    assert!(real.started_at().is_some());
    assert_eq!(on_disk(&job("{ count = 10 }")).started_at(), None);
}

#[test]
fn twins_go_on_from_hold_to_hold_and_end_alike_however_often_they_were_held() {
    let run = |hold_every_ns| {
        let handle = start_twins(
            &job("{ time = \"4s\" }"),
            &[disk()],
            &[7],
            hold_every_ns,
            None,
            false,
        );
        let handle = handle.unwrap();
        let mut holds = 0;
        while !handle.is_done() {
            poll(&*handle);
            if handle.is_held() {
                holds += 1;
                handle.proceed();
            }
        }
        let [recording] = handle.result().unwrap().try_into().unwrap();
        (holds, recording)
    };
    let (none, free) = run(None);
    let (holds, held) = run(Some(SECOND_NS));
    assert_eq!((none, holds), (0, 4));
    assert_eq!(free, held);
}

#[test]
fn a_device_whose_job_nobody_follows_is_free_for_the_next() {
    let device = disk();
    let devices = [device];
    drop(
        start_twins(
            &job("{ time = \"100h\" }"),
            &devices,
            &[1],
            None,
            None,
            false,
        )
        .unwrap(),
    );
    let next = start_twins(&job("{ count = 10 }"), &devices, &[1], None, None, false).unwrap();
    assert_eq!(next.result().unwrap().len(), 1);
}

#[test]
fn a_logged_twin_has_every_io_that_its_recording_counts() {
    let handle = start_twins(&job("{ count = 100 }"), &[disk()], &[1], None, None, true).unwrap();
    let [recording] = handle.result().unwrap().try_into().unwrap();
    let log = handle.take_log();
    assert_eq!(log.len() as u64, recording.completed());
    assert!(
        log.iter()
            .all(|one| one.service_ns > 0 && one.size_bytes > 0)
    );
    assert_eq!(handle.take_log(), []);
}

#[test]
fn twins_without_a_seed_each_are_refused() {
    let error = start_twins(&job("{ count = 10 }"), &[disk()], &[], None, None, false).err();
    assert_eq!(error.unwrap().to_string(), "0 seeds for 1 twins");
}

#[test]
fn a_device_is_made_by_the_model_that_its_parameters_name() {
    let refusal = |text: &str, file_system| {
        let made = TwinDevice::new(text, 1, file_system);
        made.err().expect("a refusal").to_string()
    };
    assert!(refusal(r#"{"kind": "tape"}"#, None).contains("no model of kind \"tape\""));
    assert!(refusal(r#"{"kind": 3}"#, None).contains("no model of kind 3"));
    assert!(refusal(r#"{"kind": "system"}"#, Some("ext4")).contains("name it bare"));
    assert!(refusal("[]", None).contains("expected a map"));
    assert!(ssd_parameters(A_DISK).is_err(), "a disk is no SSD");
}

#[test]
fn a_file_system_takes_writes_into_memory_up_to_its_limit() {
    let bare = disk();
    let layered = TwinDevice::new(A_DISK, 1, Some("ext4")).unwrap();
    assert_eq!(bare.dirty_limit_bytes(), 0);
    assert!(layered.dirty_limit_bytes() > 0);
    assert!(layered.capacity_bytes() < bare.capacity_bytes());
    assert!(bare.scale() <= 1.0);
}
