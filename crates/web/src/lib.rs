//! The twin inside a page: a virtual drive or system behind a plain C interface, JSON in and out, for WebAssembly.
//!
//! The page asks for room for its text with [`input`], writes it there, and calls [`make`] or [`run`] with its length.
//! They return the length of the answer, which lies at [`output`] until the next call. An answer is a JSON object; one
//! with the key `error` says in one line why there is no other. See `tools/build-wasm`.

pub mod figures;
mod played;
mod session;

use std::cell::RefCell;

pub use session::{Session, SessionError};

/// What passes between the page and here, and the device that it plays with.
#[derive(Default)]
struct Room {
    input: Vec<u8>,
    output: Vec<u8>,
    session: Session,
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::default();
}

/// Returns where to write `length` bytes of a request.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    ROOM.with_borrow_mut(|room| {
        room.input.resize(length, 0);
        room.input.as_mut_ptr()
    })
}

/// Returns where the last answer lies.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    ROOM.with_borrow(|room| room.output.as_ptr())
}

/// Makes a fresh device, as [`Session::make`]. Returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn make() -> usize {
    answer(|session, request| session.make(request))
}

/// Runs a job on the device, as [`Session::run`]. Returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn run() -> usize {
    answer(|session, request| session.run(request))
}

/// Gives the whole recording of the last job, as [`Session::recording`]. Returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn recording() -> usize {
    answer(|session, _| session.recording())
}

fn answer(ask: impl FnOnce(&mut Session, &[u8]) -> Result<Vec<u8>, SessionError>) -> usize {
    ROOM.with_borrow_mut(|room| {
        let Room {
            input,
            output,
            session,
        } = room;
        *output = ask(session, input).unwrap_or_else(|error| error.to_json());
        output.len()
    })
}
