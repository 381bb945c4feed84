//! Charts of a simulated night: what they say, what is drawn, and that their numbers are those of the history.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{LazyLock, Mutex, MutexGuard};
use std::time::Duration;

use dwell_commands::dto::{ChartBehind, ChartRequest, ChartView, SearchLogs};
use dwell_commands::{Archive, ChartForm, Scenario};
use jiff::tz::TimeZone;

/// Two cards, two images, a wave that will be killed, and one instance that cannot pay.
const NIGHT: &str = r#"
name = "night"
title = "A night"
summary = "-"
seed = 11
start = "2026-03-13T17:00:00Z"
duration = "8h"
[[image]]
id = "new"
reference = "example/curio-cuzk:2"
ships = ["setup", "benchdaemon", "benchout", "cuzk", "curio"]
[[image]]
id = "old"
reference = "example/curio-cuzk:1"
ships = []
[[wave]]
at = "-3h"
image = "new"
gpu = "RTX 4090"
count = 3
ram_gib = 256
dollars_per_h = 0.4
[[wave]]
at = "10m"
every = "5m"
image = "new"
gpu = "RTX 5090"
count = 4
ram_gib = 256
dollars_per_h = 0.6
[[wave]]
name = "doomed"
at = "20m"
every = "10m"
image = "old"
gpu = "RTX 3090"
count = 3
ram_gib = 256
dollars_per_h = 0.3
[[fault]]
kind = "no-kernel-image"
target = { wave = "doomed" }
at = "0s"
[[fault]]
kind = "mgr-restart-lost-logs"
at = "4h"
for = "1m"
"#;

/// The night, watched once for all tests.
fn archive() -> MutexGuard<'static, Archive> {
    static NIGHT_WATCHED: LazyLock<Mutex<Archive>> = LazyLock::new(|| {
        let scenario = Scenario::parse("night", NIGHT).unwrap();
        let archive = Archive::simulated(scenario, None, Duration::from_secs(6 * 3_600)).unwrap();
        Mutex::new(archive.in_zone(TimeZone::get("Europe/Oslo").unwrap()))
    });
    NIGHT_WATCHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn request(name: &str, by: &str) -> ChartRequest {
    ChartRequest {
        name: name.to_owned(),
        last_s: None,
        since: None,
        until: None,
        by: Some(by.to_owned()),
        state: None,
        instance: None,
        width: 640,
        height: 260,
        dark: false,
    }
}

/// The structure of a picture: how many of each element, by colour.
fn structure(svg: &str) -> String {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for part in svg.split('<').skip(1) {
        let tag: String = part.chars().take_while(|letter| letter.is_ascii_alphabetic()).collect();
        if tag.is_empty() || tag == "svg" || tag == "text" {
            continue;
        }
        let colour = |name: &str| {
            part.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next()).filter(|it| *it != "none")
        };
        *counts.entry((tag, colour("stroke").or(colour("fill")).unwrap_or("-").to_owned())).or_default() += 1;
    }
    counts.iter().map(|((tag, colour), count)| format!("{count} {tag} {colour}")).collect::<Vec<_>>().join(", ")
}

fn told(view: &ChartView) -> String {
    let mut text = format!("{}\n{}\n", view.title, view.sentence);
    for note in &view.notes {
        writeln!(text, "- {note}").unwrap();
    }
    let legend: Vec<String> = view.legend.iter().map(|entry| format!("{} {}", entry.name, entry.colour)).collect();
    writeln!(text, "legend: {}\ndrawn: {}", legend.join(", "), structure(&view.svg)).unwrap();
    writeln!(text, "{} readings of {:?}", view.readings.len(), view.columns).unwrap();
    let step = view.readings.len().div_ceil(6).max(1);
    for reading in view.readings.iter().step_by(step) {
        writeln!(text, "  {}: {}", reading.label, reading.cells.join(" | ")).unwrap();
    }
    text
}

#[test]
fn every_chart_says_and_draws_what_the_night_was() {
    let list = archive().charts().unwrap();
    let mut all = String::new();
    for chart in &list.charts {
        let instance = chart.of_an_instance.then(some_killed);
        let view = archive().chart(&ChartRequest { instance, ..request(&chart.name, "gpu") }).unwrap();
        assert!(!view.empty, "{}: {}", chart.name, view.sentence);
        assert!(view.svg.matches("<").count() < 3_000, "{}: too much to draw", chart.name);
        // Its reading stands where it is drawn.
        if !view.readings_down {
            assert!(view.readings.windows(2).all(|pair| pair[0].from <= pair[1].from), "{}", chart.name);
        }
        writeln!(all, "## {}\n{}", chart.name, told(&view)).unwrap();
    }
    insta::assert_snapshot!(all);
}

fn some_killed() -> String {
    let behind =
        archive().behind(&ChartBehind { chart: request("endings", "nothing"), from: 0.0, to: 4e9, group: None }).unwrap();
    behind.instances.into_iter().map(|row| row.id).min().unwrap()
}

#[test]
fn numbers_of_charts_are_those_of_the_summary() {
    let summary = archive().summary((None, None), "gpu").unwrap();
    let mean = |name: &str, column: &str| -> f64 {
        let view = archive().chart(&request(name, "gpu")).unwrap();
        let place = view.columns.iter().position(|it| it == column).unwrap();
        let told: Vec<f64> = view.readings.iter().filter_map(|it| it.cells[place].parse().ok()).collect();
        told.iter().sum::<f64>() / told.len() as f64
    };
    for (group, column) in [("RTX 4090", "RTX 4090"), ("RTX 5090", "RTX 5090")] {
        let row = summary.groups.iter().find(|row| row.group == group).unwrap();
        // Steps at the edges are shorter than the others, and cells are rounded.
        assert!((mean("throughput", column) / row.proofs_per_h.unwrap() - 1.0).abs() < 0.05);
        assert!((mean("cost", column) / row.dollars_per_h.unwrap() - 1.0).abs() < 0.05);
    }
    let doomed = summary.groups.iter().find(|row| row.group == "RTX 3090").unwrap();
    assert_eq!((doomed.rented, doomed.got_running, doomed.killed, doomed.proofs_per_h), (3, 0, 3, None));
    assert_eq!(summary.groups.iter().map(|row| row.instances).sum::<usize>(), 10);
}

#[test]
fn who_is_behind_a_number_is_found() {
    let behind = |name: &str, from: f64, to: f64, group: Option<&str>| {
        let request = ChartBehind { chart: request(name, "gpu"), from, to, group: group.map(str::to_owned) };
        archive().behind(&request).unwrap()
    };
    let states = archive().chart(&request("states", "nothing")).unwrap();
    let last = states.readings.last().unwrap();
    assert_eq!(behind("states", last.from, last.to, Some("running")).all, 7, "three and four");
    assert_eq!(behind("endings", 0.0, 4e9, None).all, 3);
    assert_eq!(behind("restarts", 0.0, 4e9, None).all, 0, "the manager alone began anew");
    let longest = behind("dwell", 1_800.0, 1_800.0, Some("RTX 3090"));
    assert!(longest.all == 3 && longest.instances[0].was.starts_with("killed after 45 m"), "{longest:?}");
    let boxes = archive().chart(&request("until-running", "gpu")).unwrap();
    let row = boxes.readings.iter().find(|it| it.label == "RTX 5090").unwrap();
    assert_eq!(behind("until-running", row.from, row.to, None).all, 4);
}

#[test]
fn a_part_of_the_time_is_shown_alone_and_nonsense_is_refused() {
    let whole = archive().chart(&request("throughput", "nothing")).unwrap();
    let (since, until) = (whole.since, whole.until);
    let hour = |seconds: i64| jiff::Timestamp::from_second(since.as_second() + seconds).unwrap();
    let part = ChartRequest { since: Some(hour(3_600)), until: Some(hour(7_200)), ..request("throughput", "nothing") };
    let view = archive().chart(&part).unwrap();
    assert_eq!((view.since, view.until), (hour(3_600), hour(7_200)));
    assert!(until > view.until && view.readings.len() <= 121);
    let last = archive().chart(&ChartRequest { last_s: Some(600.0), ..request("throughput", "nothing") }).unwrap();
    assert_eq!(last.since.as_second(), until.as_second() - 600);
    for wrong in [
        request("no-such-chart", "gpu"),
        request("cost", "colour"),
        ChartRequest { state: Some("running".to_owned()), ..request("dwell", "gpu") },
        ChartRequest { since: Some(until), until: Some(since), ..request("cost", "gpu") },
        ChartRequest { last_s: Some(f64::NAN), ..request("cost", "gpu") },
        request("instance", "gpu"),
        ChartRequest { instance: Some("nobody".to_owned()), ..request("instance", "gpu") },
    ] {
        let refused = archive().chart(&wrong).unwrap_err();
        assert!(["unknown-chart", "bad-request", "unknown-id"].contains(&refused.code.as_str()), "{refused:?}");
    }
    let before = ChartRequest { since: Some(hour(-90_000)), until: Some(hour(-80_000)), ..request("states", "nothing") };
    let view = archive().chart(&before).unwrap();
    assert!(view.empty && view.sentence.contains("before the fleet was first watched"), "{}", view.sentence);
    assert_eq!(archive().chart_file(&before, ChartForm::Png).unwrap_err().code, "nothing-to-draw");
}

#[test]
fn files_of_a_chart_are_what_they_are_called() {
    let cost = request("cost", "gpu");
    let png = archive().chart_file(&cost, ChartForm::Png).unwrap();
    assert_eq!((&png[1..4], u32::from_be_bytes(png[16..20].try_into().unwrap())), (b"PNG".as_slice(), 1_280));
    let svg = String::from_utf8(archive().chart_file(&cost, ChartForm::Svg).unwrap()).unwrap();
    assert!(svg.contains("SIMULATED") && svg.contains("Dollars per hour, by gpu") && svg.contains("RTX 5090"));
    let dark = archive().chart_file(&ChartRequest { dark: true, ..cost.clone() }, ChartForm::Svg).unwrap();
    assert_ne!(svg.as_bytes(), dark);
    let csv = String::from_utf8(archive().chart_file(&cost, ChartForm::Csv).unwrap()).unwrap();
    let view: ChartView = serde_json::from_slice(&archive().chart_file(&cost, ChartForm::Json).unwrap()).unwrap();
    assert_eq!(csv.lines().count(), view.readings.len() + 1);
    assert_eq!(csv.lines().next().unwrap(), format!("at,from,to,{}", view.columns.join(",")));
}

#[test]
fn the_night_s_logs_are_searched() {
    let search = |words: &str, instance: Option<String>| {
        let request =
            SearchLogs { words: words.to_owned(), instance, source: None, since: None, until: None, before: None, limit: None };
        archive().search(&request).unwrap().lines
    };
    let everybody = search("registered", None);
    assert!(everybody.len() >= 7, "{}", everybody.len());
    assert!(everybody.windows(2).all(|pair| pair[0].id > pair[1].id));
    assert!(search("registered", Some(some_killed())).iter().all(|line| line.instance == Some(some_killed())));
}
