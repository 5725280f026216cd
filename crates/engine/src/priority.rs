//! Gives load threads the I/O priority that a job asks for. The kernel gives it to all that a thread submits.

use std::{io, thread};

use workload::Priority;

/// The next argument is the number of a thread, 0 the one that asks (`linux/ioprio.h`).
const IOPRIO_WHO_PROCESS: libc::c_int = 1;

/// Gives it to the thread that calls.
///
/// # Errors
/// The kernel refuses it: EPERM without the right to the realtime class.
pub(crate) fn take(priority: Priority) -> io::Result<()> {
    // SAFETY: the call takes three numbers and touches no memory.
    let done = unsafe {
        libc::syscall(
            libc::SYS_ioprio_set,
            IOPRIO_WHO_PROCESS,
            0,
            priority.value() as libc::c_int,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns whether a thread would get it, as one that ends at once finds out.
///
/// # Errors
/// As [`take`].
pub(crate) fn check(priority: Priority) -> io::Result<()> {
    thread::spawn(move || take(priority))
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the thread that asked ended")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::PriorityClass;

    #[test]
    fn a_thread_has_the_priority_that_it_took() {
        let idle = Priority {
            class: PriorityClass::Idle,
            level: 0,
        };
        let found = thread::spawn(move || {
            take(idle).unwrap();
            // SAFETY: as above.
            unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) }
        });
        assert_eq!(found.join().unwrap(), i64::from(idle.value()));
        check(idle).unwrap();
    }
}
