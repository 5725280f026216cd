//! The threads of a start: what each of them does, and that it begins to set itself up.

use std::{sync::Arc, thread, time::Instant};

use workload::{Job, Limits, RequestStream};

use super::Starter;
use crate::{
    EngineError, TargetKind, calls,
    driver::ThreadSpec,
    message::ThreadContext,
    null, priority,
    run::LoadThread,
    target::Target,
    threads::{self, Source, Worker},
    uring,
};

/// What one load thread does.
struct ThreadPart {
    /// The job, or its stream's.
    job: Arc<Job>,
    stream: Option<Arc<str>>,
    exitall: bool,
    /// Its number among the threads of that job.
    number: u32,
    requests: RequestStream,
    limits: Limits,
}

impl Starter<'_> {
    pub(super) fn spawn_ring_threads(
        &mut self,
        index: usize,
        target: &Arc<Target>,
    ) -> Result<(), EngineError> {
        for (thread, part) in self.parts(index, target)?.into_iter().enumerate() {
            let spec = self.thread_spec(index, thread, target, part);
            let of = spec.context.clone();
            let names = spec.job.is_metadata();
            let body = match target.spec.kind {
                TargetKind::Null => null::run,
                TargetKind::FileSet if names => calls::run,
                _ => uring::run,
            };
            let job = Arc::clone(&spec.job);
            self.spawn(target, &of, &job, move || body(spec))?;
        }
        Ok(())
    }

    fn thread_spec(
        &mut self,
        index: usize,
        thread: usize,
        target: &Arc<Target>,
        part: ThreadPart,
    ) -> ThreadSpec {
        let cpu = self.cpus.next();
        let reap_min = self.options.reap_min.max(part.job.pace.reap);
        ThreadSpec {
            job: part.job,
            whole: Arc::clone(&self.jobs[index]),
            target: Arc::clone(target),
            stream: part.requests,
            number: part.number,
            limits: part.limits,
            clock: self.clock,
            cpu,
            poll: self.options.poll,
            sqpoll: self.options.sqpoll || self.jobs[index].sqpoll,
            reap_min,
            huge_pages: self.options.huge_pages || self.jobs[index].huge_pages,
            gpu: self.jobs[index].gpu,
            drain_timeout: self.options.drain_timeout,
            seed: self.content_seed(),
            draw_seed: self.stream_seed(index),
            context: self.context(index, thread, part.stream, part.exitall),
        }
    }

    pub(super) fn spawn_workers(
        &mut self,
        index: usize,
        target: &Arc<Target>,
        reason: &str,
    ) -> Result<(), EngineError> {
        let mut members = 0..;
        for part in self.parts(index, target)? {
            let cpu = self.cpus.next();
            let limits = part.limits;
            let iodepth = part.job.load.iodepth();
            let source = Arc::new(Source::new(part.requests, limits, iodepth));
            let notes = threads::not_done(&part.job, &self.jobs[index], target, self.options);
            for (place, member) in (0..iodepth).zip(members.by_ref()) {
                let worker = Worker {
                    job: Arc::clone(&part.job),
                    target: Arc::clone(target),
                    source: Arc::clone(&source),
                    place,
                    notes: notes.clone(),
                    clock: self.clock,
                    end_ns: limits.time_ns,
                    cpu,
                    seed: self.content_seed(),
                    fallback: Some(reason.to_owned()),
                    context: self.context(index, member, part.stream.clone(), part.exitall),
                };
                let of = worker.context.clone();
                self.spawn(target, &of, &part.job, move || threads::run(worker))?;
            }
        }
        Ok(())
    }

    /// Returns what each thread does: its I/O, its requests and its limits.
    fn parts(&mut self, index: usize, target: &Target) -> Result<Vec<ThreadPart>, EngineError> {
        let job = Arc::clone(&self.jobs[index]);
        let stream_error = |source| EngineError::Stream {
            path: target.spec.path.clone(),
            source,
        };
        self.end_ns = self.end_ns.min(job.until.time_ns.unwrap_or(u64::MAX));
        let streams = job.streams.iter();
        let streams: Vec<(Arc<str>, Arc<Job>)> = streams
            .map(|stream| (stream.name.as_str().into(), Arc::new(stream.job.clone())))
            .collect();
        let seed = self.stream_seed(index);
        let requests = RequestStream::of_threads(&job, target.geometry, seed);
        let parts = requests.map_err(stream_error)?.into_iter().zip(job.parts());
        (0..)
            .zip(parts)
            .map(|(thread, (requests, part))| {
                let stream = part.stream.map(|index| &streams[index]);
                let limits = job.thread_limits(thread, target.geometry);
                let limits = limits.map_err(stream_error)?;
                Ok(ThreadPart {
                    job: Arc::clone(stream.map_or(&job, |(_, job)| job)),
                    stream: stream.map(|(name, _)| Arc::clone(name)),
                    exitall: job.exits_all(part.stream),
                    number: part.thread,
                    limits: requests.limited(limits),
                    requests,
                })
            })
            .collect()
    }

    /// Makes the requests of targets differ, so that members of an array are not one drive counted N times.
    fn stream_seed(&self, target: usize) -> u64 {
        self.options.seed ^ (target as u64) << 32
    }

    /// Makes the data written by the next thread differ from those of all others, whatever their targets. Its number
    /// among them is in the bits that its stamps begin with. The data also differ from those of another run, with the
    /// same seed or on another host. A target that keeps equal data once would have them already.
    fn content_seed(&self) -> u64 {
        self.chance ^ (self.threads.len() as u64 + 1)
    }

    fn context(
        &self,
        target: usize,
        member: usize,
        stream: Option<Arc<str>>,
        exitall: bool,
    ) -> ThreadContext {
        let (capacity_bytes, failed) = self.failures[target].clone();
        ThreadContext {
            target,
            member,
            stream,
            sender: self.sender.clone(),
            shared: Arc::clone(&self.shared),
            errors: self.jobs[target].errors,
            failed,
            ended: Arc::clone(&self.ended[target]),
            exitall,
            capacity_bytes,
            issuing: Arc::default(),
        }
    }

    /// Starts the thread that has this post.
    fn spawn(
        &mut self,
        opened: &Target,
        context: &ThreadContext,
        job: &Job,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), EngineError> {
        for asked in job.priorities() {
            priority::check(asked).map_err(|source| EngineError::Priority {
                path: opened.spec.path.clone(),
                class: asked.class.name(),
                source,
            })?;
        }
        let own = job.priority;
        let body = move || {
            // What was checked above is given: a thread has the rights of the one that started it.
            let _given = own.map(priority::take);
            body();
        };
        let handle = thread::Builder::new()
            .name(format!("io-{}.{}", context.target, context.member))
            .spawn(body)
            .map_err(|source| EngineError::Thread {
                path: opened.spec.path.clone(),
                thread: context.member as u32,
                source,
            })?;
        self.threads.push(LoadThread {
            target: context.target,
            member: context.member,
            stream: context.stream.clone(),
            issuing: Arc::clone(&context.issuing),
            handle,
            heard: Instant::now(),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, iter};

    use workload::{Op, PriorityDraw, Request};

    use super::*;
    use crate::{Options, TargetSpec, buffers::STAMP_SHIFT};

    /// Without io_uring each I/O in flight has a thread.
    const JOB: &str = r#"{"mix": "write", "block": "4KiB", "pattern": "uniform",
        "load": {"threads": 1, "iodepth": 4100}, "until": {"count": 1}}"#;

    #[test]
    fn no_two_threads_write_the_same_data_however_many_a_target_has() {
        let job = Arc::new(Job::from_json(JOB, "job.json").unwrap());
        let specs = ["null:one", "null:other"].map(|name| TargetSpec {
            path: name.into(),
            kind: TargetKind::Null,
            capacity_bytes: 1 << 30,
            held: None,
        });
        let options = Options::default();
        let mut starter = Starter::new(vec![Arc::clone(&job); 2], &options, &specs);
        let mut stamps = HashSet::new();
        for (index, spec) in specs.iter().enumerate() {
            let target = Target::open(spec, &job).unwrap();
            for member in 0..job.load.iodepth() as usize {
                assert!(stamps.insert(starter.content_seed() << STAMP_SHIFT));
                let context = starter.context(index, member, None, false);
                starter.spawn(&target, &context, &job, || ()).unwrap();
            }
        }
    }

    #[test]
    fn two_runs_of_a_seed_give_the_same_io_the_same_priority_and_write_other_data() {
        let text = r#"{"mix": "read", "block": "4KiB", "pattern": "uniform", "load": {},
            "priority_shares": [{"share": "50%", "class": "idle"}], "until": {"count": 1}}"#;
        let job = Arc::new(Job::from_json(text, "job.json").unwrap());
        let spec = TargetSpec {
            path: "null:".into(),
            kind: TargetKind::Null,
            capacity_bytes: 1 << 30,
            held: None,
        };
        let read = Request {
            op: Op::Read,
            offset_bytes: 0,
            size_bytes: 4096,
            placement: Request::NO_PLACEMENT,
        };
        let run = |seed| {
            let options = Options {
                seed,
                ..Options::default()
            };
            let specs = [spec.clone()];
            let mut starter = Starter::new(vec![Arc::clone(&job)], &options, &specs);
            let target = Arc::new(Target::open(&spec, &job).unwrap());
            let part = starter.parts(0, &target).unwrap().remove(0);
            let thread = starter.thread_spec(0, 0, &target, part);
            let mut draw = PriorityDraw::new(&job, thread.draw_seed, 0);
            let drawn: Vec<u16> = iter::repeat_with(|| draw.value_for(&read))
                .take(64)
                .collect();
            (drawn, thread.seed)
        };
        let [(one, its_data), (again, other_data), (other, _)] = [run(1), run(1), run(2)];
        assert_eq!(one, again);
        assert_ne!(one, other);
        assert_ne!(its_data, other_data);
    }
}
