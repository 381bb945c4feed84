//! How long a simulated day takes: one thread, by number of instances and by hours. The cost grows with their product.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dwell_simulator::{Scenario, World};

fn fleet(count: usize) -> Scenario {
    let text = format!(
        r#"name = "bench"
title = "Bench"
summary = ""
seed = 1
start = "2026-03-13T17:00:00Z"
duration = "24h"
account = {{ credit = 1000000.0 }}

[[image]]
id = "new"
reference = "magik6k/curio-cuzk:2026-03-10"
ships = ["setup", "benchdaemon", "benchout", "cuzk", "curio"]

[[wave]]
at = "0s"
every = "1s"
count = {count}
image = "new"

[[fault]]
kind = "pipeline-deadlock"
target = {{ share = 0.02 }}
at = "2h"

[[fault]]
kind = "gpu-fell-off-bus"
target = {{ share = 0.02 }}
at = "5h"

[[fault]]
kind = "partition-transient"
target = {{ share = 0.1 }}
at = "8h"
for = "30m"
"#
    );
    Scenario::parse("bench", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn day(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("instance-hours");
    group.sample_size(10);
    for (count, hours) in [(250, 24_u64), (500, 24), (1_000, 6), (1_000, 12), (1_000, 24)] {
        let scenario = fleet(count);
        group.throughput(Throughput::Elements(count as u64 * hours));
        group.bench_function(BenchmarkId::from_parameter(format!("{count}x{hours}h")), |bencher| {
            bencher.iter(|| {
                let start = scenario.start;
                let mut world = World::new(scenario.clone(), 1, start);
                world.advance_to(start + jiff::SignedDuration::from_hours(hours as i64));
                black_box(world.manager().log_bytes())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, day);
criterion_main!(benches);
