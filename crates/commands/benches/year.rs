//! What a year of 500 instances costs to look at: 10 million readings of gauges, 200,000 changes of state, 50 million log lines.
//! `cargo bench -p dwell-commands --bench year`. The year is written once, to target/year (about ten gigabytes, half an hour);
//! `DWELL_YEAR_SCALE=0.01` writes and measures a hundredth of it.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a benchmark that cannot go on says where")]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use dwell_commands::dto::{ChartRequest, SearchLogs};
use dwell_commands::{Archive, Folder};
use dwell_fleet::Timestamp;
use dwell_history::History;
use dwell_history::sample::{Year, write_year};

const ADDRESS: &str = "http://year.example";

/// The year, written where it is not there yet.
fn folder() -> PathBuf {
    let scale: f64 = std::env::var("DWELL_YEAR_SCALE").ok().map_or(1.0, |scale| scale.parse().unwrap());
    let of = |count: f64| (count * scale) as i64;
    let year =
        Year { instances: of(500.0).max(5), transitions: of(200_000.0), gauges: of(10_000_000.0), lines: of(50_000_000.0) };
    let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/year").join(scale.to_string());
    let (made, making) = (target.join("data/history.sqlite3"), target.join("making"));
    if !made.exists() {
        let _ = std::fs::remove_dir_all(&making);
        write_year(&making.join("history.sqlite3"), year, dwell_commands::now(), |done| println!("written: {done}")).unwrap();
        std::fs::rename(&making, target.join("data")).unwrap();
    }
    target.join("data")
}

fn request(name: &str, by: &str, last_d: Option<f64>) -> ChartRequest {
    ChartRequest {
        name: name.to_owned(),
        last_s: last_d.map(|days| days * 86_400.0),
        since: None,
        until: None,
        by: Some(by.to_owned()),
        state: None,
        instance: None,
        width: 900,
        height: 260,
        dark: false,
    }
}

fn year(criterion: &mut Criterion) {
    let data = folder();
    let path = data.join("history.sqlite3");
    let counts = {
        let history = History::open(&path).unwrap();
        history.size().unwrap()
    };
    println!(
        "database: {:.2} GB in use, file {:.2} GB",
        counts.used_bytes as f64 / 1e9,
        std::fs::metadata(&path).unwrap().len() as f64 / 1e9
    );
    let archive = Archive::open(&Folder::find(Some(data)).unwrap(), Some(ADDRESS)).unwrap();

    let mut group = criterion.benchmark_group("year");
    group.sample_size(10).measurement_time(Duration::from_secs(4)).warm_up_time(Duration::from_secs(1));
    let charts: Vec<String> =
        archive.charts().unwrap().charts.into_iter().filter(|it| !it.of_an_instance).map(|it| it.name).collect();
    for name in &charts {
        group.bench_function(format!("chart/{name}"), |bencher| {
            bencher.iter(|| black_box(archive.chart(&request(name, "gpu", None)).unwrap()));
        });
    }
    group.bench_function("chart/throughput-by-machine", |bencher| {
        bencher.iter(|| black_box(archive.chart(&request("throughput", "machine", None)).unwrap()));
    });
    group.bench_function("chart/throughput-of-a-week", |bencher| {
        bencher.iter(|| black_box(archive.chart(&request("throughput", "gpu", Some(7.0))).unwrap()));
    });
    let instance = format!("{:08x}-9e52-422b-bb31-52baefcaa6ef", 60);
    group.bench_function("chart/instance", |bencher| {
        let request = ChartRequest { instance: Some(instance.clone()), ..request("instance", "gpu", None) };
        bencher.iter(|| black_box(archive.chart(&request).unwrap()));
    });
    group.bench_function("summary-by-gpu", |bencher| {
        bencher.iter(|| black_box(archive.summary((None, None), "gpu").unwrap()));
    });
    for (name, words) in [
        ("frequent-word", "proof"),
        ("two-frequent-words", "partition pending"),
        ("rare-word", "kernel"),
        ("rare-phrase", "\"no kernel image\""),
        ("frequent-and-rare", "info unreachable"),
        ("a-number", "271828"),
        ("a-beginning", "unreach*"),
        ("nowhere", "xyzzy"),
    ] {
        group.bench_function(format!("search/{name}"), |bencher| {
            let request = SearchLogs {
                words: words.to_owned(),
                instance: None,
                source: None,
                since: None::<Timestamp>,
                until: None,
                before: None,
                limit: Some(200),
            };
            bencher.iter(|| black_box(archive.search(&request).unwrap()));
        });
    }
    group.finish();
}

criterion_group!(benches, year);
criterion_main!(benches);
