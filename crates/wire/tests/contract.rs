//! Every capture of the real manager is read, and written back byte for byte; damaged forms of them are survived.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod probe;

use dwell_fleet::{Snapshot, State, Timestamp};
use dwell_wire::{
    BadHostEntry, Dashboard, DecodeError, DeployAnswer, ErrorBody, HostPerf, Instance, LogLine, Offers, decode, encode, log_line,
    snapshot,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn capture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/captures/{name}", env!("CARGO_MANIFEST_DIR"))).expect("a capture of this name")
}

fn body(name: &str) -> (u16, Vec<u8>) {
    let raw = String::from_utf8(capture(name)).unwrap().replace("\r\n", "\n");
    let (head, body) = raw.split_once("\n\n").expect("headers, an empty line, a body");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.trim_end().as_bytes().to_vec())
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn read(bytes: &[u8]) -> Snapshot {
    snapshot(decode(bytes).unwrap(), at("2026-12-01T03:00:00Z"), at("2026-12-01T03:00:01Z"))
}

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(name: &str) -> T {
    let bytes = capture(name);
    let value: T = decode(&bytes).unwrap();
    assert_eq!(String::from_utf8(encode(&value)).unwrap().trim_end(), String::from_utf8(bytes).unwrap().trim_end(), "{name}");
    value
}

#[test]
fn dashboard_json() {
    let dashboard: Dashboard = round_trip("dashboard.json");
    assert_eq!((dashboard.instances.len(), dashboard.bad_hosts.len(), dashboard.instances_unreadable), (11, 1, 0));
    let read = read(&capture("dashboard.json"));
    assert_eq!(read.manager_time, Some(at("2026-12-01T02:41:48Z")));
    let running = read.rows.iter().find(|row| row.state == State::Running).unwrap();
    assert_eq!(running.bench_rate_proofs_per_h, Some(35.57));
    assert_eq!(running.vast.dollars_per_h, Some(0.31));
    assert_eq!(running.vast.image(), Some("magik6k/curio-cuzk:latest"));
    assert_eq!(running.log_lines, Some(4));
}

#[test]
fn zero_and_empty_are_not_told() {
    let read = read(&capture("dashboard.json"));
    let loading = read.rows.iter().find(|row| row.state == State::Loading).unwrap();
    assert_eq!((loading.uuid.as_ref(), loading.runner_id, loading.min_rate_proofs_per_h), (None, None, None));
    assert_eq!((loading.registered_at, loading.log_lines), (None, None));
    let gone = read.rows.iter().find(|row| row.vast_id.is_none()).unwrap();
    assert_eq!(gone.vast, dwell_fleet::VastFacts::default());
    assert_eq!(gone.vast_id_told().map(|id| id.0), Some(31_000_023), "from its label");
    // Idle is told where a temperature is, and a benchmark that reported 0 reported something.
    let idle = read.rows.iter().find(|row| row.vast_id.is_some_and(|id| id.0 == 31_000_011)).unwrap();
    assert_eq!((idle.vast.gpu_util_percent, idle.vast.gpu_temp_c), (Some(0.0), Some(42.0)));
    let failed = read.rows.iter().find(|row| row.label.as_deref() == Some("C.31000020")).unwrap();
    assert_eq!(failed.bench_rate_proofs_per_h, Some(0.0));
}

#[test]
fn dashboard_after_restart_json() {
    let dashboard: Dashboard = round_trip("dashboard-after-restart.json");
    assert!(dashboard.instances.iter().all(|row| row.has_logs == Some(false) && row.log_lines == Some(0)));
}

#[test]
fn dashboard_after_zombie_json() {
    round_trip::<Dashboard>("dashboard-after-zombie.json");
    let read = read(&capture("dashboard-after-zombie.json"));
    let zombie = read.rows.iter().find(|row| row.state == State::BenchDone).unwrap();
    assert!(zombie.killed_at.is_some() && zombie.bench_done_at > zombie.killed_at);
}

#[test]
fn status_json() {
    let rows: Vec<Instance> = decode(&capture("status.json")).unwrap();
    assert_eq!(rows.len(), 10);
    assert!(rows.iter().all(|row| row.vast_id.is_none() && row.uuid.is_some()));
}

#[test]
fn instance_logs_json() {
    let lines: Vec<LogLine> = round_trip("instance-logs.json");
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[3].src.as_deref(), Some("cuzk"));
    assert!(lines[3].text.as_deref().unwrap().contains("\u{1b}[32m") && lines[3].text.as_deref().unwrap().contains("<script>"));
}

#[test]
fn empty_logs_json() {
    for name in ["instance-logs-silent.json", "instance-logs-unknown-uuid.json", "instance-logs-after-restart.json"] {
        assert!(round_trip::<Vec<LogLine>>(name).is_empty(), "{name}");
    }
}

#[test]
fn manager_logs_json() {
    assert_eq!(round_trip::<Vec<LogLine>>("manager-logs.json").len(), 30);
    let after = round_trip::<Vec<LogLine>>("manager-logs-after-restart.json");
    assert!(after[1].text.as_deref().unwrap().ends_with("API server listening on 127.0.0.1:1235"));
}

#[test]
fn bad_host_json() {
    assert_eq!(round_trip::<Vec<BadHostEntry>>("bad-host.json")[0].machine_id.as_deref(), Some("40999"));
}

#[test]
fn host_perf_json() {
    assert!(round_trip::<Vec<HostPerf>>("host-perf.json").is_empty());
}

#[test]
fn offers_json() {
    let offers: Offers = decode(&capture("offers.json")).unwrap();
    assert_eq!((offers.offers.len(), offers.total, offers.filtered), (3, Some(3), Some(3)));
    assert_eq!(offers.offers[0].gpu_name.as_deref(), Some("RTX 3090"));
    assert_eq!(offers.offers[0].more["pcie_bw"], json!(24.1));
    // Fields keep their values; the order of those only passed through is not the manager's.
    let (ours, theirs): (Value, Value) = (decode(&encode(&offers)).unwrap(), decode(&capture("offers.json")).unwrap());
    assert_eq!(ours, theirs);
}

#[test]
fn answers_with_a_status() {
    let (status, deployed) = body("deploy.txt");
    let deployed: DeployAnswer = decode(&deployed).unwrap();
    assert_eq!((status, deployed.ok, deployed.instance_id), (200, Some(true), Some(31_009_999)));
    for (name, expected, words) in [
        ("cuzk-status-unreachable.txt", 502, "ssh exec failed: exit status 255"),
        ("instance-logs-no-uuid.txt", 400, "uuid required in path"),
        ("register-bad.txt", 400, "bad request: invalid character 'b' looking for beginning of object key string"),
        ("running-unknown.txt", 404, "instance not found or already killed"),
    ] {
        let (status, refused) = body(name);
        let refused: ErrorBody = decode(&refused).unwrap();
        assert_eq!((status, refused.error.as_deref()), (expected, Some(words)), "{name}");
    }
    let (status, passed) = body("bench-done-after-kill.txt");
    assert_eq!((status, decode::<Value>(&passed).unwrap()), (200, json!({"ok": true, "passed": true})));
}

#[test]
fn an_unknown_state_stays_visible_as_itself() {
    let read = read(br#"{"instances":[{"uuid":"a","state":"defragmenting"},{"uuid":"b","state":null}]}"#);
    assert_eq!(read.rows[0].state, State::Unknown("defragmenting".into()));
    assert_eq!(read.rows[1].state.as_str(), "");
}

/// What the manager keeps of a rental that was destroyed is not its copy of vast.ai's list.
#[test]
fn a_killed_row_that_shows_what_was_kept_is_not_listed_any_more() {
    let kept = r#""state":"killed","vast_id":31000010,"host_id":7,"machine_id":40100,"gpu_name":"RTX 4090","num_gpus":1,
        "dph_total":0.38,"geolocation":"Norway, NO","cpu_ram_mb":257000,"gpu_ram_mb":24564,"ssh_cmd":"ssh -p 40010 root@192.0.2.10",
        "public_ip":"192.0.2.10""#;
    let none =
        r#""gpu_util":0,"gpu_temp":0,"cuda_version":0,"start_date":0,"driver_version":"","status_msg":"","disk_space_gb":0"#;
    let some = r#""gpu_util":0,"gpu_temp":41,"cuda_version":13.0,"start_date":1796092892.5,"driver_version":"580.95.05""#;
    let rows = format!(r#"{{"instances":[{{"uuid":"a",{kept},{none}}},{{"uuid":"b",{kept},{some}}}]}}"#);
    let read = read(rows.as_bytes());
    let listed: Vec<bool> = read.rows.iter().map(|row| row.vast_id.is_some()).collect();
    assert_eq!(listed, [false, true]);
    assert_eq!(read.rows[0].vast.gpu_name.as_deref(), Some("RTX 4090"), "what it was is known");
}

#[test]
fn mistyped_fields_cost_only_themselves() {
    let read = read(
        br#"{"instances":[
            {"uuid":17,"state":"running","vast_id":"31000010","dph_total":"0.31","num_gpus":1.0,"gpu_name":{"a":[1]},"extra":[{}],
             "registered_at":"yesterday","bench_done_at":1796092895,"gpu_util":null,"machine_id":"not a number"},
            "not a row", null, 5
        ],"updated_at":"2026-12-01T02:41:48Z","vast_cache_age_s":9.2e9}"#,
    );
    let row = &read.rows[0];
    assert_eq!((row.uuid.as_ref().map(|uuid| uuid.as_str()), row.vast_id.map(|id| id.0)), (Some("17"), Some(31_000_010)));
    assert_eq!((row.vast.dollars_per_h, row.vast.num_gpus, row.vast.gpu_name.as_deref()), (Some(0.31), Some(1), None));
    assert_eq!((row.registered_at, row.bench_done_at), (None, Some(at("2026-12-01T02:41:35Z"))));
    assert_eq!((row.vast.machine_id, row.vast.gpu_util_percent), (None, None));
    assert_eq!((read.rows.len(), read.rows_unreadable), (1, 3));
    assert_eq!(read.vast_cache_age_s, None, "the age before the first copy is no age");
}

#[test]
fn what_is_no_dashboard_says_so() {
    let html = decode::<Dashboard>(b"<html><h1>502 Bad Gateway</h1></html>").unwrap_err();
    assert!(matches!(&html, DecodeError::NotJson { begins_with, .. } if begins_with.starts_with("<html>")), "{html}");
    let whole = capture("dashboard.json");
    assert!(matches!(decode::<Dashboard>(&whole[..whole.len() / 2]).unwrap_err(), DecodeError::CutShort { .. }));
    assert!(matches!(decode::<Dashboard>(br#"{"error":"x"}"#).unwrap_err(), DecodeError::Shape { .. }));
    assert!(matches!(decode::<Dashboard>(b"[]").unwrap_err(), DecodeError::Shape { .. }));
    assert!(matches!(decode::<Dashboard>(b"").unwrap_err(), DecodeError::CutShort { bytes: 0 }));
    let deep = "[".repeat(100_000);
    assert!(decode::<Vec<LogLine>>(deep.as_bytes()).is_err());
}

/// Number of random cases of each property below: small by default, raised for a fuzz run with `DWELL_FUZZ_CASES`.
fn cases() -> ProptestConfig {
    let cases = std::env::var("DWELL_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

const NAMES: [&str; 8] = [
    "dashboard.json",
    "dashboard-after-zombie.json",
    "status.json",
    "instance-logs.json",
    "manager-logs.json",
    "offers.json",
    "bad-host.json",
    "host-perf.json",
];

/// Everything that reads an answer, on any bytes.
fn read_all(bytes: &[u8]) {
    if let Ok(dashboard) = decode::<Dashboard>(bytes) {
        let read = snapshot(dashboard, Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        let mut fleet = dwell_fleet::Fleet::new(60.0);
        fleet.observe(&read);
        fleet.assess();
        assert!(fleet.instances().all(|instance| !instance.id().is_empty()));
    }
    for line in decode::<Vec<LogLine>>(bytes).unwrap_or_default() {
        let _ = log_line(line);
    }
    let _ = decode::<Vec<Instance>>(bytes);
    let _ = decode::<Offers>(bytes);
    let _ = decode::<Vec<BadHostEntry>>(bytes);
    let _ = decode::<Vec<HostPerf>>(bytes);
    let _ = decode::<DeployAnswer>(bytes);
    let _ = decode::<ErrorBody>(bytes);
}

fn places(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(places).sum(),
        Value::Object(fields) => fields.values().map(places).sum(),
        _ => 0,
    }
}

/// Replaces the `nth` value of the tree (counted depth first) by `with`, or removes it.
fn replace(value: &mut Value, nth: &mut usize, with: &Value) {
    if *nth == 0 {
        *value = with.clone();
        *nth = usize::MAX;
        return;
    }
    *nth = nth.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, nth, with)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, nth, with)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn damaged_bytes_never_panic(name in prop::sample::select(&NAMES[..]), edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..12)) {
        let mut bytes = capture(name);
        for (index, byte, what) in edits {
            let place = index.index(bytes.len().max(1));
            match what {
                _ if bytes.is_empty() => bytes.push(byte),
                0 => bytes[place] = byte,
                1 => bytes.truncate(place),
                _ => bytes.insert(place, byte),
            }
        }
        read_all(&bytes);
    }

    #[test]
    fn any_value_in_any_place_never_panics_and_costs_at_most_its_row(
        name in prop::sample::select(&NAMES[..2]),
        index in any::<prop::sample::Index>(),
        with in prop::sample::select(vec![
            json!(null), json!(""), json!("x"), json!(-1), json!(0), json!(1.5e300), json!(18_446_744_073_709_551_615u64), json!("9".repeat(400)),
            json!(true), json!([]), json!({}), json!([{"a": [1]}]), json!("2026-12-01T02:41:48Z"), json!("\u{0}\u{202e}<b>"), json!(-9.2e18),
        ]),
    ) {
        let mut value: Value = decode(&capture(name)).unwrap();
        let mut nth = index.index(places(&value));
        let is_root_or_list = nth <= 1;
        replace(&mut value, &mut nth, &with);
        let bytes = serde_json::to_vec(&value).unwrap();
        read_all(&bytes);
        if !is_root_or_list && value["instances"].is_array() {
            let dashboard: Dashboard = decode(&bytes).unwrap();
            prop_assert!(dashboard.instances.len() + dashboard.instances_unreadable == value["instances"].as_array().unwrap().len());
            prop_assert!(dashboard.instances_unreadable <= 1);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_all(&bytes);
    }
}

/// What vast.ai's own client 1.9.1 sent for each query to a server that wrote it down; `null` where it sent nothing.
#[test]
fn queries_for_offers_are_read_as_vast_ais_client_reads_them() {
    let table: Vec<Value> = serde_json::from_str(include_str!("offer-queries.json")).unwrap();
    assert!(table.len() > 80);
    for row in table {
        let query = row["query"].as_str().unwrap();
        let read = dwell_wire::offer_filters(query, dwell_wire::offer_defaults());
        assert_eq!(read.clone().ok().map(|read| read.filters), row["filters"].as_object().cloned(), "{query}: {read:?}");
    }
}
