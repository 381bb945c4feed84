//! Random faults, from random seeds, in random fleets: nothing impossible happens, and no byte goes missing.

use std::fmt::Write as _;

use dwell_simulator::{Place, Scenario, SshReach, Value, World, fault_kinds};
use proptest::prelude::*;
use serde_json::Value as Json;

const IMAGES: &str = r#"
[[image]]
id = "new"
reference = "magik6k/curio-cuzk:2026-03-10"
ships = ["setup", "benchdaemon", "benchout", "cuzk", "curio"]

[[image]]
id = "old"
reference = "magik6k/curio-cuzk:latest"
ships = ["setup", "cuzk", "curio"]
"#;

/// A fault: its kind by place in the list, where it is aimed, when it begins, how long it lasts.
type Drawn = (usize, usize, u32, Option<u32>);

fn text(waves: &[(u32, u8, bool)], faults: &[Drawn], credit: f64) -> String {
    let mut text = format!(
        "name = \"random\"\ntitle = \"Random\"\nsummary = \"\"\nseed = 1\nstart = \"2026-03-13T17:00:00Z\"\nduration = \"1h\"\n[account]\ncredit = {credit}\noffers = 5\n{IMAGES}"
    );
    for (index, (at_min, count, old)) in waves.iter().enumerate() {
        let image = if *old { "old" } else { "new" };
        let (labelled, bid) = (index % 3 == 1, if index % 4 == 2 { "bid = 0.2\n" } else { "" });
        write!(
            text,
            "\n[[wave]]\nname = \"w{index}\"\nat = \"{at_min}m\"\nevery = \"3m\"\ncount = {count}\nimage = \"{image}\"\nlabelled = {labelled}\n{bid}"
        )
        .unwrap();
    }
    for (kind, wave, at_min, lasts_min) in faults {
        let kinds: Vec<_> = fault_kinds().collect();
        let kind = kinds[kind % kinds.len()];
        write!(text, "\n[[fault]]\nkind = \"{}\"\nat = \"{at_min}m\"\n", kind.id).unwrap();
        if kind.place.is_aimed() && *wave < waves.len() {
            writeln!(text, "target = {{ wave = \"w{wave}\" }}").unwrap();
        }
        if let Some(lasts) = lasts_min {
            writeln!(text, "for = \"{lasts}m\"").unwrap();
        }
    }
    text
}

fn lines(world: &mut World, uuid: &str) -> Vec<Json> {
    world.instance_logs_body(uuid, 10_000).map_or(Vec::new(), |body| serde_json::from_slice(&body).unwrap())
}

/// What must hold of any world at any moment.
fn check(world: &mut World, clock_steps: bool) {
    let now = world.now();
    let truths = world.truth();
    let spent: f64 = truths.iter().map(|truth| truth.dollars).sum();
    assert!((world.account().spent - spent).abs() < 1e-6, "every dollar is some rental's: {} {spent}", world.account().spent);
    for truth in &truths {
        let record = world.vast_record(truth.vast_id);
        assert_eq!(record.is_some(), truth.gone_at.is_none(), "listed until it is gone: {truth:?}");
        if truth.gone_at.is_some() {
            assert!(truth.dollars_per_h == 0.0 && !truth.rented && !truth.progressing, "billed without a rental: {truth:?}");
        }
        assert!(truth.dollars >= 0.0 && truth.rented_at <= now);
        let host = world.host_view(truth.vast_id).unwrap();
        if let Some(record) = &record {
            // A container can be looked into only while vast.ai says that there is one, or has lost sight of it.
            let status = record["actual_status"].as_str().unwrap_or("");
            if host.clock.is_some() {
                assert_eq!(status, "running", "{truth:?}");
            }
            assert!(status != "stopped" || host.proxy == SshReach::NoAddress);
        }
        for process in &host.processes {
            assert!(process.started_at <= now && process.started_at >= truth.rented_at, "{process:?}");
        }
        assert!(host.disk_used_gb <= host.disk_gb + 1e-6);
        for file in &host.files {
            assert!(file.modified_at.is_some_and(|at| at <= now), "written in the future: {file:?}");
        }
        if let (Some(uuid), false) = (&truth.uuid, clock_steps) {
            let mut before = 0;
            for line in lines(world, uuid) {
                let at = line["ts"].as_i64().unwrap();
                assert!(at >= before && at <= now.as_millisecond(), "logs from the future");
                before = at;
            }
        }
    }
    if let Some(body) = world.dashboard_body() {
        let dashboard: Json = serde_json::from_slice(&body).unwrap();
        for row in dashboard["instances"].as_array().unwrap() {
            let known = ["loading", "registered", "params_done", "bench_done", "running", "killed"];
            assert!(row["state"].as_str().is_some_and(|state| known.contains(&state)), "{row}");
            assert!(row["state"] != "killed" || row["killed_at"] != "", "{row}");
        }
    }
    // Every byte that was pushed is somewhere, by name.
    let (shipped, kept) = (world.shipped_bytes(), world.manager().log_bytes());
    assert_eq!(shipped.pushed, shipped.lost_on_the_line + kept.arrived, "pushed = lost on the line + arrived");
    let named = kept.kept + kept.evicted + kept.truncated + kept.lost_at_restart + kept.line_ends;
    assert_eq!(kept.arrived, named, "arrived = kept + evicted + truncated + lost at a restart + line ends: {kept:?}");
}

/// Runs a world for `hours` and checks it every half hour.
fn run(text: &str, seed: u64, hours: u32) {
    let scenario = Scenario::parse("random", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let clock_steps = scenario.faults.iter().any(|fault| fault.id() == "clock-step");
    let start = scenario.start;
    let mut world = World::new(scenario, seed, start);
    for step in 0..=hours * 2 {
        world.advance_to(start + jiff::SignedDuration::from_mins(i64::from(step) * 30));
        check(&mut world, clock_steps);
    }
}

const HOURS: u32 = 20;

proptest! {
    // 50 worlds of 20 hours: 1,000 simulated hours.
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    #[test]
    fn nothing_impossible_happens_in_a_thousand_hours(
        seed in 0..u64::MAX,
        waves in prop::collection::vec((0..600_u32, 1..6_u8, any::<bool>()), 1..5),
        faults in prop::collection::vec((0..1_000_usize, 0..6_usize, 0..1_000_u32, prop::option::of(1..300_u32)), 0..8),
        credit in prop_oneof![Just(10_000.0), 0.0..20.0_f64],
    ) {
        run(&text(&waves, &faults, credit), seed, HOURS);
    }
}

/// Each fault alone, from before the rental and in the middle of the work.
#[test]
fn every_fault_begins_and_ends_without_harm() {
    for kind in 0..fault_kinds().count() {
        for at in [0, 75] {
            run(&text(&[(1, 2, false)], &[(kind, 0, at, Some(50))], 10_000.0), kind as u64, 4);
        }
    }
}

#[test]
fn faults_are_documented() {
    let mut ids = std::collections::BTreeSet::new();
    for kind in fault_kinds() {
        assert!(ids.insert(kind.id), "{} is there twice", kind.id);
        assert!(kind.what.ends_with('.'), "{}: a sentence", kind.id);
        for parameter in kind.parameters {
            assert!(!parameter.what.is_empty(), "{} {}", kind.id, parameter.name);
            assert!(!matches!(parameter.value, Value::Number(_)) || !parameter.unit.is_empty(), "{}: a unit", kind.id);
        }
    }
    assert!(ids.len() >= 110, "{}", ids.len());
    assert!(fault_kinds().any(|kind| kind.place == Place::Manager));
}

/// Same scenario, same seed: the same bytes on every channel.
#[test]
fn the_same_seed_gives_the_same_world() {
    let bytes = |seed| {
        let scenario = Scenario::named("params-done-silence").unwrap();
        let start = scenario.start;
        let mut world = World::new(scenario, seed, start);
        world.advance_to(start + jiff::SignedDuration::from_hours(1));
        let truth = format!("{:?}", world.truth());
        (world.dashboard_body(), world.manager_logs_body(5_000), truth)
    };
    assert_eq!(bytes(9), bytes(9));
    assert_ne!(bytes(9), bytes(10));
}

/// Renting that answers ok and does not do what it says: the three faults that no wave of a scenario meets.
#[test]
fn renting_fails_in_three_ways() {
    let rent = |fault: &str| {
        let scenario = Scenario::parse("random", &(text(&[(1, 1, false)], &[], 100.0) + fault)).unwrap();
        let start = scenario.start;
        let mut world = World::new(scenario, 1, start);
        let offer = world.offers()[0]["id"].as_u64().unwrap();
        let answer = world.api_create(offer, &serde_json::json!({ "image": "magik6k/curio-cuzk:latest", "disk": 250 }));
        assert_eq!((answer.status, &answer.body["success"]), (200, &Json::from(true)), "{fault}");
        world.advance_to(start + jiff::SignedDuration::from_mins(30));
        let contract = answer.body["new_contract"].as_u64();
        (contract, contract.and_then(|contract| world.vast_record(contract)))
    };
    let fault = |kind: &str| format!("\n[[fault]]\nkind = \"{kind}\"\nat = \"-1m\"\n");
    let (_, healthy) = rent("");
    assert_eq!(healthy.unwrap()["actual_status"], "running");
    assert_eq!(rent(&fault("deploy-no-contract")), (None, None));
    let (contract, record) = rent(&fault("vast-create-never-appears"));
    assert!(contract.is_some() && record.is_none());
    let stopped = rent(&fault("vast-create-stopped")).1.unwrap();
    assert_eq!((&stopped["actual_status"], &stopped["intended_status"]), (&"stopped".into(), &"stopped".into()));
}
