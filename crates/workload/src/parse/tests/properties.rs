use proptest::prelude::*;

use super::*;
use crate::{
    Arrival, Block, BlockShare, Content, Errors, Extent, Geometry, HotBand, Load, Mix, Op,
    OperationPositions, Pace, Pattern, Position, RatePhase, Region, RequestStream, Split, Stream,
    ThreadPositions, Until, Verify,
};

fn any_job() -> impl Strategy<Value = Job> {
    let weight = 0.01..1000.0f64;
    let size = prop_oneof![
        Just(512u32),
        Just(4096),
        Just(12_288),
        Just(131_072),
        Just(1 << 20)
    ];
    let share =
        (size, weight.clone()).prop_map(|(size_bytes, weight)| BlockShare { size_bytes, weight });
    let sizes = proptest::collection::vec(share, 1..5);
    let op = prop_oneof![
        Just(Op::Read),
        Just(Op::Write),
        Just(Op::Trim),
        Just(Op::WriteZeroes)
    ];
    let block = (op, weight.clone(), sizes).prop_map(|(op, weight, sizes)| Block {
        op,
        weight,
        sizes,
        align_bytes: None,
    });
    let band = (0.5..10.0f64, 0.1..10.0f64).prop_map(|(area, access)| HotBand { area, access });
    let pattern = prop_oneof![
        Just(Pattern::Sequential),
        Just(Pattern::Uniform),
        Just(Pattern::Backwards),
        (1..5u32).prop_map(|streams| Pattern::SequentialStreams { streams }),
        (0.1..3.0f64).prop_map(|theta| Pattern::Zipf { theta }),
        (0.01..0.5f64).prop_map(|share| Pattern::Pareto { share }),
        proptest::collection::vec(band, 1..4).prop_map(|bands| Pattern::HotSpots { bands }),
        (0.0..1.0f64, 0.0..1.0f64).prop_map(|(read, write)| Pattern::Mixed { read, write }),
        (0..9u32).prop_map(|open| Pattern::Zones {
            open,
            in_order: open == 1,
            once: false,
            empties: false,
            ends: false,
            reset: None,
        }),
        (1..9u64, 0..9u64).prop_map(|(strip, gap)| Pattern::Strips {
            strip_bytes: strip << 20,
            gap_bytes: gap << 20
        }),
    ];
    let extent = |bytes: std::ops::Range<u64>, fractions: std::ops::Range<f64>| {
        prop_oneof![
            bytes.prop_map(Extent::Bytes),
            fractions.prop_map(Extent::Fraction)
        ]
    };
    let region = (
        extent(0..1 << 28, 0.0..0.4),
        prop_oneof![
            extent(1 << 26..1 << 28, 0.1..0.6),
            (1u64 << 26..1 << 28).prop_map(Extent::UpTo),
        ],
    );
    let load = prop_oneof![
        (1..9u32, 1..65u32).prop_map(|(threads, iodepth)| Load::Closed { threads, iodepth }),
        (1.0..1e7f64, 1..9u32).prop_map(|(rate_iops, threads)| Load::Open {
            rate_iops,
            arrival: Arrival::Exponential,
            threads,
            iodepth: 8
        }),
    ];
    let align = proptest::option::of(prop_oneof![Just(512u64), Just(4096), Just(65_536)]);
    let blocks = proptest::collection::vec(block, 1..4);
    let position = any_position();
    (blocks, pattern, region, align, load, position, 1..u64::MAX).prop_map(
        |(ops, pattern, (start, size), align_bytes, load, position, time_ns)| Job {
            mix: Mix { ops },
            flush_every: 0,
            position: match pattern {
                Pattern::Sequential | Pattern::Mixed { .. } => position,
                _ => Position::default(),
            },
            align_bytes: align_bytes.filter(|_| !matches!(pattern, Pattern::Strips { .. })),
            pattern,
            region: Region {
                start,
                size,
                part: None,
            },
            content: Content {
                compressible: 0.25,
                dedup: 0.0,
                pattern: None,
                verify: Some(Verify {
                    generation: 2,
                    seed: 9,
                }),
            },
            placement: vec![3],
            direct: true,
            sqpoll: true,
            sync: crate::Sync::Data,
            priority: Some(crate::Priority {
                class: crate::PriorityClass::BestEffort,
                level: 5,
            }),
            priority_shares: Vec::new(),
            huge_pages: true,
            gpu: true,
            exitall: false,
            streams: Vec::new(),
            load,
            pace: Pace {
                think_ns: 0,
                reap: match load {
                    Load::Closed { iodepth, .. } => iodepth,
                    Load::Open { .. } => 0,
                },
                rates: match load {
                    Load::Closed { .. } => vec![],
                    Load::Open { rate_iops, .. } => vec![RatePhase {
                        time_ns: 1_000_000_000,
                        from_iops: rate_iops,
                        to_iops: 0.0,
                    }],
                },
                split: Split::Shares(vec![2.0, 1.0]),
            },
            errors: Errors {
                most: Some(7),
                stuck_ns: 5,
            },
            files: None,
            journal: None,
            until: Until {
                time_ns: Some(time_ns),
                bytes: None,
                region_multiple: None,
                count: None,
            },
        },
    )
}

fn any_position() -> impl Strategy<Value = Position> {
    let threads = prop_oneof![
        Just(ThreadPositions::Part),
        Just(ThreadPositions::Start),
        Just(ThreadPositions::Shared)
    ];
    let operations = prop_oneof![
        Just(OperationPositions::Together),
        Just(OperationPositions::Apart)
    ];
    (threads, proptest::option::of(operations)).prop_map(|(threads, operations)| Position {
        ahead_bytes: 0,
        threads,
        operations,
    })
}

proptest! {
    #[test]
    fn the_normal_form_of_any_job_reads_back_as_the_same_job(job in any_job()) {
        let json = serde_json::to_string(&job).expect("serialises");
        prop_assert_eq!(Job::from_json(&json, "n.json"), Ok(job));
    }

    #[test]
    fn offsets_stay_inside_the_region_and_aligned(job in any_job(), seed: u64) {
        let geometry = Geometry { capacity_bytes: (1 << 30) + 512, block_bytes: 512 };
        let region = job.region.resolve(geometry).expect("inside by construction");
        let sequential = matches!(
            job.pattern,
            Pattern::Sequential
                | Pattern::SequentialStreams { .. }
                | Pattern::Backwards
                | Pattern::Strips { .. }
                | Pattern::Mixed { .. }
        );
        let thread = job.load.threads() - 1;
        let mut stream = RequestStream::new(&job, geometry, seed, thread).expect("fits");
        for _ in 0..500 {
            let request = stream.next_request();
            let end_bytes = request.offset_bytes + u64::from(request.size_bytes);
            prop_assert!(request.offset_bytes >= region.start_bytes);
            prop_assert!(end_bytes <= region.start_bytes + region.size_bytes);
            let own_bytes = if sequential { 512 } else { u64::from(request.size_bytes) };
            let within_bytes = request.offset_bytes - region.start_bytes;
            let align_bytes = job.align_bytes.unwrap_or(own_bytes);
            // A small block of a skewed pattern is aligned inside its unit.
            let unit_bytes = job.mix.ops.iter().flat_map(|block| &block.sizes)
                .map(|share| u64::from(share.size_bytes)).max().unwrap_or(1)
                .next_multiple_of(job.align_bytes.unwrap_or(1));
            let skewed = matches!(
                job.pattern,
                Pattern::Zipf { .. } | Pattern::Pareto { .. } | Pattern::HotSpots { .. }
            );
            let counted_bytes = if skewed { within_bytes % unit_bytes } else { within_bytes };
            prop_assert_eq!(counted_bytes % align_bytes, 0);
        }
    }

    #[test]
    fn arbitrary_text_is_refused_without_panic(text in any::<String>()) {
        prop_assert!(Method::from_toml(&text, "x").is_err());
        prop_assert!(Method::from_json(&text, "x").is_err());
        prop_assert!(Job::from_json(&text, "x").is_err());
    }

    #[test]
    fn a_method_with_damaged_characters_never_panics(
        at in 0..METHOD.len(), length in 0..40usize, insert in "[ -~\n]{0,6}"
    ) {
        let end = (at + length).min(METHOD.len());
        let text = format!("{}{insert}{}", &METHOD[..at], &METHOD[end..]);
        if let Err(error) = Method::from_toml(&text, "m.toml") {
            prop_assert!((error.line as usize) <= text.lines().count() + 1);
            prop_assert!(!error.message.contains('\n'));
        }
    }

    #[test]
    fn any_text_is_a_value_or_a_refusal_of_a_unit(text in "[0-9a-zA-Zµ .%_/+-]{0,12}") {
        for result in [crate::parse_size_bytes(&text), crate::parse_duration_ns(&text)] {
            if let Err(message) = result {
                prop_assert!(!message.is_empty());
            }
        }
        let _ = (crate::parse_percent(&text), crate::parse_multiple(&text), crate::parse_rate_iops(&text));
    }
}

proptest! {
    #[test]
    fn the_normal_form_of_any_streams_reads_back(mut jobs in proptest::collection::vec(any_job(), 1..4)) {
        let (errors, until) = (jobs[0].errors, jobs[0].until);
        jobs.retain(|job| !matches!(job.pattern, Pattern::Zones { .. }) && job.load.threads() <= 256);
        prop_assume!(!jobs.is_empty());
        let named = jobs.into_iter().enumerate().map(|(index, job)| Stream {
            name: format!("s{index}"),
            job: Job { until, ..job },
            targets: Vec::new(),
            flow: None,
            exitall: false,
        });
        let whole = Job::of_streams(named.collect(), true, errors, until);
        prop_assert_eq!(whole.parts().count(), whole.load.threads() as usize);
        let json = serde_json::to_string(&whole).expect("serialises");
        prop_assert_eq!(Job::from_json(&json, "n.json"), Ok(whole));
    }
}
