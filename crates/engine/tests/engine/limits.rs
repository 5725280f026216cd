//! What the kernel refuses for a limit of the user: the job goes on without it and says so.

use std::{os::unix::process::CommandExt, process::Command};

use engine::Options;
use workload::Op;

use crate::support::*;

/// Runs the rest of the test called `name` in a process of user `uid`, whom nobody else is, so that the limits it is given are its
/// alone; whether this is that process. `None`: it has run there, or cannot.
fn as_user(uid: u32, name: &str) -> Option<()> {
    // SAFETY: a system call without arguments.
    match unsafe { libc::getuid() } {
        own if own == uid => return Some(()),
        0 => {}
        _ => {
            eprintln!("skipped: needs root, to become another user");
            return None;
        }
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let child = child
        .args(["--exact", name, "--nocapture"])
        .uid(uid)
        .gid(uid);
    match child.output() {
        Ok(output) => assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => eprintln!("skipped: another user cannot run this test: {error}"),
    }
    None
}

fn limit(resource: libc::__rlimit_resource_t, most: u64) {
    let limits = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: the call reads one rlimit.
    let done = unsafe { libc::setrlimit(resource, &limits) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn sqpoll_that_the_kernel_refuses_is_told_and_the_load_threads_submit_themselves() {
    let name =
        "limits::sqpoll_that_the_kernel_refuses_is_told_and_the_load_threads_submit_themselves";
    if as_user(54_321, name).is_none() {
        return;
    }
    let file = Scratch::filled(MIB, 1);
    let mut job = job(Op::Read);
    job.until = count(1000);
    job.sqpoll = true;
    // Room for the load thread, none for the kernel's.
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().count() as u64;
    limit(libc::RLIMIT_NPROC, tasks + 1);
    let run = engine::start(&job, &[file.spec(MIB)], &Options::default()).unwrap();
    let setup = run.setup().targets.remove(0);
    let recording = run.join().unwrap().remove(0);
    assert_eq!(recording.completed(), 1000);
    assert!(!setup.ring.contains(&"sqpoll".into()), "{setup:?}");
    for notes in [&setup.notes, &recording.notes] {
        let told = notes
            .iter()
            .find(|note| note.contains("SQPOLL was asked for and refused"));
        let told = told.unwrap_or_else(|| panic!("{notes:?}"));
        assert!(told.contains("os error 11"), "{told}");
    }
}

#[test]
fn buffers_that_may_not_be_locked_are_told_and_every_io_is_done_without() {
    let name = "limits::buffers_that_may_not_be_locked_are_told_and_every_io_is_done_without";
    if as_user(54_322, name).is_none() {
        return;
    }
    let file = Scratch::filled(MIB, 1);
    let mut job = job(Op::Read);
    job.mix.ops = vec![block(Op::Read, 65_536, 1.0)];
    job.until = count(1000);
    // Room for the queues, which count too; the buffers take 512 KiB.
    limit(libc::RLIMIT_MEMLOCK, 128 << 10);
    let run = engine::start(&job, &[file.spec(MIB)], &Options::default()).unwrap();
    let setup = run.setup().targets.remove(0);
    let recording = run.join().unwrap().remove(0);
    assert_eq!(recording.completed(), 1000);
    assert_eq!(setup.backend, "io_uring", "{setup:?}");
    assert!(!setup.registered_buffers, "{setup:?}");
    let told = recording
        .notes
        .iter()
        .any(|note| note.contains("raise RLIMIT_MEMLOCK"));
    assert!(told, "{:?}", recording.notes);
}

#[test]
fn queues_that_may_not_be_locked_leave_a_thread_per_io_and_the_remedy_is_named() {
    let name =
        "limits::queues_that_may_not_be_locked_leave_a_thread_per_io_and_the_remedy_is_named";
    if as_user(54_323, name).is_none() {
        return;
    }
    let file = Scratch::filled(MIB, 1);
    let mut job = job(Op::Read);
    job.until = count(1000);
    limit(libc::RLIMIT_MEMLOCK, 0);
    let run = engine::start(&job, &[file.spec(MIB)], &Options::default()).unwrap();
    let setup = run.setup().targets.remove(0);
    assert_eq!(run.join().unwrap()[0].completed(), 1000);
    // Some kernels do not count the queues.
    let told = setup
        .fallback
        .is_some_and(|reason| reason.contains("raise RLIMIT_MEMLOCK"));
    assert!(told || !setup.registered_buffers);
    let only_ring = Options {
        backend: engine::Backend::IoUring,
        ..Options::default()
    };
    if let Err(error) = engine::start(&job, &[file.spec(MIB)], &only_ring) {
        assert!(
            error.to_string().contains("raise RLIMIT_MEMLOCK"),
            "{error}"
        );
    }
}
