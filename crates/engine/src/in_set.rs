//! A thread's requests to a set of files: places in the space of all files become a file and an offset in it. The ring
//! knows the files that are open by their number in its table. A file that is not open is opened in line with the load.
//! Where the table is full, it takes the number of one without I/O in flight.

use std::{collections::VecDeque, io, mem, sync::Arc, time::Instant};

use io_uring::{
    cqueue,
    squeue::{Entry, PushError, SubmissionQueue},
    types::Fixed,
};
use workload::{FileSet, Request};

use crate::{
    buffers::Buffers,
    file_set::{Directory, Starts},
    protocol::Protocol,
    ring::{FileTable, NO_FILE},
    submission::Encoder,
};

/// Files that could not be opened and are named one by one.
const NAMED_MAX: usize = 4;
const CLOSED: u32 = u32::MAX;

/// The requests of one thread, by way of the files' own entries.
pub(crate) struct InSet {
    encoder: Encoder,
    directory: Arc<Directory>,
    first: u32,
    starts: Starts,
    table: FileTable,
    /// The number of each file in the table, or `CLOSED`.
    numbers: Box<[u32]>,
    /// What the table holds, in the order of opening, where it does not hold all.
    open: VecDeque<u32>,
    in_flight: Box<[u32]>,
    of_slot: Box<[u32]>,
    /// Why the file of a slot's request could not be opened, as a negative errno; 0: it is open.
    unopened: Box<[i32]>,
    opened: u64,
    opened_ns: u64,
    faults: Vec<String>,
}

impl InSet {
    /// The files that are thread `thread`'s of `threads` by `set`, for `iodepth` requests in flight. All are opened where `table` holds
    /// them all.
    pub(crate) fn new(
        encoder: Encoder,
        directory: &Arc<Directory>,
        set: &FileSet,
        table: FileTable,
        (thread, threads): (u32, u32),
        iodepth: u32,
    ) -> io::Result<Self> {
        let own = set.files_of(thread, threads);
        let (first, count) = (own.start, own.len());
        let starts = Starts::new(set, own);
        let mut made = Self {
            encoder,
            directory: Arc::clone(directory),
            first,
            starts,
            numbers: vec![CLOSED; count].into(),
            open: VecDeque::new(),
            in_flight: vec![0; count].into(),
            of_slot: vec![0; iodepth as usize].into(),
            unopened: vec![0; iodepth as usize].into(),
            table,
            opened: 0,
            opened_ns: 0,
            faults: Vec::new(),
        };
        if made.holds_all() {
            for file in 0..count as u32 {
                made.open_as(file, file)?;
            }
        }
        Ok(made)
    }

    fn holds_all(&self) -> bool {
        self.numbers.len() <= self.table.len() as usize
    }

    /// Opens a file as a number of the table.
    fn open_as(&mut self, file: u32, number: u32) -> io::Result<()> {
        let opened = self.directory.file(self.first + file)?;
        self.table.put(number, &opened)?;
        self.numbers[file as usize] = number;
        Ok(())
    }

    /// Opens a file in line with the load. Returns the negative errno of one that cannot be opened, whose request fails.
    #[cold]
    fn open_in_line(&mut self, file: u32) -> Result<u32, i32> {
        let begin = Instant::now();
        let number = self.free_number();
        if let Err(error) = self.open_as(file, number) {
            if self.faults.len() < NAMED_MAX {
                let path = self.directory.set.path(self.first + file);
                self.faults
                    .push(format!("{path} cannot be opened: {error}"));
            }
            self.table.give_back(number);
            return Err(-error.raw_os_error().unwrap_or(libc::EIO));
        }
        self.open.push_back(file);
        self.opened += 1;
        self.opened_ns += begin.elapsed().as_nanos() as u64;
        Ok(number)
    }

    /// Returns a number that no file has: a free one, or that of the file which was opened first and has nothing in
    /// flight.
    fn free_number(&mut self) -> u32 {
        if let Some(number) = self.table.take() {
            return number;
        }
        let idle = |&file: &u32| self.in_flight[file as usize] == 0;
        let at = self.open.iter().position(idle);
        match at.and_then(|at| self.open.remove(at)) {
            Some(file) => mem::replace(&mut self.numbers[file as usize], CLOSED),
            None => NO_FILE,
        }
    }

    #[inline(always)]
    fn number_of(&mut self, file: u32) -> Result<u32, i32> {
        match self.numbers[file as usize] {
            CLOSED => self.open_in_line(file),
            number => Ok(number),
        }
    }
}

impl Protocol for InSet {
    type Entry = Entry;
    type Completion = cqueue::Entry;

    #[inline(always)]
    fn queue(
        &mut self,
        request: &mut Request,
        slot: u16,
        buffers: &mut Buffers,
        into: &mut SubmissionQueue<'_, Entry>,
    ) -> Result<(), PushError> {
        let (file, start_bytes) = self.starts.at(request.offset_bytes);
        let (number, unopened) = match self.number_of(file) {
            Ok(number) => (number, 0),
            Err(errno) => (NO_FILE, errno),
        };
        self.unopened[usize::from(slot)] = unopened;
        self.of_slot[usize::from(slot)] = file;
        self.in_flight[file as usize] += 1;
        let inside = Request {
            offset_bytes: request.offset_bytes - start_bytes,
            ..*request
        };
        self.encoder
            .queue_to(Fixed(number), &inside, slot, buffers, into)
    }

    #[inline(always)]
    fn success(&self, request: &Request) -> i32 {
        self.encoder.success(request)
    }

    #[inline(always)]
    fn settle(&mut self, slot: u16, succeeded: bool, _buffers: &Buffers) -> bool {
        let file = self.of_slot[usize::from(slot)];
        self.in_flight[file as usize] -= 1;
        succeeded
    }

    /// The kernel says of a request without a file only that it has none.
    #[inline(always)]
    fn error(&self, slot: u16, result: i32) -> i32 {
        match self.unopened[usize::from(slot)] {
            0 => result,
            errno => errno,
        }
    }

    fn notes(&mut self) -> Vec<String> {
        let mut notes = mem::take(&mut self.faults);
        if self.opened > 0 {
            notes.push(format!(
                "files were opened in line with the load: {} by the thread of {} on, {:.1} us each",
                self.opened,
                self.directory.set.path(self.first),
                self.opened_ns as f64 / 1e3 / self.opened as f64
            ));
        }
        notes
    }
}
