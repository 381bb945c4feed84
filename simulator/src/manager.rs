//! The manager as the real one behaves, its faults included: unguarded transitions, volatile buffers, a stale copy of
//! vast.ai's list, timers. Source of every rule: the manager's source and the captures taken from it.

use std::collections::{BTreeMap, VecDeque};

use dwell_wire as wire;
use jiff::Timestamp;

/// Lines that one instance's buffer holds; when full, its oldest tenth is dropped.
pub const BUFFER_LINES_MAX: usize = 10_000;
/// Lines that the manager's own log holds.
pub const MANAGER_LOG_LINES_MAX: usize = 5_000;
/// Bytes of a log push that are read; the rest is dropped in silence.
const PUSH_BYTES_MAX: usize = 256 * 1024;

const MINUTE_MS: i64 = 60_000;
/// The first copy of vast.ai's list comes this long after the start, the others every minute.
const FIRST_LISTING_MS: i64 = 10_000;

/// A row of the manager's database: survives a restart.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) uuid: String,
    pub(crate) label: String,
    pub(crate) runner_id: u64,
    pub(crate) state: &'static str,
    pub(crate) min_rate: f64,
    pub(crate) registered_at: Timestamp,
    pub(crate) param_done_at: Option<Timestamp>,
    pub(crate) bench_done_at: Option<Timestamp>,
    pub(crate) bench_rate: Option<f64>,
    pub(crate) killed_at: Option<Timestamp>,
    pub(crate) kill_reason: Option<String>,
}

/// An instance as vast.ai's list shows it.
#[derive(Debug, Clone)]
pub(crate) struct VastRecord {
    pub(crate) vast_id: u64,
    pub(crate) label: Option<String>,
    pub(crate) start_date_s: f64,
    /// The record in the dashboard's own fields; identity and life are filled in from the row.
    pub(crate) shown: wire::Instance,
}

/// What an instance asks of vast.ai through the manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destroy(pub(crate) u64);

/// An answer with a status: the manager's refusals.
pub(crate) type Refusal = (u16, String);

/// The manager: a database, and what it holds only in memory.
#[derive(Debug, Clone)]
pub struct Manager {
    rows: Vec<Row>,
    bad_hosts: BTreeMap<String, (String, Timestamp)>,
    host_perf: BTreeMap<u64, wire::HostPerf>,
    next_runner_id: u64,
    // In memory only, lost at a restart:
    buffers: BTreeMap<String, VecDeque<wire::LogLine>>,
    log: VecDeque<wire::LogLine>,
    cache: Vec<VastRecord>,
    cached_at: Option<Timestamp>,
    next_monitor_at: Timestamp,
    up: bool,
}

impl Manager {
    pub(crate) fn started(now: Timestamp) -> Self {
        let mut manager = Self {
            rows: Vec::new(),
            bad_hosts: BTreeMap::new(),
            host_perf: BTreeMap::new(),
            next_runner_id: 1,
            buffers: BTreeMap::new(),
            log: VecDeque::new(),
            cache: Vec::new(),
            cached_at: None,
            next_monitor_at: now,
            up: false,
        };
        manager.start(now);
        manager
    }

    /// Starts the process: empty buffers, no copy of vast.ai's list.
    pub(crate) fn start(&mut self, now: Timestamp) {
        self.stop();
        self.up = true;
        self.next_monitor_at = plus_ms(now, FIRST_LISTING_MS);
        self.say(now, "Web UI listening on 127.0.0.1:1236".to_owned());
        self.say(now, "API server listening on 127.0.0.1:1235".to_owned());
    }

    /// Ends the process.
    pub(crate) fn stop(&mut self) {
        self.up = false;
        self.buffers.clear();
        self.log.clear();
        self.cache.clear();
        self.cached_at = None;
    }

    /// Whether the process runs.
    pub fn is_up(&self) -> bool {
        self.up
    }

    pub(crate) fn next_monitor_at(&self) -> Timestamp {
        self.next_monitor_at
    }

    fn say(&mut self, now: Timestamp, text: String) {
        if self.log.len() >= MANAGER_LOG_LINES_MAX {
            self.log.drain(..MANAGER_LOG_LINES_MAX / 10);
        }
        let text = format!("{} {text}", now.strftime("%Y/%m/%d %H:%M:%S"));
        self.log.push_back(wire::LogLine { src: Some("manager".to_owned()), text: Some(text), ts: millis(now) });
    }

    fn row(&mut self, uuid: &str) -> Option<&mut Row> {
        self.rows.iter_mut().find(|row| row.uuid == uuid)
    }

    /// `POST /register`. `fresh_uuid` is used only for a label that has no live row.
    pub(crate) fn register(&mut self, label: &str, min_rate: f64, fresh_uuid: String, now: Timestamp) -> (String, u64) {
        let min_rate = if min_rate <= 0.0 { 50.0 } else { min_rate };
        if let Some(row) = self.rows.iter().find(|row| row.label == label && row.state != "killed") {
            let (uuid, runner_id) = (row.uuid.clone(), row.runner_id);
            self.say(now, format!("[register] re-register label={label} uuid={uuid} runner_id={runner_id}"));
            return (uuid, runner_id);
        }
        let runner_id = self.next_runner_id;
        self.next_runner_id += 1;
        self.say(now, format!("[register] new label={label} uuid={fresh_uuid} runner_id={runner_id} min_rate={min_rate:.1}"));
        self.rows.push(Row {
            uuid: fresh_uuid.clone(),
            label: label.to_owned(),
            runner_id,
            state: "registered",
            min_rate,
            registered_at: whole_second(now),
            param_done_at: None,
            bench_done_at: None,
            bench_rate: None,
            killed_at: None,
            kill_reason: None,
        });
        (fresh_uuid, runner_id)
    }

    /// `POST /param-done`: acts only in `registered`, answers ok in any case.
    pub(crate) fn param_done(&mut self, uuid: &str, now: Timestamp) {
        let Some(row) = self.row(uuid) else { return };
        if row.state == "registered" {
            row.state = "params_done";
            row.param_done_at = Some(whole_second(now));
            self.say(now, format!("[param-done] uuid={uuid}"));
        } else {
            let state = row.state;
            self.say(now, format!("[param-done] uuid={uuid} already in state={state}, no-op"));
        }
    }

    /// `POST /bench-done`: does not look at the state, so a killed row comes back with `killed_at` still set.
    pub(crate) fn bench_done(&mut self, uuid: &str, rate: f64, now: Timestamp) -> Result<(bool, Option<Destroy>), Refusal> {
        let Some(row) = self.row(uuid) else {
            return Err((404, "instance not found".to_owned()));
        };
        let (min_rate, label) = (row.min_rate, row.label.clone());
        let passed = rate >= min_rate;
        row.bench_done_at = Some(whole_second(now));
        row.bench_rate = Some(rate);
        if passed {
            row.state = "bench_done";
        } else {
            row.state = "killed";
            row.killed_at = Some(whole_second(now));
            row.kill_reason = Some(format!("bench_rate {rate:.1} below min_rate {min_rate:.1}"));
        }
        self.say(now, format!("[bench-done] uuid={uuid} rate={rate:.1} min_rate={min_rate:.1} passed={passed}"));
        let record = self.cache.iter().find(|record| record.matches(&label)).cloned();
        if let Some(record) = &record {
            self.remember_perf(record, rate, now);
        }
        let destroy = record.filter(|_| !passed).map(|record| self.destroy(record.vast_id, now));
        Ok((passed, destroy))
    }

    fn remember_perf(&mut self, record: &VastRecord, rate: f64, now: Timestamp) {
        let Some(machine_id) = record.shown.machine_id else { return };
        let best = self.host_perf.entry(machine_id).or_default();
        if best.bench_rate.is_none_or(|known| rate > known) {
            *best = wire::HostPerf {
                machine_id: Some(machine_id),
                gpu_name: record.shown.gpu_name.clone(),
                num_gpus: record.shown.num_gpus,
                bench_rate: Some(rate),
                cpu_ram_mb: record.shown.cpu_ram_mb,
                measured_at: Some(whole_second(now)),
            };
        }
    }

    fn destroy(&mut self, vast_id: u64, now: Timestamp) -> Destroy {
        self.say(now, format!("[monitor] destroyed vast instance {vast_id}"));
        Destroy(vast_id)
    }

    /// `POST /running`: from any state but killed, so `bench_done` can be skipped.
    pub(crate) fn running(&mut self, uuid: &str, now: Timestamp) -> Result<(), Refusal> {
        match self.row(uuid).filter(|row| row.state != "killed") {
            Some(row) => row.state = "running",
            None => return Err((404, "instance not found or already killed".to_owned())),
        }
        self.say(now, format!("[running] uuid={uuid}"));
        Ok(())
    }

    /// `GET /runner-id`.
    pub(crate) fn runner_id(&self, uuid: &str) -> Option<u64> {
        self.rows.iter().find(|row| row.uuid == uuid).map(|row| row.runner_id)
    }

    /// `POST /api/log-push`: cut at 256 KiB in silence, any uuid accepted, empty lines dropped, every line stamped with
    /// its arrival.
    pub(crate) fn log_push(&mut self, uuid: &str, source: &str, body: &[u8], now: Timestamp) {
        let text = String::from_utf8_lossy(&body[..body.len().min(PUSH_BYTES_MAX)]).into_owned();
        let buffer = self.buffers.entry(uuid.to_owned()).or_default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            if buffer.len() >= BUFFER_LINES_MAX {
                buffer.drain(..BUFFER_LINES_MAX / 10);
            }
            buffer.push_back(wire::LogLine { src: Some(source.to_owned()), text: Some(line.to_owned()), ts: millis(now) });
        }
    }

    /// `GET /api/instance-logs/{uuid}`: an unknown uuid answers like a silent instance, and gets a buffer.
    pub(crate) fn instance_logs(&mut self, uuid: &str, tail: usize, source: Option<&str>) -> Vec<wire::LogLine> {
        let buffer = self.buffers.entry(uuid.to_owned()).or_default();
        let of_source = |line: &&wire::LogLine| source.is_none_or(|source| line.src.as_deref() == Some(source));
        let mut newest: Vec<wire::LogLine> = buffer.iter().rev().filter(of_source).take(tail).cloned().collect();
        newest.reverse();
        newest
    }

    /// `GET /api/manager-logs`.
    pub(crate) fn manager_logs(&self, tail: usize) -> Vec<wire::LogLine> {
        self.log.iter().skip(self.log.len().saturating_sub(tail)).cloned().collect()
    }

    /// `POST /api/kill`: the row becomes killed even where destroying fails.
    pub(crate) fn kill(&mut self, vast_id: u64, uuid: &str, exists: bool, now: Timestamp) -> Option<Destroy> {
        if let Some(row) = self.row(uuid) {
            row.state = "killed";
            row.killed_at = Some(whole_second(now));
            row.kill_reason = Some("manually killed via UI".to_owned());
        }
        if vast_id == 0 {
            return None;
        }
        self.say(now, format!("[kill] manually destroying vast instance {vast_id} (uuid={uuid})"));
        if exists {
            return Some(self.destroy(vast_id, now));
        }
        self.say(
            now,
            format!(
                "[monitor] failed to destroy vast instance {vast_id}: exit status 1 (failed with error 404: no such instance)"
            ),
        );
        None
    }

    /// `POST /bad-host`.
    pub(crate) fn add_bad_host(&mut self, machine_id: &str, reason: &str, now: Timestamp) {
        self.say(now, format!("[bad-host] added machine_id={machine_id} reason={reason}"));
        self.bad_hosts.insert(machine_id.to_owned(), (reason.to_owned(), whole_second(now)));
    }

    /// `DELETE /bad-host/{machine_id}`.
    pub(crate) fn remove_bad_host(&mut self, machine_id: &str, now: Timestamp) -> bool {
        let removed = self.bad_hosts.remove(machine_id).is_some();
        if removed {
            self.say(now, format!("[bad-host] removed machine_id={machine_id}"));
        }
        removed
    }

    /// `GET /bad-host`.
    pub(crate) fn bad_hosts(&self) -> Vec<wire::BadHostEntry> {
        self.bad_hosts
            .iter()
            .map(|(machine_id, (reason, added_at))| wire::BadHostEntry {
                machine_id: Some(machine_id.clone()),
                reason: Some(reason.clone()),
                added_at: Some(*added_at),
            })
            .collect()
    }

    /// `GET /api/host-perf`: the best rate ever of each machine.
    pub(crate) fn host_perf(&self) -> Vec<wire::HostPerf> {
        self.host_perf.values().cloned().collect()
    }

    /// One round of the monitor: copies vast.ai's list, then destroys, kills and deletes by its rules.
    pub(crate) fn monitor(&mut self, listing: Vec<VastRecord>, now: Timestamp) -> Vec<Destroy> {
        self.next_monitor_at = plus_ms(now, MINUTE_MS);
        self.cache = listing;
        self.cached_at = Some(now);
        self.say(now, format!("[monitor] cached {} vast instances", self.cache.len()));
        let mut destroyed = Vec::new();

        for record in self.cache.clone() {
            let machine = record.shown.machine_id.unwrap_or(0).to_string();
            let registered = self.rows.iter().any(|row| record.matches(&row.label));
            let age_s = now.as_millisecond() as f64 / 1000.0 - record.start_date_s;
            if let Some((reason, _)) = self.bad_hosts.get(&machine) {
                let reason = reason.clone();
                self.say(now, format!("[monitor] killing instance {} on bad host {machine} ({reason})", record.vast_id));
                destroyed.push(self.destroy(record.vast_id, now));
            } else if let Some(label) = record.label.as_ref().filter(|_| !registered && age_s > 15.0 * 60.0) {
                let line = format!(
                    "[monitor] killing unregistered instance {} (label={label}, age={})",
                    record.vast_id,
                    go_duration(age_s)
                );
                self.say(now, line);
                destroyed.push(self.destroy(record.vast_id, now));
            }
        }

        let mut events = Vec::new();
        for row in self.rows.iter_mut().filter(|row| row.state != "killed") {
            let record = self.cache.iter().find(|record| record.matches(&row.label));
            let since = |at: Option<Timestamp>| at.map_or(0, |at| now.as_millisecond() - at.as_millisecond());
            let reason = if record.is_none() {
                events.push((
                    None,
                    format!("[monitor] instance disappeared from vast uuid={} label={} state={}", row.uuid, row.label, row.state),
                ));
                "instance disappeared from vast"
            } else if row.state == "registered" && since(Some(row.registered_at)) > 90 * MINUTE_MS {
                "param fetch timeout (90min)"
            } else if row.state == "params_done" && since(row.param_done_at) > 45 * MINUTE_MS {
                "benchmark timeout (45min)"
            } else {
                continue;
            };
            if let Some(record) = record {
                events.push((Some(record.vast_id), format!("[monitor] killing uuid={} state={}: {reason}", row.uuid, row.state)));
            }
            row.state = "killed";
            row.killed_at = Some(whole_second(now));
            row.kill_reason = Some(reason.to_owned());
        }
        for (vast_id, line) in events {
            self.say(now, line);
            destroyed.extend(vast_id.map(|vast_id| self.destroy(vast_id, now)));
        }
        let week_ago = plus_ms(now, -7 * 24 * 60 * MINUTE_MS);
        self.rows.retain(|row| row.state != "killed" || row.killed_at.is_none_or(|at| at > week_ago));
        destroyed
    }

    /// `GET /api/dashboard`.
    pub(crate) fn dashboard(&self, now: Timestamp) -> wire::Dashboard {
        let by_label: BTreeMap<&str, &VastRecord> =
            self.cache.iter().flat_map(|record| record.labels().map(move |label| (label, record))).collect();
        let mut instances = Vec::with_capacity(self.rows.len() + 8);
        let mut matched = std::collections::BTreeSet::new();
        for row in self.rows.iter().rev() {
            let record = by_label.get(row.label.as_str());
            matched.extend(record.map(|record| record.vast_id));
            instances.push(self.shown_row(row, record.copied()));
        }
        for record in self.cache.iter().filter(|record| !matched.contains(&record.vast_id)) {
            instances.push(wire::Instance {
                state: Some("loading".to_owned()),
                label: record.label.clone(),
                vast_id: Some(record.vast_id),
                start_date: Some(record.start_date_s),
                ..record.shown.clone()
            });
        }
        let cache_age_s = match self.cached_at {
            Some(at) => (now.as_millisecond() - at.as_millisecond()) as f64 / 1000.0,
            // The real one subtracts a zero time and saturates: about 292 years.
            None => 9_223_372_036.854_776,
        };
        wire::Dashboard {
            summary: summary(&instances),
            instances,
            bad_hosts: self.bad_hosts(),
            updated_at: Some(now),
            vast_cache_age_s: Some(cache_age_s),
            instances_unreadable: 0,
        }
    }

    /// `GET /status`.
    pub(crate) fn status(&self) -> Vec<wire::Instance> {
        self.rows.iter().rev().map(life_of).collect()
    }

    fn shown_row(&self, row: &Row, record: Option<&VastRecord>) -> wire::Instance {
        let life = life_of(row);
        let lines = self.buffers.get(&row.uuid).map_or(0, VecDeque::len) as u64;
        let vast = record.map(|record| record.shown.clone()).unwrap_or_default();
        wire::Instance {
            vast_id: record.map(|record| record.vast_id),
            start_date: record.map(|record| record.start_date_s),
            price_per_proof: vast
                .dph_total
                .zip(row.bench_rate)
                .filter(|(_, rate)| *rate > 0.0)
                .map(|(dollars, rate)| dollars / rate),
            has_logs: Some(lines > 0),
            log_lines: Some(lines),
            uuid: life.uuid,
            label: life.label,
            runner_id: life.runner_id,
            state: life.state,
            min_rate: life.min_rate,
            registered_at: life.registered_at,
            param_done_at: life.param_done_at,
            bench_done_at: life.bench_done_at,
            bench_rate: life.bench_rate,
            killed_at: life.killed_at,
            kill_reason: life.kill_reason,
            ..vast
        }
    }
}

impl VastRecord {
    /// Matched by its label, or by its number in a label `C.<vast_id>`.
    fn matches(&self, label: &str) -> bool {
        self.labels().any(|own| own == label)
    }

    fn labels(&self) -> impl Iterator<Item = &str> {
        let numbered = self.shown.label.as_deref();
        self.label.as_deref().into_iter().chain(numbered)
    }
}

fn life_of(row: &Row) -> wire::Instance {
    wire::Instance {
        uuid: Some(row.uuid.clone()),
        label: Some(row.label.clone()),
        runner_id: Some(row.runner_id),
        state: Some(row.state.to_owned()),
        min_rate: Some(row.min_rate),
        registered_at: Some(row.registered_at),
        param_done_at: row.param_done_at,
        bench_done_at: row.bench_done_at,
        bench_rate: row.bench_rate,
        killed_at: row.killed_at,
        kill_reason: row.kill_reason.clone(),
        ..wire::Instance::default()
    }
}

/// The manager's own counts, misleading as they are.
fn summary(instances: &[wire::Instance]) -> wire::Summary {
    let count = |states: &[&str]| {
        Some(instances.iter().filter(|row| row.state.as_deref().is_some_and(|state| states.contains(&state))).count() as u64)
    };
    let running = || instances.iter().filter(|row| row.state.as_deref() == Some("running"));
    let dollars: f64 = running().filter_map(|row| row.dph_total).sum();
    let proofs: f64 = running().filter_map(|row| row.bench_rate).sum();
    wire::Summary {
        total: Some(instances.len() as u64),
        running: count(&["running"]),
        benching: count(&["params_done", "bench_done"]),
        fetching: count(&["registered"]),
        loading: count(&["loading"]),
        killed: count(&["killed"]),
        total_dph: Some(dollars),
        total_proofs_hour: Some(proofs),
        avg_price_per_proof: Some(if proofs > 0.0 { dollars / proofs } else { 0.0 }),
        total_gpus: Some(running().filter_map(|row| row.num_gpus).sum()),
    }
}

pub(crate) fn plus_ms(at: Timestamp, ms: i64) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond().saturating_add(ms)).unwrap_or(at)
}

fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

fn millis(at: Timestamp) -> Option<u64> {
    u64::try_from(at.as_millisecond()).ok()
}

/// As Go prints a duration of whole seconds: `1h32m48s`.
fn go_duration(seconds: f64) -> String {
    let total = seconds.max(0.0) as u64;
    match total {
        0..60 => format!("{total}s"),
        60..3600 => format!("{}m{}s", total / 60, total % 60),
        _ => format!("{}h{}m{}s", total / 3600, total / 60 % 60, total % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_796_092_892_896 + ms).unwrap()
    }

    fn record(vast_id: u64) -> VastRecord {
        let label = Some(format!("C.{vast_id}"));
        VastRecord {
            vast_id,
            label: label.clone(),
            start_date_s: 1_796_092_000.0,
            shown: wire::Instance {
                label,
                dph_total: Some(0.31),
                num_gpus: Some(1),
                machine_id: Some(40_100),
                ..Default::default()
            },
        }
    }

    /// The life that the captures show: registered twice under one label, benchmarked, killed, back from the dead.
    #[test]
    fn a_killed_row_that_reports_late_comes_back() {
        let mut manager = Manager::started(at(0));
        let (uuid, _) = manager.register("C.31000020", 0.0, "u1".into(), at(1));
        assert_eq!(manager.register("C.31000020", 9.0, "u2".into(), at(2)).0, uuid, "same label, not killed: same uuid");
        assert_eq!(manager.bench_done(&uuid, 0.0, at(3)), Ok((false, None)));
        let row = &manager.dashboard(at(4)).instances[0];
        assert_eq!(
            (row.state.as_deref(), row.kill_reason.as_deref()),
            (Some("killed"), Some("bench_rate 0.0 below min_rate 50.0"))
        );
        assert!(manager.running(&uuid, at(5)).is_err());
        assert_eq!(manager.bench_done(&uuid, 60.0, at(6)), Ok((true, None)));
        let row = &manager.dashboard(at(7)).instances[0];
        assert!(row.state.as_deref() == Some("bench_done") && row.killed_at.is_some());
    }

    #[test]
    fn a_restart_empties_buffers_and_list_but_not_the_rows() {
        let mut manager = Manager::started(at(0));
        let (uuid, _) = manager.register("C.31000010", 30.0, "u1".into(), at(1));
        manager.monitor(vec![record(31_000_010), record(31_000_016)], at(2));
        manager.log_push(&uuid, "setup", b"one\n\ntwo\n", at(3));
        let before = manager.dashboard(at(4));
        assert_eq!((before.instances.len(), before.instances[0].log_lines), (2, Some(2)));
        manager.start(at(5));
        let after = manager.dashboard(at(6));
        assert_eq!((after.instances.len(), after.instances[0].log_lines, after.instances[0].vast_id), (1, Some(0), None));
        assert!(after.vast_cache_age_s.unwrap() > 9.0e9);
        assert!(manager.manager_logs(1)[0].text.as_deref().unwrap().ends_with("API server listening on 127.0.0.1:1235"));
    }

    #[test]
    fn an_unknown_uuid_answers_like_a_silent_instance() {
        let mut manager = Manager::started(at(0));
        assert!(manager.instance_logs("nobody", 10, None).is_empty());
        manager.log_push("stranger", "setup", b"hello", at(1));
        assert_eq!(manager.instance_logs("stranger", 10, None).len(), 1);
        assert!(manager.instance_logs("stranger", 10, Some("cuzk")).is_empty());
    }

    #[test]
    fn a_full_buffer_drops_its_oldest_tenth_and_a_long_push_its_end() {
        let mut manager = Manager::started(at(0));
        let push: String = (0..5_000).map(|n| format!("line {n}\n")).collect();
        manager.log_push("u", "setup", push.as_bytes(), at(1));
        manager.log_push("u", "setup", push.as_bytes(), at(2));
        manager.log_push("u", "setup", b"one more", at(3));
        let lines = manager.instance_logs("u", 20_000, None);
        assert_eq!((lines.len(), lines[0].text.as_deref()), (9_001, Some("line 1000")));
        manager.log_push("v", "setup", &vec![b'x'; 1 << 20], at(4));
        assert_eq!(manager.instance_logs("v", 1, None)[0].text.as_ref().unwrap().len(), 256 * 1024);
    }

    #[test]
    fn the_monitor_kills_by_its_timers() {
        let minutes = |m: i64| at(m * MINUTE_MS + 1_000);
        let mut manager = Manager::started(at(0));
        let (fetching, _) = manager.register("C.1", 30.0, "fetching".into(), at(0));
        let (benching, _) = manager.register("C.2", 30.0, "benching".into(), at(0));
        let (_gone, _) = manager.register("C.3", 30.0, "gone".into(), at(0));
        manager.param_done(&benching, at(0));
        let listing = || vec![record(1), record(2), record(4)];
        assert_eq!(manager.monitor(listing(), minutes(1)), [Destroy(4)], "unregistered, labelled, older than 15 min");
        assert_eq!(manager.monitor(listing(), minutes(44)), [Destroy(4)], "still listed, still destroyed; the timers not yet");
        assert!(manager.monitor(listing(), minutes(46)).contains(&Destroy(2)));
        assert!(manager.monitor(listing(), minutes(91)).contains(&Destroy(1)));
        let reasons: Vec<_> = manager.status().into_iter().map(|row| row.kill_reason.unwrap()).collect();
        assert_eq!(reasons, ["instance disappeared from vast", "benchmark timeout (45min)", "param fetch timeout (90min)"]);
        manager.monitor(vec![], minutes(8 * 24 * 60));
        assert!(manager.status().is_empty(), "killed rows are deleted after a week: {fetching}");
    }

    #[test]
    fn money_spent_on_stuck_instances_is_not_in_the_summary() {
        let mut manager = Manager::started(at(0));
        let (uuid, _) = manager.register("C.1", 30.0, "u".into(), at(0));
        manager.param_done(&uuid, at(1));
        manager.monitor(vec![record(1)], at(2));
        let summary = manager.dashboard(at(3)).summary;
        assert_eq!((summary.benching, summary.total_dph, summary.total_gpus), (Some(1), Some(0.0), Some(0)));
    }
}
