//! The captures taken from the real manager, reproduced by the same calls at the same times.

use std::sync::Arc;

use super::*;

fn capture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../crates/wire/tests/captures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn log(name: &str) -> Vec<(Timestamp, String)> {
    let lines: Vec<wire::LogLine> = wire::decode(&capture(name)).unwrap();
    let at = |line: &wire::LogLine| Timestamp::from_millisecond(line.ts.unwrap() as i64).unwrap();
    lines.iter().map(|line| (at(line), line.text.clone().unwrap())).collect()
}

/// vast.ai's client as it was when the captures were taken: seven instances, and one number that is nobody's.
struct Then {
    rows: Vec<wire::Instance>,
}

impl VastClient for Then {
    fn list(&mut self) -> Result<Vec<VastRecord>, String> {
        let record = |row: &wire::Instance| {
            let life = wire::Instance { vast_id: None, start_date: None, label: None, ..row.clone() };
            VastRecord {
                vast_id: row.vast_id.unwrap(),
                label: row.label.clone().map(Into::into),
                start_date_s: row.start_date.unwrap(),
                reading: Reading {
                    gpu_util: row.gpu_util.unwrap_or(0.0),
                    gpu_temp: row.gpu_temp.unwrap_or(0.0),
                    cpu_util: row.cpu_util.unwrap_or(0.0),
                    memory_gb: row.mem_usage_gb.unwrap_or(0.0),
                    ..Reading::default()
                },
                status_msg: row.status_msg.clone().map(Into::into),
                has_ports: true,
                fixed: Arc::new(Fixed {
                    numbered: format!("C.{}", row.vast_id.unwrap()),
                    shown: wire::Instance {
                        uuid: None,
                        runner_id: None,
                        state: None,
                        min_rate: None,
                        registered_at: None,
                        param_done_at: None,
                        bench_done_at: None,
                        bench_rate: None,
                        price_per_proof: None,
                        has_logs: None,
                        log_lines: None,
                        ..life
                    },
                }),
            }
        };
        let mut records: Vec<VastRecord> = self.rows.iter().map(record).collect();
        records.sort_by_key(|record| record.vast_id);
        Ok(records)
    }

    fn destroy(&mut self, vast_id: u64) -> Result<(), String> {
        match vast_id {
            31_000_099 => Err("exit status 1 (failed with error 404: no such instance)".to_owned()),
            _ => Ok(()),
        }
    }
}

/// The word after `key` in a line.
fn word<'a>(line: &'a str, key: &str) -> &'a str {
    let after = line.split_once(key).unwrap_or_else(|| panic!("{key:?} in {line:?}")).1;
    after.split([' ', ')']).next().unwrap()
}

/// Does what each line of a captured log tells of.
fn drive(manager: &mut Manager, client: &mut Then, lines: &[(Timestamp, String)], rate_of: impl Fn(&str) -> f64) {
    for (at, line) in lines {
        let at = *at;
        if line.contains("[register] new") {
            let told: f64 = word(line, "min_rate=").parse().unwrap();
            // 50 is what a missing rate becomes.
            let asked = if told == 50.0 { 0.0 } else { told };
            manager.register(word(line, "label="), asked, word(line, "uuid=").to_owned(), at).unwrap();
        } else if line.contains("[param-done]") {
            manager.param_done(word(line, "uuid="), at).unwrap();
        } else if line.contains("[bench-done]") {
            let uuid = word(line, "uuid=");
            manager.bench_done(uuid, rate_of(uuid), client, at).unwrap();
        } else if line.contains("[running]") {
            manager.running(word(line, "uuid="), at).unwrap();
        } else if line.contains("[bad-host] added") {
            let reason = line.split_once("reason=").unwrap().1;
            manager.add_bad_host(word(line, "machine_id="), reason, at);
        } else if line.contains("[kill]") {
            manager.kill(word(line, "instance ").parse().unwrap(), word(line, "(uuid="), client, at);
        } else if line.contains("] cached") {
            manager.monitor(client, at);
        }
    }
}

/// Their bytes, with the two values that depend on the microsecond of the call taken from ours.
fn compare(manager: &Manager, name: &str) {
    let theirs: wire::Dashboard = wire::decode(&capture(name)).unwrap();
    let mut ours = manager.dashboard(theirs.updated_at.unwrap());
    ours.vast_cache_age_s = theirs.vast_cache_age_s;
    assert_eq!(String::from_utf8(wire::encode(&ours)), String::from_utf8(capture(name)), "{name}");
}

fn same_log(manager: &Manager, theirs: &[(Timestamp, String)]) {
    let ours: Vec<String> = manager.manager_logs(100).into_iter().map(|line| line.text.unwrap()).collect();
    assert_eq!(ours.len(), theirs.len(), "{ours:#?}");
    for (ours, (_, theirs)) in ours.iter().zip(theirs) {
        assert_eq!(ours, theirs);
    }
}

#[test]
fn the_same_calls_give_the_captured_answers() {
    let shown: wire::Dashboard = wire::decode(&capture("dashboard.json")).unwrap();
    let rows = shown.instances.iter().filter(|row| row.vast_id.is_some_and(|id| id != 0)).cloned().collect();
    let rates: Vec<(String, f64)> =
        shown.instances.iter().map(|row| (row.uuid.clone().unwrap_or_default(), row.bench_rate.unwrap_or(0.0))).collect();
    let rate_of = |uuid: &str| rates.iter().find(|(known, _)| known == uuid).unwrap().1;
    let mut client = Then { rows };
    let lines = log("manager-logs.json");
    let mut manager = Manager::started(lines[0].0);
    drive(&mut manager, &mut client, &lines, rate_of);
    let proving = shown.instances.iter().find(|row| row.state.as_deref() == Some("running")).unwrap().uuid.clone().unwrap();
    let pushed: Vec<wire::LogLine> = wire::decode(&capture("instance-logs.json")).unwrap();
    for line in &pushed {
        let at = Timestamp::from_millisecond(line.ts.unwrap() as i64).unwrap();
        manager.log_push(&proving, line.src.as_deref().unwrap(), line.text.as_deref().unwrap().as_bytes(), at);
    }

    same_log(&manager, &lines);
    compare(&manager, "dashboard.json");
    assert_eq!(wire::encode(&manager.bad_hosts()), capture("bad-host.json"));
    assert_eq!(wire::encode(&manager.host_perf()), capture("host-perf.json"));
    assert_eq!(wire::encode(&manager.instance_logs(&proving, 1000, None)), capture("instance-logs.json"));

    // A killed row reports late and comes back; a minute later it is missed at vast.ai and killed again.
    let zombie = "b4c35f72-8319-4747-a109-ce07f9410aac";
    let late: Timestamp = "2026-12-01T02:41:52.2Z".parse().unwrap();
    assert_eq!(manager.bench_done(zombie, 60.0, &mut client, late), Ok(true));
    compare(&manager, "dashboard-after-zombie.json");
    manager.monitor(&mut client, "2026-12-01T02:42:43.1Z".parse().unwrap());

    // A restart: the rows stay, buffers and list do not.
    let after = log("manager-logs-after-restart.json");
    manager.start(after[0].0);
    drive(&mut manager, &mut client, &after, rate_of);
    same_log(&manager, &after);
    compare(&manager, "dashboard-after-restart.json");
    assert_eq!(wire::encode(&manager.instance_logs(&proving, 1000, None)), capture("instance-logs-after-restart.json"));
}
