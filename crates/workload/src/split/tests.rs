use proptest::prelude::*;

use super::*;

fn job(load: &str) -> Job {
    let text = format!(
        "mix = \"read\"\nblock = \"4KiB\"\npattern = \"uniform\"\nuntil = {{ time = \"1s\" }}\nload = {load}"
    );
    Job::from_toml(&text, "job.toml").unwrap()
}

fn loads(load: &str, targets: usize) -> Vec<(u32, u32)> {
    let jobs = job(load).of_targets(targets).unwrap();
    let shape = |job: &Job| (job.load.threads(), job.load.iodepth());
    jobs.iter().map(shape).collect()
}

#[test]
fn a_load_is_each_targets_own_unless_it_is_split() {
    assert_eq!(loads("{ threads = 4, iodepth = 32 }", 3), [(4, 32); 3]);
}

#[test]
fn a_split_keeps_the_io_in_flight_of_all_targets_together() {
    let even = "{ threads = 8, iodepth = 32, split = \"even\" }";
    assert_eq!(loads(even, 4), [(2, 32); 4]);
    assert_eq!(loads(even, 3), [(2, 43), (1, 85), (1, 85)]);
    assert_eq!(loads(even, 1), [(8, 32)]);
    let skewed = "{ iodepth = 256, split = [50, 30, 20] }";
    assert_eq!(loads(skewed, 3), [(1, 128), (1, 77), (1, 51)]);
}

#[test]
fn a_split_divides_rates_and_their_schedules() {
    let scheduled = job(
        r#"{ iodepth = 8, split = [3, 1], rate = [{ rate = "4k/s", to = "8k/s", time = "1s" }] }"#,
    );
    let jobs = scheduled.of_targets(2).unwrap();
    let phases: Vec<_> = jobs.iter().map(|job| job.pace.rates[0]).collect();
    assert_eq!((phases[0].from_iops, phases[0].to_iops), (3e3, 6e3));
    assert_eq!((phases[1].from_iops, phases[1].to_iops), (1e3, 2e3));
    let rate = |job: &Job| match job.load {
        Load::Open { rate_iops, .. } => rate_iops,
        Load::Closed { .. } => 0.0,
    };
    assert_eq!((rate(&jobs[0]), rate(&jobs[1])), (4.5e3, 1.5e3));
}

#[test]
fn what_writes_wait_for_is_that_of_the_job_on_every_target() {
    let text = r#"
sync = "data"
until = { time = "1s" }
streams = [{ name = "log", mix = "write", block = "4KiB", pattern = "sequential", load = {} }]
"#;
    let job = Job::from_toml(text, "job.toml").unwrap();
    assert_eq!(job.streams[0].job.sync, crate::Sync::Data);
    let jobs = job.of_targets(2).unwrap();
    assert!(jobs.iter().all(|job| job.sync == crate::Sync::Data));
}

#[test]
fn streams_are_split_one_by_one() {
    let text = r#"
until = { time = "1s" }
streams = [
  { name = "hot", mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 64, split = [3, 1] } },
  { name = "own", mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 2 } },
]
"#;
    let jobs = Job::from_toml(text, "job.toml").unwrap().of_targets(2);
    let depths = |job: &Job| -> Vec<u32> {
        let streams = job.streams.iter();
        streams.map(|stream| stream.job.load.iodepth()).collect()
    };
    let depths: Vec<_> = jobs.unwrap().iter().map(depths).collect();
    assert_eq!(depths, [[48, 2], [16, 2]]);
}

#[test]
fn drives_share_a_load_that_every_host_has_whole() {
    let over_drives = "{ threads = 6, iodepth = 32, split = \"drives\" }";
    let hosts = job(over_drives).of_hosts(4).unwrap();
    assert!(hosts.iter().all(|one| *one == job(over_drives)));
    assert_eq!(loads(over_drives, 24), [(1, 8); 24]);
    assert_eq!(job(over_drives).on_hosts(4).load.threads(), 24);
}

#[test]
fn what_is_for_all_hosts_is_divided_over_them_and_then_over_the_drives_of_each() {
    let even = "{ threads = 4, iodepth = 32, split = \"even\" }";
    for host in job(even).of_hosts(2).unwrap() {
        let drives = host.of_targets(4).unwrap();
        let in_flight = |one: &Job| one.load.threads() * one.load.iodepth();
        assert_eq!(drives.iter().map(in_flight).collect::<Vec<_>>(), [16; 4]);
    }
}

#[test]
fn a_stream_on_some_drives_is_on_the_same_drives_from_every_host() {
    let job = Job::from_toml(ON_DRIVES, "job.toml").unwrap();
    for host in job.of_hosts(2).unwrap() {
        let drives = host.of_targets(2).unwrap();
        assert_eq!(drives[0].streams.len(), 1);
        assert_eq!(drives[1].streams[0].name, "second");
    }
}

const ON_DRIVES: &str = r#"
until = { time = "1s" }
streams = [
  { name = "first", mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, targets = [1] },
  { name = "second", mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, targets = [2] },
]
"#;

const ON_TARGETS: &str = r#"
until = { time = "1s" }
streams = [
  { name = "first", mix = "read", block = "4KiB", pattern = "uniform", load = { iodepth = 4 }, targets = [1] },
  { name = "others", mix = "write", block = "4KiB", pattern = "uniform", load = { iodepth = 6, split = [2, 1] }, targets = [2, 3] },
]
"#;

#[test]
fn a_stream_runs_on_its_own_targets_alone() {
    let jobs = Job::from_toml(ON_TARGETS, "job.toml")
        .unwrap()
        .of_targets(3);
    let streams = |job: &Job| -> Vec<(String, u32)> {
        let streams = job.streams.iter();
        streams
            .map(|stream| (stream.name.clone(), stream.job.load.iodepth()))
            .collect()
    };
    let jobs = jobs.unwrap();
    assert_eq!(streams(&jobs[0]), [("first".to_owned(), 4)]);
    assert_eq!(streams(&jobs[1]), [("others".to_owned(), 4)]);
    assert_eq!(streams(&jobs[2]), [("others".to_owned(), 2)]);
    assert!(!jobs[0].writes());
}

#[test]
fn streams_and_targets_that_do_not_meet_are_refused() {
    let refusal = |targets| {
        let job = Job::from_toml(ON_TARGETS, "job.toml").unwrap();
        job.of_targets(targets).unwrap_err().to_string()
    };
    assert!(refusal(2).contains("stream \"others\" is for target 3, and there are 2"));
    assert!(refusal(4).contains("target 4 of 4 has no stream"));
}

#[test]
fn a_split_that_fits_no_target_is_refused_with_the_remedy() {
    let refusal = |load: &str, targets| job(load).of_targets(targets).unwrap_err().to_string();
    let missing = refusal("{ iodepth = 8, split = [1, 1] }", 3);
    assert!(missing.contains("2 shares for 3 targets"), "{missing}");
    let thin = refusal("{ iodepth = 8, split = [99, 1] }", 2);
    assert!(thin.contains("leave none for target 2"), "{thin}");
}

proptest! {
    #[test]
    fn parts_add_up_and_are_within_one_of_their_shares(
        total in 1_u64..1 << 26,
        weights in prop::collection::vec(0.01_f64..100.0, 1..64),
    ) {
        let all: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / all).collect();
        let parts = whole_parts(total, &shares);
        prop_assert_eq!(parts.iter().sum::<u64>(), total);
        for (part, share) in parts.iter().zip(&shares) {
            prop_assert!((*part as f64 - total as f64 * share).abs() < 1.0 + 1e-6);
        }
    }
}
