//! What the real manager answered, byte for byte, from the same calls at the same times.

use std::collections::HashMap;

use dwell_fake_manager::{Behaviour, Desk, Request};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Asks;

fn capture(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../wire/tests/captures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn parsed(name: &str) -> Value {
    serde_json::from_str(&capture(name)).unwrap()
}

/// vast.ai's record behind a captured row.
fn record(row: &Value) -> Map<String, Value> {
    let mut record = row.as_object().unwrap().clone();
    for (from, to) in [
        ("vast_id", "id"),
        ("cpu_ram_mb", "cpu_ram"),
        ("gpu_ram_mb", "gpu_totalram"),
        ("cuda_version", "cuda_max_good"),
        ("inet_down_mbps", "inet_down"),
        ("inet_up_mbps", "inet_up"),
        ("mem_usage_gb", "mem_usage"),
        ("mem_limit_gb", "mem_limit"),
        ("disk_space_gb", "disk_space"),
        ("reliability", "reliability2"),
        ("public_ip", "public_ipaddr"),
    ] {
        let value = record.remove(from).unwrap();
        record.insert(to.to_owned(), value);
    }
    if let Some(port) = row["ssh_cmd"].as_str().unwrap().split(' ').nth(2) {
        record.insert("ports".to_owned(), json!({ "22/tcp": [{ "HostIp": "0.0.0.0", "HostPort": port }] }));
    }
    record
}

/// The word after `key` in a line.
fn word<'a>(line: &'a str, key: &str) -> &'a str {
    let after = line.split_once(key).unwrap_or_else(|| panic!("{key:?} in {line:?}")).1;
    after.split([' ', ')']).next().unwrap()
}

struct Replay {
    desk: Desk,
    /// Their uuids, and ours.
    uuids: HashMap<String, String>,
    rates: HashMap<String, f64>,
}

impl Replay {
    fn ours(&self, uuid: &str) -> &str {
        &self.uuids[uuid]
    }

    /// Does what each line of a captured log tells of.
    fn drive(&mut self, lines: &Value) {
        for line in lines.as_array().unwrap() {
            let now = Timestamp::from_millisecond(line["ts"].as_i64().unwrap()).unwrap();
            let line = line["text"].as_str().unwrap();
            if line.contains("[register] new") {
                // 50 is what a missing rate becomes.
                let rate = word(line, "min_rate=").replace("50.0", "0");
                let body = format!(r#"{{"label":"{}","min_rate":{rate}}}"#, word(line, "label="));
                let uuid = self.desk.post("/register", &body, now).value()["uuid"].as_str().unwrap().to_owned();
                self.uuids.insert(word(line, "uuid=").to_owned(), uuid);
            } else if line.contains("[param-done]") || line.contains("[running]") {
                let body = format!(r#"{{"uuid":"{}"}}"#, self.ours(word(line, "uuid=")));
                self.desk.post(if line.contains("[running]") { "/running" } else { "/param-done" }, &body, now);
            } else if line.contains("[bench-done]") {
                let theirs = word(line, "uuid=");
                let body = format!(r#"{{"uuid":"{}","rate":{}}}"#, self.ours(theirs), self.rates[theirs]);
                self.desk.post("/bench-done", &body, now);
            } else if line.contains("[bad-host] added") {
                let body = json!({ "machine_id": word(line, "machine_id="), "reason": line.split_once("reason=").unwrap().1 });
                self.desk.post("/bad-host", &body.to_string(), now);
            } else if line.contains("[kill]") {
                let uuid = self.uuids.get(word(line, "(uuid=")).cloned().unwrap_or_default();
                let unknown = word(line, "instance ") == "31000099";
                self.desk.account.destroy =
                    if unknown { Behaviour::fails("failed with error 404: no such instance") } else { Behaviour::prints("") };
                self.desk.post("/api/kill", &format!(r#"{{"vast_id":{},"uuid":"{uuid}"}}"#, word(line, "instance ")), now);
                self.desk.account.destroy = Behaviour::prints("");
            } else if line.contains("] cached") {
                self.desk.manager.cycle_now(now);
                self.desk.advance_to(now);
            }
        }
    }

    /// Their bytes with our uuids in the place of theirs.
    fn same(&mut self, target: &str, name: &str, now: Timestamp) {
        let mut theirs = capture(name);
        for (their, our) in &self.uuids {
            theirs = theirs.replace(their, our);
        }
        let ours = self.desk.get(target, now).text();
        if name.starts_with("manager-logs") {
            // A line that follows from another came some milliseconds later there.
            let texts = |log: &str| -> Vec<String> {
                let lines: Value = serde_json::from_str(log).unwrap();
                lines.as_array().unwrap().iter().map(|line| line["text"].to_string()).collect()
            };
            assert_eq!(texts(&ours), texts(&theirs), "{name}");
            return;
        }
        // The age depends on the microsecond of the call.
        let ageless = |text: &str| text.split("\"vast_cache_age_s\":").next().unwrap_or_default().to_owned();
        assert_eq!(ageless(&ours), ageless(&theirs), "{name}");
    }
}

#[test]
fn the_same_calls_give_the_captured_answers() {
    let shown = parsed("dashboard.json");
    let rows = shown["instances"].as_array().unwrap();
    let lines = parsed("manager-logs.json");
    let start = Timestamp::from_millisecond(lines[0]["ts"].as_i64().unwrap()).unwrap();
    let mut replay = Replay {
        desk: Desk::started(start),
        uuids: HashMap::new(),
        rates: rows
            .iter()
            .map(|row| (row["uuid"].as_str().unwrap().to_owned(), row["bench_rate"].as_f64().unwrap_or(0.0)))
            .collect(),
    };
    replay.desk.manager.first_cycle_s = 1_000_000;
    replay.desk.manager.cycle_pause_s = 1_000_000;
    replay.desk.manager.start(start);
    replay.desk.account.rows = rows.iter().filter(|row| row["vast_id"] != 0).map(record).collect();
    replay.desk.account.rows.sort_by_key(|row| row["id"].as_u64());
    replay.desk.account.destroy = Behaviour::prints("");
    replay.drive(&lines);
    let proving = rows.iter().find(|row| row["state"] == "running").unwrap()["uuid"].as_str().unwrap().to_owned();
    let proving = replay.ours(&proving).to_owned();
    for line in parsed("instance-logs.json").as_array().unwrap() {
        let now = Timestamp::from_millisecond(line["ts"].as_i64().unwrap()).unwrap();
        replay.desk.push(&proving, line["src"].as_str().unwrap(), line["text"].as_str().unwrap(), now);
    }
    let now: Timestamp = shown["updated_at"].as_str().unwrap().parse().unwrap();
    replay.same("/api/manager-logs", "manager-logs.json", now);
    replay.same("/api/dashboard", "dashboard.json", now);
    replay.same("/bad-host", "bad-host.json", now);
    replay.same("/api/host-perf", "host-perf.json", now);
    replay.same("/status", "status.json", now);
    replay.same(&format!("/api/instance-logs/{proving}"), "instance-logs.json", now);
    replay.same("/api/instance-logs/nobody", "instance-logs-unknown-uuid.json", now);

    // A killed row reports late and comes back.
    let zombie = replay.ours("b4c35f72-8319-4747-a109-ce07f9410aac").to_owned();
    let late: Timestamp = "2026-12-01T02:41:52.2Z".parse().unwrap();
    let answer = replay.desk.post("/bench-done", &format!(r#"{{"uuid":"{zombie}","rate":60}}"#), late);
    assert!(capture("bench-done-after-kill.txt").ends_with(&answer.text()));
    let now: Timestamp = parsed("dashboard-after-zombie.json")["updated_at"].as_str().unwrap().parse().unwrap();
    replay.same("/api/dashboard", "dashboard-after-zombie.json", now);
    replay.desk.manager.cycle_now("2026-12-01T02:42:43.1Z".parse().unwrap());
    replay.desk.advance_to("2026-12-01T02:42:43.1Z".parse().unwrap());

    let after = parsed("manager-logs-after-restart.json");
    replay.desk.manager.start(Timestamp::from_millisecond(after[0]["ts"].as_i64().unwrap()).unwrap());
    replay.drive(&after);
    let now: Timestamp = parsed("dashboard-after-restart.json")["updated_at"].as_str().unwrap().parse().unwrap();
    replay.same("/api/dashboard", "dashboard-after-restart.json", now);
    replay.same(&format!("/api/instance-logs/{proving}"), "instance-logs-after-restart.json", now);
}

#[test]
fn refusals_are_those_of_the_captures() {
    let now: Timestamp = "2026-12-01T02:41:52Z".parse().unwrap();
    let mut desk = Desk::started(now);
    let mut same = |request: Request, name: &str| {
        let answer = desk.ask(&request, now).unwrap();
        let theirs = capture(name).replace("\r\n", "\n");
        let (head, body) = theirs.split_once("\n\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {} ", answer.status)), "{name}: {}", answer.status);
        assert_eq!(answer.text(), body, "{name}");
    };
    same(Request::new("POST", "/register", "{bad"), "register-bad.txt");
    same(Request::new("POST", "/running", r#"{"uuid":"nobody"}"#), "running-unknown.txt");
    same(Request::new("GET", "/api/instance-logs/", ""), "instance-logs-no-uuid.txt");
}
