//! Sets of files in a job.

use crate::{FileThreads, Job, Select, Visit};

fn text(files: &str, rest: &str) -> String {
    format!(
        "mix = \"read\"\nblock = \"4KiB\"\npattern = \"uniform\"\nload = {{ threads = 2 }}\nuntil = {{ time = \"1s\" }}\nfiles = {{ {files} }}\n{rest}"
    )
}

fn refusal(files: &str, rest: &str) -> String {
    Job::from_toml(&text(files, rest), "job.toml")
        .unwrap_err()
        .to_string()
}

#[test]
fn a_set_of_files_has_defaults_and_survives_its_normal_form() {
    let written = text("count = 100, size = \"1MiB\"", "");
    let job = Job::from_toml(&written, "job.toml").unwrap();
    let set = job.files.clone().unwrap();
    assert_eq!(
        (set.count, set.width, set.depth, set.open),
        (100, 1, 0, None)
    );
    assert_eq!(
        (set.select, set.visit),
        (Select::Roundrobin, Visit::Requests(1))
    );
    assert_eq!(set.threads, FileThreads::Apart);
    assert_eq!(set.total_bytes(), 100 << 20);
    let normal = serde_json::to_string(&job).unwrap();
    assert_eq!(Job::from_json(&normal, "job.json").unwrap(), job);
}

#[test]
fn what_a_set_of_files_cannot_be_is_refused_with_its_line() {
    let of = |files: &str| refusal(files, "");
    for (files, expected) in [
        ("count = 0, size = \"1MiB\"", "count is 0"),
        ("count = 4, size = 1000", "multiple of 512"),
        ("count = 4, size = \"2KiB\"", "does not fit into a file"),
        (
            "count = 1, size = \"1MiB\"",
            "2 threads have parts of 1 files",
        ),
        (
            "count = 9, size = \"1MiB\", width = 10, depth = 1",
            "more than the 9 files",
        ),
        (
            "count = 9, size = \"1MiB\", width = 10",
            "with a depth of 0",
        ),
        (
            "count = 9, size = \"1MiB\", select = { zipf = 0 }",
            "zipf is 0",
        ),
        (
            "count = 9, size = \"1MiB\", select = \"sequential\", visit = 2",
            "leave visit out",
        ),
        ("count = 9, size = \"1MiB\", visit = 0", "visit is 0"),
        ("count = 9, size = \"1MiB\", nrfiles = 2", "see `count`"),
        ("nrfiles = 9, size = \"1MiB\"", "see `count`"),
    ] {
        let message = of(files);
        assert!(message.starts_with("job.toml:6: "), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_goes_through_one_region_is_refused_beside_files() {
    for (rest, expected) in [
        ("region = \"50%\"", "leave region out"),
        ("align = \"8KiB\"", "leave align out"),
    ] {
        let message = refusal("count = 9, size = \"1MiB\"", rest);
        assert!(message.starts_with("job.toml:7: "), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    let zipf = text("count = 9, size = \"1MiB\"", "").replace("\"uniform\"", "{ zipf = 0.9 }");
    let message = Job::from_toml(&zipf, "job.toml").unwrap_err().to_string();
    assert!(message.contains("the pattern is of each file"), "{message}");
}

#[test]
fn streams_share_one_set_of_files() {
    let job = |sizes: [&str; 2]| {
        let stream = |name: &str, size: &str| {
            format!(
                "{{ name = \"{name}\", mix = \"read\", block = \"4KiB\", pattern = \"uniform\", load = {{}}, files = {{ count = 8, size = \"{size}\" }} }}"
            )
        };
        let text = format!(
            "until = {{ time = \"1s\" }}\nstreams = [{}, {}]",
            stream("one", sizes[0]),
            stream("two", sizes[1])
        );
        Job::from_toml(&text, "job.toml")
    };
    let alike = job(["64KiB", "64KiB"]).unwrap();
    assert_eq!(alike.files.unwrap().total_bytes(), 8 << 16);
    let other = job(["64KiB", "128KiB"]).unwrap_err().to_string();
    assert!(other.contains("one set of files"), "{other}");
}
