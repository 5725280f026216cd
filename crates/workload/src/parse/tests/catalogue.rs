use super::*;
use crate::StepKind;

/// A method that leaves its workload to a trace becomes one in Python; `tests/traces` hold those.
fn is_template(text: &str) -> bool {
    text.contains("trace = \"")
}

/// The built-in methods that are whole.
fn catalogue() -> Vec<Method> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../python/fathom/catalog/methods"
    );
    let files = std::fs::read_dir(folder).expect("the catalogue is in the tree");
    let mut methods = Vec::new();
    for file in files {
        let path = file.expect("readable").path();
        let text = std::fs::read_to_string(&path).expect("readable");
        if is_template(&text) {
            continue;
        }
        let name = path.display().to_string();
        let method = Method::from_toml(&text, &name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            path.file_stem().and_then(|stem| stem.to_str()),
            Some(&*method.name)
        );
        methods.push(method);
    }
    assert!(!methods.is_empty());
    methods
}

#[test]
fn built_in_methods_parse_run_quick_and_survive_their_normal_form() {
    for method in catalogue() {
        let json = serde_json::to_string_pretty(&method).expect("serialises");
        assert_eq!(
            Method::from_json(&json, "normal.json").as_ref(),
            Ok(&method)
        );
        let quick = method.shortened();
        let json = serde_json::to_string(&quick).expect("serialises");
        assert_eq!(
            Method::from_json(&json, "quick.json"),
            Ok(quick),
            "{}",
            method.name
        );
    }
}

#[test]
fn four_corners_is_the_published_procedure() {
    let methods = catalogue();
    let method = methods
        .iter()
        .find(|method| method.name == "four-corners")
        .expect("built in");
    let measured: Vec<_> = method
        .steps
        .iter()
        .filter(|step| step.kind == StepKind::Measure)
        .map(|step| {
            let sizes = &step.job.mix.ops[0].sizes;
            let (threads, iodepth) = (step.job.load.threads(), step.job.load.iodepth());
            let published = step.published.as_deref().unwrap_or_default();
            (
                published,
                sizes[0].size_bytes >> 10,
                threads,
                iodepth,
                step.job.until.time_ns,
            )
        })
        .collect();
    let minute = Some(60_000_000_000);
    assert_eq!(
        measured,
        [
            ("fio-256k-seq-read", 256, 1, 64, minute),
            ("fio-256k-seq-write", 256, 1, 64, minute),
            ("fio-4k-rand-read", 4, 8, 32, minute),
            ("fio-4k-rand-write", 4, 8, 32, minute),
        ]
    );
    // Each corner settles under the very I/O that is then measured.
    for pair in method.steps[1..].chunks(2) {
        let mut settled = pair[0].job.clone();
        settled.until = pair[1].job.until;
        assert_eq!(settled, pair[1].job);
        assert_eq!(pair[0].kind, StepKind::Precondition);
    }
}

fn reference(page: &str) -> String {
    let path = format!("{}/../../docs/reference/{page}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the reference is in the tree")
}

/// Fenced blocks of one language in a page of the reference.
fn examples(page: &str, language: &str) -> Vec<String> {
    let text = reference(page);
    let opening = format!("```{language}\n");
    let blocks = text.split(&opening).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn examples_of_the_reference_are_read_as_they_stand() {
    let jobs = examples("job.md", "toml");
    assert!(jobs.len() >= 3);
    jobs.iter().for_each(|text| drop(job(text)));
    let normal = examples("job.md", "json");
    let read = Job::from_json(&normal[0], "job.md").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read, job(JOB));
    let methods = examples("method.md", "toml");
    for text in methods.iter().filter(|text| !is_template(text)) {
        Method::from_toml(text, "method.md").unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_reference_states_how_long_each_built_in_method_takes() {
    let seconds = |method: &Method| {
        let (mut least, mut most) = (0.0, 0.0);
        for step in method
            .steps
            .iter()
            .filter(|step| !matches!(step.kind, StepKind::Fill | StepKind::Purge))
        {
            let time_s = step.job.until.time_ns.expect("bounded in time") as f64 / 1e9;
            let (points, searched) = step.curve.as_ref().map_or((0.0, 0.0), |curve| {
                let point_s = curve.time_ns as f64 / 1e9;
                let searches = curve.slo.map_or(0, |slo| slo.steps);
                (
                    curve.points.len() as f64 * point_s,
                    f64::from(searches) * point_s,
                )
            });
            most += time_s + points + searched;
            if step
                .round
                .as_ref()
                .is_some_and(|round| round.number > round.window)
            {
                continue;
            }
            least += points
                + step.steady.map_or(time_s, |steady| {
                    steady.round_ns as f64 * f64::from(steady.window) / 1e9
                });
        }
        (least, most)
    };
    let page = reference("method.md");
    for method in catalogue() {
        let ((least, most), (quick_least, quick_most)) =
            (seconds(&method), seconds(&method.shortened()));
        let (least, most) = (least / 60.0, most / 60.0);
        let whole = |time: f64| (time * 1e6).round() / 1e6;
        let span = |least: f64, most: f64| match whole(least) == whole(most) {
            true => format!("{}", whole(least)),
            false => format!("{} to {}", whole(least), whole(most)),
        };
        let full = match most < 0.1 {
            true => format!("{} s", span(60.0 * least, 60.0 * most)),
            false => format!("{} min", span(least, most)),
        };
        let cells = format!("| {full} | {} s |", span(quick_least, quick_most));
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{}`", method.name)));
        assert!(
            row.is_some_and(|row| row.ends_with(&cells)),
            "{}: {cells}",
            method.name
        );
    }
}
