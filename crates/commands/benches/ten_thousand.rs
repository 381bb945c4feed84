//! What one dashboard answer of 10,000 instances costs on its way to the screen: `cargo bench -p dwell-commands`.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a benchmark that cannot go on says where")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use dwell_commands::bench::Watched;
use dwell_fleet::{Fleet, Snapshot, Timestamp, shift};
use dwell_history::{Answer, History};
use dwell_wire as wire;

const INSTANCES: u64 = 10_000;

fn start() -> Timestamp {
    Timestamp::from_second(1_796_092_800).unwrap()
}

/// The body of an answer `step` polls of 10 s after the start: gauges move, one instance in a hundred changes state.
fn body(step: u64) -> Vec<u8> {
    let now = shift(start(), step as f64 * 10.0);
    let instances = (0..INSTANCES)
        .map(|index| {
            let moved = (index + step).is_multiple_of(100);
            let state = ["registered", "params_done", "running", "running"][((index / 100 + u64::from(moved)) % 4) as usize];
            wire::Instance {
                uuid: Some(format!("{index:08x}-9e52-422b-bb31-52baefcaa6ef")),
                label: Some(format!("C.{}", 31_000_000 + index)),
                runner_id: Some(index + 1),
                state: Some(state.to_owned()),
                min_rate: Some(30.0),
                registered_at: Some(shift(start(), -3_600.0)),
                param_done_at: (state != "registered").then(|| shift(start(), -1_800.0)),
                bench_done_at: (state == "running").then(|| shift(start(), -60.0)),
                bench_rate: (state == "running").then_some(35.57),
                vast_id: Some(31_000_000 + index),
                gpu_name: Some(["RTX 3090", "RTX 4090", "RTX 5090"][(index % 3) as usize].to_owned()),
                num_gpus: Some(1),
                dph_total: Some(0.31),
                ssh_cmd: Some("ssh -p 40022 root@192.0.2.10".to_owned()),
                host_id: Some(90_100 + index),
                machine_id: Some(40_100 + index),
                geolocation: Some("Norway, NO".to_owned()),
                cpu_ram_mb: Some(257_770.0),
                gpu_util: Some(((index + step) % 100) as f64),
                gpu_temp: Some(60.0),
                inet_down_mbps: Some(812.4),
                start_date: Some(1_796_089_200.0),
                status_msg: Some("success, running magik6k/curio-cuzk:latest".to_owned()),
                public_ip: Some("192.0.2.10".to_owned()),
                has_logs: Some(true),
                log_lines: Some(400 + step),
                ..wire::Instance::default()
            }
        })
        .collect();
    wire::encode(&wire::Dashboard { instances, updated_at: Some(now), vast_cache_age_s: Some(5.0), ..wire::Dashboard::default() })
}

fn snapshot(step: u64) -> Snapshot {
    let now = shift(start(), step as f64 * 10.0);
    wire::snapshot(wire::decode(&body(step)).unwrap(), now, now)
}

fn watched() -> Fleet {
    let mut fleet = Fleet::new(60.0);
    fleet.observe(&snapshot(0));
    fleet.assess();
    fleet
}

fn ten_thousand(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("10,000 instances, one answer");
    group.sample_size(20);
    let bytes = body(1);
    println!("one dashboard answer is {:.1} MB", bytes.len() as f64 / 1e6);

    group.bench_function("decode", |bencher| {
        bencher.iter(|| wire::snapshot(wire::decode(black_box(&bytes)).unwrap(), start(), start()));
    });

    let next = snapshot(1);
    let before = watched();
    group.bench_function("compare and assess", |bencher| {
        bencher.iter_batched(
            || before.clone(),
            |mut fleet| {
                let observed = fleet.observe(black_box(&next));
                (fleet.assess(), observed)
            },
            BatchSize::LargeInput,
        );
    });

    group.bench_function("keep", |bencher| {
        let folder = tempfile::tempdir().unwrap();
        let mut history = History::open(&folder.path().join("history.sqlite3")).unwrap();
        let id = history.fleet("bench", None).unwrap();
        let mut fleet = Fleet::new(60.0);
        let mut step = 0;
        bencher.iter_batched(
            || {
                step += 1;
                let observed = fleet.observe(&snapshot(step));
                let flags = fleet.assess();
                (fleet.clone(), observed, flags)
            },
            |(fleet, observed, flags)| {
                let answer = Answer {
                    vast_cache_age_s: fleet.vast_cache_age_s(),
                    clock_skew_s: None,
                    as_of: fleet.as_of().unwrap(),
                    instances: fleet.instances().collect(),
                    transitions: &observed.transitions,
                    redated: &observed.redated,
                    merged: &observed.merged,
                    gap: observed.gap,
                    run: fleet.manager_run(),
                    flags: &flags,
                };
                history.record(id, &answer).unwrap();
            },
            BatchSize::PerIteration,
        );
    });

    let watched = Watched::new(watched());
    group.bench_function("show (rows, patch, JSON)", |bencher| {
        bencher.iter(|| watched.patch_json());
    });
    let mut watched = watched.with_logs_and_looks();
    group.bench_function("diagnose all from scratch", |bencher| {
        bencher.iter(|| watched.diagnose_all());
    });
    group.bench_function("diagnose one again after a look", |bencher| {
        bencher.iter(|| watched.diagnose_again());
    });
    group.finish();
}

criterion_group!(benches, ten_thousand);
criterion_main!(benches);
